//! How much of each state there is in bins of equal length: what is drawn where a pixel is longer than a span.

use holdup_model::{Nanos, Time};

use super::budget;
use super::spans::Span;
use crate::page::shade::Shade;

/// The bins of a run: equal ones from its start on, of which the last may reach beyond its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grid {
    pub(super) start: Time,
    pub(super) end: Time,
    /// The length of a bin (ns), at least 1.
    pub(super) bin: u64,
    /// How many bins; a power of two.
    pub(super) bins: usize,
}

impl Grid {
    /// `bins` bins from `start` to `end`.
    pub(super) fn new(start: Time, end: Time, bins: usize) -> Grid {
        let bin = end.since(start).get().div_ceil(bins as u64).max(1);
        Grid { start, end, bin, bins }
    }

    /// The same in bins that are `2^steps` times as long.
    pub(super) fn coarser(self, steps: u32) -> Grid {
        Grid { bin: self.bin.saturating_mul(1 << steps), bins: self.bins >> steps, ..self }
    }

    /// A coarser grid with as many bins as the budget allows for `threads` rows, of which the longest has `spans` spans:
    /// more bins than spans tell no more.
    pub(super) fn within_budget(self, threads: usize, spans: u64) -> Grid {
        let room = (budget::CELLS / threads.max(1)).max(1);
        let room = 1 << room.ilog2();
        let wanted = usize::try_from(spans).unwrap_or(usize::MAX).min(budget::MOST_BINS).next_power_of_two();
        let bins = wanted.min(room).clamp(budget::FEWEST_BINS, budget::MOST_BINS).min(self.bins);
        self.coarser((self.bins / bins).ilog2())
    }

    /// The bin that `time` lies in; the last one for all that is later.
    pub(super) fn index(&self, time: Time) -> usize {
        let index = time.since(self.start).get() / self.bin;
        usize::try_from(index).unwrap_or(usize::MAX).min(self.bins - 1)
    }

    /// Where the bin begins.
    pub(super) fn begin(&self, index: usize) -> Time {
        self.start + Nanos::new(self.bin.saturating_mul(index as u64))
    }

    /// Calls `add` with each bin that the time from `start` to `end` lies in, and how much of it does (ns).
    pub(super) fn spread(&self, start: Time, end: Time, mut add: impl FnMut(usize, u64)) {
        let (start, end) = (start.max(self.start), end.min(self.end));
        if start >= end {
            return;
        }
        let (first, last) = (self.index(start), self.index(end));
        if first == last {
            add(first, end.since(start).get());
            return;
        }
        add(first, self.begin(first + 1).since(start).get());
        (first + 1..last).for_each(|index| add(index, self.bin));
        let rest = end.since(self.begin(last)).get();
        if rest > 0 {
            add(last, rest);
        }
    }
}

/// How much of each shade there is in each bin of one row (ns).
pub(super) struct Coverage {
    bins: Vec<[u64; Shade::ALL.len()]>,
}

impl Coverage {
    pub(super) fn new(grid: &Grid) -> Coverage {
        Coverage { bins: vec![[0; Shade::ALL.len()]; grid.bins] }
    }

    pub(super) fn clear(&mut self) {
        self.bins.fill([0; Shade::ALL.len()]);
    }

    pub(super) fn add(&mut self, grid: &Grid, span: &Span) {
        let shade = span.what.shade as usize;
        grid.spread(span.start, span.end, |bin, length| self.bins[bin][shade] += length);
    }

    /// By bin, then shade (ns).
    #[cfg(test)]
    pub(super) fn lengths(&self) -> &[[u64; Shade::ALL.len()]] {
        &self.bins
    }

    /// Writes one plane for each shade that occurs: a byte for each bin, 255 for all of it. The parts of a bin that the
    /// thread lives through add up to 255 exactly. Gives the set of shades as bits.
    pub(super) fn write(&self, grid: &Grid, out: &mut Vec<u8>) -> u16 {
        let shares: Vec<[u8; Shade::ALL.len()]> =
            self.bins.iter().map(|lengths| in_bytes(lengths, grid.bin)).collect();
        let mut set = 0;
        for shade in Shade::ALL {
            let plane = shade as usize;
            if shares.iter().any(|bin| bin[plane] > 0) {
                set |= 1 << plane;
                out.extend(shares.iter().map(|bin| bin[plane]));
            }
        }
        set
    }
}

/// Lengths as parts of a bin, in 255ths. They add up to what their sum would be: the largest remainders are rounded
/// up (Hamilton's method).
fn in_bytes<const N: usize>(lengths: &[u64; N], bin: u64) -> [u8; N] {
    let mut shares = [0; N];
    let mut total: u64 = 0;
    for length in lengths {
        total = total.saturating_add(*length);
    }
    if total == 0 {
        return shares;
    }
    let scaled = |length: u64| u128::from(length.min(bin)) * 255;
    let bin = u128::from(bin);
    let wanted = ((scaled(total) + bin / 2) / bin) as usize;
    let mut given = 0;
    let mut remainders = [(0, 0); N];
    for (index, length) in lengths.iter().enumerate() {
        shares[index] = (scaled(*length) / bin) as u8;
        given += usize::from(shares[index]);
        remainders[index] = (scaled(*length) % bin, N - index);
    }
    remainders.sort_unstable_by(|a, b| b.cmp(a));
    for (_, from_last) in remainders.into_iter().take(wanted.saturating_sub(given)) {
        shares[N - from_last] = shares[N - from_last].saturating_add(1);
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn bytes_add_up_to_what_the_whole_comes_to() {
        assert_eq!(in_bytes(&[1, 1, 1], 3), [85, 85, 85]);
        assert_eq!(in_bytes(&[1, 1, 2], 4), [64, 64, 127]);
        assert_eq!(in_bytes(&[500, 1, 0], 1000), [128, 0, 0]);
        assert_eq!(in_bytes(&[0, 0], 0), [0, 0]);
        assert_eq!(in_bytes(&[u64::MAX / 2, u64::MAX / 2 + 1], u64::MAX), [127, 128]);
    }

    #[test]
    fn a_grid_has_bins_for_all_of_a_run() {
        let grid = Grid::new(at(10), at(1_011), 256);
        assert_eq!((grid.bin, grid.index(at(10)), grid.index(at(14)), grid.index(at(5_000))), (4, 0, 1, 255));
        assert_eq!(Grid::new(at(5), at(5), 256).bin, 1);
        let long = Grid::new(at(0), at(u64::MAX), 256);
        assert_eq!(long.index(at(u64::MAX)), 255);
        assert!(long.begin(256) >= at(u64::MAX - 1));
    }

    #[test]
    fn the_budget_decides_how_many_bins() {
        let tiles = Grid::new(at(0), at(1_000_000_000), budget::TILES);
        let bins = |threads, spans| tiles.within_budget(threads, spans).bins;
        assert_eq!(bins(1, 10), budget::FEWEST_BINS);
        assert_eq!(bins(1, 1_000_000_000), budget::MOST_BINS);
        assert_eq!(bins(1000, 1_000_000), 1024);
        assert_eq!(bins(budget::THREADS, 1_000_000), budget::FEWEST_BINS);
    }
}
