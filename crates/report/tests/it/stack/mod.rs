//! The faces of `holdup stack`: terminal, JSON and page, on profiles built by hand.

mod examples;
mod json;
mod page;
mod terminal;
