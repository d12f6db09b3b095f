//! In which parts of the run each span is told exactly.

use holdup_model::Nanos;

use super::budget;
use super::coverage::Grid;
use super::focus::Focus;
use super::spans::Span;
use crate::page::shade::Shade;

/// How many spans begin in each tile, and which waits are the longest.
pub(super) struct Density {
    tiles: Grid,
    begin: Vec<u32>,
    /// Length, and the tile in which it ended. At most [`budget::LONG_WAITS`], the shortest one last.
    longest: Vec<(Nanos, usize)>,
}

impl Density {
    pub(super) fn new(tiles: Grid) -> Density {
        Density { tiles, begin: vec![0; tiles.bins], longest: Vec::new() }
    }

    pub(super) fn look_at(&mut self, span: &Span) {
        let count = &mut self.begin[self.tiles.index(span.start)];
        *count = count.saturating_add(1);
        if !matches!(span.what.shade, Shade::Lock | Shade::Barrier | Shade::Signal | Shade::Spinning) {
            return;
        }
        let length = span.end.since(span.start);
        let is_full = self.longest.len() == budget::LONG_WAITS;
        if !is_full || self.longest.last().is_some_and(|last| length > last.0) {
            let after = self.longest.partition_point(|longer| longer.0 >= length);
            self.longest.insert(after, (length, self.tiles.index(span.end)));
            self.longest.truncate(budget::LONG_WAITS);
        }
    }

    /// The tiles whose spans are told exactly, as ranges in order that do not touch: all of the run if it fits into a
    /// budget of `spans`; else the surroundings of the findings, those of the ends of the longest waits, and the least
    /// crowded blocks. `rows` is how many threads there are: each has a span that reaches into a range.
    pub(super) fn windows(&self, spans: u64, rows: u64, focuses: &[Focus]) -> Vec<(usize, usize)> {
        let tiles = self.begin.len();
        let total: u64 = self.begin.iter().map(|count| u64::from(*count)).sum();
        if total.saturating_add(rows) <= spans {
            return vec![(0, tiles)];
        }
        let mut choice = Choice { begin: &self.begin, is_taken: vec![false; tiles], left: spans, rows };
        for focus in focuses {
            let margin = ((focus.to - focus.from) / 2).max(budget::MARGIN);
            let is_wide = choice.take(focus.from.saturating_sub(margin), (focus.to + margin).min(tiles));
            if !is_wide {
                choice.take(focus.from, focus.to);
            }
        }
        for (_, tile) in &self.longest {
            choice.take(tile.saturating_sub(1), (tile + 2).min(tiles));
        }
        let mut blocks: Vec<(u64, usize)> = self
            .begin
            .chunks(budget::BLOCK)
            .enumerate()
            .map(|(block, counts)| {
                (counts.iter().map(|count| u64::from(*count)).sum(), block * budget::BLOCK)
            })
            .collect();
        blocks.sort_unstable();
        for (_, first) in blocks {
            if !choice.take(first, (first + budget::BLOCK).min(tiles)) {
                break;
            }
        }
        choice.ranges()
    }
}

struct Choice<'a> {
    begin: &'a [u32],
    is_taken: Vec<bool>,
    left: u64,
    rows: u64,
}

impl Choice<'_> {
    /// Takes all tiles of a range, or none where they do not fit.
    fn take(&mut self, from: usize, to: usize) -> bool {
        let counts = self.begin[from..to].iter().zip(&self.is_taken[from..to]);
        let new: u64 = counts.filter(|(_, taken)| !**taken).map(|(count, _)| u64::from(*count)).sum();
        let is_new = self.is_taken[from..to].iter().any(|taken| !taken);
        let cost = if is_new { new.saturating_add(self.rows) } else { 0 };
        let Some(left) = self.left.checked_sub(cost) else { return false };
        self.left = left;
        self.is_taken[from..to].fill(true);
        true
    }

    fn ranges(&self) -> Vec<(usize, usize)> {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for (tile, _) in self.is_taken.iter().enumerate().filter(|(_, taken)| **taken) {
            match ranges.last_mut().filter(|last| last.1 == tile) {
                Some(last) => last.1 += 1,
                None => ranges.push((tile, tile + 1)),
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::Time;

    use super::super::spans::What;
    use super::*;

    /// `counts[tile]` spans of 1 ns begin in each tile of 1000 ns.
    fn density(counts: &[u32]) -> Density {
        let tiles =
            Grid::new(Time::from_nanos(0), Time::from_nanos(1000 * counts.len() as u64), counts.len());
        let mut density = Density::new(tiles);
        for (tile, count) in counts.iter().enumerate() {
            for _ in 0..*count {
                let start = tiles.begin(tile);
                let what = What { shade: Shade::Active, object: None, site: None, by: None };
                density.look_at(&Span { start, end: start + Nanos::new(1), what });
            }
        }
        density
    }

    #[test]
    fn what_fits_is_told_as_a_whole() {
        assert_eq!(density(&[10; 128]).windows(1282, 2, &[]), [(0, 128)]);
    }

    #[test]
    fn findings_come_first_and_the_rest_goes_to_the_least_crowded() {
        let mut counts = [10; 256];
        counts[128..192].fill(1);
        let focus = Focus { finding: 0, from: 10, to: 20 };
        let windows = density(&counts).windows(340, 2, &[focus]);
        assert_eq!(windows, [(2, 28), (128, 192)]);
        let taken: u32 = windows.iter().flat_map(|range| &counts[range.0..range.1]).sum();
        assert!(taken <= 340);
    }

    #[test]
    fn a_tile_that_is_too_full_is_left_out() {
        let mut counts = [0; 64];
        counts[7] = 1000;
        let focus = Focus { finding: 0, from: 7, to: 8 };
        assert_eq!(density(&counts).windows(100, 2, &[focus]), []);
    }
}
