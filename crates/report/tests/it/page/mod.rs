//! The page: what is in it, that it does no harm whatever the names in it, and that its colours can be told apart.

mod content;
mod examples;
mod hostile;
mod palette;
