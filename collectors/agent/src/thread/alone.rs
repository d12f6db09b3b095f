//! What a thread keeps of sessions in which one thread runs by itself, and what its slot says of that at first.

use core::cell::Cell;
use core::sync::atomic::Ordering::SeqCst;

use holdup_trace::alone::Conduct;
use holdup_trace::shared::{ProcessFile, Slot};

use crate::life;

/// What a thread knows of itself. All zero is its first state.
#[repr(C)]
pub struct Standing {
    /// 1 while it is held, or waits for the turn: a signal handler that comes in then goes on.
    pub(crate) held: Cell<u32>,
    /// The generation of its present stretch, + 1; 0 if it is in none.
    pub(crate) open: Cell<u32>,
    /// In what way that was disturbed when it began.
    pub(crate) why: Cell<u32>,
    /// 1 while it waits in a runtime for its team or for tasks: what hooks the runtime calls there is no act of the program's.
    pub(crate) in_runtime: Cell<u32>,
    /// 1 while it starts a parallel region: threads that it creates then belong to the runtime.
    pub(crate) starts_team: Cell<u32>,
    /// How often it has looked in vain for something that others do since it last waited.
    pub(crate) polls: Cell<u32>,
    /// When the stretch began, in ticks.
    pub(crate) begin: Cell<u64>,
    /// CPU time then.
    pub(crate) cpu: Cell<u64>,
    /// [`Block::disturbed`](holdup_trace::alone::Block::disturbed) then.
    pub(crate) disturbed: Cell<u64>,
    /// For each task that it runs, the last in the lowest bit: whether it was in a wait before.
    pub(crate) beneath: Cell<u64>,
}

impl Standing {
    pub(crate) fn forget(&self) {
        self.held.set(0);
        self.open.set(0);
        self.starts_team.set(0);
        self.in_runtime.set(0);
        self.beneath.set(0);
        self.polls.set(0);
    }
}

/// The calling thread has got its slot.
pub(crate) fn has_slot(file: ProcessFile, slot: &Slot) {
    slot.alone_state.store(Conduct::Runs as u32, SeqCst);
    slot.alone_depth.store(0, SeqCst);
    slot.alone_since.store(life::ticks(), SeqCst);
    let block = &file.header().alone;
    block.slots.fetch_max(file.slot_index(slot) + 1, SeqCst);
}

/// The calling thread's slot shows that it lives.
pub(crate) fn lives(file: ProcessFile) {
    file.header().alone.begun.fetch_add(1, SeqCst);
}
