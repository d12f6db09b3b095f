//! What the instruction front-end tells: marks inside the emulated program, and streams of blocks, accesses and counts.
//!
//! **Marks.** The injected library says what it does at each hook by a system call with the number [`MARK_CALL`], which
//! the kernel refuses and which the emulator shows to our plugin. Its first argument is a [`MarkCode`], the others are the
//! mark's fields, as the code's documentation names them. They are in the thread's stream at the right instruction, so
//! they need no clock.
//!
//! **Streams.** The plugin has one stream for each thread and one more, [`TABLES`], for what belongs to all threads:
//! modules and blocks. A stream is a row of bytes, handed over in buffers of a file that the plugin and the recorder
//! share ([`StreamFile`]); a buffer holds whole entries. All numbers in it are prefix varints ([`put`], [`take`]). An
//! entry begins with a number whose lowest two bits are its [`Entry`], the rest is its head:
//!
//! | entry | head | what follows |
//! |---|---|---|
//! | [`Entry::Block`] | block | for each access of the block's table, in order: zigzag of the difference to the last address of the same access in the same thread |
//! | [`Entry::Partial`] | block | instructions executed; number of accesses; for each: its index in the block's table, and the difference as above |
//! | [`Entry::Mark`] | [`MarkCode`] | five numbers: the mark's fields |
//! | [`Entry::Other`] | [`Other`] | as its variants say |
//!
//! A partial block is one that was left before its end (a fault), or whose accesses were not those of its table. A string
//! instruction that repeats is *one* instruction, whatever the number of its rounds, with an access for each element: its
//! block is always partial if there was more than one round. Where the rounds are too many for one entry there are more of
//! the same block, with 0 instructions each. An access that is not in the block's table has the number of the table's
//! accesses plus its description (as in the definition of a block) for its index, and its address as the difference to 0.
//!
//! In the fast mode there are no block entries: [`Other::Counts`] entries sum up what was executed since the last such
//! entries, and stand before each mark that ends or begins a section ([`MarkCode::cuts`]), at the thread's end, and before a
//! signal to the process itself, an exec or an exit. Several that follow each other add up: large ones are cut. Code between
//! two blocks of the program's own is transparent, as if it were not there:
//!
//! - a library or a runtime that was called and returns gives an edge from the calling block to the block at the return
//!   address (the rest of a wait in between changes nothing);
//! - a library that calls back gives an edge from the calling block to the block that is called; when that returns, the
//!   library's instructions are the calling block's again;
//! - what a runtime calls (a thread's start function, the function of a parallel region) comes from nowhere, so that the
//!   thread that is in the program anyway has no edge that others do not have;
//! - linkage stubs lead from the call to the function called.
//!
//! The library's instructions are charged to the calling block, but not those that it executes for a runtime. How often a
//! block was executed is the sum of the edges into it and of how often it came from nowhere.
//!
//! In the full mode blocks of libraries are in the stream, those of runtimes and of the dynamic linker, what runtimes call,
//! and what is executed between [`MarkCode::WaitBegin`] and [`MarkCode::WaitEnd`] are not.

use crate::atomic::{AtomicU32, AtomicU64};

mod marks;

pub use marks::{MARK_FIELDS, Mark, MarkCode};

/// The number of the system call that tells a mark: "MARK" in ASCII.
pub const MARK_CALL: usize = 0x4D41_524B;
/// The version of everything in this module.
pub const VERSION: u32 = 1;
/// So many functions that may be barriers are marked in one another; those that are called deeper are not.
pub const DEEPEST_MEETING: usize = 32;
/// The stream of what belongs to all threads.
pub const TABLES: u32 = u32::MAX;
/// What an entry of a stream is: the lowest two bits of its first number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Entry {
    /// A block was executed whole.
    Block = 0,
    /// A block was executed in part, or with other accesses than usual.
    Partial = 1,
    /// A mark.
    Mark = 2,
    /// One of [`Other`].
    Other = 3,
}

/// Further entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Other {
    /// In [`TABLES`]: a module with code. Its number comes from its place in the stream: 0, 1, … Follow: first address,
    /// end, offset in the file, [`CodeClass`], length of the path, its bytes.
    Module = 0,
    /// In [`TABLES`]: a block, as the emulator translated it; numbers as above. The same address has several blocks if its
    /// code was changed, or if it was translated in different lengths. Follow: address, module + 1 (0 for
    /// none: code made at run time), [`CodeClass`], number of instructions, length in bytes, the bytes, number of
    /// accesses, and for each its instruction's index × 16 + log2 of its size × 2 + 1 if it stores.
    Block = 1,
    /// Counts since the last such entry. Follow: number of edges; for each: zigzag of the source block minus the last
    /// entry's, target block, how often. The edge from nowhere (to a thread's first block, and to one that a runtime or a
    /// returning signal handler leads to) has no entry. Then number of
    /// blocks with executions; for each: zigzag of the block minus the last one's, how often it was executed. Then the
    /// number of calling blocks; for each: zigzag as before, instructions executed in libraries for it. Then
    /// instructions of the program's own code, of libraries (also those that no block called), and of code that is not counted (runtimes, waits).
    Counts = 2,
    /// Something is dropped from here on, marks excepted: 1, why ([`Loss`]).
    Lost = 3,
    /// The process executes another program, or forks; not followed further. Follow: system call number.
    Leaves = 4,
    /// What the thread touched before what follows, and which was of no interest: pages that nobody had touched before, and the
    /// lines that it touched last. Follow: which such list of the thread this is a part of (0, 1, …), which part of that,
    /// the number of pages, for each zigzag of its number minus the last one's; the number of lines, in the order of their
    /// last use, for each zigzag of its number minus the last one's, × 2, + 1 if it was written to. Differences begin with
    /// 0 in each part.
    Touched = 5,
}

/// log2 of the bytes of a line of [`Other::Touched`].
pub const LINE_BITS: u32 = 6;
/// log2 of the bytes of a page of [`Other::Touched`].
pub const PAGE_BITS: u32 = 12;

/// Why something is not in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Loss {
    /// The limit on instructions was reached.
    Instructions = 0,
    /// The limit on bytes was reached.
    Bytes = 1,
    /// The recorder has left.
    RecorderLeft = 2,
    /// More threads, blocks or modules than there is room for.
    Room = 3,
}

/// Whose code a module or block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum CodeClass {
    /// The program's: the executable, and libraries that came with it. Its edges are events.
    Own = 0,
    /// A library of the system. Its instructions are charged to the calling block.
    Library = 1,
    /// Not counted: runtimes of threads and OpenMP, the dynamic linker, our own library.
    Runtime = 2,
    /// Made at run time.
    Generated = 3,
}

/// Bytes of a buffer.
pub const BUFFER_SIZE: usize = 256 * 1024;
/// Bytes of its content.
pub const BUFFER_BYTES: usize = BUFFER_SIZE - 64;
/// The first word of a [`StreamFile`].
pub const STREAM_MAGIC: u64 = u64::from_le_bytes(*b"hldpinst");
/// The name of the file in a session's directory.
pub const STREAM_FILE: &str = "instructions";

/// The first page of the file that plugin and recorder share; [`Buffer`]s follow from [`BUFFERS_OFFSET`] on. Buffers are
/// taken and handed over as chunks are (see [`crate::shared`]): the plugin takes one off `free`, writes `stream` and
/// `sequence`, raises `used` with each whole entry and puts the buffer on `full` when it has no more room, or when the
/// thread ends. The recorder sets `used` to 0 before it puts a buffer on `free`. So if the plugin dies, what is in no stack
/// and has `used` above 0 is the last piece of its stream. Pieces come in the order of `sequence`, not of arrival. Unlike a program in its own time the emulated one can
/// wait: where no buffer is free, the plugin sleeps on `free_bell` until one is, or the recorder has left.
#[repr(C)]
pub struct StreamFile {
    /// [`STREAM_MAGIC`].
    pub magic: u64,
    /// [`VERSION`].
    pub version: u32,
    /// How many buffers there are.
    pub buffers: u32,
    /// Kernel id of the recorder.
    pub recorder: AtomicU32,
    /// Kernel id of the process whose plugin writes; 0 until one does.
    pub writer: AtomicU32,
    /// 1 when the recorder has left.
    pub closed: AtomicU32,
    /// Raised, and woken as a futex, when a buffer is full.
    pub full_bell: AtomicU32,
    /// Raised, and woken as a futex, when a buffer is free.
    pub free_bell: AtomicU32,
    /// Buffers that can be written.
    pub free: AtomicU64,
    /// Buffers that can be read.
    pub full: AtomicU64,
    /// Instructions executed so far, of all threads: for the progress shown. Raised with each buffer.
    pub instructions: AtomicU64,
    /// 1 once the plugin works: a program that never sets it ran without.
    pub works: AtomicU32,
}

/// Where the buffers begin.
pub const BUFFERS_OFFSET: usize = 4096;

/// A piece of a stream.
#[repr(C)]
pub struct Buffer {
    /// The next in its stack: index + 1, or 0.
    pub next: AtomicU32,
    /// The stream: the order of the thread in the plugin, or [`TABLES`].
    pub stream: AtomicU32,
    /// Which of the stream's buffers it is, from 0.
    pub sequence: AtomicU32,
    /// Bytes that hold whole entries.
    pub used: AtomicU32,
    reserved: [u64; 6],
    /// The entries. Written by the one thread that took the buffer, read by the recorder after it was handed over.
    pub bytes: [core::cell::UnsafeCell<u8>; BUFFER_BYTES],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Buffer>() == BUFFER_SIZE);
const _: () = assert!(size_of::<StreamFile>() <= BUFFERS_OFFSET);

/// The most bytes that a number takes.
pub const LONGEST_NUMBER: usize = 9;

/// Writes a number at the beginning of `to`; gives its length in bytes. The number of trailing zeros of the first byte
/// is the number of bytes that follow it; eight of them means that the value follows as it is.
///
/// # Panics
/// If `to` is shorter than [`LONGEST_NUMBER`].
#[inline]
pub fn put(to: &mut [u8], value: u64) -> usize {
    let to: &mut [u8; LONGEST_NUMBER] = to.first_chunk_mut().expect("room for the longest number");
    let bits = 64 - (value | 1).leading_zeros() as usize;
    if bits > 56 {
        to[0] = 0;
        to[1..].copy_from_slice(&value.to_le_bytes());
        return LONGEST_NUMBER;
    }
    let length = bits.div_ceil(7);
    let word = (value << 1 | 1) << (length - 1);
    to[..8].copy_from_slice(&word.to_le_bytes());
    length
}

/// Reads the number at the beginning of `from`; gives it and its length in bytes. `None` where `from` ends before.
#[inline]
pub fn take(from: &[u8]) -> Option<(u64, usize)> {
    if let Some(word) = from.first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let length = word.trailing_zeros() as usize + 1;
        if length <= 8 {
            return Some((word << (64 - 8 * length) >> (64 - 7 * length), length));
        }
    }
    take_short(from)
}

/// As [`take`], for the end of a row and for numbers of nine bytes.
#[cold]
fn take_short(from: &[u8]) -> Option<(u64, usize)> {
    let length = from.first()?.trailing_zeros() as usize + 1;
    let bytes = from.get(..length)?;
    let mut word = [0; 8];
    if length == LONGEST_NUMBER {
        word.copy_from_slice(&bytes[1..]);
        return Some((u64::from_le_bytes(word), length));
    }
    word[..length].copy_from_slice(bytes);
    Some((u64::from_le_bytes(word) >> length, length))
}

/// A signed number as an unsigned one that is small if it is near 0.
#[inline]
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The number that [`zigzag`] made this of.
#[inline]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_with_their_length() {
        let mut values: std::vec::Vec<u64> =
            (0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1, (1 << bit) + 1]).collect();
        values.push(u64::MAX);
        for value in values {
            let mut bytes = [0xa5; 32];
            let length = put(&mut bytes, value);
            assert_eq!(take(&bytes), Some((value, length)), "{value}");
            assert_eq!(take(&bytes[..length]), Some((value, length)), "{value} at the end");
            assert_eq!(take(&bytes[..length - 1]), None, "{value} cut off");
        }
        assert_eq!(put(&mut [0; 9], 127), 1);
        assert_eq!(put(&mut [0; 9], 128), 2);
    }

    #[test]
    fn signs_come_back() {
        for value in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(zigzag(-1), 1);
    }
}
