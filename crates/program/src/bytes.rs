//! Reading a file that may be short, unreadable or hostile.

use crate::verdict::Reason;

/// Where a program file's bytes come from.
pub trait FileBytes {
    /// Reads up to `buf.len()` bytes at `offset` into the beginning of `buf`, like `pread`: the number of
    /// bytes read, 0 at the end of the file, `None` on an error.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Option<usize>;
}

impl FileBytes for [u8] {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Option<usize> {
        let rest = usize::try_from(offset).ok().and_then(|start| self.get(start..)).unwrap_or_default();
        let read = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..read), rest.get(..read)) {
            to.copy_from_slice(from);
        }
        Some(read)
    }
}

/// Reads until `buf` is full or the file ends, and returns what was read.
pub(crate) fn read_up_to<'b, F: FileBytes + ?Sized>(
    file: &F,
    offset: u64,
    buf: &'b mut [u8],
) -> Result<&'b [u8], Reason> {
    let mut filled = 0;
    while let Some(rest) = buf.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let space = rest.len();
        let at = offset.checked_add(filled as u64).ok_or(Reason::Damaged)?;
        match file.read_at(at, rest) {
            None => return Err(Reason::Unreadable),
            Some(0) => break,
            Some(read) => filled = filled.saturating_add(read.min(space)),
        }
    }
    Ok(buf.get(..filled).unwrap_or_default())
}

/// Reads exactly `N` bytes; a file that ends before is damaged.
pub(crate) fn read_array<const N: usize, F: FileBytes + ?Sized>(
    file: &F,
    offset: u64,
) -> Result<[u8; N], Reason> {
    let mut buf = [0; N];
    if read_up_to(file, offset, &mut buf)?.len() < N { Err(Reason::Damaged) } else { Ok(buf) }
}

/// The little-endian number of 2 bytes at `at`; 0 where the bytes end before.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    chunk_at(bytes, at).map_or(0, u16::from_le_bytes)
}

/// The little-endian number of 4 bytes at `at`; 0 where the bytes end before.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    chunk_at(bytes, at).map_or(0, u32::from_le_bytes)
}

/// The little-endian number of 8 bytes at `at`; 0 where the bytes end before.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    chunk_at(bytes, at).map_or(0, u64::from_le_bytes)
}

fn chunk_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// The part of a path after its last slash, cut to 64 bytes: longer than any name that is compared with.
pub(crate) struct BaseName {
    bytes: [u8; BaseName::LIMIT],
    len: usize,
}

impl BaseName {
    const LIMIT: usize = 64;
    /// Linux's PATH_MAX: no path that works is longer.
    const PATH_LIMIT: u64 = 4096;

    /// Reads the NUL-terminated path at `offset`, no further than `limit` bytes.
    pub(crate) fn read<F: FileBytes + ?Sized>(file: &F, offset: u64, limit: u64) -> Result<BaseName, Reason> {
        let mut name = BaseName { bytes: [0; BaseName::LIMIT], len: 0 };
        let limit = limit.min(BaseName::PATH_LIMIT);
        let mut done: u64 = 0;
        while done < limit {
            let mut chunk = [0; 64];
            let at = offset.checked_add(done).ok_or(Reason::Damaged)?;
            let chunk = read_up_to(file, at, &mut chunk)?;
            if chunk.is_empty() {
                break;
            }
            for &byte in chunk.iter().take(limit.saturating_sub(done).min(64) as usize) {
                match byte {
                    0 => return Ok(name),
                    b'/' => name.len = 0,
                    _ => name.push(byte),
                }
            }
            done = done.saturating_add(64);
        }
        Err(Reason::Damaged)
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte;
            self.len = self.len.saturating_add(1);
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte a call, as a signal-ridden `pread` may.
    struct Trickle<'a>(&'a [u8]);

    impl FileBytes for Trickle<'_> {
        fn read_at(&self, offset: u64, buf: &mut [u8]) -> Option<usize> {
            self.0.read_at(offset, buf.get_mut(..1)?)
        }
    }

    #[test]
    fn short_reads_are_put_together() {
        assert_eq!(read_array::<4, _>(&Trickle(b"abcdef"), 1), Ok(*b"bcde"));
        assert_eq!(read_array::<4, _>(&Trickle(b"abc"), 0), Err(Reason::Damaged));
    }

    #[test]
    fn a_base_name_follows_the_last_slash() {
        let text =
            b"/a/very/long/directory/name/that/spans/more/than/one/chunk/of/sixty/four/bytes/libx.so.1\0rest";
        let name = BaseName::read(text.as_slice(), 0, 4096).map(|name| name.as_bytes() == b"libx.so.1");
        assert_eq!(name, Ok(true));
        assert!(BaseName::read(b"no end".as_slice(), 0, 4096).is_err());
        assert!(BaseName::read(b"limit\0".as_slice(), 0, 5).is_err());
    }

    #[test]
    fn offsets_past_the_end_read_nothing() {
        assert_eq!(b"abc".as_slice().read_at(u64::MAX, &mut [0; 4]), Some(0));
    }
}
