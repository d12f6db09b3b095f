//! What can be changed, as data.

use holdup_model::{Ends, ObjectId, SiteId, ThreadId};

use crate::program::PauseKind;

/// What is done about a lock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LockChange {
    /// Nobody waits for it any more.
    Free,
    /// So many independent locks take its place, each acquisition one of them at random.
    Split(u32),
    /// The work in its critical sections is so many times less.
    Shorter(f64),
}

/// Something that is otherwise than recorded.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// A lock.
    Lock(ObjectId, LockChange),
    /// Nobody waits for this object any more, whatever it is.
    Free(ObjectId),
    /// The threads that meet at this barrier have equal work before it, in each round.
    BalancedBarrier(ObjectId),
    /// These threads have equal work in each round: until all of them have nothing to do, or are not there.
    BalancedThreads(Vec<ThreadId>),
    /// These threads are so many times faster.
    Faster(Vec<ThreadId>, f64),
    /// The code at these sites is so many times faster, with all that it calls.
    FasterCode(Vec<SiteId>, f64),
    /// What these threads do while nobody else is active, all of it or in stretches with these ends, is spread over so many
    /// threads.
    Spread(Vec<ThreadId>, Option<Vec<Ends>>, f64),
    /// Waits of this kind, at these places or anywhere, take so many times less; infinity for no time.
    Shorter(PauseKind, Option<Vec<SiteId>>, f64),
    /// Putting threads to sleep and waking them costs nothing.
    FreeWakeUps,
    /// Threads that wait for this object run as soon as they are released, at no cost.
    InstantWakeUps(ObjectId),
    /// Nothing but the program uses the machine.
    WithoutLoad,
    /// So many cores.
    Cores(u32),
    /// So many threads in the place of these, which do the same; the one that starts them counts as one of them if it takes part.
    Threads(Vec<ThreadId>, u32),
    /// So many times as many of these threads, which others wait for. Where it is not known what they take from where, they
    /// are so many times faster, and the cores have the work that as many would do.
    Stage(Vec<ThreadId>, u32),
}

impl Change {
    /// True if all the work of the program is still to be done.
    pub(crate) fn keeps_work(&self) -> bool {
        !matches!(
            self,
            Change::Lock(_, LockChange::Shorter(_))
                | Change::Faster(..)
                | Change::FasterCode(..)
                | Change::Spread(..)
        )
    }

    /// True if all the work of the program is still to be done, by other threads in part: what is spread is done by those that the
    /// recording does not have.
    pub(crate) fn leaves_work_to_others(&self) -> bool {
        self.keeps_work() || matches!(self, Change::Spread(..))
    }

    /// The threads whose number it changes.
    pub(crate) fn numbered(&self) -> Option<&[ThreadId]> {
        match self {
            Change::Threads(threads, _) | Change::Stage(threads, _) => Some(threads),
            _ => None,
        }
    }

    /// True if it is about a lock: predictions about those depend on what a wake-up costs.
    pub fn is_of_lock(&self) -> bool {
        matches!(self, Change::Lock(..))
    }
}
