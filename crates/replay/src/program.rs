//! A recorded process as a program for virtual time: for each thread the work between its acts, and the acts.

use std::sync::Arc;

use holdup_model::{Nanos, ObjectId, SiteId, ThreadId};

/// A lock of a [`Program`], by its place in [`Program::locks`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockIndex(pub u32);

/// A gate, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GateIndex(pub u32);

/// What a thread does at one point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Takes a lock for itself.
    Acquire(LockIndex),
    /// Takes a lock together with others.
    AcquireShared(LockIndex),
    /// Releases a lock.
    Release(LockIndex),
    /// Meets others at a barrier, by its place in [`Program::barriers`].
    Arrive(u32),
    /// Opens a gate: a signal that somebody waited for.
    Open(GateIndex),
    /// Waits until a gate is open.
    Pass(GateIndex),
    /// Takes a token, by its place in [`Program::tokens`].
    Take(u32),
    /// Gives a token.
    Give(u32),
    /// Gives as many as anybody may want.
    Close(u32),
    /// Waits for a time without a core, by its place in [`Program::pauses`].
    Pause(u32),
    /// Starts a thread, and those that were added to it.
    Start(ThreadId),
    /// Takes the next piece of a pool, by its place in [`Program::pools`]; goes on behind it when none is left.
    Deal(u32),
    /// The end of a piece: as [`Op::Deal`] of the pool that it is from.
    EndOfPiece(u32),
    /// Nothing: what it did here is left out by a change.
    Nothing,
    /// The end of the thread.
    End,
}

/// Work, then an act.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// CPU time (ns) since the thread's step before.
    pub work: u64,
    /// What it does then.
    pub op: Op,
}

/// One thread of a [`Program`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Actor {
    /// The recorded thread that it is, or is a copy of.
    pub thread: ThreadId,
    /// When it starts (ns from the start of the process); `None` if another thread starts it.
    pub starts_at: Option<u64>,
    /// Its first step.
    pub first: u32,
    /// Where it goes on when the pool that it deals from is empty.
    pub tail: u32,
    /// Whether the run lasts until it ends: as recorded it ended by itself, or the process with it. Others, that lived on
    /// when the process ended, may be cut off.
    pub is_awaited: bool,
    /// True for threads that were added by a change.
    pub is_added: bool,
}

/// A lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockFacts {
    /// Which object of the process.
    pub object: ObjectId,
    /// Whether those who wait for it stay on their core.
    pub spins: bool,
    /// Acquisitions that are no steps: they were counted, and their holds not recorded one by one.
    pub unseen: u64,
    /// The time in them together (ns), estimated from those that were timed.
    pub unseen_hold: u64,
}

/// Work of a thread that is gone once nobody else uses a lock; see [`holdup_model::BusyLock::lost`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusyFacts {
    /// Whose work.
    pub thread: ThreadId,
    /// Which object of the process.
    pub object: ObjectId,
    /// How much (ns): spread over all of its work.
    pub lost: u64,
}

/// A barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierFacts {
    /// Which object of the process.
    pub object: ObjectId,
    /// How many threads meet.
    pub parties: u32,
}

/// Something that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenFacts {
    /// Which condition variable or semaphore of the process.
    pub object: ObjectId,
    /// How many there are at the start.
    pub at_start: u64,
    /// How many [`Op::Close`] there are: the last one ends it.
    pub givers: u32,
}

/// Why a thread pauses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PauseKind {
    /// I/O.
    Io,
    /// It sleeps.
    Sleep,
    /// It waits for an object, and nobody is known to have ended the wait.
    Object(ObjectId),
    /// Nothing is known.
    Unknown,
}

/// A wait for a length of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// How long (ns).
    pub length: u64,
    /// Why.
    pub kind: PauseKind,
}

/// Work that several threads take piece by piece.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool {
    /// The lock at which pieces are taken.
    pub lock: LockIndex,
    /// Where it is acquired for that.
    pub site: Option<SiteId>,
    /// The first step of each piece, in the order in which they were taken.
    pub pieces: Vec<u32>,
    /// Who takes from it.
    pub members: Vec<ThreadId>,
}

/// A recorded process in steps. What few changes touch is shared with the programs that changes make of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// Recorded threads by [`ThreadId`], then those that were added.
    pub actors: Vec<Actor>,
    /// The steps of all threads, each thread's together.
    pub steps: Vec<Step>,
    /// Of each step, when it was done as recorded (ns from the start of the process).
    pub times: Arc<Vec<u64>>,
    /// Of each step, where in the code its act is; [`NO_SITE`] if that is not known.
    pub sites: Arc<Vec<u32>>,
    /// Locks.
    pub locks: Vec<LockFacts>,
    /// What locks take that are waited for very often.
    pub busy: Vec<BusyFacts>,
    /// Barriers.
    pub barriers: Vec<BarrierFacts>,
    /// How many acts open each gate: none for one that opens by itself, [`NEVER`] for one that nothing opens.
    pub gates: Vec<u32>,
    /// What each gate stands for, where that is an object: waiting there is waiting for it.
    pub gate_objects: Vec<Option<ObjectId>>,
    /// The gate that is open when a thread has ended, by [`ThreadId`].
    pub ends: Vec<GateIndex>,
    /// What is counted.
    pub tokens: Vec<TokenFacts>,
    /// Pauses.
    pub pauses: Vec<Pause>,
    /// Pools.
    pub pools: Vec<Pool>,
    /// Copies of each recorded thread, by [`ThreadId`]: started together with it.
    pub copies: Vec<Vec<ThreadId>>,
    /// The recorded wall time.
    pub wall: Nanos,
}

/// In [`Program::sites`]: not known.
pub const NO_SITE: u32 = u32::MAX;

/// In [`Program::gates`]: nothing opens it.
pub const NEVER: u32 = u32::MAX;

impl Program {
    /// The steps of one recorded thread, as a range of [`Program::steps`].
    pub fn steps_of(&self, thread: ThreadId) -> std::ops::Range<usize> {
        let first = self.actors[thread.index()].first as usize;
        let mut end = first;
        while self.steps[end].op != Op::End {
            end += 1;
        }
        first..end + 1
    }

    /// One more than the largest index of an object that it names.
    pub(crate) fn objects(&self) -> usize {
        let locks = self.locks.iter().map(|lock| lock.object);
        let barriers = self.barriers.iter().map(|barrier| barrier.object);
        let tokens = self.tokens.iter().map(|tokens| tokens.object);
        let gates = self.gate_objects.iter().flatten().copied();
        locks.chain(barriers).chain(tokens).chain(gates).map(|object| object.index() + 1).max().unwrap_or(0)
    }

    /// All work (ns).
    pub fn work(&self) -> u64 {
        self.steps.iter().fold(0, |all, step| all.saturating_add(step.work))
    }

    /// The lock that stands for this object.
    pub fn lock_of(&self, object: ObjectId) -> Option<LockIndex> {
        let index = self.locks.iter().position(|lock| lock.object == object)?;
        Some(LockIndex(index as u32))
    }

    /// The barrier that stands for this object.
    pub fn barrier_of(&self, object: ObjectId) -> Option<u32> {
        self.barriers.iter().position(|barrier| barrier.object == object).map(|index| index as u32)
    }
}

/// A time (ns), divided.
pub(crate) fn divided(time: u64, times: f64) -> u64 {
    (time as f64 / times.max(f64::MIN_POSITIVE)).round() as u64
}
