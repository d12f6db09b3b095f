//! The translation buffers of a core: one for data, one for instructions, and a second level for both.
//!
//! Pages have 4 KiB: the recording does not say which addresses were in larger ones. A translation that the second level
//! gives up may stay in the first.

use crate::machine::{Machine, TlbFacts};

/// log2 of the bytes of a page.
const PAGE: u32 = 12;

/// The translation buffers of one core.
pub(crate) struct Tlb {
    data: Option<Buffer>,
    instructions: Option<Buffer>,
    second: Option<Buffer>,
    /// Cycles of a hit in the second level.
    second_latency: u32,
    /// Cycles of a miss in all: the second level is asked first.
    walk: u32,
}

impl Tlb {
    /// Empty ones. A buffer that the machine does not have never misses, but for the second level: without it every miss
    /// of the first is a walk through the page tables.
    pub(crate) fn new(machine: &Machine) -> Self {
        let second_latency = machine.stlb.as_ref().map_or(0, |facts| facts.latency);
        Self {
            data: machine.dtlb.as_ref().map(Buffer::new),
            instructions: machine.itlb.as_ref().map(Buffer::new),
            second: machine.stlb.as_ref().map(Buffer::new),
            second_latency,
            walk: second_latency + machine.page_walk,
        }
    }

    /// The cycles that the translation of a data address takes longer than usual: 0 for a hit in the first level.
    #[inline]
    pub(crate) fn data(&mut self, address: u64) -> u32 {
        if self.data.as_mut().is_none_or(|first| first.hits(address >> PAGE)) {
            return 0;
        }
        self.second(address >> PAGE)
    }

    /// The same for the address of an instruction.
    #[inline]
    pub(crate) fn instructions(&mut self, address: u64) -> u32 {
        if self.instructions.as_mut().is_none_or(|first| first.hits(address >> PAGE)) {
            return 0;
        }
        self.second(address >> PAGE)
    }

    /// True if the translation of a data address is in the first level, where it is used then; else nothing was done.
    #[inline]
    pub(crate) fn is_near(&mut self, address: u64) -> bool {
        let page = address >> PAGE;
        self.data.as_mut().is_none_or(|first| first.is_first(page) || first.finds(page))
    }

    /// True if the translation of an instruction's address is at hand, and using it changes nothing.
    #[inline]
    pub(crate) fn is_first_instruction(&self, address: u64) -> bool {
        self.instructions.as_ref().is_none_or(|first| first.is_first(address >> PAGE))
    }

    #[cold]
    fn second(&mut self, page: u64) -> u32 {
        let hits = self.second.as_mut().is_some_and(|second| second.hits(page));
        if hits { self.second_latency } else { self.walk }
    }
}

/// A set-associative buffer; in each set the page that was used last comes first.
struct Buffer {
    /// Page numbers plus 1; 0 for none.
    pages: Vec<u64>,
    ways: usize,
    sets: u64,
    /// The sets less 1 if they are a power of two.
    mask: Option<u64>,
}

impl Buffer {
    fn new(facts: &TlbFacts) -> Self {
        let entries = facts.entries.max(1);
        let ways = facts.ways.clamp(1, entries);
        let sets = entries / ways;
        Self {
            pages: vec![0; (sets * ways) as usize],
            ways: ways as usize,
            sets: u64::from(sets),
            mask: sets.is_power_of_two().then(|| u64::from(sets) - 1),
        }
    }

    #[inline]
    fn set(&self, page: u64) -> usize {
        self.mask.map_or_else(|| page % self.sets, |mask| page & mask) as usize * self.ways
    }

    /// True if the page is the one of its set that was used last.
    #[inline]
    fn is_first(&self, page: u64) -> bool {
        self.pages[self.set(page)] == page + 1
    }

    /// Uses a page, if it is there.
    fn finds(&mut self, page: u64) -> bool {
        let set = self.set(page);
        let set = &mut self.pages[set..set + self.ways];
        let Some(way) = set.iter().position(|held| *held == page + 1) else { return false };
        set.copy_within(..way, 1);
        set[0] = page + 1;
        true
    }

    /// Uses a page, which is in the buffer afterwards: true if it was before.
    #[inline]
    fn hits(&mut self, page: u64) -> bool {
        if self.is_first(page) || self.finds(page) {
            return true;
        }
        let set = self.set(page);
        let set = &mut self.pages[set..set + self.ways];
        set.copy_within(..set.len() - 1, 1);
        set[0] = page + 1;
        false
    }
}

#[cfg(test)]
mod tests;
