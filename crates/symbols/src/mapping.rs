//! Executable mappings of a process that runs, and which file, at which bias, each of them shows.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::elf::{Elf, Segment};
use crate::error::Warning;
use crate::files::{Files, OpenFile};
use crate::module::{Module, VDSO};

const PAGE_BYTES: u64 = 4096;

/// What the kernel puts behind the path of a file that has no name any more.
const DELETED: &str = " (deleted)";

/// An executable mapping, as `/proc/PID/maps` lists it or a `PERF_RECORD_MMAP2` reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The file, as the kernel names it: also `//anon`, `[heap]`, `[vdso]`, `/memfd:code (deleted)`, or nothing.
    pub path: PathBuf,
    /// First mapped address.
    pub start: u64,
    /// Address after the last mapped one.
    pub end: u64,
    /// The file's byte at `start`.
    pub offset: u64,
    /// Build id of what was mapped, where the kernel tells. A file with another one is not used.
    pub build_id: Option<Vec<u8>>,
}

/// What [`Symbolizer::add`](crate::Symbolizer::add) did with a mapping.
#[derive(Debug, Default)]
pub struct Added {
    /// The module that came with it; nothing if it belongs to one that is known already.
    pub module: Option<Module>,
    /// Why names of this module will be missing.
    pub warning: Option<Warning>,
}

/// Where the bytes of a mapping come from.
pub(crate) enum Source {
    File(Rc<OpenFile>),
    /// A file that may not be used: gone, unreadable, or not the one that was mapped.
    Unusable(Warning),
    /// No file: code that was made at run time.
    Memory,
}

/// The name of memory that is of no file.
pub const ANONYMOUS: &str = "[anonymous]";

impl Mapping {
    /// Whether there is something in it, and its file offset fits its length.
    pub(crate) fn is_sane(&self) -> bool {
        self.start < self.end && self.offset.checked_add(self.end - self.start).is_some()
    }

    /// The module's path: without the kernel's marks.
    pub(crate) fn module_path(&self) -> PathBuf {
        let text = self.path.to_string_lossy();
        match text.as_ref() {
            "" | "//anon" => PathBuf::from(ANONYMOUS),
            "[vdso]" => PathBuf::from(VDSO),
            other => match other.strip_suffix(DELETED) {
                Some(rest) => PathBuf::from(rest),
                None => self.path.clone(),
            },
        }
    }

    /// The file behind the mapping. `process` is the directory of the process in `/proc`.
    pub(crate) fn source(&self, files: &Files, process: Option<&Path>) -> Source {
        let text = self.path.to_string_lossy();
        if text == "[vdso]" || text.starts_with("linux-vdso.so") {
            return files.vdso().map_or(Source::Memory, |file| self.checked(file));
        }
        if !text.starts_with('/') || is_memory(&text) {
            return Source::Memory;
        }
        let opened = match text.strip_suffix(DELETED) {
            Some(rest) => self.open_deleted(rest, files, process),
            None => {
                let mut paths = Vec::new();
                if let (Some(process), Ok(below)) = (process, self.path.strip_prefix("/")) {
                    paths.push(process.join("root").join(below));
                }
                paths.push(self.path.clone());
                files.open_first(&paths)
            }
        };
        match opened {
            Ok(file) => self.checked(file),
            // Something else than a program that is mapped executable: a snapshot of machine code, or its cache.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Source::Memory,
            Err(error) => {
                let reason = error.to_string();
                Source::Unusable(Warning::Unreadable { path: self.module_path(), reason })
            }
        }
    }

    fn checked(&self, file: Rc<OpenFile>) -> Source {
        match &self.build_id {
            Some(mapped) if file.build_id.as_ref() != Some(mapped) => {
                Source::Unusable(Warning::Changed { path: self.module_path() })
            }
            _ => Source::File(file),
        }
    }

    /// A file without a name is still there while the process has it mapped.
    fn open_deleted(&self, rest: &str, files: &Files, process: Option<&Path>) -> io::Result<Rc<OpenFile>> {
        let mut paths = Vec::new();
        if let Some(process) = process {
            paths.push(process.join("map_files").join(format!("{:x}-{:x}", self.start, self.end)));
            let program = process.join("exe");
            if std::fs::read_link(&program).is_ok_and(|leads_to| leads_to == self.path) {
                paths.push(program);
            }
        }
        // What stands at the path now is another file, unless the build id says that it is the same.
        if self.build_id.is_some() {
            paths.push(PathBuf::from(rest));
        }
        files.open_first(&paths)
    }

    /// Bias, first and last address of the module that this mapping shows a part of; nothing if the file has no such
    /// part.
    ///
    /// A segment's address and file offset differ by a multiple of the page size, and are mapped in whole pages:
    /// address in the process = file offset + (`start` − `offset`), address in the file = file offset +
    /// (`p_vaddr` − `p_offset`); the bias is their difference (ELF specification, "Program Loading").
    pub(crate) fn placed(&self, elf: &Elf) -> Option<(u64, u64, u64)> {
        let segment = elf.segments().iter().max_by_key(|segment| {
            let shared = self.shared_bytes(segment);
            (shared > 0, segment.is_executable, shared)
        });
        let segment = segment.filter(|segment| self.shared_bytes(segment) > 0)?;
        let bias =
            self.start.wrapping_sub(self.offset).wrapping_sub(segment.address.wrapping_sub(segment.offset));
        let first = elf.segments().iter().map(|segment| bias.wrapping_add(segment.address)).min()?;
        let last = elf
            .segments()
            .iter()
            .map(|segment| bias.wrapping_add(segment.address).saturating_add(segment.size))
            .max()?;
        Some((bias, first.min(self.start), last.max(self.end)))
    }

    /// How many bytes of the segment's pages in the file this mapping shows.
    fn shared_bytes(&self, segment: &Segment) -> u64 {
        let first = segment.offset & !(PAGE_BYTES - 1);
        let last = segment
            .offset
            .saturating_add(segment.file_size)
            .checked_next_multiple_of(PAGE_BYTES)
            .unwrap_or(u64::MAX);
        let mapped_last = self.offset.saturating_add(self.end - self.start);
        last.min(mapped_last).saturating_sub(first.max(self.offset))
    }
}

/// Whether a path that begins with `/` stands for memory without a file.
fn is_memory(path: &str) -> bool {
    ["//", "/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage", "/dev/ashmem", "/[aio]"]
        .iter()
        .any(|start| path.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(path: &str) -> Mapping {
        Mapping { path: path.into(), start: 0x1000, end: 0x2000, offset: 0, build_id: None }
    }

    #[test]
    fn memory_is_told_from_files() {
        for path in
            ["", "//anon", "[heap]", "[vsyscall]", "/memfd:doublemapper (deleted)", "/dev/zero (deleted)"]
        {
            let source = mapping(path).source(&Files::default(), None);
            assert!(matches!(source, Source::Memory), "{path}");
        }
        let gone = mapping("/nowhere/libgone.so").source(&Files::default(), None);
        assert!(matches!(gone, Source::Unusable(Warning::Unreadable { .. })));
        // There is a file at the path, but it is not the one that was deleted.
        let deleted = mapping("/proc/self/exe (deleted)").source(&Files::default(), None);
        assert!(matches!(deleted, Source::Unusable(Warning::Unreadable { .. })));
    }

    #[test]
    fn marks_are_no_part_of_the_path() {
        assert_eq!(mapping("/usr/bin/app (deleted)").module_path(), Path::new("/usr/bin/app"));
        assert_eq!(mapping("//anon").module_path(), Path::new("[anonymous]"));
        assert_eq!(mapping("[vdso]").module_path(), Path::new("linux-vdso.so.1"));
    }
}
