//! A pointer chase without pointers: the next line depends on what the line before holds, and no prefetcher knows it.

use std::hint::black_box;

/// The size of a line where nobody says otherwise.
pub(crate) const LINE: usize = 64;
/// Bytes that are walked through before the next: 64 pages of 4 KiB, which the first level of translation buffers of all
/// processors of the last ten years holds. A guest's huge page may be small ones to the host, and misses of translations
/// would look like a knee.
const WINDOW: usize = 256 << 10;
/// Steps in a window: many for each of its pages, and a tenth of its lines.
const IN_WINDOW: u64 = 512;

/// Where a walk is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    state: u64,
}

impl Walk {
    /// The same `seed`, the same way.
    pub(crate) fn new(seed: u64) -> Walk {
        Walk { state: seed }
    }

    /// The next of `lines` lines (a linear congruential generator modulo 2⁶⁴, of which the upper half is used; multiplier:
    /// Steele and Vigna, "Computationally easy, spectrally good multipliers", 2021).
    #[inline(always)]
    pub(crate) fn next(&mut self, lines: usize) -> usize {
        self.state = self.state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(0x9e37_79b9_7f4a_7c15);
        (((self.state >> 32) * lines as u64) >> 32) as usize
    }

    /// Walks through zeros, at least `steps` steps, in windows that are chosen at random; each step waits for the one before.
    /// How many it were.
    pub(crate) fn steps(&mut self, zeros: &[u8], steps: u64) -> u64 {
        let windows = zeros.len().div_ceil(WINDOW);
        let turns = if windows == 0 { 0 } else { steps.div_ceil(IN_WINDOW) };
        for _ in 0..turns {
            let begin = self.next(windows) * WINDOW;
            let window = &zeros[begin..zeros.len().min(begin + WINDOW)];
            for _ in 0..IN_WINDOW {
                let line = self.next(window.len() / LINE);
                self.state ^= u64::from(black_box(window[line * LINE]));
            }
        }
        turns * IN_WINDOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_walk_stays_inside(seed in any::<u64>(), lines in 1usize..100_000) {
            let mut walk = Walk::new(seed);
            for _ in 0..100 {
                prop_assert!(walk.next(lines) < lines);
            }
        }
    }

    #[test]
    fn a_walk_goes_everywhere_about_equally_often() {
        let (mut walk, mut visits) = (Walk::new(1), [0u32; 64]);
        for _ in 0..64_000 {
            visits[walk.next(64)] += 1;
        }
        // 1000 expected, deviation 31.
        assert!(visits.iter().all(|count| (850..1150).contains(count)), "{visits:?}");
    }

    #[test]
    fn at_least_the_asked_steps_are_made() {
        let zeros = vec![0; 3 * WINDOW + 4 * LINE];
        assert_eq!(Walk::new(3).steps(&zeros, IN_WINDOW + 1), 2 * IN_WINDOW);
        assert_eq!(Walk::new(3).steps(&zeros, 0), 0);
        assert_eq!(Walk::new(3).steps(&[], 10), 0);
    }
}
