//! What the memory system says to a core.

use holdup_model::cycles::Level;

/// What became of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Cycles from the access to its data, without [`Served::tlb`]: the first level's latency for a hit there.
    pub latency: u32,
    /// Cycles for the translation of the address, on top.
    pub tlb: u32,
    /// Of the latency, cycles of queueing in an interconnect.
    pub interconnect_queueing: u32,
    /// Of the latency, cycles of queueing at memory.
    pub memory_queueing: u32,
    /// Who gave the data.
    pub by: Level,
}
