//! `sections`, `single` and `scope`.

use core::ffi::{c_uint, c_void};

use holdup_agent::openmp;
use holdup_trace::openmp::{SyncCode, WorkCode};
use holdup_trace::wire::UNKNOWN;

use super::copy::{self, original};
use crate::front::fronts;

fronts! {
    /// Interposes `GOMP_sections_start`.
    GOMP_sections_start => sections_start, "rsi";
    /// Interposes `GOMP_sections2_start`.
    GOMP_sections2_start => sections2_start, "rcx";
    /// Interposes `GOMP_sections_next`.
    GOMP_sections_next => sections_next, "rdi";
    /// Interposes `GOMP_single_start`.
    GOMP_single_start => single_start, "rdi";
    /// Interposes `GOMP_single_copy_start`.
    GOMP_single_copy_start => single_copy_start, "rdi";
    /// Interposes `GOMP_single_copy_end`.
    GOMP_single_copy_end => single_copy_end, "rsi";
    /// Interposes `GOMP_scope_start`.
    GOMP_scope_start => scope_start, "rsi";
}

/// The runtime has given the calling thread this section, counted from 1; 0 for none.
fn got(section: c_uint) -> c_uint {
    match section {
        0 => openmp::work_ends(),
        _ => openmp::chunk_begins(u64::from(section) - 1, 1),
    }
    section
}

unsafe extern "C" fn sections_start(count: c_uint, caller: u64) -> c_uint {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_sections_start: fn(c_uint) -> c_uint);
    if !copy.tells() {
        return original(count);
    }
    openmp::work_begins(WorkCode::Sections, caller, u64::from(count), 0);
    got(original(count))
}

unsafe extern "C" fn sections2_start(
    count: c_uint,
    reductions: *mut usize,
    memory: *mut *mut c_void,
    caller: u64,
) -> c_uint {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_sections2_start: fn(c_uint, *mut usize, *mut *mut c_void) -> c_uint);
    if !copy.tells() {
        return original(count, reductions, memory);
    }
    openmp::work_begins(WorkCode::Sections, caller, u64::from(count), 0);
    got(original(count, reductions, memory))
}

unsafe extern "C" fn sections_next(caller: u64) -> c_uint {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_sections_next: fn() -> c_uint);
    if !copy.tells() {
        return original();
    }
    openmp::chunk_ends();
    got(original())
}

/// The calling thread meets a `single`: of the one that executes it nothing says when it has, until the next construct.
fn single(executes: bool, caller: u64) {
    if executes {
        openmp::work_begins(WorkCode::Single, caller, UNKNOWN, 0);
    } else {
        openmp::work_begins(WorkCode::SingleOther, caller, UNKNOWN, 0);
    }
}

unsafe extern "C" fn single_start(caller: u64) -> bool {
    let copy = copy::of(caller);
    let executes = original!(copy, GOMP_single_start: fn() -> bool)();
    if copy.tells() {
        single(executes, caller);
    }
    executes
}

/// Only the thread that executes the block returns from this at once, with null.
unsafe extern "C" fn single_copy_start(caller: u64) -> *mut c_void {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_single_copy_start: fn() -> *mut c_void);
    if !copy.tells() {
        return original();
    }
    openmp::work_ends();
    openmp::sync_begins(SyncCode::WorkBarrier, caller);
    let data = original();
    if data.is_null() {
        openmp::sync_retracts();
    } else {
        openmp::sync_ends();
    }
    single(data.is_null(), caller);
    data
}

unsafe extern "C" fn single_copy_end(data: *mut c_void, caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_single_copy_end: fn(*mut c_void));
    if !copy.tells() {
        return original(data);
    }
    openmp::work_ends();
    openmp::sync_begins(SyncCode::WorkBarrier, caller);
    original(data);
    openmp::sync_ends();
}

unsafe extern "C" fn scope_start(reductions: *mut usize, caller: u64) {
    let copy = copy::of(caller);
    if copy.tells() {
        openmp::work_begins(WorkCode::Scope, caller, UNKNOWN, 0);
    }
    original!(copy, GOMP_scope_start: fn(*mut usize))(reductions);
}
