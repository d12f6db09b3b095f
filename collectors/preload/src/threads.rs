//! Creation and joining of threads, one-time initialization, names.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use holdup_agent::arch::{self, number, system_call};
use holdup_agent::waits::{self, Wanted};
use holdup_agent::{enter, key, marks, stack, thread, threading};
use holdup_trace::instructions::Mark;
use holdup_trace::shared::Slot;
use holdup_trace::wire::{self, ObjectCode, OutcomeCode};

use crate::mutex::ETIMEDOUT;
use crate::real::{self, Handle, Start, Timespec};

static DEFAULT_STACK: AtomicUsize = AtomicUsize::new(0);

/// The stack size of threads that are created without attributes: the soft limit at the program's start, or
/// glibc's own default where there is none.
pub(crate) fn learn_default_stack() {
    const RLIMIT_STACK: usize = 3;
    const WITHOUT_LIMIT: usize = 2 << 20;
    let mut limit = [u64::MAX; 2];
    // SAFETY: reads a limit into a buffer of the right shape.
    unsafe { system_call(number::PRLIMIT, [0, RLIMIT_STACK, 0, limit.as_mut_ptr() as usize, 0, 0]) };
    let size = if limit[0] == u64::MAX { WITHOUT_LIMIT } else { limit[0] as usize };
    DEFAULT_STACK.store(size, Ordering::Relaxed);
}

/// Prepares a slot for a thread that is about to be created.
pub(crate) fn prepare(start: Start, argument: *mut c_void, stack_size: usize) -> Option<&'static Slot> {
    let recorder = enter()?;
    let place = stack::capture(&recorder);
    threading::prepare_child(recorder.slot(), start as u64, argument as u64, place, stack_size as u64)
}

/// The stack size of a thread with these attributes.
pub(crate) unsafe fn stack_size(attributes: *const c_void) -> usize {
    let mut size = 0;
    if attributes.is_null() || real::pthread_attr_getstacksize(attributes, &mut size) != 0 {
        size = DEFAULT_STACK.load(Ordering::Relaxed);
    }
    size
}

/// The first function of a thread that was created through here.
extern "C" fn run(slot: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` below passes a slot of the process's file.
    let (start, argument) = threading::begin(unsafe { &*slot.cast::<Slot>() });
    // SAFETY: the function and the argument that the program gave.
    unsafe {
        let start: unsafe extern "C" fn(u64) -> *mut c_void = core::mem::transmute(start);
        start(argument)
    }
}

/// Makes a key with `make`; where there is none left, the one that is ours is the program's.
unsafe fn key(make: impl Fn() -> c_int, none_left: c_int) -> c_int {
    let made = make();
    if made == none_left && key::give_up() { make() } else { made }
}

/// Interposes `pthread_key_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_key_create(key: *mut c_uint, destructor: *mut c_void) -> c_int {
    const EAGAIN: c_int = 11;
    self::key(|| real::pthread_key_create(key, destructor), EAGAIN)
}

/// Interposes `tss_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tss_create(key: *mut c_uint, destructor: *mut c_void) -> c_int {
    const ERROR: c_int = 2;
    self::key(|| real::tss_create(key, destructor), ERROR)
}

/// Interposes `pthread_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    handle: *mut Handle,
    attributes: *const c_void,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let Some(slot) = prepare(start, argument, stack_size(attributes)) else {
        return real::pthread_create(handle, attributes, start, argument);
    };
    let number = slot.thread.load(Ordering::Relaxed);
    let result = real::pthread_create(
        handle,
        attributes,
        run as *mut c_void,
        core::ptr::from_ref(slot).cast_mut().cast(),
    );
    if result == 0 {
        marks::tell(Mark::Created { number });
    } else {
        threading::abandon_child(slot);
    }
    result
}

unsafe fn joining(handle: Handle, has_limit: bool, block: impl FnOnce() -> c_int) -> c_int {
    let pending = waits::begin(Wanted::until(handle as u64, ObjectCode::ThreadEnd, has_limit));
    let result = block();
    match result {
        0 => waits::end(pending, OutcomeCode::Granted),
        ETIMEDOUT => waits::end(pending, OutcomeCode::TimedOut),
        _ => waits::cancel(pending),
    }
    result
}

/// Interposes `pthread_join`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_join(handle: Handle, result: *mut *mut c_void) -> c_int {
    joining(handle, false, || real::pthread_join(handle, result))
}

/// Interposes `pthread_timedjoin_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_timedjoin_np(
    handle: Handle,
    result: *mut *mut c_void,
    until: Timespec,
) -> c_int {
    joining(handle, true, || real::pthread_timedjoin_np(handle, result, until))
}

/// Interposes `pthread_clockjoin_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_clockjoin_np(
    handle: Handle,
    result: *mut *mut c_void,
    clock: c_int,
    until: Timespec,
) -> c_int {
    joining(handle, true, || real::pthread_clockjoin_np(handle, result, clock, until))
}

/// Runs the initialization of the innermost `once` of this thread, and notes that it ran here. It can be left by
/// an exception; then nothing after the call happens, which is why the note comes first.
extern "C" fn initialize() {
    let own = thread::this();
    own.once_ran.set(own.once_ran.get() + 1);
    waits::works_instead();
    if let Some(start) = own.once.get() {
        start();
    }
}

/// glibc's value of a `pthread_once_t` whose initialization is done.
const DONE: c_int = 2;

/// Does a `once` by `real`: the time is a wait only if another thread did the initialization meanwhile.
pub(crate) unsafe fn once(
    control: *mut c_int,
    start: extern "C" fn(),
    real: impl FnOnce(extern "C" fn()) -> c_int,
) -> c_int {
    if control.read_volatile() == DONE {
        return real(start);
    }
    let own = thread::this();
    let outer = own.once.replace(Some(start));
    let ran = own.once_ran.get();
    let pending = waits::begin(Wanted::new(control as u64, ObjectCode::Once));
    let result = real(initialize);
    own.once.set(outer);
    if own.once_ran.get() == ran {
        waits::end(pending, OutcomeCode::Granted);
    } else {
        waits::cancel(pending);
    }
    result
}

/// Interposes `pthread_once`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_once(control: *mut c_int, start: extern "C" fn()) -> c_int {
    once(control, start, |start| real::pthread_once(control, start))
}

/// Interposes `pthread_setname_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setname_np(handle: Handle, name: *const c_char) -> c_int {
    let result = real::pthread_setname_np(handle, name);
    if result == 0 {
        let own = handle as u64 == arch::thread_pointer();
        named(if own { 0 } else { handle as u64 }, name);
    }
    result
}

/// Tells the name of the calling thread (handle 0) or of another.
pub(crate) unsafe fn named(handle: u64, name: *const c_char) {
    const LONGEST: usize = 15;
    let Some(recorder) = enter() else { return };
    let name = CStr::from_ptr(name).to_bytes();
    let name = &name[..name.len().min(LONGEST)];
    recorder.write_text(&wire::thread_name_head(handle, name.len()), name);
}
