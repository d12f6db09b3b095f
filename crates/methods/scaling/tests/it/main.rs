//! How programs scale, told from synthetic recordings whose answer is known.

mod builder;
mod hints;
mod laws;
mod losses;
mod odd;
mod sections;
