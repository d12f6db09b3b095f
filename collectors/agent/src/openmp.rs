//! OpenMP: what the front-ends for gcc's and LLVM's runtimes share.
//!
//! A front-end says what happens (a thread meets a parallel region, takes its share of it, gets a chunk, waits at a
//! barrier, runs a task, wants a lock); here it is decided how much of that is told, and it is written as
//! [`holdup_trace::openmp`] records.
//!
//! Not every instance of a region is told whole ([`policy`]): the first ones are, then ever fewer, so that recording
//! costs little of the region's time. A thread that is not in a whole instance learns that from [`is_whole`], which
//! is one load, and says nothing more but which locks it takes. [`Encounter`] is a region as the thread knows it that
//! met it: the other threads of the team take from it what they need when their share begins.
//!
//! Where a thread stands lies in a table by slot, never on the heap: the regions around it ([`region_begins`],
//! [`share_begins`]), the worksharing construct it is in ([`work_begins`]), and the waits and tasks that it has begun
//! on top of each other ([`sync_begins`], [`task_begins`]). All functions can be called at any time by any thread;
//! what does not fit to what was said before is ignored.

mod activities;
mod locks;
mod policy;
mod regions;
mod runtimes;
mod shares;
mod standing;
mod sums;
mod syncs;
mod tasks;
mod wants;
mod works;

pub use locks::{lock_acquired, lock_released, lock_releases, lock_waited, lock_waits, lock_wanted};
pub use regions::{region_begins, region_ends};
pub use runtimes::runtime_found;
pub use shares::{share_arrives, share_begins};
pub use standing::is_whole;
pub use syncs::{sync_begins, sync_ends, sync_retracts, taskwait_begins};
pub use tasks::{
    Making, TaskTraits, child_made, is_beneath, task_begins, task_creates, task_depends, task_ends,
    task_made, task_making,
};
pub use wants::{lock_obtained, lock_seen_free, lock_seen_taken, turn_wanted};
pub use works::{
    chunk_begins, chunk_ends, is_dealt_to, is_in_taskloop, taskloop, work_begins, work_ends, work_kind,
};

pub use crate::thread::openmp::{Encounter, Standing, Waiting};

pub(crate) use regions::close;
