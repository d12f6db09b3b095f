//! Lines and inlined calls from DWARF, with the files that DWARF may be spread over.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{
    AbbreviationsCacheStrategy, AttributeValue, DebuggingInformationEntry, Dwarf, DwarfPackage, EndianReader,
    Reader as _, RunTimeEndian, UnitOffset, UnitRef, UnitSectionOffset,
};

use crate::bytes::Bytes;
use crate::demangle::{demangle, shortened};
use crate::elf::Elf;
use crate::search::directories_of;

pub(crate) type Reader = EndianReader<RunTimeEndian, Bytes>;

/// Deeper nests of inlined calls than this are cut: no compiler makes them, a damaged file may.
const MAX_INLINED: usize = 256;

/// What clang calls parts of a function that it makes functions of their own where it does not say of which: a task of OpenMP.
const OUTLINED: &str = ".omp_";

/// The debug information of one module.
pub(crate) struct DebugInfo {
    context: Context<Reader>,
    dwarf: Arc<Dwarf<Reader>>,
    package: Option<DwarfPackage<Reader>>,
    /// Where split DWARF files may lie, apart from where they were compiled.
    directories: Vec<PathBuf>,
    /// By unit: its functions, once they were asked for. A unit may have a hundred thousand entries.
    functions: RefCell<BTreeMap<UnitSectionOffset, Rc<[Declared]>>>,
}

/// Where a function is declared.
struct Declared {
    line: u64,
    /// Without directories.
    file: String,
    /// The linker's name, else the source's.
    name: String,
}

/// One function at an address, as DWARF tells it.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) function: Option<String>,
    /// Whether the function's name is the linker's, and so tells class and namespace.
    pub(crate) has_linkage_name: bool,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

impl DebugInfo {
    /// Whether a file has any.
    pub(crate) fn is_in(file: &Elf) -> bool {
        file.has_section(".debug_info") || file.has_section(".zdebug_info")
    }

    /// Prepares the debug information in `debug`, which belongs to the module at `module`.
    ///
    /// Reads the unit headers; everything else is read when an address falls into it.
    pub(crate) fn open(module: &Path, debug: &Elf, supplementary: Option<&Elf>) -> Option<Self> {
        let mut dwarf = Dwarf::load(|id| section(debug, id.name())).ok()?;
        if let Some(supplementary) = supplementary {
            dwarf.load_sup(|id| section(supplementary, id.name())).ok()?;
        }
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
        let dwarf = Arc::new(dwarf);
        let context = Context::from_arc_dwarf(dwarf.clone()).ok()?;
        let package = package(module, debug);
        let functions = RefCell::default();
        Some(Self { context, dwarf, package, directories: directories_of(module), functions })
    }

    pub(crate) fn dwarf(&self) -> &Dwarf<Reader> {
        &self.dwarf
    }

    /// The functions at an address (as the file states it), innermost first. Empty if DWARF does not say.
    pub(crate) fn places(&self, address: u64) -> Vec<Place> {
        // addr2line looks one address ahead.
        if address == u64::MAX {
            return Vec::new();
        }
        let mut lookup = self.context.find_frames(address);
        let frames = loop {
            lookup = match lookup {
                LookupResult::Output(frames) => break frames,
                LookupResult::Load { load, continuation } => continuation.resume(self.split(&load)),
            };
        };
        let mut places = Vec::new();
        let Ok(mut frames) = frames else { return places };
        while let Ok(Some(frame)) = frames.next() {
            let raw = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            let location = frame.location;
            let line = location.as_ref().and_then(|at| at.line).filter(|line| *line > 0);
            let is_outlined = raw.as_deref().is_some_and(|raw| raw.starts_with(OUTLINED));
            let file = location.as_ref().and_then(|at| at.file);
            let written_in =
                file.filter(|_| is_outlined).and_then(|file| self.written_in(address, file, line?));
            places.push(Place {
                has_linkage_name: raw
                    .as_ref()
                    .is_some_and(|raw| raw.starts_with("_Z") || raw.starts_with("_R")),
                function: written_in.or(raw.map(|raw| demangle(&raw))).filter(|name| !name.is_empty()),
                file: file.map(|file| shortened(file).to_owned()),
                line,
            });
            if places.len() == MAX_INLINED {
                break;
            }
        }
        places
    }

    /// The function in the source of which a line stands that the compiler made a part of a function of its own: of those of its
    /// file the last that begins before the line.
    fn written_in(&self, address: u64, file: &str, line: u32) -> Option<String> {
        let unit = self.context.find_dwarf_and_unit(address).skip_all_loads()?;
        let functions =
            self.functions.borrow_mut().entry(unit.offset()).or_insert_with(|| declared(&unit)).clone();
        let before = |one: &&Declared| {
            one.file == base(file) && one.line <= u64::from(line) && !one.name.starts_with(OUTLINED)
        };
        functions.iter().filter(before).max_by_key(|one| one.line).map(|one| demangle(&one.name))
    }

    /// The split part of a unit: from the package, or the object file's `.dwo` where it was compiled or beside us.
    fn split(&self, load: &SplitDwarfLoad<Reader>) -> Option<Arc<Dwarf<Reader>>> {
        if let Some(package) = &self.package
            && let Ok(Some(unit)) = package.find_cu(load.dwo_id, &load.parent)
        {
            return Some(Arc::new(unit));
        }
        let name = load.path.as_ref()?.to_slice().ok()?;
        let name = Path::new(OsStr::from_bytes(&name));
        let mut candidates = Vec::new();
        if let Some(Ok(directory)) = load.comp_dir.as_ref().map(Reader::to_slice) {
            candidates.push(Path::new(OsStr::from_bytes(&directory)).join(name));
        }
        for directory in &self.directories {
            candidates.push(directory.join(name));
            candidates.extend(name.file_name().map(|file| directory.join(file)));
        }
        candidates.iter().find_map(|path| {
            let elf = Elf::open(path).ok()?;
            let mut dwarf = Dwarf::load(|id| match id.dwo_name() {
                Some(name) => section(&elf, name),
                None => Ok(reader(&elf, None)),
            })
            .ok()?;
            let header = dwarf.units().next().ok()??;
            let unit = dwarf.unit(header).ok()?;
            if unit.dwo_id != Some(load.dwo_id) {
                return None;
            }
            dwarf.make_dwo(&load.parent);
            Some(Arc::new(dwarf))
        })
    }
}

/// The functions of a unit that have a name and a place in the source.
fn declared(unit: &UnitRef<'_, Reader>) -> Rc<[Declared]> {
    let mut entries = unit.entries();
    let mut found = Vec::new();
    while let Ok(Some(entry)) = entries.next_dfs() {
        if entry.tag() != gimli::DW_TAG_subprogram {
            continue;
        }
        // A method's definition says only what its declaration does not.
        let declaration = unit_reference(entry.attr_value(gimli::DW_AT_specification))
            .and_then(|offset| unit.entry(offset).ok());
        let both = || [Some(entry), declaration.as_ref()].into_iter().flatten();
        let line = entry.attr_value(gimli::DW_AT_decl_line).and_then(|value| value.udata_value());
        let file = both().find_map(|entry| entry.attr_value(gimli::DW_AT_decl_file));
        let file = file.and_then(|file| file_name(unit, file));
        let name = both().find_map(|entry| own_name(unit, entry));
        if let (Some(line), Some(file), Some(name)) = (line, file, name) {
            found.push(Declared { line, file, name });
        }
    }
    found.into()
}

/// What a file is called, without directories.
fn file_name(unit: &UnitRef<'_, Reader>, file: AttributeValue<Reader>) -> Option<String> {
    let AttributeValue::FileIndex(index) = file else { return None };
    let path = unit.line_program.as_ref()?.header().file(index)?.path_name();
    Some(base(&unit.attr_string(path).ok()?.to_string_lossy().ok()?).to_owned())
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The linker's name of a function, else the source's.
fn own_name(unit: &UnitRef<'_, Reader>, entry: &DebuggingInformationEntry<Reader>) -> Option<String> {
    let names = [gimli::DW_AT_linkage_name, gimli::DW_AT_name];
    let value = names.into_iter().find_map(|name| entry.attr_value(name))?;
    Some(unit.attr_string(value).ok()?.to_string_lossy().ok()?.into_owned())
}

/// The entry that an attribute refers to, if it is in the same unit.
pub(crate) fn unit_reference(value: Option<AttributeValue<Reader>>) -> Option<UnitOffset> {
    match value? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

/// `app.dwp` beside `app`.
fn package(module: &Path, debug: &Elf) -> Option<DwarfPackage<Reader>> {
    let file_name = module.file_name()?;
    let elf = directories_of(module).iter().find_map(|directory| {
        let mut name = file_name.to_owned();
        name.push(".dwp");
        Elf::open(&directory.join(name)).ok()
    })?;
    let load = |id: gimli::SectionId| match id.dwo_name() {
        Some(name) => section(&elf, name),
        None => Ok(reader(&elf, None)),
    };
    DwarfPackage::load(load, reader(debug, None)).ok()
}

fn section(elf: &Elf, name: &str) -> Result<Reader, gimli::Error> {
    Ok(reader(elf, elf.section(name)))
}

fn reader(elf: &Elf, bytes: Option<Bytes>) -> Reader {
    let endian = if elf.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    EndianReader::new(bytes.unwrap_or_default(), endian)
}
