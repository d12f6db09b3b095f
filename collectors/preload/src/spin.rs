//! Spin locks.

use core::ffi::c_int;

use holdup_agent::waits::{self, Wanted};
use holdup_agent::{hot, lock_cost};
use holdup_trace::wire::{ObjectCode, OutcomeCode};

use crate::front::fronts;
use crate::mutex::EBUSY;
use crate::real::{self, Object};

fronts! {
    /// Interposes `pthread_spin_lock`.
    pthread_spin_lock => lock, "rsi";
    /// Interposes `pthread_spin_trylock`.
    pthread_spin_trylock => try_lock, "rsi";
}

unsafe extern "C" fn lock(lock: Object, caller: u64) -> c_int {
    match lock_cost::timed(lock as u64, || real::pthread_spin_trylock(lock)) {
        0 => {
            waits::acquired(lock as u64, ObjectCode::SpinLock, caller);
            0
        }
        _ => wait(lock, caller),
    }
}

#[cold]
#[inline(never)]
unsafe fn wait(lock: Object, caller: u64) -> c_int {
    let object = lock as u64;
    hot::heat(object);
    let pending = waits::begin_for_lock(Wanted::new(object, ObjectCode::SpinLock));
    hot::arrive(object);
    let result = real::pthread_spin_lock(lock);
    hot::leave(object);
    waits::end(pending, if result == 0 { OutcomeCode::Granted } else { OutcomeCode::Failed });
    if result == 0 {
        waits::acquired(object, ObjectCode::SpinLock, caller);
    }
    result
}

unsafe extern "C" fn try_lock(lock: Object, caller: u64) -> c_int {
    let result = real::pthread_spin_trylock(lock);
    match result {
        0 => waits::acquired(lock as u64, ObjectCode::SpinLock, caller),
        EBUSY => waits::try_failed(lock as u64, ObjectCode::SpinLock),
        _ => {}
    }
    result
}

/// Interposes `pthread_spin_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_spin_unlock(lock: Object) -> c_int {
    let Some(waited_for) = waits::looks_for_waiters(lock as u64) else {
        return real::pthread_spin_unlock(lock);
    };
    let ending = waits::releasing(lock as u64, ObjectCode::SpinLock, false, waited_for);
    let result = real::pthread_spin_unlock(lock);
    if let (0, Some(ending)) = (result, ending) {
        waits::released(ending);
    }
    result
}
