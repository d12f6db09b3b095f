//! One ELF file: its sections, its build id, and the links that it holds to other files.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use object::{CompressionFormat, Object, ObjectSection, ObjectSegment};

use crate::bytes::Bytes;

/// Largest section that is decompressed, in bytes. The largest known programs stay below it.
const MAX_DECOMPRESSED: u64 = 2 << 30;

/// No section of real debug information compresses by more than this factor (zlib cannot do more than 1032).
const MAX_COMPRESSION: u64 = 1100;

/// Memory for the dictionary of an xz stream, in KiB. `xz -9` needs 65 MiB.
const MAX_XZ_DICTIONARY_KIB: u32 = 256 << 10;

/// An ELF file of either width and byte order.
///
/// The section headers are read anew at each call, which costs some microseconds; what is worth keeping, the caller
/// keeps. Segments are kept here: each frame of each stack is looked up in them.
#[derive(Debug, Clone)]
pub(crate) struct Elf {
    bytes: Bytes,
    segments: Arc<[Segment]>,
}

/// A part of the file that is mapped into memory (`PT_LOAD`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    /// First address, as the file states it.
    pub(crate) address: u64,
    /// Bytes in memory.
    pub(crate) size: u64,
    /// First byte in the file.
    pub(crate) offset: u64,
    /// Bytes in the file; memory beyond them is zero.
    pub(crate) file_size: u64,
    pub(crate) is_executable: bool,
}

/// The separate file with debug information that a file names (`.gnu_debuglink`).
pub(crate) struct DebugLink {
    pub(crate) file_name: OsString,
    pub(crate) crc: u32,
}

/// The file with shared debug information (`.gnu_debugaltlink`, written by dwz).
pub(crate) struct SupplementaryLink {
    pub(crate) path: OsString,
    pub(crate) build_id: Vec<u8>,
}

impl Elf {
    /// Maps a file and reads its header.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::new(Bytes::map(path)?)
    }

    pub(crate) fn new(bytes: Bytes) -> io::Result<Self> {
        let segments = match object::File::parse(&*bytes) {
            Ok(view) => view.segments().map(|segment| Segment::of(&segment)).collect(),
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
        };
        Ok(Self { bytes, segments })
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The parser's view. Nothing if the file changed under us, which [`Elf::open`] could not know.
    pub(crate) fn view(&self) -> Option<object::File<'_>> {
        object::File::parse(&*self.bytes).ok()
    }

    /// Where in the file this name, which a view gave out, stands.
    pub(crate) fn position_of(&self, name: &[u8]) -> Option<(u64, u32)> {
        let offset = (name.as_ptr() as usize).checked_sub(self.bytes.as_ptr() as usize)?;
        let inside = offset.checked_add(name.len())? <= self.bytes.len();
        inside.then_some(())?;
        Some((offset as u64, u32::try_from(name.len()).ok()?))
    }

    /// The text at a position from [`Elf::position_of`].
    pub(crate) fn text_at(&self, offset: u64, size: u32) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.bytes.get(start..start.checked_add(size as usize)?)
    }

    pub(crate) fn is_little_endian(&self) -> bool {
        self.view().is_none_or(|view| view.is_little_endian())
    }

    pub(crate) fn is_64_bit(&self) -> bool {
        self.view().is_some_and(|view| view.is_64())
    }

    pub(crate) fn build_id(&self) -> Option<Vec<u8>> {
        self.view()?.build_id().ok()?.map(<[u8]>::to_vec)
    }

    /// The checksum that debug links use.
    pub(crate) fn crc(&self) -> u32 {
        crc32fast::hash(&self.bytes)
    }

    /// A section's bytes, decompressed where they need it; nothing if it is absent, empty or unreadable.
    pub(crate) fn section(&self, name: &str) -> Option<Bytes> {
        let view = self.view()?;
        let section = view.section_by_name(name)?;
        let place = section.compressed_file_range().ok()?;
        if place.compressed_size == 0 {
            return None;
        }
        if place.format == CompressionFormat::None {
            return self.bytes.part(place.offset, place.uncompressed_size);
        }
        let bound = place.compressed_size.saturating_mul(MAX_COMPRESSION).min(MAX_DECOMPRESSED);
        if place.uncompressed_size > bound {
            return None;
        }
        Some(Bytes::from(section.uncompressed_data().ok()?.into_owned()))
    }

    pub(crate) fn has_section(&self, name: &str) -> bool {
        self.view()
            .and_then(|view| {
                Some(view.section_by_name(name)?.compressed_file_range().ok()?.compressed_size > 0)
            })
            .unwrap_or(false)
    }

    /// The addresses, as the file states them, that a section takes up.
    pub(crate) fn section_addresses(&self, name: &str) -> Option<Range<u64>> {
        let view = self.view()?;
        let section = view.section_by_name(name)?;
        Some(section.address()..section.address().checked_add(section.size())?)
    }

    /// The code from `start` to `end` (as the file states addresses), as far as it lies in one segment with `inside`;
    /// and the address of its first byte.
    pub(crate) fn code(&self, start: u64, inside: u64, end: u64) -> Option<(u64, &[u8])> {
        let mut segments = self.segments.iter();
        let segment = segments.find(|segment| segment.is_executable && segment.has_in_file(inside))?;
        let start = start.max(segment.address);
        let end = end.min(segment.address.saturating_add(segment.file_size));
        let first = segment.offset.checked_add(start - segment.address)?;
        let bytes = self.text_at(first, u32::try_from(end.checked_sub(start)?).ok()?)?;
        Some((start, bytes))
    }

    pub(crate) fn debug_link(&self) -> Option<DebugLink> {
        let view = self.view()?;
        let (name, crc) = view.gnu_debuglink().ok()??;
        // A link is a bare file name. One with a directory in it was made by hand and may lead anywhere.
        if name.is_empty() || name.contains(&b'/') {
            return None;
        }
        Some(DebugLink { file_name: OsStr::from_bytes(name).to_owned(), crc })
    }

    pub(crate) fn supplementary_link(&self) -> Option<SupplementaryLink> {
        let view = self.view()?;
        let (path, build_id) = view.gnu_debugaltlink().ok()??;
        Some(SupplementaryLink { path: OsStr::from_bytes(path).to_owned(), build_id: build_id.to_vec() })
    }

    /// The miniature ELF file with a symbol table that some distributions ship inside (`.gnu_debugdata`, xz).
    pub(crate) fn miniature(&self) -> Option<Elf> {
        let packed = self.section(".gnu_debugdata")?;
        let bound = (packed.len() as u64).saturating_mul(MAX_COMPRESSION).min(MAX_DECOMPRESSED);
        let stream = lzma_rust2::XzReader::new_mem_limit(&*packed, false, MAX_XZ_DICTIONARY_KIB);
        let mut bytes = Vec::new();
        stream.take(bound).read_to_end(&mut bytes).ok()?;
        Self::new(Bytes::from(bytes)).ok()
    }
}

impl Segment {
    fn of<'data>(segment: &impl ObjectSegment<'data>) -> Self {
        let (offset, file_size) = segment.file_range();
        let is_executable = segment.permissions().executable();
        Self { address: segment.address(), size: segment.size(), offset, file_size, is_executable }
    }

    fn has_in_file(&self, address: u64) -> bool {
        address >= self.address && address - self.address < self.file_size
    }
}
