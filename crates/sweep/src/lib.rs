//! Many programs at once: what a plan asks for, what was done of it, and the results as tables.
//!
//! A [`Plan`] is read from a file ([`Plan::read`]); [`work`] makes of it *cells* and *tasks*. A [`Cell`] is one row of the
//! results: a program with an input, a number of threads, a machine, a what-if. A [`Task`] is one thing to do for them: a
//! recording, which several cells share, or an answer made of one. A task has a [key](Task::key), a hash of all that its result
//! depends on: the command, the content of the program, of its shared libraries and of its input files, variables, holdup itself. What a task gave is
//! kept under its key, so that results of different programs or inputs are never taken for each other, and what is there need not
//! be done again.
//!
//! The [`Store`] is a sweep's directory. Each task's [`Outcome`] is a file of its own, which comes into being as a whole, after
//! the files that it speaks of. That is all there is of state: whoever was killed when, what has an outcome is done, and the rest is
//! not. It also lets tasks run on several machines that share the directory, without a lock.
//!
//! [`numbers`] takes out of an answer of holdup what belongs into a table, and [`write_tables`] writes the tables.
//!
//! Nothing here starts a program: that is the command line's part.

#![forbid(unsafe_code)]

mod counts;
mod error;
mod hash;
mod numbers;
mod outcome;
mod plan;
mod store;
mod table;
mod work;

pub use counts::Counts;
pub use error::SweepError;
pub use hash::{content_hash, hash_of};
pub use numbers::{Numbers, StackNumbers, numbers};
pub use outcome::{Host, Outcome, Status};
pub use plan::{Input, Measure, Named, Plan, Program, Roi, SlurmOptions, Subject};
pub use store::{Store, replace};
pub use table::{ROWS, Row, TABLE_FORMAT, write_tables};
pub use work::{Cell, Circumstances, Libraries, Task, TaskKind, Work, work};
