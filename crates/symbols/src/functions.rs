//! The functions of a file that no process has mapped.

use std::io;
use std::ops::Range;
use std::path::Path;

use object::{Object, ObjectSymbol, SymbolKind};

use crate::elf::Elf;
use crate::mapping::Mapping;

/// The functions of an executable or library, by its symbol tables.
#[derive(Debug)]
pub struct Functions {
    elf: Elf,
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
    /// Where its first byte is in the file, which need not be that long.
    pub offset: u64,
}

impl Functions {
    /// Those of a file that are no larger than so many bytes.
    ///
    /// # Errors
    /// If the file cannot be read, or is none of the kind.
    pub fn of(path: &Path, most_bytes: u64) -> io::Result<Self> {
        let elf = Elf::open(path)?;
        let view = elf.view().ok_or(io::ErrorKind::InvalidData)?;
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
                    && address
                        .checked_add(size)
                        .is_some_and(|end| end <= segment.address.saturating_add(segment.file_size))
            })?;
            Some(Function {
                name: symbol.name_bytes().ok()?.to_vec(),
                addresses: address..address + size,
                offset: segment.offset.checked_add(address - segment.address)?,
            })
        };
        let mut all: Vec<Function> =
            view.symbols().chain(view.dynamic_symbols()).filter_map(function).collect();
        all.sort_by_key(|function| (function.addresses.start, function.addresses.end));
        all.dedup_by_key(|function| function.addresses.start);
        let mappings = mappings.collect();
        Ok(Self { elf, mappings, all })
    }

    /// The instructions of one of them.
    pub fn code(&self, function: &Function) -> Option<&[u8]> {
        let size = function.addresses.end - function.addresses.start;
        self.elf.text_at(function.offset, u32::try_from(size).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_of_a_file_have_its_bytes() {
        let own = std::env::current_exe().expect("this program");
        let functions = Functions::of(&own, 1 << 20).expect("an executable");
        let is_this = |function: &&Function| {
            String::from_utf8_lossy(&function.name).contains("the_functions_of_a_file_have_its_bytes")
        };
        let function = functions.all.iter().find(is_this).expect("this function");
        let code = functions.code(function).expect("its code");
        let size = function.addresses.end - function.addresses.start;
        assert_eq!(code.len() as u64, size);
        let file = std::fs::read(&own).expect("its file");
        assert_eq!(code, &file[function.offset as usize..][..size as usize]);
        let within = |mapping: &Mapping| (mapping.start..mapping.end).contains(&function.addresses.start);
        assert!(functions.mappings.iter().any(within));
        assert!(Functions::of(Path::new("/dev/null"), 2048).is_err());
    }
}
