//! Which data the instruction before an address accessed, from the registers that a thread has at that address.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register, UsedMemory,
};

use holdup_model::AccessKind;

use crate::code::Code;
use crate::effect::{reads, writes};

/// Instructions that are followed from the beginning of a function, at most.
const MOST_INSTRUCTIONS: usize = 20_000;

/// Data in memory that an instruction names: the sum of up to two registers and a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accessed {
    base: Option<u8>,
    index: Option<(u8, u32)>,
    displacement: u64,
    /// Where the instruction begins.
    pub at: u64,
    /// How many bytes.
    pub bytes: u8,
    /// What is done to them.
    pub kind: AccessKind,
}

impl Accessed {
    /// Where the data is. `registers` by the numbers that instructions have for them: RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to
    /// R15.
    pub fn address(&self, registers: &[u64; 16]) -> u64 {
        let base = self.base.map_or(0, |number| registers[usize::from(number)]);
        let index = self
            .index
            .map_or(0, |(number, scale)| registers[usize::from(number)].wrapping_mul(u64::from(scale)));
        base.wrapping_add(index).wrapping_add(self.displacement)
    }
}

/// What the instruction before the one at `ip` accessed, in terms of the registers behind it.
///
/// A processor that is interrupted ends the oldest instruction that it is at, and no further one: so a thread that waits for memory
/// is found behind the instruction that accesses it. A conditional jump is one with the comparison before it. `code` begins at an
/// instruction, such as the first one of the function: everything from there to `ip` is decoded.
///
/// `None` where that instruction accesses no data or several, where it does not leave the registers as they were that its data is
/// found by, and where control may have come to `ip` from elsewhere in this code. But where that is only by conditional jumps that
/// compare registers, and the instruction is atomic, it is the one that takes the time: `if (is_new) __sync_fetch_and_add(&count, 1);`.
pub fn accessed_before(code: &Code<'_>, ip: u64) -> Option<Accessed> {
    let decoder = Decoder::with_ip(64, code.bytes, code.start, DecoderOptions::NONE);
    let mut before: Option<[Option<Instruction>; 2]> = None;
    let mut last: [Option<Instruction>; 2] = [None, None];
    let mut met = false;
    let mut is_jumped_over = false;
    for instruction in decoder.into_iter().take(MOST_INSTRUCTIONS) {
        if instruction.is_invalid() {
            break;
        }
        if instruction.ip() == ip {
            met = true;
            before = Some(last);
        }
        if jumps_to(&instruction, ip) {
            let compares_registers =
                last[1].is_some_and(|one| is_comparison(&one) && one.op_kinds().all(is_no_memory));
            if met || instruction.flow_control() != FlowControl::ConditionalBranch || !compares_registers {
                return None;
            }
            is_jumped_over = true;
        }
        if instruction.ip() > ip && !met {
            return None;
        }
        last = [last[1], Some(instruction)];
    }
    let [earlier, latest] = before?;
    let latest = latest?;
    let found = match latest.flow_control() {
        FlowControl::Next => accessed(&latest),
        FlowControl::ConditionalBranch => earlier.filter(is_comparison).and_then(|one| accessed(&one)),
        _ => None,
    };
    found.filter(|found| !is_jumped_over || found.kind == AccessKind::Atomic)
}

fn is_no_memory(kind: OpKind) -> bool {
    kind != OpKind::Memory
}

fn jumps_to(instruction: &Instruction, ip: u64) -> bool {
    let jumps = matches!(
        instruction.flow_control(),
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
    );
    jumps && instruction.near_branch_target() == ip
}

fn is_comparison(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Cmp
            | Mnemonic::Test
            | Mnemonic::Comisd
            | Mnemonic::Comiss
            | Mnemonic::Ucomisd
            | Mnemonic::Ucomiss
    )
}

/// What an instruction accesses, in terms of the registers behind it.
fn accessed(instruction: &Instruction) -> Option<Accessed> {
    let mut facts = InstructionInfoFactory::new();
    let info = facts.info(instruction);
    let [memory] = info.used_memory() else { return None };
    let kind = kind(instruction, memory)?;
    if memory.segment() == Register::FS || memory.segment() == Register::GS {
        return None;
    }
    let changes = |register: Register| {
        let full = register.full_register();
        let mut used = info.used_registers().iter();
        used.any(|one| one.register().full_register() == full && writes(one.access()))
    };
    let number = |register: Register| -> Option<Option<u8>> {
        match register {
            Register::None | Register::RIP => Some(None),
            one if one.is_gpr64() && !changes(one) => Some(Some(one.number() as u8)),
            _ => None,
        }
    };
    // What is relative to the instruction pointer has its address as the displacement.
    let base = number(memory.base())?;
    let index = number(memory.index())?.map(|number| (number, memory.scale()));
    let bytes = u8::try_from(memory.memory_size().size()).ok().filter(|bytes| (1..=64).contains(bytes))?;
    let (at, displacement) = (instruction.ip(), memory.displacement());
    Some(Accessed { base, index, displacement, at, bytes, kind })
}

fn kind(instruction: &Instruction, memory: &UsedMemory) -> Option<AccessKind> {
    let access = memory.access();
    if matches!(access, OpAccess::NoMemAccess | OpAccess::None) {
        return None;
    }
    let is_atomic = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
    Some(match (reads(access), writes(access)) {
        (true, true) if is_atomic => AccessKind::Atomic,
        (true, true) => AccessKind::Update,
        (_, true) => AccessKind::Write,
        _ => AccessKind::Read,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x1000;

    fn before(bytes: &[u8], ip: u64) -> Option<Accessed> {
        accessed_before(&Code { start: START, bytes }, ip)
    }

    fn registers() -> [u64; 16] {
        std::array::from_fn(|number| 0x1_0000 * (number as u64 + 1))
    }

    fn seen(bytes: &[u8], ip: u64) -> Option<(u64, u8, AccessKind)> {
        before(bytes, ip).map(|one| (one.address(&registers()), one.bytes, one.kind))
    }

    #[test]
    fn the_instruction_before_says_what_was_accessed() {
        // add qword [r15+rax*8+8], 1; test edi, edi; mov [r13], rsi; lock xadd [rdi], eax; nop
        let bytes = [
            0x49, 0x83, 0x44, 0xc7, 0x08, 0x01, 0x85, 0xff, 0x49, 0x89, 0x75, 0x00, 0xf0, 0x0f, 0xc1, 0x07,
            0x90,
        ];
        assert_eq!(seen(&bytes, START), None);
        assert_eq!(seen(&bytes, START + 6), Some((0x10_0000 + 8 * 0x1_0000 + 8, 8, AccessKind::Update)));
        assert_eq!(seen(&bytes, START + 8), None);
        assert_eq!(seen(&bytes, START + 12), Some((0xe_0000, 8, AccessKind::Write)));
        assert_eq!(seen(&bytes, START + 16), Some((0x8_0000, 4, AccessKind::Atomic)));
        // Between two instructions.
        assert_eq!(seen(&bytes, START + 7), None);
    }

    #[test]
    fn data_beside_the_code_has_a_fixed_address() {
        // mov eax, [rip+256]; nop
        let bytes = [0x8b, 0x05, 0, 1, 0, 0, 0x90];
        assert_eq!(seen(&bytes, START + 6), Some((START + 6 + 256, 4, AccessKind::Read)));
    }

    #[test]
    fn what_changed_its_own_address_is_not_known() {
        // mov rax, [rax]; nop
        assert_eq!(seen(&[0x48, 0x8b, 0x00, 0x90], START + 3), None);
        // mov rbx, [rax]; nop
        assert_eq!(seen(&[0x48, 0x8b, 0x18, 0x90], START + 3), Some((0x1_0000, 8, AccessKind::Read)));
        // push rax; nop
        assert_eq!(seen(&[0x50, 0x90], START + 1), None);
        // mov rax, fs:[0x28]; nop
        assert_eq!(seen(&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0x90], START + 9), None);
        // lea rbx, [rax]; nop
        assert_eq!(seen(&[0x48, 0x8d, 0x18, 0x90], START + 3), None);
    }

    #[test]
    fn a_jump_is_one_with_the_comparison_before_it() {
        // cmp [rdi], eax; jne +0x10; nop
        let bytes = [0x39, 0x07, 0x75, 0x10, 0x90];
        assert_eq!(seen(&bytes, START + 4), Some((0x8_0000, 4, AccessKind::Read)));
        assert_eq!(before(&bytes, START + 4).map(|one| one.at), Some(START));
        // add [rdi], eax; jne +0x10; nop
        assert_eq!(seen(&[0x01, 0x07, 0x75, 0x10, 0x90], START + 4), None);
    }

    #[test]
    fn who_may_have_come_from_elsewhere_may_have_accessed_anything() {
        // mov [rdi], eax; nop; jne back to the nop
        let bytes = [0x89, 0x07, 0x90, 0x75, 0xfd];
        assert_eq!(seen(&bytes, START + 2), None);
        // mov [rdi], eax; nop; jne back to the mov
        let bytes = [0x89, 0x07, 0x90, 0x75, 0xfb];
        assert_eq!(seen(&bytes, START + 2), Some((0x8_0000, 4, AccessKind::Write)));
        // call; nop
        assert_eq!(seen(&[0xe8, 0, 0, 0, 0, 0x90], START + 5), None);
    }

    #[test]
    fn what_is_jumped_over_counts_if_it_is_atomic() {
        // cmp eax, ebx; je over it; lock add [rdi], 1; nop
        let bytes = [0x39, 0xd8, 0x74, 0x04, 0xf0, 0x83, 0x07, 0x01, 0x90];
        assert_eq!(seen(&bytes, START + 8), Some((0x8_0000, 4, AccessKind::Atomic)));
        // The same, not atomic: nop.
        let bytes = [0x39, 0xd8, 0x74, 0x04, 0x90, 0x83, 0x07, 0x01, 0x90];
        assert_eq!(seen(&bytes, START + 8), None);
        // What is compared is in memory: cmp [rsi], ebx.
        let bytes = [0x39, 0x1e, 0x74, 0x04, 0xf0, 0x83, 0x07, 0x01, 0x90];
        assert_eq!(seen(&bytes, START + 8), None);
        // From somewhere else: jmp.
        let bytes = [0x39, 0xd8, 0xeb, 0x04, 0xf0, 0x83, 0x07, 0x01, 0x90];
        assert_eq!(seen(&bytes, START + 8), None);
    }
}
