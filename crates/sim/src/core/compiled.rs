//! Code as a core executes it: micro-ops with their latencies, and a place for the cycles of each. Made once for all cores.

use std::cell::Cell;
use std::ops::Range;

use holdup_code::{MicroOp, MicroRegister, OpClass};
use holdup_model::cycles::{CycleComponent, CyclePlace, Level};

use super::latency::{Latencies, component, divider};
use super::piece::Booked;
use crate::machine::Machine;
use crate::program::{Access, Code};

/// Where the result of an operation goes that has none. It is no register, so nothing waits for it.
const NOWHERE: u8 = 62;
/// Cells of an access: one for each [`Level`], then translation.
const ACCESS_CELLS: u32 = Level::ALL.len() as u32 + 1;
/// Cells of a block: full dispatch, instruction fetch, mispredictions.
const BLOCK_CELLS: u32 = 3;

/// What has to be done for a micro-op besides waiting for its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Step {
    /// Nothing.
    Plain,
    /// It reads memory.
    Load,
    /// It writes memory.
    Store,
    /// It only joins dependences: no slot of dispatch, no place in the window.
    Join,
    /// It keeps its unit busy.
    Divide,
    /// The load of an atomic operation: after all that is before it.
    AtomicLoad,
    /// The operation of it: loads behind it wait.
    Atomic,
    /// Its store, for which the load has got the line already.
    AtomicStore,
    /// After all that is before it, and loads behind it wait.
    Fence,
    /// After all that is before it, and all behind it waits.
    Serial,
    /// It comes from microcode, or holds up dispatch for as long as it takes.
    Microcode,
}

/// A micro-op with what the machine says about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub sources: [u8; 3],
    pub step: Step,
    pub destinations: [u8; 2],
    pub latency: u16,
    /// The access, for loads and stores; how long the divider is busy, for [`Step::Divide`].
    pub slot: u16,
    /// Which divider it is.
    pub unit: u8,
    /// What waiting for it is booked as; for accesses that hit.
    pub booked: Booked,
}

/// A block of these.
#[derive(Clone, Debug)]
pub(super) struct CompiledBlock {
    pub ops: Range<u32>,
    /// In [`CompiledCode::instructions`].
    pub instructions: Range<u32>,
    /// Its first cell.
    pub cell: u32,
}

/// Code for all cores of a machine.
#[derive(Debug)]
pub(crate) struct CompiledCode {
    pub(super) ops: Vec<Op>,
    pub(super) blocks: Vec<CompiledBlock>,
    /// The first micro-op and the place of each instruction.
    pub(super) instructions: Vec<(u32, u32)>,
    /// Log₂ of the bytes of a line of data.
    pub(super) line: u32,
    /// Cycles of all cores.
    cells: Vec<Cell<u64>>,
}

impl CompiledCode {
    pub(crate) fn new(code: &Code, machine: &Machine) -> Self {
        let latencies = Latencies::new(machine);
        let mut made = Self {
            ops: Vec::with_capacity(code.ops.len()),
            blocks: Vec::with_capacity(code.blocks.len()),
            instructions: Vec::with_capacity(code.instructions.len()),
            line: machine.l1d.line.max(1).ilog2(),
            cells: Vec::new(),
        };
        let mut cells = 0;
        for block in &code.blocks {
            let (first_op, first_instruction) = (made.ops.len() as u32, made.instructions.len() as u32);
            let first_cell = cells;
            cells += BLOCK_CELLS;
            let mut is_atomic = false;
            let source = &code.ops[block.ops.start as usize..block.ops.end as usize];
            for (index, &op) in source.iter().enumerate() {
                if op.is_first() {
                    let rest = source[index + 1..].iter().take_while(|op| !op.is_first());
                    is_atomic = op.class == OpClass::Atomic
                        || rest.clone().any(|op: &MicroOp| op.class == OpClass::Atomic);
                }
                let compiled = compile(op, is_atomic, &latencies, cells);
                cells += if compiled.is_access() { ACCESS_CELLS } else { 1 };
                made.ops.push(compiled);
            }
            let range = block.instructions.start as usize..block.instructions.end as usize;
            for instruction in &code.instructions[range] {
                let offset = instruction.first_op - block.ops.start;
                made.instructions.push((first_op + offset, instruction.place));
            }
            made.blocks.push(CompiledBlock {
                ops: first_op..made.ops.len() as u32,
                instructions: first_instruction..made.instructions.len() as u32,
                cell: first_cell,
            });
        }
        made.cells = vec![Cell::new(0); cells as usize];
        made
    }

    /// The instructions of a block.
    #[inline]
    pub(super) fn length(&self, block: u32) -> u32 {
        let block = &self.blocks[block as usize];
        block.instructions.end - block.instructions.start
    }

    /// The micro-ops of the first `count` instructions of a block.
    #[inline]
    pub(super) fn ops_of(&self, block: u32, count: u32) -> &[Op] {
        let block = &self.blocks[block as usize];
        let end = match block.instructions.end - block.instructions.start {
            all if count >= all => block.ops.end,
            _ => self.instructions[(block.instructions.start + count) as usize].0,
        };
        &self.ops[block.ops.start as usize..end as usize]
    }

    #[inline]
    pub(super) fn book(&self, cell: u32, cycles: u64) {
        let cell = &self.cells[cell as usize];
        cell.set(cell.get() + cycles);
    }

    /// The cell of an access's waiting, given its first and what it is booked as.
    #[inline]
    pub(super) fn access_cell(first: u32, component: CycleComponent) -> u32 {
        let level = Level::ALL.iter().position(|level| level.component() == component);
        first + level.map_or(ACCESS_CELLS - 1, |level| level as u32)
    }

    /// The cell of the translation of an access's address, given that of its waiting for data.
    #[cold]
    pub(super) fn translation_cell(cell: u32, component: usize) -> u32 {
        let level = Level::ALL.iter().position(|level| level.component() as usize == component);
        cell - level.map_or(0, |level| level as u32) + ACCESS_CELLS - 1
    }

    /// The micro-op that stands for further accesses of an instruction.
    pub(super) fn op_of_access(&self, block: u32, access: Access) -> Option<&Op> {
        let block = &self.blocks[block as usize];
        let at = block.instructions.start as usize + access.instruction as usize;
        let &(begin, _) = self.instructions[..block.instructions.end as usize].get(at)?;
        let ops = &self.ops[begin as usize..block.ops.end as usize];
        let is_wanted = |op: &&Op| op.is_access() && op.is_store() == access.stores;
        ops.iter().find(is_wanted).or_else(|| ops.iter().find(|op| op.is_access()))
    }

    /// Gives the cycles that were collected to the places of their instructions, and forgets them.
    pub(super) fn move_to_places(&self, places: &mut [CyclePlace]) {
        for block in &self.blocks {
            let instructions =
                &self.instructions[block.instructions.start as usize..block.instructions.end as usize];
            let (Some(&(_, first)), Some(&(_, last))) = (instructions.first(), instructions.last()) else {
                continue;
            };
            self.move_cell(block.cell + 1, CycleComponent::Ifetch, first, places);
            self.move_cell(block.cell + 2, CycleComponent::Branch, last, places);
            // Dispatch is of all micro-ops alike.
            let full = u128::from(self.cells[block.cell as usize].take());
            let all = u128::from(block.ops.end - block.ops.start).max(1);
            let ends = instructions.iter().skip(1).map(|&(op, _)| op).chain([block.ops.end]);
            for (&(begin, place), end) in instructions.iter().zip(ends) {
                let until = |op: u32| (full * u128::from(op - block.ops.start) / all) as u64;
                if let Some(place) = places.get_mut(place as usize) {
                    place.stack.book(CycleComponent::DispatchWidth, until(end) - until(begin));
                }
                for op in &self.ops[begin as usize..end as usize] {
                    self.move_op(op, place, places);
                }
            }
        }
    }

    fn move_op(&self, op: &Op, place: u32, places: &mut [CyclePlace]) {
        if !op.is_access() {
            return self.move_cell(
                op.booked.cell(),
                CycleComponent::ALL[op.booked.component()],
                place,
                places,
            );
        }
        let components = Level::ALL.iter().map(|level| level.component()).chain([CycleComponent::Tlb]);
        for (cell, component) in (op.booked.cell()..).zip(components) {
            self.move_cell(cell, component, place, places);
        }
    }

    fn move_cell(&self, cell: u32, component: CycleComponent, place: u32, places: &mut [CyclePlace]) {
        let cycles = self.cells[cell as usize].take();
        if let Some(place) = places.get_mut(place as usize) {
            place.stack.book(component, cycles);
        }
    }
}

impl CompiledBlock {
    pub(super) fn dispatch_cell(&self) -> u32 {
        self.cell
    }

    pub(super) fn fetch_cell(&self) -> u32 {
        self.cell + 1
    }

    pub(super) fn branch_cell(&self) -> u32 {
        self.cell + 2
    }
}

impl Op {
    fn is_store(&self) -> bool {
        matches!(self.step, Step::Store | Step::AtomicStore)
    }

    pub(super) fn is_access(&self) -> bool {
        matches!(self.step, Step::Load | Step::Store | Step::AtomicLoad | Step::AtomicStore)
    }
}

fn compile(op: MicroOp, is_atomic: bool, latencies: &Latencies, cell: u32) -> Op {
    let busy = latencies.busy(op.class);
    let step = match op.class {
        OpClass::Load if is_atomic => Step::AtomicLoad,
        OpClass::Load => Step::Load,
        OpClass::Store if is_atomic => Step::AtomicStore,
        OpClass::Store => Step::Store,
        OpClass::Join => Step::Join,
        OpClass::Atomic => Step::Atomic,
        OpClass::Fence => Step::Fence,
        OpClass::System => Step::Serial,
        OpClass::Pause | OpClass::Repeat => Step::Microcode,
        _ if busy > 0 => Step::Divide,
        _ => Step::Plain,
    };
    let slot = match step {
        Step::Divide => busy.min(u32::from(u16::MAX)) as u16,
        _ => op.slot().unwrap_or(u16::MAX),
    };
    let to = |register: MicroRegister| match register {
        MicroRegister::NONE => NOWHERE,
        register => register.number() as u8,
    };
    Op {
        sources: op.sources.map(|register| register.number() as u8),
        step,
        destinations: op.destinations.map(to),
        latency: latencies.of(op.class).min(u32::from(u16::MAX)) as u16,
        slot,
        unit: divider(op.class) as u8,
        booked: Booked::new(cell, component(op) as u8),
    }
}
