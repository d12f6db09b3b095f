//! What a micro-op does, as far as its latency depends on it.

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
