//! What threads have had up to a moment, and between two.

use std::sync::Arc;

use holdup_policy::ThreadSlice;
use holdup_trace::wire::{CallCode, ObjectCode};

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Useful work, or it waits for a core to do it on.
    Active,
    /// It waits for an object: a lock, a barrier, a thread's end.
    Waits(ObjectCode),
    /// It is in a system call that can block.
    Calls(CallCode),
    /// It waits in a runtime for its team, or for tasks.
    Team,
}

impl State {
    /// Whether it counts among the active ones.
    pub fn is_active(self) -> bool {
        self == State::Active
    }
}

/// A thread up to the moment of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadNow {
    /// Its number in the process, in the order of creation, from 0. Kernel ids are used again, this is not.
    pub number: u32,
    /// The number of the thread that created it, where that was seen.
    pub parent: Option<u32>,
    /// Its kernel id.
    pub tid: u32,
    /// Its name, which may be up to a second old.
    pub name: Arc<str>,
    /// What it does.
    pub state: State,
    /// For how long it has done that, in ns.
    pub for_ns: u64,
    /// Its criticality since it began, in ns.
    pub criticality_ns: u64,
    /// For how long it was active, in ns.
    pub active_ns: u64,
    /// How often it became active, or stopped being it.
    pub changes: u64,
}

/// Threads that have ended, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// How many.
    pub threads: u64,
    /// Their criticality, in ns.
    pub criticality_ns: u64,
    /// For how long they were active, in ns.
    pub active_ns: u64,
    /// Their changes.
    pub changes: u64,
}

/// A process at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// When, in ns since the process began.
    pub at_ns: u64,
    /// How many threads were active.
    pub active: u32,
    /// V of paper 4's section 3.1: the time divided by the number of active threads, summed, in ns.
    pub progress_ns: u64,
    /// Those that live, by their number.
    pub threads: Vec<ThreadNow>,
    /// Those that do not any more.
    pub ended: Ended,
}

/// A thread of a process that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadAtEnd {
    /// As [`ThreadNow::number`].
    pub number: u32,
    /// Its kernel id.
    pub tid: u32,
    /// Its name, if it was read while the thread lived.
    pub name: Option<Arc<str>>,
    /// It ended before the process did.
    pub before_the_process: bool,
    /// When it was last active or ended, in ns since the process began.
    pub ended_ns: u64,
    /// Its criticality, in ns.
    pub criticality_ns: u64,
    /// For how long it was active, in ns.
    pub active_ns: u64,
    /// How often it became active, or stopped being it.
    pub changes: u64,
}

/// A process that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtEnd {
    /// When it ended, in ns since it began.
    pub at_ns: u64,
    /// Its threads, by their number.
    pub threads: Vec<ThreadAtEnd>,
    /// Those of which it is not known any more what each of them had.
    pub others: Ended,
}

/// A thread's part in a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPart {
    /// As it is at the end of the slice.
    pub now: ThreadNow,
    /// Its criticality in the slice, in ns.
    pub criticality_ns: u64,
    /// For how long it was active in it, in ns.
    pub active_ns: u64,
    /// Its changes in it.
    pub changes: u64,
}

/// What happened between two snapshots of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// How long it was, in ns.
    pub length_ns: u64,
    /// The threads that live at its end.
    pub threads: Vec<ThreadPart>,
    /// What those that ended in it had, in it.
    pub ended: Ended,
}

impl Snapshot {
    /// What happened since an earlier snapshot of the same process.
    pub fn since(&self, earlier: &Snapshot) -> Slice {
        let before = |number: u32| {
            let found = earlier.threads.binary_search_by_key(&number, |thread| thread.number);
            found.ok().map(|index| &earlier.threads[index])
        };
        let part = |now: &ThreadNow| {
            let (criticality, active, changes) = before(now.number)
                .map_or((0, 0, 0), |then| (then.criticality_ns, then.active_ns, then.changes));
            ThreadPart {
                now: now.clone(),
                criticality_ns: now.criticality_ns.saturating_sub(criticality),
                active_ns: now.active_ns.saturating_sub(active),
                changes: now.changes.saturating_sub(changes),
            }
        };
        // What a thread had before the slice is in the sums of ended ones only now.
        let is_gone = |thread: &&ThreadNow| {
            self.threads.binary_search_by_key(&thread.number, |thread| thread.number).is_err()
        };
        let mut before = earlier.ended;
        for gone in earlier.threads.iter().filter(is_gone) {
            before.criticality_ns += gone.criticality_ns;
            before.active_ns += gone.active_ns;
            before.changes += gone.changes;
        }
        Slice {
            length_ns: self.at_ns.saturating_sub(earlier.at_ns),
            threads: self.threads.iter().map(part).collect(),
            ended: Ended {
                threads: self.ended.threads.saturating_sub(earlier.ended.threads),
                criticality_ns: self.ended.criticality_ns.saturating_sub(before.criticality_ns),
                active_ns: self.ended.active_ns.saturating_sub(before.active_ns),
                changes: self.ended.changes.saturating_sub(before.changes),
            },
        }
    }
}

impl ThreadPart {
    /// As a policy is shown it. Ticks are ns.
    pub fn for_policy(&self) -> ThreadSlice {
        ThreadSlice {
            criticality: u128::from(self.criticality_ns) << 64,
            lives: true,
            joins: self.now.state == State::Waits(ObjectCode::ThreadEnd),
            misses: [0; 3],
        }
    }
}

impl Slice {
    /// The time for which somebody was active: what all have had, by the definition of criticality.
    pub fn with_somebody_ns(&self) -> u64 {
        self.threads.iter().map(|part| part.criticality_ns).sum::<u64>() + self.ended.criticality_ns
    }
}
