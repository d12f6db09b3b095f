//! What policies that make threads fast give, as JSON.

mod json;
pub(crate) mod schema;

pub use json::{policies_json, policies_json_text};
pub use schema::POLICIES_SCHEMA;
