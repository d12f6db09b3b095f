//! The faces of `holdup stack`: terminal, JSON and page, on profiles built by hand.

mod examples;
mod json;
mod page;
#[path = "../shared/page.rs"]
mod shared_page;
#[path = "../shared/schema.rs"]
mod shared_schema;
mod terminal;
