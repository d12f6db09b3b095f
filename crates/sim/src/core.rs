//! A core's time: interval simulation (paper 3, sections 2.1 and 2.2).
//!
//! A core dispatches [`width`](crate::machine::CoreFacts::width) micro-ops each cycle as long as nothing is in the way. What is
//! in the way ends an interval:
//!
//! - **The window is full.** It holds as many micro-ops as the reorder buffer, and its head leaves when it is done. Micro-ops
//!   are done their latency after the last of their operands, through registers or memory, whatever their order. So the core
//!   dispatches at the effective rate of Little's law, the window's size over the length of the critical path through it,
//!   where that is less than the width; a load that takes longer than the window hides is the case in which all the path is one
//!   micro-op, and the misses of independent loads behind it overlap with it as far as the window reaches.
//! - **A mispredicted branch**: nothing is dispatched until it is resolved, which is when it is done, and the front end is filled
//!   again.
//! - **A miss of the instruction cache.**
//! - The store buffer or the fill buffers are full, or an operation orders others.
//!
//! The critical path is accounted for at insertion: a micro-op that is done later than all before it lengthens the path by the
//! difference, and that piece of the path is its own, for good; one that is done in the shadow of earlier ones has none. A
//! cycle in which dispatch waits for the window is booked to the instruction whose piece of the path it is. The paper gives
//! each such cycle to all pieces in the window by their length; in sum over the time that a piece is in the window that is
//! the same, one cycle for each cycle of the path, but without the fractions, and without blaming an instruction for the wait
//! for another.
//!
//! A cycle is booked once, where it is added: to the piece of the path, to the front end's miss, or, if it dispatched as much
//! as it could, to `dispatch_width`. What a front end's miss costs while a load is under way for which the window would have
//! filled up anyway is the load's: without the front end's miss it would have taken the same time.

mod compiled;
mod interval;
mod latency;
mod misses;
mod one_ipc;
mod piece;
mod stores;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use holdup_model::cycles::{CYCLE_COMPONENTS, CycleComponent, CyclePlace, CycleStack};

pub(crate) use compiled::CompiledCode;

use crate::machine::{CoreFacts, CoreModel};
use crate::program::Access;
use crate::served::Served;
use interval::Interval;
use one_ipc::OneIpc;

/// What becomes of the accesses of a block. Each is asked for when it begins, in program order.
trait Fates {
    /// Of the access in a slot, which begins at this cycle of the core; none if there was no such access.
    fn of(&mut self, slot: u16, begin: u64) -> Option<Served>;
}

impl Fates for &[Served] {
    #[inline]
    fn of(&mut self, slot: u16, _: u64) -> Option<Served> {
        self.get(usize::from(slot)).copied()
    }
}

/// Memory is asked.
struct Asked<F>(F);

impl<F: FnMut(u16, u64) -> Option<Served>> Fates for Asked<F> {
    #[inline]
    fn of(&mut self, slot: u16, begin: u64) -> Option<Served> {
        (self.0)(slot, begin)
    }
}

/// All hit, which takes so many cycles.
struct AllHit(u32);

impl Fates for AllHit {
    #[inline]
    fn of(&mut self, _: u16, _: u64) -> Option<Served> {
        Some(Served { latency: self.0, ..Served::default() })
    }
}

/// A core that executes code.
#[derive(Debug)]
pub(crate) struct Core {
    code: Rc<CompiledCode>,
    model: Model,
    instructions: u64,
}

#[derive(Debug)]
enum Model {
    Interval(Box<Interval>),
    OneIpc(OneIpc),
}

/// Cycles that were not those of full dispatch.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    by_component: [u64; CYCLE_COMPONENTS],
    all: u64,
}

impl Lost {
    #[inline]
    fn book(&mut self, component: usize, cycles: u64) {
        self.by_component[component] += cycles;
        self.all += cycles;
    }

    /// The whole stack, with so many cycles of full dispatch.
    fn stack(&self, full: u64) -> CycleStack {
        let mut stack = CycleStack::default();
        for (&component, &cycles) in CycleComponent::ALL.iter().zip(&self.by_component) {
            stack.book(component, cycles);
        }
        stack.book(CycleComponent::DispatchWidth, full);
        stack
    }
}

impl Core {
    /// A core that has done nothing, at cycle 0.
    pub(crate) fn new(facts: &CoreFacts, code: Rc<CompiledCode>) -> Self {
        let model = match facts.model {
            CoreModel::Interval => Model::Interval(Box::new(Interval::new(facts))),
            CoreModel::OneIpc => Model::OneIpc(OneIpc::new(facts)),
        };
        Self { code, model, instructions: 0 }
    }

    /// The cycle in which it dispatches. It never goes back.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match &self.model {
            Model::Interval(core) => core.now(),
            Model::OneIpc(core) => core.now(),
        }
    }

    /// Waits until all that was dispatched is done, which is booked as what it is; the window is empty then.
    pub(crate) fn settle(&mut self) {
        if let Model::Interval(core) = &mut self.model {
            core.settle(&self.code);
        }
    }

    /// Settles, then waits up to `cycle`, if that is later, and books that as said.
    pub(crate) fn idle_until(&mut self, cycle: u64, component: CycleComponent) {
        self.settle();
        match &mut self.model {
            Model::Interval(core) => core.idle_until(cycle, component),
            Model::OneIpc(core) => core.idle_until(cycle, component),
        }
    }

    /// The instruction cache or its translation buffer missed at the beginning of a block: no dispatch for so many cycles.
    pub(crate) fn fetch_stall(&mut self, block: u32, cycles: u32) {
        match &mut self.model {
            Model::Interval(core) => core.fetch_stall(&self.code, block, cycles),
            Model::OneIpc(core) => core.fetch_stall(&self.code, block, cycles),
        }
    }

    /// Executes the first `count` instructions of a block. `served` and `addresses` have the block's accesses in the order
    /// of its table: what became of them, and where they went, by which loads find the stores that they depend on, and data
    /// that are still on their way. Accesses that are not there are taken to hit.
    #[inline]
    pub(crate) fn execute(&mut self, block: u32, count: u32, served: &[Served], addresses: &[u64]) {
        let count = count.min(self.code.length(block));
        self.instructions += u64::from(count);
        match &mut self.model {
            Model::Interval(core) => core.execute(&self.code, block, count, &mut &*served, addresses),
            Model::OneIpc(core) => core.execute(&self.code, block, count, &mut &*served),
        }
    }

    /// The same, where `ask` says what becomes of the access in a slot that begins at a cycle of the core, in program order.
    #[inline]
    pub(crate) fn execute_asking(
        &mut self,
        block: u32,
        count: u32,
        addresses: &[u64],
        ask: impl FnMut(u16, u64) -> Option<Served>,
    ) {
        let count = count.min(self.code.length(block));
        self.instructions += u64::from(count);
        match &mut self.model {
            Model::Interval(core) => core.execute(&self.code, block, count, &mut Asked(ask), addresses),
            Model::OneIpc(core) => core.execute(&self.code, block, count, &mut Asked(ask)),
        }
    }

    /// Executes a block all of whose accesses are to these addresses and hit.
    #[inline]
    pub(crate) fn execute_hits(&mut self, block: u32, hit: Served, addresses: &[u64]) {
        let count = self.code.length(block);
        self.instructions += u64::from(count);
        match &mut self.model {
            Model::Interval(core) => {
                core.execute(&self.code, block, count, &mut AllHit(hit.latency), addresses)
            }
            Model::OneIpc(core) => core.execute(&self.code, block, count, &mut &[][..]),
        }
    }

    /// An access beyond the block's table: a further round of a string instruction. `access` says of which instruction of the
    /// block. Microcode moves several rounds at once, so not each costs a micro-op.
    pub(crate) fn extra_access(&mut self, block: u32, access: Access, served: Served) {
        match &mut self.model {
            Model::Interval(core) => core.extra_access(&self.code, block, access, served),
            Model::OneIpc(core) => core.extra_access(&self.code, block, access, served),
        }
    }

    /// The branch that ended `block`, which was executed last, was mispredicted.
    pub(crate) fn mispredicted(&mut self, block: u32) {
        match &mut self.model {
            Model::Interval(core) => core.mispredicted(&self.code, block),
            Model::OneIpc(core) => core.mispredicted(&self.code, block),
        }
    }

    /// Where the cycles went so far: its total is exactly [`Core::now`]. What is still in the window has been booked as far as
    /// it was waited for.
    pub(crate) fn stack(&self) -> CycleStack {
        match &self.model {
            Model::Interval(core) => core.stack(),
            Model::OneIpc(core) => core.stack(),
        }
    }

    /// Instructions executed.
    pub(crate) fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Gives each instruction its cycles, by its place. Those of all cores that execute the same code are collected together
    /// and given once, so the first core that is asked gives all.
    ///
    /// They are all cycles but those of [`Core::idle_until`], exactly.
    pub(crate) fn add_to_places(&self, places: &mut [CyclePlace]) {
        self.code.move_to_places(places);
    }
}
