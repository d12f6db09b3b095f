//! Callbacks for critical sections, `ordered`, and the atomics that are made of locks. A thread is told to want one, and
//! then to have it.

use core::ffi::{c_int, c_uint};

use holdup_agent::openmp;
use holdup_trace::wire::ObjectCode;

use super::interface::mutex;
use super::peek;

/// What it is; `None` for locks, of whose acquisitions `gomp::locks` tells.
fn code(kind: c_int) -> Option<ObjectCode> {
    match kind {
        mutex::CRITICAL | mutex::ATOMIC => Some(ObjectCode::Critical),
        mutex::ORDERED => Some(ObjectCode::Ordered),
        _ => None,
    }
}

pub(crate) unsafe extern "C" fn acquire(
    kind: c_int,
    _hint: c_uint,
    implementation: c_uint,
    wait: u64,
    _caller: u64,
) {
    match kind {
        mutex::CRITICAL | mutex::ATOMIC => {
            if peek::is_taken(implementation, wait) {
                openmp::lock_seen_taken(wait, ObjectCode::Critical);
            } else {
                openmp::lock_seen_free();
            }
        }
        mutex::ORDERED => openmp::turn_wanted(),
        _ => {}
    }
}

pub(crate) unsafe extern "C" fn acquired(kind: c_int, wait: u64, caller: u64) {
    if let Some(code) = code(kind) {
        openmp::lock_obtained(wait, code, caller);
    }
}

pub(crate) unsafe extern "C" fn released(kind: c_int, wait: u64, _caller: u64) {
    // Only the runtime knows which release of a nested lock is the last.
    let code = if kind == mutex::NEST_LOCK { Some(ObjectCode::OmpLock) } else { code(kind) };
    if let Some(code) = code {
        openmp::lock_released(openmp::lock_releases(wait, code));
    }
}
