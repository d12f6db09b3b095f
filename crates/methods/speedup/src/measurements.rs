//! What was measured: the input of a speedup stack.

use holdup_model::{Nanos, Run};

use super::Order;
use super::SpeedupStack;
use super::instances::Instances;

/// Everything that was measured of one program to say why it does not scale.
#[derive(Clone, Debug, Default)]
pub struct Measurements<'a> {
    /// The command; empty where it was left out on request. Hostile.
    pub command: Vec<String>,
    /// How many CPUs the program was allowed to use.
    pub cores: u32,
    /// The shared cache; `None` where it is not known, which leaves cache and memory untold.
    pub cache: Option<CacheFacts>,
    /// What was measured at each number of threads.
    pub points: Vec<ThreadPoint<'a>>,
    /// In which order the bottlenecks are introduced.
    pub order: Order,
    /// What the reader must know: what could not be measured on this machine, and why. As sentences.
    pub notes: Vec<String>,
    /// Programs with one thread of which several copies ran at once.
    pub instances: Vec<Instances>,
    /// Stacks of the simulator, to stand beside the measured one.
    pub simulated: Vec<SpeedupStack>,
}

/// The last level of cache that the program's threads share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheFacts {
    /// How much of it was really to be had (bytes): other tenants of the machine use it too.
    pub bytes: u64,
    /// How large the machine says it is (bytes).
    pub nominal: u64,
    /// Its level: 3 for L3.
    pub level: u32,
    /// How long it takes to fill it from memory (ns), where that was measured: what held threads evict while they catch
    /// up has to come back that fast.
    pub refill: Option<Nanos>,
    /// The bandwidth of the memory behind it (bytes per second), where that was measured.
    pub bandwidth: Option<u64>,
}

/// What was measured at one number of threads.
#[derive(Clone, Debug)]
pub struct ThreadPoint<'a> {
    /// The number of threads that the program was told to use.
    pub threads: u32,
    /// Wall times of runs without any recording (ns); may be empty.
    pub plain: Vec<Nanos>,
    /// A recorded run in which all threads ran together.
    pub recorded: &'a Run,
    /// Runs in which one thread of each phase ran by itself.
    pub alone: Vec<AloneRun<'a>>,
}

/// A recorded run in which one thread of each parallel phase ran by itself while the others were held, with something
/// beside it or not. What counters said of it is in [`holdup_model::Process::alone_counts`].
#[derive(Clone, Debug)]
pub struct AloneRun<'a> {
    /// The recording, whose processes have [`holdup_model::Process::alone`].
    pub run: &'a Run,
    /// Which thread of a phase was asked for: the k-th.
    pub which: u32,
    /// The cache that was left to the profiled thread (bytes); all of [`CacheFacts::bytes`] where nothing was taken.
    pub cache: u64,
    /// What ran beside it.
    pub beside: Beside,
    /// Whether the measurement counts.
    pub verdict: Verdict,
}

/// What ran beside a profiled thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Beside {
    /// Nothing.
    #[default]
    Nothing,
    /// A pirate in its own private caches, which takes none of the shared one: what a pirate's mere presence costs.
    Control,
    /// A pirate that keeps the rest of the shared cache, or the cache's own allocation of ways.
    Pirate,
    /// A thief of memory bandwidth of this strength (bytes per second, as measured).
    Thief(u64),
}

/// Whether a measurement counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Verdict {
    /// It held: the pirate kept its share, the thread was alone.
    #[default]
    Held,
    /// It did not, and why, as the end of a sentence.
    Discarded(String),
}

/// What hardware counters said of a profiled thread while it was alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
    /// Bytes fetched from memory, where that is counted.
    pub bytes: Option<u64>,
    /// How long was counted (ns).
    pub time: Nanos,
}

impl Counters {
    /// Cycles per instruction; `None` where nothing was executed.
    pub fn cpi(&self) -> Option<f64> {
        (self.instructions > 0).then(|| self.cycles as f64 / self.instructions as f64)
    }

    /// Bytes fetched from memory in a second; `None` where that was not counted.
    pub fn bandwidth(&self) -> Option<f64> {
        let bytes = self.bytes?;
        (self.time > Nanos::ZERO).then(|| bytes as f64 / self.time.seconds())
    }
}
