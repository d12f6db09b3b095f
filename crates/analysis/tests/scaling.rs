//! How programs scale, told from synthetic recordings whose answer is known.

#[path = "scaling/builder.rs"]
mod builder;
#[path = "scaling/hints.rs"]
mod hints;
#[path = "scaling/losses.rs"]
mod losses;
#[path = "scaling/odd.rs"]
mod odd;
#[path = "scaling/sections.rs"]
mod sections;
