//! What-ifs: changes of the machine or the program.

use std::collections::{BTreeMap, BTreeSet};

use crate::padding::Padding;

/// What is different from the machine and the recording as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Branches are never mispredicted.
    pub perfect_branches: bool,
    /// No access of data goes further than this level: 1, 2 or 3.
    pub perfect_cache: Option<u32>,
    /// Instruction fetches always hit.
    pub perfect_fetch: bool,
    /// Interconnects and memory have no limit.
    pub unlimited_bandwidth: bool,
    /// Bandwidth of interconnects and of memory times this.
    pub bandwidth: Option<f64>,
    /// Each core has a copy of each shared cache for itself, of the whole size.
    pub private_caches: bool,
    /// Each core has its own interconnect to itself.
    pub private_links: bool,
    /// Each core has its own memory controller to itself.
    pub private_memory: bool,
    /// Caches take no notice of each other's writes.
    pub no_coherence: bool,
    /// Nobody waits for these locks, which all can hold at once. With an empty set: for none of all locks.
    pub free_locks: Option<BTreeSet<u32>>,
    /// Loads of these instructions always hit the first level.
    pub erased: BTreeSet<u64>,
    /// Cache lines of which what different cores use has lines of its own.
    pub padded: Padding,
    /// Threads, by their index, that are so many times as fast.
    pub faster_threads: BTreeMap<u32, f64>,
    /// Cores that are so many times as fast.
    pub faster_cores: BTreeMap<u32, f64>,
}
