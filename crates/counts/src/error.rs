//! What keeps counts from being had.

/// Why a recording gives no counts.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CountsError {
    /// It was made without the instruction front-end.
    #[error(
        "the recording has no instruction streams: which line makes threads unequal cannot be told from it"
    )]
    NoStreams,
    /// The front-end was there, but counted nothing of the program.
    #[error("no instruction of the program was counted: it never had a second thread, or ended before")]
    NothingCounted,
}
