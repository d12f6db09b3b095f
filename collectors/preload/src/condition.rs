//! Condition variables.

use core::ffi::{c_int, c_void};

use holdup_agent::hot;
use holdup_agent::waits::{self, Pending, Wanted};
use holdup_trace::wire::{ObjectCode, OutcomeCode};

use crate::front::fronts;
use crate::mutex::{self, ETIMEDOUT};
use crate::real::{self, Object, Timespec};

fronts! {
    /// Interposes `pthread_cond_init`.
    pthread_cond_init => init, "rdx";
    /// Interposes `pthread_cond_wait`.
    pthread_cond_wait => wait, "rdx";
    /// Interposes `pthread_cond_timedwait`.
    pthread_cond_timedwait => timed_wait, "rcx";
    /// Interposes `pthread_cond_clockwait`.
    pthread_cond_clockwait => clock_wait, "r8";
}

unsafe extern "C" fn init(condition: Object, attributes: *const c_void, caller: u64) -> c_int {
    let result = real::pthread_cond_init(condition, attributes);
    if result == 0 {
        waits::initialized(condition as u64, ObjectCode::Condition, 0, caller);
    }
    result
}

/// The wait begins, until a time if `has_limit`: it releases the mutex.
pub(crate) unsafe fn begin(condition: Object, mutex: Object, has_limit: bool) -> Option<Pending> {
    let (object, lock) = (condition as u64, mutex as u64);
    hot::heat_queue(object);
    hot::heat_queue(lock);
    let waited_for = mutex::is_waited_for(mutex);
    if waits::release_matters(waited_for)
        && let Some(ending) = waits::releasing(lock, ObjectCode::Mutex, false, waited_for)
    {
        // Told before the mutex is free, since the call that frees it returns only when it is taken again.
        waits::tell_release(ending);
    }
    let pending =
        waits::begin(Wanted { mutex: lock, ..Wanted::until(object, ObjectCode::Condition, has_limit) });
    hot::arrive(object);
    pending
}

/// The wait is over, and the mutex is held again.
pub(crate) unsafe fn end(
    condition: Object,
    mutex: Object,
    caller: u64,
    pending: Option<Pending>,
    outcome: OutcomeCode,
) {
    hot::leave(condition as u64);
    waits::end(pending, outcome);
    if outcome != OutcomeCode::Failed {
        waits::acquired(mutex as u64, ObjectCode::Mutex, caller);
    }
}

unsafe fn around(
    condition: Object,
    mutex: Object,
    caller: u64,
    has_limit: bool,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let pending = begin(condition, mutex, has_limit);
    let result = block();
    let outcome = match result {
        0 => OutcomeCode::Granted,
        ETIMEDOUT => OutcomeCode::TimedOut,
        _ => OutcomeCode::Failed,
    };
    end(condition, mutex, caller, pending, outcome);
    result
}

unsafe extern "C" fn wait(condition: Object, mutex: Object, caller: u64) -> c_int {
    around(condition, mutex, caller, false, || real::pthread_cond_wait(condition, mutex))
}

unsafe extern "C" fn timed_wait(condition: Object, mutex: Object, until: Timespec, caller: u64) -> c_int {
    around(condition, mutex, caller, true, || real::pthread_cond_timedwait(condition, mutex, until))
}

unsafe extern "C" fn clock_wait(
    condition: Object,
    mutex: Object,
    clock: c_int,
    until: Timespec,
    caller: u64,
) -> c_int {
    around(condition, mutex, caller, true, || real::pthread_cond_clockwait(condition, mutex, clock, until))
}

/// Wakes by `block`, and tells it if anybody waits, or has waited before, or nobody has woken by this one before.
pub(crate) unsafe fn wake(condition: Object, count: u32, block: impl FnOnce() -> c_int) -> c_int {
    let object = condition as u64;
    let is_first = hot::is_first_signal(object);
    let time = if is_first || hot::is_waited_for(object) {
        waits::waking(object, ObjectCode::Condition, count)
    } else if hot::is_hot(object) {
        let now = waits::waking(object, ObjectCode::Condition, count);
        if !waits::may_tell_of_queue(object, now) {
            return block();
        }
        now
    } else {
        return block();
    };
    let result = block();
    if result == 0 {
        waits::woke(time, object, ObjectCode::Condition, count);
    }
    result
}

/// Interposes `pthread_cond_signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_signal(condition: Object) -> c_int {
    wake(condition, 1, || real::pthread_cond_signal(condition))
}

/// Interposes `pthread_cond_broadcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_broadcast(condition: Object) -> c_int {
    wake(condition, u32::MAX, || real::pthread_cond_broadcast(condition))
}
