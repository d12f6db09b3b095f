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
        let word = |index: u64| number(&bytes, 8 + 8 * index);
        let magic = half(&bytes, 0)?;
        let (quantum, pointer) = (*bytes.get(6)?, *bytes.get(7)?);
        if !matches!(magic, MAGIC_1_18 | MAGIC_1_20) || quantum != 1 || pointer != 8 {
            return None;
        }
        // A position-independent program has the address filled in by the dynamic linker.
        let text = word(2).filter(|text| *text != 0);
        let text = text.or_else(|| Some(elf.section_addresses(".text")?.start))?;
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
        let range = self.text + u64::from(start)..self.text + u64::from(end);
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
