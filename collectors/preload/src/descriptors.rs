//! Descriptors by which threads can send to each other: where the program makes, copies and closes them.

use core::ffi::{c_int, c_uint, c_void};

use holdup_agent::{channels, waits};
use holdup_trace::wire::CallCode;

use crate::real;

/// The two descriptors that a call has put where it was to.
unsafe fn two(descriptors: *const c_int) -> [u32; 2] {
    [descriptors.read() as u32, descriptors.add(1).read() as u32]
}

/// Interposes `pipe`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pipe(descriptors: *mut c_int) -> c_int {
    let result = real::pipe(descriptors);
    if result == 0 {
        let [read, written] = two(descriptors);
        channels::made_pipe(read, written);
    }
    result
}

/// Interposes `pipe2`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pipe2(descriptors: *mut c_int, flags: c_int) -> c_int {
    let result = real::pipe2(descriptors, flags);
    if result == 0 {
        let [read, written] = two(descriptors);
        channels::made_pipe(read, written);
    }
    result
}

/// Interposes `socketpair`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    descriptors: *mut c_int,
) -> c_int {
    let result = real::socketpair(domain, kind, protocol, descriptors);
    if result == 0 {
        let [one, other] = two(descriptors);
        channels::made_pair(one, other);
    }
    result
}

/// Interposes `eventfd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eventfd(value: c_uint, flags: c_int) -> c_int {
    let descriptor = real::eventfd(value, flags);
    if descriptor >= 0 {
        channels::made_event(descriptor as u32);
    }
    descriptor
}

/// Interposes `timerfd_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    let descriptor = real::timerfd_create(clock, flags);
    if descriptor >= 0 {
        channels::made_timer(descriptor as u32);
    }
    descriptor
}

/// Interposes `epoll_ctl`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_ctl(
    by: c_int,
    operation: c_int,
    descriptor: c_int,
    event: *mut c_void,
) -> c_int {
    const ADD: c_int = 1;
    let result = real::epoll_ctl(by, operation, descriptor, event);
    if result == 0 && operation == ADD {
        channels::is_polled(by as u32, descriptor as u32);
    }
    result
}

macro_rules! copies {
    ($($name:ident($($argument:ident: $type:ty),*) of $descriptor:expr;)*) => {$(
        #[doc = concat!("Interposes `", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let copy = real::$name($($argument),*);
            if copy >= 0 {
                channels::copied($descriptor as u32, copy as u32);
            }
            copy
        }
    )*};
}

copies! {
    dup(descriptor: c_int) of descriptor;
    dup2(descriptor: c_int, copy: c_int) of descriptor;
    dup3(descriptor: c_int, copy: c_int, flags: c_int) of descriptor;
}

/// Interposes `fcntl`, whose third argument is a number, a pointer or nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl(descriptor: c_int, operation: c_int, argument: usize) -> c_int {
    const COPY: c_int = 0;
    const COPY_FOR_ITSELF: c_int = 1030;
    let result = real::fcntl(descriptor, operation, argument);
    if matches!(operation, COPY | COPY_FOR_ITSELF) && result >= 0 {
        channels::copied(descriptor as u32, result as u32);
    }
    result
}

/// Interposes `fcntl64`, which is the same on machines of 64 bits, and which older C libraries do not have.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl64(descriptor: c_int, operation: c_int, argument: usize) -> c_int {
    fcntl(descriptor, operation, argument)
}

/// Interposes `close`. Who waits for what no other descriptor can send any more goes on; what is closed leads nowhere before another
/// thread can be given its number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    let Some(passage) = channels::closes(descriptor as u32) else {
        channels::closed(descriptor as u32);
        return real::close(descriptor);
    };
    let passing = waits::passing(passage, CallCode::Write, descriptor as u32);
    channels::closed(descriptor as u32);
    let result = real::close(descriptor);
    waits::passed(passing, CallCode::Write, descriptor as u32, i64::from(result));
    result
}
