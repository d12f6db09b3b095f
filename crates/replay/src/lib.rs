//! A recorded run in virtual time, unchanged or changed: what would fixing something save?
//!
//! [`extract`] takes a recorded process apart into a [`Program`]: for each thread the CPU time between its acts, and
//! the acts. [`replay`] does its steps on the cores of a [`Machine`], whose costs are estimated from the recording, with the
//! meaning that `holdup_sync` gives to locks, barriers and signals. A [`Change`] makes another program of it (or another
//! machine); [`Replayer::predict`] says what that would give, and how far it can be trusted.
//!
//! ```
//! use holdup_model::{ObjectKind, Nanos, Timeline};
//! use holdup_replay::{Change, LockChange, Replayer};
//! use holdup_testkit::{Op, Script};
//!
//! // Two threads hold a lock for a second each; without it they would run side by side.
//! let mut script = Script::new();
//! let lock = script.object(ObjectKind::Mutex, "table_lock");
//! let site = script.site("update", 12);
//! let second = 1_000_000_000;
//! let workers: Vec<_> = (0..2)
//!     .map(|_| script.thread("worker", vec![Op::Lock(lock, site), Op::Work(second), Op::Unlock(lock)]))
//!     .collect();
//! script.main_runs(&workers);
//! let process = script.play();
//! let timeline = Timeline::build(&process);
//! let replayer = Replayer::of(&process, &timeline, 4).unwrap();
//! let free = replayer.predict(&[Change::Lock(lock, LockChange::Free)]).unwrap();
//! assert!(free.low < Nanos::new(second) && Nanos::new(second) < free.high);
//! ```
//!
//! In reading order: what a program is (`program`), how it is made from a recording (`events`, then `extract`, with holds that were
//! only counted from `unseen` and shared work from `pools`), the machine (`machine`), the replay (`run`), changes
//! (`change`, `apply`) and predictions (`predict`, as many as a `budget` allows), and the words for changes (`expression`). Loops and tasks
//! of OpenMP are dealt out anew in [`schedule`].
//!
//! Nothing here does I/O, reads a clock, or depends on the order of a hash map or on the number of the host's threads.

#![forbid(unsafe_code)]

mod program;

mod apply;
mod budget;
mod change;
mod events;
mod expression;
mod extract;
mod machine;
mod pools;
mod predict;
mod run;
pub mod schedule;
mod unseen;
mod workers;

pub use apply::{Recorded, Setting, apply};
pub use budget::Budget;
pub use change::{Change, LockChange};
pub use expression::{
    ExpressionError, Point, Sorts, ends_name, is_lock, object_name, parse, place_name, sort_of, sweep,
    thread_name,
};
pub use extract::extract;
pub use machine::Machine;
pub use predict::{BEHIND_ANOTHER, LEAST_ERROR, Next, NoReplay, Prediction, Replayer};
pub use program::{
    Actor, BarrierFacts, GateIndex, LockFacts, LockIndex, NEVER, NO_SITE, Op, Pause, PauseKind, Pool,
    Program, Step, TokenFacts,
};
pub use run::{Behaviour, Replayed, replay};
