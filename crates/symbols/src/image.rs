//! Everything that the files of one module tell, read when it is first asked for.

use std::path::{Path, PathBuf};

use crate::dwarf::DebugInfo;
use crate::elf::Elf;
use crate::module::Module;
use crate::search::Options;
use crate::symbol_table::SymbolTable;
use crate::variable::Variables;

/// The opened and parsed files of a module.
pub(crate) struct Image {
    pub(crate) symbols: SymbolTable,
    pub(crate) debug: Option<DebugInfo>,
    variables: Option<Variables>,
}

/// A module that was looked at and has nothing better than its exported symbols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingNames {
    /// The module's file.
    pub module: PathBuf,
    /// Whether it lies where packages put their files: who runs it has not compiled it.
    pub is_packaged: bool,
}

impl Image {
    /// Reads what a file tells: `own` at `path`, and the separate file with its debug information.
    pub(crate) fn open(path: &Path, own: &Elf, separate: Option<&(PathBuf, Elf)>, options: &Options) -> Self {
        let (debug_path, debug_elf) = separate.map_or((path, own), |(path, elf)| (path.as_path(), elf));
        let supplementary = options.supplementary(debug_path, debug_elf);
        let debug = DebugInfo::open(path, debug_elf, supplementary.as_ref());
        let mut files = vec![own.clone()];
        files.extend(separate.map(|(_, elf)| elf.clone()));
        files.extend(own.miniature());
        Self { symbols: SymbolTable::read(files), debug, variables: None }
    }

    pub(crate) fn lacks_names(&self) -> bool {
        self.debug.is_none() && !self.symbols.complete
    }

    /// The variables that DWARF describes; read at the first call.
    pub(crate) fn variables(&mut self) -> Option<(&Variables, &DebugInfo)> {
        let debug = self.debug.as_ref()?;
        let variables = self.variables.get_or_insert_with(|| Variables::read(debug.dwarf()));
        Some((variables, debug))
    }
}

impl MissingNames {
    pub(crate) fn of(module: &Module) -> Self {
        let own = module.path.starts_with("/usr/local");
        let packaged = ["/usr", "/lib", "/bin", "/sbin"].iter().any(|root| module.path.starts_with(root));
        Self { module: module.path.clone(), is_packaged: packaged && !own }
    }
}
