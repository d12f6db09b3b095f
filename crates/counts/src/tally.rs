//! Sums of what a thread executed, by the emulator's blocks.

use std::collections::BTreeMap;

use holdup_recording::StreamCounts;

/// What was executed between two moments of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// (from, to) → how often.
    pub edges: BTreeMap<(u32, u32), u64>,
    /// Block → how often.
    pub executed: BTreeMap<u32, u64>,
    /// Calling block → instructions of libraries.
    pub library: BTreeMap<u32, u64>,
    /// Instructions of the program's own code and of libraries.
    pub instructions: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, counts: &StreamCounts) {
        for &(from, to, count) in &counts.edges {
            *self.edges.entry((from, to)).or_default() += count;
        }
        for &(block, count) in &counts.executed {
            *self.executed.entry(block).or_default() += count;
        }
        for &(block, count) in &counts.library {
            *self.library.entry(block).or_default() += count;
        }
        self.instructions += counts.own_instructions + counts.library_instructions;
    }

    pub(crate) fn merge(&mut self, other: &Tally) {
        for (edge, count) in &other.edges {
            *self.edges.entry(*edge).or_default() += count;
        }
        for (block, count) in &other.executed {
            *self.executed.entry(*block).or_default() += count;
        }
        for (block, count) in &other.library {
            *self.library.entry(*block).or_default() += count;
        }
        self.instructions += other.instructions;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.executed.is_empty() && self.library.is_empty()
    }
}
