//! What makes threads unequal, told from synthetic programs whose answer is known.

mod chance;
mod literal;
mod odd;
mod planted;
mod random;
mod synthetic;
mod worked;
