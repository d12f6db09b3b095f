//! Code as the simulator has it: each translated block decoded once.

use holdup_code::{MicroOp, OpClass, micro_ops, outline};
use holdup_model::counts::BlockExit;
use holdup_recording::TranslatedBlock;
use holdup_sim::{Access, Block, Code, Exit, Instruction};

/// The code of all blocks of a recording, under the same numbers.
pub(crate) fn code(blocks: &[TranslatedBlock]) -> Code {
    let mut code = Code::default();
    for block in blocks {
        let outline = outline(&block.bytes, block.address);
        let ops = micro_ops(&block.bytes, block.address);
        let begin = (code.ops.len() as u32, code.instructions.len() as u32, code.accesses.len() as u32);
        code.accesses.extend(block.accesses.iter().map(|access| Access {
            instruction: access.instruction,
            size: access.size,
            stores: access.stores,
        }));
        let table = &code.accesses[begin.2 as usize..];
        let firsts = ops.iter().enumerate().filter(|(_, op)| op.is_first()).map(|(at, _)| at as u32);
        code.instructions.extend(
            outline.instructions.iter().zip(firsts).map(|(&address, first)| Instruction {
                address,
                place: 0,
                first_op: begin.0 + first,
            }),
        );
        code.ops.extend(as_recorded(ops, table));
        code.blocks.push(Block {
            address: block.address,
            length: block.bytes.len() as u32,
            ops: begin.0..code.ops.len() as u32,
            instructions: begin.1..code.instructions.len() as u32,
            accesses: begin.2..code.accesses.len() as u32,
            exit: outline.exit.map_or(Exit::Falls, exit),
        });
    }
    number(&mut code.instructions);
    code
}

fn exit(exit: BlockExit) -> Exit {
    match exit {
        BlockExit::Branch => Exit::Branch,
        BlockExit::IndirectJump => Exit::IndirectJump,
        BlockExit::Call => Exit::Call,
        BlockExit::IndirectCall => Exit::IndirectCall,
        BlockExit::Return => Exit::Return,
        _ => Exit::Falls,
    }
}

/// Gives each address its number.
fn number(instructions: &mut [Instruction]) {
    let mut addresses: Vec<u64> = instructions.iter().map(|instruction| instruction.address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    for instruction in instructions {
        instruction.place = addresses.partition_point(|address| *address < instruction.address) as u32;
    }
}

/// The micro-ops of a block with slots that are right for the accesses that were recorded of it. Where an instruction has
/// as many as its micro-ops have slots, these are the same ones, in order. Elsewhere (see `holdup_code`: a few atomic
/// instructions, and string instructions) loads take the loads in order and stores the stores, and what is left over
/// shares the last one.
fn as_recorded(ops: Vec<MicroOp>, table: &[Access]) -> Vec<MicroOp> {
    let mut fitted = Vec::with_capacity(ops.len());
    let mut begin = 0;
    let groups = ops.chunk_by(|_, next| !next.is_first());
    for (instruction, group) in (0..).zip(groups) {
        let length = table[begin..].iter().take_while(|access| access.instruction == instruction).count();
        let own = &table[begin..begin + length];
        let mut slots: Vec<u16> = group.iter().filter_map(|op| op.slot()).collect();
        slots.dedup();
        let (mut loads, mut stores) = (0, 0);
        for op in group {
            let Some(slot) = op.slot() else {
                fitted.push(*op);
                continue;
            };
            let at = if slots.len() == own.len() {
                slots.iter().position(|other| *other == slot)
            } else {
                let is_store = op.class == OpClass::Store;
                let taken = if is_store { &mut stores } else { &mut loads };
                let mut alike = (0..own.len()).filter(|at| own[*at].stores == is_store);
                let found = alike.clone().nth(*taken).or_else(|| alike.next_back());
                *taken += 1;
                found.or_else(|| own.len().checked_sub(1))
            };
            fitted.push(op.with_slot(at.and_then(|at| u16::try_from(begin + at).ok())));
        }
        begin += length;
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_recording::BlockAccess;
    use holdup_trace::instructions::CodeClass;

    fn block(address: u64, bytes: &[u8], accesses: &[(u32, u32, bool)]) -> TranslatedBlock {
        TranslatedBlock {
            address,
            module: None,
            class: CodeClass::Own,
            instructions: 0,
            bytes: bytes.to_vec(),
            accesses: accesses
                .iter()
                .map(|&(instruction, size, stores)| BlockAccess { instruction, size, stores })
                .collect(),
        }
    }

    fn slots(code: &Code) -> Vec<(OpClass, u16)> {
        code.ops.iter().filter_map(|op| Some((op.class, op.slot()?))).collect()
    }

    #[test]
    fn blocks_that_overlap_share_places() {
        // add [rdi+8], rax; ret, and the return alone.
        let bytes = [0x48, 0x01, 0x47, 0x08, 0xc3];
        let accesses = [(0, 8, false), (0, 8, true), (1, 8, false)];
        let code = code(&[block(0x1000, &bytes, &accesses), block(0x1004, &bytes[4..], &[(0, 8, false)])]);
        let places: Vec<(u64, u32)> =
            code.instructions.iter().map(|instruction| (instruction.address, instruction.place)).collect();
        assert_eq!(places, [(0x1000, 0), (0x1004, 1), (0x1004, 1)]);
        assert_eq!(code.blocks[0].exit, Exit::Return);
        assert_eq!(code.blocks[1].accesses, 3..4);
        assert_eq!(code.blocks[1].end(), 0x1005);
        assert_eq!(
            slots(&code),
            [(OpClass::Load, 0), (OpClass::Store, 1), (OpClass::Load, 2), (OpClass::Load, 0)]
        );
        assert!(code.instructions.iter().all(|one| code.ops[one.first_op as usize].is_first()));
    }

    #[test]
    fn an_atomic_instruction_has_the_accesses_that_were_recorded() {
        // lock xadd [rdi], rax; ret
        let bytes = [0xf0, 0x48, 0x0f, 0xc1, 0x07, 0xc3];
        let one = code(&[block(0x1000, &bytes, &[(0, 8, true), (1, 8, false)])]);
        assert_eq!(slots(&one), [(OpClass::Load, 0), (OpClass::Store, 0), (OpClass::Load, 1)]);
        let two = code(&[block(0x1000, &bytes, &[(0, 8, false), (0, 8, true), (1, 8, false)])]);
        assert_eq!(slots(&two), [(OpClass::Load, 0), (OpClass::Store, 1), (OpClass::Load, 2)]);
    }

    #[test]
    fn a_string_instruction_without_rounds_has_no_access() {
        // rep movsb; ret
        let code = code(&[block(0x1000, &[0xf3, 0xa4, 0xc3], &[(1, 8, false)])]);
        let found = slots(&code);
        assert_eq!(found, [(OpClass::Load, 0)], "that of the return");
    }
}
