//! Where threads were seen at work, and how the run went on.

use serde::Serialize;

#[cfg(test)]
use super::WHOLE;
use super::{Place, ThreadTime};

/// Where threads were seen at work.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HotSpots {
    /// Samples of active threads.
    pub(crate) samples: u64,
    /// How many of them have a call stack that could not be followed to the start of its thread.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) broken_stacks_share: f64,
    /// The active time that all samples stand for: what each active_share is of.
    pub(crate) active_ns: u64,
    /// The critical time of all samples: what each critical_share is of. The criticality of all threads less this was not sampled.
    pub(crate) critical_ns: u64,
    /// By line of the program's own code, most critical time first.
    pub(crate) lines: Vec<HotSpot>,
    /// By function of the program's own code, most critical time first; each at its line with the most critical time.
    pub(crate) functions: Vec<HotSpot>,
}

/// A place where threads were seen at work.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HotSpot {
    /// The place.
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// The function, by where it begins if it has no name; null where that is not known either.
    pub(crate) function: Option<String>,
    /// The function of a library or runtime, called there, in which most of active_ns passed; null where that is the
    /// program's own code.
    pub(crate) inside: Option<String>,
    /// Samples.
    pub(crate) samples: u64,
    /// The active time that the samples stand for.
    pub(crate) active_ns: u64,
    /// active_ns by that of all samples.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) active_share: f64,
    /// The critical time of the samples: each moment of active_ns by the number of threads that were active then.
    pub(crate) critical_ns: u64,
    /// critical_ns by that of all samples.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) critical_share: f64,
    /// active_ns by thread, most first.
    pub(crate) threads: Vec<ThreadTime>,
}

/// The course of the run. Times are counted from its start, as `--from` and `--to` do.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OverTime {
    /// The length of a slice; the last one may be shorter.
    pub(crate) slice_ns: u64,
    /// The run in slices, in order of time.
    pub(crate) slices: Vec<Slice>,
    /// Neighbouring slices in which the threads share the run alike, in order of time; one where the run was steady.
    pub(crate) phases: Vec<Phase>,
    /// The second with the lowest parallelism; null for runs shorter than two seconds.
    pub(crate) worst: Option<Phase>,
}

/// A piece of the run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Slice {
    /// When it begins, from the start of the run; it ends where the next one begins, the last one with the process.
    pub(crate) start_ns: u64,
    /// The average number of active threads.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) parallelism: f64,
    /// The threads with the most criticality, most first.
    pub(crate) threads: Vec<ThreadCriticality>,
    /// Time in which no thread was active.
    pub(crate) nobody_ns: u64,
}

/// Neighbouring slices.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Phase {
    /// When it begins, from the start of the run, as --from counts.
    pub(crate) start_ns: u64,
    /// When it ends, from the start of the run, as --to counts.
    pub(crate) end_ns: u64,
    /// The average number of active threads.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) parallelism: f64,
    /// The threads with the most criticality, most first.
    pub(crate) threads: Vec<ThreadCriticality>,
    /// Time in which no thread was active.
    pub(crate) nobody_ns: u64,
}

/// How critical a thread was in a part of the run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ThreadCriticality {
    /// The thread, by its index.
    pub(crate) thread: usize,
    /// Its criticality in this part of the run.
    pub(crate) criticality_ns: u64,
}
