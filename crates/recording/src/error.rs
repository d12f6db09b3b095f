//! What can go wrong with a recording.

use std::path::PathBuf;

/// Why a recording cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read ({error})", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file is empty.
    #[error("{}: the file is empty; record again with: holdup record -o FILE -- PROGRAM", path.display())]
    Empty {
        /// Which file.
        path: PathBuf,
    },
    /// The recorder did not come to write anything.
    #[error(
        "{}: nothing is in this recording: holdup was killed before it wrote anything; record again",
        path.display()
    )]
    Nothing {
        /// Which file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{}: not a recording of holdup{found}; make one with: holdup record -o FILE -- PROGRAM", path.display())]
    NotARecording {
        /// Which file.
        path: PathBuf,
        /// What it is instead, as a part of the sentence; empty where nothing is known of it.
        found: &'static str,
    },
    /// The file is of a later version.
    #[error(
        "{}: a recording of format version {found}, and this holdup reads up to version {known}; use a newer holdup",
        path.display()
    )]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest that can be read.
        known: u32,
    },
    /// Nothing in the file is whole.
    #[error("{}: damaged from its beginning: no part of it can be read; record again", path.display())]
    NothingReadable {
        /// Which file.
        path: PathBuf,
    },
}

/// What was wrong with a recording of which a part can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// Bytes that are no frame, or a frame whose checksum is wrong.
    #[error("{bytes} bytes at offset {offset} of the recording are damaged and were left out")]
    Damaged {
        /// Where.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// The file ends inside of a frame.
    #[error("the recording is cut off: its last {bytes} bytes are not whole")]
    CutOff {
        /// How many.
        bytes: u64,
    },
    /// More than a recording of its size can hold.
    #[error(
        "{bytes} bytes of the recording, unpacked, were left out: no recording of its size holds so much"
    )]
    TooLarge {
        /// How many.
        bytes: u64,
    },
    /// A frame's content could not be understood.
    #[error("a part of the recording at offset {offset} cannot be understood and was left out")]
    Content {
        /// Where.
        offset: u64,
    },
    /// The recording does not say how the run ended.
    #[error(
        "the recording was not finished (was holdup killed?): what happened after its last part is missing"
    )]
    Unfinished,
}
