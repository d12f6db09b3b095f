//! When others waited for a thread: its samples at these times tell at which lines it kept them waiting.
//!
//! A sample counts for a wait if it was taken while the wait was charged to its thread. That is a sample in the
//! statistical sense, so that many short waits are judged as well as one long one, and needs no look at samples while
//! waits are charged.

use std::collections::BTreeMap;

use holdup_model::{Nanos, Process, ThreadId, Time};

use super::SerialKey;
use super::roots::RootKey;

/// Spans of time, in order and without overlap.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spans(Vec<(Time, Time)>);

impl Spans {
    /// Adds a span; cheap if it begins late.
    pub(crate) fn add(&mut self, mut from: Time, mut to: Time) {
        if from >= to {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.1 < from => return self.0.push((from, to)),
            Some(last) if last.0 <= from => {
                last.1 = last.1.max(to);
                return;
            }
            _ => {}
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

/// By root.
pub(crate) type Waited = BTreeMap<RootKey, Spans>;

/// The times of what is in [`super::Blame::charges`] and [`super::Blame::serial`]. Empty for processes without samples.
#[derive(Default)]
pub(crate) struct BlameTimes {
    /// When threads were waited for.
    pub(crate) waited: Waited,
    /// Of these, when it was for what the thread did: not for that it had begun later than the others, or had lost its core.
    pub(crate) for_work: Waited,
    /// When the thread of a serial stretch was the only one that was able to run.
    pub(crate) serial: BTreeMap<SerialKey, Spans>,
    /// When threads had ended while others were still waited for.
    pub(crate) ended: Spans,
}

/// What has been waited for up to now. Roots go by their numbers in [`super::roots::Roots`].
#[derive(Default)]
pub(super) struct TimesSoFar {
    is_kept: bool,
    serial: BTreeMap<SerialKey, Spans>,
    ended: Spans,
    /// By root.
    roots: Vec<RootTimes>,
    /// By thread: when it has been the only one in its present stretch.
    alone: Vec<Spans>,
    /// By thread: the roots for which it has been waited for in its present stretch.
    awaited: Vec<Vec<u32>>,
}

/// When a thread was waited for because of one thing.
#[derive(Clone, Default)]
struct RootTimes {
    waited: Spans,
    for_work: Spans,
    /// In the thread's present stretch.
    waits: Vec<(Time, Time)>,
}

impl TimesSoFar {
    pub(super) fn of(process: &Process) -> Self {
        let is_kept = !process.samples.is_empty();
        let threads = if is_kept { process.threads.len() } else { 0 };
        let (alone, awaited) = (vec![Spans::default(); threads], vec![Vec::new(); threads]);
        Self { is_kept, alone, awaited, ..Self::default() }
    }

    /// `thread` is that of the root.
    pub(super) fn waited(&mut self, root: u32, thread: ThreadId, from: Time, to: Time) {
        if !self.is_kept || from >= to {
            return;
        }
        let index = root as usize;
        if index >= self.roots.len() {
            self.roots.resize(index + 1, RootTimes::default());
        }
        let times = &mut self.roots[index];
        times.waited.add(from, to);
        match times.waits.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            last => {
                if last.is_none() {
                    self.awaited[thread.index()].push(root);
                }
                times.waits.push((from, to));
            }
        }
    }

    /// Of the time that a thread was waited for in its present stretch because of this, only this share, the last part, was for what
    /// it did.
    pub(super) fn were_for_work(&mut self, root: u32, share: f64) {
        let Some(RootTimes { waits, .. }) = self.roots.get_mut(root as usize) else { return };
        let all: Nanos = waits.iter().map(|&(from, to)| to.since(from)).sum();
        let mut left_out = Nanos::new((all.get() as f64 * (1.0 - share)) as u64);
        for (from, to) in waits {
            let length = to.since(*from).min(left_out);
            left_out -= length;
            *from = *from + length;
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
        for root in self.awaited[thread.index()].drain(..) {
            let RootTimes { for_work, waits, .. } = &mut self.roots[root as usize];
            for (from, to) in waits.drain(..) {
                for_work.add(from, to);
            }
        }
    }

    /// All of it, with the key of each root; no stretch of any thread goes on.
    pub(super) fn finish(mut self, keys: &[RootKey]) -> BlameTimes {
        for index in 0..self.awaited.len() {
            self.end_stretch(ThreadId::new(index as u32), &[]);
        }
        let mut times = BlameTimes { serial: self.serial, ended: self.ended, ..BlameTimes::default() };
        for (&key, root) in keys.iter().zip(self.roots) {
            times.waited.extend((root.waited != Spans::default()).then_some((key, root.waited)));
            times.for_work.extend((root.for_work != Spans::default()).then_some((key, root.for_work)));
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::ObjectId;

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

    #[test]
    fn the_last_part_of_a_wait_is_for_work() {
        let at = Time::from_nanos;
        let thread = ThreadId::new(0);
        let keys = [0, 1, 2].map(|number| (Some(ObjectId::new(number)), thread));
        let mut times = TimesSoFar {
            is_kept: true,
            awaited: vec![Vec::new()],
            alone: vec![Spans::default()],
            ..Default::default()
        };
        for (root, from, to) in [(0, 10, 20), (1, 20, 30), (0, 30, 50), (0, 50, 60)] {
            times.waited(root, thread, at(from), at(to));
        }
        times.were_for_work(0, 0.25);
        let times = times.finish(&keys);
        assert_eq!(times.for_work[&keys[0]].0, [(at(50), at(60))]);
        assert_eq!(times.for_work[&keys[1]].0, [(at(20), at(30))]);
        assert_eq!(times.waited[&keys[0]].0, [(at(10), at(20)), (at(30), at(60))]);
        assert!(!times.waited.contains_key(&keys[2]));
    }
}
