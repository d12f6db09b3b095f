//! The segments of a thread as they are drawn: work is cut where a lock is taken and where it is given back.

use holdup_model::{ObjectId, ObjectKind, Row, Segment, SiteId, ThreadId, Time};

use super::holds::Held;
use crate::page::shade::Shade;

/// What is drawn of a thread between two times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) what: What,
}

/// What a thread does in a span: equal ones are told once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct What {
    pub(super) shade: Shade,
    /// What is waited for, was given, or is held.
    pub(super) object: Option<ObjectId>,
    pub(super) site: Option<SiteId>,
    /// Who ended the wait.
    pub(super) by: Option<ThreadId>,
}

/// The spans of one thread in the order of time. They abut and fill its life.
pub(super) struct Spans<'a> {
    segments: std::slice::Iter<'a, Segment>,
    /// Those that are not over where the next span begins.
    holds: &'a [Held],
    roles: &'a [ObjectKind],
    /// What is left of a segment of work.
    rest: Option<Span>,
}

impl<'a> Spans<'a> {
    /// Those of a row whose thread held these locks, by start and without overlaps; `roles` are those of the objects
    /// by id.
    pub(super) fn of(row: &'a Row, holds: &'a [Held], roles: &'a [ObjectKind]) -> Self {
        Self { segments: row.segments.iter(), holds, roles, rest: None }
    }

    /// The same from the span on that covers `from`.
    pub(super) fn starting(
        row: &'a Row,
        holds: &'a [Held],
        roles: &'a [ObjectKind],
        from: Time,
    ) -> impl Iterator<Item = Span> + 'a {
        let first = row.segments.partition_point(|segment| segment.end <= from);
        let spans = Spans { segments: row.segments[first..].iter(), holds, roles, rest: None };
        spans.skip_while(move |span| span.end <= from)
    }

    fn cut(&mut self, work: Span) -> Span {
        if self.holds.first().is_some_and(|held| held.end <= work.start) {
            let over = self.holds.partition_point(|held| held.end <= work.start);
            self.holds = &self.holds[over..];
        }
        let (end, what) = match self.holds.first() {
            Some(held) if held.start <= work.start => {
                (held.end, What { shade: Shade::Holding, object: Some(held.object), ..work.what })
            }
            Some(held) => (held.start, work.what),
            None => (work.end, work.what),
        };
        let end = end.min(work.end);
        self.rest = (end < work.end).then_some(Span { start: end, ..work });
        Span { end, what, ..work }
    }
}

impl Iterator for Spans<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        if let Some(rest) = self.rest.take() {
            return Some(self.cut(rest));
        }
        let segment = self.segments.next()?;
        let role = segment.object.and_then(|object| self.roles.get(object.index()).copied());
        let shade = Shade::of(segment.state, role);
        let what = What { shade, object: segment.object, site: segment.site, by: segment.by };
        let span = Span { start: segment.start, end: segment.end, what };
        Some(if shade == Shade::Active { self.cut(span) } else { span })
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::State;

    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    fn held(start: u64, end: u64, object: u32) -> Held {
        Held { thread: ThreadId::new(0), start: at(start), end: at(end), object: ObjectId::new(object) }
    }

    fn row(parts: &[(State, u64)]) -> Row {
        let mut end = 0;
        let segments: Vec<Segment> = parts
            .iter()
            .map(|&(state, length)| {
                let start = at(end);
                end += length;
                Segment { start, end: at(end), state, object: None, site: None, by: None, cpu: None }
            })
            .collect();
        Row { start: at(0), end: at(end), segments }
    }

    fn told(spans: impl Iterator<Item = Span>) -> Vec<(u64, u64, Shade, Option<usize>)> {
        let told =
            |s: Span| (s.start.nanos(), s.end.nanos(), s.what.shade, s.what.object.map(ObjectId::index));
        spans.map(told).collect()
    }

    #[test]
    fn work_is_cut_at_holds_and_waits_are_not() {
        let row = row(&[(State::Active, 100), (State::Io, 50), (State::Active, 50)]);
        let holds = [held(10, 20, 0), held(90, 160, 1)];
        assert_eq!(
            told(Spans::of(&row, &holds, &[])),
            [
                (0, 10, Shade::Active, None),
                (10, 20, Shade::Holding, Some(0)),
                (20, 90, Shade::Active, None),
                (90, 100, Shade::Holding, Some(1)),
                (100, 150, Shade::Io, None),
                (150, 160, Shade::Holding, Some(1)),
                (160, 200, Shade::Active, None),
            ]
        );
    }

    #[test]
    fn starting_later_gives_the_same_spans() {
        let row = row(&[(State::Active, 100), (State::Io, 50), (State::Active, 50)]);
        let holds = [held(10, 20, 0), held(90, 160, 1)];
        let all = told(Spans::of(&row, &holds, &[]));
        for from in 0..=200 {
            let rest: Vec<_> = all.iter().copied().filter(|span| span.1 > from).collect();
            assert_eq!(told(Spans::starting(&row, &holds, &[], at(from))), rest, "from {from}");
        }
    }
}
