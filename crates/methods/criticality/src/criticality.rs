//! Thread criticality: how much each thread's progress decides that of the program.
//!
//! Source: Du Bois, Eyerman, Sartor, Eeckhout, ISCA'13, sections 2 and 3 (`papers/4-criticality-stacks.txt`).
//!
//! Both forms keep sums as integers in units of 2^-64 ns: integer sums do not depend on the order of threads or
//! of intervals, and a sum of ten million shares is as exact as one. The only rounding is that of 1/r to 64
//! binary digits, which is below r · 2^-64 of the time together.

mod growth;
mod online;

use holdup_model::{State, ThreadId, Time, Timeline};

pub(crate) use growth::Growth;
pub use online::OnlineCriticality;

use crate::sweep::Changes;
use crate::{Criticality, NobodyCause};

/// Binary digits after the point in [`Fixed`].
const FRACTION_BITS: u32 = 64;

/// Nanoseconds in units of 2^-64 ns.
pub(crate) type Fixed = u128;

/// t / r. Intervals are shorter than 2^64 ns, so it fits.
pub(crate) fn share(nanos: u64, running: u32) -> Fixed {
    u128::from(nanos) * ((1u128 << FRACTION_BITS) / u128::from(running))
}

pub(crate) fn to_nanos(fixed: Fixed) -> f64 {
    fixed as f64 / (1u128 << FRACTION_BITS) as f64
}

/// What put an end to the inactivity of a thread that is active now and was in `before`.
pub(crate) fn cause_of_activity(before: Option<State>) -> NobodyCause {
    match before {
        Some(State::Io) => NobodyCause::Io,
        Some(State::Asleep) => NobodyCause::Sleep,
        Some(State::Waking) => NobodyCause::WakeUp,
        Some(State::Descheduled) => NobodyCause::RunQueue,
        _ => NobodyCause::Other,
    }
}

/// Criticality from a whole timeline, as in Eq. 1: the run is divided into intervals in which no thread changes
/// its state, and each of the r active threads of an interval of length t gets t / r.
pub fn offline_criticality(timeline: &Timeline) -> Criticality {
    let mut changes: Vec<(Time, ThreadId, bool, NobodyCause)> = Vec::new();
    for (index, row) in timeline.threads.iter().enumerate() {
        let thread = ThreadId::new(index as u32);
        let mut before = None;
        for segment in &row.segments {
            if segment.state.is_active() {
                changes.push((segment.start, thread, true, cause_of_activity(before)));
                changes.push((segment.end, thread, false, NobodyCause::Other));
            }
            before = Some(segment.state);
        }
    }
    // At one time and thread, the end of a segment comes before the start of the next.
    changes.sort_unstable();
    let mut threads: Vec<Fixed> = vec![0; timeline.threads.len()];
    let mut nobody = [0u64; NobodyCause::ALL.len()];
    let mut active: Vec<ThreadId> = Vec::new();
    let mut at = timeline.start;
    for same_time in changes.chunk_by(|a, b| a.0 == b.0) {
        let time = same_time[0].0;
        let length = time.since(at).get();
        if active.is_empty() {
            let ended_by = same_time.iter().filter(|change| change.2).map(|change| change.3).min();
            nobody[ended_by.unwrap_or(NobodyCause::Other) as usize] += length;
        } else {
            let part = share(length, active.len() as u32);
            for thread in &active {
                threads[thread.index()] += part;
            }
        }
        at = time;
        for &(_, thread, starts, _) in same_time {
            match (active.binary_search(&thread), starts) {
                (Err(place), true) => active.insert(place, thread),
                (Ok(place), false) => {
                    active.remove(place);
                }
                _ => {}
            }
        }
    }
    nobody[NobodyCause::Other as usize] += timeline.end.since(at).get();
    result(timeline, &threads, &nobody)
}

/// Criticality by [`OnlineCriticality`], fed with the changes of a timeline.
pub fn criticality(timeline: &Timeline) -> Criticality {
    let mut online = OnlineCriticality::new(timeline.start);
    for change in Changes::new(timeline) {
        let was_active = change.before.is_some_and(|segment| segment.state.is_active());
        let is_active = change.after.is_some_and(|segment| segment.state.is_active());
        match (was_active, is_active) {
            (false, true) => {
                let cause = cause_of_activity(change.before.map(|segment| segment.state));
                online.activate(change.thread, change.time, cause);
            }
            (true, false) => online.deactivate(change.thread, change.time),
            _ => {}
        }
    }
    online.finish(timeline.end, timeline.threads.len())
}

fn result(timeline: &Timeline, threads: &[Fixed], nobody: &[u64]) -> Criticality {
    Criticality {
        total: timeline.wall(),
        threads: threads.iter().map(|&sum| to_nanos(sum)).collect(),
        nobody: named(nobody),
    }
}

fn named(nobody: &[u64]) -> Vec<(NobodyCause, f64)> {
    NobodyCause::ALL
        .into_iter()
        .zip(nobody)
        .filter(|(_, amount)| **amount > 0)
        .map(|(cause, &amount)| (cause, amount as f64))
        .collect()
}
