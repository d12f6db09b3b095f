//! The `holdup` command.
fn main() {}
