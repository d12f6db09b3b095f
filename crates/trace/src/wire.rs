//! The records that injected libraries write.
//!
//! A record is a run of 64-bit little-endian words. The first one is its header:
//!
//! | bits | meaning |
//! |---|---|
//! | 0–7 | what it is ([`Tag`], or one of [`openmp`]'s) |
//! | 8–15 | flags, by tag |
//! | 16–31 | length in words, header included; never 0 |
//! | 32–63 | a small number, by tag |
//!
//! Points in time are ticks of the session's clock, CPU times nanoseconds since the start of the thread
//! ([`UNKNOWN`] where they were not to be had), places the id of a [`Record::Stack`] of the same process or
//! [`NO_STACK`], objects their address, or [`channel`]s. Records of one chunk belong to one thread, which the chunk names.
//!
//! Example: a wait for the mutex at 0x1000 from tick 10 to tick 25, at stack 7, owned by kernel thread 99, is
//! `03 00 08 00 63 00 00 00` (tag 3, kind mutex and outcome granted, 8 words, owner 99), then the words 10, 25,
//! 0x1000, 7, 0 (no mutex of a condition variable), and two CPU times.

use crate::alone::{AloneCode, Stretch};
use crate::codes::coded;
use crate::openmp;

pub use crate::codes::{CallCode, MarkerCode, ObjectCode, OutcomeCode};
pub use crate::words::{BadRecord, Text, header, words_for};

/// A CPU time that is not known.
pub const UNKNOWN: u64 = u64::MAX;
/// A thread that calls and calls again has its CPU time read once in so long (µs). In between it is [`UNKNOWN`].
pub const CALLS_PERIOD_MICROS: u64 = 1000;
/// No call stack.
pub const NO_STACK: u64 = 0;
/// No thread, where a thread's number is meant.
pub const NO_THREAD: u32 = u32::MAX;
/// In the place of an owner, of what has none: the wait ends by itself when its time is up.
pub const ENDS_BY_TIME: u32 = u32::MAX;
/// In the place of a descriptor, of a call that waited for several and found none ready when its time was up.
pub const TIMED_OUT: u32 = u32::MAX - 1;
/// The bytes of stack that one record can hold.
pub const MAX_STACK_BYTES: usize = 16 * 1024;

/// In the address of a channel, and in none of a program.
const CHANNELS: u64 = 1 << 63;

/// The group of all processes of a session.
pub const ALL_PROCESSES: u32 = u32::MAX >> 1;

/// In the place of an object's address, the channel of this number. The processes of a `group` know it by that: [`ALL_PROCESSES`], those
/// that were forked from the one of this kernel id, or none but this one (0).
pub fn channel(group: u32, number: u32) -> u64 {
    CHANNELS | u64::from(group & !(1 << 31)) << 32 | u64::from(number)
}

/// True for a channel that several processes call alike.
pub fn is_shared_channel(object: u64) -> bool {
    object & CHANNELS != 0 && object & !CHANNELS >= 1 << 32
}

coded! {
    /// What a record is.
    Tag {
        /// [`Record::ThreadStart`].
        ThreadStart = 1,
        /// [`Record::ThreadEnd`].
        ThreadEnd = 2,
        /// [`Record::Wait`].
        Wait = 3,
        /// [`Record::Hold`].
        Hold = 4,
        /// [`Record::Wake`].
        Wake = 5,
        /// [`Record::Block`].
        Block = 6,
        /// [`Record::Stack`].
        Stack = 7,
        /// [`Record::Module`].
        Module = 8,
        /// [`Record::ObjectInit`].
        ObjectInit = 9,
        /// [`Record::Use`].
        Use = 10,
        /// [`Record::Marker`].
        Marker = 11,
        /// [`Record::Command`].
        Command = 12,
        /// [`Record::ThreadName`].
        ThreadName = 13,
        /// [`Record::Cpu`].
        Cpu = 14,
        /// [`Record::Alone`].
        Alone = 15,
        /// [`Record::LockCost`].
        LockCost = 16,
        /// [`Record::CpuOf`].
        CpuOf = 17,
        /// [`Record::BusyLock`].
        BusyLock = 18,
    }
}

/// What locks cost a thread beside waiting for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockCost {
    /// One in this many acquisitions was timed.
    pub every: u32,
    /// Timed acquisitions that did not wait.
    pub timed: u64,
    /// Ticks in these, from the call to its return.
    pub ticks: u64,
    /// Releases of locks that others waited for.
    pub hand_overs: u64,
    /// Ticks in these.
    pub hand_over_ticks: u64,
}

/// What a lock costs a thread that waits for it so often that not each wait is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusyLock {
    /// The lock.
    pub object: u64,
    /// What kind.
    pub kind: ObjectCode,
    /// Waits that are no records: the thread had the lock soon, and kept its core.
    pub brief: u64,
    /// Ticks in these.
    pub brief_ticks: u64,
    /// One in this many acquisitions of the thread was timed.
    pub every: u32,
    /// Those of the free lock among them, from the call to its return.
    pub timed: u64,
    /// Ticks in these.
    pub ticks: u64,
    /// Releases that were timed.
    pub releases: u64,
    /// Ticks in these.
    pub release_ticks: u64,
}

/// A record, borrowed from the words that hold it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record<'a> {
    /// A thread of the program begins.
    ThreadStart {
        /// When.
        time: u64,
        /// The number of its parent, or [`NO_THREAD`].
        parent: u32,
        /// The address of its start function; 0 if unknown.
        entry: u64,
        /// Where it was created.
        stack: u64,
        /// Its `pthread_t`.
        handle: u64,
        /// Its kernel thread id.
        tid: u32,
    },
    /// The thread ends.
    ThreadEnd {
        /// When.
        time: u64,
        /// Its CPU time.
        cpu: u64,
    },
    /// The thread waited.
    Wait(WaitRecord),
    /// The thread released a lock.
    Hold {
        /// When it had acquired it; 0 if that was not seen.
        begin: u64,
        /// When it released it.
        end: u64,
        /// The lock.
        object: u64,
        /// What kind of lock.
        kind: ObjectCode,
        /// True if it was held together with other readers.
        shared_mode: bool,
        /// True if others waited at the release.
        waited_for: bool,
        /// The return address of the call that acquired it; 0 if that was not seen.
        acquired_at: u64,
        /// Where it was released.
        stack: u64,
    },
    /// The thread released waiters.
    Wake {
        /// When.
        time: u64,
        /// The object.
        object: u64,
        /// What kind of object.
        kind: ObjectCode,
        /// How many it can release; `u32::MAX` for all.
        count: u32,
        /// Where.
        stack: u64,
    },
    /// The thread was in a system call that blocked.
    Block {
        /// When it was called.
        begin: u64,
        /// When it returned.
        end: u64,
        /// Which.
        call: CallCode,
        /// The file descriptor, or `u32::MAX`, or [`TIMED_OUT`].
        descriptor: u32,
        /// Where.
        stack: u64,
        /// CPU time at `begin`.
        cpu_begin: u64,
        /// CPU time at `end`.
        cpu_end: u64,
    },
    /// A call stack of this process, to be unwound later.
    Stack {
        /// What other records call it.
        id: u64,
        /// The instruction pointer.
        ip: u64,
        /// The stack pointer.
        sp: u64,
        /// The frame pointer register.
        bp: u64,
        /// The stack's words from `sp` upwards.
        words: &'a [u64],
    },
    /// A module that is mapped in this process from now on.
    Module {
        /// What to add to addresses in its file.
        bias: u64,
        /// Its first mapped address.
        start: u64,
        /// The end of its last mapped page.
        end: u64,
        /// The build id, then the path, padded.
        text: Text<'a>,
        /// The length of the build id in bytes.
        build_id_len: u8,
    },
    /// An object was initialized.
    ObjectInit {
        /// When.
        time: u64,
        /// The object.
        object: u64,
        /// What kind.
        kind: ObjectCode,
        /// For barriers, for how many threads.
        parties: u32,
        /// The return address of the call.
        caller: u64,
    },
    /// How often the thread used a lock since it was last counted.
    Use {
        /// The lock.
        object: u64,
        /// What kind.
        kind: ObjectCode,
        /// True if these counts are of all threads together.
        of_all_threads: bool,
        /// Successful acquisitions.
        acquisitions: u64,
        /// `try` calls that failed.
        failed_tries: u64,
        /// Timed holds.
        timed_holds: u64,
        /// Ticks in timed holds.
        timed_ticks: u64,
    },
    /// What locks cost the thread beside waiting for them.
    LockCost(LockCost),
    /// What one lock costs it that is waited for very often.
    BusyLock(BusyLock),
    /// The program says something about itself.
    Marker {
        /// When.
        time: u64,
        /// What.
        kind: MarkerCode,
        /// Its label; may be empty.
        label: Text<'a>,
    },
    /// The program and its arguments, each ended by a zero byte.
    Command {
        /// The bytes.
        text: Text<'a>,
    },
    /// The thread is about to end the process.
    Cpu {
        /// When.
        time: u64,
        /// Its CPU time.
        cpu: u64,
    },
    /// Another thread, which lives while this one ends the process.
    CpuOf {
        /// Its number.
        thread: u32,
        /// Its CPU time.
        cpu: u64,
    },
    /// The thread ran, or was to run, by itself.
    Alone(Stretch),
    /// What happened at an OpenMP construct.
    OpenMp(openmp::Event),
    /// A thread got a name.
    ThreadName {
        /// The `pthread_t` of the thread; 0 for the one that says it.
        handle: u64,
        /// The bytes.
        text: Text<'a>,
    },
}

/// A wait, from the call to its return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitRecord {
    /// When the call could not go on.
    pub begin: u64,
    /// When it returned.
    pub end: u64,
    /// For what.
    pub object: u64,
    /// What kind of object.
    pub kind: ObjectCode,
    /// True if it was wanted together with other readers.
    pub shared_mode: bool,
    /// True if the object is for several processes.
    pub process_shared: bool,
    /// How it ended.
    pub outcome: OutcomeCode,
    /// The kernel thread id of the owner at `begin`; 0 if unknown; or [`ENDS_BY_TIME`].
    pub owner_tid: u32,
    /// Where.
    pub stack: u64,
    /// For condition variables the mutex; else 0.
    pub mutex: u64,
    /// CPU time at `begin`.
    pub cpu_begin: u64,
    /// CPU time at `end`.
    pub cpu_end: u64,
}

const SHARED_MODE: u8 = 1 << 4;
const WAITED_FOR: u8 = 1 << 5;
const OUTCOME_SHIFT: u8 = 5;
const PROCESS_SHARED: u8 = 1 << 7;

/// The words of a [`Record::ThreadStart`].
pub fn thread_start(time: u64, parent: u32, entry: u64, stack: u64, handle: u64, tid: u32) -> [u64; 6] {
    [header(Tag::ThreadStart as u8, 0, 6, parent), time, entry, stack, handle, tid as u64]
}

/// The words of a [`Record::ThreadEnd`].
pub fn thread_end(time: u64, cpu: u64) -> [u64; 3] {
    [header(Tag::ThreadEnd as u8, 0, 3, 0), time, cpu]
}

/// The words of a [`Record::Cpu`].
pub fn cpu(time: u64, cpu: u64) -> [u64; 3] {
    [header(Tag::Cpu as u8, 0, 3, 0), time, cpu]
}

/// The words of a [`Record::CpuOf`].
pub fn cpu_of(thread: u32, cpu: u64) -> [u64; 2] {
    [header(Tag::CpuOf as u8, 0, 2, thread), cpu]
}

/// The words of a [`Record::Alone`].
pub fn alone(stretch: &Stretch) -> [u64; 6] {
    [
        header(Tag::Alone as u8, stretch.why as u8, 6, 0),
        stretch.begin,
        stretch.end,
        stretch.cpu_begin,
        stretch.cpu_end,
        stretch.disturbed,
    ]
}

/// The words of a [`Record::Wait`].
pub fn wait(wait: &WaitRecord) -> [u64; 8] {
    let mode = if wait.shared_mode { SHARED_MODE } else { 0 };
    let across = if wait.process_shared { PROCESS_SHARED } else { 0 };
    let flags = wait.kind as u8 | mode | across | (wait.outcome as u8) << OUTCOME_SHIFT;
    [
        header(Tag::Wait as u8, flags, 8, wait.owner_tid),
        wait.begin,
        wait.end,
        wait.object,
        wait.stack,
        wait.mutex,
        wait.cpu_begin,
        wait.cpu_end,
    ]
}

/// The words of a [`Record::Hold`].
#[allow(clippy::too_many_arguments, reason = "one argument for each field of the record, each named there")]
pub fn hold(
    begin: u64,
    end: u64,
    object: u64,
    kind: ObjectCode,
    shared_mode: bool,
    waited_for: bool,
    acquired_at: u64,
    stack: u64,
) -> [u64; 6] {
    let mode = if shared_mode { SHARED_MODE } else { 0 };
    let waited = if waited_for { WAITED_FOR } else { 0 };
    [header(Tag::Hold as u8, kind as u8 | mode | waited, 6, 0), begin, end, object, acquired_at, stack]
}

/// The words of a [`Record::Wake`].
pub fn wake(time: u64, object: u64, kind: ObjectCode, count: u32, stack: u64) -> [u64; 4] {
    [header(Tag::Wake as u8, kind as u8, 4, count), time, object, stack]
}

/// The words of a [`Record::Block`].
pub fn block(
    begin: u64,
    end: u64,
    call: CallCode,
    descriptor: u32,
    stack: u64,
    cpu_begin: u64,
    cpu_end: u64,
) -> [u64; 6] {
    [header(Tag::Block as u8, call as u8, 6, descriptor), begin, end, stack, cpu_begin, cpu_end]
}

/// The first words of a [`Record::Stack`]; `stack_words` words of stack follow.
pub fn stack_head(id: u64, ip: u64, sp: u64, bp: u64, stack_words: usize) -> [u64; 5] {
    [header(Tag::Stack as u8, 0, 5 + stack_words, 0), id, ip, sp, bp]
}

/// The first words of a [`Record::Module`]; the build id and then the path follow as packed bytes.
pub fn module_head(bias: u64, start: u64, end: u64, build_id_len: u8, path_len: usize) -> [u64; 4] {
    let bytes = build_id_len as usize + path_len;
    [header(Tag::Module as u8, build_id_len, 4 + words_for(bytes), bytes as u32), bias, start, end]
}

/// The words of a [`Record::ObjectInit`].
pub fn object_init(time: u64, object: u64, kind: ObjectCode, parties: u32, caller: u64) -> [u64; 4] {
    [header(Tag::ObjectInit as u8, kind as u8, 4, parties), time, object, caller]
}

/// The words of a [`Record::Use`].
pub fn lock_use(
    object: u64,
    kind: ObjectCode,
    of_all_threads: bool,
    acquisitions: u64,
    failed_tries: u64,
    timed_holds: u64,
    timed_ticks: u64,
) -> [u64; 6] {
    let all = if of_all_threads { SHARED_MODE } else { 0 };
    [
        header(Tag::Use as u8, kind as u8 | all, 6, 0),
        object,
        acquisitions,
        failed_tries,
        timed_holds,
        timed_ticks,
    ]
}

/// The words of a [`Record::BusyLock`].
pub fn busy_lock(lock: &BusyLock) -> [u64; 8] {
    [
        header(Tag::BusyLock as u8, lock.kind as u8, 8, lock.every),
        lock.object,
        lock.brief,
        lock.brief_ticks,
        lock.timed,
        lock.ticks,
        lock.releases,
        lock.release_ticks,
    ]
}

/// The words of a [`Record::LockCost`].
pub fn lock_cost(cost: &LockCost) -> [u64; 5] {
    [
        header(Tag::LockCost as u8, 0, 5, cost.every),
        cost.timed,
        cost.ticks,
        cost.hand_overs,
        cost.hand_over_ticks,
    ]
}

/// The first words of a [`Record::Marker`]; the label follows as packed bytes.
pub fn marker_head(time: u64, kind: MarkerCode, label_len: usize) -> [u64; 2] {
    [header(Tag::Marker as u8, kind as u8, 2 + words_for(label_len), label_len as u32), time]
}

/// The first word of a [`Record::Command`]; the bytes follow, packed.
pub fn command_head(len: usize) -> [u64; 1] {
    [header(Tag::Command as u8, 0, 1 + words_for(len), len as u32)]
}

/// The first words of a [`Record::ThreadName`]; the name follows as packed bytes.
pub fn thread_name_head(handle: u64, len: usize) -> [u64; 2] {
    [header(Tag::ThreadName as u8, 0, 2 + words_for(len), len as u32), handle]
}

/// Reads the record at the start of `words`; gives it and its length in words.
///
/// # Errors
/// [`BadRecord`], which says whether the records after it can still be read.
pub fn read(words: &[u64]) -> Result<(Record<'_>, usize), BadRecord> {
    let head = *words.first().ok_or(BadRecord::Length)?;
    let len = (head >> 16 & 0xffff) as usize;
    if len == 0 || len > words.len() {
        return Err(BadRecord::Length);
    }
    record(head, &words[..len]).map(|record| (record, len)).ok_or(BadRecord::Unknown(len))
}

fn record(head: u64, words: &[u64]) -> Option<Record<'_>> {
    let flags = (head >> 8) as u8;
    let small = (head >> 32) as u32;
    let word = |index: usize| words.get(index).copied();
    let kind = || ObjectCode::from_code(flags & 0xf);
    let shared_mode = flags & SHARED_MODE != 0;
    let text = |from: usize| Text::new(words.get(from..)?, small as usize);
    if head as u8 >= openmp::FIRST_TAG {
        return openmp::event(head, words).map(Record::OpenMp);
    }
    Some(match Tag::from_code(head as u8)? {
        Tag::ThreadStart => Record::ThreadStart {
            time: word(1)?,
            parent: small,
            entry: word(2)?,
            stack: word(3)?,
            handle: word(4)?,
            tid: word(5)? as u32,
        },
        Tag::Alone => Record::Alone(Stretch {
            begin: word(1)?,
            end: word(2)?,
            cpu_begin: word(3)?,
            cpu_end: word(4)?,
            disturbed: word(5)?,
            why: AloneCode::from_code(flags)?,
        }),
        Tag::Cpu => Record::Cpu { time: word(1)?, cpu: word(2)? },
        Tag::CpuOf => Record::CpuOf { thread: small, cpu: word(1)? },
        Tag::ThreadEnd => Record::ThreadEnd { time: word(1)?, cpu: word(2)? },
        Tag::Wait => Record::Wait(WaitRecord {
            begin: word(1)?,
            end: word(2)?,
            object: word(3)?,
            kind: kind()?,
            shared_mode,
            process_shared: flags & PROCESS_SHARED != 0,
            outcome: OutcomeCode::from_code(flags >> OUTCOME_SHIFT & 3)?,
            owner_tid: small,
            stack: word(4)?,
            mutex: word(5)?,
            cpu_begin: word(6)?,
            cpu_end: word(7)?,
        }),
        Tag::Hold => Record::Hold {
            begin: word(1)?,
            end: word(2)?,
            object: word(3)?,
            kind: kind()?,
            shared_mode,
            waited_for: flags & WAITED_FOR != 0,
            acquired_at: word(4)?,
            stack: word(5)?,
        },
        Tag::Wake => {
            Record::Wake { time: word(1)?, object: word(2)?, kind: kind()?, count: small, stack: word(3)? }
        }
        Tag::Block => Record::Block {
            begin: word(1)?,
            end: word(2)?,
            call: CallCode::from_code(flags)?,
            descriptor: small,
            stack: word(3)?,
            cpu_begin: word(4)?,
            cpu_end: word(5)?,
        },
        Tag::Stack => {
            Record::Stack { id: word(1)?, ip: word(2)?, sp: word(3)?, bp: word(4)?, words: words.get(5..)? }
        }
        Tag::Module => {
            let text = text(4)?;
            let build_id_len = flags;
            (build_id_len as usize <= text.len()).then_some(())?;
            Record::Module { bias: word(1)?, start: word(2)?, end: word(3)?, text, build_id_len }
        }
        Tag::ObjectInit => Record::ObjectInit {
            time: word(1)?,
            object: word(2)?,
            kind: kind()?,
            parties: small,
            caller: word(3)?,
        },
        Tag::Use => Record::Use {
            object: word(1)?,
            kind: kind()?,
            of_all_threads: shared_mode,
            acquisitions: word(2)?,
            failed_tries: word(3)?,
            timed_holds: word(4)?,
            timed_ticks: word(5)?,
        },
        Tag::BusyLock => Record::BusyLock(BusyLock {
            object: word(1)?,
            kind: kind()?,
            brief: word(2)?,
            brief_ticks: word(3)?,
            every: small,
            timed: word(4)?,
            ticks: word(5)?,
            releases: word(6)?,
            release_ticks: word(7)?,
        }),
        Tag::LockCost => Record::LockCost(LockCost {
            every: small,
            timed: word(1)?,
            ticks: word(2)?,
            hand_overs: word(3)?,
            hand_over_ticks: word(4)?,
        }),
        Tag::Marker => {
            Record::Marker { time: word(1)?, kind: MarkerCode::from_code(flags)?, label: text(2)? }
        }
        Tag::Command => Record::Command { text: text(1)? },
        Tag::ThreadName => Record::ThreadName { handle: word(1)?, text: text(2)? },
    })
}
