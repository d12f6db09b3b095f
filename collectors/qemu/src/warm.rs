//! What threads touch before the part of interest, so that a simulation of that does not begin with empty caches.

use std::sync::atomic::{AtomicU64, Ordering};

use holdup_trace::instructions::{Entry, LINE_BITS, Other, PAGE_BITS, zigzag};

use crate::numbers::number;
use crate::reserved::{Reserved, Zeroed};

/// Lines that are remembered of each thread: 64 MiB, more than caches have. Of two that have the same place it is the later.
const LINES: usize = 1 << 20;
/// log2 of the pages of the address space of a program.
const ALL_PAGES_BITS: u32 = 47 - PAGE_BITS;
/// Pages of a thread that are remembered at most: 16 GiB.
const MOST_PAGES: usize = 1 << 22;
/// So many pages and lines make a part.
const PART: usize = 1024;

/// Which pages were touched, by any thread: a bit for each.
pub(crate) struct Pages(Reserved<AtomicU64>);

impl Pages {
    /// `None` if the address space is not to be had.
    pub(crate) fn new() -> Option<Pages> {
        Reserved::new(1 << (ALL_PAGES_BITS - 6)).map(Pages)
    }

    /// True the first time.
    fn is_first(&self, page: u64) -> bool {
        if page >> ALL_PAGES_BITS != 0 {
            return false;
        }
        // SAFETY: the table has a bit for every page below that.
        let word = unsafe { &*self.0.base().add((page >> 6) as usize) };
        let bit = 1 << (page & 63);
        word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }
}

/// A line that is remembered, or nothing: all zero.
#[repr(C)]
struct Slot {
    /// Its number × 4 + 2 if it was written to + 1.
    line: u64,
    /// The thread's accesses until its last use.
    used: u64,
}

// SAFETY: two numbers.
unsafe impl Zeroed for Slot {}

/// What one thread touched.
pub(crate) struct Warm {
    slots: Reserved<Slot>,
    accesses: u64,
    /// Pages that nobody had touched before.
    pages: Vec<u64>,
    /// Lists that were written.
    written: u64,
}

impl Warm {
    /// Nothing yet; `None` without address space.
    pub(crate) fn new() -> Option<Self> {
        Some(Self { slots: Reserved::new(LINES)?, accesses: 0, pages: Vec::new(), written: 0 })
    }

    /// Another thread begins.
    pub(crate) fn begin_anew(&mut self) {
        self.forget();
        self.written = 0;
    }

    fn forget(&mut self) {
        if self.accesses > 0 {
            self.slots.clear();
        }
        self.accesses = 0;
        self.pages.clear();
    }

    /// The thread touches this.
    pub(crate) fn touch(&mut self, address: u64, stores: bool, pages: &Pages) {
        let line = address >> LINE_BITS;
        let now = line << 2 | u64::from(stores) << 1 | 1;
        self.accesses += 1;
        // SAFETY: the place is below the length of the table.
        let slot = unsafe { &mut *self.slots.base().add(line as usize % LINES) };
        slot.used = self.accesses;
        if slot.line >> 2 == line && slot.line != 0 {
            slot.line |= now;
            return;
        }
        slot.line = now;
        let page = address >> PAGE_BITS;
        if pages.is_first(page) && self.pages.len() < MOST_PAGES {
            self.pages.push(page);
        }
    }

    /// Gives what was touched as entries, and forgets it.
    pub(crate) fn write(&mut self, entry: &mut Vec<u8>, mut write: impl FnMut(&[u8])) {
        if self.accesses == 0 {
            return;
        }
        // SAFETY: the whole table, which is nobody else's; zeroed memory is a slot.
        let slots = unsafe { std::slice::from_raw_parts(self.slots.base(), LINES) };
        let mut lines: Vec<(u64, u64)> =
            slots.iter().filter(|slot| slot.line != 0).map(|slot| (slot.used, slot.line)).collect();
        lines.sort_unstable();
        let parts = self.pages.len().max(lines.len()).div_ceil(PART);
        for part in 0..parts {
            entry.clear();
            number(entry, (Other::Touched as u64) << 2 | Entry::Other as u64);
            number(entry, self.written);
            number(entry, part as u64);
            let pages = self.pages.chunks(PART).nth(part).unwrap_or_default();
            number(entry, pages.len() as u64);
            let mut before = 0;
            for &page in pages {
                number(entry, zigzag(page.wrapping_sub(std::mem::replace(&mut before, page)) as i64));
            }
            let lines = lines.chunks(PART).nth(part).unwrap_or_default();
            number(entry, lines.len() as u64);
            before = 0;
            for &(_, line) in lines {
                let difference = (line >> 2).wrapping_sub(std::mem::replace(&mut before, line >> 2));
                number(entry, zigzag(difference as i64) << 1 | (line >> 1 & 1));
            }
            write(entry);
        }
        self.written += 1;
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use holdup_trace::instructions::{take, unzigzag};

    use super::*;

    /// The lists, parts put together: pages, and lines with whether they were written to.
    fn read(entries: &[Vec<u8>]) -> (Vec<u64>, Vec<(u64, bool)>) {
        let (mut pages, mut lines) = (Vec::new(), Vec::new());
        for (at, entry) in entries.iter().enumerate() {
            let mut left = entry.as_slice();
            let mut next = || {
                let (value, length) = take(left).unwrap();
                left = &left[length..];
                value
            };
            assert_eq!(next(), (Other::Touched as u64) << 2 | Entry::Other as u64);
            assert_eq!((next(), next()), (0, at as u64));
            let mut last = 0u64;
            for _ in 0..next() {
                last = last.wrapping_add_signed(unzigzag(next()));
                pages.push(last);
            }
            last = 0;
            for _ in 0..next() {
                let value = next();
                last = last.wrapping_add_signed(unzigzag(value >> 1));
                lines.push((last, value & 1 == 1));
            }
            assert!(left.is_empty());
        }
        (pages, lines)
    }

    #[test]
    fn lines_come_in_the_order_of_their_last_use() {
        let (all, mut warm) = (Pages::new().unwrap(), Warm::new().unwrap());
        let mut again = Warm::new().unwrap();
        for (address, stores) in [(0x1000, true), (0x1044, false), (0x9000, false), (0x1008, false)] {
            warm.touch(address, stores, &all);
        }
        // Another thread, which touches nothing first; the kernel's half of the addresses has no pages here.
        again.touch(0x9010, true, &all);
        again.touch(u64::MAX - 7, false, &all);
        let (mut found, mut scratch) = (Vec::new(), Vec::new());
        warm.write(&mut scratch, |entry| found.push(entry.to_vec()));
        assert_eq!(read(&found), (vec![1, 9], vec![(0x41, false), (0x240, false), (0x40, true)]));
        found.clear();
        again.write(&mut scratch, |entry| found.push(entry.to_vec()));
        assert_eq!(read(&found), (vec![], vec![(0x240, true), (u64::MAX >> 6, false)]));
        found.clear();
        again.write(&mut scratch, |entry| found.push(entry.to_vec()));
        assert!(found.is_empty(), "what was written is forgotten");
    }

    #[test]
    fn many_lines_are_written_in_parts() {
        let (all, mut warm) = (Pages::new().unwrap(), Warm::new().unwrap());
        let lines = 5 * PART as u64 / 2;
        for line in (0..lines).rev() {
            warm.touch(line << LINE_BITS, line % 2 == 0, &all);
        }
        let (mut found, mut scratch) = (Vec::new(), Vec::new());
        warm.write(&mut scratch, |entry| found.push(entry.to_vec()));
        assert_eq!(found.len(), 3);
        let (pages, read) = read(&found);
        assert_eq!(pages, (0..lines >> 6).rev().collect::<Vec<_>>());
        assert_eq!(read, (0..lines).rev().map(|line| (line, line % 2 == 0)).collect::<Vec<_>>());
    }
}
