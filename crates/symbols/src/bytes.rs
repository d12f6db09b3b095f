//! Bytes of a mapped file, or decompressed from one, that keep their owner alive.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use stable_deref_trait::{CloneStableDeref, StableDeref};

enum Owner {
    Mapped(Mmap),
    Heap(Vec<u8>),
}

impl Owner {
    fn all(&self) -> &[u8] {
        match self {
            Owner::Mapped(map) => map,
            Owner::Heap(bytes) => bytes,
        }
    }
}

/// A part of a file's bytes. Clones share the owner.
///
/// Invariant: `range` lies within the owner's bytes.
#[derive(Clone)]
pub(crate) struct Bytes {
    owner: Arc<Owner>,
    range: Range<usize>,
}

impl Bytes {
    /// Maps a whole file.
    ///
    /// Only regular files are opened: a name out of a debug link could lead to a pipe, where opening would wait for
    /// ever, or to a device.
    pub(crate) fn map(path: &Path) -> io::Result<Self> {
        let kind = std::fs::metadata(path)?;
        if !kind.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        if kind.len() == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "empty file"));
        }
        let file = File::open(path)?;
        // SAFETY: the mapping is read-only and private to this process. Its bytes may change if somebody writes to the
        // file; every reader here takes them for hostile and checks each access. Truncation is the limit that the
        // crate's documentation names.
        let map = unsafe { Mmap::map(&file)? };
        let range = 0..map.len();
        Ok(Self { owner: Arc::new(Owner::Mapped(map)), range })
    }

    /// The `size` bytes from `offset` on, or nothing if they are not all there.
    pub(crate) fn part(&self, offset: u64, size: u64) -> Option<Self> {
        let start = self.range.start.checked_add(usize::try_from(offset).ok()?)?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        (end <= self.range.end).then(|| Self { owner: self.owner.clone(), range: start..end })
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self { owner: Arc::new(Owner::Heap(bytes)), range }
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.owner.all()[self.range.clone()]
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.range.len())
    }
}

// SAFETY: the slice lives in a mapping or in a heap block that the `Arc` keeps and nobody can change or move; moving
// a `Bytes` moves only the pointer to it.
unsafe impl StableDeref for Bytes {}

// SAFETY: a clone holds the same `Arc` and the same range, so it gives the same slice.
unsafe impl CloneStableDeref for Bytes {}
