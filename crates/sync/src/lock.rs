//! Mutexes, spin locks and read-write locks.

use std::collections::VecDeque;

use holdup_model::{Mode, ThreadId};

use crate::Answer;

/// A lock that one thread holds for itself or several hold together.
///
/// A release wakes a waiting thread only if the lock is marked as waited for. Who takes a free lock at once leaves it
/// unmarked while a woken thread is on its way, which marks it again when it comes: so most releases of a lock that is
/// taken all the time wake nobody, and one thread after the other is woken, not all. That is how locks on futexes work;
/// with a wake-up at each release a convoy would be predicted to be several times slower than it is.
///
/// Readers may come in while others read, though a writer waits, as with the C library's default.
#[derive(Clone, Debug, Default)]
pub struct Lock {
    /// Who holds it for itself, and how many times.
    owner: Option<(ThreadId, u32)>,
    /// Who hold it together, each as often as it does.
    readers: Vec<ThreadId>,
    waiting: VecDeque<(ThreadId, Mode)>,
    /// Woken, and not back yet.
    woken: Vec<ThreadId>,
    is_waited_for: bool,
}

impl Lock {
    /// The thread wants the lock, for the first time or after it was woken. A thread that holds it for itself already
    /// holds it once more.
    pub fn acquire(&mut self, thread: ThreadId, mode: Mode) -> Answer {
        let woken = self.woken.iter().position(|&other| other == thread);
        if let Some(place) = woken {
            self.woken.swap_remove(place);
        }
        if self.try_acquire(thread, mode) {
            self.is_waited_for |= woken.is_some();
            return Answer::Go;
        }
        self.is_waited_for = true;
        self.waiting.push_back((thread, mode));
        Answer::Wait
    }

    /// Like [`Lock::acquire`], and does not wait: true if the thread has it now.
    pub fn try_acquire(&mut self, thread: ThreadId, mode: Mode) -> bool {
        let is_free = self.is_free();
        match (&mut self.owner, mode) {
            (Some((owner, depth)), _) if *owner == thread => *depth += 1,
            (Some(_), _) => return false,
            (None, Mode::Shared) => self.readers.push(thread),
            (None, Mode::Exclusive) if self.readers.is_empty() => self.owner = Some((thread, 1)),
            (None, Mode::Exclusive) => return false,
        }
        if is_free {
            self.is_waited_for = !self.waiting.is_empty() && self.woken.is_empty();
        }
        true
    }

    /// The thread releases what it holds. Adds to `may_try` the waiting threads that are woken to try again: the first
    /// one, with all other readers if that is a reader. A thread that holds nothing releases nothing: one that was let
    /// through, say.
    pub fn release(&mut self, thread: ThreadId, may_try: &mut Vec<ThreadId>) {
        match &mut self.owner {
            Some((owner, depth)) if *owner == thread => {
                *depth -= 1;
                if *depth > 0 {
                    return;
                }
                self.owner = None;
            }
            Some(_) => return,
            None => {
                let Some(place) = self.readers.iter().position(|&reader| reader == thread) else { return };
                self.readers.swap_remove(place);
            }
        }
        if !self.readers.is_empty() || !std::mem::take(&mut self.is_waited_for) {
            return;
        }
        let before = may_try.len();
        match self.waiting.pop_front() {
            None => {}
            Some((first, Mode::Exclusive)) => may_try.push(first),
            Some((first, Mode::Shared)) => {
                may_try.push(first);
                self.waiting.retain(|&(waiter, mode)| {
                    let reads = mode == Mode::Shared;
                    if reads {
                        may_try.push(waiter);
                    }
                    !reads
                });
            }
        }
        self.woken.extend_from_slice(&may_try[before..]);
    }

    /// Whether anybody holds it.
    pub fn is_free(&self) -> bool {
        self.owner.is_none() && self.readers.is_empty()
    }

    /// Who holds it for itself.
    pub fn owner(&self) -> Option<ThreadId> {
        self.owner.map(|(owner, _)| owner)
    }

    /// How many threads wait.
    pub fn waiters(&self) -> usize {
        self.waiting.len()
    }

    /// The thread waits no more, without having been woken: it was let through, or took the lock while it spun.
    pub fn forget(&mut self, thread: ThreadId) {
        self.waiting.retain(|&(waiter, _)| waiter != thread);
        self.woken.retain(|&waiter| waiter != thread);
    }
}
