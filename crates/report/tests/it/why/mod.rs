//! The faces of `holdup why`: terminal, JSON and page, on analyses built by hand.

mod examples;
mod json;
mod page;
mod terminal;
