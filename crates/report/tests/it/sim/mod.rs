//! The faces of simulations: what `holdup sim` says.

mod examples;
mod json;
mod page;
mod tabular;
mod terminal;
