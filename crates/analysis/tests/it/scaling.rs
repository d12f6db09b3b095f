//! How programs scale, told from synthetic recordings whose answer is known.

mod builder;
mod hints;
mod losses;
mod odd;
mod sections;
