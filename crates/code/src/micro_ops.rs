//! What a simulated core has to do for a block of code: its micro-ops.
//!
//! A timing model of a processor works on micro-ops: steps that one unit executes, each with the registers it waits for
//! and those it makes. A block is decoded once ([`micro_ops`]), and walked as often as it is executed; so a [`MicroOp`]
//! has eight bytes, its registers are numbers below 64, and what is not needed for time is left out.
//!
//! What is modelled, and how:
//!
//! - An instruction with a memory operand is a load, an operation and a store, as far as it has them. What only moves
//!   between a register and memory is a load or a store alone, also with sign or zero extension.
//! - Each load and store has a *slot*: the number of its access among those that QEMU tells of the block
//!   (`accesses` of its description in the stream of blocks). So the two of an atomic instruction have one slot, the loads
//!   of CMPS come in QEMU's order, the destination first, a number of 80 bits has two, and prefetches have none. Slots
//!   never decrease in the order of the micro-ops. QEMU's table differs in two cases, so compare instruction and direction:
//!   in code that it translated before there was a second thread, atomic instructions have a load and a store; and a
//!   repeating instruction that had no round when its block was first executed has none.
//! - Registers are whole: one that is written in part (8 or 16 bits, the low element of a vector) is read too. A write
//!   of 32 bits is one of 64. Instructions in the old encoding of SSE are taken not to read the upper halves. The status
//!   flags are one register, and who writes some of them writes all. The stack of the x87 is one register, which MMX
//!   shares: code for these is simulated as one chain.
//! - The stack engine of the decoder moves the stack pointer for PUSH, POP, CALL and RET, so these neither wait for each
//!   other's change of RSP nor have a micro-op for it. Only other instructions write RSP. Micro-ops that synchronise the two are
//!   not modelled.
//! - Zeroing idioms (`xor eax, eax`, `pxor`, `sub`, …) have no source, and class [`OpClass::Nothing`].
//! - A string instruction is one instruction also if it repeats: its accesses stand for those of all rounds. Both
//!   loads of a CMPS that repeats have one slot.
//! - Locked instructions, and XCHG with memory, have [`OpClass::Atomic`] between their load and their store.
//! - Elements of a gather are loads of their own, each followed by its merge into the result; scatters likewise.
//! - What needs more than three sources or two destinations has micro-ops of [`OpClass::Join`], which take no time.
//!
//! Not modelled: moves are never eliminated (they are micro-ops of [`OpClass::Move`]), a compare and its branch are not
//! fused, and the false dependences of some cores (of POPCNT on its destination, say) are left out. How long a class
//! takes is a matter of the machine that is simulated, not of this module.

use iced_x86::{Decoder, DecoderOptions};

mod class;

mod classify;

mod flow;

mod names;

mod register;

mod sequence;

mod split;

mod strings;

mod text;

pub use class::OpClass;
pub use register::MicroRegister;

use split::Splitter;

/// A step that one unit of a core executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct MicroOp {
    /// What is done; the latency depends on it.
    pub class: OpClass,
    /// The registers that it waits for, then [`MicroRegister::NONE`]. A load or store has its address first, then what is
    /// stored.
    pub sources: [MicroRegister; 3],
    /// The registers that it makes, then [`MicroRegister::NONE`].
    pub destinations: [MicroRegister; 2],
    /// The slot, or [`NO_SLOT`]; the highest bit is [`FIRST`].
    place: u16,
}

/// No slot. Blocks of QEMU have at most 512 instructions, so real ones do not get there.
const NO_SLOT: u16 = FIRST - 1;
/// The first micro-op of its instruction.
const FIRST: u16 = 1 << 15;

impl MicroOp {
    /// The number of the access in the block, for loads and stores. None for other classes, and from the 32,768th access
    /// of a block on.
    pub fn slot(self) -> Option<u16> {
        Some(self.place & !FIRST).filter(|slot| *slot != NO_SLOT)
    }

    /// The same with another slot; without one for `None` and where [`MicroOp::slot`] could not give it.
    #[must_use]
    pub fn with_slot(self, slot: Option<u16>) -> MicroOp {
        let slot = slot.filter(|slot| *slot < NO_SLOT).unwrap_or(NO_SLOT);
        MicroOp { place: self.place & FIRST | slot, ..self }
    }

    /// Whether an instruction begins with it. Every instruction has at least one micro-op.
    pub fn is_first(self) -> bool {
        self.place & FIRST != 0
    }
}

/// The micro-ops of a block's bytes, which are executed at `address`, in program order.
///
/// Bytes that are no instruction are a micro-op of [`OpClass::Other`], as instructions are that real programs hardly ever
/// execute often (privileged ones, XSAVE, AMX, …).
///
/// ```
/// // add [rdi+8], rax; ret
/// let found = holdup_code::micro_ops(&[0x48, 0x01, 0x47, 0x08, 0xc3], 0x1000);
/// let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
/// assert_eq!(
///     lines,
///     [
///         "load rdi > t0 #0",
///         "integer t0 rax > t2 flags",
///         "store rdi t2 #1",
///         "load rsp > t0 #2",
///         "return t0",
///     ]
/// );
/// ```
pub fn micro_ops(bytes: &[u8], address: u64) -> Vec<MicroOp> {
    let mut splitter = Splitter::new();
    for instruction in Decoder::with_ip(64, bytes, address, DecoderOptions::NONE) {
        splitter.split(&instruction);
    }
    splitter.finish()
}
