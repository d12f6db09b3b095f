//! Mutexes of every type.

use core::ffi::{c_int, c_void};

use holdup_agent::waits::{self, Wanted};
use holdup_agent::{hot, lock_cost};
use holdup_trace::wire::{ObjectCode, OutcomeCode};

use crate::front::fronts;
use crate::real::{self, Object, Timespec};

pub(crate) const EBUSY: c_int = 16;
const EDEADLK: c_int = 35;
const EINVAL: c_int = 22;
pub(crate) const ETIMEDOUT: c_int = 110;
const EOWNERDEAD: c_int = 130;

/// The beginning of glibc's mutex (`struct __pthread_mutex_s` for x86-64 and aarch64).
#[repr(C)]
struct Layout {
    /// The futex word: 0 free, 1 taken, 2 taken and waited for; for robust and priority-inheriting mutexes the
    /// owner's tid and a bit for waiters.
    word: c_int,
    count: u32,
    owner: c_int,
    users: u32,
    kind: c_int,
}

const PROCESS_SHARED: c_int = 128;
const ROBUST: c_int = 16;
const WAITED_FOR: c_int = 2;

fn layout(mutex: Object) -> *const Layout {
    mutex.cast()
}

/// The kernel thread id of the owner; 0 if there is none.
pub(crate) unsafe fn owner(mutex: Object) -> u32 {
    (&raw const (*layout(mutex)).owner).read_volatile() as u32
}

unsafe fn kind(mutex: Object) -> c_int {
    (&raw const (*layout(mutex)).kind).read_volatile()
}

/// True for the two clocks by which glibc waits: CLOCK_REALTIME and CLOCK_MONOTONIC.
pub(crate) fn is_clock_to_wait_by(clock: c_int) -> bool {
    clock == 0 || clock == 1
}

/// The result of trying first, which is what a lock does that nobody else has. A robust mutex is only looked at: in
/// glibc, trying one that cannot be recovered leaves it locked.
#[inline(always)]
unsafe fn attempt(mutex: Object) -> c_int {
    if kind(mutex) & ROBUST == 0 { real::pthread_mutex_trylock(mutex) } else { EBUSY }
}

/// True if a thread sleeps until the mutex is free. Only the owner may ask.
#[inline(always)]
pub(crate) unsafe fn is_waited_for(mutex: Object) -> bool {
    let word = (&raw const (*layout(mutex)).word).read_volatile();
    word == WAITED_FOR || word < 0
}

fronts! {
    /// Interposes `pthread_mutex_init`.
    pthread_mutex_init => init, "rdx";
    /// Interposes `pthread_mutex_lock`.
    pthread_mutex_lock => lock, "rsi";
    /// Interposes `pthread_mutex_trylock`.
    pthread_mutex_trylock => try_lock, "rsi";
    /// Interposes `pthread_mutex_timedlock`.
    pthread_mutex_timedlock => timed_lock, "rdx";
    /// Interposes `pthread_mutex_clocklock`.
    pthread_mutex_clocklock => clock_lock, "rcx";
}

unsafe extern "C" fn init(mutex: Object, attributes: *const c_void, caller: u64) -> c_int {
    let result = real::pthread_mutex_init(mutex, attributes);
    if result == 0 {
        waits::initialized(mutex as u64, ObjectCode::Mutex, 0, caller);
    }
    result
}

unsafe extern "C" fn lock(mutex: Object, caller: u64) -> c_int {
    let result = lock_cost::timed(mutex as u64, || attempt(mutex));
    if result == 0 {
        waits::acquired(mutex as u64, ObjectCode::Mutex, caller);
        return 0;
    }
    wait(result, mutex, caller, || real::pthread_mutex_lock(mutex))
}

unsafe extern "C" fn timed_lock(mutex: Object, until: Timespec, caller: u64) -> c_int {
    let result = attempt(mutex);
    if result == 0 {
        waits::acquired(mutex as u64, ObjectCode::Mutex, caller);
        return 0;
    }
    wait(result, mutex, caller, || real::pthread_mutex_timedlock(mutex, until))
}

unsafe extern "C" fn clock_lock(mutex: Object, clock: c_int, until: Timespec, caller: u64) -> c_int {
    // Other clocks are refused even where there is nothing to wait for.
    let result = if is_clock_to_wait_by(clock) { attempt(mutex) } else { EBUSY };
    if result == 0 {
        waits::acquired(mutex as u64, ObjectCode::Mutex, caller);
        return 0;
    }
    wait(result, mutex, caller, || real::pthread_mutex_clocklock(mutex, clock, until))
}

/// What follows a `try` that gave `tried`. Only "busy" leads to the real lock: the other results, a dead owner's
/// mutex among them, are the caller's.
#[cold]
#[inline(never)]
unsafe fn wait(tried: c_int, mutex: Object, caller: u64, block: impl FnOnce() -> c_int) -> c_int {
    if tried == EOWNERDEAD {
        waits::acquired(mutex as u64, ObjectCode::Mutex, caller);
    }
    if tried != EBUSY {
        return tried;
    }
    let object = mutex as u64;
    let kind = kind(mutex);
    if kind & ROBUST != 0 && owner(mutex) == 0 {
        let result = block();
        if result == 0 || result == EOWNERDEAD {
            waits::acquired(object, ObjectCode::Mutex, caller);
        }
        return result;
    }
    hot::heat(object);
    let pending = waits::begin_for_lock(Wanted {
        owner_tid: owner(mutex),
        process_shared: kind & PROCESS_SHARED != 0,
        ..Wanted::new(object, ObjectCode::Mutex)
    });
    let result = block();
    match result {
        0 | EOWNERDEAD => {
            waits::end(pending, OutcomeCode::Granted);
            waits::acquired(object, ObjectCode::Mutex, caller);
        }
        ETIMEDOUT => waits::end(pending, OutcomeCode::TimedOut),
        EDEADLK | EINVAL => waits::cancel(pending),
        _ => waits::end(pending, OutcomeCode::Failed),
    }
    result
}

unsafe extern "C" fn try_lock(mutex: Object, caller: u64) -> c_int {
    let result = real::pthread_mutex_trylock(mutex);
    match result {
        0 | EOWNERDEAD => waits::acquired(mutex as u64, ObjectCode::Mutex, caller),
        EBUSY => waits::try_failed(mutex as u64, ObjectCode::Mutex),
        _ => {}
    }
    result
}

/// Interposes `pthread_mutex_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_unlock(mutex: Object) -> c_int {
    let waited_for = is_waited_for(mutex);
    if !waits::release_matters(waited_for) {
        return real::pthread_mutex_unlock(mutex);
    }
    unlock_and_tell(mutex, waited_for)
}

#[inline(never)]
unsafe fn unlock_and_tell(mutex: Object, waited_for: bool) -> c_int {
    let ending = waits::releasing(mutex as u64, ObjectCode::Mutex, false, waited_for);
    let result = real::pthread_mutex_unlock(mutex);
    if let (0, Some(ending)) = (result, ending) {
        waits::released(ending);
    }
    result
}
