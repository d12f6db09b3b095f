//! Which function a call leads to that goes through a linkage table.
//!
//! Functions of other modules are called by a pointer that the dynamic linker fills in, directly (`call [rip + x]`) or by
//! way of a stub (`sched_yield@plt`) that has no symbol. The file says which symbol each pointer is for.

use std::collections::BTreeMap;

use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget, elf};

use crate::demangle::demangle;
use crate::elf::Elf;

/// Stubs begin at multiples of this many bytes.
const STUB_ALIGNMENT: u64 = 16;

/// Bytes of a stub's jump, with what may stand before it.
const STUB_BYTES: u64 = 16;

/// Pointers to functions of other modules, by their addresses as the file states them.
pub(crate) struct Linkage {
    elf: Elf,
    /// Where the names stand in the file.
    names: BTreeMap<u64, (u64, u32)>,
}

impl Linkage {
    pub(crate) fn read(elf: &Elf) -> Self {
        Self { elf: elf.clone(), names: names(elf).unwrap_or_default() }
    }

    /// The source name of the function that is reached through the stub or pointer at an address.
    pub(crate) fn function_at(&self, stated: u64) -> Option<String> {
        let stub = || self.pointer_of_stub(stated & !(STUB_ALIGNMENT - 1));
        let (offset, size) = self.names.get(&stated).or_else(|| self.names.get(&stub()?))?;
        Some(demangle(&String::from_utf8_lossy(self.elf.text_at(*offset, *size)?)))
    }

    /// The pointer that the stub at an address jumps by: `[endbr64] [bnd] jmp [rip + x]`.
    fn pointer_of_stub(&self, start: u64) -> Option<u64> {
        let (_, code) = self.elf.code(start, start, start.checked_add(STUB_BYTES)?)?;
        let jump = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
        let jump = jump.strip_prefix(&[0xf2]).unwrap_or(jump);
        let after = jump.strip_prefix(&[0xff, 0x25])?;
        let distance = i32::from_le_bytes(*after.first_chunk()?);
        let next = start + (code.len() - after.len()) as u64 + 4;
        Some(next.wrapping_add_signed(distance.into()))
    }
}

fn names(file: &Elf) -> Option<BTreeMap<u64, (u64, u32)>> {
    let view = file.view()?;
    let symbols = view.dynamic_symbol_table()?;
    let mut names = BTreeMap::new();
    for (address, relocation) in view.dynamic_relocations()? {
        let is_pointer = matches!(
            relocation.flags(),
            RelocationFlags::Elf { r_type } if r_type == elf::R_X86_64_JUMP_SLOT || r_type == elf::R_X86_64_GLOB_DAT
        );
        let RelocationTarget::Symbol(index) = relocation.target() else { continue };
        if let Some(name) = symbols.symbol_by_index(index).ok().filter(|_| is_pointer)
            && let Some(place) = name.name_bytes().ok().and_then(|name| file.position_of(name))
        {
            names.insert(address, place);
        }
    }
    Some(names)
}
