//! When the loader may be asked for what is loaded: not while a thread forks.
//!
//! `dl_iterate_phdr` takes a lock of the loader's that glibc does not reset in a forked child, as it does others (2.36,
//! `fork.c`). A child that is forked while another thread has it waits for ever at its next exception, at the next library that
//! it loads, or for us. A program that does none of that beside a fork would never meet it: so we must not have that lock
//! while the program forks.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::arch::{number, system_call};
use crate::{life, thread};

/// Threads that are asking. In a child that was forked without our handlers, threads of its parent's too.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// Threads that fork.
static FORKING: AtomicU32 = AtomicU32::new(0);
/// Somebody who is gone has the loader's lock for ever.
static STUCK: AtomicU32 = AtomicU32::new(0);

/// Waits until `is_so`: by steps rather than by the clock, so that others had their turns, however much runs. Not for ever, since
/// who is waited for may wait for this thread. True if it is so in the end.
fn wait_until(is_so: impl Fn() -> bool) -> bool {
    /// Of a process that makes no system calls of ours: some tens of milliseconds.
    const LOOKS: u32 = 1 << 20;
    const YIELDS: u32 = 100;
    const NAPS: u32 = 10_000;
    /// Nanoseconds.
    const NAP: u64 = 100_000;
    if life::confined() {
        return (0..LOOKS).any(|_| {
            spin_loop();
            is_so()
        });
    }
    (0..YIELDS + NAPS).any(|step| {
        if step < YIELDS {
            // SAFETY: the call only gives the core away.
            unsafe { system_call(number::SCHED_YIELD, [0; 6]) };
        } else {
            let time = [0, NAP];
            // SAFETY: sleeps for what the timespec says.
            unsafe { system_call(number::NANOSLEEP, [time.as_ptr() as usize, 0, 0, 0, 0, 0]) };
        }
        is_so()
    })
}

/// Who asks, as long as it is there.
pub(crate) struct Asking(());

impl Asking {
    fn begin() -> Asking {
        let own = &thread::this().asking;
        own.set(own.get() + 1);
        INSIDE.fetch_add(1, Ordering::SeqCst);
        Asking(())
    }

    /// The right to ask at once; `None` while a thread forks, and where the answer would never come.
    pub(crate) fn now() -> Option<Asking> {
        let asking = Asking::begin();
        let may = !others_fork() && STUCK.load(Ordering::Relaxed) == 0;
        may.then_some(asking)
    }

    /// The same for who cannot go on without the answer: forks are waited for, though not for ever, since it may be that the
    /// thread that forks waits for this one.
    pub(crate) fn patiently() -> Asking {
        loop {
            let may_not = match Asking::now() {
                Some(asking) => return asking,
                None => STUCK.load(Ordering::Relaxed) != 0,
            };
            if may_not || !wait_until(|| !others_fork()) {
                break;
            }
        }
        Asking::begin()
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        // In a child that was forked with the bare system call, threads are not counted that asked at its first event.
        let _ = INSIDE.fetch_update(Ordering::SeqCst, Ordering::Relaxed, |inside| inside.checked_sub(1));
        let own = &thread::this().asking;
        own.set(own.get() - 1);
    }
}

fn others_ask() -> bool {
    INSIDE.load(Ordering::SeqCst) > thread::this().asking.get()
}

fn others_fork() -> bool {
    FORKING.load(Ordering::SeqCst) > thread::this().forking.get()
}

/// Nobody begins to ask while another thread forks, and who is asking is waited for.
pub(crate) extern "C" fn before_fork() {
    let own = &thread::this().forking;
    own.set(own.get() + 1);
    FORKING.fetch_add(1, Ordering::SeqCst);
    if others_ask() {
        wait_until(|| !others_ask());
    }
}

pub(crate) extern "C" fn after_fork() {
    let own = &thread::this().forking;
    own.set(own.get() - 1);
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

/// The child's only thread is the one that called.
pub(crate) extern "C" fn in_child() {
    life::is_new();
    if others_ask() {
        STUCK.store(1, Ordering::Relaxed);
    }
    let thread = thread::this();
    thread.forking.set(0);
    FORKING.store(0, Ordering::Relaxed);
    INSIDE.store(thread.asking.get(), Ordering::Relaxed);
}

/// A child that was forked without the handlers (by the bare system call) comes to its first event: whoever was asking then has
/// the lock for ever.
pub(crate) fn is_child_at_last() {
    let thread = thread::this();
    if others_ask() {
        STUCK.store(1, Ordering::Relaxed);
    }
    INSIDE.store(thread.asking.get(), Ordering::Relaxed);
    thread.forking.set(0);
    FORKING.store(0, Ordering::Relaxed);
}
