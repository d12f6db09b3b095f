//! The micro-ops of a block as they are put one after the other.

use super::flow::Address;
use super::{FIRST, MicroOp, MicroRegister, NO_SLOT, OpClass};

/// The micro-ops that were made so far, and what the next one depends on.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    made: Vec<MicroOp>,
    /// How many slots are given away.
    slots: u16,
    /// An instruction has begun, and the next one is not its first.
    is_inside: bool,
}

impl Sequence {
    pub(super) fn micro_ops(self) -> Vec<MicroOp> {
        self.made
    }

    /// The next one is the first of an instruction.
    pub(super) fn begin_instruction(&mut self) {
        self.is_inside = false;
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

    /// A load or a store in the next slot; of the sources those count that are a register.
    pub(super) fn access(&mut self, class: OpClass, sources: [MicroRegister; 3], to: MicroRegister) {
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
        self.made.push(MicroOp { class, sources, destinations, place: slot | first });
    }
}

fn row<const N: usize>(registers: &[MicroRegister]) -> [MicroRegister; N] {
    let mut row = [MicroRegister::NONE; N];
    row.iter_mut().zip(registers).for_each(|(place, one)| *place = *one);
    row
}
