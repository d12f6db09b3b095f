//! A comparison of runs, as JSON.

mod json;
pub(crate) mod schema;

pub use json::{diff_json, diff_json_text};
pub use schema::DIFF_SCHEMA;
