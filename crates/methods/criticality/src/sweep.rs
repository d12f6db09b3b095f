//! The state changes of all threads in the order of time.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use holdup_model::{Segment, State, ThreadId, Time, Timeline};

/// One thread enters a segment, or ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pub(crate) time: Time,
    pub(crate) thread: ThreadId,
    /// The segment before; `None` at the thread's start.
    pub(crate) before: Option<&'a Segment>,
    /// The segment that begins; `None` at the thread's end.
    pub(crate) after: Option<&'a Segment>,
}

impl Change<'_> {
    /// Whether the thread is active from now on, if that changes.
    pub(crate) fn activity(&self) -> Option<bool> {
        self.begins(State::is_active)
    }

    /// Whether the thread is in one of these states from now on, if that changes.
    pub(crate) fn begins(&self, counts: fn(State) -> bool) -> Option<bool> {
        let [was, is] =
            [self.before, self.after].map(|segment| segment.is_some_and(|segment| counts(segment.state)));
        (was != is).then_some(is)
    }
}

/// All changes of a timeline, by time, then by thread: a merge of the rows.
pub(crate) struct Changes<'a> {
    timeline: &'a Timeline,
    next: BinaryHeap<std::cmp::Reverse<(Time, ThreadId, usize)>>,
}

impl<'a> Changes<'a> {
    pub(crate) fn new(timeline: &'a Timeline) -> Self {
        let next = timeline
            .threads
            .iter()
            .enumerate()
            .filter(|(_, row)| !row.segments.is_empty())
            .map(|(index, row)| std::cmp::Reverse((row.start, ThreadId::new(index as u32), 0)))
            .collect();
        Self { timeline, next }
    }

    /// When the next change is.
    pub(crate) fn peek(&self) -> Option<Time> {
        self.next.peek().map(|next| next.0.0)
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Change<'a>;

    fn next(&mut self) -> Option<Change<'a>> {
        let mut top = self.next.peek_mut()?;
        let (time, thread, index) = top.0;
        let segments = &self.timeline.row(thread).segments;
        let change = Change {
            time,
            thread,
            before: index.checked_sub(1).map(|before| &segments[before]),
            after: segments.get(index),
        };
        match change.after {
            Some(segment) => top.0 = (segment.end, thread, index + 1),
            None => {
                PeekMut::pop(top);
            }
        }
        Some(change)
    }
}
