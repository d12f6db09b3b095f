//! OpenMP's locks, critical sections and ordered regions.
//!
//! Every acquisition is counted by place and region, in a table of the thread's slot. One in [`ACQUIRES_TIMED`] of those that
//! find the lock free is timed, and the fastest kept: that is what the algorithm pays for the lock when nobody else is
//! there. All that find it taken are timed: the difference is contention. What is known lock by lock is as of mutexes: each wait,
//! or of busy ones ([`crate::busy`]) what they come to; uses and holds of locks that somebody waited for.

use core::sync::atomic::Ordering::Relaxed;

use holdup_trace::shared::{ACQUIRES_TIMED, LOCAL_ACQUIRES, LocalAcquire, Slot};
use holdup_trace::wire::{ObjectCode, OutcomeCode};

use crate::acquires::empty;
use crate::lock_cost::LONGEST_ACQUISITION_MICROS;
use crate::thread::openmp::Waiting;
use crate::uses::add;
use crate::waits::{self, Ending, Wanted};
use crate::{busy, enter, hot, life, lock_cost, thread};

/// A wait for the turn at an `ordered` is told from this length on (µs).
const LONG_TURN_MICROS: u64 = 5;

/// The calling thread wants a lock. Gives the time if this acquisition is to be timed, else 0.
#[inline(always)]
pub fn lock_wanted() -> u64 {
    let standing = &thread::this().openmp;
    let wanted = standing.wanted.get().wrapping_add(1);
    standing.wanted.set(wanted);
    if wanted.is_multiple_of(ACQUIRES_TIMED) && life::recording() { lock_cost::settled() } else { 0 }
}

/// The calling thread got the lock, which was free, by a call that returns to `caller`; `timed` is what
/// [`lock_wanted`] gave.
#[inline(always)]
pub fn lock_acquired(object: u64, kind: ObjectCode, caller: u64, timed: u64) {
    if !life::recording() {
        return;
    }
    let thread = thread::this();
    let slot = thread.slot.get();
    if timed != 0 || slot.is_null() {
        return acquired_seldom(object, kind, caller, timed);
    }
    // SAFETY: a thread's slot is in the process's file, which stays mapped while recording.
    let entry = entry(unsafe { &*slot }, caller, thread.openmp.function.get(), kind);
    add(&entry.acquisitions, 1);
    follow(object, kind, caller);
}

#[cold]
#[inline(never)]
fn acquired_seldom(object: u64, kind: ObjectCode, caller: u64, timed: u64) {
    let ticks = if timed == 0 { 0 } else { lock_cost::ticks_since(timed) };
    let Some(recorder) = enter() else { return };
    let (slot, standing) = (recorder.slot(), &recorder.thread().openmp);
    drop(recorder);
    let entry = entry(slot, caller, standing.function.get(), kind);
    add(&entry.acquisitions, 1);
    // A thread that lost its core meanwhile did not spend that time on the lock.
    if timed != 0 && ticks < life::ticks_of_micros(LONGEST_ACQUISITION_MICROS) {
        let fastest =
            if entry.timed.load(Relaxed) == 0 { ticks } else { ticks.min(entry.fastest.load(Relaxed)) };
        entry.fastest.store(fastest, Relaxed);
        add(&entry.timed, 1);
        add(&entry.ticks, ticks);
        busy::add_acquisition(slot, object, ticks);
    }
    follow(object, kind, caller);
}

/// Counts the use of a lock that somebody waited for, and times its hold.
#[inline(always)]
fn follow(object: u64, kind: ObjectCode, caller: u64) {
    if hot::is_hot(object) {
        waits::acquired(object, kind, caller);
    }
}

/// The entry of a place in a region: in one of two places of the table.
#[inline(always)]
fn entry(slot: &Slot, caller: u64, function: u64, kind: ObjectCode) -> &LocalAcquire {
    let hash = (caller ^ function.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let index = (hash >> (64 - LOCAL_ACQUIRES.ilog2())) as usize;
    let entry = &slot.acquires[index];
    if is_of(entry, caller, function) { entry } else { search(slot, index, caller, function, kind) }
}

#[inline(always)]
fn is_of(entry: &LocalAcquire, caller: u64, function: u64) -> bool {
    entry.caller.load(Relaxed) == caller && entry.function.load(Relaxed) == function
}

#[inline(never)]
fn search(slot: &Slot, index: usize, caller: u64, function: u64, kind: ObjectCode) -> &LocalAcquire {
    let (first, second) = (&slot.acquires[index], &slot.acquires[index ^ 1]);
    if is_of(second, caller, function) {
        return second;
    }
    let fewer = first.acquisitions.load(Relaxed) <= second.acquisitions.load(Relaxed);
    let entry = if fewer { first } else { second };
    if let Some(counts) = entry.record()
        && let Some(recorder) = enter()
    {
        recorder.write(&counts.words());
    }
    empty(entry);
    entry.kind.store(kind as u64, Relaxed);
    entry.function.store(function, Relaxed);
    entry.caller.store(caller, Relaxed);
    entry
}

/// The lock is not free: the calling thread is about to wait for it. `owner_tid` is the kernel id of the thread that
/// has it; 0 if that is not known.
#[inline(never)]
pub fn lock_waits(object: u64, kind: ObjectCode, owner_tid: u32) -> Waiting {
    hot::heat(object);
    hot::arrive(object);
    let pending = waits::begin_for_lock(Wanted { owner_tid, ..Wanted::new(object, kind) });
    Waiting { object, pending }
}

/// The wait is over: the calling thread has the lock.
#[inline(never)]
pub fn lock_waited(waiting: Waiting, caller: u64) {
    let Waiting { object, pending } = waiting;
    hot::leave(object);
    let Some(pending) = pending else { return };
    let end = life::ticks();
    waits::end(Some(pending), OutcomeCode::Granted);
    if !life::writes() {
        return;
    }
    let thread = thread::this();
    let (Some(slot), standing) = (thread::slot(), &thread.openmp) else { return };
    let kind = pending.wanted.kind;
    let entry = entry(slot, caller, standing.function.get(), kind);
    add(&entry.acquisitions, 1);
    add(&entry.waits, 1);
    add(&entry.wait_ticks, end.saturating_sub(pending.begin));
    follow(object, kind, caller);
}

/// The calling thread is about to release the lock.
#[inline(always)]
pub fn lock_releases(object: u64, kind: ObjectCode) -> Option<Ending> {
    waits::releasing(object, kind, false, waits::looks_for_waiters(object)?)
}

/// The lock has been released.
#[inline]
pub fn lock_released(ending: Option<Ending>) {
    if let Some(ending) = ending {
        waits::released(ending);
    }
}

impl Waiting {
    /// The lock was the thread's own all the while: it did not wait.
    pub(super) fn cancel(self) {
        hot::leave(self.object);
        waits::cancel(self.pending);
    }
}

/// The calling thread has its turn, for which it has perhaps waited since `begin`: nobody could know beforehand. So long
/// waits are told when they are over.
pub(super) fn turn_came(kind: ObjectCode, caller: u64, begin: u64) {
    let end = life::ticks();
    let ticks = end.saturating_sub(begin);
    if ticks < life::ticks_of_micros(1) {
        return acquired_seldom(0, kind, caller, begin);
    }
    let Some(recorder) = enter() else { return };
    let standing = &recorder.thread().openmp;
    let entry = entry(recorder.slot(), caller, standing.function.get(), kind);
    if ticks >= life::ticks_of_micros(LONG_TURN_MICROS) {
        let counted = busy::entry_of_wait(&recorder, caller, kind, end);
        if !counted.is_some_and(|entry| busy::add_wait(entry, ticks, ticks)) {
            waits::has_waited(&recorder, Wanted::new(caller, kind), begin, end);
        }
    }
    drop(recorder);
    add(&entry.acquisitions, 1);
    add(&entry.waits, 1);
    add(&entry.wait_ticks, ticks);
}
