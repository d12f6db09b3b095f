//! What can go wrong before and beside the tasks themselves, whose failures are outcomes.

use std::io;
use std::path::PathBuf;

use holdup_export::ExportError;

/// Why a sweep cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The plan's file cannot be read.
    #[error("{}: the plan cannot be read ({error}); docs/sweep.md has one to start from", path.display())]
    NoPlan {
        /// The plan.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The plan asks for something that cannot be.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Plan {
        /// The plan.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in it, from 1.
        column: usize,
        /// What is wrong, and the way out.
        problem: String,
    },
    /// A file of the sweep's directory cannot be read or written.
    #[error("{}: {problem} ({error})", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What cannot be done with it.
        problem: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// A file of the sweep's directory is not what this version writes.
    #[error("{}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, and the way out.
        problem: String,
    },
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] ExportError),
}
