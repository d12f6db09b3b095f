//! Reading the criticality of a program's threads while it runs.
//!
//! The program keeps it up to date in memory that it shares (`holdup_trace::live`); here it is read, without stopping or
//! asking anybody: [`Live`] is a session, [`LiveProcess`] one of its processes, a [`Snapshot`] what its threads have had up to
//! a moment, and a [`Slice`] what they had between two. The program that holdup runs must have been started with that wanted
//! (`holdup_collect::start_live`).
//!
//! A program that runs already keeps nothing of the kind. [`Watched`] follows it from outside: by the kernel's records of
//! context switches, and where there are too many of them or they are refused by looks at `/proc`.
//!
//! For who only looks, a [`Survey`] is what either way tells of all processes at a moment; [`Followed`] makes them of a session.

mod tally;

mod files;

mod live;

mod snapshot;

mod survey;

mod followed;

mod watched;

pub use followed::Followed;
pub use live::{Live, LiveError, LiveProcess};
pub use snapshot::{AtEnd, Ended, Slice, Snapshot, State, ThreadAtEnd, ThreadNow, ThreadPart};
pub use survey::{Doing, Others, ProcessSeen, Survey, ThreadSeen};
pub use watched::{Means, Watched};
