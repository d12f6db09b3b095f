//! System calls that can block: timed, and told where they took long, so that a thread in I/O or asleep is never
//! called active.

use core::ffi::{c_int, c_uint, c_void};

use holdup_agent::channels::{self, puts, takes};
use holdup_agent::{alone, life, waits};
use holdup_trace::wire::CallCode;

use crate::real::{self, Timespec};

const NO_DESCRIPTOR: u32 = u32::MAX;

/// A call, made and recorded; with what it does at a channel, if its descriptor leads to one: then it may wait for another thread.
macro_rules! made {
    ($call:expr, $code:ident, $descriptor:expr) => {{
        let begin = waits::calling(CallCode::$code, $descriptor);
        let result = $call;
        waits::called(begin, CallCode::$code, $descriptor);
        result
    }};
    ($call:expr, $code:ident, $descriptor:expr, $passage:expr) => {
        match $passage {
            None => made!($call, $code, $descriptor),
            Some(passage) => {
                let passing = waits::passing(passage, CallCode::$code, $descriptor);
                let result = $call;
                waits::passed(passing, CallCode::$code, $descriptor, result as i64);
                result
            }
        }
    };
}

macro_rules! calls {
    ($($name:ident $arguments:tt -> $result:ty, $code:ident, $descriptor:expr $(, $passage:expr)?;)*) => {$(
        called! { $name $arguments -> $result, $code, $descriptor $(, $passage)? }
    )*};
}

macro_rules! called {
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $($how:tt)*) => {
        #[doc = concat!("Interposes `", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            made!(real::$name($($argument),*), $($how)*)
        }
    };
}

calls! {
    read(descriptor: c_int, buffer: *mut c_void, length: usize) -> isize,
        Read, descriptor as u32, takes(descriptor as u32);
    pread(descriptor: c_int, buffer: *mut c_void, length: usize, offset: i64) -> isize, Read, descriptor as u32;
    pread64(descriptor: c_int, buffer: *mut c_void, length: usize, offset: i64) -> isize, Read, descriptor as u32;
    readv(descriptor: c_int, parts: *const c_void, count: c_int) -> isize,
        Read, descriptor as u32, takes(descriptor as u32);
    __read_chk(descriptor: c_int, buffer: *mut c_void, length: usize, space: usize) -> isize,
        Read, descriptor as u32, takes(descriptor as u32);
    preadv(descriptor: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize, Read, descriptor as u32;
    preadv64(descriptor: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize, Read, descriptor as u32;
    write(descriptor: c_int, buffer: *const c_void, length: usize) -> isize,
        Write, descriptor as u32, puts(descriptor as u32);
    pwrite(descriptor: c_int, buffer: *const c_void, length: usize, offset: i64) -> isize, Write, descriptor as u32;
    pwrite64(descriptor: c_int, buffer: *const c_void, length: usize, offset: i64) -> isize, Write, descriptor as u32;
    writev(descriptor: c_int, parts: *const c_void, count: c_int) -> isize,
        Write, descriptor as u32, puts(descriptor as u32);
    pwritev(descriptor: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize, Write, descriptor as u32;
    pwritev64(descriptor: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize, Write, descriptor as u32;
    eventfd_read(descriptor: c_int, value: *mut u64) -> c_int, Read, descriptor as u32, takes(descriptor as u32);
    eventfd_write(descriptor: c_int, value: u64) -> c_int, Write, descriptor as u32, puts(descriptor as u32);
    sendfile(to: c_int, from: c_int, offset: *mut i64, length: usize) -> isize, Write, to as u32, puts(to as u32);
    sendfile64(to: c_int, from: c_int, offset: *mut i64, length: usize) -> isize, Write, to as u32, puts(to as u32);
    splice(from: c_int, from_offset: *mut i64, to: c_int, to_offset: *mut i64, length: usize, flags: c_uint) -> isize,
        Write, to as u32, puts(to as u32);
    recv(descriptor: c_int, buffer: *mut c_void, length: usize, flags: c_int) -> isize,
        Receive, descriptor as u32, takes(descriptor as u32);
    recvfrom(descriptor: c_int, buffer: *mut c_void, length: usize, flags: c_int, address: *mut c_void,
             address_length: *mut c_uint) -> isize, Receive, descriptor as u32, takes(descriptor as u32);
    __recv_chk(descriptor: c_int, buffer: *mut c_void, length: usize, space: usize, flags: c_int) -> isize, Receive,
        descriptor as u32, takes(descriptor as u32);
    send(descriptor: c_int, buffer: *const c_void, length: usize, flags: c_int) -> isize,
        Send, descriptor as u32, puts(descriptor as u32);
    sendto(descriptor: c_int, buffer: *const c_void, length: usize, flags: c_int, address: *const c_void,
           address_length: c_uint) -> isize, Send, descriptor as u32, puts(descriptor as u32);
    sendmsg(descriptor: c_int, message: *const c_void, flags: c_int) -> isize,
        Send, descriptor as u32, puts(descriptor as u32);
    accept(descriptor: c_int, address: *mut c_void, address_length: *mut c_uint) -> c_int, Accept, descriptor as u32;
    accept4(descriptor: c_int, address: *mut c_void, address_length: *mut c_uint, flags: c_int) -> c_int, Accept,
        descriptor as u32;
    connect(descriptor: c_int, address: *const c_void, address_length: c_uint) -> c_int, Connect, descriptor as u32;
    epoll_wait(descriptor: c_int, events: *mut c_void, count: c_int, millis: c_int) -> c_int,
        Poll, descriptor as u32, takes(descriptor as u32);
    epoll_pwait(descriptor: c_int, events: *mut c_void, count: c_int, millis: c_int, signals: *const c_void) -> c_int,
        Poll, descriptor as u32, takes(descriptor as u32);
    sigwait(signals: *const c_void, signal: *mut c_int) -> c_int, Signal, NO_DESCRIPTOR;
    sigwaitinfo(signals: *const c_void, information: *mut c_void) -> c_int, Signal, NO_DESCRIPTOR;
    sigtimedwait(signals: *const c_void, information: *mut c_void, length: Timespec) -> c_int, Signal, NO_DESCRIPTOR;
    sigsuspend(signals: *const c_void) -> c_int, Signal, NO_DESCRIPTOR;
    pause() -> c_int, Signal, NO_DESCRIPTOR;
    nanosleep(length: Timespec, left: *mut c_void) -> c_int, Sleep, NO_DESCRIPTOR;
    clock_nanosleep(clock: c_int, flags: c_int, length: Timespec, left: *mut c_void) -> c_int, Sleep, NO_DESCRIPTOR;
    usleep(micros: c_uint) -> c_int, Sleep, NO_DESCRIPTOR;
    sleep(seconds: c_uint) -> c_uint, Sleep, NO_DESCRIPTOR;
    fsync(descriptor: c_int) -> c_int, Sync, descriptor as u32;
    fdatasync(descriptor: c_int) -> c_int, Sync, descriptor as u32;
    msync(address: *mut c_void, length: usize, flags: c_int) -> c_int, Sync, NO_DESCRIPTOR;
    wait(status: *mut c_int) -> c_int, WaitChild, NO_DESCRIPTOR;
    waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int, WaitChild, NO_DESCRIPTOR;
    wait3(status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int, WaitChild, NO_DESCRIPTOR;
    wait4(process: c_int, status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int, WaitChild, NO_DESCRIPTOR;
    waitid(kind: c_uint, id: c_uint, information: *mut c_void, options: c_int) -> c_int, WaitChild, NO_DESCRIPTOR;
    flock(descriptor: c_int, operation: c_int) -> c_int, FileLock, descriptor as u32;
    lockf(descriptor: c_int, command: c_int, length: i64) -> c_int, FileLock, descriptor as u32;
    lockf64(descriptor: c_int, command: c_int, length: i64) -> c_int, FileLock, descriptor as u32;
}

/// Interposes `recvmsg`, by which a process can be sent descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(descriptor: c_int, message: *mut c_void, flags: c_int) -> isize {
    let channel = takes(descriptor as u32);
    let result = made!(real::recvmsg(descriptor, message, flags), Receive, descriptor as u32, channel);
    if result >= 0 {
        channels::received_with(message);
    }
    result
}

macro_rules! polls {
    ($($name:ident($($argument:ident: $type:ty),*), $ready:expr;)*) => {$(
        #[doc = concat!("Interposes `", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let may_be_for_threads = channels::poll_begins();
            let begin = waits::calling(CallCode::Poll, NO_DESCRIPTOR);
            let result = real::$name($($argument),*);
            if may_be_for_threads {
                // What a call that failed was given may be no memory at all.
                let ready = (result > 0).then(|| $ready);
                waits::polled(begin, ready.into_iter().flatten(), result == 0);
            } else {
                waits::called(begin, CallCode::Poll, NO_DESCRIPTOR);
            }
            result
        }
    )*};
}

polls! {
    poll(descriptors: *mut c_void, count: usize, millis: c_int), ready_in_array(descriptors, count);
    ppoll(descriptors: *mut c_void, count: usize, length: Timespec, signals: *const c_void),
        ready_in_array(descriptors, count);
    __poll_chk(descriptors: *mut c_void, count: usize, millis: c_int, space: usize), ready_in_array(descriptors, count);
    select(count: c_int, read: *mut c_void, write: *mut c_void, except: *mut c_void, length: *mut c_void),
        ready_in_set(read, count);
    pselect(count: c_int, read: *mut c_void, write: *mut c_void, except: *mut c_void, length: Timespec,
            signals: *const c_void), ready_in_set(read, count);
}

/// A `struct pollfd`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Polled {
    descriptor: c_int,
    wanted: i16,
    ready: i16,
}

/// Those that `poll` found ready.
unsafe fn ready_in_array(descriptors: *const c_void, count: usize) -> impl Iterator<Item = u32> {
    let first: *const Polled = descriptors.cast();
    let entries = (0..count).map(move |index| first.add(index).read_unaligned());
    entries.filter(|polled| polled.ready != 0).map(|polled| polled.descriptor as u32)
}

/// Those that `select` left in a set, which is null if it was given none.
unsafe fn ready_in_set(set: *const c_void, count: c_int) -> impl Iterator<Item = u32> {
    let words: *const u64 = set.cast();
    let count = if set.is_null() { 0 } else { count.max(0) as u32 };
    (0..count).filter(move |descriptor| {
        words.add(*descriptor as usize / 64).read_unaligned() >> (descriptor % 64) & 1 != 0
    })
}

/// Interposes `sched_yield`, of which nothing is recorded: a thread that runs by itself waits for the others by it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_yield() -> c_int {
    if life::alone() {
        alone::yields();
    }
    real::sched_yield()
}
