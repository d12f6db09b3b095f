//! How a thread is created, begins and ends: what is done to each part of this library then, in this order.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::Ordering;

use holdup_trace::instructions::Mark;
use holdup_trace::shared::{Slot, push};
use holdup_trace::wire::{self, UNKNOWN};

use crate::mapping::file;
use crate::patience::{Need, patiently};
use crate::recorder::free_chunk;
use crate::{
    alone, arch, busy, enter, key, life, live, lock_cost, marks, openmp, slots, thread, uses, waits,
};

/// A slot that a parent prepares for its child: the child's start function and argument travel in it, since
/// nothing may be allocated. A chunk goes with it: the parent waits for the recorder where there is none, not the child, which
/// may hold a lock for which others wait.
pub fn prepare_child(
    parent: &Slot,
    entry: u64,
    argument: u64,
    stack: u64,
    stack_size: u64,
) -> Option<&'static Slot> {
    let slot = slots::take(Need::Once);
    if slot.is_none() {
        file().header().lost_threads.fetch_add(1, Ordering::Relaxed);
    }
    let slot = slot?;
    slot.parent.store(parent.thread.load(Ordering::Relaxed), Ordering::Relaxed);
    slot.entry.store(entry, Ordering::Relaxed);
    slot.argument.store(argument, Ordering::Relaxed);
    slot.created_stack.store(stack, Ordering::Relaxed);
    slot.stack_size.store(stack_size, Ordering::Relaxed);
    if life::writes()
        && let Some((index, _)) = patiently(Need::Once, free_chunk)
    {
        slot.chunk.store(index + 1, Ordering::Relaxed);
    }
    alone::creates(slot);
    Some(slot)
}

/// Gives back a prepared slot whose thread could not be created.
pub fn abandon_child(slot: &Slot) {
    // Nobody is to wait for it.
    let file = file();
    thread::alone::lives(file);
    if let Some(index) = slot.chunk.swap(0, Ordering::Relaxed).checked_sub(1)
        && let Some(chunk) = file.chunk(index)
    {
        push(&file.header().free_chunks, index, &chunk.next);
    }
    slots::give_back(slot);
}

/// The child's first steps: it takes over the prepared slot, and gets its start function and argument.
pub fn begin(slot: &'static Slot) -> (u64, u64) {
    let start = (slot.entry.load(Ordering::Relaxed), slot.argument.load(Ordering::Relaxed));
    if life::recording() {
        let stack_size = slot.stack_size.load(Ordering::Relaxed);
        if stack_size != 0 {
            thread::this().stack_low.set(arch::thread_pointer().saturating_sub(stack_size));
        }
        slots::occupy(thread::this(), slot);
        alone::begins();
    }
    start
}

/// Closes the calling thread: its counts, its end, its last chunk, its slot.
fn end() {
    let thread = thread::this();
    if thread.slot.get().is_null() || !life::recording() {
        return;
    }
    alone::ends();
    live::ends();
    if let Some(recorder) = enter() {
        waits::close_stale(&recorder);
        uses::flush(&recorder);
        busy::flush(&recorder);
        lock_cost::flush(&recorder);
        openmp::close(&recorder);
        marks::tell(Mark::ThreadEnd);
        let now = life::ticks();
        let cpu = if life::confined() { UNKNOWN } else { thread.cpu.read(now) };
        recorder.write(&wire::thread_end(now, cpu));
        recorder.submit();
        thread.ended.set(1);
        let slot = recorder.slot();
        thread.slot.set(ptr::null());
        thread.openmp.forget();
        file().header().events.fetch_add(slot.events.load(Ordering::Relaxed), Ordering::Relaxed);
        file().header().lost_uses.fetch_add(slot.lost_uses.load(Ordering::Relaxed), Ordering::Relaxed);
        slots::give_back(slot);
    }
}

/// The end of every thread is told from now on. Once, from the constructor.
pub(crate) fn watch_ends() {
    key::make(destructor);
}

/// Called when a thread ends, however it ends, and again while it sets its value anew: in the last of the four
/// rounds that POSIX grants, after the program's own destructors, the thread is closed.
unsafe extern "C" fn destructor(_: *mut c_void) {
    const LAST_ROUND: u32 = 3;
    let thread = thread::this();
    let runs = thread.destructor_runs.get() + 1;
    thread.destructor_runs.set(runs);
    if runs <= LAST_ROUND {
        key::set(ptr::from_ref(thread).cast());
    } else {
        end();
    }
}
