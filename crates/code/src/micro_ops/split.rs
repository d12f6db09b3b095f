//! Splits instructions into micro-ops.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use super::classify::class_of;
use super::flow::DataFlow;
use super::sequence::Sequence;
use super::{MicroOp, MicroRegister, OpClass, strings};

/// Splits the instructions of a block, one after the other.
#[derive(Debug)]
pub(super) struct Splitter {
    factory: InstructionInfoFactory,
    made: Sequence,
}

impl Splitter {
    pub(super) fn new() -> Self {
        Self { factory: InstructionInfoFactory::new(), made: Sequence::default() }
    }

    pub(super) fn finish(self) -> Vec<MicroOp> {
        self.made.micro_ops()
    }

    pub(super) fn split(&mut self, instruction: &Instruction) {
        self.made.begin_instruction();
        if instruction.is_string_instruction() && strings::split(&mut self.made, instruction) {
            return;
        }
        let class = class_of(instruction);
        match instruction.mnemonic() {
            _ if instruction.is_vsib() && self.elements(instruction) => {}
            // AVX without its upper halves: no dependence that takes time.
            Mnemonic::Vzeroupper => self.made.op(OpClass::Nothing, &[], &[]),
            Mnemonic::Leave => {
                self.made.op(OpClass::Move, &[MicroRegister::RBP], &[MicroRegister::RSP]);
                self.made.load([MicroRegister::RSP, MicroRegister::NONE], MicroRegister::RBP);
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
            return self.made.op(class, &[], &flow.writes);
        }
        if class == OpClass::Move && self.moves(flow) {
            return;
        }
        let mut sources = Vec::with_capacity(4);
        for (address, to) in
            flow.loads.iter().zip([MicroRegister::LOADED, MicroRegister::LOADED_TOO].into_iter().cycle())
        {
            self.made.load(*address, to);
            sources.push(to);
        }
        sources.extend(&flow.reads);
        if matches!(class, OpClass::Call | OpClass::IndirectCall) {
            // The return address is there from the beginning.
            for address in &flow.stores {
                self.made.store(*address, MicroRegister::NONE);
            }
            return self.made.op(class, &sources, &flow.writes);
        }
        let mut destinations = Vec::with_capacity(4);
        if !flow.stores.is_empty() {
            destinations.push(MicroRegister::STORED);
        }
        destinations.extend(&flow.writes);
        self.made.op(class, &sources, &destinations);
        if class == OpClass::Atomic {
            self.made.stay();
        }
        for address in &flow.stores {
            self.made.store(*address, MicroRegister::STORED);
        }
    }

    /// Whether it only moves between memory and a register, or within memory; if so its micro-ops are made.
    fn moves(&mut self, flow: &DataFlow) -> bool {
        match (&flow.loads[..], &flow.stores[..], &flow.reads[..], &flow.writes[..]) {
            ([from], [], [], [to]) => self.made.load(*from, *to),
            ([], [to], [], []) => self.made.store(*to, MicroRegister::NONE),
            ([], [to], [from], []) => self.made.store(*to, *from),
            ([from], [to], [], []) => {
                self.made.load(*from, MicroRegister::LOADED);
                self.made.store(*to, MicroRegister::LOADED);
            }
            _ => return false,
        }
        true
    }

    fn exchange(&mut self, instruction: &Instruction) {
        let whole = |register| MicroRegister::whole(register).unwrap_or(MicroRegister::NONE);
        let (a, b) = (whole(instruction.op0_register()), whole(instruction.op1_register()));
        self.made.op(OpClass::Move, &[a], &[MicroRegister::LOADED]);
        self.made.op(OpClass::Move, &[b], &[a]);
        self.made.op(OpClass::Move, &[MicroRegister::LOADED], &[b]);
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
                self.made.access(OpClass::Load, [base, index, mask], MicroRegister::LOADED);
                self.made.op(OpClass::Shuffle, &[MicroRegister::LOADED, vector], &[vector]);
            } else {
                self.made.op(OpClass::Shuffle, &[vector, mask], &[MicroRegister::STORED]);
                self.made.store(address, MicroRegister::STORED);
            }
        }
        // It ends empty.
        self.made.op(OpClass::Nothing, &[], &[mask]);
        true
    }
}

/// Whether the registers are written whole.
fn is_whole(instruction: &Instruction) -> bool {
    instruction.op0_register().size() >= 4 && instruction.op1_register().size() >= 4
}
