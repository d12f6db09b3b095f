//! What a thread did that cuts across its states: waits and blocking calls, holds, OpenMP's constructs, and what the
//! program said.

use std::collections::BTreeMap;

use holdup_model::{MarkerKind, Mode, SiteId, Time, WakeCount};

use super::lanes::{Span, lanes};
use super::writer::{Track, Value, What, Writer};
use crate::rows::Rows;
use crate::subject::Subject;
use crate::{ExportError, names, text};

/// Something with a length, by its row of one of the process's columns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Wait(usize),
    Block(usize),
    Hold(usize),
    /// From this marker to its partner.
    Said(usize),
    Region(usize),
    Share(usize),
    Work(usize),
    Task(usize),
}

/// Something without a length, by its row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    /// The end of a hold whose beginning was not seen.
    Release(usize),
    Wake(usize),
    Mark(usize),
}

/// Writes the spans of a thread, each sort on tracks of its own.
pub(super) fn spans(
    subject: &Subject<'_>,
    rows: &Rows,
    parent: Track,
    writer: &mut Writer<'_>,
) -> Result<(), ExportError> {
    let process = subject.process;
    let span = |begin: Time, end: Time, item: Item| {
        let start = subject.time(begin);
        Span { start, end: subject.time(end).max(start), item }
    };
    let waits = rows.waits.iter().map(|&row| {
        let wait = &process.waits[row];
        span(wait.begin, wait.end, Item::Wait(row))
    });
    let blocks = rows.blocks.iter().map(|&row| {
        let block = &process.blocks[row];
        span(block.begin, block.end, Item::Block(row))
    });
    let holds = rows.holds.iter().filter_map(|&row| {
        let hold = &process.holds[row];
        Some(span(hold.begin?, hold.end, Item::Hold(row)))
    });
    let Said { regions, points } = Said::of(subject, &rows.markers);
    let said = regions.into_iter().map(|(row, begin, end)| span(begin, end, Item::Said(row)));
    let openmp = &process.openmp;
    let of_region =
        |&row: &usize| span(openmp.regions[row].begin, openmp.regions[row].end, Item::Region(row));
    let of_share = |&row: &usize| span(openmp.shares[row].begin, openmp.shares[row].end, Item::Share(row));
    let of_work = |&row: &usize| span(openmp.works[row].begin, openmp.works[row].end, Item::Work(row));
    let of_task =
        |&row: &usize| span(openmp.task_runs[row].begin, openmp.task_runs[row].end, Item::Task(row));
    let constructs = rows.regions.iter().map(of_region);
    let constructs = constructs.chain(rows.shares.iter().map(of_share)).chain(rows.works.iter().map(of_work));
    let constructs = constructs.chain(rows.task_runs.iter().map(of_task));
    let mut rank = 0;
    for (name, spans) in [
        ("waits and calls", waits.chain(blocks).collect::<Vec<_>>()),
        ("holds", holds.collect()),
        ("OpenMP", constructs.collect()),
        ("regions", said.collect()),
    ] {
        for lane in lanes(spans) {
            let track = writer.named_track(parent, rank, name)?;
            rank += 1;
            write_lane(subject, track, &lane, writer)?;
        }
    }
    let releases = rows.holds.iter().filter(|&&row| process.holds[row].begin.is_none());
    let releases = releases.map(|&row| (process.holds[row].end, Point::Release(row)));
    let wakes = rows.wakes.iter().map(|&row| (process.wakes[row].time, Point::Wake(row)));
    let marks = points.iter().map(|&row| (process.markers[row].time, Point::Mark(row)));
    let mut points: Vec<(Time, Point)> = releases.chain(wakes).chain(marks).collect();
    points.sort_unstable();
    if !points.is_empty() {
        let track = writer.named_track(parent, rank, "signals and marks")?;
        for (time, what) in points {
            point(subject, track, time, what, writer)?;
        }
    }
    Ok(())
}

/// What one thread said: from when to when, and at which moments.
#[derive(Default)]
struct Said {
    regions: Vec<(usize, Time, Time)>,
    points: Vec<usize>,
}

impl Said {
    /// Pairs the markers that begin something with those that end it. What is never ended goes on to the end of the
    /// thread; what has no beginning is a moment.
    fn of(subject: &Subject<'_>, rows: &[usize]) -> Said {
        let markers = &subject.process.markers;
        let mut open: BTreeMap<MarkerKind, Vec<usize>> = BTreeMap::new();
        let mut said = Said::default();
        for &row in rows {
            let begins = match markers[row].kind {
                MarkerKind::RegionEnd => MarkerKind::RegionBegin,
                MarkerKind::WorkEnd => MarkerKind::WorkBegin,
                MarkerKind::SpinEnd => MarkerKind::SpinBegin,
                MarkerKind::Phase => {
                    said.points.push(row);
                    continue;
                }
                begin => {
                    open.entry(begin).or_default().push(row);
                    continue;
                }
            };
            match open.get_mut(&begins).and_then(Vec::pop) {
                Some(begin) => said.regions.push((begin, markers[begin].time, markers[row].time)),
                None => said.points.push(row),
            }
        }
        for row in open.into_values().flatten() {
            let marker = &markers[row];
            said.regions.push((row, marker.time, subject.timeline.row(marker.thread).end));
        }
        said
    }
}

fn sort_of(kind: MarkerKind) -> &'static str {
    match kind {
        MarkerKind::RegionBegin | MarkerKind::RegionEnd => "region",
        MarkerKind::Phase => "phase",
        MarkerKind::WorkBegin | MarkerKind::WorkEnd => "work",
        MarkerKind::SpinBegin | MarkerKind::SpinEnd => "spin",
    }
}

/// Writes something that has no length.
fn point(
    subject: &Subject<'_>,
    track: Track,
    time: Time,
    point: Point,
    writer: &mut Writer<'_>,
) -> Result<(), ExportError> {
    let process = subject.process;
    let place = |site: Option<SiteId>| site.map(|site| subject.names.place(site)).unwrap_or_default();
    let mut say = |category, name: &str, facts: &[(&'static str, Value<'_>)]| {
        writer.instant(track, subject.time(time), What { category, name, facts }, Vec::new(), Vec::new())
    };
    match point {
        Point::Wake(row) => {
            let wake = &process.wakes[row];
            let count = match wake.count {
                WakeCount::AtMost(count) => ("at most", Value::Number(u64::from(count))),
                WakeCount::All => ("at most", Value::Text("all")),
            };
            let name = format!("wakes waiters of {}", subject.names.object(wake.object));
            say("signal", &name, &[("place", Value::Text(&place(wake.site))), count])
        }
        Point::Release(row) => {
            let hold = &process.holds[row];
            let name = format!("releases {}", subject.names.object(hold.object));
            say("hold", &name, &[("released in", Value::Text(&place(hold.released_at)))])
        }
        Point::Mark(row) => {
            let marker = &process.markers[row];
            let sort = sort_of(marker.kind);
            let label = marker.label.as_deref().map_or(sort.into(), text::plain);
            say("said", &label, &[("sort", Value::Text(sort))])
        }
    }
}

fn write_lane(
    subject: &Subject<'_>,
    track: Track,
    lane: &[Span<Item>],
    writer: &mut Writer<'_>,
) -> Result<(), ExportError> {
    let mut open: Vec<u64> = Vec::new();
    for span in lane {
        while let Some(end) = open.pop_if(|end| *end <= span.start) {
            writer.end(track, end)?;
        }
        begin(subject, track, span, writer)?;
        open.push(span.end);
    }
    while let Some(end) = open.pop() {
        writer.end(track, end)?;
    }
    Ok(())
}

fn begin(
    subject: &Subject<'_>,
    track: Track,
    span: &Span<Item>,
    writer: &mut Writer<'_>,
) -> Result<(), ExportError> {
    let process = subject.process;
    let place = |site: Option<SiteId>| site.map(|site| subject.names.place(site)).unwrap_or_default();
    let mode = |mode: Mode| if mode == Mode::Shared { "shared" } else { "exclusive" };
    let mut say = |category, name: &str, facts: &[(&'static str, Value<'_>)]| {
        writer.begin(track, span.start, What { category, name, facts }, Vec::new())
    };
    match span.item {
        Item::Wait(row) => {
            let wait = &process.waits[row];
            let place = place(wait.site);
            let by = subject.released_by(wait).map_or("", |by| subject.names.thread(by));
            let facts = [
                ("place", Value::Text(&place)),
                ("outcome", Value::Text(names::outcome(wait.outcome))),
                ("mode", Value::Text(mode(wait.mode))),
                ("released by", Value::Text(by)),
            ];
            say("wait", subject.names.object(wait.object), &facts)
        }
        Item::Block(row) => {
            let block = &process.blocks[row];
            say("call", block.call.word(), &[("place", Value::Text(&place(block.site)))])
        }
        Item::Hold(row) => {
            let hold = &process.holds[row];
            let (acquired, released) = (place(hold.acquired_at), place(hold.released_at));
            let facts = [
                ("acquired in", Value::Text(&acquired)),
                ("released in", Value::Text(&released)),
                ("mode", Value::Text(mode(hold.mode))),
                ("others waited at its end", Value::Number(u64::from(hold.waited_for))),
            ];
            say("hold", subject.names.object(hold.object), &facts)
        }
        Item::Region(row) => {
            let region = &process.openmp.regions[row];
            let facts = [
                ("threads", Value::Number(u64::from(region.size))),
                ("executions", Value::Number(region.count)),
                ("recorded whole", Value::Number(u64::from(region.whole))),
            ];
            say("openmp", &format!("parallel region in {}", place(region.place)), &facts)
        }
        Item::Share(row) => {
            let index = u64::from(process.openmp.shares[row].index);
            say("openmp", "part of a region", &[("thread of the team", Value::Number(index))])
        }
        Item::Work(row) => {
            let work = &process.openmp.works[row];
            let facts = [
                ("place", Value::Text(&place(work.place))),
                ("chunks", Value::Number(u64::from(work.chunks))),
            ];
            say("openmp", work.kind.word(), &facts)
        }
        Item::Task(row) => {
            let run = &process.openmp.task_runs[row];
            match run.task {
                Some(task) => say("openmp", "task", &[("task", Value::Number(task.number()))]),
                None => say("openmp", "tasks", &[]),
            }
        }
        Item::Said(row) => {
            let marker = &process.markers[row];
            let sort = sort_of(marker.kind);
            let label = marker.label.as_deref().map_or(sort.into(), text::plain);
            say("said", &label, &[("sort", Value::Text(sort))])
        }
    }
}
