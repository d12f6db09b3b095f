//! The text format, by which any tool can give counts: lines of words, specified in `docs/counts.md`.
//!
//! [`parse`] reads it, [`write`] writes it. A line begins with a word that says what it is; its other words are values by
//! position, then values by name (`line=407`). What a line adds to was begun by a line before it: counts belong to the
//! last instance, an instance to the last section.
//!
//! ```
//! let text = "\
//! holdup counts 1
//! thread 0
//! thread 1
//! block 1 file=lu.c line=407 function=lu instructions=4 exit=branch
//! block 2 file=lu.c line=408 function=lu instructions=90
//! section barrier file=lu.c line=604
//! instance
//! edge 1 2 0 500
//! edge 1 2 1 100
//! ";
//! let counts = holdup_counts::text::parse(text)?;
//! assert_eq!(counts.sections[0].instances[0].time, [45_000, 9_000]);
//! assert_eq!(holdup_counts::text::parse(&holdup_counts::text::write(&counts))?, counts);
//! # Ok::<(), holdup_counts::text::TextError>(())
//! ```

mod draft;
mod error;
mod fields;
mod parse;
mod words;
mod write;

pub use error::TextError;
pub use parse::{parse, read};
pub use write::write;

/// The first words of every such text.
const HEAD: &str = "holdup counts ";
/// The version that is read and written.
const VERSION: u64 = 1;

/// Whether a file that begins with these bytes is such a text.
pub fn is_text(begin: &[u8]) -> bool {
    begin.starts_with(HEAD.as_bytes())
}
