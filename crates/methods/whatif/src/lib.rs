//! What `holdup whatif` says: what changes of a recorded run would give ([`answer`]), and which can be named ([`expressible`]). What
//! they give is computed by the replay.

#![forbid(unsafe_code)]

mod answer;
mod expressible;

pub use answer::{answer, next_limit};
pub use expressible::{Expressible, expressible, expressible_answer};
