//! The thread's CPU time, cheaply.
//!
//! Asking the kernel costs hundreds of nanoseconds. While the thread has not lost its core, CPU time has run like the clock
//! since it was last asked for. Whether it has, restartable sequences tell (linux/rseq.h): the kernel clears the pointer
//! `rseq_cs` in the area that the C library has registered for each thread when the thread comes back to a core, or gets a
//! signal, outside of the sequence that the pointer describes. Ours describes an empty one, so it is cleared each time. A
//! sequence of the program's own cannot be under way while a hook runs, and what it leaves behind there is for nobody.
//!
//! An event of the kernel's on each thread could tell it too, and costs each switch more than a microsecond.

use core::cell::Cell;
use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use holdup_trace::wire::{CALLS_PERIOD_MICROS, UNKNOWN};

use crate::arch::{self, number, system_call};
use crate::life;

/// Where a variable of this name is.
type Variable = fn(&CStr) -> Option<*const c_void>;

/// A thread's CPU clock. All zero is its first state.
#[repr(C)]
pub struct Clock {
    /// It ran like the clock since `nanos` and `ticks`, if the thread has not lost its core.
    runs: Cell<bool>,
    reads: Cell<u32>,
    nanos: Cell<u64>,
    /// When the kernel was last asked; 0 before.
    ticks: Cell<u64>,
}

/// The program's first thread, and what it had used up before (ns): in the program that executed this one.
static FIRST: AtomicU64 = AtomicU64::new(0);
static BEFORE: AtomicU64 = AtomicU64::new(0);

/// From here on the clock of the calling thread, the program's first, counts anew.
pub(crate) fn begin(variable: Variable) {
    find_area(variable);
    let before = ask();
    if before != UNKNOWN {
        BEFORE.store(before, Ordering::Relaxed);
        FIRST.store(arch::thread_pointer(), Ordering::Relaxed);
    }
}

/// A process whose threads ask less often than this does not try whether it can see that they lose their core.
const READS_BEFORE_TRIAL: u32 = 8;

impl Clock {
    /// CPU time of the calling thread in ns, where `now` is the present tick; [`UNKNOWN`] where it cannot be had.
    pub fn read(&self, now: u64) -> u64 {
        if life::confined() || life::writes_nothing() {
            return UNKNOWN;
        }
        if self.runs.get() && keeps_its_core() {
            return self.nanos.get() + life::nanos(now.saturating_sub(self.ticks.get()));
        }
        if !can_tell() {
            let reads = self.reads.get();
            self.reads.set(reads.saturating_add(1));
            if reads != READS_BEFORE_TRIAL || !begin_trial() {
                self.ticks.set(now);
                return ask();
            }
        }
        arm();
        let nanos = ask();
        self.nanos.set(nanos);
        self.ticks.set(life::ticks());
        // If the thread lost its core between the two, what they say does not belong together.
        self.runs.set(nanos != UNKNOWN && keeps_its_core());
        nanos
    }

    /// As [`Clock::read`], but [`UNKNOWN`] too where the kernel would have to be asked and was a moment ago.
    pub(crate) fn read_after_call(&self, now: u64) -> u64 {
        let is_known = self.runs.get() && keeps_its_core();
        if !is_known && now.saturating_sub(self.ticks.get()) < life::ticks_of_micros(CALLS_PERIOD_MICROS) {
            return UNKNOWN;
        }
        self.read(now)
    }

    /// From here on [`keeps_its_core`] tells; false where it cannot.
    #[inline(always)]
    pub(crate) fn watch(&self) -> bool {
        if !can_tell() {
            return false;
        }
        if !keeps_its_core() {
            self.runs.set(false);
            arm();
        }
        true
    }

    /// In the child of a fork.
    pub(crate) fn forget(&self) {
        self.runs.set(false);
        self.reads.set(0);
        self.ticks.set(0);
        // Its clock begins anew with it.
        FIRST.store(0, Ordering::Relaxed);
    }
}

/// A sequence as the kernel reads it (`struct rseq_cs`): of no length, so that nothing is ever within it.
#[repr(C, align(32))]
struct Sequence {
    version_and_flags: AtomicU64,
    start: AtomicU64,
    length: AtomicU64,
    /// Where it would go on: never, but the kernel looks for the signature before it.
    abort: AtomicU64,
}

static SEQUENCE: Sequence = Sequence {
    version_and_flags: AtomicU64::new(0),
    start: AtomicU64::new(0),
    length: AtomicU64::new(0),
    abort: AtomicU64::new(0),
};

/// What the C library has registered its areas with, on x86-64.
#[repr(C)]
struct Signature(u32, u32);
static SIGNATURE: Signature = Signature(0x5305_3053, 0);

/// Where the area's pointer to a sequence lies.
const POINTER: usize = 8;
/// The least that the C library says of an area's size where it has registered one.
const LEAST_SIZE: u32 = 16;

/// Where the area lies, from the thread pointer (in two's complement).
static AREA: AtomicUsize = AtomicUsize::new(0);

/// In [`STATE`]: there is no area, or the kernel does not clear its pointer.
const CANNOT: u8 = 0;
/// There is one, and nobody has tried it.
const FOUND: u8 = 1;
/// A thread tries it.
const TRIES: u8 = 2;
/// It was tried, and tells.
const TELLS: u8 = 3;
static STATE: AtomicU8 = AtomicU8::new(CANNOT);

#[inline(always)]
fn can_tell() -> bool {
    STATE.load(Ordering::Relaxed) == TELLS
}

/// The calling thread's pointer to a sequence. Only where there is an area.
#[inline(always)]
fn pointer() -> *mut u64 {
    let area = (arch::thread_pointer() as usize).wrapping_add(AREA.load(Ordering::Relaxed));
    (area + POINTER) as *mut u64
}

#[inline(always)]
fn arm() {
    // SAFETY: the area of the calling thread, which only it and the kernel on its behalf write to.
    unsafe { pointer().write_volatile(ptr::from_ref(&SEQUENCE) as u64) };
}

/// True if the calling thread has not lost its core since it was armed. Only after [`Clock::watch`] gave true, or [`arm`].
#[inline(always)]
pub(crate) fn keeps_its_core() -> bool {
    // SAFETY: as in `arm`.
    unsafe { pointer().read_volatile() == ptr::from_ref(&SEQUENCE) as u64 }
}

/// Finds out whether the C library (glibc from 2.35 on) has registered areas.
fn find_area(variable: Variable) {
    let (Some(size), Some(offset)) = (variable(c"__rseq_size"), variable(c"__rseq_offset")) else {
        return;
    };
    // SAFETY: an unsigned int and a ptrdiff_t that the C library sets before any constructor runs.
    let (size, offset) = unsafe { (*size.cast::<u32>(), *offset.cast::<isize>()) };
    if size < LEAST_SIZE {
        return;
    }
    AREA.store(offset as usize, Ordering::Relaxed);
    SEQUENCE.abort.store(ptr::from_ref(&SIGNATURE.1) as u64, Ordering::Relaxed);
    STATE.store(FOUND, Ordering::Relaxed);
}

/// Tries whether a thread that sleeps sees that it lost its core; gives false where it does not, or another thread tries.
#[cold]
fn begin_trial() -> bool {
    if STATE.compare_exchange(FOUND, TRIES, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return can_tell();
    }
    arm();
    const A_WHILE: [i64; 2] = [0, 20_000];
    const WAIT_PRIVATE: usize = 128;
    // By a call that programs with threads make: a filter of theirs may kill at others.
    let (word, while_zero) = (0u32, 0);
    // SAFETY: a word of this function's, and a buffer in the shape of a timespec.
    unsafe {
        let (word, time) = (ptr::from_ref(&word) as usize, A_WHILE.as_ptr() as usize);
        system_call(number::FUTEX, [word, WAIT_PRIVATE, while_zero, time, 0, 0]);
    }
    let tells = !keeps_its_core();
    STATE.store(if tells { TELLS } else { CANNOT }, Ordering::Relaxed);
    tells
}

/// CPU time of the calling thread as the kernel counts it, in ns.
fn ask() -> u64 {
    const CLOCK_THREAD_CPUTIME_ID: usize = 3;
    of_clock(CLOCK_THREAD_CPUTIME_ID, arch::thread_pointer())
}

/// CPU time of another thread of this process in ns, of its kernel id and its `pthread_t`; [`UNKNOWN`] where it has ended.
pub(crate) fn of(tid: u32, handle: u64) -> u64 {
    /// A thread's clock of time on a core (clock_getcpuclockid(3), linux/posix-timers.h).
    const OF_THREAD: u32 = 4 | 2;
    of_clock((!tid << 3 | OF_THREAD) as i32 as usize, handle)
}

fn of_clock(clock: usize, handle: u64) -> u64 {
    let mut time = [0i64; 2];
    // SAFETY: the buffer has the shape of a timespec.
    let result =
        unsafe { system_call(number::CLOCK_GETTIME, [clock, time.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    if result != 0 {
        return UNKNOWN;
    }
    let is_first = FIRST.load(Ordering::Relaxed) == handle;
    let before = if is_first { BEFORE.load(Ordering::Relaxed) } else { 0 };
    (time[0] as u64 * 1_000_000_000 + time[1] as u64).saturating_sub(before)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// Computes until the thread has lost its core or `length` is over.
    fn compute(length: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < length && keeps_its_core() {
            core::hint::spin_loop();
        }
    }

    #[test]
    fn the_clock_of_another_thread_is_its_own() {
        let (tells, told) = std::sync::mpsc::channel();
        let (ends, ended) = std::sync::mpsc::channel::<()>();
        let other = thread::spawn(move || {
            let begun = ask();
            while ask() - begun < 5_000_000 {}
            tells.send((crate::thread::tid(), arch::thread_pointer(), ask())).expect("who asks");
            ended.recv().expect("the end");
        });
        let (tid, handle, own) = told.recv().expect("the other thread");
        let seen = of(tid, handle);
        assert!(seen >= own && seen < own + ask() + 1_000_000_000, "{own} and then {seen}");
        ends.send(()).expect("the other thread");
        other.join().expect("the other thread");
        assert_eq!(of(u32::MAX >> 4, 0), UNKNOWN, "there is no such thread");
    }

    #[test]
    fn after_calls_the_kernel_is_asked_now_and_then() {
        let clock =
            Clock { runs: Cell::new(false), reads: Cell::new(0), nanos: Cell::new(0), ticks: Cell::new(0) };
        let long_after = life::ticks() + life::ticks_of_micros(10 * CALLS_PERIOD_MICROS);
        clock.ticks.set(long_after);
        let at = |micros: u64| clock.read_after_call(long_after + life::ticks_of_micros(micros)) == UNKNOWN;
        assert!(at(1) && at(CALLS_PERIOD_MICROS / 2), "it was asked a moment ago");
        assert_eq!(clock.ticks.get(), long_after, "and has not been since");
        assert!(!at(CALLS_PERIOD_MICROS + 1), "it is time to ask again");
        assert_ne!(clock.ticks.get(), long_after);
    }

    #[test]
    fn a_thread_that_sleeps_sees_that_it_lost_its_core() {
        find_area(crate::link::variable);
        if STATE.load(Ordering::Relaxed) != FOUND {
            std::eprintln!("skipped: the C library has registered no areas");
            return;
        }
        assert!(begin_trial() && can_tell(), "the kernel does not clear what describes no sequence");
        let clock =
            Clock { runs: Cell::new(false), reads: Cell::new(0), nanos: Cell::new(0), ticks: Cell::new(0) };
        let mut kept = 0;
        for _ in 0..100 {
            assert!(clock.watch());
            compute(Duration::from_micros(20));
            kept += u32::from(keeps_its_core());
            assert!(clock.watch());
            thread::sleep(Duration::from_millis(1));
            assert!(!keeps_its_core(), "it slept");
        }
        // Others take the core from time to time, on a busy machine too.
        assert!(kept > 0, "it seems to lose it in every stretch of 20 µs");
        // A thread of its own has an area of its own.
        assert!(clock.watch());
        thread::spawn(|| assert!(!keeps_its_core())).join().expect("the other thread");
    }
}
