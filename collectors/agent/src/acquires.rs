//! How often each thread took OpenMP's locks, by place and region: the table in its slot, emptied and written.

use core::sync::atomic::Ordering::Relaxed;

use holdup_trace::shared::{LocalAcquire, Slot};

use crate::Recorder;

/// Empties an entry.
pub(crate) fn empty(entry: &LocalAcquire) {
    let all = [
        &entry.caller,
        &entry.function,
        &entry.acquisitions,
        &entry.timed,
        &entry.ticks,
        &entry.fastest,
        &entry.waits,
        &entry.wait_ticks,
    ];
    all.iter().for_each(|counter| counter.store(0, Relaxed));
}

/// Empties a slot's table.
pub(crate) fn clear(slot: &Slot) {
    slot.acquires.iter().for_each(empty);
}

/// Writes the thread's counts as records and empties its table.
pub(crate) fn flush(recorder: &Recorder) {
    for entry in &recorder.slot().acquires {
        if let Some(counts) = entry.record() {
            recorder.write(&counts.words());
            empty(entry);
        }
    }
}
