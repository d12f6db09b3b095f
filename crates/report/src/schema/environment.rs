//! What surrounded the run.

use serde::Serialize;

/// What surrounded the run, as it was read from the machine. What is not known is null or empty. Sets of CPUs are written
/// as the kernel and taskset write them: 0-3,8.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Environment {
    /// The machine's CPUs that are on.
    pub(crate) online: Option<String>,
    /// Where each recorded process was allowed to run, in the order in which they were seen.
    pub(crate) placements: Vec<Placement>,
    /// Of processors with more than one kind of core: the kinds, fastest first. Empty where all are alike.
    pub(crate) core_kinds: Vec<CoreKind>,
    /// CPUs that share a core, a set for each such core.
    pub(crate) shared_cores: Vec<String>,
    /// How fast CPUs may run, CPUs of the same limits together.
    pub(crate) frequencies: Vec<FrequencyRange>,
    /// Whether speeds above the nominal one are switched off.
    pub(crate) turbo_off: Option<bool>,
    /// How often CPUs slowed down because they were too hot, while the program ran.
    pub(crate) thermal_throttles: Option<u64>,
    /// The memory nodes that have CPUs.
    pub(crate) nodes: Vec<MemoryNode>,
    /// CPU time on the CPUs that the first process was given, all of them together, while the program ran. The kernel counts
    /// in ticks of 10 ms.
    pub(crate) load: Option<Load>,
    /// What the machine swapped while the program ran.
    pub(crate) swapped: Option<Swapped>,
    /// How long at least one thread of the whole machine waited for a CPU while the program ran.
    pub(crate) pressure_ns: Option<u64>,
    /// What may have slowed the process of this report down, and is no finding: nothing of the program can fix it, or what
    /// it costs is not known.
    pub(crate) notes: Vec<Note>,
}

/// What may have slowed the process down.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Note {
    /// What it is about: quota (of which no cost is known), smt, hybrid, frequency, numa, swap, memory, load. More may be
    /// added.
    pub(crate) kind: &'static str,
    /// What it is, in a line.
    pub(crate) what: String,
    /// What can be done.
    pub(crate) hint: String,
    /// How much longer the run took by that; null where it is not known. It is a part of cost_identity.
    pub(crate) cost_ns: Option<u64>,
}

/// Where a process was allowed to run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Placement {
    /// The process.
    pub(crate) pid: u32,
    /// The CPUs that it was given when it was first seen.
    pub(crate) given: Option<String>,
    /// The CPUs that any of its threads was last seen to be allowed to use.
    pub(crate) allowed: Option<String>,
    /// The CPUs of its control group's cpuset.
    pub(crate) cpuset: Option<String>,
    /// How many CPUs it can have at a time: those allowed, but no more than the tightest quota, rounded up.
    pub(crate) effective_cores: Option<u32>,
    /// Its threads by the CPUs that they were last seen to be allowed to use.
    pub(crate) pins: Vec<Pin>,
    /// The CPU quotas of its control groups, innermost first; empty where there is none.
    pub(crate) quotas: Vec<Quota>,
    /// How often its control groups reached a memory limit, and stopped threads to give memory back.
    pub(crate) memory_limit_hits: Option<u64>,
    /// Where its memory lies.
    pub(crate) memory: Vec<Pages>,
    /// The most that was seen of it in swap, in bytes.
    pub(crate) in_swap_bytes: Option<u64>,
}

/// Threads that may use the same CPUs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Pin {
    /// The CPUs.
    pub(crate) cpus: String,
    /// Kernel ids of the threads that may use these CPUs and no others.
    pub(crate) tids: Vec<u32>,
}

/// The CPU quota of a control group.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Quota {
    /// The control group's folder.
    pub(crate) group: String,
    /// How many CPUs' time it gives: time_ns by period_ns.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) cpus: f64,
    /// CPU time in each period.
    pub(crate) time_ns: u64,
    /// The period.
    pub(crate) period_ns: u64,
    /// How it stopped the group while the program ran.
    pub(crate) throttling: Option<Throttling>,
}

/// How a quota stopped its group.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Throttling {
    /// Periods in which the group had something to run.
    pub(crate) periods: u64,
    /// Periods in which the quota was used up.
    pub(crate) throttled: u64,
    /// How long CPUs stood still for the group, all CPUs together.
    pub(crate) time_ns: u64,
}

/// Memory on one node.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Pages {
    /// The memory node.
    pub(crate) node: u32,
    /// Pages of the process that lie there.
    pub(crate) pages: u64,
}

/// Cores that are alike.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CoreKind {
    /// What they are called.
    pub(crate) name: String,
    /// The CPUs.
    pub(crate) cpus: String,
}

/// How fast CPUs may run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FrequencyRange {
    /// The CPUs.
    pub(crate) cpus: String,
    /// What chooses the speed.
    pub(crate) governor: Option<String>,
    /// What sets the speed.
    pub(crate) driver: Option<String>,
    /// The highest speed that is allowed, in kHz.
    pub(crate) limit_khz: u64,
    /// The highest speed that the hardware has, in kHz.
    pub(crate) highest_khz: u64,
}

/// A memory node.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MemoryNode {
    /// Its number.
    pub(crate) node: u32,
    /// Its CPUs.
    pub(crate) cpus: String,
}

/// CPU time by who used it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Load {
    /// How long was looked.
    pub(crate) span_ns: u64,
    /// CPU time in which they did anything.
    pub(crate) busy_ns: u64,
    /// CPU time in which they did nothing.
    pub(crate) idle_ns: u64,
    /// CPU time that the host of a virtual machine took away.
    pub(crate) stolen_ns: u64,
    /// CPU time of the program and all that it started.
    pub(crate) program_ns: u64,
    /// CPU time of holdup itself.
    pub(crate) recorder_ns: u64,
    /// CPU time of others than the program and holdup, the host's included.
    pub(crate) others_ns: u64,
}

/// Bytes that went to and came from swap.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Swapped {
    /// Read from swap.
    pub(crate) read_bytes: u64,
    /// Written to swap.
    pub(crate) written_bytes: u64,
}
