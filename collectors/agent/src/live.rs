//! Criticality while the program runs: the program's side of [`holdup_trace::live`].
//!
//! Hooks say when the calling thread is about to wait and when it goes on; that is a change of the process's clock and of the
//! thread's own cell, some tens of nanoseconds, and no system call. Waits of a runtime for its team hold others of the thread
//! inside of them, which change nothing.
//!
//! Outside of such sessions each function is one load and a branch; where calls are concerned, nothing.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use holdup_trace::live::{Block, Doing, FRACTION_BITS, Reading};
use holdup_trace::shared::Slot;
use holdup_trace::wire::{CallCode, ObjectCode};

use crate::mapping::file;
use crate::thread::{self, Thread};
use crate::{descriptors, enter, life};

struct Here {
    thread: &'static Thread,
    slot: &'static Slot,
    block: &'static Block,
}

/// The calling thread, if its criticality is kept.
#[inline(always)]
fn here() -> Option<Here> {
    if life::lives() { here_slowly() } else { None }
}

#[inline(never)]
fn here_slowly() -> Option<Here> {
    let thread = thread::this();
    if thread.live.busy.get() != 0 {
        return None;
    }
    if thread.slot.get().is_null() {
        // A thread that was not created through our hook gets its slot by this.
        drop(enter()?);
    }
    let slot = thread.slot.get();
    // SAFETY: a thread's slot is in the process's file, which stays mapped while recording.
    let slot = unsafe { slot.as_ref() }?;
    Some(Here { thread, slot, block: &file().header().live })
}

impl Here {
    #[inline]
    fn changes(&self, change: impl FnOnce(u64)) {
        let busy = &self.thread.live.busy;
        busy.set(1);
        compiler_fence(Ordering::SeqCst);
        change(life::ticks());
        compiler_fence(Ordering::SeqCst);
        busy.set(0);
    }

    #[inline]
    fn stops(&self, doing: Doing) {
        self.changes(|now| self.slot.live_cell.stops(&self.block.clock, now, doing));
    }

    #[inline]
    fn goes_on(&self) {
        self.changes(|now| self.slot.live_cell.goes_on(&self.block.clock, now));
    }

    /// True if the thread was in a wait of a runtime, which ends now.
    fn leaves_runtime(&self) -> bool {
        self.thread.live.in_runtime.replace(0) != 0
    }

    fn enters_runtime(&self) {
        self.stops(Doing::Team);
        self.thread.live.in_runtime.set(1);
    }

    fn is_in_runtime(&self) -> bool {
        self.thread.live.in_runtime.get() != 0
    }
}

/// The calling thread is about to wait for an object of this kind.
#[inline]
pub(crate) fn wait_begins(kind: ObjectCode) {
    if let Some(here) = here()
        && !here.is_in_runtime()
    {
        here.stops(Doing::Waits(kind as u8));
    }
}

/// The calling thread's wait, or its system call, is over.
#[inline]
pub(crate) fn wait_ends() {
    if let Some(here) = here()
        && !here.is_in_runtime()
    {
        here.goes_on();
    }
}

/// The calling thread is about to wait in a runtime for its team, or for tasks.
#[inline]
pub(crate) fn team_wait_begins() {
    if let Some(here) = here() {
        here.enters_runtime();
    }
}

/// The calling thread goes on after such a wait; nothing happens if it is in none.
#[inline]
pub(crate) fn team_wait_ends() {
    if let Some(here) = here()
        && here.leaves_runtime()
    {
        here.goes_on();
    }
}

/// The calling thread begins to run a task, perhaps in a wait.
#[inline]
pub(crate) fn task_begins() {
    let Some(here) = here() else { return };
    let waits = here.leaves_runtime();
    let beneath = &here.thread.live.beneath;
    beneath.set(beneath.get() << 1 | u64::from(waits));
    if waits {
        here.goes_on();
    }
}

/// The task that the calling thread ran ends.
#[inline]
pub(crate) fn task_ends() {
    let Some(here) = here() else { return };
    let beneath = &here.thread.live.beneath;
    let waited = beneath.get() & 1 != 0;
    beneath.set(beneath.get() >> 1);
    if waited {
        here.enters_runtime();
    }
}

/// A system call that can block is about to be made. One that copies to or from a file is work, as far as anybody can know
/// before it.
pub(crate) fn call_begins(call: CallCode, descriptor: u32) {
    if let Some(here) = here()
        && !here.is_in_runtime()
        && waits_for_others(call, descriptor)
    {
        here.stops(Doing::Calls(call as u8));
    }
}

/// It has returned.
#[inline]
pub(crate) fn call_ends() {
    if let Some(here) = here()
        && matches!(here.slot.live_cell.doing(), Doing::Calls(_))
    {
        here.goes_on();
    }
}

fn waits_for_others(call: CallCode, descriptor: u32) -> bool {
    match call {
        CallCode::Read | CallCode::Write => is_a_channel(descriptor),
        _ => true,
    }
}

/// Which descriptors led to others when the kernel was last asked: the period of the clock in which it was, the descriptor,
/// and the answer. To ask takes as long as many a call.
static CHANNELS: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];
/// An answer is good until the period of 2 to this ticks is over, some milliseconds: by then the program may have
/// closed the descriptor, and opened another under the number.
const PERIOD_BITS: u32 = 23;
const DESCRIPTOR_BITS: u32 = 20;

fn is_a_channel(descriptor: u32) -> bool {
    if descriptor >> DESCRIPTOR_BITS != 0 {
        return descriptors::is_a_channel(descriptor);
    }
    let known = &CHANNELS[descriptor as usize % CHANNELS.len()];
    let period = (life::ticks() >> PERIOD_BITS) << (DESCRIPTOR_BITS + 1);
    let asked = period | u64::from(descriptor) << 1;
    let answer = known.load(Ordering::Relaxed);
    if answer & !1 == asked {
        return answer & 1 != 0;
    }
    let leads = descriptors::is_a_channel(descriptor);
    known.store(asked | u64::from(leads), Ordering::Relaxed);
    leads
}

/// What a thread has had of the process's time so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// The thread's kernel id.
    pub tid: u32,
    /// It does useful work, or could.
    pub is_active: bool,
    /// Its criticality, in ns.
    pub criticality_ns: u64,
    /// For how long it was active, in ns.
    pub active_ns: u64,
    /// How often it became active or ceased to be.
    pub changes: u64,
}

impl Figures {
    fn of(slot: &Slot, clock: Reading, now: u64) -> Option<Figures> {
        let reading = slot.live_cell.read();
        let criticality = reading.criticality_at(clock);
        (reading.doing != Doing::Nobody).then(|| Figures {
            tid: slot.tid.load(core::sync::atomic::Ordering::Relaxed),
            is_active: reading.doing == Doing::Active,
            criticality_ns: nanos(criticality >> FRACTION_BITS),
            active_ns: nanos(reading.active_at(now)),
            changes: reading.changes,
        })
    }
}

/// Nanoseconds in any number of ticks: in pieces, of which a thousandfold fits into a word.
fn nanos(ticks: u64) -> u64 {
    const PIECE: u32 = 40;
    (ticks >> PIECE) * life::nanos(1 << PIECE) + life::nanos(ticks & ((1 << PIECE) - 1))
}

/// Those of the calling thread, if criticality is kept.
pub fn own() -> Option<Figures> {
    let here = here()?;
    let now = life::ticks();
    Figures::of(here.slot, here.block.clock.read().at(now), now)
}

/// Those of each thread that lives; false if criticality is not kept.
pub fn all(mut each: impl FnMut(Figures)) -> bool {
    let Some(here) = here() else { return false };
    let now = life::ticks();
    let clock = here.block.clock.read().at(now);
    file().live_slots().filter_map(|slot| Figures::of(slot, clock, now)).for_each(&mut each);
    true
}

/// The calling thread begins to wait in a loop of its own.
pub fn spin_begins() {
    wait_begins(ObjectCode::SpinLock);
}

/// That loop ends.
pub fn spin_ends() {
    wait_ends();
}

/// The calling thread ends.
pub(crate) fn ends() {
    if let Some(here) = here() {
        here.changes(|now| here.slot.live_cell.ends(here.block, now));
    }
}
