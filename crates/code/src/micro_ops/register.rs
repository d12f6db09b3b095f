//! The registers of micro-ops.

use iced_x86::Register;

/// A register that micro-ops depend on each other by: a number below 64, so that a set of them is a `u64`.
///
/// 0 to 15 are the general registers in the processor's order (RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, …), 16 to 47
/// the vector registers, 48 to 55 the mask registers of AVX-512.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct MicroRegister(u8);

impl MicroRegister {
    /// The status flags: carry, parity, adjust, zero, sign and overflow.
    pub const FLAGS: Self = Self(56);
    /// The register stack of the x87, and the registers of MMX, which are the same.
    pub const X87: Self = Self(57);
    /// No register: as a source ready at any time, as a destination of no interest.
    pub const NONE: Self = Self(63);

    pub(super) const RAX: Self = Self(0);
    pub(super) const RCX: Self = Self(1);
    pub(super) const RSP: Self = Self(4);
    pub(super) const RBP: Self = Self(5);
    pub(super) const RSI: Self = Self(6);
    pub(super) const RDI: Self = Self(7);
    /// What the first load of an instruction gives, where it is not the instruction's result.
    pub(super) const LOADED: Self = Self(58);
    /// What its second load gives.
    pub(super) const LOADED_TOO: Self = Self(59);
    /// What it stores.
    pub(super) const STORED: Self = Self(60);
    /// What [`OpClass::Join`](super::OpClass::Join) joins.
    pub(super) const JOINED: Self = Self(61);

    /// The number, below 64.
    pub fn number(self) -> usize {
        usize::from(self.0)
    }

    /// Whether it passes a value on between the micro-ops of one instruction, and is none of the program's.
    pub fn is_temporary(self) -> bool {
        (Self::LOADED..=Self::JOINED).contains(&self)
    }

    /// The whole of a register of the processor. None for those that nothing is to wait for: the instruction pointer,
    /// segments (they hardly ever change), and registers of the system.
    pub(super) fn whole(register: Register) -> Option<Self> {
        let number = register.number() as u8;
        if register.is_gpr() {
            // AH to BH have numbers of their own, from that of RSP on.
            Some(Self(register.full_register().number() as u8))
        } else if register.is_vector_register() {
            Some(Self(16 + number))
        } else if register.is_k() {
            Some(Self(48 + number))
        } else if register.is_st() || register.is_mm() {
            Some(Self::X87)
        } else {
            None
        }
    }
}
