//! What the tests of several faces check alike.

pub(crate) mod page;
pub(crate) mod schema;
