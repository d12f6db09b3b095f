//! What can be wrong with a text.

/// Why a text gives no counts. Lines are counted from 1.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextError {
    /// The first line is not the format's.
    #[error("line 1: this is no text of counts: its first line must be `holdup counts 1`")]
    NoHead,
    /// It is of a version that is not known.
    #[error(
        "line 1: version {0} of the format of counts is not known here; 1 is: a newer holdup may read it"
    )]
    Version(String),
    /// The bytes are no text.
    #[error("line {line}: not UTF-8")]
    NotText {
        /// Where.
        line: u64,
    },
    /// A line cannot be taken apart.
    #[error("line {line}: {problem}")]
    Syntax {
        /// Where.
        line: u64,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A line names what no line before it declared.
    #[error("line {line}: there is no {what} {id}: declare it before, by a line `{what} {id} …`")]
    Unknown {
        /// Where.
        line: u64,
        /// `thread`, `block` or `hardware`.
        what: &'static str,
        /// Which.
        id: u64,
    },
    /// Something is declared twice.
    #[error("line {line}: {what} {id} was declared before")]
    Twice {
        /// Where.
        line: u64,
        /// `thread`, `block` or `hardware`.
        what: &'static str,
        /// Which.
        id: u64,
    },
    /// A line adds to something that has not begun.
    #[error("line {line}: `{word}` must stand below a line `{needs}`")]
    Misplaced {
        /// Where.
        line: u64,
        /// The line's first word.
        word: String,
        /// What must come before.
        needs: &'static str,
    },
    /// A thread took part in an instance, but it is not said how long.
    #[error(
        "line {line}: thread {thread} has no {what} in the instance that begins here: write `{what} {thread} NUMBER`"
    )]
    NoTime {
        /// Where the instance begins.
        line: u64,
        /// Which thread, by its id in the text.
        thread: u64,
        /// `time`, or `native` where others have one.
        what: &'static str,
    },
}
