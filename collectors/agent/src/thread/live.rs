//! What a thread keeps of its own criticality while the program runs.

use core::cell::Cell;
use core::sync::atomic::Ordering;

use holdup_trace::shared::Slot;

use crate::life;
use crate::mapping::file;

/// What a thread knows of itself. All zero is its first state.
#[repr(C)]
pub struct Standing {
    /// 1 while it changes its cell: a signal handler that comes in then changes nothing.
    pub(crate) busy: Cell<u32>,
    /// 1 while it waits in a runtime for its team or for tasks: waits in the runtime are a part of that.
    pub(crate) in_runtime: Cell<u32>,
    /// For each task that it runs, the last in the lowest bit: whether it was in such a wait before.
    pub(crate) beneath: Cell<u64>,
}

impl Standing {
    pub(crate) fn forget(&self) {
        self.busy.set(0);
        self.in_runtime.set(0);
        self.beneath.set(0);
    }

    /// The thread, to which this belongs, has got its slot: it is active.
    pub(crate) fn begins(&self, slot: &Slot) {
        if !life::lives() {
            return;
        }
        let file = file();
        let block = &file.header().live;
        self.forget();
        self.busy.set(1);
        slot.live_cell.begins(&block.clock, life::ticks());
        block.slots.fetch_max(file.slot_index(slot) + 1, Ordering::Release);
        self.busy.set(0);
    }
}
