//! What is drawn: the threads that have a row, and the spans of each.

use holdup_criticality::Diagnosis;
use holdup_model::{ObjectKind, Process, ThreadId, Time, Timeline};

use super::holds::Holds;
use super::rows;
use super::spans::{Span, Spans};

/// One process and its rows.
pub(super) struct Drawing<'a> {
    pub(super) process: &'a Process,
    pub(super) timeline: &'a Timeline,
    pub(super) diagnosis: &'a Diagnosis,
    pub(super) roles: &'a [ObjectKind],
    pub(super) holds: &'a Holds,
    /// The threads that have a row.
    pub(super) rows: Vec<ThreadId>,
    /// By thread: its row.
    pub(super) row_of: Vec<Option<usize>>,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(
        process: &'a Process,
        timeline: &'a Timeline,
        diagnosis: &'a Diagnosis,
        holds: &'a Holds,
    ) -> Drawing<'a> {
        let rows = rows::rows(process, diagnosis);
        let mut row_of = vec![None; process.threads.len()];
        for (row, thread) in rows.iter().enumerate() {
            row_of[thread.index()] = Some(row);
        }
        Drawing { process, timeline, diagnosis, roles: &timeline.roles.kinds, holds, rows, row_of }
    }

    /// Nanoseconds after the start of the process.
    pub(super) fn after(&self, time: Time) -> u64 {
        time.since(self.timeline.start).get()
    }

    /// All spans of a thread.
    pub(super) fn spans(&self, thread: ThreadId) -> Spans<'a> {
        Spans::of(self.timeline.row(thread), self.holds.outer(thread), self.roles)
    }

    /// Those that reach into the time from `from` to `to`.
    pub(super) fn window(
        &self,
        thread: ThreadId,
        from: Time,
        to: Time,
    ) -> impl Iterator<Item = Span> + use<'a> {
        let row = self.timeline.row(thread);
        let spans = Spans::starting(row, self.holds.outer(thread), self.roles, from);
        spans.take_while(move |span| span.start < to)
    }

    /// How many spans a row has at the most: each hold may cut two more off.
    pub(super) fn longest_row(&self) -> u64 {
        let spans = |thread: &ThreadId| {
            self.timeline.row(*thread).segments.len() + 2 * self.holds.outer(*thread).len()
        };
        self.rows.iter().map(spans).max().unwrap_or(0) as u64
    }
}
