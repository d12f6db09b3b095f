//! Semaphores.

use core::ffi::{c_int, c_uint};

use holdup_agent::waits::{self, Wanted};
use holdup_agent::{alone, hot, life, marks};
use holdup_trace::instructions::Mark;
use holdup_trace::wire::{ObjectCode, OutcomeCode};

use crate::front::fronts;
use crate::mutex::ETIMEDOUT;
use crate::real::{self, Object, Timespec};

fronts! {
    /// Interposes `sem_init`.
    sem_init => init, "rcx";
}

unsafe extern "C" fn init(semaphore: Object, shared: c_int, value: c_uint, caller: u64) -> c_int {
    let result = real::sem_init(semaphore, shared, value);
    if result == 0 {
        waits::initialized(semaphore as u64, ObjectCode::Semaphore, value, caller);
    }
    result
}

/// glibc's semaphore: the value, how many wait, and 0 if it is private to the process.
#[repr(C)]
struct Layout {
    value: u32,
    waiters: u32,
    shared: u32,
}

fn layout(semaphore: Object) -> *const Layout {
    semaphore.cast()
}

/// Takes by the real call, which is also where the thread can be cancelled and where a time is checked. It is a wait
/// if there is nothing to take.
#[inline(always)]
unsafe fn take(semaphore: Object, has_limit: bool, block: impl FnOnce() -> c_int) -> c_int {
    let value = (&raw const (*layout(semaphore)).value).read_volatile();
    let result = if value != 0 { block() } else { wait(semaphore, has_limit, block) };
    if result == 0 && life::is_followed() {
        let (object, kind) = (semaphore as u64, ObjectCode::Semaphore);
        marks::tell(Mark::Acquired { object, kind, caller: 0, shared: false });
        alone::point();
    }
    result
}

#[cold]
#[inline(never)]
unsafe fn wait(semaphore: Object, has_limit: bool, block: impl FnOnce() -> c_int) -> c_int {
    let object = semaphore as u64;
    let process_shared = (&raw const (*layout(semaphore)).shared).read_volatile() != 0;
    let wanted = Wanted::until(object, ObjectCode::Semaphore, has_limit);
    let pending = waits::begin(Wanted { process_shared, ..wanted });
    hot::arrive(object);
    let result = block();
    hot::leave(object);
    let outcome = match result {
        0 => OutcomeCode::Granted,
        _ if real::errno() == ETIMEDOUT => OutcomeCode::TimedOut,
        _ => OutcomeCode::Failed,
    };
    waits::end(pending, outcome);
    result
}

/// Interposes `sem_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_wait(semaphore: Object) -> c_int {
    take(semaphore, false, || real::sem_wait(semaphore))
}

/// Interposes `sem_timedwait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_timedwait(semaphore: Object, until: Timespec) -> c_int {
    take(semaphore, true, || real::sem_timedwait(semaphore, until))
}

/// Interposes `sem_clockwait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_clockwait(semaphore: Object, clock: c_int, until: Timespec) -> c_int {
    take(semaphore, true, || real::sem_clockwait(semaphore, clock, until))
}

/// Interposes `sem_post`. It may be called in signal handlers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_post(semaphore: Object) -> c_int {
    // Those of other processes among them.
    let waiters = (&raw const (*layout(semaphore)).waiters).read_volatile();
    let is_first = hot::is_first_signal(semaphore as u64);
    if waiters == 0 && !is_first && !hot::is_waited_for(semaphore as u64) && !marks::heard() {
        return real::sem_post(semaphore);
    }
    let time = waits::waking(semaphore as u64, ObjectCode::Semaphore, 1);
    let result = real::sem_post(semaphore);
    if result == 0 {
        waits::woke(time, semaphore as u64, ObjectCode::Semaphore, 1);
    }
    result
}
