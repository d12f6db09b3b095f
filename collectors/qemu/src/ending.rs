//! How a block ends: just enough decoding of its last instruction to follow calls and returns.

/// What the last instruction of a block does with control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Ending {
    /// Anything else: it falls through, branches on a condition, or calls the kernel.
    Falls = 0,
    /// A call, direct or indirect.
    Call,
    /// A return.
    Return,
    /// An unconditional jump, direct or indirect.
    Jump,
    /// A string instruction that repeats: the emulator translates its further rounds as a block of their own.
    Repeats,
}

/// How the instruction with these bytes ends a block.
pub(crate) fn ending(instruction: &[u8]) -> Ending {
    let mut repeats = false;
    let mut rest = instruction;
    while let Some((first, after)) = rest.split_first() {
        match first {
            0xf2 | 0xf3 => repeats = true,
            // Segments, sizes, LOCK and REX.
            0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0x40..=0x4f => {}
            _ => break,
        }
        rest = after;
    }
    match rest {
        [0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf, ..] if repeats => Ending::Repeats,
        [0xe8, ..] => Ending::Call,
        [0xc2 | 0xc3 | 0xca | 0xcb, ..] => Ending::Return,
        [0xe9 | 0xeb, ..] => Ending::Jump,
        [0xff, form, ..] => match form >> 3 & 7 {
            2 | 3 => Ending::Call,
            4 | 5 => Ending::Jump,
            _ => Ending::Falls,
        },
        _ => Ending::Falls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_instructions_are_told_apart() {
        for (bytes, expected) in [
            (&[0xe8, 0, 0, 0, 0][..], Ending::Call),
            (&[0xff, 0xd0], Ending::Call),
            (&[0x41, 0xff, 0x54, 0x24, 0x08], Ending::Call),
            (&[0xff, 0x15, 0, 0, 0, 0], Ending::Call),
            (&[0xc3], Ending::Return),
            (&[0xf3, 0xc3], Ending::Return),
            (&[0xc2, 8, 0], Ending::Return),
            (&[0xeb, 0xfe], Ending::Jump),
            (&[0x3e, 0xff, 0xe0], Ending::Jump),
            (&[0x74, 2], Ending::Falls),
            (&[0x0f, 0x84, 0, 0, 0, 0], Ending::Falls),
            (&[0x0f, 0x05], Ending::Falls),
            (&[0xff, 0xc0], Ending::Falls),
            (&[0xf3, 0x48, 0xa5], Ending::Repeats),
            (&[0xf3, 0xaa], Ending::Repeats),
            (&[0xaa], Ending::Falls),
            (&[0xf3, 0x90], Ending::Falls),
            (&[0xf3, 0x0f, 0x6f, 0x06], Ending::Falls),
            (&[], Ending::Falls),
        ] {
            assert_eq!(ending(bytes), expected, "{bytes:02x?}");
        }
    }
}
