//! Micro-ops as text: `class sources > destinations #slot`.

use std::fmt::{self, Display, Formatter};

use super::{MicroOp, MicroRegister};

const GENERAL: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];

/// The processor's name of the register, `v` and a number for a vector register, `t` and a number for a temporary one.
impl Display for MicroRegister {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.number() {
            number @ 0..16 => f.write_str(GENERAL[number]),
            number @ 16..48 => write!(f, "v{}", number - 16),
            number @ 48..56 => write!(f, "k{}", number - 48),
            56 => f.write_str("flags"),
            57 => f.write_str("x87"),
            number @ 58..62 => write!(f, "t{}", number - 58),
            _ => f.write_str("-"),
        }
    }
}

/// The class, the sources, `>` and the destinations if there are any, `#` and the slot if there is one.
impl Display for MicroOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.class.name())?;
        for source in self.sources.iter().filter(|source| **source != MicroRegister::NONE) {
            write!(f, " {source}")?;
        }
        let mut separator = " >";
        for destination in self.destinations.iter().filter(|one| **one != MicroRegister::NONE) {
            write!(f, "{separator} {destination}")?;
            separator = "";
        }
        match self.slot() {
            Some(slot) => write!(f, " #{slot}"),
            None => Ok(()),
        }
    }
}
