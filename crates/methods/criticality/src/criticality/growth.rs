//! V = ∫ dt / r at any moment: what the criticality of a thread grows by over any part of its active time.

use holdup_model::{Course, Fixed, Time, Timeline};

use crate::sweep::Changes;

/// V(t) = ∫ dt / r(t) over the time in which r > 0 threads are active.
pub(crate) struct Growth {
    /// As it was from each change on, until the next.
    steps: Vec<Course>,
}

impl Growth {
    pub(crate) fn of(timeline: &Timeline) -> Self {
        let mut course = Course::new(timeline.start.nanos());
        let mut steps = vec![course];
        for change in Changes::new(timeline) {
            let Some(is_active) = change.activity() else { continue };
            course.advance(change.time.nanos());
            course.change(is_active);
            match steps.last_mut().filter(|last| last.at() == course.at()) {
                Some(last) => *last = course,
                None => steps.push(course),
            }
        }
        Self { steps }
    }

    /// V(`end`) − V(`start`).
    pub(crate) fn between(&self, start: Time, end: Time) -> Fixed {
        self.at(end.nanos()) - self.at(start.nanos())
    }

    fn at(&self, time: u64) -> Fixed {
        let after = self.steps.partition_point(|step| step.at() <= time);
        let before = after.checked_sub(1).and_then(|index| self.steps.get(index));
        before.map_or(0, |step| step.v_at(time))
    }
}
