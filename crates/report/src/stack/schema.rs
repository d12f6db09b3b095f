//! The shape of `holdup stack --json`, of which `docs/json-schema/stack.schema.json` is made.

#[cfg(test)]
mod allowed;

use serde::Serialize;

use crate::schema::{Amount, Place};
use crate::sim::schema::SpeedupStack;

/// The version of the JSON that [`stack_json`](crate::stack_json) gives. It grows only where a member changes
/// its meaning; members may be added at any time.
pub const STACK_SCHEMA: u32 = 1;

/// The speedup stack of a program, measured on the machine itself. Schema 1: members may be added, none is taken away and
/// none changes its meaning. Speedups, and parts of them, are numbers with at most six digits behind the point; the measured
/// speedup, all components and what is told together add up to the number of threads. What was not measured is null, never
/// 0, and has a reason under `missing`. Times are whole nanoseconds (names end in _ns). Names of functions, files and
/// threads, and the command, are as the program gave them: escape them where they are shown.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "holdup stack --json"))]
pub(crate) struct Profile<'a> {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = STACK_SCHEMA)))]
    pub(crate) schema: u32,
    /// The version of holdup that wrote this.
    pub(crate) holdup: &'static str,
    /// The command that was run.
    pub(crate) command: &'a [String],
    /// CPUs that the program was allowed to use.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) cores: Option<u32>,
    /// The fewest threads that were measured, where the speedup is taken to be perfect.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) base_threads: Option<u32>,
    /// The last level of cache that threads share; null where it is not known.
    pub(crate) cache: Option<Cache>,
    /// In which order components were introduced: a component is the speedup that its own introduction costs.
    pub(crate) order: Vec<Component>,
    /// The whole program, then its parallel phases by potential gain.
    pub(crate) phases: Vec<Phase<'a>>,
    /// Programs with one thread of which several copies ran at once.
    pub(crate) instances: Vec<Instances<'a>>,
    /// Stacks of the simulator, to stand beside the measured one.
    pub(crate) simulated: Vec<SpeedupStack<'a>>,
    /// How running alone went, run by run; those that do not count too.
    pub(crate) alone_runs: Vec<AloneRun>,
    pub(crate) effort: Effort,
    /// How much measurements of the same thing differ; null where that is little (5 %).
    pub(crate) noise: Option<Noise>,
    /// What a reader must know to trust the numbers, as sentences.
    pub(crate) notes: &'a [String],
}

/// What the speedup of a program is lost to.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("enum" = holdup_speedup::Component::ALL.map(|component| component.name()))))]
pub(crate) struct Component(pub(crate) &'static str);

/// The last level of cache that threads share.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cache {
    /// How much of the shared cache was really to be had.
    pub(crate) bytes: u64,
    /// How large the machine says it is.
    pub(crate) nominal_bytes: u64,
    /// Its level: 3 for L3.
    pub(crate) level: u32,
    /// How long it takes to fill it from memory.
    pub(crate) refill_ns: Option<u64>,
    /// The bandwidth of the memory behind it.
    pub(crate) memory_bytes_per_second: Option<u64>,
}

/// What measuring took, and what it did to the program.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Effort {
    /// How many runs of the program were made.
    pub(crate) runs: u32,
    /// The wall time of the runs together.
    pub(crate) time_ns: u64,
    /// time_ns in runs with the fewest threads and without recording.
    pub(crate) in_runs: Option<Amount>,
    /// What recording adds to the wall time, where it adds most: 0.02 is 2 %.
    pub(crate) recording: Option<Amount>,
    /// What a pirate that takes no cache adds to the CPU time of a thread.
    pub(crate) control: Option<Amount>,
    /// How many times as long as a recorded run those take in which a thread is alone.
    pub(crate) alone: Option<Amount>,
}

/// How much measurements of the same thing differ.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Noise {
    /// The largest difference of measurements that should be the same, relative to the smaller one.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) share: f64,
    /// What of the speedup with the most threads that is: parts of it that are smaller mean nothing.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) speedup: f64,
    /// What differed so.
    pub(crate) of: NoiseOf,
}

/// What differed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum NoiseOf {
    #[serde(rename = "plain runs")]
    PlainRuns,
    #[serde(rename = "threads alone")]
    ThreadsAlone,
}

/// The whole program, or a parallel phase of it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Phase<'a> {
    /// The whole program, an OpenMP parallel region, or the time from the creation of threads to their join.
    #[cfg_attr(test, schemars(extend("enum" = allowed::phase_kinds())))]
    pub(crate) kind: &'static str,
    /// The directive of a region, or where threads are joined.
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// Its share of the wall time with the most threads, from 0 to 1.
    pub(crate) share: Amount,
    /// What perfect scaling of it from the fewest threads would save with the most.
    pub(crate) potential_gain_ns: Option<u64>,
    /// The numbers of threads, ascending, that the members of curves and stacks belong to.
    #[cfg_attr(test, schemars(inner(range(min = 1))))]
    pub(crate) threads: Vec<u32>,
    pub(crate) curves: Curves,
    /// What the speedup is lost to with each number of threads.
    pub(crate) stacks: Vec<Stack<'a>>,
    /// Measurements that do not count: all of them for the whole program, those of the phase alone for a phase.
    pub(crate) discarded: Vec<Discarded<'a>>,
}

/// Speedups on machines that have some of the bottlenecks only, by number of threads.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Curves {
    /// No bottleneck at all.
    pub(crate) perfect: Vec<Option<f64>>,
    /// Amdahl's law alone.
    pub(crate) serial: Vec<Option<f64>>,
    /// Amdahl's law, and the work that more threads make.
    pub(crate) extra_work: Vec<Option<f64>>,
    /// What extra_work has, and each thread has its share of the cache only.
    pub(crate) pirate: Vec<Option<f64>>,
    /// Synchronization is free: from the longest t - t_wait of all threads.
    pub(crate) no_sync: Vec<Option<f64>>,
    /// The machine as it is.
    pub(crate) measured: Vec<Option<f64>>,
}

/// What the speedup is lost to with one number of threads.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Stack<'a> {
    /// The number of threads that the program was told to use.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) threads: u32,
    /// Wall time in the phase, without recording as far as plain runs tell that.
    pub(crate) ns: u64,
    /// How often it was executed.
    pub(crate) instances: u64,
    /// The measured speedup; null where the time with the fewest threads is not known.
    pub(crate) speedup: Option<f64>,
    /// What the perfect speedup is lost to; negative where it helps.
    pub(crate) components: Option<Components>,
    /// What components cost together that cannot be told apart.
    pub(crate) together: Option<Together>,
    /// What of synchronization is uneven work.
    pub(crate) imbalance: Option<f64>,
    /// What is not known.
    pub(crate) missing: Vec<Missing<'a>>,
    /// Threads that do the same; empty for the whole program and where no thread was alone.
    pub(crate) groups: Vec<Group<'a>>,
    /// The least share of a profiled thread's CPU time in which all others were held.
    pub(crate) alone_share: Option<Amount>,
    /// How long a profiled thread ran from one wait to the next, on average.
    pub(crate) stretch_ns: Option<u64>,
    /// The most that filling the cache anew after each wait can be of a profiled thread's CPU time, from 0 to 1.
    pub(crate) refill: Option<Amount>,
}

/// Speedup that is lost, by component; null where that was not measured.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Components {
    /// One thread alone can work (Amdahl's law).
    pub(crate) serial: Option<f64>,
    /// More CPU time for the same work though each thread has cache and memory to itself.
    pub(crate) extra_work: Option<f64>,
    /// Threads share the cache's capacity.
    pub(crate) cache: Option<f64>,
    /// Threads share memory banks and busses; what coherence costs is in it.
    pub(crate) memory: Option<f64>,
    /// More threads than cores.
    pub(crate) oversubscription: Option<f64>,
    /// A CPU quota, other programs.
    pub(crate) environment: Option<f64>,
    /// Input and output, sleep, and what none of the others explains.
    pub(crate) other: Option<f64>,
    /// Threads wait for each other.
    pub(crate) synchronization: Option<f64>,
}

/// The components that copies of a program with one thread have.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Hierarchy {
    /// Threads share the cache's capacity.
    pub(crate) cache: Option<f64>,
    /// Threads share memory banks and busses; what coherence costs is in it.
    pub(crate) memory: Option<f64>,
}

/// What components cost together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Together {
    /// The components.
    pub(crate) of: Vec<Component>,
    /// What they cost.
    pub(crate) amount: f64,
}

/// Something that is not known.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Missing<'a> {
    /// What is missing; null for the stack as a whole.
    pub(crate) component: Option<Component>,
    /// Why, as a sentence.
    pub(crate) reason: &'a str,
}

/// Threads that do the same.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Group<'a> {
    /// Their start function, main, or which of a team.
    pub(crate) name: &'a str,
    /// How many there are.
    pub(crate) threads: u32,
    /// Their share of the CPU time of the phase.
    pub(crate) cpu_share: Amount,
    /// The cache that each of them has when all run together.
    pub(crate) cache_bytes: Option<u64>,
    /// True if a thread that is alone takes over work of the others: its time is then for a unit of work, or its share of
    /// that of all.
    pub(crate) takes_over: bool,
    /// CPU time beside a pirate that takes no cache divided by that with nothing beside it.
    pub(crate) control: Option<Amount>,
    /// How long the same work takes with less cache.
    pub(crate) cache_curve: Vec<CachePoint>,
    /// How long the same work takes beside a thief.
    pub(crate) bandwidth_curve: Vec<BandwidthPoint>,
    /// What the cache that a thread has costs it.
    pub(crate) sensitivity: Option<Sensitivity>,
}

/// How long the same work takes with some of the cache.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CachePoint {
    /// The cache that was left to the thread.
    pub(crate) bytes: u64,
    /// The time for the same work divided by that with the whole cache: the least that was measured.
    pub(crate) time: Amount,
    /// The most that was measured, in the same way.
    pub(crate) high: Amount,
    /// How many runs measured it.
    pub(crate) runs: u32,
    /// Cycles per instruction, where counters tell.
    pub(crate) cpi: Option<Amount>,
    /// What was fetched from memory, where counters tell.
    pub(crate) bytes_per_second: Option<Amount>,
}

/// How long the same work takes beside a thief.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BandwidthPoint {
    /// What a thief takes of the memory's bandwidth.
    pub(crate) taken_bytes_per_second: u64,
    /// The time for the same work divided by that without a thief.
    pub(crate) time: Amount,
}

/// What the cache that a thread has costs it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Sensitivity {
    /// The cache that a thread has.
    pub(crate) bytes: u64,
    /// The share of its time that it loses with that, against having the whole cache.
    pub(crate) lost: Amount,
    /// How much more cache lost_with_more is about.
    pub(crate) more_bytes: u64,
    /// The share of its time that it would lose with more_bytes more.
    pub(crate) lost_with_more: Amount,
}

/// A run in which threads were to be alone.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AloneRun {
    /// The number of threads that the program was told to use.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) threads: u32,
    /// Which thread was to be alone: the k-th.
    pub(crate) which: u32,
    /// What ran beside it.
    #[cfg_attr(test, schemars(extend("enum" = allowed::besides())))]
    pub(crate) beside: &'static str,
    /// CPU time of the profiled threads.
    pub(crate) cpu_ns: u64,
    /// The share of cpu_ns in which all others were held, from 0 to 1; null where no thread had its turn.
    pub(crate) alone: Option<Amount>,
    /// Why the others were not held in the rest of cpu_ns.
    pub(crate) rest: Vec<NotAlone>,
}

/// Why the others were not held, and for how long.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NotAlone {
    /// Why the others were not held: they did not become quiet in time; the thread slept outside of any known wait; nothing
    /// happened for too long; another thread woke by itself; running alone was given up; the thread came to no sync operation
    /// for so long that it may have waited in a loop of the program's own; the pirate was not ready in time.
    #[cfg_attr(test, schemars(extend("enum" = allowed::reasons())))]
    pub(crate) reason: &'static str,
    /// The share of cpu_ns that it concerns, from 0 to 1.
    pub(crate) share: Amount,
}

/// A measurement that does not count.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Discarded<'a> {
    /// The number of threads that the program was told to use.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) threads: u32,
    /// Which thread was to be alone: the k-th.
    pub(crate) which: u32,
    /// The cache that was to be left to it.
    pub(crate) cache_bytes: u64,
    /// What ran beside it.
    #[cfg_attr(test, schemars(extend("enum" = allowed::besides())))]
    pub(crate) beside: &'static str,
    /// What a thief took.
    pub(crate) taken_bytes_per_second: Option<u64>,
    /// The phase, where it is only one that does not count.
    pub(crate) phase: Option<&'a str>,
    /// Why, as the end of a sentence.
    pub(crate) reason: &'a str,
}

/// A program with one thread, of which several copies ran at once.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Instances<'a> {
    /// The program.
    pub(crate) name: &'a str,
    /// By number of copies.
    pub(crate) points: Vec<Copies<'a>>,
}

/// Copies that ran at once.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Copies<'a> {
    /// How many.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) copies: u32,
    /// The cache of each.
    pub(crate) cache_bytes: u64,
    /// Copies divided by the time (cycles per instruction) of each with that cache.
    pub(crate) throughput: Option<Amount>,
    /// The throughput relative to one copy if memory was not shared.
    pub(crate) pirate: Option<f64>,
    /// The measured throughput relative to one copy.
    pub(crate) measured: Option<f64>,
    /// What is lost to cache and memory.
    pub(crate) components: Hierarchy,
    /// What is not known.
    pub(crate) missing: Vec<Missing<'a>>,
    /// What all copies would fetch if each had the memory to itself.
    pub(crate) demand_bytes_per_second: Option<Amount>,
    /// demand_bytes_per_second divided by what the memory gives.
    pub(crate) demand_of_bandwidth: Option<Amount>,
}
