//! Where parallel sections begin and end: the rules by which a thread's stream of marks is cut into pieces.
//!
//! [`Cut::at`] says what a mark means for the piece that the thread is in, and [`Looks`] tells a thread that looks again at a
//! condition from one that comes to it anew. Counts and simulations cut streams by these, so that a piece has the same number
//! in both. Which condition variables are barriers, `holdup_model::ConditionUse` says, for streams and for
//! timelines.

#![forbid(unsafe_code)]

mod cut;
mod looks;

pub use cut::{Boundary, Cut, is_barrier, is_dealt};
pub use looks::Looks;
