//! A recorded run in virtual time, unchanged or changed.

#![forbid(unsafe_code)]

mod program;

mod extract;
mod machine;
mod pools;
mod run;
mod unseen;

pub use extract::extract;
pub use machine::Machine;
pub use program::{
    Actor, BarrierFacts, GateIndex, LockFacts, LockIndex, NEVER, NO_SITE, Op, Pause, PauseKind, Pool, Program,
    Step, TokenFacts,
};
pub use run::{Behaviour, Replayed, replay};
