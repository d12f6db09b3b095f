//! Call instructions before return addresses, as far as their bytes tell.

/// Longest call instruction that is looked for before a return address, in bytes.
pub(crate) const MAX_CALL_BYTES: u64 = 7;

/// Whether the last instruction in `code` can be a near call.
///
/// `E8` with a 32-bit distance, or `FF /2` with any operand (Intel's manual, volume 2A, CALL).
pub(crate) fn ends_in_call(code: &[u8]) -> bool {
    let from_end = |count: usize| code.len().checked_sub(count).map(|at| &code[at..]);
    let direct = from_end(5).is_some_and(|code| code[0] == 0xe8);
    direct
        || (2..=7).any(|size| {
            from_end(size)
                .is_some_and(|code| code[0] == 0xff && (code[1] >> 3) & 7 == 2 && indirect_size(code) == size)
        })
}

/// The size of an `FF /2` instruction: opcode, ModRM, and what ModRM asks for.
fn indirect_size(code: &[u8]) -> usize {
    let (mode, register) = (code[1] >> 6, code[1] & 7);
    let has_scale = mode != 3 && register == 4;
    let base_is_distance = has_scale && code.get(2).is_some_and(|scale| scale & 7 == 5);
    let distance = match mode {
        0 if register == 5 || base_is_distance => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    2 + usize::from(has_scale) + distance
}

/// Where the direct call that `code` ends with leads, if it ends with one: `return_address` is the address after it.
pub(crate) fn direct_target(code: &[u8], return_address: u64) -> Option<u64> {
    let call = code.len().checked_sub(5).map(|at| &code[at..]).filter(|call| call[0] == 0xe8)?;
    let distance = i32::from_le_bytes([call[1], call[2], call[3], call[4]]);
    Some(return_address.wrapping_add_signed(distance.into()))
}

/// The pointer that the call at the end of `code` goes by, if that is `call [rip + x]`.
pub(crate) fn pointer_target(code: &[u8], return_address: u64) -> Option<u64> {
    let call =
        code.len().checked_sub(6).map(|at| &code[at..]).filter(|call| call.starts_with(&[0xff, 0x15]))?;
    let distance = i32::from_le_bytes([call[2], call[3], call[4], call[5]]);
    Some(return_address.wrapping_add_signed(distance.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_their_bytes() {
        for call in [
            &[0xe8, 1, 2, 3, 4][..],
            &[0xff, 0xd0],                         // call rax
            &[0x41, 0xff, 0xd4],                   // call r12
            &[0xff, 0x15, 1, 2, 3, 4],             // call [rip + x]
            &[0xff, 0x50, 0x18],                   // call [rax + 24]
            &[0xff, 0x54, 0x24, 8],                // call [rsp + 8]
            &[0xff, 0x14, 0xc3],                   // call [rbx + rax * 8]
            &[0xff, 0x14, 0xc5, 1, 2, 3, 4],       // call [rax * 8 + x]
            &[0xff, 0x94, 0x24, 1, 2, 3, 4],       // call [rsp + x]
            &[0x90, 0x90, 0xff, 0x90, 1, 2, 3, 4], // call [rax + x]
        ] {
            assert!(ends_in_call(call), "{call:x?}");
        }
        for other in [
            &[][..],
            &[0xff],
            &[0x90; 7],
            &[0xe9, 1, 2, 3, 4],       // jmp
            &[0xff, 0xe0],             // jmp rax
            &[0xff, 0x15, 1, 2],       // cut off
            &[0xff, 0x75, 0x18],       // push [rbp + 24]
            &[0xe8, 1, 2, 3, 4, 0x90], // something follows
        ] {
            assert!(!ends_in_call(other), "{other:x?}");
        }
    }

    #[test]
    fn direct_calls_tell_where_they_lead() {
        assert_eq!(direct_target(&[0x90, 0xe8, 0xf0, 0xff, 0xff, 0xff], 0x1000), Some(0xff0));
        assert_eq!(direct_target(&[0xe8, 0, 1, 0, 0], 0x1000), Some(0x1100));
        assert_eq!(direct_target(&[0xff, 0xd0], 0x1000), None);
        assert_eq!(direct_target(&[0xe8, 0, 1, 0], 0x1000), None);
        assert_eq!(pointer_target(&[0x90, 0xff, 0x15, 0xf0, 0xff, 0xff, 0xff], 0x1000), Some(0xff0));
        assert_eq!(pointer_target(&[0xff, 0x25, 0, 1, 0, 0], 0x1000), None);
        assert_eq!(pointer_target(&[0x15, 0, 1, 0, 0], 0x1000), None);
    }
}
