//! The symbol tables of a module, sorted by address.

use object::{Object, ObjectSymbol, SymbolKind};

use crate::demangle::demangle;
use crate::elf::Elf;

/// How far back from an address the search for a symbol that covers it goes. Symbols nest little: a table inside
/// another symbol, a label inside a function.
const MAX_STEPS_BACK: usize = 64;

/// Function and data symbols of one module, from all files that belong to it.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    files: Vec<Elf>,
    functions: Vec<Entry>,
    data: Vec<Entry>,
    /// Whether there is more than the dynamic table, which lists only what is exported.
    pub(crate) complete: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    address: u64,
    size: u64,
    /// Smaller is better: global before weak before local, a typed symbol before a bare label.
    rank: u8,
    file: u8,
    name_offset: u64,
    name_size: u32,
}

/// A symbol that covers an address.
pub(crate) struct Symbol {
    pub(crate) name: String,
    /// As the linker knows it.
    pub(crate) is_mangled: bool,
    pub(crate) address: u64,
    pub(crate) size: u64,
}

impl SymbolTable {
    /// Reads the tables of these files: the module's own, its separate debug file, its miniature file.
    pub(crate) fn read(files: Vec<Elf>) -> Self {
        let mut table = Self::default();
        for (index, elf) in files.iter().enumerate().take(usize::from(u8::MAX)) {
            let Some(view) = elf.view() else { continue };
            table.complete |= view.symbol_table().is_some_and(|symbols| {
                use object::ObjectSymbolTable;
                symbols.symbols().any(|symbol| symbol.kind() == SymbolKind::Text)
            });
            let mut add = |symbol: object::Symbol<'_, '_>| table.add(elf, index as u8, &symbol);
            view.symbols().for_each(&mut add);
            view.dynamic_symbols().for_each(&mut add);
        }
        for entries in [&mut table.functions, &mut table.data] {
            entries.sort_by_key(|entry| (entry.address, entry.rank, entry.file, entry.name_offset));
        }
        table.files = files;
        table
    }

    fn add(&mut self, elf: &Elf, file: u8, symbol: &object::Symbol<'_, '_>) {
        let (typed, entries) = match symbol.kind() {
            SymbolKind::Text => (true, &mut self.functions),
            SymbolKind::Data => (true, &mut self.data),
            // Hand-written assembly often has labels without a type: code, if anything.
            SymbolKind::Unknown | SymbolKind::Label => (false, &mut self.functions),
            _ => return,
        };
        if symbol.is_undefined() || symbol.address() == 0 {
            return;
        }
        let Ok(name) = symbol.name_bytes() else { return };
        // `$x` and `$d` are the linker's marks for code and data on other architectures.
        if name.is_empty() || name[0] == b'$' {
            return;
        }
        let Some((name_offset, name_size)) = elf.position_of(name) else { return };
        let binding = if symbol.is_local() {
            2
        } else if symbol.is_weak() {
            1
        } else {
            0
        };
        let rank = binding + if typed { 0 } else { 4 };
        entries.push(Entry {
            address: symbol.address(),
            size: symbol.size(),
            rank,
            file,
            name_offset,
            name_size,
        });
    }

    pub(crate) fn function_at(&self, address: u64) -> Option<Symbol> {
        self.covering(&self.functions, address, true)
    }

    /// Where the function begins that the linker knows by this name. O(n).
    pub(crate) fn address_of(&self, name: &[u8]) -> Option<u64> {
        let has_it = |entry: &&Entry| {
            let file = self.files.get(usize::from(entry.file));
            file.and_then(|file| file.text_at(entry.name_offset, entry.name_size)) == Some(name)
        };
        self.functions.iter().find(has_it).map(|entry| entry.address)
    }

    pub(crate) fn data_at(&self, address: u64) -> Option<Symbol> {
        self.covering(&self.data, address, false)
    }

    /// The best symbol that covers the address. A symbol without a size reaches to the next one, if `open`, and if all
    /// symbols are known: in a stripped library what follows an exported label may be any other function.
    fn covering(&self, entries: &[Entry], address: u64, open: bool) -> Option<Symbol> {
        let after = entries.partition_point(|entry| entry.address <= address);
        let nearest = entries[..after].last()?.address;
        let mut best: Option<&Entry> = None;
        for entry in entries[..after].iter().rev().take(MAX_STEPS_BACK) {
            if best.is_some_and(|best| best.address != entry.address) {
                break;
            }
            let inside = match entry.size {
                0 => (open && self.complete && entry.address == nearest) || entry.address == address,
                size => address - entry.address < size,
            };
            if inside && best.is_none_or(|best| (best.size == 0, best.rank) >= (entry.size == 0, entry.rank))
            {
                best = Some(entry);
            }
        }
        let entry = best?;
        let raw = self.files.get(usize::from(entry.file))?.text_at(entry.name_offset, entry.name_size)?;
        let raw = String::from_utf8_lossy(raw);
        let is_mangled = raw.starts_with("_Z") || raw.starts_with("_R");
        Some(Symbol { name: demangle(&raw), is_mangled, address: entry.address, size: entry.size })
    }
}
