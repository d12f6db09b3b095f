//! What is known at a moment.

/// What a thread does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It is active: it runs, or could.
    Active,
    /// It waits for something: in a word or two, as far as that is known (`futex`, `sleep`), else empty.
    Waits(String),
    /// It has ended.
    Ended,
}

/// A thread at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSeen {
    /// Its place in the order in which the process's threads were first seen, from 0. Kernel ids are used again; this is not.
    pub number: u32,
    /// Its kernel id.
    pub tid: u32,
    /// Its name, as the program chose it.
    pub name: String,
    /// What it does.
    pub state: Doing,
    /// Its criticality so far (paper 4, Eq. 1), in ns: each moment counts 1 / the number of threads active in it.
    pub criticality_ns: u64,
    /// The time in which it was active so far, in ns.
    pub active_ns: u64,
    /// How often it became active or ceased to be.
    pub changes: u64,
    /// Of one that has ended, where it is known: the age of its process then, in ns. It has had nothing since.
    pub ended_ns: Option<u64>,
}

/// Threads that are told of together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// How many.
    pub threads: u64,
    /// Their criticality, in ns.
    pub criticality_ns: u64,
    /// Their active time, in ns.
    pub active_ns: u64,
    /// Their changes.
    pub changes: u64,
}

/// A process at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSeen {
    /// Its kernel id.
    pub pid: u32,
    /// The name of its program.
    pub name: String,
    /// For how long it has been followed, in ns.
    pub age_ns: u64,
    /// It has ended, or executed another program.
    pub has_ended: bool,
    /// Which it is, in the order in which processes were first seen: kernel ids are used again, this is not.
    pub number: u32,
    /// Threads that have ended and are not among `threads`.
    pub others: Others,
    /// Its threads, by number.
    pub threads: Vec<ThreadSeen>,
}

/// All that is known at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// When, in ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// In the order in which they were first seen.
    pub processes: Vec<ProcessSeen>,
}
