//! Everything that the files of one module tell, read when it is first asked for.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use crate::dwarf::{DebugInfo, Place};
use crate::elf::Elf;
use crate::module::Module;
use crate::search::Options;
use crate::symbol_table::SymbolTable;
use crate::variable::Variables;

/// The opened and parsed files of a module.
pub(crate) struct Image {
    pub(crate) symbols: SymbolTable,
    /// The module's path.
    path: PathBuf,
    /// The file with DWARF, if there is one.
    described: Option<Described>,
    debug: OnceCell<Option<DebugInfo>>,
    variables: Option<Variables>,
}

struct Described {
    elf: Elf,
    supplementary: Option<Elf>,
}

/// Beginnings of the names of the C library's files. Every program calls it, nobody asks for its lines, and to open its DWARF
/// takes longer (glibc 2.36: 68 ms) than all else that is to be named of a small program.
const C_LIBRARY: [&str; 4] = ["libc.so", "libc-", "ld-linux", "libm.so"];

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
        let described =
            DebugInfo::is_in(debug_elf).then(|| Described { elf: debug_elf.clone(), supplementary });
        let mut files = vec![own.clone()];
        files.extend(separate.map(|(_, elf)| elf.clone()));
        files.extend(own.miniature());
        Self {
            symbols: SymbolTable::read(files),
            path: path.to_owned(),
            described,
            debug: OnceCell::new(),
            variables: None,
        }
    }

    pub(crate) fn lacks_names(&self) -> bool {
        let has_dwarf = self.described.is_some() && !matches!(self.debug.get(), Some(None));
        !has_dwarf && !self.symbols.complete
    }

    /// The functions at an address (as the file states it), innermost first, as far as DWARF is looked into for them: the C
    /// library's are told by its symbols alone, where it has those of its own functions too.
    pub(crate) fn places(&self, address: u64) -> Vec<Place> {
        if self.symbols.complete && self.is_c_library() {
            return Vec::new();
        }
        self.debug().map_or_else(Vec::new, |debug| debug.places(address))
    }

    fn is_c_library(&self) -> bool {
        let name = self.path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| C_LIBRARY.iter().any(|beginning| name.starts_with(beginning)))
    }

    /// What DWARF tells; opened at the first call.
    fn debug(&self) -> Option<&DebugInfo> {
        let open = |described: &Described| {
            DebugInfo::open(&self.path, &described.elf, described.supplementary.as_ref())
        };
        self.debug.get_or_init(|| self.described.as_ref().and_then(open)).as_ref()
    }

    /// The variables that DWARF describes; read at the first call.
    pub(crate) fn variables(&mut self) -> Option<(&Variables, &DebugInfo)> {
        if self.variables.is_none() {
            self.variables = Some(Variables::read(self.debug()?.dwarf()));
        }
        Some((self.variables.as_ref()?, self.debug()?))
    }
}

impl MissingNames {
    pub(crate) fn of(module: &Module) -> Self {
        let own = module.path.starts_with("/usr/local");
        let packaged = ["/usr", "/lib", "/bin", "/sbin"].iter().any(|root| module.path.starts_with(root));
        Self { module: module.path.clone(), is_packaged: packaged && !own }
    }
}
