//! What hooks say: a wait begins and ends, a lock is acquired and released, waiters are woken, a call blocks.

use core::sync::atomic::{AtomicU32, Ordering};

use holdup_trace::instructions::Mark;
use holdup_trace::shared::{HOLDS_ALL, Slot};
use holdup_trace::wire::{self, CallCode, NO_STACK, ObjectCode, OutcomeCode, TIMED_OUT, UNKNOWN, WaitRecord};

use crate::channels::{self, Beginning, Passage};
use crate::thread::{TIMED_HOLDS, TimedHold};
use crate::{Recorder, alone, busy, cpu, enter, hot, life, live, lock_cost, marks, stack, thread, uses};

pub use crate::wanted::{Pending, Wanted};

/// One in this many acquisitions of a lock that nobody waits for is timed.
const SAMPLE_MASK: u64 = 1023;
/// A hold that nobody waited for is an event of its own from this length on; shorter ones are summed.
const LONG_HOLD_MICROS: u64 = 2;

/// A wait begins. `None` if it is not recorded.
pub fn begin(wanted: Wanted) -> Option<Pending> {
    begin_of(wanted, false)
}

/// As [`begin`], for a lock that was just seen to be taken. Where there are very many of these, brief ones are only counted.
pub fn begin_for_lock(wanted: Wanted) -> Option<Pending> {
    begin_of(wanted, true)
}

#[inline(always)]
fn begin_of(wanted: Wanted, is_of_lock: bool) -> Option<Pending> {
    alone::wait_begins(wanted.object);
    if life::lives() {
        live::wait_begins(wanted.kind);
        if life::writes_nothing() {
            return Some(Pending { wanted, begin: 0, stack: NO_STACK, cpu: 0, busy: None });
        }
    }
    let recorder = enter()?;
    close_stale(&recorder);
    let busy = if is_of_lock {
        busy::entry_of_wait(&recorder, wanted.object, wanted.kind, life::ticks())
    } else {
        None
    };
    if busy.is_some() {
        lock_cost::begin_with_busy_ones();
    }
    // Of a wait that is counted the stack is found out when it was not brief: then it is as it is now.
    let stack = if busy.is_some() { NO_STACK } else { stack::capture(&recorder) };
    let begin = life::ticks();
    let cpu = recorder.thread().cpu.read(begin);
    let slot = recorder.slot();
    slot.wait_begin.store(begin, Ordering::Relaxed);
    slot.wait_object.store(wanted.object, Ordering::Relaxed);
    slot.wait_stack.store(stack, Ordering::Relaxed);
    slot.wait_mutex.store(wanted.mutex, Ordering::Relaxed);
    slot.wait_shared.store(u32::from(wanted.shared_mode), Ordering::Relaxed);
    slot.wait_cpu.store(cpu, Ordering::Relaxed);
    slot.wait_owner.store(wanted.owner_tid, Ordering::Relaxed);
    slot.wait_kind.store(wanted.kind as u32 + 1, Ordering::Release);
    marks::tell(Mark::WaitBegin {
        object: wanted.object,
        kind: wanted.kind,
        stack,
        mutex: wanted.mutex,
        shared: wanted.shared_mode,
    });
    Some(Pending { wanted, begin, stack, cpu, busy })
}

/// The wait has ended: its thread goes on.
pub fn end(pending: Option<Pending>, outcome: OutcomeCode) {
    if let Some(pending) = pending {
        live::wait_ends();
        tell(pending, outcome);
        alone::wait_ends(pending.wanted.kind, outcome);
    }
}

fn tell(pending: Pending, outcome: OutcomeCode) {
    if life::writes_nothing() {
        return;
    }
    let end = life::ticks();
    let Some(recorder) = enter() else { return };
    let cpu_end = recorder.thread().cpu.read(end);
    let mut stack = pending.stack;
    if let Some(entry) = pending.busy {
        let (ticks, on_core) =
            (end.saturating_sub(pending.begin), life::ticks_of_nanos(cpu_end.saturating_sub(pending.cpu)));
        if outcome == OutcomeCode::Granted && busy::add_wait(entry, ticks, on_core) {
            return close(&recorder, outcome);
        }
        stack = stack::capture(&recorder);
    }
    recorder.write(&wire::wait(&WaitRecord {
        begin: pending.begin,
        end,
        object: pending.wanted.object,
        kind: pending.wanted.kind,
        shared_mode: pending.wanted.shared_mode,
        process_shared: pending.wanted.process_shared,
        outcome,
        owner_tid: pending.wanted.owner_tid,
        stack,
        mutex: pending.wanted.mutex,
        cpu_begin: pending.cpu,
        cpu_end,
    }));
    close(&recorder, outcome);
}

/// A wait is over that nobody knew to begin.
pub fn has_waited(recorder: &Recorder, wanted: Wanted, begin: u64, end: u64) {
    tell_wait(recorder, wanted, begin, end, UNKNOWN, recorder.thread().cpu.read(end));
}

fn tell_wait(recorder: &Recorder, wanted: Wanted, begin: u64, end: u64, cpu_begin: u64, cpu_end: u64) {
    let Wanted { object, kind, shared_mode, process_shared, owner_tid, mutex } = wanted;
    recorder.write(&wire::wait(&WaitRecord {
        begin,
        end,
        object,
        kind,
        shared_mode,
        process_shared,
        outcome: OutcomeCode::Granted,
        owner_tid,
        stack: stack::capture(recorder),
        mutex,
        cpu_begin,
        cpu_end,
    }));
}

/// The thread's slot says no more that it waits.
fn close(recorder: &Recorder, outcome: OutcomeCode) {
    let slot = recorder.slot();
    // 0 if something in between, such as a wait in a signal handler, has closed it already.
    let kind = slot.wait_kind.load(Ordering::Relaxed).checked_sub(1);
    if let Some(kind) = kind.and_then(|kind| ObjectCode::from_code(kind as u8)) {
        slot.wait_kind.store(0, Ordering::Release);
        marks::tell(Mark::WaitEnd { outcome, kind });
    }
}

/// The call did not wait after all: it was refused, or what it waited for had already happened.
pub fn cancel(pending: Option<Pending>) {
    if pending.is_some() {
        works_instead();
    }
}

/// The thread does not wait: it has turned out that it is the one to do the work.
pub fn works_instead() {
    live::wait_ends();
    if let Some(recorder) = life::writes().then(enter).flatten() {
        close(&recorder, OutcomeCode::Failed);
    }
    alone::works_instead();
}

/// Ends a wait that never returned: its thread was cancelled in it, or jumped out of it.
pub fn close_stale(recorder: &Recorder) {
    let slot = recorder.slot();
    if let Some(wait) = slot.open_wait(life::ticks()) {
        close(recorder, OutcomeCode::Open);
        recorder.write(&wire::wait(&wait));
    }
}

/// A lock was acquired by the call that returns to `caller`. The fast path of every lock: a count, and a look
/// whether to time the hold.
#[inline(always)]
pub fn acquired(object: u64, kind: ObjectCode, caller: u64) {
    acquired_with_others(object, kind, caller, false);
}

/// As [`acquired`], perhaps (`shared`) together with other readers.
#[inline(always)]
pub fn acquired_with_others(object: u64, kind: ObjectCode, caller: u64, shared: bool) {
    if !life::writes() {
        return;
    }
    let thread = thread::this();
    let slot = thread.slot.get();
    if slot.is_null() {
        return acquired_without_slot(object, kind, caller, shared);
    }
    // SAFETY: a thread's slot is in the process's file, which stays mapped while recording.
    let slot = unsafe { &*slot };
    let count = uses::count(&thread.strangers, slot, object, kind);
    if count & SAMPLE_MASK == 0 && hot::was_waited_for(object) {
        count_costs(slot, object, kind);
    }
    let are_brief = || uses::are_brief(&thread.strangers, slot, object);
    if count & SAMPLE_MASK == 0 || is_early_sample(count) || hot::times_hold(object, count, are_brief) {
        time_hold(thread, object, caller);
        alone::acquired(kind);
        marks::tell(Mark::Acquired { object, kind, caller, shared });
    }
}

/// The 8th, 16th, 32nd… are timed too: a lock that is taken some hundred times would not be otherwise.
#[inline(always)]
fn is_early_sample(count: u64) -> bool {
    count & count.wrapping_sub(1) == 0 && count >= 8
}

#[cold]
#[inline(never)]
fn acquired_without_slot(object: u64, kind: ObjectCode, caller: u64, shared: bool) {
    let attached = enter().is_some();
    if attached && !thread::this().slot.get().is_null() {
        acquired_with_others(object, kind, caller, shared);
    }
}

#[cold]
#[inline(never)]
fn count_costs(slot: &'static Slot, object: u64, kind: ObjectCode) {
    busy::count_costs(slot, object, kind);
    lock_cost::begin_with_busy_ones();
}

#[inline]
fn time_hold(thread: &thread::Thread, object: u64, caller: u64) {
    let timed = thread.timed.get();
    if (timed as usize) < TIMED_HOLDS {
        thread.holds[timed as usize].set(TimedHold { object, begin: life::ticks(), caller });
        thread.timed.set(timed + 1);
    }
}

/// A hold that ends now.
#[derive(Clone, Copy)]
pub struct Ending {
    object: u64,
    kind: ObjectCode,
    shared_mode: bool,
    waited_for: bool,
    begin: u64,
    end: u64,
    caller: u64,
}

/// True if releasing `object` is of interest; the fast path of every unlock.
#[inline(always)]
pub fn release_matters(waited_for: bool) -> bool {
    waited_for || thread::this().timed.get() != 0
}

/// Whether somebody waits for a lock that does not say so itself, where releasing it is of interest. Nobody looks where the hold of a
/// busy lock is not timed: what its waiters write would have to come from their cores while the lock is held.
#[inline(always)]
pub fn looks_for_waiters(object: u64) -> Option<bool> {
    if thread::this().timed.get() == 0 && hot::is_busy(object) {
        return None;
    }
    let waited_for = hot::is_waited_for(object);
    release_matters(waited_for).then_some(waited_for)
}

/// A lock is about to be released.
pub fn releasing(object: u64, kind: ObjectCode, shared_mode: bool, waited_for: bool) -> Option<Ending> {
    if !life::writes() {
        return None;
    }
    marks::tell(Mark::Released { object, kind, shared: shared_mode });
    if waited_for {
        alone::wakes(object);
    }
    alone::releasing();
    let thread = thread::this();
    let timed = thread.timed.get() as usize;
    let found = (0..timed.min(TIMED_HOLDS)).rev().find(|index| thread.holds[*index].get().object == object);
    let hold = match found {
        Some(index) => {
            let hold = thread.holds[index].get();
            for later in index + 1..timed {
                thread.holds[later - 1].set(thread.holds[later].get());
            }
            thread.timed.set(timed as u32 - 1);
            hold
        }
        // Of a busy lock the holds that are recorded are among those that are timed.
        None if waited_for && !hot::is_busy(object) => TimedHold { object, begin: 0, caller: 0 },
        None => return None,
    };
    let (begin, caller) = (hold.begin, hold.caller);
    Some(Ending { object, kind, shared_mode, waited_for, begin, end: life::ticks(), caller })
}

/// The lock has been released: what there is to tell is told now, outside of the critical section.
pub fn released(ending: Ending) {
    if ending.waited_for {
        lock_cost::handed_over(ending.end);
    }
    if ending.begin != 0
        && hot::is_counted(ending.object)
        && let Some(slot) = thread::slot()
    {
        busy::add_release(slot, ending.object, life::ticks().saturating_sub(ending.end));
    }
    tell_release(ending);
    alone::point();
}

/// As [`released`], where the call that releases the lock is still to come.
pub fn tell_release(ending: Ending) {
    let Some(recorder) = enter() else { return };
    let Ending { object, kind, shared_mode, waited_for, begin, end, caller } = ending;
    let length = end.saturating_sub(begin);
    if begin != 0 {
        uses::add_hold(&thread::this().strangers, recorder.slot(), object, kind, length);
    }
    let is_long = length >= life::ticks_of_micros(LONG_HOLD_MICROS);
    let tells =
        begin != 0 && (is_long && hot::was_waited_for(object) || !is_long && may_tell_of_queue(object, end));
    if waited_for && hot::is_busy(object) && !is_long && !busy::may_record_hold(&recorder, end) {
        return;
    }
    if waited_for || tells || life::flags() & HOLDS_ALL != 0 {
        let stack = if waited_for { stack::capture(&recorder) } else { NO_STACK };
        recorder.write(&wire::hold(begin, end, object, kind, shared_mode, waited_for, caller, stack));
    }
}

/// Of what a thread does at queues that nobody waits at, it tells at most once in so long on average (µs).
const QUEUE_PERIOD_MICROS: u64 = 40;
/// What it may have saved up for moments of more (µs).
const QUEUE_BURST_MICROS: u64 = 100_000;

/// True if a short hold of the mutex of a condition variable, or a signal that nobody waits for, is told: who put and
/// who took which item is seen from these. A program that does it too often loses this detail, and nothing else.
pub fn may_tell_of_queue(object: u64, now: u64) -> bool {
    if !hot::is_of_a_queue(object) {
        return false;
    }
    thread::this().queue_acts.take(now, QUEUE_PERIOD_MICROS, QUEUE_BURST_MICROS)
}

/// Up to `count` waiters, if there are any, are about to be woken; gives the time of it.
pub fn waking(object: u64, kind: ObjectCode, count: u32) -> u64 {
    marks::tell(Mark::Woke { object, kind, count });
    alone::wakes(object);
    life::ticks()
}

/// Up to `count` waiters were woken at `time`.
pub fn woke(time: u64, object: u64, kind: ObjectCode, count: u32) {
    if !life::writes_nothing()
        && let Some(recorder) = enter()
    {
        let stack = stack::capture(&recorder);
        recorder.write(&wire::wake(time, object, kind, count, stack));
    }
    alone::point();
}

/// How many initializations of objects other than barriers are told: a program that makes locks all the time
/// would fill the recording with them.
const INITIALIZATIONS: u32 = 20_000;
static INITIALIZED: AtomicU32 = AtomicU32::new(0);

/// An object was initialized: a barrier for so many parties, a semaphore with this value.
pub fn initialized(object: u64, kind: ObjectCode, parties: u32, caller: u64) {
    marks::tell(Mark::Initialized { object, kind, value: parties, caller });
    if !life::writes() || kind != ObjectCode::Barrier && too_many_initialized() {
        return;
    }
    if let Some(recorder) = enter() {
        let parties = if kind == ObjectCode::Barrier { parties } else { 0 };
        recorder.write(&wire::object_init(life::ticks(), object, kind, parties, caller));
    }
}

fn too_many_initialized() -> bool {
    INITIALIZED.load(Ordering::Relaxed) >= INITIALIZATIONS
        || INITIALIZED.fetch_add(1, Ordering::Relaxed) >= INITIALIZATIONS
}

/// A `try` failed.
pub fn try_failed(object: u64, kind: ObjectCode) {
    if let Some(recorder) = life::writes().then(enter).flatten() {
        uses::count_failed(&thread::this().strangers, recorder.slot(), object, kind);
    }
    alone::try_failed();
}

/// A system call that can block, while it is made.
#[derive(Clone, Copy)]
pub struct Calling {
    begin: u64,
    /// [`cpu::keeps_its_core`] tells whether it has blocked.
    is_watched: bool,
}

/// A system call that can block is about to be made.
#[inline(always)]
pub fn calling(call: CallCode, descriptor: u32) -> Calling {
    let begin = match life::ticks_before_call() {
        Some(now) => now,
        None => calling_followed(call, descriptor),
    };
    Calling { begin, is_watched: thread::this().cpu.watch() }
}

#[cold]
#[inline(never)]
fn calling_followed(call: CallCode, descriptor: u32) -> u64 {
    marks::tell(Mark::CallBegin { call, descriptor });
    alone::call_begins(call, descriptor);
    live::call_begins(call, descriptor);
    life::ticks()
}

/// A system call that can block has returned: recorded if it took long.
#[inline]
pub fn called(calling: Calling, call: CallCode, descriptor: u32) {
    let end = life::ticks();
    if end.saturating_sub(calling.begin) >= life::short_call() {
        blocked(calling, end, call, descriptor, None);
    }
}

/// A system call by which threads may send to each other, while it is made.
#[derive(Clone, Copy)]
pub struct Passing {
    calling: Calling,
    passage: Passage,
    beginning: Beginning,
}

/// As [`calling`], for a call that takes something out of a channel or puts something in.
#[cold]
#[inline(never)]
pub fn passing(passage: Passage, call: CallCode, descriptor: u32) -> Passing {
    let calling = calling(call, descriptor);
    let own_tid = || thread::slot().map_or(0, |slot| slot.tid.load(Ordering::Relaxed));
    let beginning = passage.begins(calling.begin, own_tid());
    // A forked child begins its own recording for what it gives: before the call, since who gets it may kill the child at once.
    if beginning.is_recorded && life::has_computed_in_silence() {
        drop(enter());
        passage.is_made_by(own_tid());
    }
    Passing { calling, passage, beginning }
}

/// As [`called`], for a call that takes something out of a channel or puts something in, and gave `result`, by which it failed or says
/// how many bytes. Who waited for that is woken by it; if it had to wait itself, it waited for the thread that did the other.
#[cold]
#[inline(never)]
pub fn passed(passing: Passing, call: CallCode, descriptor: u32, result: i64) {
    let Passing { calling, passage, beginning } = passing;
    let end = life::ticks();
    passage.ends(end);
    if end.saturating_sub(calling.begin) >= life::short_call() {
        let waited = passage.has_waited(beginning, result.unsigned_abs()).then_some(passage);
        let timed_out = call == CallCode::Poll && result == 0;
        blocked(calling, end, call, if timed_out { TIMED_OUT } else { descriptor }, waited);
    }
    if beginning.is_recorded
        && result >= 0
        && life::writes()
        && let Some(recorder) = enter()
    {
        let stack = stack::capture(&recorder);
        let (object, kind) = passage.given();
        // Whoever polls goes on, beside the one that takes it.
        recorder.write(&wire::wake(calling.begin, object, kind, u32::MAX, stack));
    }
}

/// As [`called`], for a call that waited for several descriptors at once, of which `ready` can be read now, or whose time was up.
#[cold]
#[inline(never)]
pub fn polled(calling: Calling, ready: impl Iterator<Item = u32>, timed_out: bool) {
    let end = life::ticks();
    let waited = channels::poll_ends(ready, calling.begin);
    if end.saturating_sub(calling.begin) >= life::short_call() {
        blocked(calling, end, CallCode::Poll, if timed_out { TIMED_OUT } else { u32::MAX }, waited);
    }
}

#[cold]
#[inline(never)]
fn blocked(calling: Calling, end: u64, call: CallCode, descriptor: u32, waited: Option<Passage>) {
    let length = end.saturating_sub(calling.begin);
    live::call_ends();
    marks::tell(Mark::CallEnd { nanos: life::nanos(length) });
    // A call in which the thread never lost its core has not blocked: the kernel worked for it.
    let is_work = calling.is_watched && cpu::keeps_its_core();
    if !life::writes_nothing() && length >= life::short_call_of_session() && !is_work {
        tell_block(calling.begin, end, call, descriptor, waited);
    }
    alone::call_ends();
}

fn tell_block(begin: u64, end: u64, call: CallCode, descriptor: u32, waited: Option<Passage>) {
    let Some(recorder) = enter() else { return };
    // CPU time at the call would cost a question each time; a call that blocks uses little.
    let cpu = recorder.thread().cpu.read_after_call(end);
    if let Some(passage) = waited {
        let (object, kind) = passage.wanted();
        let wanted = Wanted { owner_tid: passage.giver(), ..Wanted::new(object, kind) };
        return tell_wait(&recorder, wanted, begin, end, cpu, cpu);
    }
    let stack = stack::capture(&recorder);
    let call = if call == CallCode::Read && channels::is_timer(descriptor) { CallCode::Sleep } else { call };
    recorder.write(&wire::block(begin, end, call, descriptor, stack, cpu, cpu));
}
