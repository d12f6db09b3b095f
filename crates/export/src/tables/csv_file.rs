//! A table as CSV.
//!
//! Two things that RFC 4180 says nothing about are decided here. Spreadsheets take a text that begins with `=`, `+`, `-`,
//! `@`, a tab or a carriage return for a formula, and names come from the measured program: such a text, and one that
//! begins with an apostrophe, gets an apostrophe in front, which takes the formula's meaning away and can be taken away
//! again without doubt. Control characters and those that are not seen are written as escapes, so that the file can be
//! looked at in a terminal. Who needs names byte for byte takes Parquet.

use std::borrow::Cow;
use std::fs::File;
use std::path::PathBuf;

use super::{Cell, Column, TableFile};
use crate::ExportError;
use crate::text::plain;

/// Characters that make a text a formula where they come first, and the one that takes that away.
const GUARDED: [char; 5] = ['=', '+', '-', '@', '\''];

pub(super) struct CsvFile {
    path: PathBuf,
    writer: csv::Writer<File>,
}

impl CsvFile {
    pub(super) fn create(path: PathBuf, columns: &[Column<'_>]) -> Result<CsvFile, ExportError> {
        let file =
            File::create_new(&path).map_err(|error| ExportError::File { path: path.clone(), error })?;
        let writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(file);
        let mut this = CsvFile { path, writer };
        for column in columns {
            this.field(column.name)?;
        }
        this.end_of_row()?;
        Ok(this)
    }

    fn field(&mut self, text: &str) -> Result<(), ExportError> {
        self.writer.write_field(text).map_err(|error| failed(&self.path, error))
    }

    fn end_of_row(&mut self) -> Result<(), ExportError> {
        self.writer.write_record(None::<&[u8]>).map_err(|error| failed(&self.path, error))
    }
}

fn failed(path: &std::path::Path, error: csv::Error) -> ExportError {
    ExportError::File { path: path.to_owned(), error: error.into() }
}

/// The text so that neither a spreadsheet nor a terminal acts on it.
fn guarded(text: &str) -> Cow<'_, str> {
    let text = plain(text);
    if text.starts_with(GUARDED) { Cow::Owned(format!("'{text}")) } else { text }
}

impl TableFile for CsvFile {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        for cell in cells {
            match *cell {
                Cell::Null => self.field("")?,
                Cell::Whole(value) => self.field(&value.to_string())?,
                Cell::Real(value) => self.field(&value.to_string())?,
                Cell::Flag(value) => self.field(if value { "true" } else { "false" })?,
                Cell::Text(text) => self.field(&guarded(text))?,
            }
        }
        self.end_of_row()
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        let CsvFile { path, writer } = &mut *self;
        writer.flush().map_err(|error| ExportError::File { path: path.clone(), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_text() {
        for (text, written) in [
            ("=HYPERLINK(\"x\")", "'=HYPERLINK(\"x\")"),
            ("+1", "'+1"),
            ("-[View draw]", "'-[View draw]"),
            ("@sum", "'@sum"),
            ("'quoted", "''quoted"),
            ("\t=1", "\\t=1"),
            ("\r=1", "\\r=1"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(guarded(text), written);
        }
    }
}
