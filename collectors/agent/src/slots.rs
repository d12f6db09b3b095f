//! How a thread gets and gives back its slot in the process's file.

use core::ptr;
use core::sync::atomic::Ordering;

use holdup_trace::shared::{Header, MANY_THREADS, Slot, pop, push};
use holdup_trace::wire::{NO_STACK, NO_THREAD};

use crate::mapping::{file, map_all};
use crate::patience::{Need, patiently};
use crate::thread::{self, Thread};
use crate::{Recorder, acquires, arch, busy, key, life, lock_cost, marks, uses};

/// Takes a slot, if there is one.
pub(crate) fn take(need: Need) -> Option<&'static Slot> {
    let header = file().header();
    // More of the file may be mapped meanwhile.
    let link = |index| Some(&file().slot(index)?.next);
    let index = patiently(need, || pop(&header.free_slots, link))?;
    let slot = file().slot(index)?;
    slot.thread.store(header.next_thread.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    slot.chunk.store(0, Ordering::Relaxed);
    if header.taken_slots.fetch_add(1, Ordering::Relaxed) == MANY_THREADS {
        map_all();
    }
    Some(slot)
}

/// Gives a slot back, whose thread has ended or never begun.
pub(crate) fn give_back(slot: &Slot) {
    let file = file();
    slot.live.store(0, Ordering::Release);
    file.header().taken_slots.fetch_sub(1, Ordering::Relaxed);
    push(&file.header().free_slots, file.slot_index(slot), &slot.next);
}

/// Gives a thread that was not created through our hook a slot of its own. False if there is none.
pub(crate) fn attach(thread: &Thread) -> bool {
    if thread.ended.get() != 0 {
        return false;
    }
    let Some(slot) = take(Need::Often) else {
        file().header().lost_events.fetch_add(1, Ordering::Relaxed);
        return false;
    };
    found_late(file().header());
    slot.parent.store(NO_THREAD, Ordering::Relaxed);
    slot.entry.store(0, Ordering::Relaxed);
    slot.created_stack.store(NO_STACK, Ordering::Relaxed);
    occupy(thread, slot);
    true
}

/// A thread that was not prepared for is recorded all the same: where there was no slot for some, it is taken for one of these.
fn found_late(header: &Header) {
    let one_less = |lost: u64| lost.checked_sub(1);
    let _ = header.lost_threads.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
}

/// The thread is in this slot from now on.
pub(crate) fn occupy(thread: &Thread, slot: &'static Slot) {
    slot.tid.store(thread::tid(), Ordering::Relaxed);
    slot.handle.store(arch::thread_pointer(), Ordering::Relaxed);
    let prepared = slot.chunk.swap(0, Ordering::Relaxed);
    slot.filled.store(0, Ordering::Relaxed);
    slot.events.store(0, Ordering::Relaxed);
    slot.wait_kind.store(0, Ordering::Relaxed);
    uses::clear(slot);
    lock_cost::clear(slot);
    acquires::clear(slot);
    busy::clear(slot);
    slot.region_instance.store(holdup_trace::openmp::NO_INSTANCE, Ordering::Relaxed);
    slot.start.store(life::ticks(), Ordering::Relaxed);
    thread::alone::has_slot(file(), slot);
    slot.live.store(1, Ordering::Release);
    thread::alone::lives(file());
    thread.chunk.set(ptr::null());
    thread.used.set(0);
    thread.slot.set(slot);
    thread.live.begins(slot);
    marks::tell_begin(thread, slot);
    key::set(ptr::from_ref(thread).cast());
    let busy = thread.busy.replace(1);
    let recorder = Recorder::of(thread);
    recorder.begin(prepared);
    core::mem::forget(recorder);
    thread.busy.set(busy);
}
