//! What threads do alone, done by several.

use std::collections::BTreeSet;

use holdup_model::{Ends, Segment, State, Stretch, ThreadId, Timeline};

use super::Recorded;
use super::balance::scale;
use crate::program::Program;

/// Divides the work that these threads did while nobody else was active, or of that what is in stretches with these ends.
pub(super) fn spread(
    program: &mut Program,
    recorded: &Recorded<'_>,
    threads: &[ThreadId],
    within: Option<&[Ends]>,
    over: f64,
) {
    let ends: Option<BTreeSet<Ends>> = within.map(|ends| ends.iter().copied().collect());
    for &thread in threads {
        let alone = &recorded.alone()[thread.index()];
        let parts = ends
            .as_ref()
            .map(|ends| parts_in(alone, &recorded.stretches()[thread.index()], ends, recorded.timeline));
        let spans = parts.as_ref().unwrap_or(alone);
        let start = recorded.timeline.row(thread).start.since(recorded.timeline.start).get();
        let (mut from, mut next) = (start, 0);
        let steps = program.steps_of(thread);
        let mut first = steps.start;
        while first < steps.end {
            // Steps of one moment are one piece: holds that were only counted.
            let time = program.times[first];
            let same = program.times[first..steps.end].iter().take_while(|other| **other == time);
            let last = first + same.count() - 1;
            let until = time.max(from);
            while spans.get(next).is_some_and(|span| span.1 <= from) {
                next += 1;
            }
            let inside: u64 = spans[next..]
                .iter()
                .take_while(|span| span.0 < until)
                .map(|span| span.1.min(until) - span.0.max(from))
                .sum();
            let work: u64 = program.steps[first..=last].iter().map(|step| step.work).sum();
            let inside = inside.min(work);
            scale(program, first, last, work, work - inside + (inside as f64 / over).round() as u64);
            (from, first) = (until, last + 1);
        }
    }
}

/// Threads that start and end apart from each other leave less than the rest of the cores' time unused where work is shared out:
/// where more of it is unused, something else is the cause, which says nothing about other work.
const LEAST_EFFICIENCY: f64 = 0.9;

/// How much of so many cores the program keeps busy where it shares work out: while none of these threads is alone. Who waits
/// for a core or a lock works as well; who waits for the others to come or to end, or does not run yet, does not. All of them
/// where that is not known.
pub(crate) fn efficiency(recorded: &Recorded<'_>, threads: &[ThreadId], cores: u32) -> f64 {
    let objects = &recorded.process.objects;
    let is_lock =
        |segment: &Segment| segment.object.is_some_and(|object| objects[object.index()].kind.is_lock());
    let works = |segment: &Segment| match segment.state {
        State::Active | State::Descheduled => true,
        State::Blocked | State::Spinning => is_lock(segment),
        State::Waking | State::Io | State::Asleep | State::NotRecorded => false,
    };
    let start = recorded.timeline.start;
    // When, and how many more work, or are alone, from then on.
    let mut changes: Vec<(u64, i64, i64)> = Vec::new();
    for segment in recorded.timeline.threads.iter().flat_map(|row| &row.segments).filter(|one| works(one)) {
        changes.push((segment.start.since(start).get(), 1, 0));
        changes.push((segment.end.since(start).get(), -1, 0));
    }
    for &(from, to) in threads.iter().flat_map(|thread| &recorded.alone()[thread.index()]) {
        changes.push((from, 0, 1));
        changes.push((to, 0, -1));
    }
    changes.sort_unstable();
    let (mut working, mut are_alone, mut since) = (0, 0, 0);
    let (mut used, mut all) = (0, 0);
    for (time, more, more_alone) in changes {
        // Where nobody works, nothing is shared out.
        if are_alone == 0 && working > 0 {
            used += (time - since) * (working as u64).min(u64::from(cores));
            all += (time - since) * u64::from(cores);
        }
        working += more;
        are_alone += more_alone;
        since = time;
    }
    let efficiency = used as f64 / (all as f64).max(1.0);
    if efficiency < LEAST_EFFICIENCY { 1.0 } else { efficiency }
}

/// The parts of spans that lie in a thread's stretches with these ends.
fn parts_in(
    spans: &[(u64, u64)],
    all: &[Stretch],
    ends: &BTreeSet<Ends>,
    timeline: &Timeline,
) -> Vec<(u64, u64)> {
    let mut parts = Vec::new();
    let mut next = 0;
    for &(from, to) in spans {
        let mut since = from;
        while since < to {
            while all.get(next).is_some_and(|one| one.until.since(timeline.start).get() <= since) {
                next += 1;
            }
            let Some(stretch) = all.get(next) else { break };
            let until = stretch.until.since(timeline.start).get().min(to);
            if ends.contains(&stretch.ends) {
                parts.push((since, until));
            }
            since = until;
        }
    }
    parts
}

/// For each thread, the spans (ns from the start) in which it alone was active.
pub(super) fn alone(timeline: &Timeline) -> Vec<Vec<(u64, u64)>> {
    let mut changes: Vec<(u64, bool, usize)> = Vec::new();
    for (index, row) in timeline.threads.iter().enumerate() {
        for segment in row.segments.iter().filter(|segment| segment.state.is_active()) {
            changes.push((segment.start.since(timeline.start).get(), true, index));
            changes.push((segment.end.since(timeline.start).get(), false, index));
        }
    }
    changes.sort_unstable();
    let mut spans = vec![Vec::new(); timeline.threads.len()];
    // The sum of the numbers of the active threads is the number of the only one.
    let (mut active, mut sum, mut since) = (0u32, 0, 0);
    for (time, begins, index) in changes {
        if active == 1 && time > since {
            spans[sum].push((since, time));
        }
        if begins {
            active += 1;
            sum += index;
        } else {
            active -= 1;
            sum -= index;
        }
        since = time;
    }
    spans
}
