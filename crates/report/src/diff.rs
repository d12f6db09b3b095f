//! The faces of a comparison of runs: terminal and JSON.

mod json;
pub(crate) mod schema;
mod table;
mod terminal;

pub use json::{diff_json, diff_json_text};
pub use schema::DIFF_SCHEMA;
pub use terminal::render_diff;
