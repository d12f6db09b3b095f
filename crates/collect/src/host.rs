//! What this machine is like for a program: its caches and cores as the kernel tells them, and a few seconds of small
//! measurements of what it does not tell.
//!
//! Every measurement is made many times, each for about a millisecond. What disturbs one (other programs, interrupts, the
//! hypervisor) only ever makes it slower, so the fastest stands for the machine; the median beside it says how quiet it was.
//! Of what the scheduler does there is no fastest that programs would meet: there the median stands.

mod chase;
mod code;
mod families;
mod figure;
#[cfg(test)]
mod tests;
mod threads;
mod topology;

use std::collections::BTreeMap;
use std::path::Path;

pub use families::Family;
pub use figure::Figure;
pub use topology::{CacheKind, HostCache, Topology};

/// What this machine is like. Times are in nanoseconds where not said otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFacts {
    /// What the processor calls itself.
    pub name: String,
    /// What is known of processors of its kind.
    pub family: Family,
    /// Sockets, cores and caches.
    pub topology: Topology,
    /// Cycles in a nanosecond, from a chain of additions.
    pub frequency: Figure,
    /// Independent additions in a cycle: a lower bound of what the core dispatches.
    pub additions: Figure,
    /// Cycles by the name of a class of micro-ops.
    pub latencies: BTreeMap<&'static str, Figure>,
    /// Cycles for which an operation keeps its unit from the next, by the name of its class.
    pub busy: BTreeMap<&'static str, Figure>,
    /// Cycles that a mispredicted branch costs more than a predicted one.
    pub misprediction: Figure,
    /// Outcomes without a pattern that the branch predictor knows when they come again; 0 if fewer than can be said.
    pub known_outcomes: u64,
    /// Cycles of an addition to a number in memory, each of which waits for the one before.
    pub addition_in_memory: Figure,
    /// How long a chain of operations takes between atomic ones, as a share of both alone: about 1 if these wait for it.
    pub beside_atomics: f64,
    /// A load that depends on the load before, by the bytes that are touched.
    pub loads: Vec<(u64, Figure)>,
    /// The same with one line of each page, by pages: what translation costs beside.
    pub pages: Vec<(u64, Figure)>,
    /// The same in memory, hardly with translation.
    pub memory: Figure,
    /// GB/s that one core reads from memory.
    pub bandwidth_alone: Figure,
    /// GB/s that all cores read together.
    pub bandwidth: Figure,
    /// From one core's store to another that reads it; none where there is one core.
    pub transfer: Option<Figure>,
    /// From the call that wakes a thread until that runs on another core.
    pub wake_up: Option<Figure>,
    /// What that call takes.
    pub waking: Option<Figure>,
    /// Creating a thread, for the creator.
    pub create: Figure,
    /// From then until it runs.
    pub start: Figure,
    /// From one thread to another on the same core, a call to wake and one to sleep included.
    pub switch: Figure,
    /// What could not be learned, a sentence each.
    pub warnings: Vec<String>,
}

/// Measures this machine; takes a few seconds. `root` is `/` outside of tests; `progress` is told what comes next.
pub fn measure_host(root: &Path, progress: &mut dyn FnMut(&str)) -> HostFacts {
    let mut warnings = Vec::new();
    let name = topology::processor(root).unwrap_or_else(|| "unknown processor".to_owned());
    let topology = topology::read(root, &mut warnings);
    let family = families::of(root, &mut warnings);
    let cpus = threads::cpus();
    // On one core throughout, so that caches stay warm; given back at the end.
    let confined = threads::Confined::to(cpus.first().copied());

    progress("arithmetic");
    let frequency = code::frequency();
    let additions = code::additions(frequency.best);
    let latencies = code::latencies(frequency.best);
    let busy = code::busy(frequency.best);
    let misprediction = code::misprediction(frequency.best);
    let known_outcomes = code::known_outcomes(frequency.best, misprediction.best);
    let addition_in_memory = code::addition_in_memory(frequency.best);
    let beside_atomics = code::beside_atomics();

    progress("caches");
    let last = topology.last_cache();
    let loads = chase::footprints(&topology).into_iter().map(|bytes| (bytes, chase::loads(bytes))).collect();
    let pages = chase::page_counts(&family).into_iter().map(|pages| (pages, chase::pages(pages))).collect();

    progress("memory");
    let buffer = chase::Buffer::beyond(last, root);
    if buffer.bytes() < 2 * last {
        warnings.push(format!(
            "Memory was measured in {} MiB, which the last cache ({} MiB) may hold in part: its latency may be greater.",
            buffer.bytes() >> 20,
            last >> 20
        ));
    }
    let memory = buffer.latency();
    let bandwidth_alone = buffer.bandwidth(&cpus[..1.min(cpus.len())]);
    let bandwidth = if cpus.len() > 1 { buffer.bandwidth(&cpus) } else { bandwidth_alone };
    drop(buffer);

    progress("threads");
    let pair = threads::pair(&cpus, &topology);
    let transfer = pair.map(threads::transfer);
    let woken = pair.map(threads::wake_up);
    drop(confined);
    let (create, start) = threads::creation();
    let switch = threads::switch(cpus.first().copied());
    if pair.is_none() {
        warnings.push(
            "There is one core to run on: transfers between cores and wake-ups are those of the machine `genoa`.".to_owned(),
        );
    }
    HostFacts {
        name,
        family,
        topology,
        frequency,
        additions,
        latencies,
        busy,
        misprediction,
        known_outcomes,
        addition_in_memory,
        beside_atomics,
        loads,
        pages,
        memory,
        bandwidth_alone,
        bandwidth,
        transfer,
        wake_up: woken.map(|(wake_up, _)| wake_up),
        waking: woken.map(|(_, waking)| waking),
        create,
        start,
        switch,
        warnings,
    }
}
