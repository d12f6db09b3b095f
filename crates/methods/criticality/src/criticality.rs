//! Thread criticality: how much each thread's progress decides that of the program.
//!
//! Source: Du Bois, Eyerman, Sartor, Eeckhout, ISCA'13, sections 2 and 3 (`papers/4-criticality-stacks.txt`).
//! All sums are of [`Course`](holdup_model::Course)s.

mod growth;
mod online;

use holdup_model::{State, Timeline};

pub(crate) use growth::Growth;
pub use online::OnlineCriticality;

use crate::sweep::Changes;
use crate::{Criticality, NobodyCause};

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

/// Criticality by [`OnlineCriticality`], fed with the changes of a timeline.
pub fn criticality(timeline: &Timeline) -> Criticality {
    let [on_core] = summed(timeline, [State::is_active]);
    on_core
}

/// The same, and with threads that are able to run but have no core counted as those that have one.
pub(crate) fn on_core_and_runnable(timeline: &Timeline) -> [Criticality; 2] {
    summed(timeline, [State::is_active, State::is_able_to_run])
}

/// Criticality for each meaning of *active*.
fn summed<const N: usize>(timeline: &Timeline, meanings: [fn(State) -> bool; N]) -> [Criticality; N] {
    let mut sums = meanings.map(|counts| (counts, OnlineCriticality::new(timeline.start)));
    for change in Changes::new(timeline) {
        for (counts, online) in &mut sums {
            match change.begins(*counts) {
                Some(true) => {
                    let cause = cause_of_activity(change.before.map(|segment| segment.state));
                    online.activate(change.thread, change.time, cause);
                }
                Some(false) => online.deactivate(change.thread, change.time),
                None => {}
            }
        }
    }
    sums.map(|(_, online)| online.finish(timeline.end, timeline.threads.len()))
}

fn named(nobody: &[u64]) -> Vec<(NobodyCause, f64)> {
    NobodyCause::ALL
        .into_iter()
        .zip(nobody)
        .filter(|(_, amount)| **amount > 0)
        .map(|(cause, &amount)| (cause, amount as f64))
        .collect()
}
