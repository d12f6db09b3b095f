//! The thread's own block, and how a thread gets and gives back its slot.

pub(crate) mod alone;
mod live;
pub(crate) mod openmp;

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use holdup_trace::instructions::Mark;
use holdup_trace::shared::{Chunk, Header, MANY_THREADS, Slot, pop, push};
use holdup_trace::wire::{self, NO_STACK, NO_THREAD, UNKNOWN};

use crate::arch::{self, number, system_call};
use crate::mapping::{file, map_all};
use crate::patience::{Need, patiently};
use crate::recorder::free_chunk;
use crate::{acquires, cpu, enter, life, link, lock_cost, marks, uses, waits};

/// A hold that is being timed.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TimedHold {
    /// The lock.
    pub object: u64,
    /// When it was acquired.
    pub begin: u64,
    /// The return address of the call that acquired it.
    pub caller: u64,
}

/// How many holds a thread can time at once; deeper nesting is counted and not timed.
pub const TIMED_HOLDS: usize = 8;

/// What a thread keeps for itself: fits into [`arch::THREAD_BLOCK`], and all zero is its first state.
#[repr(C)]
pub struct Thread {
    /// Its slot; null before it has one.
    pub slot: Cell<*const Slot>,
    /// The chunk it writes to; null if it has none.
    pub chunk: Cell<*const Chunk>,
    /// Words used in the chunk.
    pub used: Cell<u32>,
    /// Not 0 while a hook of ours is at work: a signal handler that comes in then must not record.
    pub busy: Cell<u32>,
    /// How many of `holds` are in use.
    pub timed: Cell<u32>,
    /// 1 once the thread has said that it ends.
    pub ended: Cell<u32>,
    /// How often the destructor of the thread has been called.
    pub destructor_runs: Cell<u32>,
    /// The lowest address of its stack; 0 if unknown.
    pub stack_low: Cell<u64>,
    /// Holds that are being timed.
    pub holds: [Cell<TimedHold>; TIMED_HOLDS],
    /// Up to when (ticks) its acts at queues have used up what may be told of them: see `waits::may_tell_of_queue`.
    pub queues_told: Cell<u64>,
    /// The CPU clock.
    pub cpu: cpu::Clock,
    /// For a `once`: the function that it is to run, and whether it ran in this thread.
    pub once: Cell<Option<extern "C" fn()>>,
    /// See `once`.
    pub once_ran: Cell<u32>,
    /// Where the thread stands in OpenMP.
    pub openmp: openmp::Standing,
    /// Where one thread is to run by itself: where this one stands.
    pub alone: alone::Standing,
    /// Where its criticality is kept up to date: where it stands.
    pub live: live::Standing,
}

const _: () = assert!(size_of::<Thread>() <= arch::THREAD_BLOCK);

/// The calling thread's block.
#[inline(always)]
pub fn this() -> &'static Thread {
    // SAFETY: the block is zero at first, which is a valid state, is only reached by its own thread, and outlives
    // every call from it. References do not leave the thread.
    unsafe { &*arch::thread_block().cast::<Thread>() }
}

/// The calling thread's slot, if it writes and has one.
pub(crate) fn slot() -> Option<&'static Slot> {
    let slot = this().slot.get();
    // SAFETY: a thread's slot is in the process's file, which stays mapped while recording.
    if life::writes() && !slot.is_null() { Some(unsafe { &*slot }) } else { None }
}

/// Empties the block: in the child of a fork, whose parent's slot is not its own.
pub fn forget() {
    let thread = this();
    thread.slot.set(ptr::null());
    thread.chunk.set(ptr::null());
    thread.used.set(0);
    thread.busy.set(0);
    thread.timed.set(0);
    thread.cpu.forget();
    thread.openmp.forget();
    thread.alone.forget();
    thread.live.forget();
}

static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

type SetSpecific = unsafe extern "C" fn(u32, *const c_void) -> i32;

fn own() -> u64 {
    own as *const () as u64
}

/// Makes the key whose destructor tells us that a thread ends. Once, from the constructor.
///
/// The second one that there is: a program that uses a key which it never made is mostly wrong about key 0, and is to hear that
/// from the C library as it does without us. (A later one would do as well, but for what the C library executes at each
/// thread's end to come to it, which is counted where instructions are.)
pub fn watch_ends() {
    let (Some(create), Some(delete)) =
        (link::next(c"pthread_key_create", own()), link::next(c"pthread_key_delete", own()))
    else {
        return;
    };
    type Create = unsafe extern "C" fn(*mut u32, Option<unsafe extern "C" fn(*mut c_void)>) -> i32;
    type Delete = unsafe extern "C" fn(u32) -> i32;
    // SAFETY: that is the function's type.
    let create: Create = unsafe { core::mem::transmute(create) };
    // SAFETY: as above.
    let delete: Delete = unsafe { core::mem::transmute(delete) };
    let mut keys = [u32::MAX; 2];
    for key in &mut keys {
        // SAFETY: a place for the key, and a destructor that lives as long as the library, which is never unloaded.
        if unsafe { create(key, Some(destructor)) } != 0 {
            *key = u32::MAX;
        }
    }
    let [first, second] = keys;
    if second == u32::MAX {
        KEY.store(first, Ordering::Relaxed);
        return;
    }
    KEY.store(second, Ordering::Relaxed);
    // SAFETY: a key that was just made, and has no value anywhere.
    unsafe { delete(first) };
}

/// Gives our key to the program, which has used up all others: true if there was one. From now on nobody tells when a thread ends:
/// for us it lives as long as the process.
pub fn give_up_key() -> bool {
    let Some(delete) = link::next(c"pthread_key_delete", own()) else { return false };
    let key = KEY.swap(u32::MAX, Ordering::Relaxed);
    // SAFETY: the function's type, and a key that is ours and of which nobody else knows.
    key != u32::MAX
        && unsafe { core::mem::transmute::<*const c_void, unsafe extern "C" fn(u32) -> i32>(delete)(key) }
            == 0
}

fn set_key(value: *const c_void) {
    let key = KEY.load(Ordering::Relaxed);
    if key == u32::MAX {
        return;
    }
    static SET: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
    let mut set = SET.load(Ordering::Relaxed);
    if set == 0 {
        let Some(found) = link::next(c"pthread_setspecific", own()) else { return };
        set = found as usize;
        SET.store(set, Ordering::Relaxed);
    }
    // SAFETY: that is the function's type, and the key is ours.
    unsafe { core::mem::transmute::<usize, SetSpecific>(set)(key, value) };
}

/// Called when a thread ends, however it ends, and again while it sets its value anew: in the last of the four
/// rounds that POSIX grants, after the program's own destructors, the thread is closed.
unsafe extern "C" fn destructor(_: *mut c_void) {
    const LAST_ROUND: u32 = 3;
    let thread = this();
    let runs = thread.destructor_runs.get() + 1;
    thread.destructor_runs.set(runs);
    if runs <= LAST_ROUND {
        set_key(ptr::from_ref(thread).cast());
    } else {
        end();
    }
}

/// The calling thread's kernel id; 0 where we may not ask.
pub fn tid() -> u32 {
    if life::confined() {
        return 0;
    }
    // SAFETY: the call only tells.
    unsafe { system_call(number::GETTID, [0; 6]) as u32 }
}

fn take_slot(need: Need) -> Option<&'static Slot> {
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

fn give_back(slot: &Slot) {
    let file = file();
    slot.live.store(0, Ordering::Release);
    file.header().taken_slots.fetch_sub(1, Ordering::Relaxed);
    push(&file.header().free_slots, file.slot_index(slot), &slot.next);
}

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
    let slot = take_slot(Need::Once);
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
    crate::alone::creates(slot);
    Some(slot)
}

/// Gives back a prepared slot whose thread could not be created.
pub fn abandon_child(slot: &Slot) {
    // Nobody is to wait for it.
    let file = file();
    alone::lives(file);
    if let Some(index) = slot.chunk.swap(0, Ordering::Relaxed).checked_sub(1)
        && let Some(chunk) = file.chunk(index)
    {
        push(&file.header().free_chunks, index, &chunk.next);
    }
    give_back(slot);
}

/// The child's first steps: it takes over the prepared slot, and gets its start function and argument.
pub fn begin(slot: &'static Slot) -> (u64, u64) {
    let start = (slot.entry.load(Ordering::Relaxed), slot.argument.load(Ordering::Relaxed));
    if life::recording() {
        let stack_size = slot.stack_size.load(Ordering::Relaxed);
        if stack_size != 0 {
            this().stack_low.set(arch::thread_pointer().saturating_sub(stack_size));
        }
        occupy(this(), slot);
        crate::alone::begins();
    }
    start
}

/// Gives a thread that was not created through our hook a slot of its own. False if there is none.
pub fn attach(thread: &Thread) -> bool {
    if thread.ended.get() != 0 {
        return false;
    }
    let Some(slot) = take_slot(Need::Often) else {
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

fn occupy(thread: &Thread, slot: &'static Slot) {
    slot.tid.store(tid(), Ordering::Relaxed);
    slot.handle.store(arch::thread_pointer(), Ordering::Relaxed);
    let prepared = slot.chunk.swap(0, Ordering::Relaxed);
    slot.filled.store(0, Ordering::Relaxed);
    slot.events.store(0, Ordering::Relaxed);
    slot.wait_kind.store(0, Ordering::Relaxed);
    uses::clear(slot);
    lock_cost::clear(slot);
    acquires::clear(slot);
    slot.region_instance.store(holdup_trace::openmp::NO_INSTANCE, Ordering::Relaxed);
    slot.start.store(life::ticks(), Ordering::Relaxed);
    alone::has_slot(file(), slot);
    slot.live.store(1, Ordering::Release);
    alone::lives(file());
    thread.chunk.set(ptr::null());
    thread.used.set(0);
    thread.slot.set(slot);
    thread.live.begins(slot);
    marks::tell_begin(thread, slot);
    set_key(ptr::from_ref(thread).cast());
    let busy = thread.busy.replace(1);
    let recorder = crate::recorder::Recorder::of(thread);
    recorder.begin(prepared);
    core::mem::forget(recorder);
    thread.busy.set(busy);
}

/// Closes the calling thread: its counts, its end, its last chunk, its slot.
pub fn end() {
    let thread = this();
    if thread.slot.get().is_null() || !life::recording() {
        return;
    }
    crate::alone::ends();
    crate::live::ends();
    if let Some(recorder) = enter() {
        waits::close_stale(&recorder);
        uses::flush(&recorder);
        lock_cost::flush(&recorder);
        crate::openmp::close(&recorder);
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
        give_back(slot);
    }
    thread.cpu.close();
}
