//! Spans, holds and the critical path of parts of a run, each one exactly.
//!
//! All times are whole numbers of nanoseconds after the start of the process. The layout, in the numbers of
//! [`super::columns`]:
//!
//! ```text
//! for each window, for each row    spans; if any: start of the first, as a difference from the window's start;
//!                                  the length of each; the kind of each
//! kinds                            how many; of each: shade, object + 1, place + 1, row of the one who ended it + 1
//! for each lane, for each window   holds; of each: start, as a difference from the one before (the first: from the
//!                                  window's start); length; row + 1
//! path                             pieces; start of the first, after the process's; of each: length, row + 1
//! ```
//!
//! Spans and pieces abut, so that lengths tell where each begins.

use std::collections::BTreeMap;

use holdup_criticality::PathPiece;
use holdup_model::{ObjectId, SiteId, Time};

use super::budget;
use super::columns::Columns;
use super::drawing::Drawing;
use super::holds::Held;
use super::spans::{Span, What};
use super::survey::Survey;

/// Everything that is told exactly.
pub(super) fn columns(drawing: &Drawing<'_>, survey: &Survey, dictionary: &mut Dictionary<'_>) -> Columns {
    let mut out = Columns::default();
    let mut spans = Vec::new();
    for (from, to) in &survey.windows {
        for thread in &drawing.rows {
            spans.clear();
            spans.extend(drawing.window(*thread, *from, *to));
            dictionary.spans(*from, &spans, &mut out);
        }
    }
    dictionary.kinds(&mut out);
    for of_lane in survey.lanes.within(&survey.windows) {
        for ((from, _), held) in survey.windows.iter().zip(&of_lane) {
            dictionary.holds(*from, held, &mut out);
        }
    }
    let path = &drawing.diagnosis.path.pieces;
    for (from, to) in &survey.windows {
        let first = path.partition_point(|piece| piece.end <= *from);
        let within = path[first..].iter().take_while(|piece| piece.start < *to);
        dictionary.path(&of_threads(within), &mut out);
    }
    out
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

/// Kinds of spans, places and objects by the numbers that they have on the page: those of their first mention.
pub(super) struct Dictionary<'a> {
    row_of: &'a [Option<usize>],
    start: Time,
    kinds: BTreeMap<What, usize>,
    in_order: Vec<What>,
    objects: Names<ObjectId>,
    sites: Names<SiteId>,
}

struct Names<Id> {
    numbers: BTreeMap<Id, usize>,
    in_order: Vec<Id>,
}

impl<Id: Copy + Ord> Names<Id> {
    fn number(&mut self, id: Id) -> Option<usize> {
        if let Some(number) = self.numbers.get(&id) {
            return Some(*number);
        }
        let number = self.in_order.len();
        (number < budget::NAMES).then(|| {
            self.numbers.insert(id, number);
            self.in_order.push(id);
            number
        })
    }
}

impl<'a> Dictionary<'a> {
    /// `row_of` has the row of each thread that has one, by id; `start` is that of the process.
    pub(super) fn new(row_of: &'a [Option<usize>], start: Time) -> Dictionary<'a> {
        Dictionary {
            row_of,
            start,
            kinds: BTreeMap::new(),
            in_order: Vec::new(),
            objects: Names { numbers: BTreeMap::new(), in_order: Vec::new() },
            sites: Names { numbers: BTreeMap::new(), in_order: Vec::new() },
        }
    }

    /// The objects with a number, in its order.
    pub(super) fn objects(&self) -> &[ObjectId] {
        &self.objects.in_order
    }

    /// The places with a number, in its order.
    pub(super) fn sites(&self) -> &[SiteId] {
        &self.sites.in_order
    }

    /// The number of an object on the page, if there is room for its name.
    pub(super) fn object(&mut self, object: ObjectId) -> Option<usize> {
        self.objects.number(object)
    }

    fn after_start(&self, time: Time) -> u64 {
        time.since(self.start).get()
    }

    fn row(&self, thread: usize) -> Option<usize> {
        self.row_of.get(thread).copied().flatten()
    }

    /// The spans of one row that reach into the window from `from` on.
    fn spans(&mut self, from: Time, spans: &[Span], out: &mut Columns) {
        out.number(spans.len() as u64);
        let Some(first) = spans.first() else { return };
        out.difference(self.after_start(from), self.after_start(first.start));
        for span in spans {
            out.number(span.end.since(span.start).get());
        }
        for span in spans {
            let next = self.kinds.len();
            let kind = *self.kinds.entry(span.what).or_insert(next);
            if kind == next {
                self.in_order.push(span.what);
            }
            out.number(kind as u64);
        }
    }

    /// The kinds of all spans so far.
    fn kinds(&mut self, out: &mut Columns) {
        let kinds = std::mem::take(&mut self.in_order);
        out.number(kinds.len() as u64);
        for what in &kinds {
            out.number(what.shade as u64);
            out.maybe(what.object.and_then(|object| self.objects.number(object)));
            out.maybe(what.site.and_then(|site| self.sites.number(site)));
            out.maybe(what.by.and_then(|by| self.row(by.index())));
        }
    }

    /// The holds of one object that reach into the window from `from` on, by start.
    fn holds(&self, from: Time, holds: &[Held], out: &mut Columns) {
        out.number(holds.len() as u64);
        let mut before = self.after_start(from);
        for held in holds {
            let start = self.after_start(held.start);
            out.difference(before, start);
            out.number(held.end.since(held.start).get());
            out.maybe(self.row(held.thread.index()));
            before = start;
        }
    }

    /// The critical path.
    fn path(&self, pieces: &[PathPiece], out: &mut Columns) {
        out.number(pieces.len() as u64);
        let Some(first) = pieces.first() else { return };
        out.number(self.after_start(first.start));
        for piece in pieces {
            out.number(piece.end.since(piece.start).get());
            out.maybe(self.row(piece.thread.index()));
        }
    }
}
