//! How often each thread uses each lock: a small table in the thread's slot, which overflows into one of the
//! process.

use core::sync::atomic::{AtomicU64, Ordering};

use holdup_trace::shared::{LOCAL_KIND_SHIFT, LOCAL_USES, LocalUse, SHARED_KIND_SHIFT, Slot, USES};
use holdup_trace::wire::ObjectCode;

use crate::mapping::file;
use crate::thread::strangers::{Strangers, TIMED, hash};
use crate::{Recorder, arch, life, thread};

const FAILED_MASK: u32 = (1 << LOCAL_KIND_SHIFT) - 1;
/// Entries of the process's table that are tried before a use is counted as lost.
const PROBES: usize = 16;
/// So many where others found none before: half a cache line more than the first.
const PROBES_WHEN_FULL: usize = 2;

#[inline(always)]
fn entry(slot: &Slot, object: u64) -> &LocalUse {
    &slot.uses[(hash(object) >> (64 - LOCAL_USES.ilog2())) as usize]
}

/// Counts an acquisition; gives how many the thread's table has counted of this lock.
#[inline(always)]
pub fn count(strangers: &Strangers, slot: &Slot, object: u64, kind: ObjectCode) -> u64 {
    let entry = entry(slot, object);
    if entry.object.load(Ordering::Relaxed) != object {
        return count_stranger(strangers, slot, entry, object, kind);
    }
    let acquisitions = entry.acquisitions.load(Ordering::Relaxed) + 1;
    entry.acquisitions.store(acquisitions, Ordering::Relaxed);
    acquisitions
}

/// Counts an acquisition of a lock that is not in the table; gives 8 where its hold is to be timed, else 1.
#[cold]
#[inline(never)]
fn count_stranger(
    strangers: &Strangers,
    slot: &Slot,
    entry: &LocalUse,
    object: u64,
    kind: ObjectCode,
) -> u64 {
    let weight = strangers.weight(object);
    if weight == 0 {
        return 1;
    }
    replace(slot, entry, object, kind);
    entry.acquisitions.store(u64::from(weight), Ordering::Relaxed);
    if weight > 1 && strangers.is_one_in(TIMED, object) { 8 } else { 1 }
}

/// Holds are brief if so many of average length fit into a µs...
const IN_A_MICRO: u64 = 2;
/// ...once so many were timed.
const ENOUGH_HOLDS: u32 = 64;

/// True if the thread's holds of a lock are brief, as far as its table says, or there are too many locks to say it of each.
pub(crate) fn are_brief(strangers: &Strangers, slot: &Slot, object: u64) -> bool {
    let entry = entry(slot, object);
    if entry.object.load(Ordering::Relaxed) != object {
        return !strangers.are_all_counted();
    }
    let holds = entry.timed_holds.load(Ordering::Relaxed);
    let most = u64::from(holds) * life::ticks_of_micros(1);
    holds >= ENOUGH_HOLDS && entry.timed_ticks.load(Ordering::Relaxed) * IN_A_MICRO < most
}

/// Adds to a counter that only the calling thread changes.
#[inline(always)]
pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).saturating_add(more), Ordering::Relaxed);
}

/// Counts a `try` that failed.
pub fn count_failed(strangers: &Strangers, slot: &Slot, object: u64, kind: ObjectCode) {
    let entry = entry(slot, object);
    let mut weight = 1;
    if entry.object.load(Ordering::Relaxed) != object {
        weight = strangers.weight(object);
        if weight == 0 {
            return;
        }
        replace(slot, entry, object, kind);
    }
    let packed = entry.failed_and_kind.load(Ordering::Relaxed);
    if packed & FAILED_MASK < FAILED_MASK - weight {
        entry.failed_and_kind.store(packed + weight, Ordering::Relaxed);
    }
}

/// Adds a timed hold. Of a lock that is not in the table only while all of these are counted: what is told of holds is their mean.
#[inline]
pub fn add_hold(strangers: &Strangers, slot: &Slot, object: u64, kind: ObjectCode, ticks: u64) {
    let entry = entry(slot, object);
    if entry.object.load(Ordering::Relaxed) != object {
        if !strangers.are_all_counted() {
            return;
        }
        replace(slot, entry, object, kind);
    }
    entry.timed_ticks.store(entry.timed_ticks.load(Ordering::Relaxed) + ticks, Ordering::Relaxed);
    entry.timed_holds.store(entry.timed_holds.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
}

#[cold]
#[inline(never)]
fn replace(slot: &Slot, entry: &LocalUse, object: u64, kind: ObjectCode) {
    if entry.object.load(Ordering::Relaxed) != 0 {
        overflow(slot, entry);
    }
    reset(entry, object, kind);
}

fn reset(entry: &LocalUse, object: u64, kind: ObjectCode) {
    entry.acquisitions.store(0, Ordering::Relaxed);
    entry.timed_ticks.store(0, Ordering::Relaxed);
    entry.timed_holds.store(0, Ordering::Relaxed);
    entry.failed_and_kind.store((kind as u32) << LOCAL_KIND_SHIFT, Ordering::Relaxed);
    entry.object.store(object, Ordering::Relaxed);
}

/// Empties a slot's table.
pub fn clear(slot: &Slot) {
    for entry in &slot.uses {
        reset(entry, 0, ObjectCode::Mutex);
    }
    slot.lost_uses.store(0, Ordering::Relaxed);
}

/// Adds a thread's counts of one lock to the process's table.
fn overflow(slot: &Slot, from: &LocalUse) {
    let file = file();
    let object = from.object.load(Ordering::Relaxed);
    let first = (hash(object) >> (64 - USES.ilog2())) as usize;
    let kind = u64::from(from.failed_and_kind.load(Ordering::Relaxed) >> LOCAL_KIND_SHIFT);
    // A table in which this thread has found no room is full, or nearly so.
    let lost = slot.lost_uses.load(Ordering::Relaxed);
    let probes = if lost == 0 { PROBES } else { PROBES_WHEN_FULL };
    for probe in 0..probes {
        let to = &file.uses()[(first + probe) % USES];
        if probe == 0 {
            arch::will_write(to);
        }
        let seen = to.object.load(Ordering::Relaxed);
        let ours = seen == object
            || seen == 0
                && match to.object.compare_exchange(0, object, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => {
                        to.failed_and_kind.fetch_or(kind << SHARED_KIND_SHIFT, Ordering::Relaxed);
                        true
                    }
                    Err(now) => now == object,
                };
        if ours {
            let failed = from.failed_and_kind.load(Ordering::Relaxed) & FAILED_MASK;
            let counts = [
                (&to.acquisitions, from.acquisitions.load(Ordering::Relaxed)),
                (&to.timed_ticks, from.timed_ticks.load(Ordering::Relaxed)),
                (&to.timed_holds, from.timed_holds.load(Ordering::Relaxed).into()),
                (&to.failed_and_kind, failed.into()),
            ];
            for (to, more) in counts.into_iter().filter(|(_, more)| *more > 0) {
                to.fetch_add(more, Ordering::Relaxed);
            }
            return;
        }
    }
    slot.lost_uses.store(lost + from.acquisitions.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Writes the thread's counts as records and empties its table.
pub fn flush(recorder: &Recorder) {
    for entry in &recorder.slot().uses {
        if let Some(words) = entry.record() {
            recorder.write(&words);
            reset(entry, 0, ObjectCode::Mutex);
        }
    }
}

/// Measures what counting and recording cost in this process, and puts it into its file.
pub(crate) fn measure_costs(recorder: &Recorder) {
    const COUNTS: u64 = 256;
    const EVENTS: u64 = 32;
    let slot = recorder.slot();
    let object = core::ptr::from_ref(slot) as u64;
    let strangers = &thread::this().strangers;
    let begin = arch::counter();
    for _ in 0..COUNTS {
        core::hint::black_box(count(strangers, slot, core::hint::black_box(object), ObjectCode::Mutex));
    }
    let counted = arch::counter();
    recorder.rehearse(EVENTS);
    let written = arch::counter();
    reset(entry(slot, object), 0, ObjectCode::Mutex);
    let header = file().header();
    header.use_cost.store(((counted - begin) * 16 / COUNTS) as u32, Ordering::Relaxed);
    header.event_cost.store(((written - counted) * 16 / EVENTS) as u32, Ordering::Relaxed);
}
