//! Threads of C11: functions of their own in glibc, with their own results.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

use holdup_agent::waits::{self, Wanted};
use holdup_agent::{hot, lock_cost, marks, threading};
use holdup_trace::instructions::Mark;
use holdup_trace::shared::Slot;
use holdup_trace::wire::{CallCode, ObjectCode, OutcomeCode};

use crate::front::fronts;
use crate::real::{self, Handle, Object, Start, Timespec};
use crate::{condition, mutex, threads};

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const TIMED_OUT: c_int = 4;

fronts! {
    /// Interposes `mtx_lock`.
    mtx_lock => lock, "rsi";
    /// Interposes `mtx_trylock`.
    mtx_trylock => try_lock, "rsi";
    /// Interposes `mtx_timedlock`.
    mtx_timedlock => timed_lock, "rdx";
    /// Interposes `cnd_wait`.
    cnd_wait => wait, "rdx";
    /// Interposes `cnd_timedwait`.
    cnd_timedwait => timed_wait, "rcx";
}

unsafe fn take(lock: Object, caller: u64, block: impl FnOnce() -> c_int) -> c_int {
    let object = lock as u64;
    let tried = lock_cost::timed(object, || real::mtx_trylock(lock));
    if tried == SUCCESS {
        waits::acquired(object, ObjectCode::Mutex, caller);
    }
    if tried != BUSY {
        return tried;
    }
    hot::heat(object);
    let owner_tid = mutex::owner(lock);
    let pending = waits::begin_for_lock(Wanted { owner_tid, ..Wanted::new(object, ObjectCode::Mutex) });
    let result = block();
    match result {
        SUCCESS => {
            waits::end(pending, OutcomeCode::Granted);
            waits::acquired(object, ObjectCode::Mutex, caller);
        }
        TIMED_OUT => waits::end(pending, OutcomeCode::TimedOut),
        _ => waits::cancel(pending),
    }
    result
}

unsafe extern "C" fn lock(lock: Object, caller: u64) -> c_int {
    take(lock, caller, || real::mtx_lock(lock))
}

unsafe extern "C" fn timed_lock(lock: Object, until: Timespec, caller: u64) -> c_int {
    take(lock, caller, || real::mtx_timedlock(lock, until))
}

unsafe extern "C" fn try_lock(lock: Object, caller: u64) -> c_int {
    let result = real::mtx_trylock(lock);
    match result {
        SUCCESS => waits::acquired(lock as u64, ObjectCode::Mutex, caller),
        BUSY => waits::try_failed(lock as u64, ObjectCode::Mutex),
        _ => {}
    }
    result
}

/// Interposes `mtx_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mtx_unlock(lock: Object) -> c_int {
    let waited_for = mutex::is_waited_for(lock);
    if !waits::release_matters(waited_for) {
        return real::mtx_unlock(lock);
    }
    let ending = waits::releasing(lock as u64, ObjectCode::Mutex, false, waited_for);
    let result = real::mtx_unlock(lock);
    if let (SUCCESS, Some(ending)) = (result, ending) {
        waits::released(ending);
    }
    result
}

fn outcome(result: c_int) -> OutcomeCode {
    match result {
        SUCCESS => OutcomeCode::Granted,
        TIMED_OUT => OutcomeCode::TimedOut,
        _ => OutcomeCode::Failed,
    }
}

unsafe extern "C" fn wait(condition: Object, lock: Object, caller: u64) -> c_int {
    let pending = condition::begin(condition, lock, false);
    let result = real::cnd_wait(condition, lock);
    condition::end(condition, lock, caller, pending, outcome(result));
    result
}

unsafe extern "C" fn timed_wait(condition: Object, lock: Object, until: Timespec, caller: u64) -> c_int {
    let pending = condition::begin(condition, lock, true);
    let result = real::cnd_timedwait(condition, lock, until);
    condition::end(condition, lock, caller, pending, outcome(result));
    result
}

/// Interposes `cnd_signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cnd_signal(condition: Object) -> c_int {
    condition::wake(condition, 1, || real::cnd_signal(condition))
}

/// Interposes `cnd_broadcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cnd_broadcast(condition: Object) -> c_int {
    condition::wake(condition, u32::MAX, || real::cnd_broadcast(condition))
}

extern "C" fn run(slot: *mut c_void) -> c_int {
    // SAFETY: `thrd_create` below passes a slot of the process's file.
    let (start, argument) = threading::begin(unsafe { &*slot.cast::<Slot>() });
    // SAFETY: the function and the argument that the program gave.
    unsafe {
        let start: unsafe extern "C" fn(u64) -> c_int = core::mem::transmute(start);
        start(argument)
    }
}

/// Interposes `thrd_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(handle: *mut Handle, start: Start, argument: *mut c_void) -> c_int {
    let Some(slot) = threads::prepare(start, argument, threads::stack_size(core::ptr::null())) else {
        return real::thrd_create(handle, start, argument);
    };
    let number = slot.thread.load(Ordering::Relaxed);
    let result = real::thrd_create(handle, run as *mut c_void, core::ptr::from_ref(slot).cast_mut().cast());
    if result == SUCCESS {
        marks::tell(Mark::Created { number });
    } else {
        threading::abandon_child(slot);
    }
    result
}

/// Interposes `thrd_join`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_join(handle: Handle, result: *mut c_int) -> c_int {
    let pending = waits::begin(Wanted::new(handle as u64, ObjectCode::ThreadEnd));
    let status = real::thrd_join(handle, result);
    if status == SUCCESS {
        waits::end(pending, OutcomeCode::Granted)
    } else {
        waits::cancel(pending)
    }
    status
}

/// Interposes `thrd_sleep`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_sleep(length: Timespec, left: *mut c_void) -> c_int {
    let begin = waits::calling(CallCode::Sleep, u32::MAX);
    let result = real::thrd_sleep(length, left);
    waits::called(begin, CallCode::Sleep, u32::MAX);
    result
}

/// Interposes `call_once`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn call_once(control: *mut c_int, start: extern "C" fn()) {
    threads::once(control, start, |start| {
        real::call_once(control, start);
        SUCCESS
    });
}
