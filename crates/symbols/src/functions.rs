//! The functions of a file that no process has mapped.

use std::io;
use std::ops::Range;
use std::path::Path;

use object::{Object, ObjectSymbol, SymbolKind};

use crate::elf::Elf;
use crate::mapping::Mapping;

/// The functions of an executable or library, by its symbol tables.
#[derive(Debug, Default)]
pub struct Functions {
    /// Where the file's code is at the addresses that it states.
    pub mappings: Vec<Mapping>,
    /// In the order of their addresses.
    pub all: Vec<Function>,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name, as the linker knows it.
    pub name: Vec<u8>,
    /// Its addresses, as the file states them.
    pub addresses: Range<u64>,
    /// Where its first byte is in the file.
    pub offset: u64,
}

impl Functions {
    /// Those of a file that are no larger than so many bytes.
    ///
    /// # Errors
    /// If the file cannot be read, or is none of the kind.
    pub fn of(path: &Path, most_bytes: u64) -> io::Result<Self> {
        let elf = Elf::open(path)?;
        let Some(view) = elf.view() else { return Ok(Self::default()) };
        let code = || elf.segments().iter().filter(|segment| segment.is_executable);
        let mappings = code().map(|segment| Mapping {
            path: path.to_owned(),
            start: segment.address,
            end: segment.address.saturating_add(segment.file_size),
            offset: segment.offset,
            build_id: None,
        });
        let function = |symbol: object::Symbol<'_, '_>| {
            let (address, size) = (symbol.address(), symbol.size());
            let is_one = symbol.kind() == SymbolKind::Text && (1..=most_bytes).contains(&size);
            let segment = code().find(|segment| {
                is_one
                    && segment.address <= address
                    && address.checked_add(size).is_some_and(|end| end <= segment.address + segment.file_size)
            })?;
            Some(Function {
                name: symbol.name_bytes().ok()?.to_vec(),
                addresses: address..address + size,
                offset: address - segment.address + segment.offset,
            })
        };
        let mut all: Vec<Function> =
            view.symbols().chain(view.dynamic_symbols()).filter_map(function).collect();
        all.sort_by_key(|function| (function.addresses.start, function.addresses.end));
        all.dedup_by_key(|function| function.addresses.start);
        Ok(Self { mappings: mappings.collect(), all })
    }
}
