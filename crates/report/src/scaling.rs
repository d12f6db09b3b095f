//! The faces of how a program scales: what `holdup scale` says to people and to scripts.
//!
//! One value, [`Scaling`](holdup_scaling::Scaling), is told in a terminal ([`render_scale`]), as JSON
//! ([`scale_json`]), and on a page (`scale_page`, which stands with the other page). What is told in words has them from
//! one place, so that the faces agree.

mod json;
mod plot;
pub(crate) mod ranks;
pub(crate) mod schema;
mod terminal;
pub(crate) mod told;
pub(crate) mod words;

pub use json::{scale_json, scale_json_text};
pub use ranks::{RANKS_SCHEMA, ranks_json, ranks_json_text, render_ranks};
pub use schema::SCALE_SCHEMA;
pub use terminal::render_scale;
