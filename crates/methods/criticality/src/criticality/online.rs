//! Criticality while the program runs, in constant time for each change, whatever the number of threads.

use holdup_model::{Course, Gained, ThreadId, Time, from_fixed};

use super::named;
use crate::{Criticality, NobodyCause};

/// The criticality of each thread so far.
///
/// Instead of a counter for each thread that is added to at each change, as the paper's hardware does it
/// (section 3.2), it keeps a [`Course`], so that a change costs one subtraction for the one thread concerned.
#[derive(Clone, Debug)]
pub struct OnlineCriticality {
    start: Time,
    course: Course,
    threads: Vec<Gained>,
    nobody: [u64; NobodyCause::ALL.len()],
    /// A time with nobody active that ended at the last change, with its cause: others may become active at the same time,
    /// and the cause must not depend on which of them is told first.
    ended: Option<(u64, NobodyCause)>,
}

impl OnlineCriticality {
    /// Nobody is active at `start`.
    pub fn new(start: Time) -> Self {
        Self {
            start,
            course: Course::new(start.nanos()),
            threads: Vec::new(),
            nobody: [0; NobodyCause::ALL.len()],
            ended: None,
        }
    }

    /// `thread` becomes active. `cause` tells what it did before: it says what ended a time in which nobody was
    /// active. Times must not decrease from call to call; one that does counts as the last.
    pub fn activate(&mut self, thread: ThreadId, time: Time, cause: NobodyCause) {
        self.advance(time, Some(cause));
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, Gained::default());
        }
        self.threads[thread.index()].set_active(&mut self.course, true);
    }

    /// `thread` is no longer active.
    pub fn deactivate(&mut self, thread: ThreadId, time: Time) {
        self.advance(time, None);
        if let Some(gained) = self.threads.get_mut(thread.index()) {
            gained.set_active(&mut self.course, false);
        }
    }

    /// The criticality of `thread` from the start until now (ns).
    pub fn so_far(&self, thread: ThreadId) -> f64 {
        self.threads.get(thread.index()).map_or(0.0, |gained| from_fixed(gained.so_far(&self.course)))
    }

    /// The whole answer for a run with `threads` threads that ended at `time`.
    pub fn finish(mut self, time: Time, threads: usize) -> Criticality {
        self.advance(time, None);
        self.settle();
        self.threads.resize(threads, Gained::default());
        let all = (0..threads).map(|index| self.so_far(ThreadId::new(index as u32))).collect();
        Criticality {
            total: Time::from_nanos(self.course.at()).since(self.start),
            threads: all,
            nobody: named(&self.nobody),
        }
    }

    fn advance(&mut self, time: Time, activity: Option<NobodyCause>) {
        let length = self.course.advance(time.nanos());
        if length > 0 {
            self.settle();
            if self.course.active() == 0 {
                self.ended = Some((length, NobodyCause::Other));
            }
        }
        if let (Some((_, cause)), Some(found)) = (&mut self.ended, activity) {
            *cause = if *cause == NobodyCause::Other { found } else { found.min(*cause) };
        }
    }

    /// Books the last time with nobody active: nothing more can happen at its end.
    fn settle(&mut self) {
        if let Some((length, cause)) = self.ended.take() {
            self.nobody[cause as usize] += length;
        }
    }
}
