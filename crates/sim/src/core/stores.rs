//! Stores that loads may depend on, and the store buffer.

use super::piece::{Booked, Piece};
use crate::machine::CoreFacts;

/// Recent stores that are remembered, a power of two. Two of them less than that many eight-byte words apart never displace
/// each other.
const REMEMBERED: usize = 256;

/// When the data of recent stores can be had by loads: by eight bytes, where a store begins. Stores that are wider, and loads
/// that begin in the middle of one, are not found; programs hardly ever do that within a window.
#[derive(Debug)]
pub(super) struct RecentStores {
    /// By word: its number, when its data were there, and how many stores there were before.
    stores: Box<[(u64, u64, u64); REMEMBERED]>,
    count: u64,
}

impl RecentStores {
    pub(super) fn new() -> Self {
        Self { stores: Box::new([(u64::MAX, 0, 0); REMEMBERED]), count: 0 }
    }

    #[inline]
    pub(super) fn store(&mut self, address: u64, ready: u64) {
        let word = address >> 3;
        self.stores[word as usize % REMEMBERED] = (word, ready, self.count);
        self.count += 1;
    }

    /// The cycle from which a load of this address finds what was stored there, and how many stores came since; 0 and all for
    /// those that are not remembered.
    #[inline]
    pub(super) fn ready(&self, address: u64) -> (u64, u64) {
        let word = address >> 3;
        let (remembered, ready, number) = self.stores[word as usize % REMEMBERED];
        if remembered == word { (ready, self.count - number) } else { (0, u64::MAX) }
    }
}

/// Loads whose pairs with stores are remembered, a power of two.
const PAIRS: usize = 1024;

/// What a core has learned of which loads read what which stores wrote: by how many stores ago that was.
#[derive(Debug)]
pub(super) struct Pairs {
    /// Cycles from the data of a store until such a load has them.
    latency: u64,
    /// Stores that may be in the store buffer still.
    reach: u64,
    /// By load: which it is, and how many stores ago.
    learned: Box<[(u32, u64); PAIRS]>,
}

impl Pairs {
    pub(super) fn new(facts: &CoreFacts) -> Option<Self> {
        let reach = if facts.store_buffer == 0 { u64::from(facts.window) } else { facts.store_buffer.into() };
        let latency = u64::from(facts.forward?);
        Some(Self { latency, reach, learned: Box::new([(u32::MAX, 0); PAIRS]) })
    }

    /// How many cycles a load takes that reads what was stored so many stores ago, if that was to be expected.
    #[inline]
    pub(super) fn latency(&mut self, load: u32, stores: u64) -> Option<u64> {
        if stores > self.reach {
            return None;
        }
        let learned = std::mem::replace(&mut self.learned[load as usize % PAIRS], (load, stores));
        (learned == (load, stores)).then_some(self.latency)
    }
}

/// Stores that are done but not written. They are written in their order, after all that is before them is done; their lines
/// are fetched meanwhile.
#[derive(Debug)]
pub(super) struct StoreBuffer {
    /// When the store that took this entry last leaves it, and what waiting for that is booked as.
    entries: Vec<Piece>,
    next: usize,
    /// The last store, and when it is written.
    last: Piece,
}

impl StoreBuffer {
    /// None of `entries` for a buffer without a limit.
    pub(super) fn new(entries: u32) -> Self {
        Self { entries: vec![Piece::default(); entries as usize], next: 0, last: Piece::default() }
    }

    /// The store that is in the entry that the next one takes. Without a limit, that is free.
    #[inline]
    pub(super) fn oldest(&self) -> Piece {
        self.entries.get(self.next).copied().unwrap_or_default()
    }

    /// A store that may be written at `end`.
    #[inline]
    pub(super) fn store(&mut self, end: u64, booked: Booked) {
        // One each cycle.
        let end = end.max(self.last.end + 1);
        self.last = Piece { end, booked };
        if let Some(entry) = self.entries.get_mut(self.next) {
            *entry = Piece { end, booked };
            self.next = if self.next + 1 == self.entries.len() { 0 } else { self.next + 1 };
        }
    }

    /// The last store so far: all are written at its end.
    pub(super) fn written(&self) -> Piece {
        self.last
    }
}
