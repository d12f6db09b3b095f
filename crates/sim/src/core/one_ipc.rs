//! The one-IPC core: an instruction each cycle, and accesses that miss block. For comparison only (paper 3, section 2.1, on
//! what interval simulation is better than).

use holdup_model::cycles::{CycleComponent, CycleStack, Level};

use super::compiled::{CompiledCode, Op, Step};
use super::{Fates, Lost};
use crate::machine::CoreFacts;
use crate::program::Access;
use crate::served::Served;

#[derive(Debug)]
pub(super) struct OneIpc {
    cycle: u64,
    instructions: u64,
    front_end: u64,
    lost: Lost,
}

impl OneIpc {
    pub(super) fn new(facts: &CoreFacts) -> Self {
        Self { cycle: 0, instructions: 0, front_end: u64::from(facts.front_end), lost: Lost::default() }
    }

    pub(super) fn now(&self) -> u64 {
        self.cycle
    }

    pub(super) fn stack(&self) -> CycleStack {
        self.lost.stack(self.instructions)
    }

    pub(super) fn idle_until(&mut self, cycle: u64, component: CycleComponent) {
        let waited = cycle.saturating_sub(self.cycle);
        self.lost.book(component as usize, waited);
        self.cycle += waited;
    }

    pub(super) fn execute(&mut self, code: &CompiledCode, block: u32, count: u32, served: &mut impl Fates) {
        self.cycle += u64::from(count);
        self.instructions += u64::from(count);
        code.book(code.blocks[block as usize].dispatch_cell(), u64::from(count));
        for op in code.ops_of(block, count) {
            if op.is_access()
                && op.step != Step::AtomicStore
                && let Some(found) = served.of(op.slot, self.cycle)
            {
                self.access(code, op, &found);
            }
        }
    }

    pub(super) fn extra_access(&mut self, code: &CompiledCode, block: u32, access: Access, served: Served) {
        if let Some(op) = code.op_of_access(block, access) {
            self.access(code, op, &served);
        }
    }

    /// What an access takes besides the cycle of its instruction.
    fn access(&mut self, code: &CompiledCode, op: &Op, served: &Served) {
        let mut wait = |component: CycleComponent, cycles: u32| {
            let cycles = u64::from(cycles);
            self.cycle += cycles;
            self.lost.book(component as usize, cycles);
            code.book(CompiledCode::access_cell(op.booked.cell(), component), cycles);
        };
        wait(CycleComponent::Tlb, served.tlb);
        if served.by != Level::L1 {
            wait(served.by.component(), served.latency);
        }
    }

    pub(super) fn fetch_stall(&mut self, code: &CompiledCode, block: u32, cycles: u32) {
        let cell = code.blocks[block as usize].fetch_cell();
        self.stall(code, cell, CycleComponent::Ifetch, u64::from(cycles));
    }

    pub(super) fn mispredicted(&mut self, code: &CompiledCode, block: u32) {
        let cell = code.blocks[block as usize].branch_cell();
        self.stall(code, cell, CycleComponent::Branch, self.front_end);
    }

    fn stall(&mut self, code: &CompiledCode, cell: u32, component: CycleComponent, cycles: u64) {
        self.cycle += cycles;
        self.lost.book(component as usize, cycles);
        code.book(cell, cycles);
    }
}
