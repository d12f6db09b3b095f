//! The file format, version 1.
//!
//! All numbers are little-endian. The file begins with a header of 32 bytes:
//!
//! | bytes | what |
//! |---|---|
//! | 0–15 | the text `holdup recording` |
//! | 16–19 | version (u32) |
//! | 20–31 | zero |
//!
//! Then come frames:
//!
//! | bytes | what |
//! |---|---|
//! | 0–3 | the text `HFRM` |
//! | 4 | what the frame is ([`FrameKind`]) |
//! | 5 | 1 if its content is compressed (zstd), else 0 |
//! | 6–7 | zero |
//! | 8–11 | the process that it is about: 0, 1, … in the order in which they were seen |
//! | 12–15 | length of the content in bytes |
//! | 16–19 | length of the stored content in bytes |
//! | 20–23 | CRC-32 (IEEE) of bytes 4 to 19 and of the stored content |
//! | 24– | the stored content |
//!
//! The content of most frames is JSON, as the types in [`crate::facts`] say. That of [`FrameKind::Chunk`] is the
//! number of the thread (u32), the number of the chunk among those of its thread (u32), and words (u64) that hold
//! [`holdup_trace::wire`] records. A chunk may come in several frames with the same two numbers; they follow each
//! other. That of [`FrameKind::Instructions`] is the number of the stream (u32), the number of the piece among those of
//! its stream (u32), and entries of [`holdup_trace::instructions`]. That of [`FrameKind::Kernel`] is words (u64) that hold [`holdup_trace::kernel`] records, of all processes. A
//! reader skips frames whose kind it does not know. A change that an older reader
//! would misread raises the version.
//!
//! Example: an empty file is the header alone, 32 bytes:
//! `68 6f 6c 64 75 70 20 72 65 63 6f 72 64 69 6e 67  01 00 00 00  00 00 00 00 00 00 00 00 00 00 00 00`.

/// The first 16 bytes of a recording.
pub const MAGIC: &[u8; 16] = b"holdup recording";
/// The version that this code writes, and the newest that it reads.
pub const VERSION: u32 = 1;
/// Bytes of the file's header.
pub const HEADER: usize = 32;
/// The first bytes of a frame.
pub const FRAME_MAGIC: &[u8; 4] = b"HFRM";
/// Bytes of a frame's header.
pub const FRAME_HEADER: usize = 24;
/// No frame's content is longer: a length above it is damage.
pub const LONGEST_CONTENT: u32 = 256 << 20;

/// What a frame holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FrameKind {
    /// [`crate::facts::Session`].
    Session = 1,
    /// [`crate::facts::ProcessStart`].
    ProcessStart = 2,
    /// Wire records of one thread.
    Chunk = 3,
    /// [`crate::facts::ClockSample`].
    Clock = 4,
    /// [`crate::facts::ProcessEnd`].
    ProcessEnd = 5,
    /// [`crate::facts::Names`].
    Names = 6,
    /// [`crate::facts::SessionEnd`].
    SessionEnd = 7,
    /// [`crate::facts::SharedObject`].
    SharedObject = 8,
    /// Records of the kernel collector.
    Kernel = 9,
    /// [`crate::facts::ImageNames`].
    ImageNames = 10,
    /// [`crate::facts::Environment`].
    Environment = 11,
    /// A piece of a stream of the instruction front-end.
    Instructions = 12,
    /// [`crate::facts::BlockNames`].
    BlockNames = 13,
    /// [`crate::facts::Alone`].
    Alone = 14,
    /// [`crate::facts::SourceText`].
    SourceText = 15,
    /// [`crate::facts::OtherRuns`].
    OtherRuns = 16,
}

impl FrameKind {
    /// The kind with this code.
    pub const fn from_code(code: u8) -> Option<FrameKind> {
        Some(match code {
            1 => FrameKind::Session,
            2 => FrameKind::ProcessStart,
            3 => FrameKind::Chunk,
            4 => FrameKind::Clock,
            5 => FrameKind::ProcessEnd,
            6 => FrameKind::Names,
            7 => FrameKind::SessionEnd,
            8 => FrameKind::SharedObject,
            9 => FrameKind::Kernel,
            10 => FrameKind::ImageNames,
            11 => FrameKind::Environment,
            12 => FrameKind::Instructions,
            13 => FrameKind::BlockNames,
            14 => FrameKind::Alone,
            15 => FrameKind::SourceText,
            16 => FrameKind::OtherRuns,
            _ => return None,
        })
    }
}

/// The header of a file.
pub(crate) fn header() -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..16].copy_from_slice(MAGIC);
    header[16..20].copy_from_slice(&VERSION.to_le_bytes());
    header
}

/// The checksum of a frame, over its header behind the magic and before the checksum, and its stored content.
pub(crate) fn checksum(header: &[u8], stored: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[4..20]);
    hasher.update(stored);
    hasher.finalize()
}
