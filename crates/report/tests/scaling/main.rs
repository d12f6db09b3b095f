//! The faces of `holdup scale`: terminal, JSON and page, on analyses built by hand.

mod examples;
mod json;
mod page;
mod ranks;
#[path = "../shared/page.rs"]
mod shared_page;
#[path = "../shared/schema.rs"]
mod shared_schema;
mod terminal;
