//! Why cache or bandwidth cannot be stolen here.

use std::io;

/// What stands in the way, as a sentence with what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The kernel does not say what caches there are.
    #[error(
        "the kernel does not tell which caches CPU {cpu} has (no /sys/devices/system/cpu/cpu{cpu}/cache)"
    )]
    NoCacheFacts {
        /// Which CPU was asked about.
        cpu: u32,
    },
    /// The machine has one CPU.
    #[error("the machine has one CPU: nothing can run beside the program to take cache from it")]
    OneCore,
    /// This process may use one of several CPUs.
    #[error(
        "only CPU {allowed} of {online} may be used (cpuset of the container, or taskset): \
         allow one more that shares its last-level cache"
    )]
    CpusetTooSmall {
        /// The one.
        allowed: u32,
        /// How many the machine has.
        online: usize,
    },
    /// No cache is shared by cores.
    #[error("the last level of each core's caches is its own: threads do not contend for cache here")]
    NoSharedLevel,
    /// Those that share a level may not be used.
    #[error(
        "the level {level} cache of CPU {cpu} is shared by CPUs {shared:?}, of which no other may be used: \
         allow one more of them"
    )]
    NoOtherCore {
        /// An allowed CPU.
        cpu: u32,
        /// The level's number.
        level: u32,
        /// Who shares it.
        shared: Vec<u32>,
    },
    /// Those that may be used are hardware threads of one core.
    #[error(
        "CPUs {cpus:?} are hardware threads of one core: a thief there would take the core's units and its private \
         caches too; allow another core"
    )]
    OnlySiblings {
        /// The allowed ones.
        cpus: Vec<u32>,
    },
    /// Single loads cannot be timed.
    #[error(
        "the processor's counter ticks every {resolution_ns:.0} ns: too coarse to tell a cache's hit from a miss"
    )]
    CoarseClock {
        /// Length of a tick.
        resolution_ns: f64,
    },
    /// Nothing is known of this kind of processor.
    #[error("no way is known to time single loads on this kind of processor")]
    UnknownProcessor,
    /// Hits and misses take equally long, or overlap.
    #[error(
        "hits take {hit_ns:.0} ns and misses {miss_ns:.0} ns, and {confused:.1} % of the loads are on the wrong side of any \
         limit between: the machine is too noisy for probes; repeat when it is quiet"
    )]
    Indistinct {
        /// Median hit.
        hit_ns: f64,
        /// Median miss.
        miss_ns: f64,
        /// Loads on the wrong side, in percent.
        confused: f64,
    },
    /// Others leave hardly anything of the level.
    #[error(
        "of the {nominal_mib:.0} MiB that are shared only {available_mib:.1} MiB can be filled from here, hardly more than \
         the {private_mib:.1} MiB of a core's own: other programs or other guests of the host use the rest"
    )]
    NothingToSteal {
        /// What the kernel says.
        nominal_mib: f64,
        /// What was measured.
        available_mib: f64,
        /// The private level.
        private_mib: f64,
    },
    /// What can be had does not stay.
    #[error(
        "up to {available_mib:.1} MiB of the cache can be filled from one core, and nothing stays there: other programs or \
         other guests of the host take it at once; repeat when they are quiet"
    )]
    NothingStays {
        /// What was measured.
        available_mib: f64,
    },
    /// What can be had changes too much.
    #[error(
        "what can be had of the cache changes: {low_mib:.1} to {high_mib:.1} MiB in {rounds} measurements: other programs \
         or other guests of the host use it too; repeat when they are quiet"
    )]
    NoisyNeighbour {
        /// The least.
        low_mib: f64,
        /// The most.
        high_mib: f64,
        /// Out of how many.
        rounds: usize,
    },
    /// More is asked for than can be held.
    #[error(
        "{asked_mib:.1} MiB are to be taken, and only {holdable_mib:.1} MiB can be kept in the cache from one core"
    )]
    TooMuch {
        /// What was asked for.
        asked_mib: f64,
        /// What stays resident.
        holdable_mib: f64,
    },
    /// Even the largest pirate leaves more.
    #[error(
        "a thread is to be left {asked_mib:.1} MiB, and beside the largest pirate ({pirate_mib:.1} MiB) it still has \
         {least_mib:.1}: what is taken comes from other programs or other guests of the host"
    )]
    CannotLeave {
        /// What was asked for.
        asked_mib: f64,
        /// What the largest pirate leaves.
        least_mib: f64,
        /// Its size.
        pirate_mib: f64,
    },
    /// It could not be measured what a pirate leaves.
    #[error(
        "beside a pirate of {pirate_mib:.1} MiB no measurement succeeded: at best it missed {missed:.1} % of its lines and \
         had {cpu:.1} % of its core, the thread beside it {own:.1} % (at most 3 % may be missed; the pirate needs {needed:.0} %, the thread 90 %); repeat \
         when the machine is quiet"
    )]
    NotHeld {
        /// The pirate's size.
        pirate_mib: f64,
        /// Probes that missed, in percent, in the try that came nearest.
        missed: f64,
        /// The pirate's share of its core then, in percent.
        cpu: f64,
        /// That of the thread beside it.
        own: f64,
        /// What the pirate needs of its core, in percent.
        needed: f64,
    },
    /// There is too little memory.
    #[error("{needed_mib:.0} MiB of memory are needed, and {available_mib:.0} MiB are available")]
    TooLittleMemory {
        /// How much is needed.
        needed_mib: f64,
        /// How much there is.
        available_mib: f64,
    },
    /// The system refused something.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What it said.
        error: io::Error,
    },
}

/// Bytes as MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
