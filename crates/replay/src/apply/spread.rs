//! What threads do alone, done by several.

use holdup_model::{ThreadId, Timeline};

use super::Recorded;
use super::balance::scale;
use crate::program::Program;

/// Divides the work that these threads did while nobody else was active.
pub(super) fn spread(program: &mut Program, recorded: Recorded<'_>, threads: &[ThreadId], over: f64) {
    let alone = alone(recorded.timeline);
    for &thread in threads {
        let spans = &alone[thread.index()];
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

/// For each thread, the spans (ns from the start) in which it alone was active.
fn alone(timeline: &Timeline) -> Vec<Vec<(u64, u64)>> {
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
