//! The class of an instruction: what its name says, and what its operands change about that.

use iced_x86::{EncodingKind, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::{MicroRegister, OpClass, names};

/// The class of what an instruction does with registers. String instructions are not asked for.
pub(super) fn class_of(instruction: &Instruction) -> OpClass {
    use FlowControl as Flow;
    if instruction.has_lock_prefix() || is_exchange_with_memory(instruction) {
        return OpClass::Atomic;
    }
    if is_zero(instruction) {
        return OpClass::Nothing;
    }
    let (named, _) = names::of(instruction.mnemonic());
    match instruction.flow_control() {
        _ if named != OpClass::Other => refined(instruction, named),
        Flow::ConditionalBranch => OpClass::Branch,
        Flow::UnconditionalBranch => OpClass::Jump,
        Flow::IndirectBranch => OpClass::IndirectJump,
        Flow::Call => OpClass::Call,
        Flow::IndirectCall => OpClass::IndirectCall,
        Flow::Return => OpClass::Return,
        _ => OpClass::Other,
    }
}

/// What the operands change about the class that the name gives.
fn refined(instruction: &Instruction, named: OpClass) -> OpClass {
    let kinds = || instruction.op_kinds().zip(0..);
    let registers = || {
        kinds()
            .filter(|(kind, _)| *kind == OpKind::Register)
            .map(|(_, operand)| instruction.op_register(operand))
    };
    let has_memory = || kinds().any(|(kind, _)| kind == OpKind::Memory);
    match (named, instruction.mnemonic()) {
        (OpClass::Move, Mnemonic::Movss | Mnemonic::Movsd | Mnemonic::Vmovss | Mnemonic::Vmovsd)
            if !has_memory() =>
        {
            OpClass::Shuffle
        }
        (OpClass::Move, _) => {
            let general = registers().filter(|register| register.is_gpr()).count();
            let all = registers().count();
            match general {
                // Segments and registers of the system: their change does more than make a value.
                _ if registers().any(|register| MicroRegister::whole(register).is_none()) => OpClass::Other,
                0 => OpClass::Move,
                general if general == all => OpClass::Move,
                _ if instruction.op0_kind() == OpKind::Register && instruction.op0_register().is_gpr() => {
                    OpClass::ToGeneral
                }
                _ => OpClass::FromGeneral,
            }
        }
        // Loads do these on their way.
        (OpClass::WideShuffle, mnemonic) if has_memory() && names::is_broadcast(mnemonic) => OpClass::Move,
        (OpClass::Shuffle, Mnemonic::Movddup | Mnemonic::Vmovddup) if has_memory() => OpClass::Move,
        // Low halves are stored as they are.
        (OpClass::Shuffle, Mnemonic::Movlps | Mnemonic::Movlpd | Mnemonic::Vmovlps | Mnemonic::Vmovlpd)
            if instruction.op0_kind() == OpKind::Memory =>
        {
            OpClass::Move
        }
        (OpClass::Divide, _) if is_long(instruction) => OpClass::DivideLong,
        (OpClass::Integer, Mnemonic::Lea) if is_slow_lea(instruction) => OpClass::SlowLea,
        (named, _) => named,
    }
}

/// XCHG with memory is atomic without saying so.
fn is_exchange_with_memory(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Xchg && instruction.op_kinds().any(|kind| kind == OpKind::Memory)
}

/// Whether a division has a divisor of 64 bits.
fn is_long(instruction: &Instruction) -> bool {
    match instruction.op0_kind() {
        OpKind::Register => instruction.op0_register().size() == 8,
        _ => instruction.memory_size().size() == 8,
    }
}

fn is_slow_lea(instruction: &Instruction) -> bool {
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    base != Register::None && index != Register::None && instruction.memory_displacement64() != 0
}

/// Whether the result is zero whatever the operands are, and the processor knows that when it decodes.
fn is_zero(instruction: &Instruction) -> bool {
    if !names::can_zero(instruction.mnemonic()) || instruction.op_mask() != Register::None {
        return false;
    }
    let count = instruction.op_count();
    let is_two = instruction.encoding() == EncodingKind::Legacy;
    if count != if is_two { 2 } else { 3 } {
        return false;
    }
    let kinds = [instruction.op_kind(count - 1), instruction.op_kind(count - 2)];
    let (last, other) = (instruction.op_register(count - 1), instruction.op_register(count - 2));
    kinds == [OpKind::Register; 2] && last == other && last.size() >= 4 && !last.is_mm()
}
