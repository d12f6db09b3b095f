//! The blocks and modules of the program, numbered as they come up, and their entries in the stream of all threads.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::ops::Range;

use holdup_trace::instructions::{CodeClass, Entry, Other};

use crate::accesses::Watched;
use crate::channel::Outlet;
use crate::code::{Code, Role};
use crate::edges::MOST_BLOCKS;
use crate::ending::ending;
use crate::linkage::{Linkage, linkage, tables};
use crate::modules::{Module, is_of_the_language, modules, role};
use crate::numbers::number;
use crate::reserved::Reserved;

/// A block as the emulator is about to translate it.
pub(crate) struct Translated<'a> {
    pub(crate) address: u64,
    pub(crate) bytes: &'a [u8],
    pub(crate) instructions: u32,
    /// The length of its last instruction.
    pub(crate) last_length: usize,
}

/// A module that was written.
struct Known {
    module: Module,
    role: Role,
    /// Its linkage tables, as ranges of the file, where the file says where they are.
    tables: Option<Vec<Range<u64>>>,
}

impl Known {
    /// True if there may be a linkage stub at this address.
    fn links_at(&self, address: u64) -> bool {
        let in_file = address - self.module.start + self.module.offset;
        self.tables.as_ref().is_none_or(|tables| tables.iter().any(|table| table.contains(&in_file)))
    }
}

/// All blocks that were translated.
pub(crate) struct Blocks {
    codes: Reserved<Code>,
    count: u32,
    /// Numbers of the blocks at an address: code that was changed is another block.
    at: HashMap<u64, Vec<u32>>,
    bytes: Vec<Box<[u8]>>,
    module_of: Vec<Option<u32>>,
    program: Vec<u8>,
    own: Vec<String>,
    /// What the memory map showed last.
    map: Vec<Module>,
    /// Pages that were in no file then.
    without_file: BTreeSet<u64>,
    written: Vec<Known>,
    defined: u32,
    watched: HashMap<u32, &'static Watched>,
    tables: Outlet,
    entry: Vec<u8>,
}

impl Blocks {
    /// None yet. `own` are beginnings of paths that the user calls his own.
    pub(crate) fn new(codes: Reserved<Code>, own: Vec<String>, tables: Outlet) -> Self {
        Self {
            codes,
            count: 0,
            at: HashMap::new(),
            bytes: Vec::new(),
            module_of: Vec::new(),
            program: Vec::new(),
            own,
            map: Vec::new(),
            without_file: BTreeSet::new(),
            written: Vec::new(),
            defined: 0,
            watched: HashMap::new(),
            tables,
            entry: Vec::new(),
        }
    }

    /// The path of the executable is known, as the memory map shows it.
    pub(crate) fn is_of(&mut self, program: Vec<u8>) {
        self.program = program;
    }

    /// True until it is known.
    pub(crate) fn lacks_program(&self) -> bool {
        self.program.is_empty()
    }

    /// The memory map may have changed.
    pub(crate) fn forget_map(&mut self) {
        self.map.clear();
        self.without_file.clear();
    }

    /// The block with this address and these bytes: the one that there is, or a new one. `None` if there are too many.
    pub(crate) fn find(&mut self, block: &Translated<'_>) -> Option<&'static Code> {
        let known = self.at.get(&block.address).into_iter().flatten();
        let known = known.copied().find(|number| *self.bytes[*number as usize] == *block.bytes);
        let number = match known {
            Some(number) => number,
            None => self.add(block)?,
        };
        // SAFETY: `add` wrote this element, which is never written again, and the table stays for good: the plugin is
        // never unloaded.
        Some(unsafe { &*self.codes.base().add(number as usize) })
    }

    fn add(&mut self, block: &Translated<'_>) -> Option<u32> {
        if self.count == MOST_BLOCKS {
            return None;
        }
        let number = self.count;
        self.count += 1;
        let module = self.module_at(block.address);
        let file_role = module.map_or(Role::Own, |module| self.written[module as usize].role);
        let may_be_linkage =
            module.is_some_and(|module| self.written[module as usize].links_at(block.address));
        let role = match file_role {
            Role::Own | Role::Library => match linkage(block.bytes).filter(|_| may_be_linkage) {
                Some(Linkage::Slot) => Role::Linkage,
                // Done once by whoever calls first: it would differ from run to run.
                Some(Linkage::Lookup) => Role::Linker,
                None => file_role,
            },
            role => role,
        };
        let end = block.address + block.bytes.len() as u64;
        let last = block.bytes.len().saturating_sub(block.last_length);
        let code = Code {
            start: block.address,
            end,
            last: block.address + last as u64,
            instructions: block.instructions,
            number,
            ending: ending(&block.bytes[last..]),
            role,
        };
        // SAFETY: within the table, and no one else knows this element yet.
        unsafe { self.codes.base().add(number as usize).write(code) };
        self.at.entry(block.address).or_default().push(number);
        self.bytes.push(block.bytes.into());
        self.module_of.push(module);
        Some(number)
    }

    /// A thread begins with the function at this address. A library of the system in which threads begin is no mere helper of the
    /// program: what it does from now on is as the program's own.
    pub(crate) fn begins_thread(&mut self, function: u64) {
        if let Some(module) = self.module_at(function) {
            let known = &mut self.written[module as usize];
            if known.role == Role::Library && !is_of_the_language(&known.module.path) {
                known.role = Role::Own;
            }
        }
    }

    /// A block whose accesses are watched; it stays for good, since translated code refers to it.
    pub(crate) fn watch(&mut self, code: &'static Code, gathers: Vec<u32>) -> &'static Watched {
        self.watched.entry(code.number).or_insert_with(|| Box::leak(Box::new(Watched::new(code, gathers))))
    }

    /// Writes the definition of a block; gives the number by which streams call it: that of the definition.
    pub(crate) fn define(&mut self, code: &Code, accesses: &[u64]) -> u32 {
        let module = self.module_of[code.number as usize];
        let bytes = &self.bytes[code.number as usize];
        self.entry.clear();
        let head = (Other::Block as u64) << 2 | Entry::Other as u64;
        let class = code.role.class(module.is_none()) as u64;
        let module = module.map_or(0, |module| u64::from(module) + 1);
        let length = bytes.len() as u64;
        for value in [head, code.start, module, class, u64::from(code.instructions), length] {
            number(&mut self.entry, value);
        }
        self.entry.extend_from_slice(bytes);
        number(&mut self.entry, accesses.len() as u64);
        for access in accesses {
            number(&mut self.entry, *access);
        }
        self.tables.write(&self.entry);
        self.defined += 1;
        self.defined - 1
    }

    /// Where an address is in the executable's file.
    pub(crate) fn in_program(&mut self, address: u64) -> Option<u64> {
        let module = self.module_at(address)?;
        let module = &self.written[module as usize].module;
        (module.path == self.program).then(|| address - module.start + module.offset)
    }

    /// How many blocks there are.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Hands over what was written.
    pub(crate) fn hand_over(&mut self) {
        self.tables.hand_over();
    }

    fn module_at(&mut self, address: u64) -> Option<u32> {
        let page = address >> 12;
        if self.without_file.contains(&page) {
            return None;
        }
        let within = |module: &&Module| (module.start..module.end).contains(&address);
        if !self.map.iter().any(|module| within(&module)) {
            self.map = modules(&fs::read("/proc/self/maps").unwrap_or_default());
        }
        let Some(module) = self.map.iter().find(within) else {
            self.without_file.insert(page);
            return None;
        };
        if let Some(known) = self.written.iter().position(|known| known.module == *module) {
            return Some(known as u32);
        }
        let module = module.clone();
        let role = role(&module.path, &self.program, &self.own);
        self.entry.clear();
        let head = (Other::Module as u64) << 2 | Entry::Other as u64;
        let class = match role {
            Role::Own => CodeClass::Own,
            Role::Library => CodeClass::Library,
            _ => CodeClass::Runtime,
        };
        for value in [head, module.start, module.end, module.offset, class as u64, module.path.len() as u64] {
            number(&mut self.entry, value);
        }
        self.entry.extend_from_slice(&module.path);
        self.tables.write(&self.entry);
        let tables = tables(&module.path);
        self.written.push(Known { module, role, tables });
        Some(self.written.len() as u32 - 1)
    }
}
