//! How often control went from each block to each other: the counts of one thread.
//!
//! Most blocks have one or two successors. These are in the block's row, where the hot path finds and counts them without
//! a search; further ones are in a table beside. What was counted since the last cut is known by lists of what was touched,
//! so that a cut costs what happened since the one before, not what ever happened. A row keeps its successors over a cut,
//! asleep: with the lowest bit set, which no [`Key`] has, so that the hot path misses them and the slow one wakes them.

use crate::reserved::{Reserved, Zeroed};

/// A block: (its number + 1) × [`STRIDE`], which is the place of its row in bytes. 0 is nowhere.
pub(crate) type Key = u32;

/// The distance of rows.
pub(crate) const STRIDE: u32 = 32;
/// How many blocks there can be.
pub(crate) const MOST_BLOCKS: u32 = 1 << 20;
/// Nowhere: before a thread's first block, and behind code that hides how control came.
pub(crate) const NOWHERE: Key = 0;

/// The key of a block.
pub(crate) const fn key_of(block: u32) -> Key {
    (block + 1) * STRIDE
}

/// The number of a block that is not [`NOWHERE`].
pub(crate) const fn block_of(key: Key) -> u32 {
    key / STRIDE - 1
}

/// The successors of a block that were seen first, and how often control went there.
#[repr(C, align(32))]
pub(crate) struct Row {
    pub(crate) to: [Key; 2],
    pub(crate) times: [u64; 2],
    touched: u64,
}

const _: () = assert!(size_of::<Row>() == STRIDE as usize);
const ASLEEP: Key = 1;

// SAFETY: numbers.
unsafe impl Zeroed for Row {}

#[derive(Clone, Copy, Default)]
struct Further {
    from: Key,
    to: Key,
    times: u64,
}

/// The counts of one thread since the last cut.
pub(crate) struct Edges {
    rows: Reserved<Row>,
    touched: Vec<Key>,
    /// Open addressing; empty where `to` is 0.
    further: Vec<Further>,
    further_used: usize,
    further_touched: Vec<u32>,
}

impl Edges {
    /// No counts, and room for so many blocks; `None` without address space.
    pub(crate) fn new(blocks: u32) -> Option<Self> {
        Some(Self {
            rows: Reserved::new(blocks as usize + 1)?,
            touched: Vec::new(),
            further: vec![Further::default(); 256],
            further_used: 0,
            further_touched: Vec::new(),
        })
    }

    /// The row of [`NOWHERE`], which has no successors; that of a key lies as many bytes behind.
    pub(crate) fn rows(&self) -> *mut Row {
        self.rows.base()
    }

    /// Counts one way, which the row may or may not know.
    pub(crate) fn add(&mut self, from: Key, to: Key) {
        if from != NOWHERE {
            // SAFETY: keys are at most that of the last block, and the table has a row for each.
            let row = unsafe { &mut *self.rows.base().byte_add(from as usize) };
            for (known, times) in row.to.iter_mut().zip(&mut row.times) {
                if *known == to {
                    *times += 1;
                    return;
                }
                if *known == to | ASLEEP || *known == NOWHERE {
                    *known = to;
                    *times = 1;
                    if row.touched == 0 {
                        row.touched = 1;
                        self.touched.push(from);
                    }
                    return;
                }
            }
        }
        self.add_further(from, to);
    }

    fn add_further(&mut self, from: Key, to: Key) {
        let mask = self.further.len() - 1;
        let mut at = place(from, to) & mask;
        loop {
            let entry = &mut self.further[at];
            if entry.to == to && entry.from == from {
                entry.times += 1;
                if entry.times == 1 {
                    self.further_touched.push(at as u32);
                }
                return;
            }
            if entry.to == NOWHERE {
                *entry = Further { from, to, times: 1 };
                self.further_touched.push(at as u32);
                self.further_used += 1;
                if self.further_used * 2 > self.further.len() {
                    self.grow();
                }
                return;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let larger = vec![Further::default(); self.further.len() * 2];
        let mask = larger.len() - 1;
        let old = std::mem::replace(&mut self.further, larger);
        self.further_touched.clear();
        for entry in old.into_iter().filter(|entry| entry.to != NOWHERE) {
            let mut at = place(entry.from, entry.to) & mask;
            while self.further[at].to != NOWHERE {
                at = (at + 1) & mask;
            }
            if entry.times > 0 {
                self.further_touched.push(at as u32);
            }
            self.further[at] = entry;
        }
    }

    /// Hands out what was counted, as (from, to, how often) in no order, and begins anew.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Key, Key, u64)) {
        for from in self.touched.drain(..) {
            // SAFETY: as in `add`.
            let row = unsafe { &mut *self.rows.base().byte_add(from as usize) };
            for (to, times) in row.to.iter_mut().zip(&mut row.times) {
                if *times > 0 {
                    take(from, *to, *times);
                    *times = 0;
                    *to |= ASLEEP;
                }
            }
            row.touched = 0;
        }
        for at in self.further_touched.drain(..) {
            let entry = &mut self.further[at as usize];
            take(entry.from, entry.to, entry.times);
            entry.times = 0;
        }
    }
}

/// Where the search for an edge begins: the upper half of a product with the golden ratio.
fn place(from: Key, to: Key) -> usize {
    ((u64::from(from) << 27 ^ u64::from(to / STRIDE)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn drained(edges: &mut Edges) -> BTreeMap<(Key, Key), u64> {
        let mut found = BTreeMap::new();
        edges.drain(|from, to, times| assert_eq!(found.insert((from, to), times), None));
        found
    }

    #[test]
    fn every_way_is_counted_once_between_cuts() {
        let mut edges = Edges::new(4096).unwrap();
        for round in 1..4u64 {
            let mut expected = BTreeMap::new();
            // Block 3 has a thousand successors, the others one or two; each round leaves some out.
            for step in (0..4000u32).filter(|step| step % 5 != round as u32) {
                let (from, to) = match step % 4 {
                    0 => (key_of(3), key_of(step / 4)),
                    1 => (key_of(step), key_of(step + 1)),
                    2 => (key_of(7), key_of(step % 8)),
                    _ => (NOWHERE, key_of(step % 16)),
                };
                for _ in 0..round {
                    edges.add(from, to);
                    *expected.entry((from, to)).or_insert(0) += 1;
                }
            }
            assert_eq!(drained(&mut edges), expected);
            assert!(drained(&mut edges).is_empty());
        }
    }

    #[test]
    fn the_hot_path_misses_what_sleeps() {
        let mut edges = Edges::new(4096).unwrap();
        edges.add(key_of(0), key_of(1));
        // SAFETY: the row of block 0.
        let row = unsafe { &*edges.rows().byte_add(key_of(0) as usize) };
        assert_eq!(row.to[0], key_of(1));
        drained(&mut edges);
        assert_ne!(row.to[0], key_of(1));
        edges.add(key_of(0), key_of(1));
        assert_eq!((row.to[0], row.times[0]), (key_of(1), 1));
        assert_eq!(row.to[1], NOWHERE);
    }
}
