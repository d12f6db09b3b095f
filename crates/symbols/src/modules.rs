//! The modules of a process with their opened files, and which of them an address belongs to.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use crate::error::Warning;
use crate::files::{Files, OpenFile};
use crate::image::Image;
use crate::mapping::{Added, Mapping, Source};
use crate::module::Module;
use crate::search::Options;

/// A module and its own file.
pub(crate) struct Loaded {
    pub(crate) module: Module,
    /// Nothing if the file may not be used (it is gone, unreadable, or not the one that was mapped), or if there is none.
    pub(crate) file: Option<Rc<OpenFile>>,
    /// Whether this is memory in which the program may put code as it likes.
    pub(crate) is_memory: bool,
    /// The mappings by which the module became known, of a process that runs.
    mappings: RefCell<Vec<Mapping>>,
}

/// Addresses at which a module is visible: all of its own, but for what was mapped over it later.
#[derive(Clone)]
struct Span {
    start: u64,
    end: u64,
    loaded: Rc<Loaded>,
}

/// All modules of a process.
#[derive(Clone)]
pub(crate) struct Modules {
    /// Sorted by address, and not overlapping.
    spans: Vec<Span>,
    options: Options,
    files: Files,
    /// The directory of the process in `/proc`, if it runs.
    process: Option<PathBuf>,
}

impl Modules {
    pub(crate) fn empty(process: Option<PathBuf>, options: Options, files: Files) -> Self {
        Self { spans: Vec::new(), options, files, process }
    }

    pub(crate) fn open(mut modules: Vec<Module>, options: Options, files: Files) -> (Self, Vec<Warning>) {
        modules.sort_by_key(|module| (module.start, module.end));
        let mut image = Self::empty(None, options, files);
        let mut warnings = Vec::new();
        let mut warned = BTreeSet::new();
        for module in modules {
            let file = match own_file(&module, &image.files) {
                Ok(file) => file,
                Err(warning) => {
                    if warned.insert(module.path.clone()) {
                        warnings.push(warning);
                    }
                    None
                }
            };
            image.insert(Loaded { module, file, is_memory: false, mappings: RefCell::default() });
        }
        (image, warnings)
    }

    /// The same image in a process that was forked from this one.
    pub(crate) fn forked(&self, process: Option<PathBuf>) -> Self {
        Self { process, ..self.clone() }
    }

    /// A mapping of the running process. The second part tells whether anything changed.
    pub(crate) fn add(&mut self, mapping: &Mapping) -> (Added, bool) {
        if !mapping.is_sane() {
            return (Added::default(), false);
        }
        let known = self.at(mapping.start);
        if known.is_some_and(|loaded| loaded.mappings.borrow().contains(mapping)) {
            return (Added::default(), false);
        }
        let (file, warning) = match mapping.source(&self.files, self.process.as_deref()) {
            Source::File(file) => (Some(file), None),
            Source::Unusable(warning) => (None, Some(warning)),
            Source::Memory => (None, None),
        };
        let placed = file.as_ref().and_then(|file| mapping.placed(&file.elf));
        let file = file.filter(|_| placed.is_some());
        let is_memory = file.is_none() && warning.is_none();
        // Memory keeps its addresses; in a file that cannot be read, they are offsets.
        let offset_bias = if is_memory { 0 } else { mapping.start.wrapping_sub(mapping.offset) };
        let (bias, start, end) = placed.unwrap_or((offset_bias, mapping.start, mapping.end));
        if let Some(loaded) = known
            && loaded.module.bias == bias
            && loaded.module.path == mapping.module_path()
            && loaded.is_memory == is_memory
            && same_file(loaded.file.as_ref(), file.as_ref())
            && self.shows(loaded, mapping)
        {
            if !is_memory {
                loaded.mappings.borrow_mut().push(mapping.clone());
            }
            return (Added::default(), false);
        }
        let build_id = file.as_ref().map_or_else(|| mapping.build_id.clone(), |file| file.build_id.clone());
        let module = Module { path: mapping.module_path(), bias, start, end, build_id };
        let mappings = RefCell::new(vec![mapping.clone()]);
        self.insert(Loaded { module: module.clone(), file, is_memory, mappings });
        (Added { module: Some(module), warning }, true)
    }

    /// Whether all of the mapping's addresses belong to this module already.
    fn shows(&self, loaded: &Rc<Loaded>, mapping: &Mapping) -> bool {
        self.index_of(mapping.start).is_some_and(|index| {
            let span = &self.spans[index];
            mapping.end <= span.end && Rc::ptr_eq(&span.loaded, loaded)
        })
    }

    /// Puts a module over whatever was at its addresses.
    fn insert(&mut self, loaded: Loaded) {
        let (start, end) = (loaded.module.start, loaded.module.end);
        if start >= end {
            return;
        }
        let loaded = Rc::new(loaded);
        let first = self.spans.partition_point(|span| span.end <= start);
        let after = first + self.spans[first..].partition_point(|span| span.start < end);
        let mut replacement = Vec::with_capacity(3);
        if let Some(cut) = self.spans[first..after].first().filter(|span| span.start < start) {
            replacement.push(Span { end: start, ..cut.clone() });
        }
        replacement.push(Span { start, end, loaded });
        if let Some(cut) = self.spans[first..after].last().filter(|span| span.end > end) {
            replacement.push(Span { start: end, ..cut.clone() });
        }
        self.spans.splice(first..after, replacement);
    }

    fn index_of(&self, address: u64) -> Option<usize> {
        let after = self.spans.partition_point(|span| span.start <= address);
        let index = after.checked_sub(1)?;
        (address < self.spans[index].end).then_some(index)
    }

    /// The module at an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Rc<Loaded>> {
        self.index_of(address).map(|index| &self.spans[index].loaded)
    }

    /// Each module once, by address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Loaded> {
        let mut met = BTreeSet::new();
        self.spans
            .iter()
            .map(|span| &*span.loaded)
            .filter(move |loaded| met.insert(std::ptr::from_ref(*loaded)))
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }
}

impl Loaded {
    /// What the files of this module tell. Opened and parsed at the first call; nothing if they may not be used.
    pub(crate) fn image(&self, options: &Options) -> Option<RefMut<'_, Image>> {
        Some(self.file.as_ref()?.image(options))
    }
}

fn same_file(one: Option<&Rc<OpenFile>>, other: Option<&Rc<OpenFile>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Rc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

/// The module's file, if there is one and it is the one that was mapped.
fn own_file(module: &Module, files: &Files) -> Result<Option<Rc<OpenFile>>, Warning> {
    if module.is_virtual() {
        // That of another kernel is not at hand.
        let recorded = module.build_id.as_ref();
        return Ok(files.vdso().ok().filter(|own| recorded.is_some() && own.build_id.as_ref() == recorded));
    }
    let path = module.path.clone();
    let file = files.open(&path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Warning::Damaged { path: path.clone(), reason: error.to_string() },
        _ => Warning::Unreadable { path: path.clone(), reason: error.to_string() },
    })?;
    match &module.build_id {
        Some(recorded) if file.build_id.as_ref() != Some(recorded) => Err(Warning::Changed { path }),
        _ => Ok(Some(file)),
    }
}
