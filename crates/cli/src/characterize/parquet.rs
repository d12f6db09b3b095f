//! Rows from Parquet as a sweep writes it, or any with plain columns.

use std::path::Path;

use super::rows::Gathered;
use super::stacks::StackKind;
use crate::failure::Failure;

/// Says that this build cannot.
#[cfg(not(feature = "parquet"))]
pub(super) fn read(path: &Path, _: Option<StackKind>) -> Result<Gathered, Failure> {
    Err(Failure::machine(format!(
        "{}: this build of holdup does not read Parquet; give CSV, or build it with --features parquet",
        path.display()
    )))
}

#[cfg(feature = "parquet")]
pub(super) use built_in::read;

#[cfg(feature = "parquet")]
mod built_in {
    use std::borrow::Cow;
    use std::fs::File;

    use holdup_characterize::Labels;
    use parquet::errors::ParquetError;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::super::components::Components;
    use super::super::labels::set;
    use super::super::rows::Kind;
    use super::super::tables::{Use, add, places, uses};
    use super::*;

    /// Reads a Parquet file with plain columns: a sweep's table of components, or any table. Cells of a sweep that failed are left
    /// out.
    pub(in crate::characterize) fn read(path: &Path, of: Option<StackKind>) -> Result<Gathered, Failure> {
        let refused = |what: String| Failure::input(format!("{}: {what}", path.display()));
        let file = File::open(path).map_err(|error| refused(format!("it cannot be read ({error})")))?;
        let broken =
            |error: ParquetError| refused(format!("it is no Parquet file that can be read ({error})"));
        let reader = SerializedFileReader::new(file).map_err(broken)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let fields = schema.root_schema().get_fields();
        let names: Vec<String> = fields.iter().map(|field| field.name().to_owned()).collect();
        if Components::are_in(&names) {
            let mut components = Components::default();
            for row in reader.get_row_iter(None).map_err(broken)? {
                let row = row.map_err(broken)?;
                components.push(
                    row.get_column_iter().map(|(name, field)| (name.as_str(), Cow::Owned(exact(field)))),
                );
            }
            return components.gathered(of).map_err(refused);
        }
        let is_number = |column: usize| {
            use parquet::basic::Type::{DOUBLE, FLOAT, INT32, INT64};
            let field = &fields[column];
            field.is_primitive() && matches!(field.get_physical_type(), INT32 | INT64 | FLOAT | DOUBLE)
        };
        let mut gathered = Gathered::new(Kind::Table);
        let uses = uses(&names, is_number, &mut gathered);
        let places = places(&uses);
        let status = names.iter().position(|name| name == "status");
        let mut failed = 0usize;
        for row in reader.get_row_iter(None).map_err(broken)? {
            let row = row.map_err(broken)?;
            let mut labels = Labels::default();
            let mut numbers = Vec::with_capacity(places.len());
            let mut is_done = true;
            for (at, ((_, field), used)) in row.get_column_iter().zip(&uses).enumerate() {
                match used {
                    Use::Label(label) => set(&mut labels, *label, &text(field)),
                    Use::Number(_) => numbers.push(float(field)),
                    Use::Nothing if status == Some(at) => {
                        is_done = ["done", ""].contains(&text(field).as_str())
                    }
                    Use::Nothing => {}
                }
            }
            if is_done {
                add(&mut gathered, labels, &places, &numbers);
            } else {
                failed += 1;
            }
        }
        if failed > 0 {
            gathered.notes.push(format!("Cells of the sweep that did not end well are left out: {failed}."));
        }
        Ok(gathered)
    }

    /// A field as text that is read back as what it was.
    fn exact(field: &Field) -> String {
        match field {
            Field::Float(_) | Field::Double(_) => float(field).to_string(),
            other => text(other),
        }
    }

    fn text(field: &Field) -> String {
        match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::Bytes(bytes) => String::from_utf8_lossy(bytes.data()).into_owned(),
            other => other.to_string(),
        }
    }

    fn float(field: &Field) -> f64 {
        match field {
            Field::Byte(value) => f64::from(*value),
            Field::Short(value) => f64::from(*value),
            Field::Int(value) => f64::from(*value),
            Field::Long(value) => *value as f64,
            Field::UByte(value) => f64::from(*value),
            Field::UShort(value) => f64::from(*value),
            Field::UInt(value) => f64::from(*value),
            Field::ULong(value) => *value as f64,
            Field::Float(value) => f64::from(*value),
            Field::Double(value) => *value,
            _ => f64::NAN,
        }
    }
}
