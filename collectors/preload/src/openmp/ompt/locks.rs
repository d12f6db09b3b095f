//! Callbacks for critical sections, locks, `ordered`, and the atomics that are made of locks.

use core::ffi::{c_int, c_uint};

use holdup_agent::openmp;
use holdup_trace::wire::ObjectCode;

use super::interface::mutex;
use super::peek::{self, Look};

fn code(kind: c_int) -> ObjectCode {
    match kind {
        mutex::CRITICAL | mutex::ATOMIC => ObjectCode::Critical,
        mutex::ORDERED => ObjectCode::Ordered,
        _ => ObjectCode::OmpLock,
    }
}

/// Simple locks, of which `gomp/locks.rs` tells.
fn is_told_at_the_call(kind: c_int) -> bool {
    matches!(kind, mutex::LOCK | mutex::TEST_LOCK)
}

pub(crate) unsafe extern "C" fn acquire(
    kind: c_int,
    _hint: c_uint,
    implementation: c_uint,
    wait: u64,
    _caller: u64,
) {
    match kind {
        mutex::LOCK | mutex::TEST_LOCK => {}
        mutex::ORDERED => openmp::turn_wanted(),
        // Who only tries does not wait.
        mutex::TEST_NEST_LOCK => openmp::lock_seen_free(),
        _ if peek::look(kind, implementation, wait) == Look::Taken => {
            openmp::lock_seen_taken(wait, code(kind));
        }
        _ => openmp::lock_seen_free(),
    }
}

pub(crate) unsafe extern "C" fn acquired(kind: c_int, wait: u64, caller: u64) {
    if !is_told_at_the_call(kind) {
        openmp::lock_obtained(wait, code(kind), caller);
    }
}

/// A thread takes or gives up a nested lock that it has already.
pub(crate) unsafe extern "C" fn nest_lock(_endpoint: c_int, _wait: u64, _caller: u64) {
    openmp::lock_not_obtained();
}

pub(crate) unsafe extern "C" fn released(kind: c_int, wait: u64, _caller: u64) {
    if !is_told_at_the_call(kind) {
        openmp::lock_released(openmp::lock_releases(wait, code(kind)));
    }
}
