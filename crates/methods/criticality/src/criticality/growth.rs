//! V = ∫ dt / r at any moment: what the criticality of a thread grows by over any part of its active time.

use holdup_model::{Time, Timeline};

use super::{Fixed, share};
use crate::sweep::Changes;

/// V(t) = ∫ dt / r(t) over the time in which r > 0 threads are active.
pub(crate) struct Growth {
    /// From each of these times on, until the next: V there, and r.
    steps: Vec<(Time, Fixed, u32)>,
}

impl Growth {
    pub(crate) fn of(timeline: &Timeline) -> Self {
        let mut steps: Vec<(Time, Fixed, u32)> = vec![(timeline.start, 0, 0)];
        let (mut v, mut at, mut running) = (0, timeline.start, 0u32);
        for change in Changes::new(timeline) {
            let was = change.before.is_some_and(|segment| segment.state.is_active());
            let is = change.after.is_some_and(|segment| segment.state.is_active());
            if was == is {
                continue;
            }
            v += grown(at, change.time, running);
            at = change.time;
            running = if is { running + 1 } else { running - 1 };
            match steps.last_mut().filter(|last| last.0 == at) {
                Some(last) => *last = (at, v, running),
                None => steps.push((at, v, running)),
            }
        }
        Self { steps }
    }

    /// V(`end`) − V(`start`).
    pub(crate) fn between(&self, start: Time, end: Time) -> Fixed {
        self.at(end) - self.at(start)
    }

    fn at(&self, time: Time) -> Fixed {
        let after = self.steps.partition_point(|step| step.0 <= time);
        let Some(&(from, v, running)) = after.checked_sub(1).and_then(|index| self.steps.get(index)) else {
            return 0;
        };
        v + grown(from, time, running)
    }
}

fn grown(from: Time, to: Time, running: u32) -> Fixed {
    if running == 0 { 0 } else { share(to.since(from).get(), running) }
}
