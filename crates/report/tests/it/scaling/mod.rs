//! The faces of `holdup scale`: terminal, JSON and page, on analyses built by hand.

mod examples;
mod json;
mod page;
mod ranks;
mod terminal;
