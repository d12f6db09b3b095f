//! The functions that this library takes the place of.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use holdup_agent::link;

/// The address of an original, found at its first use.
pub(crate) struct Original {
    address: AtomicUsize,
    name: &'static [u8],
}

impl Original {
    pub(crate) const fn new(name: &'static [u8]) -> Original {
        Original { address: AtomicUsize::new(0), name }
    }

    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        let address = self.address.load(Ordering::Relaxed);
        if address != 0 { address } else { self.find() }
    }

    #[cold]
    #[inline(never)]
    fn find(&self) -> usize {
        let Ok(name) = CStr::from_bytes_with_nul(self.name) else { return 0 };
        // Any address inside of this library says which object to look behind.
        let own = core::ptr::from_ref(&LIBRARY) as u64;
        let address = link::next(name, own).map_or(0, |address| address as usize);
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

static LIBRARY: u8 = 0;

/// `ENOSYS`: what a function that this C library does not have says.
const NO_SUCH_FUNCTION: c_int = 38;

/// What to return where the C library lacks a function.
trait Missing {
    fn missing() -> Self;
}

impl Missing for c_int {
    fn missing() -> c_int {
        NO_SUCH_FUNCTION
    }
}

impl Missing for isize {
    fn missing() -> isize {
        set_errno(NO_SUCH_FUNCTION);
        -1
    }
}

impl Missing for c_uint {
    fn missing() -> c_uint {
        0
    }
}

impl Missing for () {
    fn missing() {}
}

#[link(name = "c")]
unsafe extern "C" {
    safe fn __errno_location() -> *mut c_int;
}

pub(crate) fn errno_location() -> *mut c_int {
    __errno_location()
}

pub(crate) fn errno() -> c_int {
    // SAFETY: the C library's address of the calling thread's errno.
    unsafe { *__errno_location() }
}

pub(crate) fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *__errno_location() = value }
}

macro_rules! originals {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        #[inline(always)]
        pub(crate) unsafe fn $name($($argument: $type),*) $(-> $result)? {
            static ORIGINAL: Original = Original::new(concat!(stringify!($name), "\0").as_bytes());
            let address = ORIGINAL.address();
            if address == 0 {
                return Missing::missing();
            }
            let original: unsafe extern "C" fn($($type),*) $(-> $result)? = core::mem::transmute(address);
            original($($argument),*)
        }
    )*};
}

/// Some object of the C library, behind its address.
pub(crate) type Object = *mut c_void;
/// A `struct timespec`.
pub(crate) type Timespec = *const c_void;
/// A `pthread_t`.
pub(crate) type Handle = usize;
/// A start function.
pub(crate) type Start = *mut c_void;
type Strings = *const *const c_char;

originals! {
    pthread_mutex_init(mutex: Object, attributes: *const c_void) -> c_int;
    pthread_mutex_lock(mutex: Object) -> c_int;
    pthread_mutex_trylock(mutex: Object) -> c_int;
    pthread_mutex_timedlock(mutex: Object, until: Timespec) -> c_int;
    pthread_mutex_clocklock(mutex: Object, clock: c_int, until: Timespec) -> c_int;
    pthread_mutex_unlock(mutex: Object) -> c_int;

    pthread_rwlock_init(lock: Object, attributes: *const c_void) -> c_int;
    pthread_rwlock_rdlock(lock: Object) -> c_int;
    pthread_rwlock_tryrdlock(lock: Object) -> c_int;
    pthread_rwlock_timedrdlock(lock: Object, until: Timespec) -> c_int;
    pthread_rwlock_clockrdlock(lock: Object, clock: c_int, until: Timespec) -> c_int;
    pthread_rwlock_wrlock(lock: Object) -> c_int;
    pthread_rwlock_trywrlock(lock: Object) -> c_int;
    pthread_rwlock_timedwrlock(lock: Object, until: Timespec) -> c_int;
    pthread_rwlock_clockwrlock(lock: Object, clock: c_int, until: Timespec) -> c_int;
    pthread_rwlock_unlock(lock: Object) -> c_int;

    pthread_spin_lock(lock: Object) -> c_int;
    pthread_spin_trylock(lock: Object) -> c_int;
    pthread_spin_unlock(lock: Object) -> c_int;

    pthread_cond_init(condition: Object, attributes: *const c_void) -> c_int;
    pthread_cond_wait(condition: Object, mutex: Object) -> c_int;
    pthread_cond_timedwait(condition: Object, mutex: Object, until: Timespec) -> c_int;
    pthread_cond_clockwait(condition: Object, mutex: Object, clock: c_int, until: Timespec) -> c_int;
    pthread_cond_signal(condition: Object) -> c_int;
    pthread_cond_broadcast(condition: Object) -> c_int;

    pthread_barrier_init(barrier: Object, attributes: *const c_void, parties: c_uint) -> c_int;
    pthread_barrier_wait(barrier: Object) -> c_int;

    sem_init(semaphore: Object, shared: c_int, value: c_uint) -> c_int;
    sem_wait(semaphore: Object) -> c_int;
    sem_timedwait(semaphore: Object, until: Timespec) -> c_int;
    sem_clockwait(semaphore: Object, clock: c_int, until: Timespec) -> c_int;
    sem_post(semaphore: Object) -> c_int;

    pthread_create(handle: *mut Handle, attributes: *const c_void, start: Start, argument: *mut c_void) -> c_int;
    pthread_join(handle: Handle, result: *mut *mut c_void) -> c_int;
    pthread_timedjoin_np(handle: Handle, result: *mut *mut c_void, until: Timespec) -> c_int;
    pthread_clockjoin_np(handle: Handle, result: *mut *mut c_void, clock: c_int, until: Timespec) -> c_int;
    pthread_once(once: *mut c_int, start: extern "C" fn()) -> c_int;
    pthread_key_create(key: *mut c_uint, destructor: *mut c_void) -> c_int;
    pthread_setname_np(handle: Handle, name: *const c_char) -> c_int;
    pthread_attr_getstacksize(attributes: *const c_void, size: *mut usize) -> c_int;

    mtx_lock(mutex: Object) -> c_int;
    mtx_trylock(mutex: Object) -> c_int;
    mtx_timedlock(mutex: Object, until: Timespec) -> c_int;
    mtx_unlock(mutex: Object) -> c_int;
    cnd_wait(condition: Object, mutex: Object) -> c_int;
    cnd_timedwait(condition: Object, mutex: Object, until: Timespec) -> c_int;
    cnd_signal(condition: Object) -> c_int;
    cnd_broadcast(condition: Object) -> c_int;
    thrd_create(handle: *mut Handle, start: Start, argument: *mut c_void) -> c_int;
    thrd_join(handle: Handle, result: *mut c_int) -> c_int;
    thrd_sleep(length: Timespec, left: *mut c_void) -> c_int;
    call_once(once: *mut c_int, start: extern "C" fn());
    tss_create(key: *mut c_uint, destructor: *mut c_void) -> c_int;

    fork() -> c_int;
    _exit(status: c_int);

    prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int;

    execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int;
    execvpe(file: *const c_char, arguments: Strings, environment: Strings) -> c_int;
    fexecve(descriptor: c_int, arguments: Strings, environment: Strings) -> c_int;
    execveat(directory: c_int, path: *const c_char, arguments: Strings, environment: Strings, flags: c_int) -> c_int;
    posix_spawn(process: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void,
                arguments: Strings, environment: Strings) -> c_int;
    posix_spawnp(process: *mut c_int, file: *const c_char, actions: *const c_void, attributes: *const c_void,
                 arguments: Strings, environment: Strings) -> c_int;

    read(descriptor: c_int, buffer: *mut c_void, length: usize) -> isize;
    pread(descriptor: c_int, buffer: *mut c_void, length: usize, offset: i64) -> isize;
    pread64(descriptor: c_int, buffer: *mut c_void, length: usize, offset: i64) -> isize;
    readv(descriptor: c_int, parts: *const c_void, count: c_int) -> isize;
    __read_chk(descriptor: c_int, buffer: *mut c_void, length: usize, space: usize) -> isize;
    preadv(descriptor: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize;
    preadv64(descriptor: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize;
    write(descriptor: c_int, buffer: *const c_void, length: usize) -> isize;
    pwrite(descriptor: c_int, buffer: *const c_void, length: usize, offset: i64) -> isize;
    pwrite64(descriptor: c_int, buffer: *const c_void, length: usize, offset: i64) -> isize;
    writev(descriptor: c_int, parts: *const c_void, count: c_int) -> isize;
    pwritev(descriptor: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize;
    pwritev64(descriptor: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize;
    sendfile(to: c_int, from: c_int, offset: *mut i64, length: usize) -> isize;
    sendfile64(to: c_int, from: c_int, offset: *mut i64, length: usize) -> isize;
    splice(from: c_int, from_offset: *mut i64, to: c_int, to_offset: *mut i64, length: usize, flags: c_uint) -> isize;
    recv(descriptor: c_int, buffer: *mut c_void, length: usize, flags: c_int) -> isize;
    recvfrom(descriptor: c_int, buffer: *mut c_void, length: usize, flags: c_int, address: *mut c_void,
             address_length: *mut c_uint) -> isize;
    recvmsg(descriptor: c_int, message: *mut c_void, flags: c_int) -> isize;
    __recv_chk(descriptor: c_int, buffer: *mut c_void, length: usize, space: usize, flags: c_int) -> isize;
    send(descriptor: c_int, buffer: *const c_void, length: usize, flags: c_int) -> isize;
    sendto(descriptor: c_int, buffer: *const c_void, length: usize, flags: c_int, address: *const c_void,
           address_length: c_uint) -> isize;
    sendmsg(descriptor: c_int, message: *const c_void, flags: c_int) -> isize;
    accept(descriptor: c_int, address: *mut c_void, address_length: *mut c_uint) -> c_int;
    accept4(descriptor: c_int, address: *mut c_void, address_length: *mut c_uint, flags: c_int) -> c_int;
    connect(descriptor: c_int, address: *const c_void, address_length: c_uint) -> c_int;
    poll(descriptors: *mut c_void, count: usize, millis: c_int) -> c_int;
    ppoll(descriptors: *mut c_void, count: usize, length: Timespec, signals: *const c_void) -> c_int;
    __poll_chk(descriptors: *mut c_void, count: usize, millis: c_int, space: usize) -> c_int;
    select(count: c_int, read: *mut c_void, write: *mut c_void, except: *mut c_void, length: *mut c_void) -> c_int;
    pselect(count: c_int, read: *mut c_void, write: *mut c_void, except: *mut c_void, length: Timespec,
            signals: *const c_void) -> c_int;
    epoll_wait(descriptor: c_int, events: *mut c_void, count: c_int, millis: c_int) -> c_int;
    epoll_pwait(descriptor: c_int, events: *mut c_void, count: c_int, millis: c_int, signals: *const c_void) -> c_int;
    sigwait(signals: *const c_void, signal: *mut c_int) -> c_int;
    sigwaitinfo(signals: *const c_void, information: *mut c_void) -> c_int;
    sigtimedwait(signals: *const c_void, information: *mut c_void, length: Timespec) -> c_int;
    sigsuspend(signals: *const c_void) -> c_int;
    pause() -> c_int;
    nanosleep(length: Timespec, left: *mut c_void) -> c_int;
    clock_nanosleep(clock: c_int, flags: c_int, length: Timespec, left: *mut c_void) -> c_int;
    usleep(micros: c_uint) -> c_int;
    sleep(seconds: c_uint) -> c_uint;
    fsync(descriptor: c_int) -> c_int;
    fdatasync(descriptor: c_int) -> c_int;
    msync(address: *mut c_void, length: usize, flags: c_int) -> c_int;
    wait(status: *mut c_int) -> c_int;
    waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    wait3(status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int;
    wait4(process: c_int, status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int;
    waitid(kind: c_uint, id: c_uint, information: *mut c_void, options: c_int) -> c_int;
    flock(descriptor: c_int, operation: c_int) -> c_int;
    lockf(descriptor: c_int, command: c_int, length: i64) -> c_int;
    lockf64(descriptor: c_int, command: c_int, length: i64) -> c_int;
    sched_yield() -> c_int;
    pipe(descriptors: *mut c_int) -> c_int;
    pipe2(descriptors: *mut c_int, flags: c_int) -> c_int;
    socketpair(domain: c_int, kind: c_int, protocol: c_int, descriptors: *mut c_int) -> c_int;
    eventfd(value: c_uint, flags: c_int) -> c_int;
    timerfd_create(clock: c_int, flags: c_int) -> c_int;
    epoll_ctl(by: c_int, operation: c_int, descriptor: c_int, event: *mut c_void) -> c_int;
    dup(descriptor: c_int) -> c_int;
    dup2(descriptor: c_int, copy: c_int) -> c_int;
    dup3(descriptor: c_int, copy: c_int, flags: c_int) -> c_int;
    close(descriptor: c_int) -> c_int;
    fcntl(descriptor: c_int, operation: c_int, argument: usize) -> c_int;
    eventfd_read(descriptor: c_int, value: *mut u64) -> c_int;
    eventfd_write(descriptor: c_int, value: u64) -> c_int;
}

/// The address of the C library's `syscall`, for a stub that jumps to it; 0 if it is not known yet.
pub(crate) static SYSCALL: AtomicUsize = AtomicUsize::new(0);

/// Finds the C library's `syscall`.
pub(crate) fn find_syscall() {
    static ORIGINAL: Original = Original::new(b"syscall\0");
    SYSCALL.store(ORIGINAL.address(), Ordering::Relaxed);
}

/// The C library's `syscall`, with as many arguments as a system call can have.
pub(crate) unsafe fn syscall(arguments: [c_long; 7]) -> c_long {
    if SYSCALL.load(Ordering::Relaxed) == 0 {
        find_syscall();
    }
    let address = SYSCALL.load(Ordering::Relaxed);
    if address == 0 {
        set_errno(NO_SUCH_FUNCTION);
        return -1;
    }
    type Syscall = unsafe extern "C" fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long;
    let original: Syscall = core::mem::transmute(address);
    let [number, a, b, c, d, e, f] = arguments;
    original(number, a, b, c, d, e, f)
}
