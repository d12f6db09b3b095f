//! Whose time the run took.

use serde::Serialize;

use super::Place;
#[cfg(test)]
use super::WHOLE;

/// The criticality stack.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Criticality {
    /// The wall time of the process. All criticality_ns and nobody_ns add up to it exactly.
    pub(crate) total_ns: u64,
    pub(crate) nobody_ns: Nobody,
    /// All of nobody_ns by total_ns.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) nobody_share: f64,
    /// Time in which no thread was able to run: with all runnable_criticality_ns it adds up to total_ns.
    pub(crate) runnable_nobody_ns: u64,
    /// True where others used over 5 % of the CPUs' time: then text and page go by runnable_criticality_ns.
    pub(crate) is_by_runnable: bool,
    /// One entry for each thread, in the order in which they started.
    pub(crate) threads: Vec<Thread>,
}

/// Time in which no thread was active, by what ended it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Default)]
pub(crate) struct Nobody {
    /// I/O was done.
    pub(crate) io: u64,
    /// A sleep was over.
    pub(crate) sleep: u64,
    /// A released thread ran at last.
    pub(crate) wake_up: u64,
    /// A thread that could run was given a core.
    pub(crate) run_queue: u64,
    /// Anything else: a time limit, another process, the start of a thread, the end of the run.
    pub(crate) other: u64,
}

/// A thread, and what it did.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Thread {
    /// Its index in this list.
    pub(crate) thread: usize,
    /// Its kernel thread id, which may have been reused.
    pub(crate) tid: u32,
    /// Its name; `main` for a first thread without one, else its number.
    pub(crate) name: String,
    /// Its start function.
    pub(crate) start: Place,
    /// Where it was created.
    pub(crate) created_at: Place,
    /// The thread that created it.
    pub(crate) parent: Option<usize>,
    /// Whether it is a working thread.
    pub(crate) works: bool,
    /// The sum over all intervals in which it was active of the interval's length by the number of active threads.
    pub(crate) criticality_ns: u64,
    /// criticality_ns by the wall time.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) share: f64,
    /// Its criticality where threads that are able to run but have no core count as active, too.
    pub(crate) runnable_criticality_ns: u64,
    /// Active.
    pub(crate) active_ns: u64,
    /// Blocked on a sync object, until the logical wake.
    pub(crate) waiting_ns: u64,
    /// Released, and not yet running.
    pub(crate) waking_ns: u64,
    /// In blocking I/O.
    pub(crate) io_ns: u64,
    /// Asleep.
    pub(crate) asleep_ns: u64,
    /// Spinning.
    pub(crate) spinning_ns: u64,
    /// Able to run, and known to be without a core.
    pub(crate) descheduled_ns: u64,
    /// Nothing is known.
    pub(crate) not_recorded_ns: u64,
    /// Before its start and after its end. The times in which it was active, waiting, waking, in I/O, asleep, spinning,
    /// descheduled, not recorded and not existing add up to the wall time.
    pub(crate) not_existing_ns: u64,
    /// A part of active_ns: wall time less CPU time, where both are known.
    pub(crate) delayed_ns: u64,
    /// Its CPU time; null where it could not be read.
    pub(crate) cpu_ns: Option<u64>,
}

/// A box of the bottle graph.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Bottle {
    /// The thread, by its index.
    pub(crate) thread: usize,
    /// Its criticality by the wall time.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) height: f64,
    /// The average number of active threads while it was active.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) width: f64,
}
