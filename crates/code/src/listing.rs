//! Instructions as text.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Formatter, Instruction, IntelFormatter};

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

/// The addresses of the jumps in a piece of code that go back in it: each ends an iteration of a loop.
pub fn jumps_back(bytes: &[u8], address: u64) -> Vec<u64> {
    let decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let is_jump = |instruction: &Instruction| {
        let flow = instruction.flow_control();
        matches!(flow, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
    };
    let goes_back = |instruction: &Instruction| {
        is_jump(instruction) && (address..=instruction.ip()).contains(&instruction.near_branch_target())
    };
    decoder.into_iter().filter(goes_back).map(|instruction| instruction.ip()).collect()
}

/// Where the calls and jumps of a piece of code go that leave it, as far as their targets stand in it.
pub fn leads_to(bytes: &[u8], address: u64) -> Vec<u64> {
    let code = address..address + bytes.len() as u64;
    let decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let targets = decoder.into_iter().map(|instruction| instruction.near_branch_target());
    targets.filter(|target| *target != 0 && !code.contains(target)).collect()
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
        assert_eq!(jumps_back(&bytes, 0x1000), [0x1008]);
        // A jump within, a call of what is before, a jump to what is behind.
        let bytes = [0x74, 0x00, 0xe8, 0xf9, 0x0f, 0x00, 0x00, 0xe9, 0xf4, 0xf0, 0xff, 0xff];
        assert_eq!(leads_to(&bytes, 0x1000), [0x2000, 0x100]);
        assert_eq!(jumps_back(&[0x74, 0x02, 0x90, 0xc3], 0x1000), [0; 0]);
    }
}
