//! Marks: what a thread says of itself in its stream, between the instructions.

use crate::codes::{CallCode, ObjectCode, OutcomeCode};
use crate::openmp::{SyncCode, WorkCode};

/// The number of fields of a mark.
pub const MARK_FIELDS: usize = 5;

/// What a thread does, at the right instruction of its stream. [`Mark::encode`] and [`Mark::decode`] are the only ones that
/// know where a mark's fields stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "what a field is, its variant says")]
pub enum Mark {
    /// Is a plugin there? It writes [`super::VERSION`] to the u32 at this address.
    Hello { answer: u64 },
    /// The thread begins: its number in the process (that of its slot's records), that of its parent (`u32::MAX` if
    /// unknown), its start function, its kernel id, its handle (`pthread_self`, which joins name).
    ThreadBegin { number: u32, parent: u32, entry: u64, tid: u32, handle: u64 },
    /// The thread ends.
    ThreadEnd,
    /// The thread has created another: its number.
    Created { number: u32 },
    /// A wait begins; `mutex` is that of a condition, `stack` the id of its call stack.
    WaitBegin { object: u64, kind: ObjectCode, stack: u64, mutex: u64, shared: bool },
    /// The wait that began last has ended.
    WaitEnd { outcome: OutcomeCode, kind: ObjectCode },
    /// A lock was acquired, or a token of a semaphore taken; `caller` is the return address of the call.
    Acquired { object: u64, kind: ObjectCode, caller: u64, shared: bool },
    /// A lock is released.
    Released { object: u64, kind: ObjectCode, shared: bool },
    /// So many waiters at most are woken, if there are any.
    Woke { object: u64, kind: ObjectCode, count: u32 },
    /// An object was initialized: with the parties of a barrier, or the value of a semaphore.
    Initialized { object: u64, kind: ObjectCode, value: u32, caller: u64 },
    /// A call that can block begins; the descriptor is `u32::MAX` where there is none, or several.
    CallBegin { call: CallCode, descriptor: u32 },
    /// It has returned, after so many nanoseconds.
    CallEnd { nanos: u64 },
    /// A parallel region begins in its encountering thread; `key` is its function or code pointer.
    RegionBegin { instance: u64, key: u64 },
    /// It has ended there.
    RegionEnd { instance: u64 },
    /// The thread's share of a parallel region begins: its number in the team, and the threads of that.
    ShareBegin { instance: u64, index: u32, size: u32 },
    /// It ends, before the join.
    ShareEnd { instance: u64 },
    /// The thread arrives at a barrier or other meeting of its team; `code` is a code pointer.
    SyncBegin { instance: u64, sequence: u32, kind: SyncCode, code: u64 },
    /// It leaves it, or it has turned out that it is none for this thread.
    SyncEnd { instance: u64, is_none: bool },
    /// A worksharing construct begins in the thread.
    WorkBegin { instance: u64, sequence: u32, kind: WorkCode, iterations: u64, code: u64 },
    /// It ends in the thread, before its barrier.
    WorkEnd { instance: u64, sequence: u32 },
    /// A unit of work that was dealt out while running begins, which ends the one before.
    Chunk { first: u64, iterations: u64, code: u64 },
    /// A task is created.
    TaskCreate { task: u64, parent: u64, function: u64 },
    /// The thread begins, or goes on with, a task.
    TaskBegin { task: u64 },
    /// It leaves the task.
    TaskEnd { task: u64, is_complete: bool },
    /// A unit of work begins that the program calls by the text at `label`.
    UnitBegin { label: u64, number: u64 },
    /// It ends.
    UnitEnd,
    /// The part of the program that is of interest begins.
    InterestBegin,
    /// It ends.
    InterestEnd,
    /// The thread comes to a function that may be a barrier: its address, that of the instruction that calls it, and the number that this
    /// is among all threads' marks of this sort. Or to a piece of a function: its number in the place of its address, the address of an
    /// instruction with which it came (0 for a function), and that of one behind it in the place of the caller. Not said by a hook, but
    /// seen by the plugin.
    MeetBegin { function: u64, inside: u64, caller: u64, ticket: u64 },
    /// It leaves the function; the number of this among the same.
    MeetEnd { function: u64, ticket: u64 },
}

impl Mark {
    /// The arguments of the call that tells it; fields that it does not have are 0.
    #[inline]
    pub const fn encode(&self) -> (MarkCode, [u64; MARK_FIELDS]) {
        match *self {
            Mark::Hello { answer } => (MarkCode::Hello, [answer, 0, 0, 0, 0]),
            Mark::ThreadBegin { number, parent, entry, tid, handle } => {
                (MarkCode::ThreadBegin, [number as u64, parent as u64, entry, tid as u64, handle])
            }
            Mark::ThreadEnd => (MarkCode::ThreadEnd, [0; MARK_FIELDS]),
            Mark::Created { number } => (MarkCode::Created, [number as u64, 0, 0, 0, 0]),
            Mark::WaitBegin { object, kind, stack, mutex, shared } => {
                (MarkCode::WaitBegin, [object, kind as u64, stack, mutex, shared as u64])
            }
            Mark::WaitEnd { outcome, kind } => (MarkCode::WaitEnd, [outcome as u64, kind as u64, 0, 0, 0]),
            Mark::Acquired { object, kind, caller, shared } => {
                (MarkCode::Acquired, [object, kind as u64, caller, shared as u64, 0])
            }
            Mark::Released { object, kind, shared } => {
                (MarkCode::Released, [object, kind as u64, 0, shared as u64, 0])
            }
            Mark::Woke { object, kind, count } => (MarkCode::Woke, [object, kind as u64, count as u64, 0, 0]),
            Mark::Initialized { object, kind, value, caller } => {
                (MarkCode::Initialized, [object, kind as u64, value as u64, caller, 0])
            }
            Mark::CallBegin { call, descriptor } => {
                (MarkCode::CallBegin, [call as u64, descriptor as u64, 0, 0, 0])
            }
            Mark::CallEnd { nanos } => (MarkCode::CallEnd, [nanos, 0, 0, 0, 0]),
            Mark::RegionBegin { instance, key } => (MarkCode::RegionBegin, [instance, key, 0, 0, 0]),
            Mark::RegionEnd { instance } => (MarkCode::RegionEnd, [instance, 0, 0, 0, 0]),
            Mark::ShareBegin { instance, index, size } => {
                (MarkCode::ShareBegin, [instance, index as u64, size as u64, 0, 0])
            }
            Mark::ShareEnd { instance } => (MarkCode::ShareEnd, [instance, 0, 0, 0, 0]),
            Mark::SyncBegin { instance, sequence, kind, code } => {
                (MarkCode::SyncBegin, [instance, sequence as u64, kind as u64, code, 0])
            }
            Mark::SyncEnd { instance, is_none } => (MarkCode::SyncEnd, [instance, is_none as u64, 0, 0, 0]),
            Mark::WorkBegin { instance, sequence, kind, iterations, code } => {
                (MarkCode::WorkBegin, [instance, sequence as u64, kind as u64, iterations, code])
            }
            Mark::WorkEnd { instance, sequence } => (MarkCode::WorkEnd, [instance, sequence as u64, 0, 0, 0]),
            Mark::Chunk { first, iterations, code } => (MarkCode::Chunk, [first, iterations, code, 0, 0]),
            Mark::TaskCreate { task, parent, function } => {
                (MarkCode::TaskCreate, [task, parent, function, 0, 0])
            }
            Mark::TaskBegin { task } => (MarkCode::TaskBegin, [task, 0, 0, 0, 0]),
            Mark::TaskEnd { task, is_complete } => (MarkCode::TaskEnd, [task, is_complete as u64, 0, 0, 0]),
            Mark::UnitBegin { label, number } => (MarkCode::UnitBegin, [label, number, 0, 0, 0]),
            Mark::UnitEnd => (MarkCode::UnitEnd, [0; MARK_FIELDS]),
            Mark::InterestBegin => (MarkCode::InterestBegin, [0; MARK_FIELDS]),
            Mark::InterestEnd => (MarkCode::InterestEnd, [0; MARK_FIELDS]),
            Mark::MeetBegin { function, inside, caller, ticket } => {
                (MarkCode::MeetBegin, [function, inside, caller, ticket, 0])
            }
            Mark::MeetEnd { function, ticket } => (MarkCode::MeetEnd, [function, 0, 0, ticket, 0]),
        }
    }

    /// The mark of these arguments; `None` where a kind in them is not known.
    pub fn decode(code: MarkCode, fields: [u64; MARK_FIELDS]) -> Option<Mark> {
        let [a, b, c, d, e] = fields;
        let byte = |field: u64| u8::try_from(field).ok();
        let kind = || ObjectCode::from_code(byte(b)?);
        Some(match code {
            MarkCode::Hello => Mark::Hello { answer: a },
            MarkCode::ThreadBegin => Mark::ThreadBegin {
                number: a as u32,
                parent: u32::try_from(b).unwrap_or(u32::MAX),
                entry: c,
                tid: d as u32,
                handle: e,
            },
            MarkCode::ThreadEnd => Mark::ThreadEnd,
            MarkCode::Created => Mark::Created { number: a as u32 },
            MarkCode::WaitBegin => {
                Mark::WaitBegin { object: a, kind: kind()?, stack: c, mutex: d, shared: e == 1 }
            }
            MarkCode::WaitEnd => Mark::WaitEnd { outcome: OutcomeCode::from_code(byte(a)?)?, kind: kind()? },
            MarkCode::Acquired => Mark::Acquired { object: a, kind: kind()?, caller: c, shared: d == 1 },
            MarkCode::Released => Mark::Released { object: a, kind: kind()?, shared: d == 1 },
            MarkCode::Woke => {
                Mark::Woke { object: a, kind: kind()?, count: u32::try_from(c).unwrap_or(u32::MAX) }
            }
            MarkCode::Initialized => {
                Mark::Initialized { object: a, kind: kind()?, value: c as u32, caller: d }
            }
            MarkCode::CallBegin => {
                Mark::CallBegin { call: CallCode::from_code(byte(a)?)?, descriptor: b as u32 }
            }
            MarkCode::CallEnd => Mark::CallEnd { nanos: a },
            MarkCode::RegionBegin => Mark::RegionBegin { instance: a, key: b },
            MarkCode::RegionEnd => Mark::RegionEnd { instance: a },
            MarkCode::ShareBegin => Mark::ShareBegin { instance: a, index: b as u32, size: c as u32 },
            MarkCode::ShareEnd => Mark::ShareEnd { instance: a },
            MarkCode::SyncBegin => Mark::SyncBegin {
                instance: a,
                sequence: b as u32,
                kind: SyncCode::from_code(byte(c)?)?,
                code: d,
            },
            MarkCode::SyncEnd => Mark::SyncEnd { instance: a, is_none: b == 1 },
            MarkCode::WorkBegin => Mark::WorkBegin {
                instance: a,
                sequence: b as u32,
                kind: WorkCode::from_code(c as u8)?,
                iterations: d,
                code: e,
            },
            MarkCode::WorkEnd => Mark::WorkEnd { instance: a, sequence: b as u32 },
            MarkCode::Chunk => Mark::Chunk { first: a, iterations: b, code: c },
            MarkCode::TaskCreate => Mark::TaskCreate { task: a, parent: b, function: c },
            MarkCode::TaskBegin => Mark::TaskBegin { task: a },
            MarkCode::TaskEnd => Mark::TaskEnd { task: a, is_complete: b == 1 },
            MarkCode::UnitBegin => Mark::UnitBegin { label: a, number: b },
            MarkCode::UnitEnd => Mark::UnitEnd,
            MarkCode::InterestBegin => Mark::InterestBegin,
            MarkCode::InterestEnd => Mark::InterestEnd,
            MarkCode::MeetBegin => Mark::MeetBegin { function: a, inside: b, caller: c, ticket: d },
            MarkCode::MeetEnd => Mark::MeetEnd { function: a, ticket: d },
        })
    }
}

/// What sort of mark it is: the first argument of its call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum MarkCode {
    /// [`Mark::Hello`].
    Hello = 0,
    /// [`Mark::ThreadBegin`].
    ThreadBegin = 1,
    /// [`Mark::ThreadEnd`].
    ThreadEnd = 2,
    /// [`Mark::Created`].
    Created = 3,
    /// [`Mark::WaitBegin`].
    WaitBegin = 4,
    /// [`Mark::WaitEnd`].
    WaitEnd = 5,
    /// [`Mark::Acquired`].
    Acquired = 6,
    /// [`Mark::Released`].
    Released = 7,
    /// [`Mark::Woke`].
    Woke = 8,
    /// [`Mark::Initialized`].
    Initialized = 9,
    /// [`Mark::CallBegin`].
    CallBegin = 10,
    /// [`Mark::CallEnd`].
    CallEnd = 11,
    /// [`Mark::RegionBegin`].
    RegionBegin = 12,
    /// [`Mark::RegionEnd`].
    RegionEnd = 13,
    /// [`Mark::ShareBegin`].
    ShareBegin = 14,
    /// [`Mark::ShareEnd`].
    ShareEnd = 15,
    /// [`Mark::SyncBegin`].
    SyncBegin = 16,
    /// [`Mark::SyncEnd`].
    SyncEnd = 17,
    /// [`Mark::WorkBegin`].
    WorkBegin = 18,
    /// [`Mark::WorkEnd`].
    WorkEnd = 19,
    /// [`Mark::Chunk`].
    Chunk = 20,
    /// [`Mark::TaskCreate`].
    TaskCreate = 21,
    /// [`Mark::TaskBegin`].
    TaskBegin = 22,
    /// [`Mark::TaskEnd`].
    TaskEnd = 23,
    /// [`Mark::UnitBegin`].
    UnitBegin = 24,
    /// [`Mark::UnitEnd`].
    UnitEnd = 25,
    /// [`Mark::InterestBegin`].
    InterestBegin = 26,
    /// [`Mark::InterestEnd`].
    InterestEnd = 27,
    /// [`Mark::MeetBegin`].
    MeetBegin = 28,
    /// [`Mark::MeetEnd`].
    MeetEnd = 29,
}

impl MarkCode {
    /// All, in the order of their codes.
    pub const ALL: [MarkCode; 30] = [
        MarkCode::Hello,
        MarkCode::ThreadBegin,
        MarkCode::ThreadEnd,
        MarkCode::Created,
        MarkCode::WaitBegin,
        MarkCode::WaitEnd,
        MarkCode::Acquired,
        MarkCode::Released,
        MarkCode::Woke,
        MarkCode::Initialized,
        MarkCode::CallBegin,
        MarkCode::CallEnd,
        MarkCode::RegionBegin,
        MarkCode::RegionEnd,
        MarkCode::ShareBegin,
        MarkCode::ShareEnd,
        MarkCode::SyncBegin,
        MarkCode::SyncEnd,
        MarkCode::WorkBegin,
        MarkCode::WorkEnd,
        MarkCode::Chunk,
        MarkCode::TaskCreate,
        MarkCode::TaskBegin,
        MarkCode::TaskEnd,
        MarkCode::UnitBegin,
        MarkCode::UnitEnd,
        MarkCode::InterestBegin,
        MarkCode::InterestEnd,
        MarkCode::MeetBegin,
        MarkCode::MeetEnd,
    ];

    /// The code with this number.
    pub fn from_code(code: u64) -> Option<MarkCode> {
        MarkCode::ALL.get(usize::try_from(code).ok()?).copied()
    }

    /// True if the counts so far are written before this mark in the fast mode: where sections and units begin and end.
    /// `kind` is the mark's second field (the object's kind, where there is one).
    pub const fn cuts(self, kind: u64) -> bool {
        match self {
            MarkCode::WaitBegin | MarkCode::WaitEnd => {
                kind == ObjectCode::Barrier as u64
                    || kind == ObjectCode::ThreadEnd as u64
                    || kind == ObjectCode::Condition as u64
            }
            MarkCode::Woke => kind == ObjectCode::Condition as u64,
            MarkCode::ThreadEnd
            | MarkCode::Created
            | MarkCode::RegionBegin
            | MarkCode::RegionEnd
            | MarkCode::ShareBegin
            | MarkCode::ShareEnd
            | MarkCode::SyncBegin
            | MarkCode::SyncEnd
            | MarkCode::WorkBegin
            | MarkCode::WorkEnd
            | MarkCode::Chunk
            | MarkCode::TaskBegin
            | MarkCode::TaskEnd
            | MarkCode::UnitBegin
            | MarkCode::UnitEnd
            | MarkCode::InterestBegin
            | MarkCode::InterestEnd
            | MarkCode::MeetBegin
            | MarkCode::MeetEnd => true,
            _ => false,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// One of each sort, with another value in each field.
    const MARKS: [Mark; 30] = [
        Mark::Hello { answer: 1 },
        Mark::ThreadBegin { number: 1, parent: u32::MAX, entry: 3, tid: 4, handle: 5 },
        Mark::ThreadEnd,
        Mark::Created { number: 7 },
        Mark::WaitBegin { object: 1, kind: ObjectCode::Condition, stack: 3, mutex: 4, shared: true },
        Mark::WaitEnd { outcome: OutcomeCode::TimedOut, kind: ObjectCode::Barrier },
        Mark::Acquired { object: 1, kind: ObjectCode::RwLock, caller: 3, shared: true },
        Mark::Released { object: 1, kind: ObjectCode::Mutex, shared: false },
        Mark::Woke { object: 1, kind: ObjectCode::Condition, count: u32::MAX },
        Mark::Initialized { object: 1, kind: ObjectCode::Barrier, value: 3, caller: 4 },
        Mark::CallBegin { call: CallCode::Read, descriptor: u32::MAX },
        Mark::CallEnd { nanos: u64::MAX },
        Mark::RegionBegin { instance: 1, key: 2 },
        Mark::RegionEnd { instance: 1 },
        Mark::ShareBegin { instance: 1, index: 2, size: 3 },
        Mark::ShareEnd { instance: 1 },
        Mark::SyncBegin { instance: 1, sequence: 2, kind: SyncCode::Taskwait, code: 4 },
        Mark::SyncEnd { instance: 1, is_none: true },
        Mark::WorkBegin { instance: 1, sequence: 2, kind: WorkCode::GuidedLoop, iterations: 4, code: 5 },
        Mark::WorkEnd { instance: 1, sequence: 2 },
        Mark::Chunk { first: 1, iterations: 2, code: 3 },
        Mark::TaskCreate { task: 1, parent: 2, function: 3 },
        Mark::TaskBegin { task: 1 },
        Mark::TaskEnd { task: 1, is_complete: true },
        Mark::UnitBegin { label: 1, number: 2 },
        Mark::UnitEnd,
        Mark::InterestBegin,
        Mark::InterestEnd,
        Mark::MeetBegin { function: 1, inside: 2, caller: 3, ticket: 4 },
        Mark::MeetEnd { function: 1, ticket: 4 },
    ];

    #[test]
    fn marks_come_back() {
        for (mark, code) in MARKS.into_iter().zip(MarkCode::ALL) {
            let (encoded, fields) = mark.encode();
            assert_eq!(encoded, code);
            assert_eq!(Mark::decode(code, fields), Some(mark));
        }
    }

    #[test]
    fn a_kind_that_is_not_known_makes_no_mark() {
        for code in [MarkCode::WaitBegin, MarkCode::WaitEnd, MarkCode::Acquired, MarkCode::Woke] {
            assert_eq!(Mark::decode(code, [0, 250, 0, 0, 0]), None);
            assert_eq!(Mark::decode(code, [0, 256, 0, 0, 0]), None);
        }
    }
}
