//! The function table that Go puts into each program, stripped or not: `.gopclntab`.
//!
//! It has what Go's own stack walker needs, so it serves for stripped programs in the place of symbols, lines and call
//! frame information, and it alone knows where a stack ends, or goes on elsewhere. The layout is that of Go 1.18 and later
//! (`src/runtime/symtab.go`, `src/internal/abi/symtab.go`): a header, names, files, tables of values by address, and for
//! each function its entry. The names of inlined functions stand elsewhere, and are not found: only their lines are known.

use std::ops::Range;

use crate::bytes::Bytes;
use crate::demangle::shortened;
use crate::elf::Elf;

/// The header's magic number since Go 1.18, and since Go 1.20, which put one more field into functions.
const MAGIC_1_18: u32 = 0xffff_fff0;
const MAGIC_1_20: u32 = 0xffff_fff1;

/// Bytes of an entry in the table of functions.
const ENTRY: u64 = 8;

/// A function whose caller is no function: the stack ends (`abi.FuncFlagTopFrame`).
const TOP_FRAME: u8 = 1;

/// A function that switches stacks: what is above its frame is not its caller (`abi.FuncFlagSPWrite`).
const WRITES_SP: u8 = 2;

/// Which of the tables that hold data for the runtime tells of inlined calls (`abi.PCDATA_InlTreeIndex`).
const INLINED_CALLS: u64 = 2;

/// Steps of one table of values by address.
const MAX_STEPS: usize = 1 << 20;

/// The function table of one program.
pub(crate) struct GoTable {
    bytes: Bytes,
    /// The address, as the file states it, that functions are counted from.
    text: u64,
    count: u64,
    /// Where in `bytes` the parts begin.
    names: u64,
    units: u64,
    files: u64,
    values: u64,
    functions: u64,
    /// Where in a function the flags stand.
    flags: u64,
}

/// One function.
pub(crate) struct GoFunction<'a> {
    table: &'a GoTable,
    /// Its addresses, as the file states them.
    pub(crate) range: Range<u64>,
    /// Where in the table it is described.
    at: u64,
}

impl GoTable {
    pub(crate) fn read(elf: &Elf) -> Option<Self> {
        let bytes = elf.section(".gopclntab").or_else(|| elf.section(".data.rel.ro.gopclntab"))?;
        Self::parse(bytes, elf.section_addresses(".text")?.start)
    }

    /// `text` is where the program's code begins, for tables that do not say.
    fn parse(bytes: Bytes, text: u64) -> Option<Self> {
        let word = |index: u64| number(&bytes, 8 + 8 * index);
        let magic = half(&bytes, 0)?;
        let (quantum, pointer) = (*bytes.get(6)?, *bytes.get(7)?);
        if !matches!(magic, MAGIC_1_18 | MAGIC_1_20) || quantum != 1 || pointer != 8 {
            return None;
        }
        // A position-independent program has the address filled in by the dynamic linker.
        let text = word(2).filter(|text| *text != 0).unwrap_or(text);
        let parts = [word(3)?, word(4)?, word(5)?, word(6)?, word(7)?];
        let [names, units, files, values, functions] = parts;
        let flags = if magic == MAGIC_1_18 { 37 } else { 41 };
        let count = word(0)?.min(bytes.len() as u64 / ENTRY);
        Some(Self { text, count, names, units, files, values, functions, flags, bytes })
    }

    /// The function that an address (as the file states it) is in.
    pub(crate) fn at(&self, stated: u64) -> Option<GoFunction<'_>> {
        let wanted = u32::try_from(stated.checked_sub(self.text)?).ok()?;
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle)? <= wanted { low = middle + 1 } else { high = middle }
        }
        let index = low.checked_sub(1)?;
        // The end of the last function stands as a start of one more.
        let (start, end) = (self.entry(index)?, self.entry(index + 1)?);
        let description = half(&self.bytes, self.functions.checked_add(index * ENTRY + 4)?)?;
        let range = self.text.checked_add(start.into())?..self.text.checked_add(end.into())?;
        let at = self.functions.checked_add(description.into())?;
        range.contains(&stated).then_some(GoFunction { table: self, range, at })
    }

    fn entry(&self, index: u64) -> Option<u32> {
        half(&self.bytes, self.functions.checked_add(index.checked_mul(ENTRY)?)?)
    }

    fn text_at(&self, offset: u64) -> Option<String> {
        let rest = self.bytes.get(usize::try_from(offset).ok()?..)?;
        let rest = &rest[..rest.len().min(crate::demangle::MAX_NAME_BYTES + 1)];
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let text = String::from_utf8_lossy(&rest[..end]);
        (!text.is_empty()).then(|| shortened(&text).to_owned())
    }
}

impl GoFunction<'_> {
    fn field(&self, offset: u64) -> Option<u32> {
        half(&self.table.bytes, self.at.checked_add(offset)?)
    }

    fn has_flag(&self, flag: u8) -> bool {
        let at = self.at.checked_add(self.table.flags).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.table.bytes.get(at)).is_some_and(|flags| flags & flag != 0)
    }

    /// Whether nothing can be said of what is above its frame.
    pub(crate) fn is_outermost(&self) -> bool {
        self.has_flag(TOP_FRAME) || self.has_flag(WRITES_SP)
    }

    /// Whether the instruction at this address came from a function that was inlined: file and line are that one's.
    pub(crate) fn is_inlined(&self, stated: u64) -> bool {
        let has_table = self.field(28).is_some_and(|count| u64::from(count) > INLINED_CALLS);
        let first = self.table.flags + 3;
        has_table && self.value(first + 4 * INLINED_CALLS, stated).is_some_and(|index| index >= 0)
    }

    pub(crate) fn name(&self) -> Option<String> {
        self.table.text_at(self.table.names.checked_add(self.field(4)?.into())?)
    }

    /// Bytes between the stack pointer and the return address, before the instruction at this address.
    pub(crate) fn frame_size(&self, stated: u64) -> Option<u64> {
        u64::try_from(self.value(16, stated)?).ok()
    }

    /// The line of the instruction at this address.
    pub(crate) fn line(&self, stated: u64) -> Option<u32> {
        u32::try_from(self.value(24, stated)?).ok().filter(|line| *line > 0)
    }

    /// The source file of the instruction at this address.
    pub(crate) fn file(&self, stated: u64) -> Option<String> {
        let index = u64::from(self.field(32)?) + u64::try_from(self.value(20, stated)?).ok()?;
        let offset = half(&self.table.bytes, self.table.units.checked_add(index.checked_mul(4)?)?)?;
        self.table.text_at(self.table.files.checked_add(offset.into())?)
    }

    /// What a table of values has for an address: pairs of a difference of values, zigzag, and a number of bytes for which
    /// the value holds. The value begins at −1, the addresses with the function.
    fn value(&self, field: u64, stated: u64) -> Option<i64> {
        let offset = self.field(field).filter(|offset| *offset != 0)?;
        let start = usize::try_from(self.table.values.checked_add(offset.into())?).ok()?;
        let mut rest = self.table.bytes.get(start..)?;
        let (mut value, mut address) = (-1_i64, self.range.start);
        for step in 0..MAX_STEPS {
            let difference = variable(&mut rest)?;
            if difference == 0 && step > 0 {
                return None;
            }
            value += i64::from((difference >> 1) as i32 ^ -((difference & 1) as i32));
            address = address.checked_add(variable(&mut rest)?.into())?;
            if stated < address {
                return Some(value);
            }
        }
        None
    }
}

fn half(bytes: &[u8], offset: u64) -> Option<u32> {
    let first = usize::try_from(offset).ok()?;
    Some(u32::from_le_bytes(*bytes.get(first..)?.first_chunk()?))
}

fn number(bytes: &[u8], offset: u64) -> Option<u64> {
    let first = usize::try_from(offset).ok()?;
    Some(u64::from_le_bytes(*bytes.get(first..)?.first_chunk()?))
}

/// A number of seven bits a byte, the lowest first.
fn variable(rest: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    for shift in (0..32).step_by(7) {
        let (first, after) = rest.split_first()?;
        *rest = after;
        number |= u32::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A table of two functions: `main.work` of 0x40 bytes at the text's beginning, and `runtime.mcall` of 0x20 after it.
    fn table() -> Vec<u8> {
        let mut parts: [Vec<u8>; 4] = Default::default();
        let [names, units, files, values] = &mut parts;
        names.extend(b"\0main.work\0runtime.mcall\0");
        units.extend([1_u32, 9].map(u32::to_le_bytes).concat());
        files.extend(b"\0main.go\0asm.s\0");
        // Offset 0 is no table. Then: 0 for 4 bytes, 24 for 0x3c; file 0; line 7 for 0x10, 5 for 0x30.
        values.push(0);
        let (frames, file, lines) = (1, 6, 9);
        values.extend([2, 4, 48, 0x3c, 0]);
        values.extend([2, 0x40, 0]);
        values.extend([16, 0x10, 3, 0x30, 0]);
        let mut functions = [0_u32, 28, 0x40, 28 + 48, 0x60, 0].map(u32::to_le_bytes).concat();
        functions.resize(28, 0);
        for (entry, name, unit, flags) in [(0_u32, 1_u32, 0_u32, 0_u8), (0x40, 11, 1, WRITES_SP)] {
            let fields = [entry, name, 0, 0, frames, file, lines, 0, unit, 3];
            functions.extend(fields.map(u32::to_le_bytes).concat());
            functions.extend([0, flags, 0, 0]);
            functions.resize(functions.len().next_multiple_of(4) + 4, 0);
        }
        let mut offset = 72;
        let mut header = vec![2_u64, 2, 0x1000];
        for part in &parts {
            header.push(offset);
            offset += part.len() as u64;
        }
        header.push(offset);
        let mut bytes = MAGIC_1_20.to_le_bytes().to_vec();
        bytes.extend([0, 0, 1, 8]);
        bytes.extend(header.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(parts.concat());
        bytes.extend(functions);
        bytes
    }

    #[test]
    fn functions_have_names_lines_and_frames() {
        let table = GoTable::parse(table().into(), 0).unwrap();
        let work = table.at(0x1004).unwrap();
        assert_eq!((work.range.clone(), work.name().as_deref()), (0x1000..0x1040, Some("main.work")));
        assert_eq!((work.frame_size(0x1003), work.frame_size(0x1004)), (Some(0), Some(24)));
        assert_eq!((work.line(0x100f), work.line(0x1010), work.line(0x1040)), (Some(7), Some(5), None));
        assert_eq!(work.file(0x1020).as_deref(), Some("main.go"));
        assert!(!work.is_outermost() && !work.is_inlined(0x1004));
        let switch = table.at(0x105f).unwrap();
        assert_eq!((switch.name().as_deref(), switch.is_outermost()), (Some("runtime.mcall"), true));
        assert_eq!(switch.file(0x1040).as_deref(), Some("asm.s"));
        assert!(table.at(0x0fff).is_none() && table.at(0x1060).is_none());
    }

    proptest! {
        #[test]
        fn damage_is_survived(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            cut in any::<prop::sample::Index>(),
            address in prop_oneof![0xff0..0x1080_u64, any::<u64>()],
        ) {
            let mut bytes = table();
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.truncate(cut.index(bytes.len() * 2) + 1);
            let Some(table) = GoTable::parse(bytes.into(), 0x1000) else { return Ok(()) };
            let Some(function) = table.at(address) else { return Ok(()) };
            prop_assert!(function.range.contains(&address));
            let _ = (function.name(), function.file(address), function.line(address));
            let _ = (function.frame_size(address), function.is_outermost(), function.is_inlined(address));
        }
    }
}
