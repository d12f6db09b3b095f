//! Everything as tables, one file each: for spreadsheets, data frames and databases.
//!
//! Which tables and columns there are is data ([`TABLES`]), so that both formats, the documentation and the tests speak of
//! the same ones.

mod columns;
mod csv_file;
mod finding_rows;
#[cfg(feature = "parquet")]
mod parquet_file;
mod rows;
mod segment_rows;

use std::fs;
use std::path::{Path, PathBuf};

use csv_file::CsvFile;
use holdup_criticality::Diagnosis;
use holdup_model::Run;

use crate::ExportError;
use crate::subject::Subject;
#[cfg(feature = "parquet")]
use parquet_file::ParquetFile;

pub use columns::{Column, ColumnKind, TABLES, Table};

/// The format of the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableFormat {
    /// Text, as RFC 4180 has it, with a line of column names.
    Csv,
    /// Apache Parquet, compressed with Zstandard; see [`TableFormat::BUILT_IN`].
    Parquet,
}

impl TableFormat {
    /// Those that this build can write: Parquet only with the feature `parquet`.
    pub const BUILT_IN: &'static [TableFormat] = if cfg!(feature = "parquet") {
        &[TableFormat::Csv, TableFormat::Parquet]
    } else {
        &[TableFormat::Csv]
    };

    /// The one for programs that read: Parquet, which keeps kinds and names as they are, if this build can write it.
    pub const FOR_PROGRAMS: TableFormat =
        if cfg!(feature = "parquet") { TableFormat::Parquet } else { TableFormat::Csv };

    /// The ending of the files' names.
    pub fn ending(self) -> &'static str {
        match self {
            TableFormat::Csv => "csv",
            TableFormat::Parquet => "parquet",
        }
    }
}

/// A value in a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cell<'a> {
    /// Not known, or without meaning here.
    Null,
    /// Of a column of whole numbers or addresses.
    Whole(u64),
    /// Of a column of numbers with a fraction.
    Real(f64),
    /// Of a column of flags.
    Flag(bool),
    /// Of a column of text.
    Text(&'a str),
}

/// Takes the cells of a row, one for each column.
pub(crate) type Sink<'a> = dyn FnMut(&[Cell<'_>]) -> Result<(), ExportError> + 'a;

/// A file that takes the rows of one table.
trait TableFile {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError>;
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// Writes [`TABLES`] into `folder`, which is made if it does not exist. The findings are those of `diagnoses`, which may be
/// of some of the processes only.
///
/// # Errors
/// If the folder has files in it already, it or its files cannot be written, or this build does not have the format.
pub fn tables(
    run: &Run,
    diagnoses: &[Diagnosis],
    format: TableFormat,
    folder: &Path,
) -> Result<(), ExportError> {
    if !TableFormat::BUILT_IN.contains(&format) {
        return Err(ExportError::NoParquet);
    }
    make_folder(folder)?;
    let mut files: Vec<Box<dyn TableFile>> = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        let path = folder.join(format!("{}.{}", table.name, format.ending()));
        files.push(create(path, format, table.name, table.about, table.columns)?);
    }
    for subject in Subject::all(run) {
        let diagnosis = subject.diagnosis(diagnoses);
        for (table, file) in TABLES.iter().zip(&mut files) {
            (table.rows)(&subject, diagnosis, &mut |cells| file.row(cells))?;
        }
    }
    files.into_iter().try_for_each(TableFile::finish)
}

/// Writes one table of any columns into a new file, for results that are not of one run. Each row has a cell for each column.
///
/// # Errors
/// If the file exists already or cannot be written, or this build does not have the format.
pub fn table<'a>(
    path: &Path,
    format: TableFormat,
    name: &str,
    about: &str,
    columns: &[Column<'_>],
    rows: impl IntoIterator<Item = Vec<Cell<'a>>>,
) -> Result<(), ExportError> {
    let mut file = create(path.to_owned(), format, name, about, columns)?;
    rows.into_iter().try_for_each(|row| file.row(&row))?;
    file.finish()
}

/// Begins a table of this name in a new file; `about` says what a row is.
fn create(
    path: PathBuf,
    format: TableFormat,
    name: &str,
    about: &str,
    columns: &[Column<'_>],
) -> Result<Box<dyn TableFile>, ExportError> {
    match format {
        TableFormat::Csv => Ok(Box::new(CsvFile::create(path, columns)?)),
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => Ok(Box::new(ParquetFile::create(path, name, about, columns)?)),
        #[cfg(not(feature = "parquet"))]
        TableFormat::Parquet => {
            let _ = (name, about);
            Err(ExportError::NoParquet)
        }
    }
}

/// A folder that is new or empty.
fn make_folder(folder: &Path) -> Result<(), ExportError> {
    let failed = |error| ExportError::File { path: folder.to_owned(), error };
    fs::create_dir_all(folder).map_err(failed)?;
    match fs::read_dir(folder).map_err(failed)?.next() {
        Some(_) => Err(ExportError::FolderInUse { path: folder.to_owned() }),
        None => Ok(()),
    }
}
