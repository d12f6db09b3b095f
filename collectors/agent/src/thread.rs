//! The thread's own block.

pub(crate) mod alone;
mod live;
pub(crate) mod openmp;
pub(crate) mod strangers;

use core::cell::Cell;
use core::ptr;

use holdup_trace::shared::{Chunk, Slot};

use crate::allowance::Allowance;
use crate::arch::{self, number, system_call};
use crate::{cpu, life};

/// A hold that is being timed.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TimedHold {
    /// The lock.
    pub object: u64,
    /// When it was acquired.
    pub begin: u64,
    /// The return address of the call that acquired it.
    pub caller: u64,
}

/// How many holds a thread can time at once; deeper nesting is counted and not timed.
pub const TIMED_HOLDS: usize = 8;

/// What a thread keeps for itself: fits into [`arch::THREAD_BLOCK`], and all zero is its first state.
#[repr(C)]
pub struct Thread {
    /// Its slot; null before it has one.
    pub slot: Cell<*const Slot>,
    /// The chunk it writes to; null if it has none.
    pub chunk: Cell<*const Chunk>,
    /// Words used in the chunk.
    pub used: Cell<u32>,
    /// Not 0 while a hook of ours is at work: a signal handler that comes in then must not record.
    pub busy: Cell<u32>,
    /// How many of `holds` are in use.
    pub timed: Cell<u32>,
    /// 1 once the thread has said that it ends.
    pub ended: Cell<u32>,
    /// How often the destructor of the thread has been called.
    pub destructor_runs: Cell<u32>,
    /// How often it is asking the loader: more than once if a signal handler does while the thread does.
    pub(crate) asking: Cell<u32>,
    /// How often it is forking.
    pub(crate) forking: Cell<u32>,
    /// The lowest address of its stack; 0 if unknown.
    pub stack_low: Cell<u64>,
    /// Holds that are being timed.
    pub holds: [Cell<TimedHold>; TIMED_HOLDS],
    /// Its acts at queues that nobody waits at: see `waits::may_tell_of_queue`.
    pub queue_acts: Allowance,
    /// Its waits for locks: see `busy`.
    pub lock_waits: Allowance,
    /// Its holds of busy locks.
    pub lock_holds: Allowance,
    /// The CPU clock.
    pub cpu: cpu::Clock,
    /// For a `once`: the function that it is to run, and whether it ran in this thread.
    pub once: Cell<Option<extern "C" fn()>>,
    /// See `once`.
    pub once_ran: Cell<u32>,
    /// How it counts locks that it takes too many of.
    pub strangers: strangers::Strangers,
    /// Where the thread stands in OpenMP.
    pub openmp: openmp::Standing,
    /// Where one thread is to run by itself: where this one stands.
    pub alone: alone::Standing,
    /// Where its criticality is kept up to date: where it stands.
    pub live: live::Standing,
}

const _: () = assert!(size_of::<Thread>() <= arch::THREAD_BLOCK);

/// The calling thread's block.
#[inline(always)]
pub fn this() -> &'static Thread {
    // SAFETY: the block is zero at first, which is a valid state, is only reached by its own thread, and outlives
    // every call from it. References do not leave the thread.
    unsafe { &*arch::thread_block().cast::<Thread>() }
}

/// The calling thread's slot, if it writes and has one.
pub(crate) fn slot() -> Option<&'static Slot> {
    let slot = this().slot.get();
    // SAFETY: a thread's slot is in the process's file, which stays mapped while recording.
    if life::writes() && !slot.is_null() { Some(unsafe { &*slot }) } else { None }
}

/// Empties the block: in the child of a fork, whose parent's slot is not its own.
pub fn forget() {
    let thread = this();
    thread.slot.set(ptr::null());
    thread.chunk.set(ptr::null());
    thread.used.set(0);
    thread.busy.set(0);
    thread.timed.set(0);
    thread.cpu.forget();
    thread.openmp.forget();
    thread.alone.forget();
    thread.live.forget();
}

/// The calling thread's kernel id; 0 where we may not ask.
pub fn tid() -> u32 {
    if life::confined() {
        return 0;
    }
    // SAFETY: the call only tells.
    unsafe { system_call(number::GETTID, [0; 6]) as u32 }
}
