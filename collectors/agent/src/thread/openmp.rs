//! Where a thread stands in OpenMP: the regions that it met, the instances that it takes part in, what it has begun there.

mod tables;

use core::cell::Cell;
use core::mem::offset_of;
use core::ptr;

use holdup_trace::openmp::NO_INSTANCE;

pub(crate) use tables::{Activity, GREATEST_HEIGHT, HEIGHT, Level, OpenWork, SUMS, Sum, Tables};
pub use tables::{Encounter, Waiting};

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
    /// Free for the front-ends: 1 while the thread is in a wait that is not said, since there is nothing to wait for.
    pub no_wait: Cell<u32>,
    /// What is known of the lock that the thread wants: see `openmp::wants`.
    pub(crate) wanted_at: Cell<u64>,
}

impl Standing {
    /// Where in it the word lies that is not 0 in a whole instance: for stubs that cannot call
    /// [`is_whole`](crate::openmp::is_whole).
    pub const IS_WHOLE: usize = offset_of!(Standing, whole);

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
