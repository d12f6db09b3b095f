//! The faces of what makes threads unequal: what `holdup why` says to people and to scripts.
//!
//! One value, [`Why`](holdup_imbalance::Why), is told in a terminal ([`render_why`]), as JSON ([`why_json`]), and on
//! a page (`why_page`, which stands with the other pages). What none of them can know from it, such as the program's
//! name and its source, is in a [`WhyScene`]. What is told in words has them from one place, so that the faces agree.

mod chart;
mod json;
pub(crate) mod removed;
pub(crate) mod scene;
pub(crate) mod schema;
mod terminal;
pub(crate) mod told;
pub(crate) mod words;

pub use json::{why_json, why_json_text};
pub use removed::{Removed, Without};
pub use scene::{WhyScene, why_source_files};
pub use schema::WHY_SCHEMA;
pub(crate) use terminal::letter;
pub use terminal::render_why;
pub use words::why_section_name;
