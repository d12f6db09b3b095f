//! Places that hold what a loop carries from one iteration to the next: parts of registers, flags, words of the stack.

use iced_x86::{Register, RflagsBits};

/// A set of places, a bit for each.
pub(crate) type Places = u128;

/// General registers have three parts, since code that writes one byte leaves the rest alone.
const PARTS: u32 = 3;
const LOWEST_BYTE: Places = 0b001;
const SECOND_BYTE: Places = 0b010;
const WHOLE: Places = 0b111;

const VECTORS: u32 = 16 * PARTS;
const MASKS: u32 = VECTORS + 32;
const FLAGS: u32 = MASKS + 8;
const FIRST_SLOT: u32 = FLAGS + 7;

/// Words of the stack that are told apart. A loop that writes more of them does not wait.
pub(crate) const MAX_SLOTS: usize = 24;

const FLAG_BITS: [u32; 7] = [
    RflagsBits::CF,
    RflagsBits::PF,
    RflagsBits::AF,
    RflagsBits::ZF,
    RflagsBits::SF,
    RflagsBits::OF,
    RflagsBits::DF,
];

/// Registers that a function may change (System V ABI for AMD64, figure 3.4).
const CHANGED_BY_CALLS: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];

/// The places of a register; nothing for those that are not followed.
pub(crate) fn of_register(register: Register) -> Option<Places> {
    if register.is_gpr() {
        let parts = match register.size() {
            1 if is_second_byte(register) => SECOND_BYTE,
            1 => LOWEST_BYTE,
            2 => LOWEST_BYTE | SECOND_BYTE,
            _ => WHOLE,
        };
        return Some(parts << (register.full_register().number() as u32 * PARTS));
    }
    if register.is_vector_register() {
        return Some(1 << (VECTORS + register.number() as u32));
    }
    if register.is_k() {
        return Some(1 << (MASKS + register.number() as u32));
    }
    None
}

fn is_second_byte(register: Register) -> bool {
    matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

/// The places of flags, given as iced gives them.
pub(crate) fn of_flags(bits: u32) -> Places {
    let flags = FLAG_BITS.iter().enumerate().filter(|(_, flag)| bits & **flag != 0);
    flags.map(|(index, _)| 1 << (FLAGS + index as u32)).sum()
}

/// The place of the n-th word of the stack.
pub(crate) fn of_slot(index: usize) -> Places {
    1 << (FIRST_SLOT + index as u32)
}

/// What a function may change that was called: registers and flags, no words of the caller's stack.
pub(crate) fn changed_by_calls() -> Places {
    let vectors = ((1 << (FLAGS - VECTORS)) - 1) << VECTORS;
    let flags = of_flags(u32::MAX);
    CHANGED_BY_CALLS
        .iter()
        .filter_map(|register| of_register(*register))
        .fold(vectors | flags, |all, one| all | one)
}

/// Each place of a set as a set of its own.
pub(crate) fn each(mut places: Places) -> impl Iterator<Item = Places> {
    std::iter::from_fn(move || {
        let lowest = places & places.wrapping_neg();
        places ^= lowest;
        (lowest != 0).then_some(lowest)
    })
}

/// Number of places.
pub(crate) const COUNT: usize = FIRST_SLOT as usize + MAX_SLOTS;

const _: () = assert!(COUNT <= Places::BITS as usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_registers_overlap_as_they_do() {
        let of = |register| of_register(register).unwrap();
        assert_eq!(of(Register::EAX), of(Register::RAX));
        assert_eq!(of(Register::AL) | of(Register::AH), of(Register::AX));
        assert_eq!(of(Register::AL) & of(Register::AH), 0);
        assert_eq!(of(Register::SIL) & of(Register::RSI), of(Register::SIL));
        assert_eq!(of(Register::R15) & of(Register::RAX), 0);
        assert_eq!(of(Register::XMM31), of(Register::ZMM31));
        let all = Register::values().filter(|register| register.is_gpr64() || register.is_zmm());
        let bits: u32 = all.map(|register| of(register).count_ones()).sum();
        assert_eq!(bits, 16 * 3 + 32);
        assert_eq!(of_register(Register::ST0), None);
    }

    #[test]
    fn calls_keep_what_the_abi_says() {
        for register in [Register::RBX, Register::RBP, Register::RSP, Register::R12, Register::R15] {
            assert_eq!(changed_by_calls() & of_register(register).unwrap(), 0);
        }
        assert_eq!(changed_by_calls() & of_slot(0), 0);
        assert_ne!(changed_by_calls() & of_flags(RflagsBits::CF), 0);
    }
}
