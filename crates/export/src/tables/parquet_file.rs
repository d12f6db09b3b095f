//! A table as Parquet. Names are in it as the program gave them.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::{Cell, Column, ColumnKind, TableFile};
use crate::ExportError;

/// Rows that are written together: as many as are kept in memory.
const GROUP_ROWS: usize = 1 << 16;

/// Bytes of text that are kept in memory at most, roughly.
const GROUP_TEXT: usize = 16 << 20;

/// Every value may be missing: the definition level of one that is there.
const PRESENT: i16 = 1;

pub(super) struct ParquetFile {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    columns: Vec<Buffer>,
    rows: usize,
    text: usize,
}

impl ParquetFile {
    /// Begins a table of this name in a new file; `table_about` says what a row is.
    pub(super) fn create(
        path: PathBuf,
        name: &str,
        table_about: &str,
        table_columns: &[Column<'_>],
    ) -> Result<ParquetFile, ExportError> {
        let file =
            File::create_new(&path).map_err(|error| ExportError::File { path: path.clone(), error })?;
        let begin = || {
            let about = |name: String, text: &str| KeyValue { key: name, value: Some(text.to_owned()) };
            let mut notes = vec![about("holdup.table".to_owned(), table_about)];
            notes.extend(
                table_columns.iter().map(|column| about(format!("holdup.{}", column.name), column.about)),
            );
            let properties = WriterProperties::builder()
                .set_created_by(concat!("holdup version ", env!("CARGO_PKG_VERSION")).to_owned())
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .set_key_value_metadata(Some(notes))
                .build();
            let fields = table_columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
            let schema = Type::group_type_builder(name).with_fields(fields).build()?;
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
        };
        match begin() {
            Ok(writer) => {
                let columns = table_columns.iter().map(|column| Buffer::new(column.kind)).collect();
                Ok(ParquetFile { path, writer, columns, rows: 0, text: 0 })
            }
            Err(error) => Err(ExportError::Parquet { path, error }),
        }
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        (self.rows, self.text) = (0, 0);
        Ok(())
    }
}

impl TableFile for ParquetFile {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            self.text += column.push(*cell);
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.text >= GROUP_TEXT {
            self.write_group().map_err(|error| ExportError::Parquet { path: self.path.clone(), error })?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        let result = self.write_group();
        let ParquetFile { path, writer, .. } = *self;
        result.and_then(|()| writer.close()).map_err(|error| ExportError::Parquet { path, error })?;
        Ok(())
    }
}

fn field(column: &Column<'_>) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.kind {
        // Signed, so that differences of two columns come out right in readers that compute with the columns' types.
        ColumnKind::Whole => (Physical::INT64, None),
        ColumnKind::Address => (Physical::INT64, Some(LogicalType::integer(64, false))),
        ColumnKind::Real => (Physical::DOUBLE, None),
        ColumnKind::Flag => (Physical::BOOLEAN, None),
        ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(column.name, physical);
    builder.with_logical_type(logical).with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
}

/// The values of a column that wait to be written, and which of its rows have one.
struct Buffer {
    values: Values,
    present: Vec<i16>,
}

enum Values {
    Whole(Vec<i64>),
    Address(Vec<i64>),
    Real(Vec<f64>),
    Flag(Vec<bool>),
    Text(Vec<ByteArray>),
}

impl Buffer {
    fn new(kind: ColumnKind) -> Buffer {
        let values = match kind {
            ColumnKind::Whole => Values::Whole(Vec::new()),
            ColumnKind::Address => Values::Address(Vec::new()),
            ColumnKind::Real => Values::Real(Vec::new()),
            ColumnKind::Flag => Values::Flag(Vec::new()),
            ColumnKind::Text => Values::Text(Vec::new()),
        };
        Buffer { values, present: Vec::new() }
    }

    /// Adds a cell; says how many bytes of text it is. A cell of another kind than its column counts as missing.
    fn push(&mut self, cell: Cell<'_>) -> usize {
        let (mut is_there, mut bytes) = (true, 0);
        match (&mut self.values, cell) {
            (Values::Whole(values), Cell::Whole(value)) => {
                values.push(i64::try_from(value).unwrap_or(i64::MAX))
            }
            // The same 64 bits: the column's logical type says that they have no sign.
            (Values::Address(values), Cell::Whole(value)) => values.push(value.cast_signed()),
            (Values::Real(values), Cell::Real(value)) => values.push(value),
            (Values::Flag(values), Cell::Flag(value)) => values.push(value),
            (Values::Text(values), Cell::Text(text)) => {
                bytes = text.len();
                values.push(ByteArray::from(text));
            }
            _ => is_there = false,
        }
        self.present.push(if is_there { PRESENT } else { 0 });
        bytes
    }

    fn write(&mut self, group: &mut SerializedRowGroupWriter<'_, File>) -> Result<(), ParquetError> {
        let present = &self.present;
        match &mut self.values {
            Values::Whole(values) | Values::Address(values) => column::<Int64Type>(group, values, present)?,
            Values::Real(values) => column::<DoubleType>(group, values, present)?,
            Values::Flag(values) => column::<BoolType>(group, values, present)?,
            Values::Text(values) => column::<ByteArrayType>(group, values, present)?,
        }
        self.present.clear();
        Ok(())
    }
}

/// Writes the next column of a group and empties `values`.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &mut Vec<T::T>,
    present: &[i16],
) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("the table has more columns than its schema".to_owned()));
    };
    writer.typed::<T>().write_batch(values, Some(present), None)?;
    values.clear();
    writer.close()
}
