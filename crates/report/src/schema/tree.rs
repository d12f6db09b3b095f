//! All processes of the run together.

use serde::Serialize;

#[cfg(test)]
use super::WHOLE;

/// What all processes of the run did together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Tree {
    /// How long the run took.
    pub(crate) wall_ns: u64,
    /// How many CPUs its processes could have at a time; null where that is not known.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) cores: Option<u32>,
    /// How many processes there were. One that executes another program stays one.
    pub(crate) processes: usize,
    /// CPU time of all, as far as it is known.
    pub(crate) cpu_ns: u64,
    /// How many threads of all processes were active, on the average.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) parallelism: f64,
    /// The parallelism divided by the CPUs, at most 1; null where these are not known.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) efficiency: Option<f64>,
    /// For how long none was active, one, two…; the sum is wall_ns.
    pub(crate) at_once_ns: Vec<u64>,
    /// How many threads were active in each of sixty parts of the run of the same length.
    #[cfg_attr(test, schemars(inner(range(min = 0.0))))]
    pub(crate) over_time: Vec<f64>,
    /// What the processes of each program did, those first that have most of the path.
    pub(crate) programs: Vec<TreeProgram>,
    /// From the start of the run to its end: which process the rest waited for.
    pub(crate) path: Vec<TreeStep>,
    /// The jobs of make and its like; null where there were fewer than two.
    pub(crate) jobs: Option<TreeJobs>,
}

/// What the processes of a program did.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TreeProgram {
    /// The file name of the program.
    pub(crate) program: String,
    /// How many processes executed it.
    pub(crate) processes: usize,
    /// Their CPU time, as far as it is known.
    pub(crate) cpu_ns: u64,
    /// Of the time in which r threads of the run were active, 1/r for each of theirs.
    pub(crate) criticality_ns: u64,
    /// How much of the path it is.
    pub(crate) on_path_ns: u64,
    /// The process that has most of on_path_ns, by its index; null where none has anything of the path.
    pub(crate) longest: Option<usize>,
    /// How much of the path the longest one has.
    pub(crate) longest_ns: Option<u64>,
}

/// A process that the rest waited for.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TreeStep {
    /// Its index among the processes of the recording.
    pub(crate) process: usize,
    /// From when on, counted from the start of the run.
    pub(crate) from_ns: u64,
    /// Until when, counted from the start of the run; the next step begins there.
    pub(crate) to_ns: u64,
    pub(crate) came: Came,
    /// For how much of it the process waited for something that is none of the run's processes.
    pub(crate) waited_ns: u64,
}

/// How the path came to it: it is the first; the process before started it; the one before ended, which it waited for; the
/// one before was at work while this one waited to read.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Came {
    First,
    Started,
    Ended,
    Fed,
}

/// The jobs of make and its like.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TreeJobs {
    /// The program that started them: make and its like.
    pub(crate) runner: String,
    /// How many there were.
    pub(crate) count: usize,
    /// How many may run at once: as many as a runner was told, or as ran.
    pub(crate) limit: u32,
    /// How many ran at once, at most.
    pub(crate) most: u32,
    /// How many ran at once on the average, from the first one's start to the last one's end.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) mean: f64,
    /// How many began when another had ended while fewer than the limit ran: they waited for that one.
    pub(crate) waited: usize,
    /// What other numbers of jobs and of cores give, the first as it was. Empty where replaying the jobs as they were does
    /// not give the run's time.
    pub(crate) forecasts: Vec<TreeForecast>,
}

/// How long the run takes with other jobs or cores.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TreeForecast {
    /// How many jobs at once; null for all that can.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) limit: Option<u32>,
    /// On how many cores; null where each job has its own.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) cores: Option<u32>,
    /// How long the run takes at least: what a job needs of one that ran before it for want of a place is not known.
    pub(crate) wall_ns: u64,
}
