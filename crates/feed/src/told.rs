//! What one thread's stream tells, in the words of the stream: objects by their addresses.

use holdup_model::Mode;
use holdup_trace::wire::CallCode;

/// Something that a mark means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Told {
    /// A piece of the course ends.
    Cut,
    /// A thread with this number was created.
    Created(u32),
    /// The thread with this handle was joined.
    Join(u64),
    /// A lock was acquired.
    Acquire(u64, Mode),
    /// It was released.
    Release(u64),
    /// The thread came to a barrier.
    Arrive(u64),
    /// It came to a meeting of its team: instance of the region, sequence number.
    Meet(u64, u32),
    /// It began a parallel region.
    RegionBegin(u64),
    /// Its share of one begins.
    ShareBegin(u64),
    /// It took from a semaphore.
    Take(u64),
    /// It gave to one.
    Give(u64),
    /// It waited for another thread: which of its waits.
    Wait(u32),
    /// It woke others that waited: which of its wake-ups.
    Woke(u32),
    /// A call that blocked: which of its calls.
    Call(u32),
    /// Here it would take units of this construct.
    Deal(u64),
    /// What follows is its next unit.
    UnitBegin,
    /// The unit ends.
    UnitEnd,
    /// It created a task.
    TaskCreate(u64),
    /// It begins, or goes on with, a task.
    TaskBegin(u64),
    /// The task is complete.
    TaskDone(u64),
    /// It goes on when this task is complete.
    TaskAwaited(u64),
}

/// A wait for a condition, a futex, or an initialization.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wait {
    pub object: u64,
    pub is_condition: bool,
    /// The mutex of a condition.
    pub mutex: u64,
    /// Which of the thread's waits for this object it is, from 0.
    pub number: u32,
    /// The thread only looked again since its last wait for it.
    pub looks_again: bool,
}

/// A call that blocked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Called {
    /// How long (ns).
    pub nanos: u64,
    pub call: Option<CallCode>,
    /// The descriptor; `u32::MAX` where there is none, or several.
    pub descriptor: u32,
}

/// Waiters are woken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Woke {
    pub object: u64,
    pub is_condition: bool,
    /// Which of the thread's wake-ups at this object it is, from 0.
    pub number: u32,
    pub broadcasts: bool,
}

/// Behind the last mark of a stream.
pub(crate) const AT_END: u32 = u32::MAX;
