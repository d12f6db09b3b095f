//! When the loader may be asked for what is loaded: not while a thread forks.
//!
//! `dl_iterate_phdr` takes a lock of the loader's that glibc does not reset in a forked child, as it does others (2.36,
//! `fork.c`). A child that is forked while another thread has it waits for ever at its next exception, at the next library that
//! it loads, or for us. A program that does none of that beside a fork would never meet it: so we must not have that lock
//! while the program forks.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, Ordering};

/// Threads that are asking. In a child that was forked without our handlers, threads of its parent's too.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// Threads that fork.
static FORKING: AtomicU32 = AtomicU32::new(0);
/// Somebody who is gone has the loader's lock for ever.
static STUCK: AtomicU32 = AtomicU32::new(0);

/// So often it is looked again whether a fork is over: some tens of milliseconds.
const LOOKS: u32 = 1 << 20;

/// Who asks, as long as it is there.
pub(crate) struct Asking(());

impl Asking {
    /// The right to ask at once; `None` while a thread forks, and where the answer would never come.
    pub(crate) fn now() -> Option<Asking> {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        let asking = Asking(());
        let may = FORKING.load(Ordering::SeqCst) == 0 && STUCK.load(Ordering::Relaxed) == 0;
        may.then_some(asking)
    }

    /// The same for who cannot go on without the answer: forks are waited for, though not for ever, since it may be that the
    /// thread that forks waits for this one.
    pub(crate) fn patiently() -> Asking {
        for _ in 0..LOOKS {
            if let Some(asking) = Asking::now() {
                return asking;
            }
            if STUCK.load(Ordering::Relaxed) != 0 {
                break;
            }
            spin_loop();
        }
        INSIDE.fetch_add(1, Ordering::SeqCst);
        Asking(())
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        // In a child that was forked by a signal handler amid this, nobody is inside.
        let _ = INSIDE.fetch_update(Ordering::SeqCst, Ordering::Relaxed, |inside| inside.checked_sub(1));
    }
}

/// The calling thread is about to fork.
pub(crate) fn fork_begins() {
    FORKING.fetch_add(1, Ordering::SeqCst);
}

/// True as long as a thread asks the loader. Nobody begins to while a thread forks.
pub(crate) fn is_asked() -> bool {
    INSIDE.load(Ordering::SeqCst) != 0
}

/// It has forked: this is the parent.
pub(crate) fn fork_ends() {
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

/// It has forked: this is the child, whose only thread is the one that called.
pub(crate) fn is_child() {
    FORKING.store(0, Ordering::Relaxed);
    INSIDE.store(0, Ordering::Relaxed);
}

/// A child that was forked without the handlers (by the bare system call) comes to its first event: whoever was asking then has
/// the lock for ever.
pub(crate) fn is_child_at_last() {
    if INSIDE.swap(0, Ordering::Relaxed) != 0 {
        STUCK.store(1, Ordering::Relaxed);
    }
    FORKING.store(0, Ordering::Relaxed);
}
