//! The program's own code that was not executed, from its files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use holdup_recording::{CodeModule, TranslatedBlock};
use holdup_trace::instructions::CodeClass;

/// Bytes of a file are looked at only up to here.
const LARGEST: u64 = 256 << 20;

/// A piece of code, by where it was mapped.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub start: u64,
    pub bytes: Vec<u8>,
}

/// The program's own code as its files have it, where they are still those that were executed.
pub(crate) fn own_code(modules: &[CodeModule], blocks: &[TranslatedBlock]) -> Vec<Piece> {
    let own = modules.iter().filter(|module| module.class == CodeClass::Own);
    own.filter_map(|module| piece(module, blocks)).collect()
}

fn piece(module: &CodeModule, blocks: &[TranslatedBlock]) -> Option<Piece> {
    let path = Path::new(OsStr::from_bytes(&module.path));
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    if size > LARGEST {
        return None;
    }
    let file = fs::read(path).ok()?;
    let begin = usize::try_from(module.offset).ok()?;
    let length = usize::try_from(module.end.checked_sub(module.start)?).ok()?;
    let end = begin.checked_add(length)?.min(file.len());
    let bytes = file.get(begin..end)?.to_vec();
    let piece = Piece { start: module.start, bytes };
    let mut executed = blocks.iter().filter(|block| (module.start..module.end).contains(&block.address));
    executed
        .all(|block| piece.at(block.address).is_some_and(|found| found.starts_with(&block.bytes)))
        .then_some(piece)
}

impl Piece {
    /// Copies what it has of the bytes from an address on.
    pub(crate) fn copy_to(&self, start: u64, bytes: &mut [u8]) {
        let begin = start.max(self.start);
        let at = usize::try_from(begin - start).unwrap_or(usize::MAX);
        if let (Some(from), Some(to)) = (self.at(begin), bytes.get_mut(at..)) {
            let length = from.len().min(to.len());
            to[..length].copy_from_slice(&from[..length]);
        }
    }

    /// The bytes from an address on, if it is in here.
    pub(crate) fn at(&self, address: u64) -> Option<&[u8]> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        self.bytes.get(at..)
    }
}
