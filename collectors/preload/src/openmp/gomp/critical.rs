//! Critical sections, atomic updates that the processor has no instruction for, and ordered regions.
//!
//! These cannot be tried. Whether the lock is free is seen beforehand: for a section with a name in the runtime's own
//! lock word, which lies in the program; else in a word of ours. In between another thread can be faster: then a wait
//! is not seen as one.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use holdup_agent::{openmp, thread};
use holdup_trace::wire::ObjectCode;

use super::copy::{self, original};
use crate::front::fronts;

fronts! {
    /// Interposes `GOMP_critical_start`.
    GOMP_critical_start => critical_start, "rdi";
    /// Interposes `GOMP_critical_end`.
    GOMP_critical_end => critical_end, "rdi";
    /// Interposes `GOMP_atomic_start`.
    GOMP_atomic_start => atomic_start, "rdi";
    /// Interposes `GOMP_atomic_end`.
    GOMP_atomic_end => atomic_end, "rdi";
    /// Interposes `GOMP_critical_name_start`.
    GOMP_critical_name_start => named_start, "rsi";
    /// Interposes `GOMP_critical_name_end`.
    GOMP_critical_name_end => named_end, "rsi";
    /// Interposes `GOMP_ordered_start`.
    GOMP_ordered_start => ordered_start, "rdi";
    /// Interposes `GOMP_ordered_end`.
    GOMP_ordered_end => ordered_end, "rdi";
}

/// What a word of ours holds while a thread without a slot is in the section.
const SOMEBODY: u32 = u32::MAX;

/// Acquires by `acquire`; `owner` is the kernel id of the thread that has the lock, [`SOMEBODY`] if that is not known,
/// 0 if it is free.
#[inline(always)]
unsafe fn enter(object: u64, caller: u64, owner: u32, acquire: impl FnOnce()) {
    if owner == 0 {
        let timed = openmp::lock_wanted();
        acquire();
        openmp::lock_acquired(object, ObjectCode::Critical, caller, timed);
    } else {
        let waiting =
            openmp::lock_waits(object, ObjectCode::Critical, if owner == SOMEBODY { 0 } else { owner });
        acquire();
        openmp::lock_waited(waiting, caller);
    }
}

/// The kernel id of the calling thread, where that is known without asking the kernel.
#[inline(always)]
fn own_id() -> u32 {
    let slot = thread::this().slot.get();
    // SAFETY: a thread's slot is in the process's file, which stays mapped as long as the thread's block names it.
    if slot.is_null() { SOMEBODY } else { unsafe { &*slot }.tid.load(Ordering::Relaxed) }
}

#[inline(always)]
unsafe fn start(word: &AtomicU32, caller: u64, original: unsafe extern "C" fn()) {
    let object = core::ptr::from_ref(word) as u64;
    enter(object, caller, word.load(Ordering::Relaxed), || original());
    word.store(own_id(), Ordering::Relaxed);
}

#[inline(always)]
unsafe fn end(word: &AtomicU32, original: unsafe extern "C" fn()) {
    // Before the lock is free: afterwards it could be the next thread's.
    word.store(0, Ordering::Relaxed);
    let ending = openmp::lock_releases(core::ptr::from_ref(word) as u64, ObjectCode::Critical);
    original();
    openmp::lock_released(ending);
}

unsafe extern "C" fn critical_start(caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_critical_start: fn());
    if !copy.is_gnu() {
        return original();
    }
    start(&copy.critical, caller, original);
}

unsafe extern "C" fn critical_end(caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_critical_end: fn());
    if !copy.is_gnu() {
        return original();
    }
    end(&copy.critical, original);
}

unsafe extern "C" fn atomic_start(caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_atomic_start: fn());
    if !copy.is_gnu() {
        return original();
    }
    start(&copy.atomic, caller, original);
}

unsafe extern "C" fn atomic_end(caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_atomic_end: fn());
    if !copy.is_gnu() {
        return original();
    }
    end(&copy.atomic, original);
}

unsafe extern "C" fn named_start(name: *mut *mut c_void, caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_critical_name_start: fn(*mut *mut c_void));
    if !copy.is_gnu() {
        return original(name);
    }
    // On Linux the lock, a futex word, lies in the pointer itself.
    let taken = (*name.cast::<AtomicU32>()).load(Ordering::Relaxed) != 0;
    enter(name as u64, caller, if taken { SOMEBODY } else { 0 }, || original(name));
}

unsafe extern "C" fn named_end(name: *mut *mut c_void, caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_critical_name_end: fn(*mut *mut c_void));
    if !copy.is_gnu() {
        return original(name);
    }
    let ending = openmp::lock_releases(name as u64, ObjectCode::Critical);
    original(name);
    openmp::lock_released(ending);
}

unsafe extern "C" fn ordered_start(caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_ordered_start: fn());
    if !copy.is_gnu() {
        return original();
    }
    openmp::turn_wanted();
    original();
    openmp::lock_obtained(0, ObjectCode::Ordered, caller);
}

unsafe extern "C" fn ordered_end(caller: u64) {
    original!(copy::of(caller), GOMP_ordered_end: fn())();
}
