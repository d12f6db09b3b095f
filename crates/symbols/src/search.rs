//! Where debug information may lie, when it is not in the file itself.
//!
//! The places and their order follow gdb's manual, section "Debugging Information in Separate Files".

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::elf::Elf;

/// The program of elfutils that gets debug information by its build id, and keeps it for later.
pub const DEBUGINFOD_CLIENT: &str = "debuginfod-find";
/// The variable that tells it which servers to ask.
pub const DEBUGINFOD_SERVERS: &str = "DEBUGINFOD_URLS";

/// Whether the user wants servers to be asked: they learn what is run here.
static ASKS_SERVERS: AtomicBool = AtomicBool::new(false);

/// Lets this process ask the servers that [`DEBUGINFOD_SERVERS`] names for debug information that is not on this machine.
pub fn ask_debuginfod() {
    ASKS_SERVERS.store(true, Ordering::Relaxed);
}

/// True once [`ask_debuginfod`] was called.
pub fn asks_debuginfod() -> bool {
    ASKS_SERVERS.load(Ordering::Relaxed)
}

/// Where to look.
#[derive(Debug, Clone)]
pub struct Options {
    /// Roots of trees with separate debug information, in order; normally only `/usr/lib/debug`.
    pub debug_directories: Vec<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { debug_directories: vec![PathBuf::from("/usr/lib/debug")] }
    }
}

impl Options {
    fn by_build_id(&self, build_id: &[u8]) -> Vec<PathBuf> {
        let Some((first, rest)) = build_id.split_first().filter(|(_, rest)| !rest.is_empty()) else {
            return Vec::new();
        };
        let name = format!("{first:02x}/{}.debug", hexadecimal(rest));
        self.debug_directories.iter().map(|root| root.join(".build-id").join(&name)).collect()
    }

    fn by_link(&self, module: &Path, file_name: &Path) -> Vec<PathBuf> {
        let mut places = Vec::new();
        for directory in directories_of(module) {
            places.push(directory.join(file_name));
            places.push(directory.join(".debug").join(file_name));
            for root in &self.debug_directories {
                let below = directory.strip_prefix("/").unwrap_or(&directory);
                places.push(root.join(below).join(file_name));
            }
        }
        places
    }

    /// The separate debug file of a module.
    ///
    /// By build id where both have one, which is certain; else by name and checksum; else from a server, where the user wants
    /// that.
    pub(crate) fn debug_file(&self, module: &Path, elf: &Elf) -> Option<(PathBuf, Elf)> {
        self.local_debug_file(module, elf).or_else(|| from_server(&elf.build_id()?))
    }

    fn local_debug_file(&self, module: &Path, elf: &Elf) -> Option<(PathBuf, Elf)> {
        let build_id = elf.build_id();
        if let Some(id) = &build_id {
            for path in self.by_build_id(id) {
                if let Ok(found) = Elf::open(&path)
                    && found.build_id().as_ref() == Some(id)
                {
                    return Some((path, found));
                }
            }
        }
        let link = elf.debug_link()?;
        for path in self.by_link(module, Path::new(&link.file_name)) {
            let Ok(found) = Elf::open(&path) else { continue };
            let same = match (&build_id, found.build_id()) {
                (Some(ours), Some(theirs)) => *ours == theirs,
                _ => found.crc() == link.crc,
            };
            if same {
                return Some((path, found));
            }
        }
        None
    }

    /// The file with the debug information that several packages share, as `debug` names it.
    pub(crate) fn supplementary(&self, debug_path: &Path, debug: &Elf) -> Option<Elf> {
        let link = debug.supplementary_link()?;
        let mut places: Vec<_> =
            directories_of(debug_path).into_iter().map(|directory| directory.join(&link.path)).collect();
        places.extend(self.by_build_id(&link.build_id));
        places.iter().find_map(|path| {
            let found = Elf::open(path).ok()?;
            (found.build_id().as_ref() == Some(&link.build_id)).then_some(found)
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What a server has for this build id, where servers may be asked.
fn from_server(build_id: &[u8]) -> Option<(PathBuf, Elf)> {
    if !asks_debuginfod() {
        return None;
    }
    let mut client = Command::new(DEBUGINFOD_CLIENT);
    client.args(["debuginfo", &hexadecimal(build_id)]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = client.output().ok().filter(|output| output.status.success())?;
    let path = PathBuf::from(OsStr::from_bytes(output.stdout.trim_ascii_end()));
    let found = Elf::open(&path).ok()?;
    (found.build_id().as_deref() == Some(build_id)).then_some((path, found))
}

/// The directory that the path names, and the one that it leads to through symbolic links.
pub(crate) fn directories_of(file: &Path) -> Vec<PathBuf> {
    let named = file.parent().map(Path::to_path_buf);
    let real = std::fs::canonicalize(file).ok().and_then(|path| path.parent().map(Path::to_path_buf));
    let mut all: Vec<_> = named.into_iter().collect();
    if let Some(real) = real
        && !all.contains(&real)
    {
        all.push(real);
    }
    all
}
