//! One look at every span of a run, for all that is told of the run as a whole.

use holdup_model::Time;

use super::budget;
use super::columns::Columns;
use super::coverage::{Coverage, Grid};
use super::drawing::Drawing;
use super::focus::{Focus, Search};
use super::lanes::Lanes;
use super::on_path::OnPath;
use super::windows::Density;
use crate::page::shade::Shade;

/// What there is to tell.
pub(super) struct Survey {
    /// In which it is decided what is told exactly.
    pub(super) tiles: Grid,
    /// The bins of the level of detail and of the lanes.
    pub(super) grid: Grid,
    /// The level of detail. For each row the set of its planes as bits, by shade; the bit behind them is for the critical
    /// path. Then the planes in that order, a byte for each bin.
    pub(super) level: Columns,
    pub(super) lanes: Lanes,
    pub(super) focuses: Vec<Focus>,
    /// The parts of the run that are told exactly: in order, and apart.
    pub(super) windows: Vec<(Time, Time)>,
}

impl Survey {
    pub(super) fn of(drawing: &Drawing<'_>) -> Survey {
        let Drawing { process, timeline, diagnosis, .. } = drawing;
        let tiles = Grid::new(timeline.start, timeline.end, budget::TILES);
        let grid = tiles.within_budget(drawing.rows.len(), drawing.longest_row());
        let mut lanes = Lanes::of(process, diagnosis, drawing.holds, &grid);
        let mut search = Search::of(diagnosis, tiles);
        let mut density = Density::new(tiles);
        let mut level = Columns::default();
        let mut coverage = Coverage::new(&grid);
        let mut path = OnPath::of(&grid, &diagnosis.path.pieces, &drawing.row_of);
        for (row, thread) in drawing.rows.iter().enumerate() {
            coverage.clear();
            for span in drawing.spans(*thread) {
                coverage.add(&grid, &span);
                density.look_at(&span);
                search.look_at(&span);
                lanes.look_at(&grid, &span);
            }
            let mut planes = Vec::new();
            let shades = coverage.write(&grid, &mut planes);
            let on_path = path.plane(row);
            level.number(u64::from(shades) | u64::from(on_path.is_some()) << Shade::ALL.len());
            level.bytes.append(&mut planes);
            level.bytes.extend(on_path.unwrap_or_default());
        }
        let focuses = search.result(timeline, diagnosis);
        let windows = density
            .windows(budget::SPANS, drawing.rows.len() as u64, &focuses)
            .into_iter()
            .map(|(from, to)| (tiles.begin(from), tiles.begin(to).min(timeline.end)))
            .filter(|(from, to)| from < to)
            .collect();
        Survey { tiles, grid, level, lanes, focuses, windows }
    }
}
