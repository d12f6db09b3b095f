//! What can go wrong with a module's file. Nothing here stops the analysis: names are missing, that is all.

use std::path::PathBuf;

use thiserror::Error;

/// A reason why names of a module will be missing, for the user.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Warning {
    /// The file on disk has another build id than the one that the program had mapped.
    #[error(
        "{} has changed since the recording: names of its functions are not shown; record again, or put the old file back",
        .path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file is not there, or may not be read.
    #[error(
        "{} cannot be read ({reason}): names of its functions are not shown; report on the machine that recorded, as a \
         user who may read it", .path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The file is not an ELF file that can be parsed.
    #[error("{} is damaged ({reason}): names of its functions are not shown; install it again", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The parser's words.
        reason: String,
    },
    /// A perf map or jitdump cannot be used.
    #[error(
        "{} cannot be used ({reason}): functions that the program made at run time have no names there; have its runtime \
         write the file anew", .path.display()
    )]
    Jit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}
