//! Stacks that were seen before, by the places of the code addresses in them: to look at these few words again takes a fraction of the
//! time that it takes to find them.
//!
//! Whoever finds the same return addresses at the same places has the same calls before it: an address says how large the frame is in
//! which it returns, and so where the next one lies.

use core::sync::atomic::{AtomicU64, Ordering};

use super::{FINE_WORDS, finish, mix};

const SETS: usize = 64;
const WAYS: usize = 4;
const MASKS: usize = FINE_WORDS.div_ceil(64);

/// What makes a stack another than others.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Which words went into its id, a bit each from the top of the stack.
    masks: [u64; MASKS],
    /// What its id began with.
    pub(super) seed: u64,
    /// A word that differs where the calls do.
    site: usize,
}

impl Shape {
    pub(super) fn new(seed: u64) -> Shape {
        Shape { masks: [0; MASKS], seed, site: 0 }
    }

    /// The word at `index` is an address in code; `is_own` if that is the library's.
    pub(super) fn add(&mut self, index: usize, is_own: bool) {
        self.masks[index / 64] |= 1 << (index % 64);
        if self.site == 0 && !is_own {
            self.site = index;
        }
    }
}

/// A stack that was recorded. What is read while another thread writes leads to another id than the one that is there.
#[repr(align(64))]
struct Entry {
    id: AtomicU64,
    depth: AtomicU64,
    seed: AtomicU64,
    /// The word at the place that `at` says in its lowest byte. The others are the modules' generation.
    site: AtomicU64,
    at: AtomicU64,
    masks: [AtomicU64; MASKS],
}

impl Entry {
    const fn none() -> Entry {
        Entry {
            id: AtomicU64::new(0),
            depth: AtomicU64::new(0),
            seed: AtomicU64::new(0),
            site: AtomicU64::new(0),
            at: AtomicU64::new(0),
            masks: [const { AtomicU64::new(0) }; MASKS],
        }
    }
}

static ENTRIES: [[Entry; WAYS]; SETS] = [const { [const { Entry::none() }; WAYS] }; SETS];

fn set_of(depth: u64) -> &'static [Entry; WAYS] {
    &ENTRIES[(depth >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> (usize::BITS - SETS.ilog2())]
}

/// The words from the top of a stack on.
#[derive(Clone, Copy)]
pub(super) struct Top {
    first: *const u64,
    count: usize,
    depth: u64,
    generation: u64,
}

impl Top {
    /// Of a stack of `depth` bytes, with the modules of that `generation` loaded.
    ///
    /// # Safety
    /// The first `count` words can be read as long as this exists.
    pub(super) unsafe fn new(first: *const u64, count: usize, depth: u64, generation: u64) -> Top {
        Top { first, count: count.min(FINE_WORDS), depth, generation }
    }

    pub(super) fn depth(self) -> u64 {
        self.depth
    }

    pub(super) fn count(self) -> usize {
        self.count
    }

    /// 0 behind the last one.
    #[inline(always)]
    pub(super) fn word(self, index: usize) -> u64 {
        if index >= self.count {
            return 0;
        }
        // SAFETY: by the promise at `new`; volatile, since it is the stack of the running program.
        unsafe { self.first.add(index).read_volatile() }
    }

    /// The id under which this stack was recorded, if it is known here.
    #[inline]
    pub(super) fn recognise(self) -> Option<u64> {
        set_of(self.depth).iter().find_map(|entry| {
            let at = entry.at.load(Ordering::Relaxed);
            if entry.depth.load(Ordering::Relaxed) != self.depth
                || at >> 8 != self.generation
                || entry.site.load(Ordering::Relaxed) != self.word(at as usize & 0xff)
            {
                return None;
            }
            let mut hash = entry.seed.load(Ordering::Relaxed);
            for (part, mask) in entry.masks.iter().enumerate() {
                let mut left = mask.load(Ordering::Relaxed);
                while left != 0 {
                    hash = mix(hash, self.word(part * 64 + left.trailing_zeros() as usize));
                    left &= left - 1;
                }
            }
            let id = entry.id.load(Ordering::Relaxed);
            (finish(hash) == id).then_some(id)
        })
    }

    /// This stack was recorded under `id`.
    pub(super) fn remember(self, id: u64, shape: &Shape) {
        let entry = &set_of(self.depth)[id as usize % WAYS];
        entry.id.store(0, Ordering::Relaxed);
        entry.depth.store(self.depth, Ordering::Relaxed);
        entry.seed.store(shape.seed, Ordering::Relaxed);
        entry.site.store(self.word(shape.site), Ordering::Relaxed);
        entry.at.store(self.generation << 8 | shape.site as u64, Ordering::Relaxed);
        for (to, from) in entry.masks.iter().zip(shape.masks) {
            to.store(from, Ordering::Relaxed);
        }
        entry.id.store(id, Ordering::Release);
    }
}

/// Nothing is recorded any more.
pub(super) fn forget() {
    for entry in ENTRIES.iter().flatten() {
        entry.id.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::identify;
    use super::*;

    const GENERATION: u64 = 7;

    fn is_code(word: u64) -> bool {
        (0x1000..0x2000).contains(&word)
    }

    fn top(words: &[u64], depth: u64, generation: u64) -> Top {
        // SAFETY: of the slice that the caller keeps.
        unsafe { Top::new(words.as_ptr(), words.len(), depth, generation) }
    }

    /// As a stack that is recorded.
    fn record(words: &[u64], depth: u64) -> u64 {
        let top = top(words, depth, GENERATION);
        let (id, shape) = identify(top, true, is_code, |word| word < 0x1100);
        top.remember(id, &shape);
        id
    }

    #[test]
    fn the_same_calls_with_other_data_are_recognised() {
        let id = record(&[5, 0x1001, 9, 0x1200, 0, 77, 0x1300], 1000);
        assert_eq!(top(&[6, 0x1001, 8, 0x1200, 1, 0, 0x1300], 1000, GENERATION).recognise(), Some(id));
    }

    #[test]
    fn what_is_recognised_is_what_a_search_finds() {
        let words = |a: u64, b: u64| [3, 0x1001, a, 0x1200 + b % 3, 4, 0x1300 + a % 5, 0, b];
        for turn in 0..2000u64 {
            let words = words(turn % 7, turn % 11);
            let top = top(&words, 2000 + turn % 3 * 16, GENERATION);
            let (id, shape) = identify(top, true, is_code, |word| word < 0x1100);
            assert!(top.recognise().is_none_or(|known| known == id), "in turn {turn}");
            top.remember(id, &shape);
            assert_eq!(top.recognise(), Some(id), "in turn {turn}");
        }
    }

    #[test]
    fn other_calls_depths_and_modules_are_not_recognised() {
        let words = [5, 0x1001, 9, 0x1200, 0, 77, 0x1300];
        record(&words, 3000);
        let mut others = words;
        for (index, word) in [(1, 0x1002), (3, 0x1201), (6, 0x1301), (6, 0)] {
            others[index] = word;
            assert_eq!(top(&others, 3000, GENERATION).recognise(), None, "{others:x?}");
            others = words;
        }
        assert_eq!(top(&words, 3008, GENERATION).recognise(), None);
        assert_eq!(top(&words, 3000, GENERATION + 1).recognise(), None);
        assert_eq!(top(&words[..5], 3000, GENERATION).recognise(), None, "its end cannot be read");
    }

    #[test]
    fn an_entry_without_an_id_is_none() {
        let words = [1, 0x1001, 0x1240];
        assert!(record(&words, 4000) != 0);
        let entry = set_of(4000).iter().find(|entry| entry.depth.load(Ordering::Relaxed) == 4000);
        // As `forget` leaves all of them, which other tests need.
        entry.expect("it was remembered").id.store(0, Ordering::Relaxed);
        assert_eq!(top(&words, 4000, GENERATION).recognise(), None);
    }
}
