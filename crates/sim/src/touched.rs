//! Which lines of memory slices use, in little memory: lists of differences to the line before, in the order of use.

/// log2 of the bytes of what counts as a line here. Caches with shorter lines lose some of it, with longer ones nothing.
pub(crate) const LINE_BITS: u32 = 6;

/// Lines that a thread used last for which the first-level cache is brought up to date: more than these have.
pub(crate) const RECENT: usize = 1536;

/// One use of a line, and two facts about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    /// The address, less its lowest [`LINE_BITS`].
    pub line: u64,
    pub writes: bool,
    /// It was among the last of its thread.
    pub is_recent: bool,
}

/// A list of uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Touched {
    bytes: Box<[u8]>,
}

impl Touched {
    /// Writes these uses down.
    pub(crate) fn new(touches: impl IntoIterator<Item = Touch>) -> Touched {
        let mut bytes = Vec::new();
        let mut before = 0u64;
        for touch in touches {
            let difference = touch.line.wrapping_sub(before) as i64;
            before = touch.line;
            // Lines have 58 bits: with the sign and two facts there is room for all.
            let zigzag = (difference << 1 ^ difference >> 63) as u64;
            let mut rest = zigzag << 2 | u64::from(touch.is_recent) << 1 | u64::from(touch.writes);
            while rest >= 0x80 {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        Touched { bytes: bytes.into_boxed_slice() }
    }

    /// Reads them again.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Touch> + use<'_> {
        let mut bytes = self.bytes.iter();
        let mut before = 0u64;
        std::iter::from_fn(move || {
            let mut value = 0u64;
            let mut shift = 0;
            loop {
                let byte = *bytes.next()?;
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let zigzag = value >> 2;
            before = before.wrapping_add_signed((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64));
            Some(Touch { line: before, writes: value & 1 == 1, is_recent: value & 2 == 2 })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_down_is_read_again(
            touches in prop::collection::vec((0u64..1 << 58, any::<bool>(), any::<bool>()), 0..50),
        ) {
            let touches: Vec<Touch> =
                touches.into_iter().map(|(line, writes, is_recent)| Touch { line, writes, is_recent }).collect();
            let read: Vec<Touch> = Touched::new(touches.iter().copied()).iter().collect();
            prop_assert_eq!(read, touches);
        }
    }
}
