//! What did each thread do when? The zoomable timeline of the page.
//!
//! [`payload`] turns a [`Timeline`] into what the page carries: names and numbers as JSON, and compressed columns.
//! [`SCRIPT`] draws them. A frame must cost its width and not its events, and a page its budget and not the length of
//! the run ([`budget`]); so each row (`rows`) comes twice:
//!
//! - as a level of detail (`coverage`): how much of each state there is in bins of equal length. Coarser levels are sums of
//!   it, which the script adds up faster than it could read them;
//! - as the exact `spans` of the parts of the run (`windows`) for which there is room: all of it for most runs, else
//!   what surrounds the findings (`focus`), the ends of the longest waits, and what is cheap. Their layout is
//!   described in `exact`. Elsewhere the script says how long a bin is, and how to get a page of that part.
//!
//! What is drawn is not quite what a thread's segments say: waits are told apart by what is waited for (`shade`), and
//! work by whether a lock is held (`holds`). Beside the rows there are `lanes` for who waits for an object and who holds
//! it, the critical path, and what the program said about itself (`marks`).

mod budget;
mod columns;
mod coverage;
mod exact;
mod focus;
mod holds;
mod lanes;
mod marks;
mod rows;
mod shade;
mod spans;
mod windows;
mod words;

#[cfg(test)]
mod tests;

use holdup_analysis::{Diagnosis, PathPiece};
use holdup_model::{ObjectKind, Process, ThreadId, Time, Timeline};
use serde_json::{Value, json};

use crate::{escape, names};
use columns::{Columns, Packed};
use coverage::{Coverage, Grid};
use exact::Dictionary;
use focus::{Focus, Search};
use holds::Holds;
use lanes::Lanes;
use marks::Marks;
use spans::{Span, Spans};
use windows::Density;
use words::LOOK;

/// The script: it defines `mountTimeline(element, json, base64)`.
pub(crate) const SCRIPT: &str = concat!(
    include_str!("../../../page/timeline_data.js"),
    include_str!("../../../page/timeline_view.js"),
    include_str!("../../../page/timeline_draw.js"),
    include_str!("../../../page/timeline_input.js"),
    include_str!("../../../page/timeline_words.js"),
    include_str!("../../../page/timeline.js"),
);

/// The style sheet. Colours are the page's CSS variables, and a few more for states that only the timeline tells apart.
pub(crate) const STYLE: &str = include_str!("../../../page/timeline.css");

/// What the page carries for its timeline.
pub(crate) struct Payload {
    /// Names, states, findings: small. Text in it is safe to show as text.
    pub(crate) json: Value,
    /// Columns: parts that are compressed with gzip, one behind the other; `json.parts` has their lengths.
    pub(crate) base64: String,
}

/// The timeline of one process for the page. `timeline` is the process's as [`holdup_analysis::timeline`] gives it.
pub(crate) fn payload(process: &Process, timeline: &Timeline, diagnosis: &Diagnosis) -> Payload {
    let roles = holdup_analysis::roles(process);
    let holds = Holds::of(process);
    let rows = rows::rows(process, diagnosis);
    let drawing = Drawing { timeline, roles: &roles, holds: &holds, rows: &rows };
    let mut row_of = vec![None; process.threads.len()];
    for (row, thread) in rows.iter().enumerate() {
        row_of[thread.index()] = Some(row);
    }

    let tiles = Grid::new(timeline.start, timeline.end, budget::TILES);
    let grid = tiles.within_budget(rows.len(), drawing.longest_row());
    let mut lanes = Lanes::of(process, diagnosis, &holds, &grid);
    let mut search = Search::of(diagnosis, tiles);
    let mut density = Density::new(tiles);
    let mut level = Columns::default();
    let mut coverage = Coverage::new(&grid);
    let mut path = OnPath::of(&grid, &diagnosis.path.pieces, &row_of);
    for (row, thread) in rows.iter().enumerate() {
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
        level.number(u64::from(shades) | u64::from(on_path.is_some()) << shade::Shade::ALL.len());
        level.bytes.append(&mut planes);
        level.bytes.extend(on_path.unwrap_or_default());
    }
    let findings = search.findings();
    let focuses = search.result(timeline, diagnosis);
    let ranges = density.windows(budget::SPANS, rows.len() as u64, &focuses);
    let windows: Vec<(Time, Time)> = ranges
        .iter()
        .map(|(from, to)| (tiles.begin(*from), tiles.begin(*to).min(timeline.end)))
        .filter(|(from, to)| from < to)
        .collect();

    let mut dictionary = Dictionary::new(&row_of, timeline.start);
    let lane_objects: Vec<Option<usize>> =
        lanes.objects.iter().map(|object| dictionary.object(*object)).collect();
    let mut lane_columns = Columns::default();
    lanes.write(&grid, &row_of, &mut lane_columns);
    let exact = drawing.exact(&windows, &lanes, &diagnosis.path.pieces, &mut dictionary);

    let mut packed = Packed::default();
    for part in [&level, &lane_columns, &exact] {
        packed.add(part);
    }
    let labels = names::threads(process, LOOK);
    let after = |time: Time| time.since(timeline.start).get();
    let told_focus = |focus: &Focus| {
        let finding = &findings[focus.finding];
        let (from, to) = (tiles.begin(focus.from), tiles.begin(focus.to).min(timeline.end));
        let spans =
            rows.iter().flat_map(|thread| drawing.window(*thread, from, to).map(|span| (*thread, span)));
        let example = Search::example(finding, from, to, spans);
        json!({
            "rank": focus.finding,
            "kind": finding.kind.word(),
            "what": escape::sentence(&finding.what, LOOK),
            "from": after(from),
            "to": after(to),
            "row": example.and_then(|(thread, _)| row_of[thread.index()]),
            "at": example.map(|(_, at)| after(at)),
            "lane": finding.object.and_then(|object| lanes.lane(object)),
        })
    };
    let wall = timeline.wall().get().max(1) as f64;
    let threads: Vec<Value> = rows
        .iter()
        .map(|thread| {
            let row = timeline.row(*thread);
            json!({
                "name": labels[thread.index()],
                "tid": process.thread(*thread).tid,
                "critical": rows::criticality(diagnosis, *thread) / wall,
                "start": after(row.start),
                "end": after(row.end),
            })
        })
        .collect();
    let groups: Vec<Value> = rows::groups(process, diagnosis, &rows)
        .iter()
        .map(|group| json!({"name": group.sort.as_deref().map(|sort| escape::short_name(sort, LOOK)), "rows": group.rows}))
        .collect();
    let marks = Marks::of(process);
    let told_marks = |told: &[marks::Mark]| words::marks(timeline.start, told, &row_of);
    let object = |id| words::object(process, &roles, &labels, id);
    let json = json!({
        "start": timeline.start.nanos(),
        "length": timeline.wall().get(),
        "bin": grid.bin,
        "bins": grid.bins,
        "parts": packed.lengths,
        "shades": words::shades(),
        "threads": threads,
        "left_out": process.threads.len() - rows.len(),
        "groups": groups,
        "windows": windows.iter().map(|(from, to)| [after(*from), after(*to)]).collect::<Vec<_>>(),
        "lanes": lane_objects,
        "objects": dictionary.objects().iter().map(|id| object(*id)).collect::<Vec<_>>(),
        "places": dictionary.sites().iter().map(|id| words::place(process, *id)).collect::<Vec<_>>(),
        "findings": focuses.iter().map(told_focus).collect::<Vec<_>>(),
        "regions": told_marks(&marks.regions),
        "phases": told_marks(&marks.phases),
        "work": told_marks(&marks.work),
        "parallelism": diagnosis.parallelism,
        "cores": diagnosis.effective_cores,
        "workers": diagnosis.workers,
    });
    Payload { json, base64: packed.base64() }
}

/// What is drawn.
struct Drawing<'a> {
    timeline: &'a Timeline,
    roles: &'a [ObjectKind],
    holds: &'a Holds,
    /// The threads that have a row.
    rows: &'a [ThreadId],
}

impl<'a> Drawing<'a> {
    /// All spans of a thread.
    fn spans(&self, thread: ThreadId) -> Spans<'a> {
        Spans::of(self.timeline.row(thread), self.holds.outer(thread), self.roles)
    }

    /// Those that reach into the time from `from` to `to`.
    fn window(&self, thread: ThreadId, from: Time, to: Time) -> impl Iterator<Item = Span> + use<'a> {
        let row = self.timeline.row(thread);
        let spans = Spans::starting(row, self.holds.outer(thread), self.roles, from);
        spans.take_while(move |span| span.start < to)
    }

    /// How many spans a row has at the most: each hold may cut two more off.
    fn longest_row(&self) -> u64 {
        let spans = |thread: &ThreadId| {
            self.timeline.row(*thread).segments.len() + 2 * self.holds.outer(*thread).len()
        };
        self.rows.iter().map(spans).max().unwrap_or(0) as u64
    }

    fn exact(
        &self,
        windows: &[(Time, Time)],
        lanes: &Lanes,
        path: &[PathPiece],
        dictionary: &mut Dictionary<'_>,
    ) -> Columns {
        let mut out = Columns::default();
        let mut spans = Vec::new();
        for (from, to) in windows {
            for thread in self.rows {
                spans.clear();
                spans.extend(self.window(*thread, *from, *to));
                dictionary.spans(*from, &spans, &mut out);
            }
        }
        dictionary.kinds(&mut out);
        for of_lane in lanes.within(windows) {
            for ((from, _), held) in windows.iter().zip(&of_lane) {
                dictionary.holds(*from, held, &mut out);
            }
        }
        for (from, to) in windows {
            let first = path.partition_point(|piece| piece.end <= *from);
            let within = path[first..].iter().take_while(|piece| piece.start < *to);
            dictionary.path(&of_threads(within), &mut out);
        }
        out
    }
}

/// Neighbouring pieces of the same thread as one.
fn of_threads<'a>(pieces: impl Iterator<Item = &'a PathPiece>) -> Vec<PathPiece> {
    let mut merged: Vec<PathPiece> = Vec::new();
    for piece in pieces {
        match merged.last_mut().filter(|last| last.thread == piece.thread && last.end == piece.start) {
            Some(last) => last.end = piece.end,
            None => merged.push(*piece),
        }
    }
    merged
}

/// How much of each bin of each row is on the critical path.
struct OnPath {
    /// By row; empty where the path never is.
    planes: Vec<Vec<u64>>,
    bin: u64,
}

impl OnPath {
    fn of(grid: &Grid, pieces: &[PathPiece], row_of: &[Option<usize>]) -> OnPath {
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
    fn plane(&mut self, row: usize) -> Option<Vec<u8>> {
        let plane = std::mem::take(self.planes.get_mut(row)?);
        let bin = u128::from(self.bin);
        let share =
            |length: &u64| ((u128::from(*length) * 255 / bin).min(255) as u8).max(u8::from(*length > 0));
        (!plane.is_empty()).then(|| plane.iter().map(share).collect())
    }
}
