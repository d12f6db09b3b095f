//! When others waited for a thread: its samples at these times tell at which lines it kept them waiting.
//!
//! A sample counts for a wait if it was taken while the wait was charged to its thread. That is a sample in the
//! statistical sense, so that many short waits are judged as well as one long one, and needs no look at samples while
//! waits are charged.

use std::collections::BTreeMap;

use holdup_model::{ObjectId, Process, ThreadId, Time};

use super::SerialKey;

/// Spans of time, in order and without overlap.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spans(Vec<(Time, Time)>);

impl Spans {
    /// Adds a span; cheap if it begins late.
    pub(crate) fn add(&mut self, mut from: Time, mut to: Time) {
        if from >= to {
            return;
        }
        let mut later = Vec::new();
        while let Some(last) = self.0.pop() {
            if last.0 > to {
                later.push(last);
            } else if last.1 < from {
                self.0.push(last);
                break;
            } else {
                from = from.min(last.0);
                to = to.max(last.1);
            }
        }
        self.0.push((from, to));
        self.0.extend(later.into_iter().rev());
    }

    /// Adds all of another's spans: in time that grows with their number, and with that of ours which come after the first
    /// of them.
    pub(crate) fn merge(&mut self, other: &Spans) {
        let Some(&(first, _)) = other.0.first() else { return };
        let later = self.0.split_off(self.0.partition_point(|span| span.1 < first));
        let (mut ours, mut others) = (later.into_iter().peekable(), other.0.iter().copied().peekable());
        loop {
            let next = match (ours.peek(), others.peek()) {
                (Some(a), Some(b)) if a.0 <= b.0 => ours.next(),
                (Some(_), None) => ours.next(),
                _ => others.next(),
            };
            let Some((from, to)) = next else { break };
            self.add(from, to);
        }
    }

    /// What lies in spans of both.
    pub(crate) fn common(&self, other: &Spans) -> Spans {
        let (mut own, mut others) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut common = Spans::default();
        while let (Some(a), Some(b)) = (own.peek(), others.peek()) {
            common.add(a.0.max(b.0), a.1.min(b.1));
            if a.1 <= b.1 {
                own.next()
            } else {
                others.next()
            };
        }
        common
    }

    /// True if a sample that was taken at `time` was taken in one of them.
    pub(crate) fn contain(&self, time: Time) -> bool {
        let after = self.0.partition_point(|span| span.0 < time);
        after.checked_sub(1).is_some_and(|index| time <= self.0[index].1)
    }
}

/// The times of what is in [`super::Blame::charges`] and [`super::Blame::serial`]. Empty for processes without samples.
#[derive(Default)]
pub(crate) struct BlameTimes {
    is_kept: bool,
    /// By what was waited for (`None`: absent threads) and the thread at the root of the wait.
    pub(crate) waited: BTreeMap<(Option<ObjectId>, ThreadId), Spans>,
    /// When the thread of a serial stretch was the only one that was able to run.
    pub(crate) serial: BTreeMap<SerialKey, Spans>,
    /// When threads had ended while others were still waited for.
    pub(crate) ended: Spans,
    /// By thread: when it has been the only one in its present stretch.
    alone: Vec<Spans>,
}

impl BlameTimes {
    pub(super) fn of(process: &Process) -> Self {
        let is_kept = !process.samples.is_empty();
        let alone = if is_kept { vec![Spans::default(); process.threads.len()] } else { Vec::new() };
        Self { is_kept, alone, ..Self::default() }
    }

    pub(super) fn waited(&mut self, object: Option<ObjectId>, thread: ThreadId, from: Time, to: Time) {
        if self.is_kept {
            self.waited.entry((object, thread)).or_default().add(from, to);
        }
    }

    pub(super) fn ended(&mut self, from: Time, to: Time) {
        if self.is_kept {
            self.ended.add(from, to);
        }
    }

    pub(super) fn alone(&mut self, thread: ThreadId, from: Time, to: Time) {
        if self.is_kept {
            self.alone[thread.index()].add(from, to);
        }
    }

    /// The stretch of a thread is over; `serial` says what it was.
    pub(super) fn end_stretch(&mut self, thread: ThreadId, serial: &[SerialKey]) {
        if !self.is_kept {
            return;
        }
        let alone = std::mem::take(&mut self.alone[thread.index()]);
        for &key in serial {
            self.serial.entry(key).or_default().merge(&alone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_stay_in_order_and_apart() {
        let at = Time::from_nanos;
        let mut spans = Spans::default();
        for (from, to) in [(10, 20), (30, 40), (50, 60), (20, 25), (28, 45), (70, 70), (55, 80)] {
            spans.add(at(from), at(to));
        }
        assert_eq!(spans.0, [(at(10), at(25)), (at(28), at(45)), (at(50), at(80))]);
        let mut others = Spans::default();
        others.add(at(5), at(12));
        others.add(at(24), at(60));
        assert_eq!(
            spans.common(&others).0,
            [(at(10), at(12)), (at(24), at(25)), (at(28), at(45)), (at(50), at(60))]
        );
        assert_eq!(others.common(&spans), spans.common(&others));
        let mut merged = spans.clone();
        merged.merge(&others);
        assert_eq!(merged.0, [(at(5), at(80))]);
        let mut merged = others.clone();
        merged.merge(&spans);
        assert_eq!(merged.0, [(at(5), at(80))]);
        let (mut late, mut early) = (Spans::default(), Spans::default());
        late.add(at(90), at(95));
        early.add(at(1), at(2));
        early.add(at(12), at(24));
        for more in [&late, &early, &Spans::default()] {
            others.merge(more);
        }
        assert_eq!(others.0, [(at(1), at(2)), (at(5), at(60)), (at(90), at(95))]);
        let found: Vec<u64> =
            [10, 11, 25, 26, 45, 60, 81].into_iter().filter(|&time| spans.contain(at(time))).collect();
        assert_eq!(found, [11, 25, 45, 60]);
    }
}
