//! What the instructions of a block say of it.

use holdup_model::counts::BlockExit;
use iced_x86::{Code as Encoding, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

use super::Block;
use super::split::Piece;

pub(super) fn block(piece: &Piece<'_>) -> Block {
    let mut instructions: Vec<Instruction> = Vec::new();
    for instruction in Decoder::with_ip(64, piece.bytes, piece.address, DecoderOptions::NONE) {
        instructions.push(instruction);
        if instruction.code() == Encoding::INVALID {
            break;
        }
    }
    let last = instructions.last().copied().unwrap_or_default();
    Block {
        address: piece.address,
        length: piece.bytes.len() as u32,
        instructions: instructions.len().max(1) as u32,
        last: if instructions.is_empty() { piece.address } else { last.ip() },
        exit: exit(&last),
        target: target(&last),
        waits: false,
        atomic: instructions.iter().any(is_atomic),
        is_stub: is_stub(&instructions),
        repeats: instructions.len() == 1 && repeats(&last),
        generated: piece.generated,
    }
}

/// How a block ends whose last instruction this is.
pub(crate) fn exit(last: &Instruction) -> BlockExit {
    match last.flow_control() {
        FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => BlockExit::Branch,
        FlowControl::UnconditionalBranch => BlockExit::Jump,
        FlowControl::IndirectBranch => BlockExit::IndirectJump,
        FlowControl::Return => BlockExit::Return,
        FlowControl::Call if last.is_call_near() || last.is_call_far() => BlockExit::Call,
        FlowControl::IndirectCall => BlockExit::IndirectCall,
        FlowControl::Call | FlowControl::Interrupt => BlockExit::System,
        FlowControl::Next | FlowControl::Exception => BlockExit::Falls,
    }
}

fn target(last: &Instruction) -> Option<u64> {
    let near = [OpKind::NearBranch64, OpKind::NearBranch32, OpKind::NearBranch16];
    let is_near = last.op_count() > 0 && near.contains(&last.op0_kind());
    is_near.then(|| last.near_branch_target())
}

fn is_atomic(instruction: &Instruction) -> bool {
    let mut operands = instruction.op_kinds();
    instruction.has_lock_prefix()
        || (instruction.mnemonic() == Mnemonic::Xchg && operands.any(|kind| kind == OpKind::Memory))
}

fn repeats(instruction: &Instruction) -> bool {
    instruction.is_string_instruction() && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
}

/// The forms that linkers write: a jump through a pointer; before the first call of a function also the number that the
/// dynamic linker finds it by, and the jump to the linker itself (System V ABI for x86-64, section 5.2).
fn is_stub(instructions: &[Instruction]) -> bool {
    let through_table = |jump: &Instruction| {
        jump.flow_control() == FlowControl::IndirectBranch && jump.is_ip_rel_memory_operand()
    };
    let pushes = |push: &Instruction| {
        let is_number = matches!(push.op0_kind(), OpKind::Immediate32to64 | OpKind::Immediate8to64);
        push.mnemonic() == Mnemonic::Push && (is_number || push.is_ip_rel_memory_operand())
    };
    let jumps =
        |jump: &Instruction| through_table(jump) || jump.flow_control() == FlowControl::UnconditionalBranch;
    let marks_target = |first: &Instruction| first.mnemonic() == Mnemonic::Endbr64;
    match instructions {
        [jump] => through_table(jump),
        [first, second] => (marks_target(first) && through_table(second)) || (pushes(first) && jumps(second)),
        [first, push, jump] => marks_target(first) && pushes(push) && jumps(jump),
        _ => false,
    }
}
