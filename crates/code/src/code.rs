//! Bytes of a program, and the instructions in them.

use iced_x86::{Code as Encoding, Decoder, DecoderOptions, Instruction};

/// Machine code of an x86-64 program, at the address at which it runs.
///
/// It need not begin at an instruction: only what control flow reaches from the address in question is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code<'a> {
    /// Address of the first byte.
    pub start: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl Code<'_> {
    /// The instruction at an address, if all of it is here and it is one.
    pub(crate) fn instruction(&self, address: u64) -> Option<Instruction> {
        let first = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(first..).filter(|bytes| !bytes.is_empty())?;
        let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
        let is_whole = instruction.code() != Encoding::INVALID && instruction.next_ip() > address;
        is_whole.then_some(instruction)
    }
}
