//! Where a thread stands: the regions that it met, the instances that it takes part in, what it has begun there.

use core::cell::Cell;
use core::mem::{MaybeUninit, offset_of};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use holdup_trace::openmp::NO_INSTANCE;

use super::activities::Activity;
use super::locks::Waiting;
use super::sums::Sum;
use super::works::OpenWork;
use crate::mapping::file;
use crate::{Recorder, enter, life, thread};

/// Threads alive at one time of which OpenMP's constructs are told: those in the first slots.
const THREADS: usize = 1024;
/// Regions around each other of which all is told; those deeper inside are passed over.
pub(crate) const DEPTH: usize = 6;
/// Waits and tasks that can lie on top of each other.
pub(crate) const HEIGHT: usize = 32;
/// Regions whose short executions a thread sums up at the same time.
pub(crate) const SUMS: usize = 4;

/// The part of this that lies in the thread's own block. All zero is its first state.
#[repr(C)]
pub struct Standing {
    /// The thread's tables; null before it has met OpenMP.
    pub(crate) tables: Cell<*const Tables>,
    /// The innermost instance it takes part in; null for none, or for one that is too deep.
    pub(crate) level: Cell<*const Level>,
    /// The function of the region around it, by which its uses of locks are counted.
    pub(crate) function: Cell<u64>,
    /// 1 if that instance is whole.
    pub(crate) whole: Cell<u32>,
    /// Instances that it takes part in.
    pub(crate) depth: Cell<u32>,
    /// Regions that it met and that have not ended.
    pub(crate) encounters: Cell<u32>,
    /// Regions that it has met since its start.
    pub(crate) met: Cell<u32>,
    /// Waits and tasks that it has begun and not ended.
    pub(crate) height: Cell<u32>,
    /// Tasks that it has made since its start.
    pub(crate) made: Cell<u32>,
    /// Locks of any kind that it has wanted, to choose those that are timed.
    pub(crate) wanted: Cell<u32>,
    /// Of the locks that somebody waited for, only acquisitions whose number has none of these bits are followed.
    pub(crate) follow_mask: Cell<u32>,
    /// When the last acquisition was timed.
    pub(crate) timed_at: Cell<u64>,
    /// Up to when (ticks) its waits for locks have used up what may be told of them.
    pub(crate) waits_told: Cell<u64>,
    /// The same of its holds.
    pub(crate) holds_told: Cell<u64>,
    /// Free for the front-end of gcc's runtime: which copy of the runtime the thread works for.
    pub runtime: Cell<usize>,
    /// Free for that front-end: the first iteration of the loop that the thread is in, and the step.
    pub loop_first: Cell<u64>,
    /// See `loop_first`.
    pub loop_step: Cell<u64>,
    /// Free for the front-ends: where a stub leaves the return address of a call.
    pub caller: Cell<u64>,
    /// Free for the front-ends: where a stub leaves the function of a region.
    pub microtask: Cell<u64>,
    /// Free for the front-ends: where a stub leaves the function of a task.
    pub task_entry: Cell<u64>,
    /// Free for the front-ends: where a stub leaves the chunk size that a loop asks for.
    pub chunk: Cell<u64>,
    /// What is known of the lock that the thread wants: see `wants`.
    pub(crate) wanted_at: Cell<u64>,
}

/// What a thread has beyond its own block.
pub(crate) struct Tables {
    pub(crate) encounters: [Encounter; DEPTH],
    pub(crate) levels: [Level; DEPTH],
    pub(crate) activities: [Activity; HEIGHT],
    pub(crate) sums: [Sum; SUMS],
    /// The wait for a lock that it is in: see `wants`.
    pub(crate) waiting: Cell<MaybeUninit<Waiting>>,
    /// The told wait or task that time is booked to, as its place in `activities` + 1; 0 for none.
    pub(crate) owner: Cell<u32>,
    /// Ticks since it became the owner in tasks that are not told by themselves.
    pub(crate) busy: Cell<u64>,
    /// When the last of these ended.
    pub(crate) busy_until: Cell<u64>,
    /// Since when one of these runs.
    pub(crate) busy_since: Cell<u64>,
}

// SAFETY: each table is only reached by the thread that owns its slot, except encounters, which are atomic.
unsafe impl Sync for Tables {}

// SAFETY: zero is a valid value of all fields, which are integers, booleans, and cells and atomics of these.
static TABLES: [Tables; THREADS] = [const { unsafe { core::mem::zeroed() } }; THREADS];

/// A parallel region that a thread met and that has not ended. Others may read it until then.
pub struct Encounter {
    pub(crate) instance: AtomicU64,
    pub(crate) function: AtomicU64,
    pub(crate) whole: AtomicBool,
    pub(crate) league: AtomicBool,
    pub(crate) runtime: AtomicU32,
    pub(crate) caller: AtomicU64,
    pub(crate) parent: AtomicU64,
    pub(crate) stack: AtomicU64,
    /// When it began; 0 if it is not timed.
    pub(crate) begin: AtomicU64,
    /// The threads of its team, where the front-end learns that before the region ends.
    pub(crate) size: AtomicU32,
    /// The thread's standing before.
    pub(crate) depth: AtomicU32,
    pub(crate) height: AtomicU32,
    /// Events that the thread had recorded before.
    pub(crate) events: AtomicU64,
    /// Edges of waits and tasks that were timed and not told.
    pub(crate) edges: AtomicU32,
    /// Windows of barriers that are told, whatever the thinning says, since they come rarely: the number of an even one
    /// plus one, and of an odd one. So the next can be decided on while threads are in the present one.
    pub(crate) windows_told: [AtomicU32; 2],
}

impl Encounter {
    /// Its instance.
    #[inline]
    pub fn instance(&self) -> u64 {
        self.instance.load(Ordering::Relaxed)
    }

    /// The function that the compiler made of the region; 0 if that was not said.
    #[inline]
    pub fn function(&self) -> u64 {
        self.function.load(Ordering::Relaxed)
    }

    /// True if all that happens in it is told.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.whole.load(Ordering::Relaxed)
    }

    /// Its team has so many threads; by the thread that met it.
    #[inline]
    pub fn has_team_of(&self, size: u32) {
        self.size.store(size, Ordering::Relaxed);
    }
}

/// An instance that a thread takes part in.
pub(crate) struct Level {
    pub(crate) instance: Cell<u64>,
    pub(crate) function: Cell<u64>,
    pub(crate) whole: Cell<bool>,
    /// True once the thread has done its part; it may still run tasks then.
    pub(crate) arrived: Cell<bool>,
    pub(crate) index: Cell<u32>,
    pub(crate) begin: Cell<u64>,
    pub(crate) cpu_begin: Cell<u64>,
    /// Worksharing constructs met so far.
    pub(crate) works: Cell<u32>,
    /// Barriers met so far.
    pub(crate) barriers: Cell<u32>,
    /// The encounter of its region, which all threads of the team see; null for none.
    pub(crate) encounter: Cell<*const Encounter>,
    /// When the thread that met the region began the present window of barriers.
    pub(crate) window_begin: Cell<u64>,
    /// Chunks that it got in this window of barriers.
    pub(crate) window_chunks: Cell<u32>,
    /// Other waits begun so far.
    pub(crate) waits: Cell<u32>,
    /// Tasks made so far.
    pub(crate) tasks: Cell<u32>,
    /// Edges of waits and tasks that were timed and not told.
    pub(crate) edges: Cell<u32>,
    /// True while it makes the tasks of a `taskloop`.
    pub(crate) taskloop: Cell<bool>,
    pub(crate) work: OpenWork,
}

/// True if the calling thread is in an instance of which all is told. What happens in others need not be said.
#[inline(always)]
pub fn is_whole() -> bool {
    thread::this().openmp.whole.get() != 0
}

/// The right to record, if the thread is in a whole instance: the child of a fork is in none any more.
#[inline]
pub(crate) fn enter_whole() -> Option<Recorder> {
    enter().filter(|recorder| recorder.thread().openmp.whole.get() != 0)
}

impl Standing {
    /// Where in it the word lies that is not 0 in a whole instance: for stubs that cannot call [`is_whole`].
    pub const IS_WHOLE: usize = offset_of!(Standing, whole);

    /// The thread's tables; `None` if it does not record.
    #[inline(always)]
    pub(crate) fn tables(&self) -> Option<&'static Tables> {
        if !life::recording() {
            return None;
        }
        let tables = self.tables.get();
        // SAFETY: a table of a static.
        if tables.is_null() { self.find_tables() } else { Some(unsafe { &*tables }) }
    }

    #[cold]
    #[inline(never)]
    fn find_tables(&self) -> Option<&'static Tables> {
        let recorder = enter()?;
        let index = file().slot_index(recorder.slot()) as usize;
        let tables = TABLES.get(index)?;
        tables.owner.set(0);
        tables.sums.iter().for_each(Sum::clear);
        self.tables.set(tables);
        Some(tables)
    }

    /// The innermost instance, if it is whole.
    #[inline(always)]
    pub(crate) fn whole_level(&self) -> Option<(&'static Tables, &'static Level)> {
        let (tables, level) = (self.tables.get(), self.level.get());
        if self.whole.get() == 0 || level.is_null() || tables.is_null() {
            return None;
        }
        // SAFETY: parts of a static.
        Some(unsafe { (&*tables, &*level) })
    }

    /// The innermost instance that the thread takes part in, or [`NO_INSTANCE`].
    #[inline]
    pub(crate) fn instance(&self) -> u64 {
        let level = self.level.get();
        // SAFETY: a part of a static.
        if level.is_null() { NO_INSTANCE } else { unsafe { &*level }.instance.get() }
    }

    /// Takes part in only the outermost `depth` instances any more.
    #[inline]
    pub(crate) fn return_to(&self, tables: &'static Tables, depth: u32) {
        self.depth.set(depth);
        let level = (depth as usize).checked_sub(1).and_then(|top| tables.levels.get(top));
        match level {
            Some(level) => {
                self.level.set(level);
                self.function.set(level.function.get());
                self.whole.set(u32::from(level.whole.get()));
            }
            None => {
                self.level.set(ptr::null());
                self.function.set(0);
                self.whole.set(0);
            }
        }
    }

    /// Forgets all: in the child of a fork.
    pub(crate) fn forget(&self) {
        self.tables.set(ptr::null());
        self.level.set(ptr::null());
        self.function.set(0);
        self.whole.set(0);
        self.depth.set(0);
        self.encounters.set(0);
        self.height.set(0);
        self.wanted_at.set(0);
    }
}
