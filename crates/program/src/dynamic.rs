//! The dynamic section: what the dynamic linker looks at.

use crate::bytes::{BaseName, FileBytes, read_array, read_up_to, u16_at, u32_at, u64_at};
use crate::elf::{Elf, Segment};
use crate::verdict::Reason;

const ENTRY_SIZE: usize = 16;
const ENTRIES_PER_READ: usize = 16;
/// Far above what exists: the largest programs have a few hundred entries.
const ENTRIES_LIMIT: u64 = 4096;
/// Hash chains of a sound table have a handful of symbols; a hostile one may be a circle.
const CHAIN_LIMIT: usize = 1024;
const SYMBOL_SIZE: u64 = 24;
/// Longer than any symbol's name that is looked for, with its NUL.
const NAME_LIMIT: usize = 32;
/// Large C++ programs refer to a few thousand symbols.
const REFERENCES_LIMIT: u32 = 16_384;

const TAG_END: u64 = 0;
const TAG_NEEDED: u64 = 1;
const TAG_HASH: u64 = 4;
const TAG_STRINGS: u64 = 5;
const TAG_SYMBOLS: u64 = 6;
const TAG_SONAME: u64 = 14;
const TAG_GNU_HASH: u64 = 0x6fff_fef5;

/// Where the tables lie that the dynamic section names; all numbers are offsets in the file.
pub(crate) struct Dynamic<'e, 'f, F: FileBytes + ?Sized> {
    elf: &'e Elf<'f, F>,
    section: Segment,
    strings: Option<u64>,
    symbols: Option<u64>,
    hash: Option<Hash>,
}

/// The table by which the dynamic linker finds a symbol. A file without one defines nothing that the
/// dynamic linker could find.
#[derive(Clone, Copy)]
enum Hash {
    Gnu(u64),
    SysV(u64),
}

impl<'e, 'f, F: FileBytes + ?Sized> Dynamic<'e, 'f, F> {
    /// Reads the dynamic section; `None` where the program has none.
    pub(crate) fn open(elf: &'e Elf<'f, F>) -> Result<Option<Dynamic<'e, 'f, F>>, Reason> {
        let Some(section) = elf.segment(|segment| segment.kind == Segment::DYNAMIC)? else {
            return Ok(None);
        };
        let mut dynamic = Dynamic { elf, section, strings: None, symbols: None, hash: None };
        let (mut strings, mut symbols, mut gnu_hash, mut hash) = (None, None, None, None);
        dynamic.each_entry(|tag, value| {
            match tag {
                TAG_STRINGS => strings = Some(value),
                TAG_SYMBOLS => symbols = Some(value),
                TAG_GNU_HASH => gnu_hash = Some(value),
                TAG_HASH => hash = Some(value),
                _ => {}
            }
            Ok(false)
        })?;
        dynamic.strings = dynamic.located(strings)?;
        dynamic.symbols = dynamic.located(symbols)?;
        dynamic.hash = match (gnu_hash, hash) {
            (Some(address), _) => Some(Hash::Gnu(elf.offset_of(address)?)),
            (None, Some(address)) => Some(Hash::SysV(elf.offset_of(address)?)),
            (None, None) => None,
        };
        Ok(Some(dynamic))
    }

    fn located(&self, address: Option<u64>) -> Result<Option<u64>, Reason> {
        address.map(|address| self.elf.offset_of(address)).transpose()
    }

    /// Calls `visit` with each (tag, value) until it says true; whether it did.
    fn each_entry(&self, mut visit: impl FnMut(u64, u64) -> Result<bool, Reason>) -> Result<bool, Reason> {
        let entries = (self.section.file_size >> ENTRY_SIZE.trailing_zeros()).min(ENTRIES_LIMIT);
        let mut index: u64 = 0;
        while index < entries {
            let mut buf = [0; ENTRY_SIZE * ENTRIES_PER_READ];
            let at = index
                .checked_mul(ENTRY_SIZE as u64)
                .and_then(|far| self.section.offset.checked_add(far))
                .ok_or(Reason::Damaged)?;
            let bytes = read_up_to(self.elf.file, at, &mut buf)?;
            if bytes.len() < ENTRY_SIZE {
                return Err(Reason::Damaged);
            }
            let rest = usize::try_from(entries.saturating_sub(index)).unwrap_or(usize::MAX);
            for entry in bytes.chunks_exact(ENTRY_SIZE).take(rest) {
                match (u64_at(entry, 0), u64_at(entry, 8)) {
                    (TAG_END, _) => return Ok(false),
                    (tag, value) if visit(tag, value)? => return Ok(true),
                    _ => {}
                }
            }
            index = index.saturating_add(ENTRIES_PER_READ as u64);
        }
        Ok(false)
    }

    /// The file names of the libraries that the program needs, in order: `wanted` is called with each until
    /// it gives something.
    pub(crate) fn needed<T>(&self, wanted: impl Fn(&[u8]) -> Option<T>) -> Result<Option<T>, Reason> {
        self.named(TAG_NEEDED, wanted)
    }

    /// The same for the name that the file gives itself as a library.
    pub(crate) fn own_name<T>(&self, wanted: impl Fn(&[u8]) -> Option<T>) -> Result<Option<T>, Reason> {
        self.named(TAG_SONAME, wanted)
    }

    fn named<T>(&self, wanted_tag: u64, wanted: impl Fn(&[u8]) -> Option<T>) -> Result<Option<T>, Reason> {
        let mut found = None;
        self.each_entry(|tag, value| {
            if tag == wanted_tag {
                let strings = self.strings.ok_or(Reason::Damaged)?;
                let at = strings.checked_add(value).ok_or(Reason::Damaged)?;
                found = wanted(BaseName::read(self.elf.file, at, u64::MAX)?.as_bytes());
            }
            Ok(found.is_some())
        })?;
        Ok(found)
    }

    /// Whether the program itself defines the dynamic symbol `name`.
    pub(crate) fn defines(&self, name: &[u8]) -> Result<bool, Reason> {
        match self.hash {
            Some(Hash::Gnu(table)) => self.in_gnu_hash(table, name),
            Some(Hash::SysV(table)) => self.in_sysv_hash(table, name, |symbol| symbol.defined),
            None => Ok(false),
        }
    }

    /// Whether the program refers to the dynamic symbol `name` without defining it.
    pub(crate) fn refers_to(&self, name: &[u8]) -> Result<bool, Reason> {
        match self.hash {
            // Undefined symbols come first and are not hashed.
            Some(Hash::Gnu(table)) => {
                let first = self.word(element(table, 4, 0, 0)?)?;
                for index in 1..first.min(REFERENCES_LIMIT) {
                    let symbol = self.symbol(index)?;
                    if !symbol.defined && self.is_named(&symbol, name)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Some(Hash::SysV(table)) => self.in_sysv_hash(table, name, |symbol| !symbol.defined),
            None => Ok(false),
        }
    }

    /// `DT_GNU_HASH`: four words (buckets, first symbol, Bloom words, shift), the Bloom filter, the buckets,
    /// then one word a symbol: its hash, the lowest bit set at the end of a bucket's run.
    fn in_gnu_hash(&self, table: u64, name: &[u8]) -> Result<bool, Reason> {
        let header: [u8; 16] = read_array(self.elf.file, table)?;
        let (buckets, first) = (u32_at(&header, 0), u32_at(&header, 4));
        let hash = gnu_hash(name);
        let Some(bucket) = hash.checked_rem(buckets) else { return Ok(false) };
        let buckets_at = element(table, 16, u64::from(u32_at(&header, 8)), 8)?;
        let mut index = self.word(element(buckets_at, 0, u64::from(bucket), 4)?)?;
        if index < first {
            return Ok(false);
        }
        let chain_at = element(buckets_at, 0, u64::from(buckets), 4)?;
        for _ in 0..CHAIN_LIMIT {
            let word = self.word(element(chain_at, 0, u64::from(index.saturating_sub(first)), 4)?)?;
            if word | 1 == hash | 1 {
                let symbol = self.symbol(index)?;
                if symbol.defined && self.is_named(&symbol, name)? {
                    return Ok(true);
                }
            }
            if word & 1 == 1 {
                return Ok(false);
            }
            index = index.checked_add(1).ok_or(Reason::Damaged)?;
        }
        Err(Reason::Damaged)
    }

    /// `DT_HASH`: numbers of buckets and of symbols, the buckets, then for each symbol the next of its
    /// bucket; 0 ends.
    fn in_sysv_hash(
        &self,
        table: u64,
        name: &[u8],
        wanted: impl Fn(&Symbol) -> bool,
    ) -> Result<bool, Reason> {
        let buckets = self.word(table)?;
        let Some(bucket) = sysv_hash(name).checked_rem(buckets) else { return Ok(false) };
        let mut index = self.word(element(table, 8, u64::from(bucket), 4)?)?;
        let chain_at = element(table, 8, u64::from(buckets), 4)?;
        for _ in 0..CHAIN_LIMIT {
            if index == 0 {
                return Ok(false);
            }
            let symbol = self.symbol(index)?;
            if wanted(&symbol) && self.is_named(&symbol, name)? {
                return Ok(true);
            }
            index = self.word(element(chain_at, 0, u64::from(index), 4)?)?;
        }
        Err(Reason::Damaged)
    }

    fn word(&self, at: u64) -> Result<u32, Reason> {
        read_array(self.elf.file, at).map(u32::from_le_bytes)
    }

    fn symbol(&self, index: u32) -> Result<Symbol, Reason> {
        let symbols = self.symbols.ok_or(Reason::Damaged)?;
        let bytes: [u8; SYMBOL_SIZE as usize] =
            read_array(self.elf.file, element(symbols, 0, u64::from(index), SYMBOL_SIZE)?)?;
        Ok(Symbol { name: u32_at(&bytes, 0), defined: u16_at(&bytes, 6) != 0 })
    }

    fn is_named(&self, symbol: &Symbol, name: &[u8]) -> Result<bool, Reason> {
        let strings = self.strings.ok_or(Reason::Damaged)?;
        let mut buf = [0; NAME_LIMIT];
        let found = read_up_to(self.elf.file, element(strings, 0, u64::from(symbol.name), 1)?, &mut buf)?;
        Ok(found.strip_prefix(name).and_then(<[u8]>::first) == Some(&0))
    }
}

struct Symbol {
    /// Its place in the string table.
    name: u32,
    defined: bool,
}

/// The offset of element `index`, of `size` bytes each, behind `skip` bytes from `base`.
fn element(base: u64, skip: u64, index: u64, size: u64) -> Result<u64, Reason> {
    index
        .checked_mul(size)
        .and_then(|far| far.checked_add(skip))
        .and_then(|far| base.checked_add(far))
        .ok_or(Reason::Damaged)
}

/// The hash of `DT_GNU_HASH` (Bernstein's, times 33).
fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381_u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

/// The hash of `DT_HASH` (System V ABI, "Hash Table").
fn sysv_hash(name: &[u8]) -> u32 {
    name.iter().fold(0_u32, |hash, &byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_agree_with_published_values() {
        assert_eq!(gnu_hash(b"printf"), 0x156b_2bb8);
        assert_eq!(gnu_hash(b""), 0x0000_1505);
        assert_eq!(sysv_hash(b"printf"), 0x0779_05a6);
        assert_eq!(sysv_hash(b"jdfgsdhfsdfsd 6445dsfsd7fg/*/+bfjsdgf%$^"), 248_446_350);
    }
}
