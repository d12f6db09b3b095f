//! Splits instructions into micro-ops.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use super::classify::class_of;
use super::flow::{Address, DataFlow};
use super::{FIRST, MicroOp, MicroRegister, NO_SLOT, OpClass, strings};

/// Splits the instructions of a block, one after the other.
#[derive(Debug)]
pub(super) struct Splitter {
    factory: InstructionInfoFactory,
    found: Vec<MicroOp>,
    slots: u16,
    is_inside: bool,
}

impl Splitter {
    pub(super) fn new() -> Self {
        Self { factory: InstructionInfoFactory::new(), found: Vec::new(), slots: 0, is_inside: false }
    }

    pub(super) fn finish(self) -> Vec<MicroOp> {
        self.found
    }

    pub(super) fn split(&mut self, instruction: &Instruction) {
        self.is_inside = false;
        if instruction.is_string_instruction() && strings::split(self, instruction) {
            return;
        }
        let class = class_of(instruction);
        match instruction.mnemonic() {
            _ if instruction.is_vsib() && self.elements(instruction) => {}
            // AVX without its upper halves: no dependence that takes time.
            Mnemonic::Vzeroupper => self.op(OpClass::Nothing, &[], &[]),
            Mnemonic::Leave => {
                self.op(OpClass::Move, &[MicroRegister::RBP], &[MicroRegister::RSP]);
                self.load([MicroRegister::RSP, MicroRegister::NONE], MicroRegister::RBP);
            }
            Mnemonic::Xchg if class == OpClass::Move && is_whole(instruction) => self.exchange(instruction),
            _ => {
                let flow = DataFlow::of(instruction, &mut self.factory);
                self.general(class, &flow);
            }
        }
    }

    /// Loads, an operation, stores.
    fn general(&mut self, class: OpClass, flow: &DataFlow) {
        if class == OpClass::Nothing {
            return self.op(class, &[], &flow.writes);
        }
        if class == OpClass::Move && self.moves(flow) {
            return;
        }
        let mut sources = Vec::with_capacity(4);
        for (address, to) in
            flow.loads.iter().zip([MicroRegister::LOADED, MicroRegister::LOADED_TOO].into_iter().cycle())
        {
            self.load(*address, to);
            sources.push(to);
        }
        sources.extend(&flow.reads);
        if matches!(class, OpClass::Call | OpClass::IndirectCall) {
            // The return address is there from the beginning.
            for address in &flow.stores {
                self.store(*address, MicroRegister::NONE);
            }
            return self.op(class, &sources, &flow.writes);
        }
        let mut destinations = Vec::with_capacity(4);
        if !flow.stores.is_empty() {
            destinations.push(MicroRegister::STORED);
        }
        destinations.extend(&flow.writes);
        self.op(class, &sources, &destinations);
        if class == OpClass::Atomic {
            self.stay();
        }
        for address in &flow.stores {
            self.store(*address, MicroRegister::STORED);
        }
    }

    /// Whether it only moves between memory and a register, or within memory; if so its micro-ops are made.
    fn moves(&mut self, flow: &DataFlow) -> bool {
        match (&flow.loads[..], &flow.stores[..], &flow.reads[..], &flow.writes[..]) {
            ([from], [], [], [to]) => self.load(*from, *to),
            ([], [to], [], []) => self.store(*to, MicroRegister::NONE),
            ([], [to], [from], []) => self.store(*to, *from),
            ([from], [to], [], []) => {
                self.load(*from, MicroRegister::LOADED);
                self.store(*to, MicroRegister::LOADED);
            }
            _ => return false,
        }
        true
    }

    fn exchange(&mut self, instruction: &Instruction) {
        let whole = |register| MicroRegister::whole(register).unwrap_or(MicroRegister::NONE);
        let (a, b) = (whole(instruction.op0_register()), whole(instruction.op1_register()));
        self.op(OpClass::Move, &[a], &[MicroRegister::LOADED]);
        self.op(OpClass::Move, &[b], &[a]);
        self.op(OpClass::Move, &[MicroRegister::LOADED], &[b]);
    }

    /// Gathers and scatters; false for what only prefetches so.
    fn elements(&mut self, instruction: &Instruction) -> bool {
        let flow = DataFlow::of(instruction, &mut self.factory);
        let operands = 0..instruction.op_count();
        let vectors = operands
            .filter(|one| instruction.op_kind(*one) == OpKind::Register)
            .map(|one| instruction.op_register(one));
        let Some(data) = vectors.into_iter().find(|register| register.is_vector_register()) else {
            return false;
        };
        let Some(vector) = MicroRegister::whole(data) else { return false };
        let each = |size: usize, register: Register| register.size() / size.max(1);
        let index_size = if instruction.is_vsib64() { 8 } else { 4 };
        let count = each(instruction.memory_size().element_size(), data)
            .min(each(index_size, instruction.memory_index()))
            .min(16);
        let mask = flow.writes.iter().copied().find(|one| *one != vector).unwrap_or(MicroRegister::NONE);
        let is_gather = !flow.loads.is_empty();
        let Some(address) = flow.loads.first().or(flow.stores.first()).copied() else { return false };
        for _ in 0..count {
            if is_gather {
                let [base, index] = address;
                self.access(OpClass::Load, [base, index, mask], MicroRegister::LOADED);
                self.op(OpClass::Shuffle, &[MicroRegister::LOADED, vector], &[vector]);
            } else {
                self.op(OpClass::Shuffle, &[vector, mask], &[MicroRegister::STORED]);
                self.store(address, MicroRegister::STORED);
            }
        }
        // It ends empty.
        self.op(OpClass::Nothing, &[], &[mask]);
        true
    }

    pub(super) fn load(&mut self, [base, index]: Address, to: MicroRegister) {
        self.access(OpClass::Load, [base, index, MicroRegister::NONE], to);
    }

    pub(super) fn store(&mut self, address: Address, data: MicroRegister) {
        let [base, index] = address;
        self.access(OpClass::Store, [base, index, data], MicroRegister::NONE);
    }

    /// Gives the next access the slot of the one before.
    pub(super) fn stay(&mut self) {
        if self.slots < NO_SLOT {
            self.slots = self.slots.saturating_sub(1);
        }
    }

    fn access(&mut self, class: OpClass, sources: [MicroRegister; 3], to: MicroRegister) {
        let slot = self.slots;
        self.slots = (slot + 1).min(NO_SLOT);
        // What is there is in front.
        let mut packed = [MicroRegister::NONE; 3];
        let there = sources.into_iter().filter(|one| *one != MicroRegister::NONE);
        packed.iter_mut().zip(there).for_each(|(place, one)| *place = one);
        self.push(class, packed, [to, MicroRegister::NONE], slot);
    }

    /// An operation, with as many micro-ops around it as its sources and destinations need.
    pub(super) fn op(&mut self, class: OpClass, sources: &[MicroRegister], destinations: &[MicroRegister]) {
        let mut sources = sources.to_vec();
        while sources.len() > 3 {
            let rest = sources.split_off(3);
            self.push(OpClass::Join, row(&sources), row(&[MicroRegister::JOINED]), NO_SLOT);
            sources = [MicroRegister::JOINED].into_iter().chain(rest).collect();
        }
        if destinations.len() <= 2 {
            return self.push(class, row(&sources), row(destinations), NO_SLOT);
        }
        self.push(class, row(&sources), [destinations[0], MicroRegister::JOINED], NO_SLOT);
        for pair in destinations[1..].chunks(2) {
            self.push(OpClass::Join, row(&[MicroRegister::JOINED]), row(pair), NO_SLOT);
        }
    }

    fn push(
        &mut self,
        class: OpClass,
        sources: [MicroRegister; 3],
        destinations: [MicroRegister; 2],
        slot: u16,
    ) {
        let first = if self.is_inside { 0 } else { FIRST };
        self.is_inside = true;
        self.found.push(MicroOp { class, sources, destinations, place: slot | first });
    }
}

fn row<const N: usize>(registers: &[MicroRegister]) -> [MicroRegister; N] {
    let mut row = [MicroRegister::NONE; N];
    row.iter_mut().zip(registers).for_each(|(place, one)| *place = *one);
    row
}

/// Whether the registers are written whole.
fn is_whole(instruction: &Instruction) -> bool {
    instruction.op0_register().size() >= 4 && instruction.op1_register().size() >= 4
}
