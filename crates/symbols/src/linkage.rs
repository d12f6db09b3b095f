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

/// Pointers to functions, by their addresses as the file states them.
pub(crate) struct Linkage {
    elf: Elf,
    pointers: BTreeMap<u64, Pointer>,
}

#[derive(Debug, Clone, Copy)]
enum Pointer {
    /// To a symbol of another module: where its name stands in the file.
    Name { offset: u64, size: u32 },
    /// To this address of the same file.
    Address(u64),
}

/// What a call leads to.
pub(crate) enum Linked {
    /// The function of this source name.
    Name(String),
    /// What is at this address, as the file states it.
    Address(u64),
}

impl Linkage {
    pub(crate) fn read(elf: &Elf) -> Self {
        Self { elf: elf.clone(), pointers: pointers(elf).unwrap_or_default() }
    }

    /// The function that is reached through the stub or pointer at an address.
    pub(crate) fn at(&self, stated: u64) -> Option<Linked> {
        match self.pointer(stated)? {
            Pointer::Name { .. } => {
                Some(Linked::Name(demangle(&String::from_utf8_lossy(self.symbol_at(stated)?))))
            }
            Pointer::Address(address) => Some(Linked::Address(address)),
        }
    }

    /// The symbol of another module that is reached through the stub or pointer at an address, as the linker knows it.
    pub(crate) fn symbol_at(&self, stated: u64) -> Option<&[u8]> {
        match self.pointer(stated)? {
            Pointer::Name { offset, size } => self.elf.text_at(offset, size),
            Pointer::Address(_) => None,
        }
    }

    fn pointer(&self, stated: u64) -> Option<Pointer> {
        let stub = || self.pointer_of_stub(stated & !(STUB_ALIGNMENT - 1));
        self.pointers.get(&stated).or_else(|| self.pointers.get(&stub()?)).copied()
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

fn pointers(file: &Elf) -> Option<BTreeMap<u64, Pointer>> {
    let view = file.view()?;
    let symbols = view.dynamic_symbol_table();
    // Data are full of pointers into the same file, functions of which are called by way of this section only.
    let table = file.section_addresses(".got").unwrap_or_default();
    let mut pointers = BTreeMap::new();
    for (address, relocation) in view.dynamic_relocations()? {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
        let pointer = match r_type {
            elf::R_X86_64_JUMP_SLOT | elf::R_X86_64_GLOB_DAT => {
                let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                let symbol = symbols.as_ref().and_then(|symbols| symbols.symbol_by_index(index).ok());
                let place = symbol.and_then(|symbol| file.position_of(symbol.name_bytes().ok()?));
                place.map(|(offset, size)| Pointer::Name { offset, size })
            }
            elf::R_X86_64_RELATIVE if table.contains(&address) => {
                u64::try_from(relocation.addend()).ok().map(Pointer::Address)
            }
            _ => None,
        };
        pointers.extend(pointer.map(|pointer| (address, pointer)));
    }
    Some(pointers)
}
