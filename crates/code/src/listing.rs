//! Instructions as text.

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

/// The instructions of a piece of code: for each its address and its text, in Intel's syntax (destination first), as the
/// processor manuals have it. Addresses and constants are hexadecimal. Bytes that are no instruction read `(bad)`.
pub fn listing(bytes: &[u8], address: u64) -> Vec<(u64, String)> {
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_space_after_operand_separator(true);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(true);
    options.set_show_branch_size(false);
    Decoder::with_ip(64, bytes, address, DecoderOptions::NONE)
        .iter()
        .map(|instruction| {
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            (instruction.ip(), text)
        })
        .collect()
}

/// The address of the last instruction of a piece of code; that of its first where there is none.
pub fn last_instruction(bytes: &[u8], address: u64) -> u64 {
    let decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    decoder.into_iter().last().map_or(address, |instruction| instruction.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_read_as_manuals_write_them() {
        let bytes = [0x8b, 0x05, 0, 1, 0, 0, 0x85, 0xc0, 0x74, 0xf6, 0x06];
        let lines = listing(&bytes, 0x1000);
        let lines: Vec<_> = lines.iter().map(|(address, text)| (*address, text.as_str())).collect();
        assert_eq!(
            lines,
            [
                (0x1000, "mov eax, [rip+0x100]"),
                (0x1006, "test eax, eax"),
                (0x1008, "je 0x1000"),
                (0x100a, "(bad)"),
            ]
        );
        assert_eq!(last_instruction(&bytes[..10], 0x1000), 0x1008);
        assert_eq!(last_instruction(&[], 0x1000), 0x1000);
    }
}
