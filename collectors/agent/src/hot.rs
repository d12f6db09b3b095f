//! Which objects matter: two small tables indexed by a hash of the address, read on every lock operation.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

const BITS: u32 = 12;
const ENTRIES: usize = 1 << BITS;

static HOT: [AtomicU8; ENTRIES] = [const { AtomicU8::new(0) }; ENTRIES];
static WAITERS: [AtomicU32; ENTRIES] = [const { AtomicU32::new(0) }; ENTRIES];

#[inline(always)]
fn index(object: u64) -> usize {
    (object.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize
}

/// True once a lock with this hash has been waited for: its holds are timed from then on.
#[inline(always)]
pub fn is_hot(object: u64) -> bool {
    HOT[index(object)].load(Ordering::Relaxed) != 0
}

/// Marks a lock as waited for.
pub fn heat(object: u64) {
    HOT[index(object)].store(1, Ordering::Relaxed);
}

/// Marks every lock: for recordings of all holds.
pub fn heat_all() {
    for entry in &HOT {
        entry.store(1, Ordering::Relaxed);
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
