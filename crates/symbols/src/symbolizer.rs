//! One process image: its modules, and the answers about its addresses.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use crate::climb::find;
use crate::demangle::{demangle, shortened};
use crate::dwarf::Place;
use crate::error::Warning;
use crate::files::Files;
use crate::image::MissingNames;
use crate::jit::JitCode;
use crate::linkage::Linked;
use crate::mapping::{Added, Mapping};
use crate::module::Module;
use crate::modules::Modules;
use crate::passed_on::PassedOn;
use crate::search::Options;
use crate::unwind::{StackCopy, Unwinder, Unwound};

/// Answers that are kept. A recording has some thousands of distinct addresses; beyond this all are forgotten.
const MAX_CACHED: usize = 1 << 17;

/// A function at an address: an inlined one, or the one that was called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// Its source name, demangled.
    pub function: Option<String>,
    /// Source file, as the compiler wrote it.
    pub file: Option<String>,
    /// Line in it, from 1: of the address in the innermost frame, of the inlined call in the others.
    pub line: Option<u32>,
    /// The module's file name, without directories.
    pub module: Option<String>,
    /// The address as the module's file states it; outside of all modules, the address itself.
    pub address: u64,
    /// Whether the function was inlined into the next frame.
    pub inlined: bool,
    /// Where the function begins, as the module's file states addresses: of one without a name or a line, if the module
    /// has call frame information; 0 where that does not know the code.
    pub begin: Option<u64>,
}

/// A variable at an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataSymbol {
    /// The variable's source name, demangled, without what part of it the address is in.
    pub name: String,
    /// The part of the variable: `.lock`, `[2].lock`, `+0x40` where types are not known; empty for its beginning.
    pub part: String,
    /// The variable's size in bytes; 0 if unknown.
    pub size: u64,
    /// The address minus the variable's, in bytes.
    pub offset: u64,
    /// The module's file name, without directories.
    pub module: String,
    /// Source file of the declaration.
    pub file: Option<String>,
    /// Line of the declaration.
    pub line: Option<u32>,
}

/// A piece of a module's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeBytes<'a> {
    /// Address of the first byte, in the process.
    pub start: u64,
    /// The instructions.
    pub bytes: &'a [u8],
}

/// What frames in code that was made at run time have for a module.
const JIT_MODULE: &str = "[jit]";

/// The names in one process image. See the crate's documentation.
pub struct Symbolizer {
    modules: Modules,
    unwinder: Unwinder,
    passed_on: PassedOn,
    jit: JitCode,
    /// By address looked up.
    frames: BTreeMap<u64, Vec<Frame>>,
}

impl Symbolizer {
    /// Opens the modules' files and compares build ids. What it warns of has no names; nothing else is affected.
    pub fn new(modules: Vec<Module>, options: Options) -> (Self, Vec<Warning>) {
        Symbolizer::sharing(modules, options, Files::default())
    }

    /// The same, with what was parsed for other process images: a file that was mapped into several of them is parsed
    /// once.
    pub fn sharing(modules: Vec<Module>, options: Options, files: Files) -> (Self, Vec<Warning>) {
        let (modules, warnings) = Modules::open(modules, options, files);
        (Self::of(modules), warnings)
    }

    /// The image of a process that runs: empty until [`Symbolizer::add`] tells of its mappings.
    ///
    /// `process` is its directory in `/proc`. With it, files are found that only the process sees, in a mount namespace
    /// of its own, and files that were deleted (the latter as root only, but for the program itself).
    pub fn live(process: Option<PathBuf>, options: Options, files: Files) -> Self {
        Self::of(Modules::empty(process, options, files))
    }

    /// The image that a forked process begins with. After `exec` begin with [`Symbolizer::live`] instead.
    pub fn forked(&self, process: Option<PathBuf>) -> Self {
        Self { jit: self.jit.clone(), ..Self::of(self.modules.forked(process)) }
    }

    fn of(modules: Modules) -> Self {
        Self {
            modules,
            unwinder: Unwinder::new(),
            passed_on: PassedOn::default(),
            jit: JitCode::default(),
            frames: BTreeMap::new(),
        }
    }

    /// Takes note of an executable mapping. It replaces what it overlaps: that was unmapped in the meantime.
    ///
    /// The module that the mapping is a part of is entered with all its addresses, data included, as its program headers
    /// place them. A mapping without a file is a module of its own. One that is known already costs next to nothing.
    pub fn add(&mut self, mapping: &Mapping) -> Added {
        let (added, has_changed) = self.modules.add(mapping);
        if has_changed {
            self.frames.clear();
            self.passed_on.forget();
        }
        added
    }

    /// The modules that are visible at some address, in the order of their addresses.
    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        self.modules.iter().map(|loaded| &loaded.module)
    }

    /// The return addresses of a copied stack, innermost first. A function of a library that only passed its call on to one
    /// without a name is there like the others.
    pub fn unwind(&mut self, copy: &StackCopy<'_>) -> Unwound {
        let mut unwound = self.unwinder.walk(&self.modules, copy);
        self.passed_on.complete(&self.modules, &mut unwound.addresses);
        unwound
    }

    /// The functions at an address, the innermost inlined one first. Never empty: at the least module and offset.
    ///
    /// A return address stands after the call, which may be the last instruction of its line, or of its function: the
    /// call itself is looked up, one byte before.
    ///
    /// A stub of the linkage table (`sched_yield@plt`), and the pointer that it jumps by, have the name of the function that
    /// they lead to.
    pub fn frames(&mut self, address: u64, is_return_address: bool) -> Vec<Frame> {
        let looked_up = if is_return_address { address.saturating_sub(1) } else { address };
        if let Some(known) = self.frames.get(&looked_up) {
            return known.clone();
        }
        let frames = self.look_up(looked_up);
        if self.frames.len() >= MAX_CACHED {
            self.frames.clear();
        }
        self.frames.insert(looked_up, frames.clone());
        frames
    }

    /// The variable at an address: the name of a global lock.
    pub fn data_symbol(&mut self, address: u64) -> Option<DataSymbol> {
        let loaded = self.modules.at(address)?;
        let (stated, module) = (loaded.module.stated(address), loaded.module.file_name());
        let mut image = loaded.image(self.modules.options())?;
        let symbol = image.symbols.data_at(stated)?;
        let offset = stated - symbol.address;
        let described = image
            .variables()
            .and_then(|(variables, debug)| variables.describe(debug.dwarf(), symbol.address, offset));
        let (part, file, line) = match described {
            Some(variable) => (variable.part, variable.file, variable.line),
            None => (None, None, None),
        };
        let part = match part {
            Some(part) => shortened(&part).to_owned(),
            None if offset == 0 => String::new(),
            None => format!("+{offset:#x}"),
        };
        Some(DataSymbol { name: symbol.name, part, size: symbol.size, offset, module, file, line })
    }

    /// Names the code that the program made at run time: addresses that are in no module's file. Replaces what was
    /// given before.
    pub fn name_jit(&mut self, code: JitCode) {
        self.jit = code;
        self.frames.clear();
    }

    /// The code around an address, as the module's file has it: at most from `before` bytes below the address to `after`
    /// bytes above. Nothing if the address is in no file's code.
    pub fn code_bytes(&self, address: u64, before: u64, after: u64) -> Option<CodeBytes<'_>> {
        let loaded = self.modules.at(address)?;
        let stated = loaded.module.stated(address);
        let end = stated.saturating_add(after.max(1));
        let (start, bytes) = loaded.file.as_ref()?.elf.code(stated.saturating_sub(before), stated, end)?;
        Some(CodeBytes { start: start.wrapping_add(loaded.module.bias), bytes })
    }

    /// The code that belongs together with the one at an address, by call frame information: normally its function.
    pub fn function_range(&self, address: u64) -> Option<Range<u64>> {
        let found = find(&self.modules, address)?;
        let start = address.wrapping_sub(found.stated().wrapping_sub(found.covered.start));
        Some(start..start.checked_add(found.covered.size())?)
    }

    /// The modules that were asked about so far and gave no more than exported names.
    pub fn missing_names(&self) -> Vec<MissingNames> {
        self.modules
            .iter()
            .filter(|loaded| loaded.file.as_ref().is_some_and(|file| file.was_found_lacking()))
            .map(|loaded| MissingNames::of(&loaded.module))
            .collect()
    }

    fn look_up(&self, address: u64) -> Vec<Frame> {
        let unknown = |module, address| Frame {
            function: None,
            file: None,
            line: None,
            module,
            address,
            inlined: false,
            begin: None,
        };
        let loaded = self.modules.at(address);
        if loaded.is_none_or(|loaded| loaded.is_memory)
            && let Some(place) = self.jit.at(address)
        {
            return vec![Frame {
                function: Some(demangle(place.function)),
                file: place.file.map(str::to_owned),
                line: place.line,
                module: Some(JIT_MODULE.to_owned()),
                address,
                inlined: false,
                begin: None,
            }];
        }
        let Some(loaded) = loaded else { return vec![unknown(None, address)] };
        let (stated, module) = (loaded.module.stated(address), Some(loaded.module.file_name()));
        let Some(image) = loaded.image(self.modules.options()) else { return vec![unknown(module, stated)] };
        let mut symbol = image.symbols.function_at(stated);
        let mut places = image.places(stated);
        if places.is_empty() {
            places.push(Place::default());
        }
        if symbol.is_none()
            && places.iter().all(|place| place.function.is_none())
            && let Some(function) = loaded.file.as_ref().and_then(|file| file.go_table()?.at(stated))
        {
            let (file, line) = (function.file(stated), function.line(stated));
            let outer = Place { function: function.name(), ..Place::default() };
            places = if function.is_inlined(stated) {
                // The call is somewhere in the function; its beginning is in the function's own file.
                let own = function.file(function.range.start);
                vec![Place { file, line, ..Place::default() }, Place { file: own, ..outer }]
            } else {
                vec![Place { file, line, ..outer }]
            };
        }
        let last = places.len() - 1;
        // A stub of the linkage table has no symbol, but may stand behind one without a size.
        if symbol.as_ref().is_none_or(|symbol| symbol.size == 0)
            && places.iter().all(|place| place.function.is_none())
            && let Some(linked) = loaded.file.as_ref().and_then(|file| file.linkage().at(stated))
        {
            symbol = None;
            places[last].function = match linked {
                Linked::Name(name) => Some(name),
                Linked::Address(address) => image.symbols.function_at(address).map(|symbol| symbol.name),
            };
        }
        // DWARF may give a C++ function's last name only; the symbol table then knows its class and namespace.
        if let Some(symbol) = symbol
            && (places[last].function.is_none() || (symbol.is_mangled && !places[last].has_linkage_name))
        {
            places[last].function = Some(symbol.name);
        }
        let begin = || {
            let table = loaded.file.as_ref()?.eh_frame()?;
            Some(table.at(stated).map_or(0, |covered| covered.start))
        };
        let is_nameless = places[last].function.is_none() && places[last].line.is_none();
        let begin = if is_nameless { begin() } else { None };
        places
            .into_iter()
            .enumerate()
            .map(|(depth, place)| Frame {
                function: place.function,
                file: place.file,
                line: place.line,
                module: module.clone(),
                address: stated,
                inlined: depth < last,
                begin: begin.filter(|_| depth == last),
            })
            .collect()
    }
}

impl DataSymbol {
    /// Name and part as one would write them in the source: `table[2].lock`.
    pub fn expression(&self) -> String {
        format!("{}{}", self.name, self.part)
    }
}
