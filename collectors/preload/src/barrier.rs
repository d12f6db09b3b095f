//! Barriers.

use core::ffi::{c_int, c_uint, c_void};

use holdup_agent::alone;
use holdup_agent::waits::{self, Wanted};
use holdup_trace::wire::{ObjectCode, OutcomeCode};

use crate::front::fronts;
use crate::real::{self, Object};

const SERIAL_THREAD: c_int = -1;

fronts! {
    /// Interposes `pthread_barrier_init`.
    pthread_barrier_init => init, "rcx";
}

unsafe extern "C" fn init(barrier: Object, attributes: *const c_void, parties: c_uint, caller: u64) -> c_int {
    let result = real::pthread_barrier_init(barrier, attributes, parties);
    if result == 0 {
        waits::initialized(barrier as u64, ObjectCode::Barrier, parties, caller);
    }
    result
}

/// Interposes `pthread_barrier_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_wait(barrier: Object) -> c_int {
    let pending = waits::begin(Wanted::new(barrier as u64, ObjectCode::Barrier));
    let result = real::pthread_barrier_wait(barrier);
    let passed = result == 0 || result == SERIAL_THREAD;
    alone::passed(barrier as u64);
    waits::end(pending, if passed { OutcomeCode::Granted } else { OutcomeCode::Failed });
    result
}
