//! What is known of each block while the program runs.

use holdup_trace::instructions::CodeClass;

use crate::edges::{Key, NOWHERE, block_of};
use crate::ending::Ending;
use crate::reserved::{Reserved, Zeroed};

/// A block.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Code {
    /// Its address.
    pub(crate) start: u64,
    /// Behind its last instruction.
    pub(crate) end: u64,
    /// The address of its last instruction.
    pub(crate) last: u64,
    /// How many instructions it has.
    pub(crate) instructions: u32,
    /// Its number.
    pub(crate) number: u32,
    /// How it ends.
    pub(crate) ending: Ending,
    /// What it is treated as.
    pub(crate) role: Role,
}

/// How a block is counted. Finer than [`CodeClass`], since some code is on the way to other code only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Role {
    /// The program's own, or made at run time: its edges are counted.
    Own = 0,
    /// A library's: charged to the calling block.
    Library,
    /// A runtime's: not counted, nor is what it calls in libraries.
    Runtime,
    /// A linkage stub: charged, but no call of a library by itself.
    Linkage,
    /// The dynamic linker's: not counted, and wherever it comes in, what was before goes on after it.
    Linker,
}

impl Role {
    /// The class under which the block is recorded.
    pub(crate) fn class(self, generated: bool) -> CodeClass {
        match self {
            Role::Own if generated => CodeClass::Generated,
            Role::Own => CodeClass::Own,
            Role::Library | Role::Linkage => CodeClass::Library,
            Role::Runtime | Role::Linker => CodeClass::Runtime,
        }
    }
}

// SAFETY: numbers, and enums with a variant 0.
unsafe impl Zeroed for Code {}

/// All blocks, at places that never change. Entries are written before the block's code can run, and never again.
#[derive(Clone, Copy)]
pub(crate) struct Codes {
    base: *const Code,
}

// SAFETY: entries that are read were written before, and the translator's locks are between.
unsafe impl Send for Codes {}
// SAFETY: as above.
unsafe impl Sync for Codes {}

impl Codes {
    /// Those in a table, which must never go away.
    pub(crate) fn new(table: &Reserved<Code>) -> Self {
        Self { base: table.base() }
    }

    /// That of a key; `None` for [`NOWHERE`].
    pub(crate) fn of<'a>(self, key: Key) -> Option<&'a Code> {
        // SAFETY: keys are made for entries only, and the table stays.
        (key != NOWHERE).then(|| unsafe { &*self.base.add(block_of(key) as usize) })
    }
}
