//! Criticality while the program runs, in constant time for each change, whatever the number of threads.

use holdup_model::{ThreadId, Time};

use super::{Fixed, named, share, to_nanos};
use crate::{Criticality, NobodyCause};

/// The criticality of each thread so far.
///
/// Instead of a counter for each thread that is added to at each change, as the paper's hardware does it
/// (section 3.2), it keeps V = ∫ dt / r(t) over the time in which r > 0 threads are active. While a thread is
/// active its criticality grows as V does, so that a change costs one subtraction for the one thread concerned.
#[derive(Clone, Debug)]
pub struct OnlineCriticality {
    start: Time,
    /// The time of the last change.
    at: Time,
    /// V at `at`.
    v: Fixed,
    running: u32,
    threads: Vec<Sum>,
    nobody: [u64; NobodyCause::ALL.len()],
    /// A time with nobody active that ended at `at`, with its cause: others may become active at the same time,
    /// and the cause must not depend on which of them is told first.
    ended: Option<(u64, NobodyCause)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    total: Fixed,
    /// V when the thread became active, while it is.
    since: Option<Fixed>,
}

impl OnlineCriticality {
    /// Nobody is active at `start`.
    pub fn new(start: Time) -> Self {
        Self {
            start,
            at: start,
            v: 0,
            running: 0,
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
            self.threads.resize(thread.index() + 1, Sum::default());
        }
        let v = self.v;
        let sum = &mut self.threads[thread.index()];
        if sum.since.is_none() {
            sum.since = Some(v);
            self.running += 1;
        }
    }

    /// `thread` is no longer active.
    pub fn deactivate(&mut self, thread: ThreadId, time: Time) {
        self.advance(time, None);
        let Some(sum) = self.threads.get_mut(thread.index()) else { return };
        if let Some(since) = sum.since.take() {
            sum.total += self.v - since;
            self.running -= 1;
        }
    }

    /// The criticality of `thread` from the start until now (ns).
    pub fn so_far(&self, thread: ThreadId) -> f64 {
        let Some(sum) = self.threads.get(thread.index()) else { return 0.0 };
        to_nanos(sum.total + sum.since.map_or(0, |since| self.v - since))
    }

    /// The whole answer for a run with `threads` threads that ended at `time`.
    pub fn finish(mut self, time: Time, threads: usize) -> Criticality {
        self.advance(time, None);
        self.settle();
        self.threads.resize(threads, Sum::default());
        let all = (0..threads).map(|index| self.so_far(ThreadId::new(index as u32))).collect();
        Criticality { total: self.at.since(self.start), threads: all, nobody: named(&self.nobody) }
    }

    fn advance(&mut self, time: Time, activity: Option<NobodyCause>) {
        let length = time.since(self.at).get();
        if length > 0 {
            self.settle();
            if self.running > 0 {
                self.v += share(length, self.running);
            } else {
                self.ended = Some((length, NobodyCause::Other));
            }
            self.at = time;
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
