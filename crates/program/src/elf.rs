//! The ELF header and program headers: what the kernel looks at.

use crate::bytes::{BaseName, FileBytes, read_array, read_up_to, u16_at, u32_at, u64_at};
use crate::verdict::Reason;

pub(crate) const MAGIC: &[u8] = b"\x7fELF";

const HEADER_SIZE: usize = 64;
const SEGMENT_SIZE: usize = 56;
/// Segments are read this many at a time, to keep system calls and stack small.
const SEGMENTS_PER_READ: usize = 4;
/// The kernel refuses program headers of more than 64 KiB in all (`load_elf_phdrs` in fs/binfmt_elf.c).
const SEGMENTS_LIMIT: u64 = 65_536 / SEGMENT_SIZE as u64;

const CLASS_32: u8 = 1;
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const TYPE_EXECUTABLE: u16 = 2;
const TYPE_SHARED: u16 = 3;

#[cfg(target_arch = "x86_64")]
const NATIVE: Native = Native {
    machine: 62,
    // i386, and x86-64 again for x32.
    machines_32: &[3, 62],
    loader: b"ld-linux-x86-64.so.2",
};
#[cfg(target_arch = "aarch64")]
const NATIVE: Native = Native { machine: 183, machines_32: &[40], loader: b"ld-linux-aarch64.so.1" };

/// The machine that this crate is compiled for.
struct Native {
    /// ELF's `e_machine`.
    machine: u16,
    /// Machines whose 32-bit programs may run here too.
    machines_32: &'static [u16],
    /// The file name of glibc's dynamic linker.
    loader: &'static [u8],
}

/// A 64-bit ELF program of this machine.
pub(crate) struct Elf<'f, F: FileBytes + ?Sized> {
    pub(crate) file: &'f F,
    segments_offset: u64,
    segments_count: u64,
}

/// One program header.
#[derive(Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) kind: u32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) file_size: u64,
}

impl Segment {
    pub(crate) const LOAD: u32 = 1;
    pub(crate) const DYNAMIC: u32 = 2;
    pub(crate) const INTERPRETER: u32 = 3;
}

/// Whose dynamic linker a program asks for.
pub(crate) enum Loader {
    Glibc,
    Musl,
    Other,
}

impl Loader {
    /// Recognised by file name, as distributions (NixOS, Guix) keep it in directories of their own.
    pub(crate) fn named(name: &[u8]) -> Loader {
        if name == NATIVE.loader {
            Loader::Glibc
        } else if name.starts_with(b"ld-musl-") {
            Loader::Musl
        } else {
            Loader::Other
        }
    }
}

impl<'f, F: FileBytes + ?Sized> Elf<'f, F> {
    /// Reads the header of a file that starts with the ELF magic.
    pub(crate) fn open(file: &'f F) -> Result<Elf<'f, F>, Reason> {
        let header: [u8; HEADER_SIZE] = match read_array(file, 0) {
            Err(Reason::Damaged) => return short_header(file),
            other => other?,
        };
        check_machine(&header)?;
        if !matches!(u16_at(&header, 16), TYPE_EXECUTABLE | TYPE_SHARED) {
            return Err(Reason::NotAProgram);
        }
        let segments_count = u64::from(u16_at(&header, 56));
        if usize::from(u16_at(&header, 54)) != SEGMENT_SIZE || segments_count > SEGMENTS_LIMIT {
            return Err(Reason::Damaged);
        }
        Ok(Elf { file, segments_offset: u64_at(&header, 32), segments_count })
    }

    /// The first segment for which `wanted` holds.
    pub(crate) fn segment(&self, wanted: impl Fn(&Segment) -> bool) -> Result<Option<Segment>, Reason> {
        let mut index: u64 = 0;
        while index < self.segments_count {
            let mut buf = [0; SEGMENT_SIZE * SEGMENTS_PER_READ];
            let count = self.segments_count.saturating_sub(index).min(SEGMENTS_PER_READ as u64);
            let bytes = buf.get_mut(..(count as usize).saturating_mul(SEGMENT_SIZE)).unwrap_or_default();
            let size = bytes.len();
            let at = self
                .segments_offset
                .checked_add(index.saturating_mul(SEGMENT_SIZE as u64))
                .ok_or(Reason::Damaged)?;
            let bytes = read_up_to(self.file, at, bytes)?;
            if bytes.len() < size {
                return Err(Reason::Damaged);
            }
            let found = bytes
                .chunks_exact(SEGMENT_SIZE)
                .map(|bytes| Segment {
                    kind: u32_at(bytes, 0),
                    offset: u64_at(bytes, 8),
                    address: u64_at(bytes, 16),
                    file_size: u64_at(bytes, 32),
                })
                .find(|segment| wanted(segment));
            if found.is_some() {
                return Ok(found);
            }
            index = index.saturating_add(count);
        }
        Ok(None)
    }

    /// The dynamic linker that `PT_INTERP` names; `None` where there is no `PT_INTERP`.
    pub(crate) fn loader(&self) -> Result<Option<Loader>, Reason> {
        let Some(segment) = self.segment(|segment| segment.kind == Segment::INTERPRETER)? else {
            return Ok(None);
        };
        let name = BaseName::read(self.file, segment.offset, segment.file_size)?;
        Ok(Some(Loader::named(name.as_bytes())))
    }

    /// The offset in the file of what is loaded at `address`.
    pub(crate) fn offset_of(&self, address: u64) -> Result<u64, Reason> {
        let distance = |segment: &Segment| address.checked_sub(segment.address);
        self.segment(|segment| {
            segment.kind == Segment::LOAD && distance(segment).is_some_and(|far| far < segment.file_size)
        })?
        .and_then(|segment| segment.offset.checked_add(distance(&segment)?))
        .ok_or(Reason::Damaged)
    }
}

/// A 32-bit header is 12 bytes shorter than ours; nothing else that short can be a program.
fn short_header<T, F: FileBytes + ?Sized>(file: &F) -> Result<T, Reason> {
    check_machine(&read_array::<52, _>(file, 0)?)?;
    Err(Reason::Damaged)
}

fn check_machine(header: &[u8]) -> Result<(), Reason> {
    let class = header.get(4).copied();
    let little = header.get(5).copied() == Some(LITTLE_ENDIAN);
    let machine = u16_at(header, 18);
    let machine = if little { machine } else { machine.swap_bytes() };
    match class {
        Some(CLASS_64) if little && machine == NATIVE.machine => Ok(()),
        Some(CLASS_32) if little && NATIVE.machines_32.contains(&machine) => Err(Reason::Bits32),
        Some(CLASS_32 | CLASS_64) => Err(Reason::ForeignMachine { machine }),
        _ => Err(Reason::Damaged),
    }
}
