//! Builders and generators of recorded processes, for tests only.
//!
//! [`Script`] says what threads do (work, lock, meet at a barrier, read…); [`Script::play`] performs it in
//! virtual time, with a core for each thread, and gives the [`holdup_model::Process`] that a recording of it
//! would be. So a test knows every nanosecond of the answer in advance:
//!
//! ```
//! use holdup_model::{ObjectKind, Nanos, Timeline};
//! use holdup_testkit::{Op, Script};
//!
//! let mut script = Script::new();
//! let lock = script.object(ObjectKind::Mutex, "table_lock");
//! let site = script.site("update", 12);
//! let workers: Vec<_> = (0..2)
//!     .map(|_| script.thread("worker", vec![Op::Lock(lock, site), Op::Work(10), Op::Unlock(lock)]))
//!     .collect();
//! script.main_runs(&workers);
//! let process = script.play();
//! assert_eq!(process.wall(), Nanos::new(20));
//! assert_eq!(process.waits.iter().filter(|wait| wait.object == lock).count(), 1);
//! # assert!(Timeline::build(&process).check().is_ok());
//! ```
//!
//! [`any_process`] gives processes of random, often impossible content, [`any_script`] random programs that end,
//! [`any_timeline`] random segments: inputs for property tests. [`counts`] has the counts of stored recordings.

#![forbid(unsafe_code)]

pub mod counts;
mod play;
mod random;
mod script;

pub use random::{any_process, any_script, any_timeline};
pub use script::{Op, QueueId, Script};
