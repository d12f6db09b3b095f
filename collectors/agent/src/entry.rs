//! The right to record an event: given in a process that has a file, to a thread that has a slot.

use core::sync::atomic::{Ordering, compiler_fence};

use crate::life::{self, GIVEN_UP, JOINED, JOINING, MEMBERSHIP};
use crate::mapping::{Mapping, file};
use crate::{Recorder, directory, loader, marks, modules, patience, runtimes, slots, stack, thread};

/// Asks for the right to record; `None` if this process does not, or if a signal interrupted a hook of ours in
/// this thread (then the event is counted as lost).
#[inline]
pub fn enter() -> Option<Recorder> {
    if !life::recording() && !rejoin() {
        return None;
    }
    let thread = thread::this();
    if thread.busy.get() != 0 {
        file().header().lost_in_signals.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    thread.busy.set(1);
    compiler_fence(Ordering::SeqCst);
    if thread.slot.get().is_null() && !slots::attach(thread) {
        thread.busy.set(0);
        return None;
    }
    Some(Recorder::of(thread))
}

/// Makes a forked child record into a file of its own, at its first event. False if it cannot.
#[cold]
pub(crate) fn rejoin() -> bool {
    if MEMBERSHIP.compare_exchange(JOINED, JOINING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return false;
    }
    let old = Mapping::ours();
    if life::is_new() {
        loader::is_child_at_last();
    }
    thread::forget();
    if life::silent() != 0 {
        patience::forget();
    }
    life::notice_closing();
    if MEMBERSHIP.load(Ordering::Relaxed) == GIVEN_UP {
        return false;
    }
    if life::confined() || !directory::take_file(true) {
        // Tried again at the next event: a file may be ready by then.
        MEMBERSHIP.store(JOINED, Ordering::Relaxed);
        return false;
    }
    // SAFETY: the parent's file, which nothing in this process points to any more.
    unsafe { old.unmap() };
    life::speaks();
    stack::forget();
    modules::forget();
    marks::look_for_plugin();
    MEMBERSHIP.store(JOINED, Ordering::Relaxed);
    life::begin_recording();
    if let Some(recorder) = enter()
        && life::writes()
    {
        modules::refresh(&recorder);
        runtimes::tell_again(&recorder);
    }
    true
}
