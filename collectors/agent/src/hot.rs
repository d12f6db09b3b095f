//! Which objects matter: two small tables indexed by a hash of the address, read on every lock operation.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

const BITS: u32 = 12;
const ENTRIES: usize = 1 << BITS;

static HOT: [AtomicU8; ENTRIES] = [const { AtomicU8::new(0) }; ENTRIES];
static WAITERS: [AtomicU32; ENTRIES] = [const { AtomicU32::new(0) }; ENTRIES];

#[inline(always)]
fn index(object: u64) -> usize {
    (object.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize
}

/// In `HOT`: it was waited for.
const WAITED_FOR: u8 = 1;
/// It is a condition variable that was waited on, or the mutex of one: a part of a queue, perhaps.
const OF_A_QUEUE: u8 = 2;
/// Each hold is timed: all are to be recorded, or what happens is passed on as marks.
const EACH: u8 = 4;
/// What asks for more than a count of its uses.
const HOT_BITS: u8 = WAITED_FOR | OF_A_QUEUE | EACH;
/// It was signalled or posted.
const SIGNALLED: u8 = 8;
/// It is waited for so often that not each wait is recorded ([`crate::busy`]).
const BUSY: u8 = 16;
/// What it takes to get it and to give it to others is counted ([`crate::busy`]).
const COUNTED: u8 = 32;
/// One in so many holds of a busy lock is timed, and of one whose holds are brief.
const SOME_HOLDS_TIMED: u64 = 8;

/// True once a lock with this hash has been waited for, and where marks are told.
#[inline(always)]
pub fn is_hot(object: u64) -> bool {
    HOT[index(object)].load(Ordering::Relaxed) & HOT_BITS != 0
}

/// True if the hold that follows a thread's acquisition with this number is to be timed: of a lock with a hash for which somebody
/// waited, or where each is wanted. Where `are_brief`, some are, but for a part of a queue: there each says who was first.
#[inline(always)]
pub fn times_hold(object: u64, count: u64, are_brief: impl FnOnce() -> bool) -> bool {
    let heat = HOT[index(object)].load(Ordering::Relaxed);
    heat & HOT_BITS != 0
        && (count.is_multiple_of(SOME_HOLDS_TIMED)
            || heat & BUSY == 0 && (heat & (OF_A_QUEUE | EACH) != 0 || !are_brief()))
}

/// From here on a lock with this hash is busy.
pub(crate) fn is_busy_now(object: u64) {
    HOT[index(object)].fetch_or(BUSY | COUNTED, Ordering::Relaxed);
}

/// From here on what a lock with this hash takes is counted.
pub(crate) fn is_counted_now(object: u64) {
    HOT[index(object)].fetch_or(COUNTED, Ordering::Relaxed);
}

/// True if what a lock with this hash takes is counted.
pub(crate) fn is_counted(object: u64) -> bool {
    HOT[index(object)].load(Ordering::Relaxed) & COUNTED != 0
}

/// True if a lock with this hash is busy.
#[inline(always)]
pub(crate) fn is_busy(object: u64) -> bool {
    HOT[index(object)].load(Ordering::Relaxed) & BUSY != 0
}

/// True once a lock with this hash has been waited for: its holds are told from then on.
pub fn was_waited_for(object: u64) -> bool {
    HOT[index(object)].load(Ordering::Relaxed) & (WAITED_FOR | OF_A_QUEUE) != 0
}

/// True once somebody waited on this condition variable, or on one with this mutex.
#[inline(always)]
pub fn is_of_a_queue(object: u64) -> bool {
    HOT[index(object)].load(Ordering::Relaxed) & OF_A_QUEUE != 0
}

/// True for the first signal of a condition variable, or post of a semaphore, with this hash. It is told though nobody
/// waits: what is put into a queue first comes before what is taken from it first, which says who does which.
#[inline(always)]
pub fn is_first_signal(object: u64) -> bool {
    let entry = &HOT[index(object)];
    entry.load(Ordering::Relaxed) & SIGNALLED == 0
        && entry.fetch_or(SIGNALLED, Ordering::Relaxed) & SIGNALLED == 0
}

/// Set where holds are only sampled.
static STAYS_COOL: AtomicBool = AtomicBool::new(false);

/// Marks no lock as waited for from now on.
pub fn stay_cool() {
    STAYS_COOL.store(true, Ordering::Relaxed);
}

/// Marks a lock as waited for.
pub fn heat(object: u64) {
    if STAYS_COOL.load(Ordering::Relaxed) {
        return;
    }
    HOT[index(object)].fetch_or(WAITED_FOR, Ordering::Relaxed);
}

/// Marks a condition variable that is waited on, or its mutex.
pub fn heat_queue(object: u64) {
    if !is_of_a_queue(object) {
        HOT[index(object)].fetch_or(WAITED_FOR | OF_A_QUEUE, Ordering::Relaxed);
    }
}

/// Marks every lock: for recordings of all holds.
pub fn heat_all() {
    for entry in &HOT {
        entry.fetch_or(WAITED_FOR | EACH, Ordering::Relaxed);
    }
}

/// Leads every use of every object to where marks are told.
pub fn mark_all() {
    for entry in &HOT {
        entry.fetch_or(EACH, Ordering::Relaxed);
    }
}

/// A thread begins to wait for the object.
pub fn arrive(object: u64) {
    WAITERS[index(object)].fetch_add(1, Ordering::Relaxed);
}

/// It waits no more. A cancelled wait never says so; the object then counts as waited for, which costs events
/// but hides none.
pub fn leave(object: u64) {
    WAITERS[index(object)].fetch_sub(1, Ordering::Relaxed);
}

/// True if a thread waits for the object, or for one with the same hash.
#[inline(always)]
pub fn is_waited_for(object: u64) -> bool {
    WAITERS[index(object)].load(Ordering::Relaxed) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, since some of it is for every lock: the first signal of an object is one and makes no lock hot, and holds are timed.
    #[test]
    fn some_holds_of_busy_locks_and_brief_ones_are_timed_and_all_where_all_are_wanted() {
        let (lock, queue, other) = (0x9000, 0xb000, 0x2000);
        let condition = 0x5000;
        assert!(is_first_signal(condition) && !is_first_signal(condition));
        assert!(!was_waited_for(condition) && !is_of_a_queue(condition));
        let timed = |lock, are_brief| (0..64).filter(|count| times_hold(lock, *count, || are_brief)).count();
        assert_eq!((timed(lock, false), timed(other, false)), (0, 0), "nobody waited");
        heat(lock);
        heat_queue(queue);
        assert_eq!((timed(lock, false), timed(lock, true), timed(queue, true)), (64, 8, 64));
        is_busy_now(lock);
        is_busy_now(queue);
        assert!(is_busy(lock) && was_waited_for(lock));
        assert_eq!((timed(lock, false), timed(queue, false)), (8, 8));
        mark_all();
        assert_eq!(timed(other, true), 64);
        assert!(!was_waited_for(other));
        heat_queue(other);
        assert!(was_waited_for(other) && is_of_a_queue(other));
        heat_all();
        assert!(timed(lock, true) == 8 && timed(0x3000, true) == 64 && was_waited_for(0x3000));
    }
}
