//! Reading a working set over and over, a line at a time, fast enough to keep it in the cache.

use std::hint::black_box;

use crate::walk::LINE;

/// Independent streams. One stream waits for its prefetcher at each page; from two on the rate hardly grows (measured on a
/// server core: 20 GB/s with one, 28 with two to thirty-two), and a core follows at least eight.
const STREAMS: usize = 8;

/// A place in the working set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sweep {
    /// Lines of each stream that have been read in this sweep.
    at: usize,
}

impl Sweep {
    /// Reads about `lines` lines. True if a sweep has ended with them; the next burst then begins a new one.
    pub(crate) fn burst(&mut self, bytes: &[u8], lines: usize) -> bool {
        let stream = bytes.len() / LINE / STREAMS;
        let end = stream.min(self.at + lines.div_ceil(STREAMS));
        let mut sum = 0u64;
        for line in self.at..end {
            for number in 0..STREAMS {
                sum = sum.wrapping_add(u64::from(bytes[(number * stream + line) * LINE]));
            }
        }
        // The few that no stream has.
        if end == stream {
            for line in STREAMS * stream..bytes.len() / LINE {
                sum = sum.wrapping_add(u64::from(bytes[line * LINE]));
            }
        }
        black_box(sum);
        self.at = if end == stream { 0 } else { end };
        end == stream
    }

    /// Reads the whole once.
    pub(crate) fn whole(bytes: &[u8]) {
        Sweep::default().burst(bytes, bytes.len() / LINE + STREAMS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bursts_end_a_sweep_after_as_many_lines_as_there_are(lines in 1usize..2000, burst in 1usize..300) {
            let bytes = vec![0; lines * LINE];
            let mut sweep = Sweep::default();
            let mut bursts = 1;
            while !sweep.burst(&bytes, burst) {
                bursts += 1;
            }
            let each = burst.div_ceil(STREAMS);
            prop_assert_eq!(bursts, (lines / STREAMS).div_ceil(each).max(1));
            prop_assert_eq!(sweep.at, 0);
        }
    }
}
