//! Which instructions change a word of memory in one step, and what they are likely to be for.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

/// What an atomic read-modify-write is likely to be for. Locks of the processor's instructions are free where their word is
/// zero, in all that we know: what writes zero frees, what swaps in something else and looks at what was there takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicUse {
    /// It swaps something in that is not known to be zero, and tells what was there (`xchg`), or sets a bit.
    Takes,
    /// It swaps zero in, or anything without telling what was there, or clears a bit.
    Frees,
    /// It swaps something in that is not known to be zero if what is there is as expected (`cmpxchg`).
    Compares,
    /// It adds or subtracts.
    Counts,
}

/// The atomic read-modify-writes of a block's bytes, which are executed at `address`: the index of the instruction in the
/// block, and its use. `code` gives the bytes of the block at an address, if there is one: what goes on behind this one.
pub fn atomics<'a>(
    bytes: &[u8],
    address: u64,
    code: &dyn Fn(u64) -> Option<&'a [u8]>,
) -> Vec<(u32, AtomicUse)> {
    let all = decoded(bytes, address);
    let used = (0..).zip(&all).enumerate();
    used.filter_map(|(at, (number, one))| Some((number, use_of(one, &all[..at], &all[at + 1..], code)?)))
        .collect()
}

fn decoded(bytes: &[u8], address: u64) -> Vec<Instruction> {
    Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter().collect()
}

fn use_of<'a>(
    one: &Instruction,
    before: &[Instruction],
    behind: &[Instruction],
    code: &dyn Fn(u64) -> Option<&'a [u8]>,
) -> Option<AtomicUse> {
    if one.op0_kind() != OpKind::Memory && one.op1_kind() != OpKind::Memory {
        return None;
    }
    match one.mnemonic() {
        // An exchange with memory is atomic with and without the prefix; its operands come in either order. Who does not look at what
        // was there just stores.
        Mnemonic::Xchg => {
            let operands = [(one.op0_kind(), one.op0_register()), (one.op1_kind(), one.op1_register())];
            let (_, register) = operands.into_iter().find(|(kind, _)| *kind == OpKind::Register)?;
            let takes = !is_zero(register, before) && is_read(register, behind, code, MOST_BLOCKS);
            Some(if takes { AtomicUse::Takes } else { AtomicUse::Frees })
        }
        _ if !one.has_lock_prefix() => None,
        Mnemonic::Cmpxchg if is_zero(one.op1_register(), before) => Some(AtomicUse::Frees),
        Mnemonic::Cmpxchg | Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b => Some(AtomicUse::Compares),
        Mnemonic::Bts | Mnemonic::Or => Some(AtomicUse::Takes),
        Mnemonic::Btr | Mnemonic::And => Some(AtomicUse::Frees),
        _ => Some(AtomicUse::Counts),
    }
}

/// So many blocks are looked at behind an exchange, on each way.
const MOST_BLOCKS: u32 = 3;

/// Whether these instructions, or what goes on behind them, read a register before all of it is written.
fn is_read<'a>(
    register: Register,
    behind: &[Instruction],
    code: &dyn Fn(u64) -> Option<&'a [u8]>,
    blocks: u32,
) -> bool {
    let full = register.full_register();
    let mut facts = InstructionInfoFactory::new();
    for instruction in behind {
        let mut is_written = false;
        for of in facts.info(instruction).used_registers() {
            if of.register().full_register() != full {
                continue;
            }
            match of.access() {
                OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                    // What clears a register reads nothing of it.
                    let clears = matches!(instruction.mnemonic(), Mnemonic::Xor | Mnemonic::Sub)
                        && instruction.op0_register() == instruction.op1_register();
                    if !clears {
                        return true;
                    }
                    is_written = true;
                }
                OpAccess::Write => is_written = true,
                _ => {}
            }
        }
        if is_written {
            return false;
        }
    }
    let (Some(last), true) = (behind.last(), blocks > 0) else { return false };
    let goes_on =
        |at: u64| code(at).is_some_and(|bytes| is_read(register, &decoded(bytes, at), code, blocks - 1));
    match last.flow_control() {
        FlowControl::ConditionalBranch => goes_on(last.near_branch_target()) || goes_on(last.next_ip()),
        FlowControl::UnconditionalBranch => goes_on(last.near_branch_target()),
        // A function that gives back what was there.
        FlowControl::Return => full == Register::RAX,
        FlowControl::Next => goes_on(last.next_ip()),
        _ => false,
    }
}

/// Whether the last of these instructions that writes a register makes it zero. False where none of them does.
fn is_zero(register: Register, before: &[Instruction]) -> bool {
    let full = register.full_register();
    let is_written = |one: &&Instruction| {
        one.op0_kind() == OpKind::Register
            && one.op0_register().full_register() == full
            && !matches!(one.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push | Mnemonic::Bt)
    };
    let Some(last) = before.iter().rev().find(is_written) else { return false };
    match last.mnemonic() {
        Mnemonic::Xor | Mnemonic::Sub => {
            last.op1_kind() == OpKind::Register && last.op1_register() == last.op0_register()
        }
        Mnemonic::Mov => {
            matches!(last.op1_kind(), OpKind::Immediate8 | OpKind::Immediate16 | OpKind::Immediate32)
                && last.immediate(1) == 0
                || matches!(last.op1_kind(), OpKind::Immediate32to64 | OpKind::Immediate64)
                    && last.immediate(1) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_swapped_in_tells_what_it_is_for() {
        let cases: [(&[u8], AtomicUse); 12] = [
            // mov eax, 1; xchg [rdi], eax; test eax, eax
            (&[0xb8, 1, 0, 0, 0, 0x87, 0x07, 0x85, 0xc0], AtomicUse::Takes),
            // the same; mov eax, ecx; test eax, eax
            (&[0xb8, 1, 0, 0, 0, 0x87, 0x07, 0x89, 0xc8, 0x85, 0xc0], AtomicUse::Frees),
            // xor eax, eax; xchg [rdi], eax
            (&[0x31, 0xc0, 0x87, 0x07], AtomicUse::Frees),
            // mov eax, 0; xchg [rdi], eax
            (&[0xb8, 0, 0, 0, 0, 0x87, 0x07], AtomicUse::Frees),
            // xchg [rdi], eax; mov edx, [rax]: nobody knows what is in eax, but it is looked at
            (&[0x87, 0x07, 0x8b, 0x10], AtomicUse::Takes),
            // xchg [rdi], eax
            (&[0x87, 0x07], AtomicUse::Frees),
            // xor eax, eax; lock cmpxchg [rdi], esi: expects zero
            (&[0x31, 0xc0, 0xf0, 0x0f, 0xb1, 0x37], AtomicUse::Compares),
            // xor esi, esi; lock cmpxchg [rdi], esi
            (&[0x31, 0xf6, 0xf0, 0x0f, 0xb1, 0x37], AtomicUse::Frees),
            // lock bts dword [rdi], 0
            (&[0xf0, 0x0f, 0xba, 0x2f, 0], AtomicUse::Takes),
            // lock xadd [rdi], eax
            (&[0xf0, 0x0f, 0xc1, 0x07], AtomicUse::Counts),
            // lock dec dword [rdi]
            (&[0xf0, 0xff, 0x0f], AtomicUse::Counts),
            // lock and dword [rdi], 0
            (&[0xf0, 0x83, 0x27, 0], AtomicUse::Frees),
        ];
        for (bytes, expected) in cases {
            let found = atomics(bytes, 0x1000, &|_| None);
            assert_eq!(found.iter().map(|(_, of)| *of).collect::<Vec<_>>(), [expected], "{bytes:x?}");
        }
        // mov [rdi], eax; add [rdi], eax; xchg eax, ebx
        assert!(atomics(&[0x89, 0x07, 0x01, 0x07, 0x93], 0x1000, &|_| None).is_empty());
    }

    #[test]
    fn what_was_there_may_be_looked_at_in_another_block() {
        // mov eax, 2; xchg [rdi], eax; jmp +2; then: test eax, eax, or xor eax, eax
        let swaps = [0xb8, 2, 0, 0, 0, 0x87, 0x07, 0xeb, 2];
        let found =
            |behind: &'static [u8]| atomics(&swaps, 0x1000, &|at| (at == 0x100b).then_some(behind))[0].1;
        assert_eq!(found(&[0x85, 0xc0, 0xc3]), AtomicUse::Takes);
        assert_eq!(found(&[0x31, 0xc0, 0xc3]), AtomicUse::Frees);
        // ret: the caller is given it.
        assert_eq!(found(&[0xc3]), AtomicUse::Takes);
    }
}
