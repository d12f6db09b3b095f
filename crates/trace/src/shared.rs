//! The memory that measured programs and the recorder share.
//!
//! A session has one directory. In it lie the file `session` ([`Session`], one page) and a file `p0`, `p1`, … for
//! each process ([`Header`]). The recorder makes process files ahead of need and reserves every page before a
//! program can see it: writing to a page that a full disk cannot back would kill the program with SIGBUS. A
//! process takes the next file by raising [`Session::claimed`], which must stay below [`Session::made`].
//!
//! A process file is laid out as
//!
//! | from | what |
//! |---|---|
//! | 0 | [`Header`], one page |
//! | [`USES_OFFSET`] | [`USES`] × [`SharedUse`]: counts that no longer fit into a thread's own table |
//! | [`SLOTS_OFFSET`] | [`SLOTS`] × [`Slot`], two pages for each live thread |
//! | [`CHUNKS_OFFSET`] | [`CHUNKS`] × [`Chunk`]: where records are written |
//!
//! Slots and chunks that are free, and chunks that are full, are linked in stacks: a head word of tag (upper 32
//! bits, raised at each change) and index + 1 (lower 32 bits; 0 for none). The recorder puts only reserved pages
//! on the free stacks, so a program that takes one can write to all of it.
//!
//! Everything here can be scribbled over by a faulty program: the recorder checks each index it reads.

mod turns;

use crate::alone;
use crate::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::codes::{ObjectCode, OutcomeCode};
use crate::live;
use crate::openmp;
use crate::wire::{self, UNKNOWN, WaitRecord};

/// The first word of a session file.
pub const SESSION_MAGIC: u64 = u64::from_le_bytes(*b"hldpsess");
/// The first word of a process file.
pub const PROCESS_MAGIC: u64 = u64::from_le_bytes(*b"hldpproc");
/// The version of this layout and of the wire format.
pub const VERSION: u32 = 9;

/// The environment variable that names the session's directory.
pub const SESSION_VARIABLE: &str = "HOLDUP_SESSION";

const PAGE: usize = 4096;
/// Where in a session file its processes keep what they know of the channels between them: theirs alone, 0 at first.
pub const CHANNELS_OFFSET: usize = PAGE;
/// Bytes of that.
pub const CHANNELS_SIZE: usize = 96 * 1024;
/// The length of a session file.
pub const SESSION_FILE_SIZE: usize = CHANNELS_OFFSET + CHANNELS_SIZE;
/// Bytes of a slot.
pub const SLOT_SIZE: usize = 2 * PAGE;
/// Bytes of a chunk, its head included.
pub const CHUNK_SIZE: usize = 32 * 1024;
/// Words of records in a chunk.
pub const CHUNK_WORDS: usize = (CHUNK_SIZE - 64) / 8;
/// Slots in a process file: threads alive at one time.
pub const SLOTS: usize = 16384;
/// So many of them a process maps at first.
pub const FIRST_SLOTS: usize = 4096;
/// Chunks in a process file: 640 MiB, of which only what threads need is ever there.
pub const CHUNKS: usize = 20480;
/// So many of them a process maps at first: 64 MiB.
pub const FIRST_CHUNKS: usize = 2048;
/// With more live threads than this a process maps all slots and chunks.
pub const MANY_THREADS: u32 = 1000;
/// Entries of the process's table of lock uses.
pub const USES: usize = 4096;
/// Where that table lies.
pub const USES_OFFSET: usize = PAGE;
/// Where the slots lie.
pub const SLOTS_OFFSET: usize = USES_OFFSET + USES * size_of::<SharedUse>();
/// Where the chunks lie.
pub const CHUNKS_OFFSET: usize = SLOTS_OFFSET + SLOTS * SLOT_SIZE;
/// The length of a process file.
pub const PROCESS_FILE_SIZE: usize = CHUNKS_OFFSET + CHUNKS * CHUNK_SIZE;

/// Set in [`Session::flags`]: time and record every hold.
pub const HOLDS_ALL: u32 = 1;
/// Set in [`Session::flags`]: leave arguments out of the recording.
pub const NO_ARGUMENTS: u32 = 2;
/// Set in [`Session::flags`]: the clock is CLOCK_MONOTONIC in ns, not the processor's counter.
pub const MONOTONIC_CLOCK: u32 = 4;
/// Set in [`Session::flags`]: who counts the program's instructions, an emulator's plugin or the program itself, may want
/// marks ([`crate::instructions`]).
pub const MARKS: u32 = 8;
/// Set in [`Session::flags`]: one thread of the program is to run by itself ([`crate::alone`]).
pub const ALONE: u32 = 16;
/// Set in [`Session::flags`]: criticality is kept up to date while the program runs ([`crate::live`]).
pub const LIVE: u32 = 32;
/// Set in [`Session::flags`]: time holds of locks that are waited for no more often than those of others; and time some
/// acquisitions that do not wait, and all releases that wake somebody.
pub const HOLDS_SAMPLED: u32 = 128;
/// Set in [`Session::flags`], beside [`LIVE`]: nothing is recorded.
pub const UNRECORDED: u32 = 64;

/// Why a process was not recorded: indices into [`Session::refused`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Refusal {
    /// No process file was ready.
    NoFile = 0,
    /// A process file could not be opened.
    Open = 1,
    /// A process file could not be mapped.
    Map = 2,
    /// Address space is limited so much that the recording's own would be felt.
    AddressSpace = 3,
    /// The library is of another version than the recorder.
    Version = 4,
    /// An executed program is one that the library must not enter.
    Program = 5,
    /// A program was executed with an environment that does not name the library.
    Environment = 6,
}

/// How many [`Refusal`]s there are.
pub const REFUSALS: usize = 7;

/// The first page of a session.
#[repr(C)]
pub struct Session {
    /// [`SESSION_MAGIC`].
    pub magic: u64,
    /// [`VERSION`].
    pub version: u32,
    /// [`HOLDS_ALL`] and the other flags.
    pub flags: u32,
    /// Raised, and woken as a futex, when the recorder has something to do.
    pub doorbell: AtomicU32,
    /// 1 while the recorder sleeps on the doorbell.
    pub recorder_waits: AtomicU32,
    /// How many process files have been made.
    pub made: AtomicU32,
    /// How many have been taken.
    pub claimed: AtomicU32,
    /// 1 when the recorder has left: nothing is read any more.
    pub closed: AtomicU32,
    /// How often the recorder has looked at what there is to do: who waits for it sees that it is there. A futex.
    pub rounds: AtomicU32,
    /// How many wait for that.
    pub waiters: AtomicU32,
    /// `rounds` + 1 when somebody last waited in vain; 0 for never.
    pub unheard: AtomicU32,
    /// 1 once no more process files can be made.
    pub is_full: AtomicU32,
    /// Ticks of the clock in 20 µs: shorter blocking calls are not recorded.
    pub short_call_ticks: AtomicU32,
    /// How many forked children have done nothing yet that is recorded, and not executed another program.
    pub silent_forks: AtomicU32,
    /// How often each [`Refusal`] happened.
    pub refused: [AtomicU32; REFUSALS],
    /// The processor time in ns and the ticks that correspond, for conversion inside the program: ticks per µs.
    pub ticks_per_us: AtomicU32,
    /// Ticks of the clock in a second.
    pub ticks_per_second: AtomicU64,
}

/// The state of a process file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ProcessState {
    /// Made, not taken.
    Spare = 0,
    /// A process writes to it.
    Live = 1,
    /// The process said that it ends.
    Ended = 2,
}

/// The first page of a process file.
#[repr(C)]
pub struct Header {
    /// [`PROCESS_MAGIC`].
    pub magic: u64,
    /// [`VERSION`].
    pub version: u32,
    /// A [`ProcessState`].
    pub state: AtomicU32,
    /// Kernel process id.
    pub pid: AtomicU32,
    /// That of its parent.
    pub parent_pid: AtomicU32,
    /// When the library was initialized in it, in ticks.
    pub start: AtomicU64,
    /// When it ended, in ticks; 0 if that was not seen.
    pub end: AtomicU64,
    /// 1 once the process has executed a program without the library, at `end`.
    pub executed: AtomicU32,
    /// 1 if the process is a fork that did not execute another program.
    pub forked: AtomicU32,
    /// The number of the next thread.
    pub next_thread: AtomicU32,
    /// Chunks that can be written.
    pub free_chunks: AtomicU64,
    /// Chunks that can be read.
    pub full_chunks: AtomicU64,
    /// Slots that can be taken.
    pub free_slots: AtomicU64,
    /// How many chunks the process has mapped.
    pub mapped_chunks: AtomicU32,
    /// How many slots the process has mapped.
    pub mapped_slots: AtomicU32,
    /// How many slots are taken.
    pub taken_slots: AtomicU32,
    /// 1 once no more slots and chunks can be reserved.
    pub is_full: AtomicU32,
    /// Events of threads that have ended; those of live ones are in their slots.
    pub events: AtomicU64,
    /// Events for which there was no chunk.
    pub lost_events: AtomicU64,
    /// Events in signal handlers that interrupted a hook.
    pub lost_in_signals: AtomicU64,
    /// Threads for which there was no slot.
    pub lost_threads: AtomicU64,
    /// Uses of locks, by threads that have ended, for which there was no entry; those of live ones are in their slots.
    pub lost_uses: AtomicU64,
    /// What one recorded event costs, in 1/16 ticks.
    pub event_cost: AtomicU32,
    /// What counting one use costs, in 1/16 ticks.
    pub use_cost: AtomicU32,
    /// 1 once the program has confined itself (seccomp): no system calls of ours from then on.
    pub confined: AtomicU32,
    /// Who runs by itself, where one thread is to.
    pub alone: alone::Block,
    /// Criticality while the program runs, where that is wanted.
    pub live: live::Block,
}

/// How often a thread used one lock.
#[repr(C)]
pub struct LocalUse {
    /// The lock's address; 0 if the entry is empty.
    pub object: AtomicU64,
    /// Acquisitions.
    pub acquisitions: AtomicU64,
    /// Ticks in timed holds.
    pub timed_ticks: AtomicU64,
    /// Timed holds.
    pub timed_holds: AtomicU32,
    /// Failed tries (lower 28 bits) and the [`crate::wire::ObjectCode`] (upper 4).
    pub failed_and_kind: AtomicU32,
}

/// What locks cost a thread beside waiting for them: see [`wire::LockCost`].
#[repr(C)]
pub struct LocalLockCost {
    /// Timed acquisitions.
    pub timed: AtomicU64,
    /// Ticks in these.
    pub ticks: AtomicU64,
    /// Releases of locks that others waited for.
    pub hand_overs: AtomicU64,
    /// Ticks in these.
    pub hand_over_ticks: AtomicU64,
}

/// What a lock costs a thread that waits for it so often that not each wait is recorded: see [`wire::BusyLock`].
#[repr(C)]
pub struct LocalBusy {
    /// The lock's address; 0 if the entry is empty.
    pub object: AtomicU64,
    /// Ticks in brief waits.
    pub brief_ticks: AtomicU64,
    /// Ticks in timed acquisitions.
    pub ticks: AtomicU64,
    /// Ticks in timed releases.
    pub release_ticks: AtomicU64,
    /// Timed releases.
    pub releases: AtomicU32,
    /// Brief waits.
    pub brief: AtomicU32,
    /// Timed acquisitions (lower 28 bits) and the [`crate::wire::ObjectCode`] (upper 4).
    pub timed_and_kind: AtomicU32,
}

/// Entries in a thread's table of busy locks.
pub const LOCAL_BUSY: usize = 64;

impl LocalBusy {
    /// The record of it; `None` if there is nothing to tell.
    pub fn record(&self) -> Option<[u64; 8]> {
        let object = self.object.load(Ordering::Relaxed);
        let packed = self.timed_and_kind.load(Ordering::Relaxed);
        let kind = ObjectCode::from_code((packed >> LOCAL_KIND_SHIFT) as u8).filter(|_| object != 0)?;
        let lock = wire::BusyLock {
            object,
            kind,
            brief: u64::from(self.brief.load(Ordering::Relaxed)),
            brief_ticks: self.brief_ticks.load(Ordering::Relaxed),
            every: ACQUIRES_TIMED,
            timed: u64::from(packed & ((1 << LOCAL_KIND_SHIFT) - 1)),
            ticks: self.ticks.load(Ordering::Relaxed),
            releases: u64::from(self.releases.load(Ordering::Relaxed)),
            release_ticks: self.release_ticks.load(Ordering::Relaxed),
        };
        (lock.brief + lock.timed > 0).then(|| wire::busy_lock(&lock))
    }
}

/// One in this many acquisitions of a thread is timed, where they are.
pub const ACQUIRES_TIMED: u32 = 64;

impl LocalLockCost {
    /// The record of it; `None` if there is nothing to tell.
    pub fn record(&self) -> Option<[u64; 5]> {
        let cost = wire::LockCost {
            every: ACQUIRES_TIMED,
            timed: self.timed.load(Ordering::Relaxed),
            ticks: self.ticks.load(Ordering::Relaxed),
            hand_overs: self.hand_overs.load(Ordering::Relaxed),
            hand_over_ticks: self.hand_over_ticks.load(Ordering::Relaxed),
        };
        (cost.timed + cost.hand_overs > 0).then(|| wire::lock_cost(&cost))
    }
}

/// Entries in a thread's own table of uses.
pub const LOCAL_USES: usize = 64;

/// Two pages for each live thread, of which one that has no busy locks uses the first.
#[repr(C, align(4096))]
pub struct Slot {
    /// The next slot in its stack, index + 1.
    pub next: AtomicU32,
    /// 1 while a thread owns it.
    pub live: AtomicU32,
    /// The number of the thread.
    pub thread: AtomicU32,
    /// Its kernel thread id.
    pub tid: AtomicU32,
    /// The chunk it writes to, index + 1; 0 for none.
    pub chunk: AtomicU32,
    /// How many chunks it has filled.
    pub filled: AtomicU32,
    /// Events that it recorded.
    pub events: AtomicU64,
    /// What it waits for: 0 for nothing, else [`crate::wire::ObjectCode`] + 1. Written after the other `wait_`s.
    pub wait_kind: AtomicU32,
    /// 1 if it is wanted together with other readers.
    pub wait_shared: AtomicU32,
    /// Since when.
    pub wait_begin: AtomicU64,
    /// The object.
    pub wait_object: AtomicU64,
    /// Where.
    pub wait_stack: AtomicU64,
    /// The mutex of a condition wait.
    pub wait_mutex: AtomicU64,
    /// CPU time then.
    pub wait_cpu: AtomicU64,
    /// The kernel thread id of the owner then.
    pub wait_owner: AtomicU32,
    /// What a parent leaves for its child between `pthread_create` and the child's first instruction: the
    /// parent's number, the start function, its argument, and where it was created.
    pub parent: AtomicU32,
    /// See `parent`.
    pub entry: AtomicU64,
    /// See `parent`.
    pub argument: AtomicU64,
    /// See `parent`.
    pub created_stack: AtomicU64,
    /// The size of its stack in bytes; 0 if unknown.
    pub stack_size: AtomicU64,
    /// Its `pthread_t`.
    pub handle: AtomicU64,
    /// When it started.
    pub start: AtomicU64,
    /// Its counts.
    pub uses: [LocalUse; LOCAL_USES],
    /// The innermost OpenMP region that it met and that has not ended, so that one that never ends is known too: its
    /// instance ([`openmp::NO_INSTANCE`] if there is none). Written after the other `region_`s.
    pub region_instance: AtomicU64,
    /// When it began.
    pub region_begin: AtomicU64,
    /// See [`openmp::Region::function`].
    pub region_function: AtomicU64,
    /// See [`openmp::Region::caller`].
    pub region_caller: AtomicU64,
    /// Its acquisitions of OpenMP locks.
    pub acquires: [LocalAcquire; LOCAL_ACQUIRES],
    /// What other locks cost it, where holds are sampled.
    pub lock_cost: LocalLockCost,
    /// Where one thread is to run by itself: what this one does, an [`alone::Conduct`].
    pub alone_state: AtomicU32,
    /// Where one thread is to run by itself: locks that this one holds, as far as is known.
    pub alone_depth: AtomicU32,
    /// What it waits for, if it does: an object's address, [`alone::TEAM`] or [`alone::CALL`].
    pub alone_object: AtomicU64,
    /// Since when it runs, in ticks, if it does.
    pub alone_since: AtomicU64,
    /// If it is held since it began: the generation of the turn then, + 1; else 0.
    pub alone_began: AtomicU32,
    /// Uses of locks for which there was no entry, as in [`Header::lost_uses`]. Counted there by each thread, all of them wait
    /// for that line, and for those that lie beside it.
    pub lost_uses: AtomicU64,
    /// The thread's criticality while it runs, where that is wanted.
    pub live_cell: live::ThreadCell,
    /// How many entries of `busy` are of locks.
    pub busy_locks: AtomicU32,
    /// Locks that it waits for very often.
    pub busy: [LocalBusy; LOCAL_BUSY],
}

/// How often a thread acquired OpenMP locks at one place in one region: see [`openmp::Acquire`].
#[repr(C)]
pub struct LocalAcquire {
    /// The return address of the calls; 0 if the entry is empty.
    pub caller: AtomicU64,
    /// The function of the region around them.
    pub function: AtomicU64,
    /// The [`ObjectCode`].
    pub kind: AtomicU64,
    /// Acquisitions.
    pub acquisitions: AtomicU64,
    /// How many of those that did not wait were timed.
    pub timed: AtomicU64,
    /// Ticks in these.
    pub ticks: AtomicU64,
    /// Ticks in the fastest of these.
    pub fastest: AtomicU64,
    /// How many had to wait.
    pub waits: AtomicU64,
    /// Ticks in these.
    pub wait_ticks: AtomicU64,
}

/// Entries in a thread's table of acquisitions.
pub const LOCAL_ACQUIRES: usize = 16;

impl LocalAcquire {
    /// The record of these counts; `None` if there are none.
    pub fn record(&self) -> Option<openmp::Acquire> {
        let caller = self.caller.load(Ordering::Relaxed);
        let kind = ObjectCode::from_code(self.kind.load(Ordering::Relaxed) as u8).filter(|_| caller != 0)?;
        Some(openmp::Acquire {
            caller,
            function: self.function.load(Ordering::Relaxed),
            kind,
            acquisitions: self.acquisitions.load(Ordering::Relaxed),
            timed: self.timed.load(Ordering::Relaxed),
            ticks: self.ticks.load(Ordering::Relaxed),
            fastest: self.fastest.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
            wait_ticks: self.wait_ticks.load(Ordering::Relaxed),
        })
    }
}

/// Counts of a lock by threads whose own tables were full.
#[repr(C)]
pub struct SharedUse {
    /// The lock's address; 0 if the entry is empty.
    pub object: AtomicU64,
    /// Acquisitions.
    pub acquisitions: AtomicU64,
    /// Ticks in timed holds.
    pub timed_ticks: AtomicU64,
    /// Timed holds.
    pub timed_holds: AtomicU64,
    /// Failed tries (lower 60 bits) and the [`crate::wire::ObjectCode`] (upper 4).
    pub failed_and_kind: AtomicU64,
}

/// A run of records of one thread.
#[repr(C, align(64))]
pub struct Chunk {
    /// The next chunk in its stack, index + 1.
    pub next: AtomicU32,
    /// The number of the thread; [`crate::wire::NO_THREAD`] while it is free.
    pub thread: AtomicU32,
    /// Which of that thread's chunks it is, from 0.
    pub sequence: AtomicU32,
    /// Words that hold whole records.
    pub used: AtomicU32,
    reserved: [u64; 6],
    /// The records.
    pub words: [AtomicU64; CHUNK_WORDS],
}

/// In [`LocalUse::failed_and_kind`]: where the kind begins.
pub const LOCAL_KIND_SHIFT: u32 = 28;
/// In [`SharedUse::failed_and_kind`]: where the kind begins.
pub const SHARED_KIND_SHIFT: u32 = 60;

impl LocalUse {
    /// The record of these counts; `None` if there are none.
    pub fn record(&self) -> Option<[u64; 6]> {
        let object = self.object.load(Ordering::Relaxed);
        let packed = self.failed_and_kind.load(Ordering::Relaxed);
        let kind = ObjectCode::from_code((packed >> LOCAL_KIND_SHIFT) as u8).filter(|_| object != 0)?;
        Some(wire::lock_use(
            object,
            kind,
            false,
            self.acquisitions.load(Ordering::Relaxed),
            u64::from(packed & ((1 << LOCAL_KIND_SHIFT) - 1)),
            u64::from(self.timed_holds.load(Ordering::Relaxed)),
            self.timed_ticks.load(Ordering::Relaxed),
        ))
    }
}

impl SharedUse {
    /// The record of these counts, as of all threads; `None` if there are none.
    pub fn record(&self) -> Option<[u64; 6]> {
        let object = self.object.load(Ordering::Relaxed);
        let packed = self.failed_and_kind.load(Ordering::Relaxed);
        let kind = ObjectCode::from_code((packed >> SHARED_KIND_SHIFT) as u8).filter(|_| object != 0)?;
        Some(wire::lock_use(
            object,
            kind,
            true,
            self.acquisitions.load(Ordering::Relaxed),
            packed & ((1 << SHARED_KIND_SHIFT) - 1),
            self.timed_holds.load(Ordering::Relaxed),
            self.timed_ticks.load(Ordering::Relaxed),
        ))
    }
}

impl Slot {
    /// The record that its thread begins.
    pub fn begin(&self) -> [u64; 6] {
        wire::thread_start(
            self.start.load(Ordering::Relaxed),
            self.parent.load(Ordering::Relaxed),
            self.entry.load(Ordering::Relaxed),
            self.created_stack.load(Ordering::Relaxed),
            self.handle.load(Ordering::Relaxed),
            self.tid.load(Ordering::Relaxed),
        )
    }

    /// The wait that the thread is in, as one that has not ended at `now` (ticks); `None` if it is in none.
    pub fn open_wait(&self, now: u64) -> Option<WaitRecord> {
        let code = self.wait_kind.load(Ordering::Acquire).checked_sub(1)?;
        let begin = self.wait_begin.load(Ordering::Relaxed);
        Some(WaitRecord {
            begin,
            end: now.max(begin),
            object: self.wait_object.load(Ordering::Relaxed),
            kind: ObjectCode::from_code(code as u8)?,
            shared_mode: self.wait_shared.load(Ordering::Relaxed) != 0,
            process_shared: false,
            outcome: OutcomeCode::Open,
            owner_tid: self.wait_owner.load(Ordering::Relaxed),
            stack: self.wait_stack.load(Ordering::Relaxed),
            mutex: self.wait_mutex.load(Ordering::Relaxed),
            cpu_begin: self.wait_cpu.load(Ordering::Relaxed),
            cpu_end: UNKNOWN,
        })
    }
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Session>() <= PAGE);
    assert!(size_of::<Header>() <= PAGE);
    assert!(size_of::<Slot>() == SLOT_SIZE);
    assert!(size_of::<Chunk>() == CHUNK_SIZE);
    assert!(SLOTS_OFFSET.is_multiple_of(PAGE) && CHUNKS_OFFSET.is_multiple_of(PAGE));
};

/// Takes the top of a stack whose links `next_of` reads; gives its index.
pub fn pop<'a>(head: &AtomicU64, next_of: impl Fn(u32) -> Option<&'a AtomicU32>) -> Option<u32> {
    let mut seen = head.load(Ordering::Acquire);
    loop {
        let index = (seen as u32).checked_sub(1)?;
        // The link may be of a later life of this element: then the tag has changed and the exchange fails.
        let next = next_of(index)?.load(Ordering::Relaxed);
        let wanted = (seen >> 32).wrapping_add(1) << 32 | u64::from(next);
        match head.compare_exchange_weak(seen, wanted, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Some(index),
            Err(now) => seen = now,
        }
    }
}

/// Puts element `index` on top of a stack; `link` is its link.
pub fn push(head: &AtomicU64, index: u32, link: &AtomicU32) {
    let mut seen = head.load(Ordering::Relaxed);
    loop {
        link.store(seen as u32, Ordering::Relaxed);
        let wanted = (seen >> 32).wrapping_add(1) << 32 | u64::from(index + 1);
        match head.compare_exchange_weak(seen, wanted, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => seen = now,
        }
    }
}

/// Takes a whole stack; gives the index + 1 of its top, 0 if it was empty.
pub fn take_all(head: &AtomicU64) -> u32 {
    let mut seen = head.load(Ordering::Acquire);
    loop {
        let wanted = (seen >> 32).wrapping_add(1) << 32;
        match head.compare_exchange_weak(seen, wanted, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return seen as u32,
            Err(now) => seen = now,
        }
    }
}

/// Where things of a mapped process file are. The pointer must stay mapped for as long as the value is used.
#[derive(Clone, Copy)]
pub struct ProcessFile {
    base: *const u8,
    chunk_base: *const u8,
    slots: u32,
    chunks: u32,
}

// SAFETY: everything behind the pointer is atomic.
unsafe impl Send for ProcessFile {}
// SAFETY: as above.
unsafe impl Sync for ProcessFile {}

impl ProcessFile {
    /// Describes a mapped process file of which `slots` slots and `chunks` chunks are mapped.
    ///
    /// # Safety
    /// `base` is the page-aligned start of a shared mapping of the file from its start to the last of those slots,
    /// `chunk_base` that of one from [`CHUNKS_OFFSET`] to the last of those chunks, and both stay mapped as long
    /// as the value or anything borrowed from it is used.
    pub const unsafe fn new(base: *const u8, slots: u32, chunk_base: *const u8, chunks: u32) -> Self {
        Self { base, chunk_base, slots, chunks }
    }

    fn at<'a, T>(base: *const u8, offset: usize) -> &'a T {
        // SAFETY: `new`'s caller vouches for the mapping; all fields are atomic or never written after creation,
        // every bit pattern is valid for them, and each offset is a multiple of the type's alignment.
        unsafe { &*base.add(offset).cast::<T>() }
    }

    /// The first page.
    pub fn header<'a>(self) -> &'a Header {
        Self::at(self.base, 0)
    }

    /// The table of uses.
    pub fn uses<'a>(self) -> &'a [SharedUse; USES] {
        Self::at(self.base, USES_OFFSET)
    }

    /// A slot, if it is mapped.
    pub fn slot<'a>(self, index: u32) -> Option<&'a Slot> {
        (index < self.slots).then(|| Self::at(self.base, SLOTS_OFFSET + index as usize * SLOT_SIZE))
    }

    /// The slots that threads use, or have used, where criticality is kept.
    pub fn live_slots<'a>(self) -> impl Iterator<Item = &'a Slot> {
        let used = self.header().live.slots.load(Ordering::Acquire).min(self.slots());
        (0..used).filter_map(move |index| self.slot(index))
    }

    /// A chunk, if it is mapped.
    pub fn chunk<'a>(self, index: u32) -> Option<&'a Chunk> {
        (index < self.chunks).then(|| Self::at(self.chunk_base, index as usize * CHUNK_SIZE))
    }

    /// The index of a slot of this file.
    pub fn slot_index(self, slot: &Slot) -> u32 {
        ((core::ptr::from_ref(slot) as usize - self.base as usize - SLOTS_OFFSET) / SLOT_SIZE) as u32
    }

    /// How many slots are mapped.
    pub fn slots(self) -> u32 {
        self.slots
    }

    /// How many chunks are mapped.
    pub fn chunks(self) -> u32 {
        self.chunks
    }
}
