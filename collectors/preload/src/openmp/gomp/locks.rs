//! `omp_lock`s: tried first, so that a wait is known to be one. Those of LLVM's runtime too: OMPT does not say whether a
//! thread had to wait, and what such a lock looks like in memory only the runtime knows.

use core::ffi::{c_int, c_void};

use holdup_agent::openmp;
use holdup_trace::wire::ObjectCode;

use super::copy::{self, Copy, original};
use crate::front::fronts;
use crate::openmp::ompt;

type Lock = *mut c_void;

fronts! {
    /// Interposes `omp_set_lock`.
    omp_set_lock => set, "rsi";
    /// Interposes `omp_unset_lock`.
    omp_unset_lock => unset, "rsi";
    /// Interposes `omp_test_lock`.
    omp_test_lock => test, "rsi";
    /// Interposes `omp_set_lock_`, which is Fortran's.
    omp_set_lock_ => set_fortran, "rsi";
    /// Interposes `omp_unset_lock_`, which is Fortran's.
    omp_unset_lock_ => unset_fortran, "rsi";
    /// Interposes `omp_test_lock_`, which is Fortran's.
    omp_test_lock_ => test_fortran, "rsi";
    /// Interposes `omp_set_nest_lock`.
    omp_set_nest_lock => set_nest, "rsi";
    /// Interposes `omp_unset_nest_lock`.
    omp_unset_nest_lock => unset_nest, "rsi";
    /// Interposes `omp_test_nest_lock`.
    omp_test_nest_lock => test_nest, "rsi";
}

/// True for gcc's runtime, and for LLVM's unless another tool looks at it: that one would see attempts.
#[inline(always)]
fn is_followed(copy: &Copy) -> bool {
    copy.is_gnu() || ompt::is_told()
}

type Act = unsafe extern "C" fn(Lock);
type Try = unsafe extern "C" fn(Lock) -> c_int;

#[inline(always)]
unsafe fn acquire(lock: Lock, caller: u64, attempt: Try, block: Act) {
    let timed = openmp::lock_wanted();
    match attempt(lock) {
        0 => wait(lock, caller, block),
        1 => openmp::lock_acquired(lock as u64, ObjectCode::OmpLock, caller, timed),
        // Nested: the thread has it already.
        _ => {}
    }
}

#[cold]
#[inline(never)]
unsafe fn wait(lock: Lock, caller: u64, block: Act) {
    let waiting = openmp::lock_waits(lock as u64, ObjectCode::OmpLock, 0);
    block(lock);
    openmp::lock_waited(waiting, caller);
}

#[inline(always)]
unsafe fn release(lock: Lock, release: Act) {
    let ending = openmp::lock_releases(lock as u64, ObjectCode::OmpLock);
    release(lock);
    openmp::lock_released(ending);
}

#[inline(always)]
unsafe fn attempt(lock: Lock, caller: u64, attempt: Try) -> c_int {
    let result = attempt(lock);
    if result == 1 {
        openmp::lock_acquired(lock as u64, ObjectCode::OmpLock, caller, 0);
    }
    result
}

unsafe extern "C" fn set(lock: Lock, caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, omp_set_lock: fn(Lock));
    if !is_followed(copy) {
        return original(lock);
    }
    acquire(lock, caller, original!(copy, omp_test_lock: fn(Lock) -> c_int), original);
}

unsafe extern "C" fn unset(lock: Lock, caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, omp_unset_lock: fn(Lock));
    if !is_followed(copy) {
        return original(lock);
    }
    release(lock, original);
}

unsafe extern "C" fn test(lock: Lock, caller: u64) -> c_int {
    let copy = copy::of(caller);
    let original = original!(copy, omp_test_lock: fn(Lock) -> c_int);
    if !is_followed(copy) {
        return original(lock);
    }
    attempt(lock, caller, original)
}

unsafe extern "C" fn set_fortran(lock: Lock, caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, omp_set_lock_: fn(Lock));
    if !is_followed(copy) {
        return original(lock);
    }
    acquire(lock, caller, original!(copy, omp_test_lock_: fn(Lock) -> c_int), original);
}

unsafe extern "C" fn unset_fortran(lock: Lock, caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, omp_unset_lock_: fn(Lock));
    if !is_followed(copy) {
        return original(lock);
    }
    release(lock, original);
}

unsafe extern "C" fn test_fortran(lock: Lock, caller: u64) -> c_int {
    let copy = copy::of(caller);
    let original = original!(copy, omp_test_lock_: fn(Lock) -> c_int);
    if !is_followed(copy) {
        return original(lock);
    }
    attempt(lock, caller, original)
}

unsafe extern "C" fn set_nest(lock: Lock, caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, omp_set_nest_lock: fn(Lock));
    if !is_followed(copy) {
        return original(lock);
    }
    acquire(lock, caller, original!(copy, omp_test_nest_lock: fn(Lock) -> c_int), original);
}

/// The beginning of gcc's nestable lock.
#[repr(C)]
struct Nestable {
    word: c_int,
    count: c_int,
}

unsafe extern "C" fn unset_nest(lock: Lock, caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, omp_unset_nest_lock: fn(Lock));
    // Only the caller, who has it, changes the count. LLVM's runtime tells by OMPT when it is free.
    if !copy.is_gnu() || (*lock.cast::<Nestable>()).count != 1 {
        return original(lock);
    }
    release(lock, original);
}

unsafe extern "C" fn test_nest(lock: Lock, caller: u64) -> c_int {
    let copy = copy::of(caller);
    let original = original!(copy, omp_test_nest_lock: fn(Lock) -> c_int);
    if !is_followed(copy) {
        return original(lock);
    }
    attempt(lock, caller, original)
}
