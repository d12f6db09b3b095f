//! One process image: its modules, and the answers about its addresses.

use std::cell::Ref;
use std::collections::BTreeMap;

use crate::demangle::shortened;
use crate::dwarf::Place;
use crate::error::Warning;
use crate::image::{Image, MissingNames};
use crate::module::Module;
use crate::modules::{Files, Modules};
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

/// The names in one process image. See the crate's documentation.
pub struct Symbolizer {
    modules: Modules,
    unwinder: Unwinder,
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
        (Self { modules, unwinder: Unwinder::new(), frames: BTreeMap::new() }, warnings)
    }

    /// The return addresses of a copied stack, innermost first.
    pub fn unwind(&mut self, copy: &StackCopy<'_>) -> Unwound {
        self.unwinder.walk(&mut self.modules, copy)
    }

    /// The functions at an address, the innermost inlined one first. Never empty: at the least module and offset.
    ///
    /// A return address stands after the call, which may be the last instruction of its line, or of its function: the
    /// call itself is looked up, one byte before.
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
        let index = self.modules.index_of(address)?;
        let module = &self.modules.at(index).module;
        let (stated, module) = (module.stated(address), module.file_name());
        let mut image = self.modules.image(index)?;
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

    /// The modules that were asked about so far and gave no more than exported names.
    pub fn missing_names(&self) -> Vec<MissingNames> {
        let lacking = |image: Ref<'_, Image>| image.lacks_names();
        self.modules
            .iter()
            .filter(|loaded| loaded.opened_image().is_some_and(lacking))
            .map(|loaded| MissingNames::of(&loaded.module))
            .collect()
    }

    fn look_up(&mut self, address: u64) -> Vec<Frame> {
        let unknown = |module, address| Frame {
            function: None,
            file: None,
            line: None,
            module,
            address,
            inlined: false,
        };
        let Some(index) = self.modules.index_of(address) else { return vec![unknown(None, address)] };
        let module = &self.modules.at(index).module;
        let (stated, module) = (module.stated(address), Some(module.file_name()));
        let Some(image) = self.modules.image(index) else { return vec![unknown(module, stated)] };
        let symbol = image.symbols.function_at(stated);
        let mut places = image.debug.as_ref().map_or_else(Vec::new, |debug| debug.places(stated));
        if places.is_empty() {
            places.push(Place { function: None, has_linkage_name: false, file: None, line: None });
        }
        let last = places.len() - 1;
        // DWARF may give a C++ function's last name only; the symbol table then knows its class and namespace.
        if let Some(symbol) = symbol
            && (places[last].function.is_none() || (symbol.is_mangled && !places[last].has_linkage_name))
        {
            places[last].function = Some(symbol.name);
        }
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
