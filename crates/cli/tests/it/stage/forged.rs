//! Recordings taken apart and put together with other contents and right checksums, and the numbers that decide which.

use holdup_recording::format::{FRAME_HEADER, FRAME_MAGIC, HEADER};

/// Numbers that look random and are the same for the same seed: splitmix64.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// The numbers up to `length` in another order.
    pub(crate) fn order(&mut self, length: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..length).collect();
        for last in (1..length).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}

/// A frame of a recording, its content unpacked.
#[derive(Clone)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) process: u32,
    pub(crate) content: Vec<u8>,
}

/// The frames of a recording up to its end, or to the first that is not whole.
pub(crate) fn frames(bytes: &[u8]) -> Vec<Frame> {
    let word =
        |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let mut found = Vec::new();
    let mut rest = bytes.get(HEADER..).unwrap_or_default();
    while rest.len() >= FRAME_HEADER && rest.starts_with(FRAME_MAGIC) {
        let (length, stored) = (word(rest, 12) as usize, word(rest, 16) as usize);
        let Some(content) = rest.get(FRAME_HEADER..FRAME_HEADER + stored) else { break };
        let content = match rest[5] & 1 {
            0 => content.to_vec(),
            _ => match zstd::bulk::decompress(content, length) {
                Ok(content) => content,
                Err(_) => break,
            },
        };
        found.push(Frame { kind: rest[4], process: word(rest, 8), content });
        rest = &rest[FRAME_HEADER + stored..];
    }
    found
}

/// A recording of these frames, with right lengths and checksums.
pub(crate) fn file_of(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = [&b"holdup recording\x01\0\0\0"[..], &[0; 12]].concat();
    for frame in frames {
        let length = (frame.content.len() as u32).to_le_bytes();
        let head = [&[frame.kind, 0, 0, 0][..], &frame.process.to_le_bytes(), &length, &length].concat();
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&head);
        checksum.update(&frame.content);
        bytes.extend(FRAME_MAGIC);
        bytes.extend(head);
        bytes.extend(checksum.finalize().to_le_bytes());
        bytes.extend(&frame.content);
    }
    bytes
}
