//! Read-write locks.

use core::ffi::{c_int, c_void};

use holdup_agent::waits::{self, Wanted};
use holdup_agent::{hot, lock_cost};
use holdup_trace::wire::{ObjectCode, OutcomeCode};

use crate::front::fronts;
use crate::mutex::{EBUSY, ETIMEDOUT, is_clock_to_wait_by};
use crate::real::{self, Object, Timespec};

fronts! {
    /// Interposes `pthread_rwlock_init`.
    pthread_rwlock_init => init, "rdx";
    /// Interposes `pthread_rwlock_rdlock`.
    pthread_rwlock_rdlock => read_lock, "rsi";
    /// Interposes `pthread_rwlock_tryrdlock`.
    pthread_rwlock_tryrdlock => try_read_lock, "rsi";
    /// Interposes `pthread_rwlock_timedrdlock`.
    pthread_rwlock_timedrdlock => timed_read_lock, "rdx";
    /// Interposes `pthread_rwlock_clockrdlock`.
    pthread_rwlock_clockrdlock => clock_read_lock, "rcx";
    /// Interposes `pthread_rwlock_wrlock`.
    pthread_rwlock_wrlock => write_lock, "rsi";
    /// Interposes `pthread_rwlock_trywrlock`.
    pthread_rwlock_trywrlock => try_write_lock, "rsi";
    /// Interposes `pthread_rwlock_timedwrlock`.
    pthread_rwlock_timedwrlock => timed_write_lock, "rdx";
    /// Interposes `pthread_rwlock_clockwrlock`.
    pthread_rwlock_clockwrlock => clock_write_lock, "rcx";
}

unsafe extern "C" fn init(lock: Object, attributes: *const c_void, caller: u64) -> c_int {
    let result = real::pthread_rwlock_init(lock, attributes);
    if result == 0 {
        waits::initialized(lock as u64, ObjectCode::RwLock, 0, caller);
    }
    result
}

/// True for a time that glibc accepts; it refuses others even where there is nothing to wait for.
unsafe fn is_time(until: Timespec) -> bool {
    let nanos = until.cast::<i64>().add(1).read_unaligned();
    (0..1_000_000_000).contains(&nanos)
}

#[inline(always)]
unsafe fn take(
    lock: Object,
    shared: bool,
    caller: u64,
    attempt: c_int,
    block: impl FnOnce() -> c_int,
) -> c_int {
    match attempt {
        0 => {
            waits::acquired_with_others(lock as u64, ObjectCode::RwLock, caller, shared);
            0
        }
        EBUSY => wait(lock, shared, caller, block),
        // Too many readers, a deadlock with oneself: the real call says it in its own way.
        _ => block(),
    }
}

#[cold]
#[inline(never)]
unsafe fn wait(lock: Object, shared: bool, caller: u64, block: impl FnOnce() -> c_int) -> c_int {
    let object = lock as u64;
    hot::heat(object);
    let pending =
        waits::begin_for_lock(Wanted { shared_mode: shared, ..Wanted::new(object, ObjectCode::RwLock) });
    hot::arrive(object);
    let result = block();
    hot::leave(object);
    match result {
        0 => {
            waits::end(pending, OutcomeCode::Granted);
            waits::acquired_with_others(object, ObjectCode::RwLock, caller, shared);
        }
        ETIMEDOUT => waits::end(pending, OutcomeCode::TimedOut),
        _ => waits::cancel(pending),
    }
    result
}

unsafe extern "C" fn read_lock(lock: Object, caller: u64) -> c_int {
    let attempt = lock_cost::timed(lock as u64, || real::pthread_rwlock_tryrdlock(lock));
    take(lock, true, caller, attempt, || real::pthread_rwlock_rdlock(lock))
}

unsafe extern "C" fn timed_read_lock(lock: Object, until: Timespec, caller: u64) -> c_int {
    let attempt = if is_time(until) { real::pthread_rwlock_tryrdlock(lock) } else { EBUSY };
    take(lock, true, caller, attempt, || real::pthread_rwlock_timedrdlock(lock, until))
}

unsafe extern "C" fn clock_read_lock(lock: Object, clock: c_int, until: Timespec, caller: u64) -> c_int {
    let valid = is_time(until) && is_clock_to_wait_by(clock);
    let attempt = if valid { real::pthread_rwlock_tryrdlock(lock) } else { EBUSY };
    take(lock, true, caller, attempt, || real::pthread_rwlock_clockrdlock(lock, clock, until))
}

unsafe extern "C" fn write_lock(lock: Object, caller: u64) -> c_int {
    let attempt = lock_cost::timed(lock as u64, || real::pthread_rwlock_trywrlock(lock));
    take(lock, false, caller, attempt, || real::pthread_rwlock_wrlock(lock))
}

unsafe extern "C" fn timed_write_lock(lock: Object, until: Timespec, caller: u64) -> c_int {
    let attempt = if is_time(until) { real::pthread_rwlock_trywrlock(lock) } else { EBUSY };
    take(lock, false, caller, attempt, || real::pthread_rwlock_timedwrlock(lock, until))
}

unsafe extern "C" fn clock_write_lock(lock: Object, clock: c_int, until: Timespec, caller: u64) -> c_int {
    let valid = is_time(until) && is_clock_to_wait_by(clock);
    let attempt = if valid { real::pthread_rwlock_trywrlock(lock) } else { EBUSY };
    take(lock, false, caller, attempt, || real::pthread_rwlock_clockwrlock(lock, clock, until))
}

unsafe extern "C" fn try_read_lock(lock: Object, caller: u64) -> c_int {
    tried(lock, true, caller, real::pthread_rwlock_tryrdlock(lock))
}

unsafe extern "C" fn try_write_lock(lock: Object, caller: u64) -> c_int {
    tried(lock, false, caller, real::pthread_rwlock_trywrlock(lock))
}

unsafe fn tried(lock: Object, shared: bool, caller: u64, result: c_int) -> c_int {
    match result {
        0 => waits::acquired_with_others(lock as u64, ObjectCode::RwLock, caller, shared),
        EBUSY => waits::try_failed(lock as u64, ObjectCode::RwLock),
        _ => {}
    }
    result
}

/// Interposes `pthread_rwlock_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_rwlock_unlock(lock: Object) -> c_int {
    let Some(waited_for) = waits::looks_for_waiters(lock as u64) else {
        return real::pthread_rwlock_unlock(lock);
    };
    let ending = waits::releasing(lock as u64, ObjectCode::RwLock, false, waited_for);
    let result = real::pthread_rwlock_unlock(lock);
    if let (0, Some(ending)) = (result, ending) {
        waits::released(ending);
    }
    result
}
