//! What an instruction reads and writes, addresses and data apart.

use iced_x86::{
    EncodingKind, Instruction, InstructionInfoFactory, MemorySize, Mnemonic, OpAccess, OpKind, Register,
    RflagsBits, UsedRegister,
};

use super::{MicroRegister, names};

const STATUS: u32 =
    RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::CF | RflagsBits::PF;

/// What an address is made of.
pub(super) type Address = [MicroRegister; 2];

/// What an instruction reads and writes. Registers are in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct DataFlow {
    /// The places in memory that are read.
    pub(super) loads: Vec<Address>,
    /// The places in memory that are written.
    pub(super) stores: Vec<Address>,
    /// The registers that are read, those only for addresses left out (but for addresses that are implied, as
    /// of MASKMOVDQU).
    pub(super) reads: Vec<MicroRegister>,
    pub(super) writes: Vec<MicroRegister>,
}

impl DataFlow {
    pub(super) fn of(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> Self {
        let mut flow = Self::default();
        for memory in factory.info(instruction).used_memory() {
            let address = address(memory.base(), memory.index());
            // Numbers of 80 bits are accessed as 64 and 16.
            let pieces = if memory.memory_size() == MemorySize::Float80 { 2 } else { 1 };
            if reads(memory.access()) {
                flow.loads.extend([address; 2].into_iter().take(pieces));
            }
            if writes(memory.access()) {
                flow.stores.extend([address; 2].into_iter().take(pieces));
            }
        }
        // Without its address the instruction reads only what its operation takes.
        let mut bare = *instruction;
        bare.set_memory_base(Register::None);
        if !instruction.is_vsib() {
            bare.set_memory_index(Register::None);
        }
        for used in factory.info(&bare).used_registers() {
            flow.register(used);
        }
        flow.implied(instruction);
        for registers in [&mut flow.reads, &mut flow.writes] {
            registers.sort_unstable();
            registers.dedup();
        }
        flow
    }

    fn register(&mut self, used: &UsedRegister) {
        let (register, access) = (used.register(), used.access());
        let Some(whole) = MicroRegister::whole(register) else { return };
        let is_partial = register.is_gpr8() || register.is_gpr16() || whole == MicroRegister::X87;
        if writes(access) {
            self.writes.push(whole);
        }
        let keeps = matches!(access, OpAccess::CondWrite | OpAccess::ReadCondWrite) || is_partial;
        if reads(access) || (writes(access) && keeps) {
            self.reads.push(whole);
        }
    }

    /// What is not among the registers that the decoder tells.
    fn implied(&mut self, instruction: &Instruction) {
        // The kernel gives the flags back as they were, and its result in RAX.
        let is_system_call = instruction.mnemonic() == Mnemonic::Syscall;
        if is_system_call {
            self.reads.push(MicroRegister::RAX);
            self.writes.push(MicroRegister::RAX);
        }
        if instruction.rflags_read() & STATUS != 0 && !is_system_call {
            self.reads.push(MicroRegister::FLAGS);
        }
        if instruction.rflags_modified() & STATUS != 0 && !is_system_call {
            self.writes.push(MicroRegister::FLAGS);
        }
        if names::of(instruction.mnemonic()).1 {
            self.reads.push(MicroRegister::X87);
            self.writes.push(MicroRegister::X87);
        }
        if instruction.is_stack_instruction() {
            let is_named = instruction.op_kinds().next() == Some(OpKind::Register)
                && MicroRegister::whole(instruction.op0_register()) == Some(MicroRegister::RSP);
            let pops = instruction.mnemonic() == Mnemonic::Pop;
            self.reads.retain(|one| *one != MicroRegister::RSP || (is_named && !pops));
            self.writes.retain(|one| *one != MicroRegister::RSP || (is_named && pops));
        }
        if instruction.mnemonic() == Mnemonic::Lea {
            self.reads.extend(address(instruction.memory_base(), instruction.memory_index()));
            self.reads.retain(|one| *one != MicroRegister::NONE);
        }
        if merges(instruction) {
            self.reads.extend(MicroRegister::whole(instruction.op0_register()));
        }
    }
}

pub(super) fn address(base: Register, index: Register) -> Address {
    let [base, index] = [base, index].map(|one| MicroRegister::whole(one).unwrap_or(MicroRegister::NONE));
    if base == MicroRegister::NONE { [index, base] } else { [base, index] }
}

/// Whether this is one of the scalar instructions of SSE that keep the upper part of their destination though they do not
/// compute with the lower.
fn merges(instruction: &Instruction) -> bool {
    use Mnemonic::{
        Cvtsd2ss, Cvtsi2sd, Cvtsi2ss, Cvtss2sd, Rcpss, Roundsd, Roundss, Rsqrtss, Sqrtsd, Sqrtss,
    };
    instruction.encoding() == EncodingKind::Legacy
        && matches!(
            instruction.mnemonic(),
            Cvtsd2ss | Cvtsi2sd | Cvtsi2ss | Cvtss2sd | Rcpss | Roundsd | Roundss | Rsqrtss | Sqrtsd | Sqrtss
        )
}

fn reads(access: OpAccess) -> bool {
    use OpAccess::{CondRead, Read, ReadCondWrite, ReadWrite};
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite)
}

fn writes(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}
