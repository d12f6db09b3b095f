//! Stretches in which one thread of a process ran by itself while the others were held (paper 1, section 6.1).

use crate::{Nanos, ThreadId, Time};

/// Why the others were not held for the whole of a stretch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NotAlone {
    /// They did not become quiet in the time that was waited for that.
    Bound,
    /// The thread slept where no wait of it is known, and they were let go until it ran again.
    Asleep,
    /// Nothing happened for so long that they were let go for a while: it may be waiting for them in a loop.
    Watchdog,
    /// One of them woke by itself: its time was up, or a signal came.
    Woken,
    /// Running alone was given up.
    GivenUp,
    /// It came to no sync operation for so long that it may have waited for the others in a loop of the program's own: its
    /// CPU time need not be work.
    Spun,
    /// What was to work beside it was not ready in the time that was waited for that.
    Unready,
}

impl NotAlone {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            NotAlone::Bound => "bound",
            NotAlone::Asleep => "asleep",
            NotAlone::Watchdog => "watchdog",
            NotAlone::Woken => "woken",
            NotAlone::GivenUp => "given_up",
            NotAlone::Spun => "spun",
            NotAlone::Unready => "unready",
        }
    }

    /// The words for it, as the end of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            NotAlone::Bound => "the others did not become quiet in time",
            NotAlone::Asleep => "the thread slept outside of any known wait",
            NotAlone::Watchdog => "nothing happened for too long, so that the others were let go",
            NotAlone::Woken => "another thread woke by itself",
            NotAlone::GivenUp => "running alone was given up",
            NotAlone::Spun => {
                "it came to no sync operation for so long that it may have waited for the others in a loop"
            }
            NotAlone::Unready => "the cache pirate was not ready in time",
        }
    }
}

/// A stretch in which the profiled thread was to run by itself: from one wait of it to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AloneSpan {
    /// The profiled thread.
    pub thread: ThreadId,
    /// When it began to run.
    pub begin: Time,
    /// When it had to wait, or ended.
    pub end: Time,
    /// Its CPU time in between (ns).
    pub cpu: Nanos,
    /// True if all others were held for the whole of it, but for moments.
    pub alone: bool,
    /// Why they were not; `None` where they were, and where that is not known.
    pub reason: Option<NotAlone>,
}

/// What the processor's counters said of a profiled thread from when it was chosen to when another one was, in user space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AloneCount {
    /// When counting began.
    pub begin: Time,
    /// When it ended.
    pub end: Time,
    /// Cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
    /// Accesses that the last level of cache did not have, where that is counted.
    pub misses: Option<u64>,
    /// How long the thread ran meanwhile (ns).
    pub time: Nanos,
}
