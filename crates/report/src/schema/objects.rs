//! What threads waited for.

use serde::Serialize;

use super::Place;

/// A sync object, and what it cost.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Object {
    /// What other members call it by.
    pub(crate) object: usize,
    /// mutex, read-write lock, spin lock, condition variable, barrier, semaphore, thread end, once, futex, messages, room for messages;
    /// of OpenMP also critical section, OpenMP lock, ordered section, thread team, start of a thread team, tasks.
    pub(crate) kind: &'static str,
    /// The symbol of a global object; null for others.
    pub(crate) name: Option<String>,
    /// Where it lay in the process; for a thread end the thread's index.
    pub(crate) address: u64,
    /// Whether other processes use it too.
    pub(crate) shared: bool,
    /// For a barrier, how many threads it is for.
    pub(crate) parties: Option<u32>,
    /// Where to look: for a lock where it was taken by those who were waited for, else where it is mostly waited for.
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// Where it was initialized.
    pub(crate) created_at: Place,
    /// Successful acquisitions; null where they were not counted.
    pub(crate) acquisitions: Option<u64>,
    /// Try calls that failed.
    pub(crate) failed_tries: u64,
    /// How often a thread waited for it.
    pub(crate) waits: u64,
    /// All waits for it together, each until its logical wake.
    pub(crate) wait_ns: u64,
    /// From the logical wakes until the threads ran.
    pub(crate) waking_ns: u64,
    /// How long it was held, all holds together; null where that is not known or has no meaning.
    pub(crate) hold_ns: Option<u64>,
    pub(crate) hold_basis: HoldBasis,
    /// How many holds an estimate rests on.
    pub(crate) hold_samples: Option<u64>,
    /// Time that working threads waited because of it, by root cause, divided by workers.
    pub(crate) cost_ns: u64,
    /// cost_ns before waits are passed on along chains.
    pub(crate) direct_cost_ns: u64,
    /// Time of the critical path during which its thread held this object with others waiting, or waited for it with nobody
    /// known to release it.
    pub(crate) on_path_ns: u64,
    /// How many threads waited for it on average, over the time in which it was held with waiters or waited for.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) mean_waiters: f64,
    /// Who was waited for, most first.
    pub(crate) holders: Vec<Holder>,
    /// Who waited, most first.
    pub(crate) waiters: Vec<Waiter>,
}

/// measured: every hold was timed. estimated: the mean of the timed holds times the acquisitions.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum HoldBasis {
    Measured,
    Estimated,
    Unknown,
}

/// Objects that the program uses alike.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Family {
    /// What they are called, in expressions too: cell_lock[], made in …, taken in …
    pub(crate) name: String,
    /// All of them, most costly first.
    pub(crate) members: Vec<usize>,
    /// How many were waited for.
    pub(crate) waited_for: usize,
    /// The sums over all; what is not summed is that of the first member.
    pub(crate) sum: Object,
}

/// A thread that was waited for.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Holder {
    /// The thread; null where it is not known.
    pub(crate) thread: Option<usize>,
    /// Where it took the object, or arrived at or released what is no lock.
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// How long others waited for it, together.
    pub(crate) time_ns: u64,
}

/// A thread that waited.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Waiter {
    /// The thread, by its index.
    pub(crate) thread: usize,
    /// Where it waited.
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// How long, together.
    pub(crate) time_ns: u64,
}
