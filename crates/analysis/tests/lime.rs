//! What makes threads unequal, told from synthetic programs whose answer is known.

#[path = "lime/chance.rs"]
mod chance;
#[path = "lime/literal.rs"]
mod literal;
#[path = "lime/odd.rs"]
mod odd;
#[path = "lime/planted.rs"]
mod planted;
#[path = "lime/random.rs"]
mod random;
#[path = "lime/synthetic.rs"]
mod synthetic;
#[path = "lime/worked.rs"]
mod worked;
