//! A machine as data: what `machines/*.toml` says.
//!
//! Here are the types; [`Machine::parse`] reads them (`text`), [`Machine::check`] says what cannot be simulated (`check`), and
//! the machines that come with the binary are in `named`.

mod check;
mod named;
mod nearest;
#[cfg(test)]
mod tests;
mod text;

use holdup_code::OpClass;
use serde::{Deserialize, Serialize};

/// A machine. All cycles are of its cores' clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Machine {
    /// What to call it.
    pub name: String,
    /// What it is, a sentence.
    pub description: String,
    /// Where the numbers come from that have no source of their own.
    pub source: String,
    /// Sockets. With more cores asked for than there are, sockets are added.
    pub sockets: u32,
    /// Cores of each socket.
    pub cores_per_socket: u32,
    /// Their clock, in GHz.
    pub frequency: f64,
    /// The core.
    pub core: CoreFacts,
    /// Its branch predictor.
    pub predictor: PredictorFacts,
    /// The first level of instruction caches, one for each core.
    pub l1i: CacheFacts,
    /// The first level of data caches, one for each core.
    pub l1d: CacheFacts,
    /// The second level, if there is one.
    pub l2: Option<CacheFacts>,
    /// The third level, if there is one.
    pub l3: Option<CacheFacts>,
    /// The translation buffer of instructions.
    pub itlb: Option<TlbFacts>,
    /// The translation buffer of data.
    pub dtlb: Option<TlbFacts>,
    /// The second-level translation buffer, for both.
    pub stlb: Option<TlbFacts>,
    /// Cycles of a walk through the page tables.
    #[serde(default)]
    pub page_walk: u32,
    /// How copies in caches are kept the same.
    pub coherence: Coherence,
    /// Between the caches of a socket.
    pub on_chip: LinkFacts,
    /// Between sockets.
    pub off_socket: LinkFacts,
    /// Memory, behind each socket or all.
    pub memory: MemoryFacts,
    /// The stride prefetcher in front of the second level, if there is one.
    pub prefetch: Option<PrefetchFacts>,
    /// What the operating system and the C library cost.
    pub system: SystemFacts,
    /// What it takes in energy, if that is known.
    pub energy: Option<holdup_policy::energy::EnergyFacts>,
}

/// A core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CoreFacts {
    /// How it is simulated.
    #[serde(default)]
    pub model: CoreModel,
    /// Micro-ops that it dispatches each cycle.
    pub width: u32,
    /// Entries of its reorder buffer.
    pub window: u32,
    /// Stages of the front end: cycles from the resolution of a mispredicted branch to the next dispatch.
    pub front_end: u32,
    /// Lines that can be on their way to the first level of data caches at once (its line fill buffers); 0 for no limit.
    #[serde(default)]
    pub outstanding_misses: u32,
    /// Entries of its store buffer; 0 for no limit.
    #[serde(default)]
    pub store_buffer: u32,
    /// Cycles from a store's data until a load has them that read what this store wrote when it was executed last, too: for
    /// processors that learn which loads read from which stores. Without, it is a hit of the first level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<u32>,
    /// True for a processor that begins atomic operations when all before them is done, and loads behind them when they are.
    /// Others wait for the stores before them only, and load meanwhile what they take back if somebody else writes there.
    #[serde(default = "atomics_wait", skip_serializing_if = "Clone::clone")]
    pub atomics_wait: bool,
    /// Latencies in cycles by the name of the class of micro-op (`holdup_code::OpClass::name`); those that are not named
    /// have the default of the simulator, which documents where it comes from.
    #[serde(default)]
    pub latency: std::collections::BTreeMap<String, u32>,
    /// Cycles for which an operation keeps its unit from the next one, by the name of the class: for dividers, which are
    /// not pipelined. Those that are not named have the default of the simulator.
    #[serde(default)]
    pub busy: std::collections::BTreeMap<String, u32>,
}

/// Most processors do.
fn atomics_wait() -> bool {
    true
}

/// How a core is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreModel {
    /// Interval simulation.
    #[default]
    Interval,
    /// One instruction per cycle, and accesses that block: for comparison.
    OneIpc,
}

/// A branch predictor: of the kind of the Pentium M, or, with [`TageFacts`], with tagged tables of geometric histories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PredictorFacts {
    /// Entries of the bimodal table.
    pub bimodal: u32,
    /// Entries of the global predictor, all ways together; 0 for one with tagged tables.
    #[serde(default)]
    pub global: u32,
    /// Ways of the global predictor.
    #[serde(default)]
    pub global_ways: u32,
    /// Entries of the loop predictor, all ways together; 0 for none.
    #[serde(default)]
    pub loops: u32,
    /// Ways of the loop predictor.
    #[serde(default)]
    pub loop_ways: u32,
    /// Entries of the predictor of indirect branches.
    pub indirect: u32,
    /// Entries of the return stack.
    pub returns: u32,
    /// True if it is never wrong.
    #[serde(default)]
    pub perfect: bool,
    /// Tagged tables in place of the global predictor.
    #[serde(default)]
    pub tage: Option<TageFacts>,
}

/// Tables with partial tags, for histories whose lengths are a geometric series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TageFacts {
    /// How many tables.
    pub tables: u32,
    /// Entries of each.
    pub entries: u32,
    /// Bits of a tag.
    pub tag_bits: u32,
    /// Taken branches in the shortest history.
    pub shortest: u32,
    /// Taken branches in the longest history.
    pub longest: u32,
}

/// A cache, or a level of caches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CacheFacts {
    /// Bytes of one.
    pub size: u64,
    /// Ways.
    pub ways: u32,
    /// Bytes of a line: the same in all caches of a machine.
    #[serde(default = "usual_line")]
    pub line: u32,
    /// Cycles from the access to the data, tags included.
    pub latency: u32,
    /// Cycles to look up the tags: what a miss costs here.
    #[serde(default)]
    pub tags: u32,
    /// How many cores share one.
    #[serde(default = "one")]
    pub shared_by: u32,
    /// Which line is given up.
    #[serde(default)]
    pub replacement: Replacement,
    /// Where this number comes from.
    #[serde(default)]
    pub source: String,
}

fn usual_line() -> u32 {
    64
}

fn one() -> u32 {
    1
}

/// Which line of a set is given up for a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The one that was not used for the longest time.
    #[default]
    Lru,
    /// The one that came first.
    Fifo,
    /// The one that a tree of bits points at.
    TreePlru,
    /// Not recently used: one bit for each way.
    Nru,
    /// Static re-reference interval prediction with two bits.
    Srrip,
    /// Any, by a generator with a fixed seed.
    Random,
}

/// A translation buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlbFacts {
    /// Entries.
    pub entries: u32,
    /// Ways.
    pub ways: u32,
    /// Cycles that a hit costs more than one in the level before.
    #[serde(default)]
    pub latency: u32,
}

/// Coherence protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coherence {
    /// Modified, shared, invalid.
    Msi,
    /// The same, with exclusive.
    #[default]
    Mesi,
}

/// An interconnect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkFacts {
    /// Cycles that a request needs besides the latencies of caches.
    pub latency: u32,
    /// Bytes each cycle; 0 for no limit.
    pub bandwidth: f64,
    /// Who is served first.
    #[serde(default)]
    pub arbitration: Arbitration,
}

/// Which of several requests at once is served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// As they come.
    #[default]
    Fair,
    /// The core with the lower number.
    LowestFirst,
}

/// Memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MemoryFacts {
    /// Nanoseconds of an access, besides the caches'.
    pub latency_ns: f64,
    /// Controllers: true for one behind each socket, false for one for all.
    pub per_socket: bool,
    /// Channels of a controller. Lines are spread over them.
    pub channels: u32,
    /// GB/s of a channel; 0 for no limit.
    pub bandwidth: f64,
}

/// A stride prefetcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PrefetchFacts {
    /// Streams that it follows.
    pub streams: u32,
    /// Lines that it fetches ahead.
    pub depth: u32,
}

/// What the operating system and the C library cost, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SystemFacts {
    /// From the wake-up to when a thread that slept runs.
    pub wake_up_ns: f64,
    /// What the waking thread spends for it.
    pub waking_ns: f64,
    /// What going to sleep takes.
    pub sleep_ns: f64,
    /// What creating a thread takes its creator.
    pub create_ns: f64,
    /// From then until it runs.
    pub start_ns: f64,
    /// Switching a core from one thread to another.
    pub switch_ns: f64,
    /// For how long a thread runs while others wait for the core.
    pub slice_ns: f64,
    /// A barrier's own cost, for each thread.
    pub barrier_ns: f64,
    /// A lock's own cost besides its instructions: acquisition and release together.
    pub lock_ns: f64,
}

/// Why a machine cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// The text is no machine: where and what.
    #[error("{0}")]
    Text(String),
    /// A number that cannot be.
    #[error("{what}: {problem}")]
    Impossible {
        /// Which.
        what: String,
        /// What is wrong with it, and what could be.
        problem: String,
    },
}

impl Machine {
    /// Cores of all sockets.
    pub fn cores(&self) -> u32 {
        self.sockets.saturating_mul(self.cores_per_socket)
    }

    /// The same machine with as many sockets as so many cores need, but no fewer than it has.
    pub fn with_cores(&self, cores: u32) -> Machine {
        Machine { sockets: cores.div_ceil(self.cores_per_socket.max(1)).max(self.sockets), ..self.clone() }
    }

    /// Nanoseconds in cycles of this machine's clock, to the nearest.
    pub fn cycles(&self, nanos: f64) -> u64 {
        (nanos * self.frequency).round() as u64
    }

    /// Cycles in nanoseconds.
    pub fn nanos(&self, cycles: u64) -> f64 {
        cycles as f64 / self.frequency
    }
}

/// The class of operations with this name, as [`CoreFacts::latency`] has them.
pub fn class_by_name(name: &str) -> Option<OpClass> {
    OpClass::ALL.iter().copied().find(|class| class.name() == name)
}
