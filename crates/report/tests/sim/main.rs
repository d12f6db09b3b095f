//! The faces of simulations: what `holdup sim` says.

mod examples;
mod json;
mod page;
#[path = "../shared/page.rs"]
mod shared_page;
#[path = "../shared/schema.rs"]
mod shared_schema;
mod tabular;
mod terminal;
