//! A thread's time with the call stacks that were seen in it.
//!
//! A timeline says in which state a thread is; the samples of running threads say where in the code. A sample stands for
//! the active time just before it, back to the sample before, at most [`Sample::reach`] of it: as in the diagnosis, so
//! that the sums agree with its hot spots. What no sample stands for is kept, without a stack: all pieces together are
//! the thread's life.

use holdup_model::{
    Doing, Nanos, ObjectId, Process, Row, Sample, Segment, Site, SiteId, State, ThreadId, Time,
};

/// A part of a thread's time: a segment, or a part of an active one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) start: Time,
    pub(crate) end: Time,
    pub(crate) state: State,
    /// What it waits for, as in [`Segment::object`].
    pub(crate) object: Option<ObjectId>,
    /// Where in the code: of active time as a sample saw it, else where the thread waits.
    pub(crate) stack: Option<SiteId>,
    /// CPU time, where it is known.
    pub(crate) cpu: Option<Nanos>,
}

impl Piece {
    pub(crate) fn length(&self) -> Nanos {
        self.end.since(self.start)
    }
}

/// The samples of a process that stand for active time.
pub(crate) struct Samples {
    /// By thread, then time.
    samples: Vec<Sample>,
    /// Those of each thread.
    of_thread: Vec<std::ops::Range<usize>>,
    /// By site: a running thread with this stack works, and it is known where.
    works: Vec<bool>,
}

impl Samples {
    pub(crate) fn of(process: &Process) -> Samples {
        let mut samples: Vec<Sample> =
            process.samples.iter().filter(|sample| sample.doing == Doing::Running).copied().collect();
        samples.sort_unstable_by_key(|sample| (sample.thread, sample.time, sample.site, sample.weight));
        let end_of = |thread: usize| samples.partition_point(|sample| sample.thread.index() < thread);
        let of_thread = (0..process.threads.len()).map(|thread| end_of(thread)..end_of(thread + 1)).collect();
        let works = |site: &Site| !site.frames.is_empty() && !site.waits_on_a_core();
        let works = if samples.is_empty() { Vec::new() } else { process.sites.iter().map(works).collect() };
        Samples { samples, of_thread, works }
    }

    /// The thread's time in order.
    pub(crate) fn pieces<'a>(&self, thread: ThreadId, row: &'a Row) -> Pieces<'a> {
        Pieces {
            segments: row.segments.iter(),
            seen: self.seen(thread, row).into_iter().peekable(),
            rest: None,
        }
    }

    /// What each sample stands for: times that do not overlap, in order.
    fn seen(&self, thread: ThreadId, row: &Row) -> Vec<Seen> {
        let mut seen = Vec::new();
        let mut since = row.start;
        for sample in &self.samples[self.of_thread[thread.index()].clone()] {
            let before = since;
            since = since.max(sample.time);
            let Some(site) = sample.site else { continue };
            if !self.works[site.index()] {
                continue;
            }
            if let Some(from) = reaches_back_to(row, before, sample) {
                seen.push(Seen { from, until: sample.time.min(row.end), site });
            }
        }
        seen
    }
}

/// What one sample stands for: the active time within.
struct Seen {
    from: Time,
    until: Time,
    site: SiteId,
}

/// Where the active time in (`since`, the sample's time] begins, of which the sample stands for the last part; `None` if
/// there is none.
fn reaches_back_to(row: &Row, since: Time, sample: &Sample) -> Option<Time> {
    let reach = sample.reach();
    let after = row.segments.partition_point(|segment| segment.start < sample.time);
    let (mut active, mut from) = (Nanos::ZERO, None);
    for segment in row.segments[..after].iter().rev() {
        if segment.end <= since || active >= reach {
            break;
        }
        if segment.state == State::Active {
            let end = segment.end.min(sample.time);
            let length = end.since(segment.start.max(since)).min(reach - active);
            active += length;
            from = Some(Time::from_nanos(end.nanos() - length.get()));
        }
    }
    from.filter(|_| active > Nanos::ZERO)
}

/// The pieces of one thread in order of time; they abut.
pub(crate) struct Pieces<'a> {
    segments: std::slice::Iter<'a, Segment>,
    seen: std::iter::Peekable<std::vec::IntoIter<Seen>>,
    /// What is left of an active segment.
    rest: Option<(&'a Segment, Time)>,
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let (segment, start) = match self.rest.take() {
            Some(rest) => rest,
            None => {
                let segment = self.segments.next()?;
                (segment, segment.start)
            }
        };
        if segment.state != State::Active {
            let stack = if segment.state == State::Descheduled { None } else { segment.site };
            return Some(piece(segment, start, segment.end, stack));
        }
        while self.seen.peek().is_some_and(|seen| seen.until <= start) {
            self.seen.next();
        }
        let (end, stack) = match self.seen.peek() {
            Some(seen) if seen.from <= start => (seen.until.min(segment.end), Some(seen.site)),
            Some(seen) => (seen.from.min(segment.end), None),
            None => (segment.end, None),
        };
        self.rest = (end < segment.end).then_some((segment, end));
        Some(piece(segment, start, end, stack))
    }
}

fn piece(segment: &Segment, start: Time, end: Time, stack: Option<SiteId>) -> Piece {
    // A part of a segment has its share of the CPU time, such that the parts add up.
    let share = |until: Time, cpu: Nanos| {
        let part = u128::from(until.since(segment.start).get()) * u128::from(cpu.get());
        (part / u128::from(segment.length().get().max(1))) as u64
    };
    Piece {
        start,
        end,
        state: segment.state,
        object: segment.object,
        stack,
        cpu: segment.cpu.map(|cpu| Nanos::new(share(end, cpu) - share(start, cpu))),
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::{Frame, Timeline};
    use holdup_testkit::any_process;
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn samples_stand_for_the_time_before_them() {
        let mut process = Process::new(at(0), at(1_000));
        let thread = process.add_thread("main", at(0), None);
        let frame = Frame { function: Some("work".to_owned()), ..Frame::default() };
        let site = process.add_site(Site { frames: vec![frame], ..Site::default() });
        for (time, weight) in [(100, 10), (300, 100)] {
            process.samples.push(Sample {
                thread,
                time: at(time),
                doing: Doing::Running,
                site: Some(site),
                weight: Nanos::new(weight),
                access: None,
                in_kernel: None,
            });
        }
        let timeline = Timeline::build(&process);
        let pieces = Samples::of(&process).pieces(thread, timeline.row(thread));
        let found: Vec<_> =
            pieces.map(|piece| (piece.start.nanos(), piece.end.nanos(), piece.stack.is_some())).collect();
        // The first sample reaches back 8 × 10 ns.
        assert_eq!(found, [(0, 20, false), (20, 100, true), (100, 300, true), (300, 1_000, false)]);
    }

    proptest! {
        #[test]
        fn pieces_are_the_segments(process in any_process()) {
            let timeline = Timeline::build(&process);
            let samples = Samples::of(&process);
            for (index, row) in timeline.threads.iter().enumerate() {
                let pieces: Vec<Piece> = samples.pieces(ThreadId::new(index as u32), row).collect();
                let mut time = row.start;
                for piece in &pieces {
                    prop_assert_eq!(piece.start, time);
                    prop_assert!(piece.end > piece.start);
                    time = piece.end;
                }
                prop_assert_eq!(time, row.end);
                for segment in &row.segments {
                    let inside = pieces.iter().filter(|p| p.start >= segment.start && p.end <= segment.end);
                    let cpu: Option<Nanos> = inside.clone().map(|piece| piece.cpu).sum();
                    let same = |piece: &Piece| piece.state == segment.state && piece.object == segment.object;
                    prop_assert!(inside.clone().all(same));
                    prop_assert_eq!(inside.map(Piece::length).sum::<Nanos>(), segment.length());
                    prop_assert_eq!(cpu, segment.cpu);
                }
            }
        }
    }
}
