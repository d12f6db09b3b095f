//! How long operations take, by class, and what waiting for them is booked as.

use holdup_code::{MicroOp, OpClass};
use holdup_model::cycles::CycleComponent;

use crate::machine::Machine;

/// Cycles from the operands to the result where the machine does not say otherwise: those of the core of the paper's machine,
/// Penryn (A. Fog, "Instruction tables", part "Intel Wolfdale": 45 nm, the same core with two instead of six per chip).
///
/// Where it lacks the instruction, the number is of the first core that has it in the same tables (Nehalem: CRC32, POPCNT;
/// Westmere: AES; Haswell: FMA, permutations across 128 bits; Sandy Bridge: three-part LEA). Where the time depends on the
/// operands, the number is near the upper end, as the operands of real programs use most of their bits. What is microcode with
/// many cases (`repeat`, `system`, `other`, `x87-long`) is a guess, and said so.
pub(super) const fn default_latency(class: OpClass) -> u32 {
    match class {
        // Only for loads that the recording has no address of; the machine's first level has another.
        OpClass::Load => 3,
        // Until it can be forwarded; the rest goes on in the store buffer.
        OpClass::Store => 1,
        OpClass::Nothing | OpClass::Join => 0,
        OpClass::Move | OpClass::Integer | OpClass::Shift => 1,
        OpClass::SlowLea => 3,
        OpClass::Bits | OpClass::Multiply => 3,
        // 14 to 23, and 18 to 88.
        OpClass::Divide => 20,
        OpClass::DivideLong => 50,
        OpClass::Branch | OpClass::Jump | OpClass::IndirectJump => 1,
        OpClass::Call | OpClass::IndirectCall | OpClass::Return => 1,
        OpClass::Vector | OpClass::VectorShift | OpClass::Shuffle => 1,
        OpClass::VectorMultiply | OpClass::WideShuffle => 3,
        // HADDPS has 7, PHADDW 3, DPPS 11.
        OpClass::Horizontal => 7,
        OpClass::ToGeneral | OpClass::FromGeneral => 2,
        OpClass::FloatAdd => 3,
        // 4 in single, 5 in double precision.
        OpClass::FloatMultiply | OpClass::FloatMultiplyAdd => 5,
        // The divider does four bits a cycle: 6 to 13, and 6 to 21 (square roots 6 to 20).
        OpClass::FloatDivide | OpClass::FloatRoot => 13,
        OpClass::DoubleDivide => 21,
        OpClass::DoubleRoot => 20,
        OpClass::Convert => 4,
        OpClass::StringCompare => 8,
        OpClass::Crypto => 6,
        OpClass::X87Move => 1,
        // FSIN and the like: 40 to 120. A guess.
        OpClass::X87Long => 80,
        // Microcode before the first round. A guess.
        OpClass::Repeat => 15,
        // LOCK ADD, LOCK XADD, XCHG with memory.
        OpClass::Atomic => 20,
        OpClass::Fence => 9,
        OpClass::Pause => 8,
        OpClass::Clock => 30,
        // Into the kernel and back, without what it does there. A guess.
        OpClass::System => 150,
        // A guess. Also of classes that this simulator does not know yet.
        _ => 10,
    }
}

/// Cycles for which an operation keeps its unit from the next of the same unit: the reciprocal throughputs of the same tables.
/// 0 for what is pipelined.
const fn default_busy(class: OpClass) -> u32 {
    match class {
        OpClass::Divide => 14,
        OpClass::DivideLong => 40,
        OpClass::FloatDivide | OpClass::FloatRoot => 12,
        OpClass::DoubleDivide => 20,
        OpClass::DoubleRoot => 19,
        _ => 0,
    }
}

/// The cycles of each class on a machine.
pub(super) struct Latencies {
    latency: [u32; OpClass::ALL.len()],
    busy: [u32; OpClass::ALL.len()],
}

impl Latencies {
    pub(super) fn new(machine: &Machine) -> Self {
        let facts = &machine.core;
        let mut made = Self { latency: [0; OpClass::ALL.len()], busy: [0; OpClass::ALL.len()] };
        for &class in OpClass::ALL {
            let said = facts.latency.get(class.name()).copied();
            made.latency[class as usize] = said.unwrap_or(match class {
                OpClass::Load => machine.l1d.latency,
                class => default_latency(class),
            });
            // A machine with a faster divider than the default has one that is free again earlier, too.
            let most = made.latency[class as usize];
            made.busy[class as usize] =
                facts.busy.get(class.name()).copied().unwrap_or(default_busy(class).min(most));
        }
        made
    }

    pub(super) fn of(&self, class: OpClass) -> u32 {
        self.latency[class as usize]
    }

    pub(super) fn busy(&self, class: OpClass) -> u32 {
        self.busy[class as usize]
    }
}

/// What waiting for an operation is booked as. Loads are booked by who gives their data, so theirs is that of a hit.
pub(super) fn component(op: MicroOp) -> CycleComponent {
    match op.class {
        OpClass::Load | OpClass::Store => CycleComponent::MemL1d,
        OpClass::System => CycleComponent::Io,
        // Its micro-ops are dispatched meanwhile.
        OpClass::Repeat => CycleComponent::DispatchWidth,
        OpClass::Vector
        | OpClass::VectorShift
        | OpClass::VectorMultiply
        | OpClass::Shuffle
        | OpClass::WideShuffle
        | OpClass::Horizontal
        | OpClass::ToGeneral
        | OpClass::FromGeneral
        | OpClass::FloatAdd
        | OpClass::FloatMultiply
        | OpClass::FloatMultiplyAdd
        | OpClass::FloatDivide
        | OpClass::DoubleDivide
        | OpClass::FloatRoot
        | OpClass::DoubleRoot
        | OpClass::Convert
        | OpClass::StringCompare
        | OpClass::Crypto
        | OpClass::X87Move
        | OpClass::X87Long => CycleComponent::DependFp,
        // Between vector or mask registers, whose numbers are those from 16 to 55.
        OpClass::Move if (16..56).contains(&op.destinations[0].number()) => CycleComponent::DependFp,
        _ => CycleComponent::DependInt,
    }
}

/// The unit that an operation keeps busy.
pub(super) fn divider(class: OpClass) -> u32 {
    match class {
        OpClass::Divide | OpClass::DivideLong => 0,
        _ => 1,
    }
}
