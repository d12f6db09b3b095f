//! What a micro-op does, as far as its latency depends on it.

use iced_x86::{EncodingKind, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::{MicroRegister, names};

macro_rules! classes {
    ($($(#[$text:meta])* $class:ident = $name:literal,)*) => {
        /// What a micro-op does. Micro-ops of the same class take equally long, hits and misses of loads apart.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum OpClass {
            $($(#[$text])* $class,)*
        }

        impl OpClass {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$class,)*];

            /// A name, in lower case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$class => $name,)*
                }
            }
        }
    };
}

classes! {
    /// Reads memory.
    Load = "load",
    /// Writes memory.
    Store = "store",
    /// Executes nowhere: a NOP, a hint, or a zeroing idiom, whose result is there at once.
    Nothing = "nothing",
    /// Joins dependences for which one micro-op has no room; takes no time.
    Join = "join",
    /// Copies a register, within general or within vector registers.
    Move = "move",
    /// Addition, logic, comparison, conditional move, simple LEA.
    Integer = "integer",
    /// LEA with base, index and displacement.
    SlowLea = "slow-lea",
    /// Shifts and rotations.
    Shift = "shift",
    /// Counts or finds bits, gathers bits, CRC-32: what one slow unit does.
    Bits = "bits",
    /// Multiplication of integers.
    Multiply = "multiply",
    /// Division of integers of up to 32 bits.
    Divide = "divide",
    /// Division of integers of 64 bits.
    DivideLong = "divide-long",
    /// A conditional branch.
    Branch = "branch",
    /// A jump to a place that is always the same.
    Jump = "jump",
    /// A jump to a place that is computed.
    IndirectJump = "indirect-jump",
    /// A call of a function that is always the same.
    Call = "call",
    /// A call of a function that is computed.
    IndirectCall = "indirect-call",
    /// A return.
    Return = "return",
    /// Packed integers: addition, logic, comparison; logic of any vector or mask.
    Vector = "vector",
    /// Packed integers: shifts.
    VectorShift = "vector-shift",
    /// Packed integers: multiplication, sums of products or of differences.
    VectorMultiply = "vector-multiply",
    /// Rearranges elements within 128 bits.
    Shuffle = "shuffle",
    /// Rearranges elements across 128 bits.
    WideShuffle = "wide-shuffle",
    /// Adds neighbours, or multiplies and adds them: several steps.
    Horizontal = "horizontal",
    /// From a vector or mask register to a general one, or to the flags.
    ToGeneral = "to-general",
    /// From a general register to a vector or mask register.
    FromGeneral = "from-general",
    /// Floating point: addition, comparison, minimum, maximum.
    FloatAdd = "float-add",
    /// Floating point: multiplication, approximate reciprocals.
    FloatMultiply = "float-multiply",
    /// Floating point: multiplication and addition in one.
    FloatMultiplyAdd = "float-multiply-add",
    /// Single precision: division.
    FloatDivide = "float-divide",
    /// Double (or x87) precision: division.
    DoubleDivide = "double-divide",
    /// Single precision: square root.
    FloatRoot = "float-root",
    /// Double (or x87) precision: square root.
    DoubleRoot = "double-root",
    /// Conversion and rounding of numbers.
    Convert = "convert",
    /// Comparison of strings of SSE 4.2.
    StringCompare = "string-compare",
    /// A step of AES, SHA, GF(2⁸) or carry-less multiplication.
    Crypto = "crypto",
    /// Copies within the register stack of the x87, and its control word.
    X87Move = "x87-move",
    /// What the x87 does by microcode: sine, logarithm, remainder, …
    X87Long = "x87-long",
    /// Begins the rounds of a repeating string instruction. Their number is that of its accesses.
    Repeat = "repeat",
    /// The operation of an atomic read, modify and write.
    Atomic = "atomic",
    /// Orders memory accesses.
    Fence = "fence",
    /// PAUSE.
    Pause = "pause",
    /// Reads the time stamp counter.
    Clock = "clock",
    /// Enters the kernel, or raises an exception; CPUID.
    System = "system",
    /// Anything else. Its dependences are right, its time is a guess.
    Other = "other",
}

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
