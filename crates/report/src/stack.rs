//! The faces of a measured speedup stack: what `holdup stack` says to people and to scripts.
//!
//! One value, [`SpeedupProfile`](holdup_speedup::SpeedupProfile), is told in a terminal ([`render_stack`]), as
//! JSON ([`stack_json`]), and on a page (`stack_page`, which stands with the other pages). Words, sentences and the pieces
//! of a bar come from one place, so that the faces agree.

mod json;
pub(crate) mod schema;
mod terminal;
pub(crate) mod told;
pub(crate) mod words;

pub use json::{stack_json, stack_json_text};
pub use schema::STACK_SCHEMA;
pub use terminal::render_stack;
