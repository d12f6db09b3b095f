//! The thread's CPU time, cheaply.
//!
//! Asking the kernel costs hundreds of nanoseconds. A software task-clock event of the thread has a page in
//! memory whose lock word changes whenever the thread loses or gets a core: while it is as it was, CPU time has
//! run like the clock since it was last asked for.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use holdup_trace::wire::UNKNOWN;

use crate::arch::{self, number, system_call};
use crate::life;

/// A thread's CPU clock. All zero is its first state.
#[repr(C)]
pub struct Clock {
    page: Cell<*const u32>,
    lock: Cell<u32>,
    reads: Cell<u32>,
    nanos: Cell<u64>,
    ticks: Cell<u64>,
}

/// The program's first thread, and what it had used up before (ns): in the program that executed this one.
static FIRST: AtomicU64 = AtomicU64::new(0);
static BEFORE: AtomicU64 = AtomicU64::new(0);

/// From here on the clock of the calling thread, the program's first, counts anew.
pub fn begin() {
    let before = ask();
    if before != UNKNOWN {
        BEFORE.store(before, Ordering::Relaxed);
        FIRST.store(arch::thread_pointer(), Ordering::Relaxed);
    }
}

/// A thread that asks less often than this is not worth an event of its own.
const READS_BEFORE_OPENING: u32 = 8;
/// Where the lock word lies in the event's page, in words of 32 bits (`perf_event_mmap_page`).
const LOCK_WORD: usize = 2;
/// What no lock word is: they are even, but while the kernel writes to the page.
pub(crate) const NO_LOCK: u32 = u32::MAX;

impl Clock {
    /// CPU time of the calling thread in ns, where `now` is the present tick; [`UNKNOWN`] where it cannot be had.
    pub fn read(&self, now: u64) -> u64 {
        if life::confined() || life::writes_nothing() {
            return UNKNOWN;
        }
        let reads = self.reads.get();
        if self.page.get().is_null() {
            self.reads.set(reads.saturating_add(1));
            if reads != READS_BEFORE_OPENING {
                return ask();
            }
            self.page.set(open());
            if self.page.get().is_null() {
                return ask();
            }
            self.lock.set(NO_LOCK);
        }
        let lock = self.lock();
        if lock == self.lock.get() && lock & 1 == 0 {
            return self.nanos.get() + life::nanos(now.saturating_sub(self.ticks.get()));
        }
        let nanos = ask();
        let ticks = life::ticks();
        // If the thread lost its core between the two, what they say does not belong together.
        self.lock.set(if self.lock() == lock { lock } else { NO_LOCK });
        self.nanos.set(nanos);
        self.ticks.set(ticks);
        nanos
    }

    /// A word that is another one whenever the thread has lost its core in between; [`NO_LOCK`] where that is not known.
    /// Not to be asked for in the child of a fork before [`Clock::forget`].
    #[inline(always)]
    pub(crate) fn lock_word(&self) -> u32 {
        if self.page.get().is_null() {
            return NO_LOCK;
        }
        let lock = self.lock();
        if lock & 1 == 0 { lock } else { NO_LOCK }
    }

    #[inline(always)]
    fn lock(&self) -> u32 {
        // SAFETY: the event's page, mapped by `open`.
        unsafe { self.page.get().add(LOCK_WORD).read_volatile() }
    }

    /// Unmaps the event's page.
    pub fn close(&self) {
        let page = self.page.replace(ptr::null());
        if !page.is_null() && !life::confined() {
            // SAFETY: mapped by `open`, and not used any more.
            unsafe { system_call(number::MUNMAP, [page as usize, 4096, 0, 0, 0, 0]) };
        }
    }

    /// In the child of a fork the page is not mapped.
    pub(crate) fn forget(&self) {
        self.page.set(ptr::null());
        self.reads.set(0);
        // Its clock begins anew with it.
        FIRST.store(0, Ordering::Relaxed);
    }
}

/// CPU time as the kernel counts it, in ns.
fn ask() -> u64 {
    const CLOCK_THREAD_CPUTIME_ID: usize = 3;
    let mut time = [0i64; 2];
    // SAFETY: the buffer has the shape of a timespec.
    let result = unsafe {
        system_call(number::CLOCK_GETTIME, [CLOCK_THREAD_CPUTIME_ID, time.as_mut_ptr() as usize, 0, 0, 0, 0])
    };
    if result != 0 {
        return UNKNOWN;
    }
    let is_first = FIRST.load(Ordering::Relaxed) == arch::thread_pointer();
    let before = if is_first { BEFORE.load(Ordering::Relaxed) } else { 0 };
    (time[0] as u64 * 1_000_000_000 + time[1] as u64).saturating_sub(before)
}

/// Opens a task-clock event on the calling thread, maps its page and closes the descriptor: the mapping keeps the
/// event. Null where that is not allowed.
fn open() -> *const u32 {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        size: u32,
        config: u64,
        unused: [u64; 3],
        flags: u64,
        rest: [u64; 2],
    }
    const SOFTWARE: u32 = 1;
    const TASK_CLOCK: u64 = 1;
    const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;
    const CLOSE_ON_EXEC: usize = 8;
    const ANY: usize = usize::MAX;
    let attributes = Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: TASK_CLOCK,
        unused: [0; 3],
        flags: EXCLUDE_KERNEL_AND_HYPERVISOR,
        rest: [0; 2],
    };
    const PR_GET_SECCOMP: usize = 21;
    // SAFETY: the call only tells. A filter that the process was born with may kill at calls that it does not know.
    if unsafe { system_call(number::PRCTL, [PR_GET_SECCOMP, 0, 0, 0, 0, 0]) } != 0 {
        return ptr::null();
    }
    let event = ptr::from_ref(&attributes) as usize;
    // SAFETY: attributes of the size they name; the calling thread, any CPU, no group.
    let descriptor = unsafe { system_call(number::PERF_EVENT_OPEN, [event, 0, ANY, ANY, CLOSE_ON_EXEC, 0]) };
    let Ok(descriptor) = usize::try_from(descriptor) else { return ptr::null() };
    const READ: usize = 1;
    const SHARED: usize = 1;
    // SAFETY: a new mapping of the event's first page, then the descriptor is ours to close.
    let address = unsafe {
        let address = system_call(number::MMAP, [0, 4096, READ, SHARED, descriptor, 0]);
        system_call(number::CLOSE, [descriptor, 0, 0, 0, 0, 0]);
        address
    };
    if address > 0 { address as *const u32 } else { ptr::null() }
}
