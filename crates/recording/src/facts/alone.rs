//! What is stored of a run in which one thread was to run by itself, beside the stretches.

use serde::{Deserialize, Serialize};

/// How running alone went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Alone {
    /// Which thread of each group was to run by itself, from 0 in the order of creation; after the last one that was
    /// created comes the one that created them.
    pub which: u32,
    /// The core that it was confined to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<u32>,
    /// How often a thread was chosen.
    pub chosen: u32,
    /// Stretches that began.
    pub stretches: u32,
    /// Stretches that began although the others were not quiet, or the pirate was not ready.
    pub bounds: u32,
    /// How often the others were let go since the thread slept outside of any hook.
    pub sleeps: u32,
    /// How often they were let go since it came to no hook for too long.
    pub silences: u32,
    /// How often it went on at once then: it had waited for them in a loop of the program's own.
    pub spins: u32,
    /// How often they were let go since it had not waited for too long.
    pub turns: u32,
    /// How often other threads were taken for quiet since they slept outside of any hook.
    pub sleepers: u32,
    /// Why it was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gave_up: Option<String>,
    /// What else the reader must know, a sentence each.
    pub notes: Vec<String>,
    /// What the processor's counters said of the threads that were chosen, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<AloneCounted>,
    /// What worked beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pirate: Option<PirateFacts>,
}

/// What the processor's counters said of a thread while it was the chosen one, in user space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AloneCounted {
    /// Its process.
    pub pid: u32,
    /// When counting began (ticks).
    pub begin: u64,
    /// When it ended (ticks).
    pub end: u64,
    /// Cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
    /// Accesses that the last level of cache did not have, where that is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misses: Option<u64>,
    /// How long the thread ran meanwhile (ns).
    pub time_ns: u64,
}

/// What a pirate did beside a thread that ran alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PirateFacts {
    /// What it is: [`PirateFacts::CACHE`], [`PirateFacts::CONTROL`] or [`PirateFacts::BANDWIDTH`].
    pub kind: String,
    /// Bytes of the cache that it was to take, or bytes per second that it was to read from memory.
    pub asked: u64,
    /// When it was at work.
    pub stretches: Vec<PirateStretch>,
}

impl PirateFacts {
    /// It takes a part of the shared cache.
    pub const CACHE: &str = "cache";
    /// It works as one that takes cache, and takes none.
    pub const CONTROL: &str = "control";
    /// It takes a part of the bandwidth of memory.
    pub const BANDWIDTH: &str = "bandwidth";
}

/// A stretch in which a pirate was at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PirateStretch {
    /// When it was ready (ns, CLOCK_MONOTONIC).
    pub begin_ns: u64,
    /// When it stopped (ns, CLOCK_MONOTONIC).
    pub end_ns: u64,
    /// Its CPU time in between (ns).
    pub cpu_ns: u64,
    /// Single lines of its own that it looked at.
    pub probes: u32,
    /// How many of them were not in the cache.
    pub missed: u32,
    /// True if what it was to keep in the cache was there when it began.
    pub warmed: bool,
    /// Bytes that it read from memory, where that was its task.
    pub bytes: u64,
    /// Misses per access by the hardware's counters, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_ratio: Option<f64>,
}
