//! The course of a run: who was critical when, its phases, and its worst second.
//!
//! The run is cut into slices of equal length. In each the criticalities of the threads (paper 4, Eq. 1) and the
//! time with nobody active add up to its length, as they do over the whole run. Neighbouring slices in which the
//! run is alike make a phase.

mod phases;

use std::cmp::Reverse;

use holdup_model::{Course, Fixed, Gained, Nanos, Process, ThreadId, Time, Timeline, from_fixed};
use phases::phases;

use crate::sweep::Changes;
use crate::{OverTime, Phase, Slice};

/// How many threads a slice or a phase lists.
pub const MOST_THREADS_OF_A_PHASE: usize = 8;

/// Into how many slices a run is cut.
const SLICES: u64 = 200;

/// The shortest slice: what is shorter is a matter of the scheduler.
const SHORTEST_SLICE: u64 = 10_000_000;

const SECOND: u64 = 1_000_000_000;

/// No worst second is told of runs that are longer than this, 11 days: no program is, but a damaged recording may say so.
const LONGEST_FOR_WORST: u64 = MOST_STEPS * SECOND;

/// A worst second is told of runs of at least this length.
const LEAST_FOR_WORST: u64 = 2 * SECOND;

/// The second with the lowest parallelism begins at a multiple of this.
const STEP: u64 = SECOND / 50;

/// At most so many steps are looked at; for runs of more than some hours they become longer.
const MOST_STEPS: u64 = 1_000_000;

/// What happened between two times.
#[derive(Clone, Debug)]
struct Part {
    start: Time,
    end: Time,
    /// ∫ r dt (ns).
    busy: u128,
    /// Time with nobody active (ns).
    nobody: u64,
    /// Criticality of the threads that were active, by thread.
    threads: Vec<(ThreadId, Fixed)>,
}

impl Part {
    fn parallelism(&self) -> f64 {
        self.busy as f64 / self.end.since(self.start).get().max(1) as f64
    }

    fn most_critical(&self) -> Vec<(ThreadId, f64)> {
        let mut threads = self.threads.clone();
        threads.sort_unstable_by_key(|&(thread, critical)| (Reverse(critical), thread));
        threads.truncate(MOST_THREADS_OF_A_PHASE);
        threads.into_iter().map(|(thread, critical)| (thread, from_fixed(critical))).collect()
    }

    fn slice(&self) -> Slice {
        Slice {
            start: self.start,
            parallelism: self.parallelism(),
            threads: self.most_critical(),
            nobody: self.nobody as f64,
        }
    }

    fn phase(&self) -> Phase {
        Phase {
            start: self.start,
            end: self.end,
            parallelism: self.parallelism(),
            threads: self.most_critical(),
            nobody: self.nobody as f64,
        }
    }
}

/// The course of a run. One pass over its changes for the slices, and two for the worst second.
pub(crate) fn over_time(process: &Process, timeline: &Timeline) -> OverTime {
    let wall = timeline.wall().get();
    let slice = wall.div_ceil(SLICES).max(SHORTEST_SLICE);
    let ends: Vec<Time> = (1..=wall.div_ceil(slice))
        .map(|number| timeline.start + Nanos::new(number.saturating_mul(slice).min(wall)))
        .collect();
    let parts = cut(timeline, &ends);
    OverTime {
        slice: Nanos::new(slice),
        slices: parts.iter().map(Part::slice).collect(),
        phases: phases(process, &parts).iter().map(Part::phase).collect(),
        worst: (LEAST_FOR_WORST..LONGEST_FOR_WORST)
            .contains(&wall)
            .then(|| worst(timeline))
            .flatten()
            .as_ref()
            .map(Part::phase),
    }
}

/// Cuts a run at each of `ends`, which must be in order of time; the first part begins with the run.
fn cut(timeline: &Timeline, ends: &[Time]) -> Vec<Part> {
    let mut cutting = Cutting {
        course: Course::new(timeline.start.nanos()),
        threads: vec![Gained::default(); timeline.threads.len()],
        start: timeline.start,
        busy: 0,
        nobody: 0,
    };
    let mut parts = Vec::with_capacity(ends.len());
    let mut changes = Changes::new(timeline);
    for &end in ends {
        while changes.peek().is_some_and(|time| time <= end) {
            let Some(change) = changes.next() else { break };
            if let Some(is_active) = change.activity() {
                cutting.advance(change.time);
                cutting.threads[change.thread.index()].set_active(&mut cutting.course, is_active);
            }
        }
        cutting.advance(end);
        parts.push(cutting.part());
    }
    parts
}

/// A pass over the changes of a run.
struct Cutting {
    course: Course,
    /// By thread: what it gained in this part.
    threads: Vec<Gained>,
    start: Time,
    busy: u128,
    nobody: u64,
}

impl Cutting {
    fn advance(&mut self, time: Time) {
        let length = self.course.advance(time.nanos());
        match self.course.active() {
            0 => self.nobody += length,
            active => self.busy += u128::from(active) * u128::from(length),
        }
    }

    fn part(&mut self) -> Part {
        let mut threads = Vec::new();
        for (index, gained) in self.threads.iter_mut().enumerate() {
            let own = gained.take(&self.course);
            if own > 0 {
                threads.push((ThreadId::new(index as u32), own));
            }
        }
        let at = Time::from_nanos(self.course.at());
        Part {
            start: std::mem::replace(&mut self.start, at),
            end: at,
            busy: std::mem::take(&mut self.busy),
            nobody: std::mem::take(&mut self.nobody),
            threads,
        }
    }
}

/// The second in which the fewest threads were active on average; of several the first.
fn worst(timeline: &Timeline) -> Option<Part> {
    let wall = timeline.wall().get();
    let step = STEP.max(wall.div_ceil(MOST_STEPS)).min(SECOND);
    let count = SECOND / step;
    let busy = busy_by_step(timeline, step);
    let whole = (wall / step) as usize;
    let mut sum: u128 = busy.iter().take(count as usize).sum();
    let mut least = (sum, 0);
    for end in count as usize..whole {
        sum = sum + busy[end] - busy[end - count as usize];
        least = least.min((sum, end + 1 - count as usize));
    }
    let start = timeline.start + Nanos::new(least.1 as u64 * step);
    let end = start + Nanos::new(count * step);
    cut(timeline, &[start, end]).pop()
}

/// ∫ r dt (ns) over each `step` of the run.
fn busy_by_step(timeline: &Timeline, step: u64) -> Vec<u128> {
    let mut busy = vec![0u128; timeline.wall().get().div_ceil(step) as usize];
    for segment in timeline.threads.iter().flat_map(|row| &row.segments) {
        if !segment.state.is_active() {
            continue;
        }
        let (mut from, to) =
            (segment.start.since(timeline.start).get(), segment.end.since(timeline.start).get());
        while from < to {
            let index = from / step;
            let until = ((index + 1) * step).min(to);
            busy[index as usize] += u128::from(until - from);
            from = until;
        }
    }
    busy
}
