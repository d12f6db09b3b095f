//! What one instruction does with the places that a loop is judged by.

use iced_x86::{
    FlowControl, Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
    UsedMemory,
};

use crate::calls::Helper;
use crate::code::Code;
use crate::graph::Body;
use crate::place::{MAX_SLOTS, Places, changed_by_calls, of_flags, of_register, of_slot};

/// An instruction of a loop.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    /// What the addresses are made of that it accesses.
    pub(crate) addresses: Places,
    /// Whether it asks for something that others can change: memory or the clock.
    pub(crate) asks: bool,
    /// Whether it says that the loop waits.
    pub(crate) is_hint: bool,
    /// An exchange with memory: the places of what it stores and what it expects.
    pub(crate) exchange: Option<Places>,
    pub(crate) writes: Vec<Write>,
}

/// New contents of places.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) to: Places,
    pub(crate) from: Origin,
    /// Whether the old contents are gone for certain.
    pub(crate) is_certain: bool,
}

/// Where new contents come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// They are those of other places.
    Same(Places),
    /// They are computed from those of other places, and from memory or the clock if `is_fresh`.
    Computed { from: Places, is_fresh: bool },
}

/// The words of the thread's own stack that a loop writes: nobody else's business, as registers are.
#[derive(Debug, Default)]
pub(crate) struct Slots(Vec<Slot>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    base: Register,
    from: i64,
    to: i64,
}

/// Turns instructions into effects.
pub(crate) struct Effects<'a> {
    factory: InstructionInfoFactory,
    slots: Slots,
    code: &'a Code<'a>,
    helper: &'a dyn Fn(u64) -> Option<Helper>,
}

impl Slot {
    /// The word that an access is to, if it is on the own stack: at the stack pointer or above, or below the frame pointer.
    ///
    /// Code without frame pointers uses the register `rbp` for whatever it likes, but rarely with a negative distance.
    fn of(memory: &UsedMemory) -> Option<Self> {
        let base = memory.base();
        let from = memory.displacement() as i64;
        let is_own = base == Register::RSP || (base == Register::RBP && from < 0);
        let is_plain =
            memory.index() == Register::None && !matches!(memory.segment(), Register::FS | Register::GS);
        let to = from.checked_add(memory.memory_size().size() as i64)?;
        (is_own && is_plain && from < to).then_some(Self { base, from, to })
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.base == other.base && self.from < other.to && other.from < self.to
    }
}

impl Slots {
    /// The words that the loop writes; nothing if they are too many, or read or written in other pieces elsewhere.
    fn of(body: &Body, factory: &mut InstructionInfoFactory) -> Option<Self> {
        let mut written: Vec<Slot> = Vec::new();
        let mut met: Vec<Slot> = Vec::new();
        for instruction in body.instructions.values() {
            for memory in factory.info(instruction).used_memory() {
                let Some(slot) = Slot::of(memory) else { continue };
                met.push(slot);
                if writes(memory.access()) && !written.contains(&slot) {
                    written.push(slot);
                }
            }
        }
        let clash = |slot: &Slot| met.iter().any(|other| other != slot && other.overlaps(slot));
        let is_clear = written.len() <= MAX_SLOTS && !written.iter().any(clash);
        is_clear.then_some(Self(written))
    }

    fn place(&self, memory: &UsedMemory) -> Option<Places> {
        let slot = Slot::of(memory)?;
        self.0.iter().position(|other| *other == slot).map(of_slot)
    }
}

impl<'a> Effects<'a> {
    pub(crate) fn new(
        code: &'a Code<'a>,
        body: &Body,
        helper: &'a dyn Fn(u64) -> Option<Helper>,
    ) -> Option<Self> {
        let mut factory = InstructionInfoFactory::new();
        let slots = Slots::of(body, &mut factory)?;
        Some(Self { factory, slots, code, helper })
    }

    /// What an instruction does; nothing if no loop that waits has such an instruction.
    pub(crate) fn of(&mut self, instruction: &Instruction) -> Option<Effect> {
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {}
            FlowControl::Call | FlowControl::IndirectCall => return self.call(instruction),
            _ => return None,
        }
        if instruction.is_string_instruction() {
            return None;
        }
        if is_fence(instruction) {
            return Some(Effect { writes: vec![flags(instruction, 0, false)], ..Effect::default() });
        }
        let info = self.factory.info(instruction);
        let memory = Memory::of(info, &self.slots)?;
        let mut effect = Effect {
            addresses: memory.addresses,
            asks: memory.is_read && !has_constant(instruction) || reads_clock(instruction),
            is_hint: matches!(instruction.mnemonic(), Mnemonic::Pause | Mnemonic::Tpause | Mnemonic::Umwait),
            ..Effect::default()
        };
        let (read, writes) = registers(info)?;
        let read = read | memory.read_slots | of_flags(instruction.rflags_read());
        if memory.is_written {
            effect.exchange = Some(exchanged(instruction)?);
        }
        let is_fresh = effect.asks;
        let sources = if clears(instruction) { 0 } else { read };
        let copied = copied(instruction, &memory);
        let changed: Vec<(Places, bool)> = writes.into_iter().chain(memory.written_slots).collect();
        match (copied, changed.as_slice()) {
            (Some(from), [(to, true)]) => {
                effect.writes.push(Write { to: *to, from: Origin::Same(from), is_certain: true });
            }
            _ => effect.writes.extend(changed.iter().map(|(to, is_certain)| Write {
                to: *to,
                from: Origin::Computed { from: sources, is_fresh },
                is_certain: *is_certain,
            })),
        }
        effect.writes.push(flags(instruction, sources, is_fresh));
        Some(effect)
    }

    /// A call of a function that is known to do nothing that others see.
    fn call(&self, instruction: &Instruction) -> Option<Effect> {
        let mut addresses = 0;
        let helper = if instruction.is_call_near() {
            (self.helper)(instruction.near_branch_target())
        } else if !instruction.is_call_near_indirect() {
            None
        } else if instruction.is_ip_rel_memory_operand() {
            (self.helper)(instruction.ip_rel_memory_address())
        } else if instruction.op0_kind() == OpKind::Register {
            addresses = of_register(instruction.op0_register())?;
            self.loads_helper(instruction.op0_register(), instruction.ip())
        } else {
            None
        };
        let (helper, asked) = helper.map(|helper| (helper, Asked::of(helper)))?;
        Some(Effect {
            addresses: addresses | asked.arguments,
            asks: asked.reads,
            is_hint: helper == Helper::Waits,
            writes: vec![Write {
                to: changed_by_calls(),
                from: Origin::Computed { from: asked.arguments, is_fresh: true },
                is_certain: true,
            }],
            ..Effect::default()
        })
    }

    /// The function whose address the code before an address puts into a register: `mov r, [rip + x]`, which
    /// compilers move out of the loop, or `lea r, [rip + x]`.
    ///
    /// Where instructions begin before the loop is not known, so any bytes that can be one are taken for one. Others than
    /// real ones would have to lead to such a function by chance.
    fn loads_helper(&self, register: Register, before: u64) -> Option<Helper> {
        let number = register.number() as u8;
        let prefix = if number < 8 { 0x48 } else { 0x4c };
        let operands = (number & 7) << 3 | 5;
        let size = usize::try_from(before.saturating_sub(self.code.start)).unwrap_or(usize::MAX);
        let bytes = &self.code.bytes[..size.min(self.code.bytes.len())];
        bytes.windows(7).enumerate().find_map(|(at, bytes)| {
            let [first, operation, second, a, b, c, d] = bytes else { return None };
            let is_load = *first == prefix && matches!(operation, 0x8b | 0x8d) && *second == operands;
            let next = self.code.start.wrapping_add(at as u64 + 7);
            let pointer = next.wrapping_add_signed(i32::from_le_bytes([*a, *b, *c, *d]).into());
            (self.helper)(pointer).filter(|_| is_load)
        })
    }
}

/// What a called function goes by.
struct Asked {
    arguments: Places,
    reads: bool,
}

impl Asked {
    fn of(helper: Helper) -> Self {
        match helper {
            Helper::Waits => Self { arguments: 0, reads: true },
            Helper::Orders => Self { arguments: 0, reads: false },
            Helper::Looks { arguments, reads, .. } => Self { arguments: arguments.0, reads },
        }
    }
}

/// What an instruction goes by and what it leaves, where it does nothing that others could see.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    pub(crate) read: Places,
    /// What may have something new.
    pub(crate) changed: Places,
    /// What has something new for certain.
    pub(crate) written: Places,
    /// Whether it asks for something that others can change: memory or the clock.
    pub(crate) asks: bool,
}

/// The shape of an instruction; nothing for one that does something: it stores elsewhere than into the own stack (but by an attempt to
/// exchange a word), calls a function that is not known to do nothing, or leads nobody knows where.
pub(crate) fn shape(
    instruction: &Instruction,
    facts: &mut InstructionInfoFactory,
    helper: &dyn Fn(u64) -> Option<Helper>,
) -> Option<Shape> {
    let of_call = |target: u64| {
        let Asked { arguments, reads } = Asked::of(helper(target)?);
        let changed = changed_by_calls();
        Some(Shape { read: arguments, changed, written: changed, asks: reads })
    };
    match instruction.flow_control() {
        FlowControl::Next | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {}
        FlowControl::Call if instruction.is_call_near() => return of_call(instruction.near_branch_target()),
        FlowControl::IndirectCall if instruction.is_ip_rel_memory_operand() => {
            return of_call(instruction.ip_rel_memory_address());
        }
        _ => return None,
    }
    if instruction.is_string_instruction() {
        return None;
    }
    if is_fence(instruction) {
        return Some(Shape::default());
    }
    let info = facts.info(instruction);
    let mut asks = reads_clock(instruction);
    let is_constant = has_constant(instruction);
    for memory in info.used_memory().iter().filter(|memory| Slot::of(memory).is_none()) {
        if writes(memory.access()) {
            exchanged(instruction)?;
        }
        asks |= reads(memory.access()) && !is_constant;
    }
    let (read, new) = registers(info)?;
    let read = if clears(instruction) { 0 } else { read };
    let changed = new.iter().fold(0, |all, (place, _)| all | place);
    let written = new.iter().filter(|(_, is_certain)| *is_certain).fold(0, |all, (place, _)| all | place);
    Some(Shape { read, changed, written, asks })
}

/// The memory that an instruction accesses.
#[derive(Debug, Default)]
struct Memory {
    addresses: Places,
    /// Whether it reads from memory that others can write.
    is_read: bool,
    /// Whether it writes to it.
    is_written: bool,
    read_slots: Places,
    written_slots: Vec<(Places, bool)>,
}

impl Memory {
    fn of(info: &InstructionInfo, slots: &Slots) -> Option<Self> {
        let mut found = Self::default();
        for memory in info.used_memory() {
            let access = memory.access();
            if !reads(access) && !writes(access) {
                continue;
            }
            for register in [memory.base(), memory.index()] {
                if register != Register::None && !register.is_ip() {
                    found.addresses |= of_register(register)?;
                }
            }
            match slots.place(memory) {
                Some(slot) => {
                    if reads(access) {
                        found.read_slots |= slot;
                    }
                    if writes(access) {
                        found.written_slots.push((slot, is_certain(access)));
                    }
                }
                None => {
                    found.is_read |= reads(access);
                    found.is_written |= writes(access);
                }
            }
        }
        Some(found)
    }
}

/// The places of registers that are read, and those that are written; nothing if one is written that is not followed.
fn registers(info: &InstructionInfo) -> Option<(Places, Vec<(Places, bool)>)> {
    let (mut read, mut written) = (0, Vec::new());
    for used in info.used_registers() {
        let (register, access) = (used.register(), used.access());
        if register.is_ip() || (register.is_segment_register() && !writes(access)) {
            continue;
        }
        let places = of_register(register)?;
        if reads(access) {
            read |= places;
        }
        if writes(access) {
            written.push((places, is_certain(access)));
        }
    }
    Some((read, written))
}

fn flags(instruction: &Instruction, from: Places, is_fresh: bool) -> Write {
    let to = of_flags(instruction.rflags_modified());
    Write { to, from: Origin::Computed { from, is_fresh }, is_certain: true }
}

pub(crate) fn reads(access: OpAccess) -> bool {
    use OpAccess::{CondRead, Read, ReadCondWrite, ReadWrite};
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite)
}

pub(crate) fn writes(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

fn is_certain(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::ReadWrite)
}

/// Whether what it reads from memory is, as good as always, a constant: of floating point those stand beside the code.
fn has_constant(instruction: &Instruction) -> bool {
    instruction.is_ip_rel_memory_operand()
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register().is_vector_register()
}

fn reads_clock(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Rdtsc | Mnemonic::Rdtscp)
}

/// What a plain copy takes: the second operand of a MOV that leaves nothing of the old contents.
fn copied(instruction: &Instruction, memory: &Memory) -> Option<Places> {
    if instruction.mnemonic() != Mnemonic::Mov || instruction.op_count() != 2 {
        return None;
    }
    match instruction.op1_kind() {
        OpKind::Register => of_register(instruction.op1_register()),
        OpKind::Memory => Some(memory.read_slots).filter(|slots| *slots != 0),
        _ => None,
    }
}

/// Whether the result is zero, whatever the operands are.
pub(crate) fn clears(instruction: &Instruction) -> bool {
    use Mnemonic::{Pxor, Sub, Vpxor, Vxorpd, Vxorps, Xor, Xorpd, Xorps};
    let last = instruction.op_count().saturating_sub(1);
    matches!(instruction.mnemonic(), Xor | Sub | Pxor | Xorps | Xorpd | Vpxor | Vxorps | Vxorpd)
        && last > 0
        && instruction.op_kind(last) == OpKind::Register
        && instruction.op_kind(last - 1) == OpKind::Register
        && instruction.op_register(last) == instruction.op_register(last - 1)
}

/// Whether this is `lock or [rsp + x], 0`, by which compilers order memory accesses.
fn is_fence(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Or | Mnemonic::Add)
        && instruction.has_lock_prefix()
        && instruction.memory_base() == Register::RSP
        && instruction.memory_index() == Register::None
        && instruction.try_immediate(1).is_ok_and(|value| value == 0)
}

/// The places of what an attempt to take a word stores, and expects to find; nothing for any other store.
fn exchanged(instruction: &Instruction) -> Option<Places> {
    let stored = || match instruction.op1_kind() {
        OpKind::Register => of_register(instruction.op1_register()),
        _ => Some(0),
    };
    match instruction.mnemonic() {
        Mnemonic::Xchg => {
            let kinds = [
                (instruction.op0_kind(), instruction.op0_register()),
                (instruction.op1_kind(), instruction.op1_register()),
            ];
            let register = kinds.into_iter().find(|(kind, _)| *kind == OpKind::Register);
            of_register(register?.1)
        }
        Mnemonic::Cmpxchg => Some(stored()? | of_register(Register::RAX)?),
        Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b => {
            let used = [Register::RAX, Register::RBX, Register::RCX, Register::RDX];
            used.into_iter().try_fold(0, |all, register| Some(all | of_register(register)?))
        }
        Mnemonic::Bts if instruction.has_lock_prefix() => stored(),
        _ => None,
    }
}
