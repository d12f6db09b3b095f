//! What locks cost beside waiting for them: a lock that is free has to come from the core that had it last, and whoever
//! sleeps for one has to be woken. Looked at where holds are sampled; and how long a free lock takes, of OpenMP's locks too.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use holdup_trace::shared::{ACQUIRES_TIMED, Slot};

use crate::uses::add;
use crate::{Recorder, arch, busy, life, thread};

/// An acquisition of a free lock that takes longer (µs) was interrupted, however far away its memory is.
pub(crate) const LONGEST_ACQUISITION_MICROS: u64 = 10;
/// As for a release that wakes somebody.
const LONGEST_HAND_OVER_MICROS: u64 = 100;

/// In [`TIMED`]: acquisitions of all locks, and releases, for the thread's [`LocalLockCost`](holdup_trace::shared::LocalLockCost).
const ALL: u32 = 1;
/// In [`TIMED`]: acquisitions of busy locks.
const BUSY: u32 = 2;
static TIMED: AtomicU32 = AtomicU32::new(0);
/// Ticks between two looks at the clock with nothing in between.
static OF_THE_CLOCK: AtomicU32 = AtomicU32::new(0);

/// Times acquisitions and releases of all locks from now on.
pub(crate) fn begin() {
    TIMED.fetch_or(ALL, Relaxed);
}

/// Times acquisitions of busy locks from now on.
pub(crate) fn begin_with_busy_ones() {
    if TIMED.load(Relaxed) & BUSY == 0 {
        TIMED.fetch_or(BUSY, Relaxed);
    }
}

/// Finds out what it takes to look at the clock.
pub(crate) fn measure_the_clock() {
    const LOOKS: u32 = 64;
    let passed = || {
        let before = settled();
        settled().saturating_sub(before)
    };
    let least = (0..LOOKS).map(|_| passed()).min().unwrap_or(0);
    OF_THE_CLOCK.store(least as u32, Relaxed);
}

/// The time, once all before has been done: without that, the clock is read while the lock is still on its way.
#[inline(always)]
pub(crate) fn settled() -> u64 {
    arch::settle();
    life::ticks()
}

/// The ticks from `begin`, which is of [`settled`], until all before this has been done.
pub(crate) fn ticks_since(begin: u64) -> u64 {
    settled().saturating_sub(begin + u64::from(OF_THE_CLOCK.load(Relaxed)))
}

/// Makes an attempt to get this lock, which gives 0 if that was free; times it, if it is one of those that are.
#[inline(always)]
pub fn timed(object: u64, attempt: impl FnOnce() -> i32) -> i32 {
    let begin = if TIMED.load(Relaxed) != 0 { begin_of_some() } else { 0 };
    let result = attempt();
    if begin != 0 && result == 0 {
        add_acquisition(object, ticks_since(begin));
    }
    result
}

/// The time for one in so many calls, 0 for the others.
#[inline]
fn begin_of_some() -> u64 {
    let wanted = &thread::this().openmp.wanted;
    let count = wanted.get().wrapping_add(1);
    wanted.set(count);
    if count.is_multiple_of(ACQUIRES_TIMED) { settled() } else { 0 }
}

#[cold]
#[inline(never)]
fn add_acquisition(object: u64, ticks: u64) {
    if let Some(slot) = thread::slot()
        && ticks < life::ticks_of_micros(LONGEST_ACQUISITION_MICROS)
    {
        if TIMED.load(Relaxed) & ALL != 0 {
            add(&slot.lock_cost.timed, 1);
            add(&slot.lock_cost.ticks, ticks);
        }
        busy::add_acquisition(slot, object, ticks);
    }
}

/// A lock that others wait for has been released, by a call that began at `begin` (ticks).
pub(crate) fn handed_over(begin: u64) {
    if TIMED.load(Relaxed) & ALL == 0 {
        return;
    }
    let ticks = life::ticks().saturating_sub(begin);
    if let Some(slot) = thread::slot()
        && ticks < life::ticks_of_micros(LONGEST_HAND_OVER_MICROS)
    {
        add(&slot.lock_cost.hand_overs, 1);
        add(&slot.lock_cost.hand_over_ticks, ticks);
    }
}

/// Sets a slot's counts to nothing.
pub(crate) fn clear(slot: &Slot) {
    let cost = &slot.lock_cost;
    for count in [&cost.timed, &cost.ticks, &cost.hand_overs, &cost.hand_over_ticks] {
        count.store(0, Relaxed);
    }
}

/// Writes the thread's counts as a record, and sets them to nothing.
pub(crate) fn flush(recorder: &Recorder) {
    if let Some(words) = recorder.slot().lock_cost.record() {
        recorder.write(&words);
        clear(recorder.slot());
    }
}
