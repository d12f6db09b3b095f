//! What can go wrong: only the writing can.

use std::io;
use std::path::PathBuf;

/// Why an export could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The place that the export goes to took no more.
    #[error("the export cannot be written ({0})")]
    Write(#[from] io::Error),
    /// A folder for tables has other things in it.
    #[error(
        "{}: there are files in this folder already; name one that does not exist yet, or an empty one",
        path.display()
    )]
    FolderInUse {
        /// The folder.
        path: PathBuf,
    },
    /// A folder or one of its files cannot be made or written.
    #[error("{}: cannot be written ({error}); name a folder that you may write to", path.display())]
    File {
        /// The folder or file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A table cannot be written in the Parquet format.
    #[cfg(feature = "parquet")]
    #[error("{}: this table cannot be written ({error})", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the Parquet library says.
        error: parquet::errors::ParquetError,
    },
    /// Parquet was asked for, and this build is without the feature `parquet`.
    #[error("this build of holdup has no Parquet; take csv, or build it with --features parquet")]
    NoParquet,
}

impl ExportError {
    /// True where the reader of a pipe went away: no failure of ours.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, ExportError::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<serde_json::Error> for ExportError {
    /// All that is serialized has a JSON form, so that only writing it can fail.
    fn from(error: serde_json::Error) -> ExportError {
        ExportError::Write(error.into())
    }
}
