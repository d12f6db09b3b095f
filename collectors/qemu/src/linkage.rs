//! Procedure linkage tables: the stubs through which calls go from one module to another.

use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{ffi::OsStr, fs};

use object::read::elf::ElfFile64;
use object::read::{Object, ObjectSection, ReadCache};

/// What a stub does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Linkage {
    /// It jumps through a slot: to the target, once that is known.
    Slot,
    /// It asks the dynamic linker for the target: by the slot's number, or with what all of its kind have in common.
    Lookup,
}

/// What a block of a linkage table does, or one that looks like it.
pub(crate) fn linkage(code: &[u8]) -> Option<Linkage> {
    let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
    let (kind, jump) = match code {
        [0x68, _, _, _, _, after @ ..] | [0xff, 0x35, _, _, _, _, after @ ..] => (Linkage::Lookup, after),
        _ => (Linkage::Slot, code),
    };
    match (kind, jump.strip_prefix(&[0xf2]).unwrap_or(jump)) {
        (_, [0xff, 0x25, _, _, _, _]) | (Linkage::Lookup, [0xe9, _, _, _, _]) => Some(kind),
        _ => None,
    }
}

/// Where the linkage tables of a file are in it. `None` if it does not say: then what looks like a stub is taken for one. (The
/// program itself has such code too, for a call through a table that is the last thing a function does.)
pub(crate) fn tables(path: &[u8]) -> Option<Vec<Range<u64>>> {
    let file = fs::File::open(Path::new(OsStr::from_bytes(path))).ok()?;
    let cache = ReadCache::new(file);
    let elf = ElfFile64::<object::Endianness, _>::parse(&cache).ok()?;
    let mut sections = elf.sections().peekable();
    sections.peek()?;
    let tables = sections.filter(|section| section.name_bytes().is_ok_and(|name| name.starts_with(b".plt")));
    Some(tables.filter_map(|table| table.file_range()).map(|(from, length)| from..from + length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linkage_stubs_of_all_linkers_are_known() {
        for (stub, expected) in [
            (&[0xff, 0x25, 1, 2, 3, 0][..], Some(Linkage::Slot)),
            (&[0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 1, 2, 3, 0], Some(Linkage::Slot)),
            (&[0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 1, 2, 3, 0], Some(Linkage::Slot)),
            (&[0x68, 7, 0, 0, 0, 0xe9, 0, 0, 0, 0], Some(Linkage::Lookup)),
            (&[0xf3, 0x0f, 0x1e, 0xfa, 0x68, 7, 0, 0, 0, 0xf2, 0xe9, 0, 0, 0, 0], Some(Linkage::Lookup)),
            (&[0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 1, 2, 3, 4], Some(Linkage::Lookup)),
            (&[0xff, 0xe0], None),
            (&[0xe9, 0, 0, 0, 0], None),
            (&[0x90, 0xff, 0x25, 1, 2, 3, 0], None),
            (&[], None),
        ] {
            assert_eq!(linkage(stub), expected, "{stub:02x?}");
        }
    }

    #[test]
    fn the_tables_of_a_file_are_found() {
        let ourselves = std::env::current_exe().unwrap();
        let tables = tables(ourselves.as_os_str().as_bytes()).unwrap();
        let content = fs::read(ourselves).unwrap();
        // Every linked program calls something through one, if only in the parts that the compiler brings.
        let stubs = tables.iter().flat_map(|table| {
            let table = &content[table.start as usize..table.end as usize];
            table.windows(10).filter(|code| linkage(&code[..6]) == Some(Linkage::Slot))
        });
        assert!(stubs.count() > 0);
        assert_eq!(super::tables(b"/dev/null"), None);
    }
}
