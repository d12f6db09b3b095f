//! What locks that are waited for take beside the waits that are recorded: to get them from other cores, and to give them to others;
//! and brief waits, of locks for which a thread waits so often that to record each wait would cost more than the wait.

use core::sync::atomic::Ordering::Relaxed;

use holdup_trace::shared::{HOLDS_ALL, HOLDS_SAMPLED, LOCAL_BUSY, LOCAL_KIND_SHIFT, LocalBusy, Slot};
use holdup_trace::wire::ObjectCode;

use crate::thread::strangers::hash;
use crate::uses::add;
use crate::{Recorder, hot, life};

/// A thread records each wait for a lock while there is at most one in so long on average (µs): what a record costs, with the hold
/// and the stacks that belong to it, is less than a hundredth of that.
const PERIOD_MICROS: u64 = 100;
/// What it may have saved up for moments of more (µs).
const BURST_MICROS: u64 = 100_000;
/// A wait that is over within so long (µs), in which the thread kept its core, is brief.
const BRIEF_MICROS: u64 = 10;

/// The entry in which a wait that begins `now` is to be counted if it is brief; `None` where it is to be recorded in any case.
pub(crate) fn entry_of_wait(
    recorder: &Recorder,
    object: u64,
    kind: ObjectCode,
    now: u64,
) -> Option<&'static LocalBusy> {
    if !counts() || recorder.thread().lock_waits.take(now, PERIOD_MICROS, BURST_MICROS) {
        return None;
    }
    let entry = entry_for(recorder.slot(), object, kind)?;
    if !hot::is_busy(object) {
        hot::is_busy_now(object);
    }
    Some(entry)
}

/// Counts from here on what it takes the thread to get this lock, for which somebody waited, and to give it to others.
pub(crate) fn count_costs(slot: &'static Slot, object: u64, kind: ObjectCode) {
    if counts() && entry_for(slot, object, kind).is_some() && !hot::is_counted(object) {
        hot::is_counted_now(object);
    }
}

/// False where all that happens is recorded, or has to be said elsewhere.
fn counts() -> bool {
    !life::is_followed() && life::flags() & (HOLDS_ALL | HOLDS_SAMPLED) == 0
}

/// The thread's entry of this lock; `None` if all are of others.
fn entry_for(slot: &'static Slot, object: u64, kind: ObjectCode) -> Option<&'static LocalBusy> {
    let mut entries = places(object).map(|place| &slot.busy[place]);
    let found = entries.find(|entry| {
        let of = entry.object.load(Relaxed);
        of == object || of == 0
    })?;
    if found.object.load(Relaxed) == 0 {
        clear_entry(found);
        found.timed_and_kind.store((kind as u32) << LOCAL_KIND_SHIFT, Relaxed);
        found.object.store(object, Relaxed);
        slot.busy_locks.store(slot.busy_locks.load(Relaxed) + 1, Relaxed);
    }
    Some(found)
}

/// Counts a wait of so many ticks, for so many of which the thread had a core; false if it was not brief.
pub(crate) fn add_wait(entry: &LocalBusy, ticks: u64, on_core: u64) -> bool {
    let is_brief = ticks < life::ticks_of_micros(BRIEF_MICROS) && on_core >= ticks / 2;
    if is_brief {
        entry.brief.store(entry.brief.load(Relaxed).saturating_add(1), Relaxed);
        add(&entry.brief_ticks, ticks);
    }
    is_brief
}

/// Counts a timed acquisition of the lock, if it is busy.
pub(crate) fn add_acquisition(slot: &Slot, object: u64, ticks: u64) {
    const MOST: u32 = (1 << LOCAL_KIND_SHIFT) - 1;
    if let Some(entry) = entry_of(slot, object) {
        let packed = entry.timed_and_kind.load(Relaxed);
        if packed & MOST < MOST {
            entry.timed_and_kind.store(packed + 1, Relaxed);
            add(&entry.ticks, ticks);
        }
    }
}

/// Counts a release of the lock, if it is busy.
pub(crate) fn add_release(slot: &Slot, object: u64, ticks: u64) {
    if let Some(entry) = entry_of(slot, object)
        && ticks < life::ticks_of_micros(BRIEF_MICROS)
    {
        entry.releases.store(entry.releases.load(Relaxed).saturating_add(1), Relaxed);
        add(&entry.release_ticks, ticks);
    }
}

fn entry_of(slot: &Slot, object: u64) -> Option<&LocalBusy> {
    if slot.busy_locks.load(Relaxed) == 0 {
        return None;
    }
    let mut used =
        places(object).map(|place| &slot.busy[place]).take_while(|entry| entry.object.load(Relaxed) != 0);
    used.find(|entry| entry.object.load(Relaxed) == object)
}

/// True if the thread may record a hold of a busy lock that ends `now`.
pub(crate) fn may_record_hold(recorder: &Recorder, now: u64) -> bool {
    recorder.thread().lock_holds.take(now, PERIOD_MICROS, BURST_MICROS)
}

/// Places of a thread's table at which a lock may be.
const PLACES: usize = 8;

/// Where a thread's table may have a lock, in this order.
fn places(object: u64) -> impl Iterator<Item = usize> {
    let first = (hash(object) >> 32) as usize % LOCAL_BUSY;
    (0..PLACES).map(move |probe| (first + probe) % LOCAL_BUSY)
}

fn clear_entry(entry: &LocalBusy) {
    entry.object.store(0, Relaxed);
    entry.brief_ticks.store(0, Relaxed);
    entry.ticks.store(0, Relaxed);
    entry.release_ticks.store(0, Relaxed);
    entry.releases.store(0, Relaxed);
    entry.brief.store(0, Relaxed);
    entry.timed_and_kind.store(0, Relaxed);
}

/// Empties a slot's table.
pub(crate) fn clear(slot: &Slot) {
    if slot.busy_locks.swap(0, Relaxed) != 0 {
        slot.busy.iter().for_each(clear_entry);
    }
}

/// Writes the thread's counts as records, and empties its table.
pub(crate) fn flush(recorder: &Recorder) {
    let slot = recorder.slot();
    if slot.busy_locks.load(Relaxed) != 0 {
        slot.busy.iter().filter_map(LocalBusy::record).for_each(|words| recorder.write(&words));
        clear(slot);
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU32, AtomicU64};

    use super::*;

    #[test]
    fn brief_are_short_waits_in_which_the_thread_kept_its_core() {
        let entry = LocalBusy {
            object: AtomicU64::new(0x40),
            brief_ticks: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            release_ticks: AtomicU64::new(0),
            releases: AtomicU32::new(0),
            brief: AtomicU32::new(0),
            timed_and_kind: AtomicU32::new((ObjectCode::Mutex as u32) << LOCAL_KIND_SHIFT),
        };
        let micros = life::ticks_of_micros;
        assert_eq!(entry.record(), None, "there is nothing to say");
        assert!(add_wait(&entry, micros(3), micros(3)) && add_wait(&entry, micros(4), micros(4)));
        assert!(!add_wait(&entry, micros(BRIEF_MICROS), micros(BRIEF_MICROS)), "too long");
        assert!(!add_wait(&entry, micros(4), micros(1)), "it slept");
        assert_eq!((entry.brief.load(Relaxed), entry.brief_ticks.load(Relaxed)), (2, micros(7)));
        assert!(entry.record().is_some());
    }
}
