//! Spinning without a core: a thread that lost its core in a loop that waits, and was still there when it got one
//! again, has waited in between. A core would not have helped it.

use crate::sides::{Side, sides};
use crate::{Doing, Nanos, Process, Segment, State, Time, Timeline};

/// What a thread does on a core for less than this between two times of spinning may be a round of a loop that gives its
/// core away (`sched_yield`): too short to be sampled.
const SHORTEST_WORK: Nanos = Nanos::new(50_000);

/// Turns times between two times of spinning into spinning: those without a core, and those of which it is not known
/// whether the thread had one, where no look at it says that it worked. Work in a share of a parallel region or in a task is
/// no round of a loop around it.
pub(crate) fn spinning_goes_on(process: &Process, timeline: &mut Timeline) {
    let is_spinning = |segment: &Segment| segment.state == State::Spinning;
    if !timeline.threads.iter().flat_map(|row| &row.segments).any(is_spinning) {
        return;
    }
    let mut sides = sides(process);
    sides.resize_with(timeline.threads.len(), Vec::new);
    let mut looks: Vec<Vec<Time>> = vec![Vec::new(); timeline.threads.len()];
    for sample in process.samples.iter().filter(|sample| sample.doing == Doing::Running) {
        looks[sample.thread.index()].push(sample.time);
    }
    for ((row, looks), sides) in timeline.threads.iter_mut().zip(&mut looks).zip(&sides) {
        looks.sort_unstable();
        // The last segment in which the thread spun, while nothing else has followed.
        let mut spun: Option<usize> = None;
        for index in 0..row.segments.len() {
            let segment = &row.segments[index];
            match segment.state {
                State::Spinning if segment.object.is_none() => {
                    if let Some(before) = spun {
                        let site = row.segments[before].site;
                        for between in &mut row.segments[before + 1..index] {
                            *between = Segment { state: State::Spinning, site, ..between.clone() };
                        }
                    }
                    spun = Some(index);
                }
                State::Descheduled => {}
                State::Active
                    if is_unknown(process, segment)
                        && !is_seen(looks, segment)
                        && !spun
                            .is_some_and(|spun| goes_over(sides, row.segments[spun].end, segment.end)) => {}
                _ => spun = None,
            }
        }
    }
}

/// True if the segment may have been a part of the loop, as far as is known.
fn is_unknown(process: &Process, segment: &Segment) -> bool {
    segment.length() < SHORTEST_WORK || !is_recorded(process, segment)
}

/// True if the kernel's records tell of a part of the segment.
fn is_recorded(process: &Process, segment: &Segment) -> bool {
    let after = process.covered.partition_point(|covered| covered.1 <= segment.start);
    process.covered.get(after).is_some_and(|covered| covered.0 < segment.end)
}

/// True if the thread goes over to another side at `from` or later, before `until`.
fn goes_over(sides: &[(Time, Side)], from: Time, until: Time) -> bool {
    let next = sides.partition_point(|change| change.0 < from);
    sides.get(next).is_some_and(|change| change.0 < until)
}

/// True if the thread was looked at in the segment.
fn is_seen(looks: &[Time], segment: &Segment) -> bool {
    let after = looks.partition_point(|&look| look <= segment.start);
    looks.get(after).is_some_and(|&look| look <= segment.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Row, Sample, ThreadId};

    const LENGTH: u64 = 1_000_000;

    fn states_after(process: &Process, states: &[State]) -> Vec<State> {
        let segments = states.iter().zip(0..).map(|(&state, start)| {
            let (start, end) = (Time::from_nanos(start * LENGTH), Time::from_nanos((start + 1) * LENGTH));
            Segment { start, end, state, object: None, site: None, by: None, cpu: None }
        });
        let end = Time::from_nanos(states.len() as u64 * LENGTH);
        let row = Row { start: Time::default(), end, segments: segments.collect() };
        let mut timeline = Timeline { end, threads: vec![row], ..Timeline::default() };
        spinning_goes_on(process, &mut timeline);
        timeline.threads[0].segments.iter().map(|segment| segment.state).collect()
    }

    #[test]
    fn only_what_lies_between_two_spins_is_one() {
        use State::{Active, Descheduled, Spinning};
        let process = Process {
            covered: vec![(Time::default(), Time::from_nanos(100 * LENGTH))],
            ..Process::default()
        };
        let states =
            [Descheduled, Spinning, Descheduled, Descheduled, Spinning, Descheduled, Active, Spinning];
        let expected = [Descheduled, Spinning, Spinning, Spinning, Spinning, Descheduled, Active, Spinning];
        assert_eq!(states_after(&process, &states), expected);
    }

    #[test]
    fn without_records_it_is_work_only_if_it_was_seen() {
        use State::{Active, Spinning};
        let mut process = Process::default();
        let (thread, doing, weight) = (ThreadId::new(0), Doing::Running, Nanos::new(1));
        process.samples.push(Sample {
            thread,
            time: Time::from_nanos(4 * LENGTH),
            doing,
            site: None,
            weight,
        });
        let states = [Spinning, Active, Spinning, Active, Spinning, Active];
        assert_eq!(states_after(&process, &states), [Spinning, Spinning, Spinning, Active, Spinning, Active]);
    }
}
