//! The modules of a process with their opened files, and which of them an address belongs to.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use crate::elf::Elf;
use crate::error::Warning;
use crate::image::Image;
use crate::module::Module;
use crate::search::Options;

/// A module and its own file.
pub(crate) struct Loaded {
    pub(crate) module: Module,
    /// Nothing if the file may not be used: it is gone, unreadable, or not the one that was mapped.
    pub(crate) elf: Option<Elf>,
    image: Option<Rc<RefCell<Image>>>,
}

/// A file by its path and build id.
type Key = (PathBuf, Option<Vec<u8>>);

/// What was parsed from files, for all the process images that have them mapped: a recording of many processes
/// parses the C library once.
#[derive(Clone, Default)]
pub struct Files {
    images: Rc<RefCell<BTreeMap<Key, Rc<RefCell<Image>>>>>,
}

impl Files {
    fn image(&self, module: &Module, elf: &Elf, options: &Options) -> Rc<RefCell<Image>> {
        let key = (module.path.clone(), module.build_id.clone());
        let mut images = self.images.borrow_mut();
        let open = || Rc::new(RefCell::new(Image::open(module, elf, options)));
        Rc::clone(images.entry(key).or_insert_with(open))
    }
}

/// All modules of a process, sorted by address.
pub(crate) struct Modules {
    loaded: Vec<Loaded>,
    options: Options,
    files: Files,
}

impl Modules {
    pub(crate) fn open(mut modules: Vec<Module>, options: Options, files: Files) -> (Self, Vec<Warning>) {
        modules.sort_by_key(|module| (module.start, module.end));
        let mut warnings = Vec::new();
        let mut warned = BTreeSet::new();
        let loaded = modules
            .into_iter()
            .map(|module| {
                let elf = match own_file(&module) {
                    Ok(elf) => elf,
                    Err(warning) => {
                        if warned.insert(module.path.clone()) {
                            warnings.push(warning);
                        }
                        None
                    }
                };
                Loaded { module, elf, image: None }
            })
            .collect();
        (Self { loaded, options, files }, warnings)
    }

    pub(crate) fn index_of(&self, address: u64) -> Option<usize> {
        let after = self.loaded.partition_point(|loaded| loaded.module.start <= address);
        let index = after.checked_sub(1)?;
        (address < self.loaded[index].module.end).then_some(index)
    }

    pub(crate) fn at(&self, index: usize) -> &Loaded {
        &self.loaded[index]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Loaded> {
        self.loaded.iter()
    }

    /// What the files of this module tell. Opened and parsed at the first call; nothing if they may not be used.
    pub(crate) fn image(&mut self, index: usize) -> Option<RefMut<'_, Image>> {
        let loaded = &mut self.loaded[index];
        let elf = loaded.elf.as_ref()?;
        let open = || self.files.image(&loaded.module, elf, &self.options);
        Some(loaded.image.get_or_insert_with(open).borrow_mut())
    }
}

impl Loaded {
    pub(crate) fn opened_image(&self) -> Option<Ref<'_, Image>> {
        self.image.as_ref().map(|image| image.borrow())
    }
}

/// The module's file, if there is one and it is the one that was mapped.
fn own_file(module: &Module) -> Result<Option<Elf>, Warning> {
    if module.is_virtual() {
        return Ok(None);
    }
    let path = module.path.clone();
    let elf = Elf::open(&path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Warning::Damaged { path: path.clone(), reason: error.to_string() },
        _ => Warning::Unreadable { path: path.clone(), reason: error.to_string() },
    })?;
    match &module.build_id {
        Some(recorded) if elf.build_id().as_ref() != Some(recorded) => Err(Warning::Changed { path }),
        _ => Ok(Some(elf)),
    }
}
