//! What a thread keeps of OpenMP beyond its own block: the regions that it met, the instances that it takes part in, and what it
//! has begun there.
//!
//! Here is what there is; what becomes of each part is in the file of that part.

use core::cell::Cell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::wanted::Pending;

/// Regions around each other of which all is told; those deeper inside are passed over.
pub(crate) const DEPTH: usize = 6;
/// Waits and tasks that can lie on top of each other, and be told.
pub(crate) const HEIGHT: usize = 64;
/// Up to how many it is known of those above which are tasks.
pub(crate) const GREATEST_HEIGHT: usize = 4096;
/// Regions whose short executions a thread sums up at the same time.
pub(crate) const SUMS: usize = 4;

/// What a thread has beyond its own block.
pub(crate) struct Tables {
    pub(crate) encounters: [Encounter; DEPTH],
    pub(crate) levels: [Level; DEPTH],
    pub(crate) activities: [Activity; HEIGHT],
    /// A bit for each above these, which are not told: 1 for a task.
    pub(crate) high_tasks: [Cell<u64>; (GREATEST_HEIGHT - HEIGHT) / 64],
    pub(crate) sums: [Sum; SUMS],
    /// The wait for a lock that it is in: see `openmp::wants`.
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

/// A parallel region that a thread met and that has not ended. Others may read it until then.
pub struct Encounter {
    pub(crate) instance: AtomicU64,
    pub(crate) function: AtomicU64,
    pub(crate) whole: AtomicBool,
    /// True if the chunks of its worksharing constructs are recorded too.
    pub(crate) dealt: AtomicBool,
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
    /// Chunks that the thread recorded.
    pub(crate) chunks: AtomicU32,
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
    /// See [`Activity::children`], of the implicit task.
    pub(crate) children: Cell<bool>,
    /// Tasks made so far.
    pub(crate) tasks: Cell<u32>,
    /// Edges of waits and tasks that were timed and not told.
    pub(crate) edges: Cell<u32>,
    /// Chunks that were recorded.
    pub(crate) chunks: Cell<u32>,
    /// True while it makes the tasks of a `taskloop`.
    pub(crate) taskloop: Cell<bool>,
    pub(crate) work: OpenWork,
}

impl Level {
    /// The encounter of its region, where that is known.
    pub(crate) fn encounter(&self) -> Option<&'static Encounter> {
        // SAFETY: a part of a static.
        unsafe { self.encounter.get().as_ref() }
    }
}

/// A wait or a task.
pub(crate) struct Activity {
    pub(crate) is_task: Cell<bool>,
    /// True if the task has made others since it last waited for all that it had made.
    pub(crate) children: Cell<bool>,
    pub(crate) told: Cell<bool>,
    /// True if a piece of it has been told.
    pub(crate) continued: Cell<bool>,
    /// A [`SyncCode`](holdup_trace::openmp::SyncCode).
    pub(crate) kind: Cell<u8>,
    pub(crate) sequence: Cell<u32>,
    pub(crate) instance: Cell<u64>,
    pub(crate) caller: Cell<u64>,
    pub(crate) task: Cell<u64>,
    /// By what the front-end knows the task again; 0 for nothing.
    pub(crate) identity: Cell<u64>,
    /// When the present piece began.
    pub(crate) begin: Cell<u64>,
    pub(crate) cpu_begin: Cell<u64>,
}

/// Executions that are summed up.
pub(crate) struct Sum {
    /// Of which region; 0 for none.
    pub(crate) key: Cell<u64>,
    pub(crate) function: Cell<u64>,
    pub(crate) caller: Cell<u64>,
    pub(crate) stack: Cell<u64>,
    pub(crate) parent: Cell<u64>,
    pub(crate) instance: Cell<u64>,
    pub(crate) runtime: Cell<u8>,
    pub(crate) league: Cell<bool>,
    pub(crate) size: Cell<u32>,
    /// When the first one began.
    pub(crate) begin: Cell<u64>,
    /// When the last one that was timed ended.
    pub(crate) end: Cell<u64>,
    pub(crate) count: Cell<u32>,
    pub(crate) timed: Cell<u32>,
    pub(crate) ticks: Cell<u64>,
    /// Those that came after the last that was timed.
    pub(crate) since_timed: Cell<u32>,
    /// How many of the next ones are not timed.
    pub(crate) untimed_left: Cell<u32>,
    /// When the last one that was timed began, told by itself or not.
    pub(crate) last_clock: Cell<u64>,
}

impl Sum {
    /// Makes it the sum of nothing.
    pub(crate) fn clear(&self) {
        self.key.set(0);
        self.count.set(0);
        self.untimed_left.set(0);
    }
}

/// The worksharing construct that a thread is in.
pub(crate) struct OpenWork {
    pub(crate) state: Cell<u8>,
    pub(crate) kind: Cell<u8>,
    pub(crate) sequence: Cell<u32>,
    pub(crate) caller: Cell<u64>,
    pub(crate) begin: Cell<u64>,
    pub(crate) iterations: Cell<u64>,
    pub(crate) chunk: Cell<u32>,
    pub(crate) chunks: Cell<u32>,
    pub(crate) done: Cell<u64>,
    pub(crate) dealing: Cell<u64>,
    /// When the thread asked for the chunk that it has, or will get, where that is timed; else 0.
    pub(crate) asked: Cell<u64>,
    /// When it got it; 0 if it has none that is told.
    pub(crate) got: Cell<u64>,
    pub(crate) first: Cell<u64>,
    pub(crate) count: Cell<u64>,
}

/// An acquisition of a lock that was not free.
#[derive(Clone, Copy)]
pub struct Waiting {
    pub(crate) object: u64,
    pub(crate) pending: Option<Pending>,
}
