//! The faces of a comparison of runs: terminal and JSON.

mod json;
mod table;
mod terminal;

pub use json::{DIFF_SCHEMA, diff_json, diff_json_text};
pub use terminal::render_diff;
