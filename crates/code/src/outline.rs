//! Where the instructions of a block are, and how it ends.

use holdup_model::counts::BlockExit;
use iced_x86::{Decoder, DecoderOptions, Instruction};

/// The shape of a block of code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The addresses of its instructions, one for each that [`micro_ops`](fn@crate::micro_ops) has.
    pub instructions: Vec<u64>,
    /// How its last one ends it.
    pub exit: Option<BlockExit>,
}

/// The shape of a block's bytes, which are executed at `address`.
pub fn outline(bytes: &[u8], address: u64) -> Outline {
    let mut found = Outline::default();
    let mut instruction = Instruction::default();
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        found.instructions.push(instruction.ip());
    }
    found.exit = (!found.instructions.is_empty()).then(|| crate::blocks::exit(&instruction));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_those_of_the_micro_ops() {
        // add [rdi+8], rax; nop; jne
        let bytes = [0x48, 0x01, 0x47, 0x08, 0x90, 0x75, 0xf9];
        let found = outline(&bytes, 0x1000);
        assert_eq!(found.instructions, [0x1000, 0x1004, 0x1005]);
        assert_eq!(found.exit, Some(BlockExit::Branch));
        let first = crate::micro_ops(&bytes, 0x1000).iter().filter(|op| op.is_first()).count();
        assert_eq!(first, found.instructions.len());
        assert_eq!(outline(&[], 0x1000), Outline::default());
    }
}
