//! The shape of `holdup report --json`, schema 1. It is only ever extended. `docs/json-schema/report.schema.json` is made
//! of these types: what a comment here says of a member is what it says.

mod amount;
mod course;
mod criticality;
pub(crate) mod environment;
mod findings;
mod objects;
mod path;
mod repeats;
mod tree;
mod what_if;

use serde::Serialize;

pub(crate) use amount::Amount;
pub(crate) use course::{HotSpot, HotSpots, OverTime, Phase, Slice, ThreadCriticality};
pub(crate) use criticality::{Bottle, Criticality, Nobody, Thread};
pub(crate) use findings::{CostIdentity, CostPart, Finding};
pub(crate) use objects::{Family, HoldBasis, Holder, Object, Waiter};
pub(crate) use path::{Chain, ChainLink, CriticalPath, ObjectTime, PathStep, State};
pub(crate) use repeats::{Elsewhere, FindingRepeats, RunRepeats};
pub(crate) use tree::{Came, Tree, TreeForecast, TreeJobs, TreeProgram, TreeStep};
pub(crate) use what_if::{Curve, CurvePoint, Gain, WhatIf};

/// The version of the JSON that [`json`](crate::json) gives. It grows only where a member changes
/// its meaning; members may be added at any time.
pub const SCHEMA: u32 = 1;

/// The greatest share: a sum of floating-point parts may exceed 1 by its rounding.
#[cfg(test)]
pub(crate) const WHOLE: f64 = 1.0000001;

/// What holds a recorded program up. Schema 1: members may be added, none is taken away and none changes its meaning. All
/// times are whole nanoseconds (names end in _ns), all shares numbers from 0 to 1; a sum of floating-point parts may exceed
/// 1 by its rounding. A thread is told by its index in criticality.threads, a sync object by the member object of an entry
/// of objects, which is not a position in that list. Names of threads, functions, files and objects are as the program gave
/// them: escape them where they are shown.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "holdup report --json"))]
pub(crate) struct Report {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub(crate) schema: u32,
    /// The version of holdup that wrote this report.
    pub(crate) holdup: &'static str,
    pub(crate) run: RunFacts,
    /// The clock of the recording and its error, in words.
    pub(crate) clock: String,
    /// How the command ended; null if the recording stopped first.
    pub(crate) exit: Option<Exit>,
    /// The process that this report is about: the busiest one. Null where nothing was recorded; then criticality,
    /// critical_path and cost_identity are null too.
    pub(crate) process: Option<ProcessFacts>,
    /// The criticality stack; null where nothing was recorded.
    pub(crate) criticality: Option<Criticality>,
    /// The bottle graph: one box for each thread that was ever active, highest first.
    pub(crate) bottle: Vec<Bottle>,
    /// Where threads were seen at work; null where there are no samples of active threads.
    pub(crate) hot_spots: Option<HotSpots>,
    /// The course of the run; null where nothing was recorded.
    pub(crate) over_time: Option<OverTime>,
    /// What a replay of the run predicts; null where it cannot be replayed.
    pub(crate) what_if: Option<WhatIf>,
    /// What all recordings say; null for a report of one.
    pub(crate) repeats: Option<RunRepeats>,
    /// All sync objects that were used or waited for, most costly first.
    pub(crate) objects: Vec<Object>,
    /// Locks, condition variables and semaphores of which the program has many and uses them alike, together, most costly
    /// first; only families of which several were used or waited for.
    pub(crate) families: Vec<Family>,
    /// The sequence of work and delays that the length of the run consists of; null where nothing was recorded.
    pub(crate) critical_path: Option<CriticalPath>,
    /// Waits of the same course together, most time first: waiter, object, holder, and what the holder did or itself waited
    /// for. Only the longest are kept.
    pub(crate) chains: Vec<Chain>,
    /// What to fix, what is most worth it first. Empty where nothing holds the program up.
    pub(crate) findings: Vec<Finding>,
    /// Where the wall time went, on the average over the workers; null where nothing was recorded.
    pub(crate) cost_identity: Option<CostIdentity>,
    /// What all processes of the run did together; null where there was only one, or one was asked for.
    pub(crate) tree: Option<Tree>,
    /// The other processes of the run.
    pub(crate) processes: Vec<OtherProcess>,
}

/// The whole recorded run, all processes together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunFacts {
    /// The command and its arguments; empty where they were left out of the recording.
    pub(crate) command: Vec<String>,
    /// The version of holdup that made the recording.
    pub(crate) recorded_by: String,
    /// From the start of the first process to the end of the run, or of the recording if that stopped first.
    pub(crate) wall_ns: u64,
    /// Threads of all recorded processes.
    pub(crate) threads: usize,
    /// Recorded processes.
    pub(crate) processes: usize,
    /// CPUs that the program was allowed to use; 0 where that is not known.
    pub(crate) cores: u32,
    /// The collectors that gave the data.
    pub(crate) collectors: Vec<String>,
    pub(crate) environment: environment::Environment,
    /// What recording cost; null where it was not measured.
    pub(crate) recording_cost: Option<RecordingCost>,
    /// Events that could not be kept: lost.events + lost.events_in_signals.
    pub(crate) lost_events: u64,
    pub(crate) lost: Lost,
    /// Processes that could not be recorded, a sentence each.
    pub(crate) unseen: Vec<String>,
    /// What else to know before believing the numbers: losses, blind spots, damage. A sentence each, the gravest first.
    pub(crate) warnings: Vec<String>,
}

/// What recording cost the program while it ran, as a range of shares of its CPU time, and what it is made of.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RecordingCost {
    /// At least so much.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) least: f64,
    /// At most so much.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) most: f64,
    /// CPU time of all threads; of those where it is not known the time that they were on a core, or that they existed.
    pub(crate) cpu_ns: u64,
    /// The library's hooks, by their number and what one takes in a loop.
    pub(crate) counted_ns: u64,
    /// Samples of running threads in the library's own code.
    pub(crate) own_samples: u64,
    /// All samples of running threads.
    pub(crate) all_samples: u64,
    /// What the kernel took to record switches, wake-ups and samples.
    pub(crate) records_ns: u64,
    /// CPU time of the recorder while the program ran; null where it is not known.
    pub(crate) recorder_cpu_ns: Option<u64>,
}

/// What the recording could not keep.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Lost {
    /// Events for which no room was left.
    pub(crate) events: u64,
    /// Events in signal handlers that interrupted the recording of another event.
    pub(crate) events_in_signals: u64,
    /// Threads for which no room was left.
    pub(crate) threads: u64,
    /// Uses of locks that could not be told apart.
    pub(crate) uses: u64,
    /// Bytes of the recording that are damaged or cut off.
    pub(crate) damaged_bytes: u64,
}

/// How the command ended; one of the two is not null.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Exit {
    /// The status that it returned.
    pub(crate) code: Option<i32>,
    /// The signal that killed it.
    pub(crate) signal: Option<i32>,
}

/// The process that is told of.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ProcessFacts {
    /// Its index among the processes of the recording, in the order in which they started.
    pub(crate) process: usize,
    /// Its process id.
    pub(crate) pid: u32,
    /// The process id of its parent.
    pub(crate) parent_pid: u32,
    /// The ids of other processes that are reported with it as one; their threads are among its threads.
    pub(crate) joined_pids: Vec<u32>,
    /// Its program and arguments.
    pub(crate) command: Vec<String>,
    /// How long it lived: T.
    pub(crate) wall_ns: u64,
    /// How many threads it had.
    pub(crate) threads: usize,
    /// CPUs that it was allowed to use; null where that is not known.
    pub(crate) cores: Option<u32>,
    /// CPUs that it could have at a time: those allowed, but no more than its CPU quota, rounded up; null where that is not
    /// known.
    pub(crate) effective_cores: Option<u32>,
    /// The threads that do work. One that only starts and joins others is not one.
    pub(crate) working_threads: Vec<usize>,
    /// How many working threads there were at once, not counting those that wait for others' ends, two where several take turns
    /// at the work: every cost is thread-time divided by this.
    pub(crate) workers: u32,
    /// The average number of active threads over T.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) parallelism: f64,
    /// The CPU time of all threads by T; null where it is not known for each thread.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) on_cpu_parallelism: Option<f64>,
    /// The lower of the two parallelisms by the lower of effective_cores and workers.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) efficiency: f64,
    /// Which definition of active was used.
    pub(crate) active_means: &'static str,
    /// How much of the time in which they had work threads had a core: 1 less (delayed + descheduled) by (active +
    /// descheduled) time; null where neither CPU times nor context switches are known.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) on_core_share: Option<f64>,
    /// How many threads were able to run and known to be without a core, on average over T.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) without_core: f64,
    /// What gave the data of this process.
    pub(crate) seen_by: SeenBy,
    /// Distinct call stacks.
    pub(crate) stacks: usize,
    /// Call stacks that could not be followed to the start of their thread.
    pub(crate) broken_stacks: usize,
}

/// A process that findings alone are told of.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OtherProcess {
    /// Its index among the processes of the recording.
    pub(crate) process: usize,
    /// Its process id.
    pub(crate) pid: u32,
    /// The process id of its parent.
    pub(crate) parent_pid: u32,
    /// The ids of other processes that are reported with it as one; their threads are among its threads.
    pub(crate) joined_pids: Vec<u32>,
    /// Its program and arguments.
    pub(crate) command: Vec<String>,
    /// How long it lived.
    pub(crate) wall_ns: u64,
    /// How many threads it had; 0 where it was not recorded.
    pub(crate) threads: usize,
    /// The average number of active threads; null where it was not recorded.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) parallelism: Option<f64>,
    /// As that of the first process; null where it was not recorded.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) efficiency: Option<f64>,
    /// What gave the data of this process.
    pub(crate) seen_by: SeenBy,
    /// What holds this process up. Indices of threads and objects are its own.
    pub(crate) findings: Vec<Finding>,
}

/// What gave the data of a process.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SeenBy {
    /// The library inside of it: locks, barriers and other waits by object. False also in recordings that do not say.
    pub(crate) preload: bool,
    /// The kernel's records: time on a core, samples.
    pub(crate) kernel: bool,
    /// How much of its time the kernel's context-switch records cover.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) switches_share: f64,
    /// Samples of its threads, running and blocked ones.
    pub(crate) samples: usize,
}

/// A place in the code. What is not known is null; all of it, where the place is not known. Of a call stack it is the
/// innermost frame of the program's own code, else the innermost of all.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Default)]
pub(crate) struct Place {
    /// The demangled function name.
    pub(crate) function: Option<String>,
    /// The source file, as the compiler recorded it.
    pub(crate) file: Option<String>,
    /// The line in the file.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) line: Option<u32>,
    /// The file name of the program or library.
    pub(crate) module: Option<String>,
    /// The address relative to the module, in bytes; the plain one where no module covers it.
    pub(crate) address: Option<u64>,
}

/// How much of a time is a thread's.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ThreadTime {
    /// The thread, by its index.
    pub(crate) thread: usize,
    /// Its part of the time.
    pub(crate) time_ns: u64,
}

/// What a finding is about: lock, barrier, imbalance, serial, condition, semaphore, pipeline, queue, join, spin, sharing, faults, quota,
/// affinity, oversubscription, load, delayed, wakeup, io, sleep, startup, idle, deadlock, hang, blocked, granularity, cache, memory.
/// More may be added.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Kind(pub(crate) &'static str);
