//! The critical path in bins.

use holdup_criticality::PathPiece;

use super::coverage::Grid;

/// How much of each bin of each row is on the critical path.
pub(super) struct OnPath {
    /// By row; empty where the path never is.
    planes: Vec<Vec<u64>>,
    bin: u64,
}

impl OnPath {
    pub(super) fn of(grid: &Grid, pieces: &[PathPiece], row_of: &[Option<usize>]) -> OnPath {
        let rows = row_of.iter().flatten().count();
        let mut planes = vec![Vec::new(); rows];
        for piece in pieces {
            let Some(row) = row_of.get(piece.thread.index()).copied().flatten() else { continue };
            let plane: &mut Vec<u64> = &mut planes[row];
            plane.resize(grid.bins, 0);
            grid.spread(piece.start, piece.end, |bin, length| plane[bin] += length);
        }
        OnPath { planes, bin: grid.bin }
    }

    /// The plane of a row, in 255ths of a bin; what is more than nothing is at least one.
    pub(super) fn plane(&mut self, row: usize) -> Option<Vec<u8>> {
        let plane = std::mem::take(self.planes.get_mut(row)?);
        let bin = u128::from(self.bin);
        let share =
            |length: &u64| ((u128::from(*length) * 255 / bin).min(255) as u8).max(u8::from(*length > 0));
        (!plane.is_empty()).then(|| plane.iter().map(share).collect())
    }
}
