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
    let mut online = OnlineCriticality::new(timeline.start);
    for change in Changes::new(timeline) {
        match change.activity() {
            Some(true) => {
                let cause = cause_of_activity(change.before.map(|segment| segment.state));
                online.activate(change.thread, change.time, cause);
            }
            Some(false) => online.deactivate(change.thread, change.time),
            None => {}
        }
    }
    online.finish(timeline.end, timeline.threads.len())
}

fn named(nobody: &[u64]) -> Vec<(NobodyCause, f64)> {
    NobodyCause::ALL
        .into_iter()
        .zip(nobody)
        .filter(|(_, amount)| **amount > 0)
        .map(|(cause, &amount)| (cause, amount as f64))
        .collect()
}
