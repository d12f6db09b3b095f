//! Locks of a runtime that tells of them in two parts: that a thread wants one, and then that it has it.
//!
//! What is known of the first part is kept for the second in [`super::Standing`]: 0 if nothing, the time if the
//! acquisition is timed, or [`WAITS`].

use core::mem::MaybeUninit;

use holdup_trace::wire::ObjectCode;

use super::locks::{lock_acquired, lock_waited, lock_waits, lock_wanted, turn_came};
use super::{Waiting, is_whole};
use crate::{alone, life, thread};

/// The lock was not free: the wait is in the thread's tables. No time is this early.
const WAITS: u64 = 1;

/// The calling thread wants a lock that is free, or of which that is not known.
#[inline(always)]
pub fn lock_seen_free() {
    thread::this().openmp.wanted_at.set(lock_wanted());
}

/// The calling thread wants a lock that another one has.
#[cold]
#[inline(never)]
pub fn lock_seen_taken(object: u64, kind: ObjectCode) {
    let standing = &thread::this().openmp;
    let Some(tables) = standing.tables() else { return };
    if standing.wanted_at.replace(WAITS) == WAITS {
        // A wait that was never said to end: the thread jumped out of it.
        lock_not_obtained();
        standing.wanted_at.set(WAITS);
    }
    tables.waiting.set(MaybeUninit::new(lock_waits(object, kind, 0)));
}

/// The calling thread wants its turn, and nobody knows whether it must wait: timed in whole instances.
#[inline]
pub fn turn_wanted() {
    alone::team_wait_begins();
    let now = if is_whole() && life::recording() { life::ticks() } else { 0 };
    thread::this().openmp.wanted_at.set(now);
}

/// The calling thread has the lock that it wanted, by a call that returns to `caller`.
#[inline(always)]
pub fn lock_obtained(object: u64, kind: ObjectCode, caller: u64) {
    let standing = &thread::this().openmp;
    let wanted = standing.wanted_at.get();
    if kind == ObjectCode::Ordered {
        alone::turn_ends();
    }
    if wanted != 0 {
        return obtained(object, kind, caller, wanted);
    }
    lock_acquired(object, kind, caller, 0);
}

#[inline(never)]
fn obtained(object: u64, kind: ObjectCode, caller: u64, wanted: u64) {
    thread::this().openmp.wanted_at.set(0);
    if wanted == WAITS {
        if let Some(waiting) = waiting() {
            lock_waited(waiting, caller);
        }
    } else if kind == ObjectCode::Ordered {
        turn_came(kind, caller, wanted);
    } else {
        lock_acquired(object, kind, caller, wanted);
    }
}

/// The calling thread gave up waiting.
fn lock_not_obtained() {
    if thread::this().openmp.wanted_at.replace(0) == WAITS
        && let Some(waiting) = waiting()
    {
        waiting.cancel();
    }
}

/// The wait that [`WAITS`] stands for.
fn waiting() -> Option<Waiting> {
    let tables = thread::this().openmp.tables()?;
    // SAFETY: it was put there before `WAITS` was, by this thread, and `Waiting` is `Copy`.
    Some(unsafe { tables.waiting.replace(MaybeUninit::uninit()).assume_init() })
}
