//! Opened files and what was parsed from them, for all process images that have them mapped.

use std::cell::{OnceCell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bytes::Bytes;
use crate::dwarf::DebugInfo;
use crate::elf::Elf;
use crate::go_table::GoTable;
use crate::image::Image;
use crate::linkage::Linkage;
use crate::search::Options;
use crate::unwind_tables::UnwindTable;

/// Files of processes that are gone are kept up to this many: each costs a memory mapping, of which the kernel gives a
/// process 65,530.
const MAX_IDLE: usize = 2048;

/// Bytes of the kernel's vDSO that are read; it has two pages on present kernels.
const MAX_VDSO: u64 = 1 << 20;

/// What was parsed from files, for all the process images that have them mapped: a recording of many processes
/// parses the C library once.
#[derive(Clone, Default)]
pub struct Files {
    opened: Rc<RefCell<BTreeMap<Identity, Rc<OpenFile>>>>,
    counts: Arc<FileCounts>,
}

/// How far the search for names has come, for who watches it from another thread.
#[derive(Debug, Default)]
pub struct FileCounts {
    /// Files that processes had mapped, as far as they are known.
    pub opened: AtomicUsize,
    /// Those whose names were read: an address fell into them.
    pub read: AtomicUsize,
}

/// One file and everything that it tells, read when it is first asked for.
pub(crate) struct OpenFile {
    pub(crate) elf: Elf,
    pub(crate) build_id: Option<Vec<u8>>,
    /// A path that leads to it, for the search of files that belong to it.
    path: PathBuf,
    counts: Arc<FileCounts>,
    separate: OnceCell<Option<(PathBuf, Elf)>>,
    image: OnceCell<RefCell<Image>>,
    eh_frame: OnceCell<Option<UnwindTable>>,
    debug_frame: OnceCell<Option<UnwindTable>>,
    go_table: OnceCell<Option<GoTable>>,
    linkage: OnceCell<Linkage>,
}

/// A file's contents as the kernel knows them: the same through whatever path or mount namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Stored {
        device: u64,
        inode: u64,
        size: u64,
        seconds: i64,
        nanoseconds: i64,
    },
    /// The library that the kernel maps into each process.
    Vdso,
}

impl Files {
    /// None yet; they are counted there.
    pub fn counted(counts: &Arc<FileCounts>) -> Files {
        Files { counts: Arc::clone(counts), ..Files::default() }
    }

    /// The file at a path, opened now if no process image has it yet.
    pub(crate) fn open(&self, path: &Path) -> io::Result<Rc<OpenFile>> {
        let identity = Identity::of(path)?;
        self.opened_as(identity, path, || Elf::open(path))
    }

    /// Like [`Files::open`], for the first of several paths. If the last one leads to the same file it is the one that
    /// is kept: it outlives the process whose view of the file system the others go through.
    pub(crate) fn open_first(&self, paths: &[PathBuf]) -> io::Result<Rc<OpenFile>> {
        let mut outcome = Err(io::Error::from(io::ErrorKind::NotFound));
        for path in paths {
            outcome = Identity::of(path).and_then(|identity| {
                let lasting = paths.last().filter(|last| Identity::of(last).is_ok_and(|at| at == identity));
                self.opened_as(identity, lasting.unwrap_or(path), || Elf::open(path))
            });
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    /// The vDSO of the running kernel, as it is mapped into this process.
    pub(crate) fn vdso(&self) -> io::Result<Rc<OpenFile>> {
        self.opened_as(Identity::Vdso, Path::new("[vdso]"), || Elf::new(Bytes::from(own_vdso()?)))
    }

    fn opened_as(
        &self,
        identity: Identity,
        path: &Path,
        open: impl FnOnce() -> io::Result<Elf>,
    ) -> io::Result<Rc<OpenFile>> {
        if let Some(known) = self.opened.borrow().get(&identity) {
            return Ok(known.clone());
        }
        let elf = open()?;
        let file = Rc::new(OpenFile::new(elf, path.to_owned(), Arc::clone(&self.counts)));
        self.counts.opened.fetch_add(1, Ordering::Relaxed);
        let mut opened = self.opened.borrow_mut();
        if opened.len() >= MAX_IDLE {
            opened.retain(|_, file| Rc::strong_count(file) > 1);
        }
        opened.insert(identity, file.clone());
        Ok(file)
    }
}

impl Identity {
    fn of(path: &Path) -> io::Result<Self> {
        let facts = std::fs::metadata(path)?;
        Ok(Self::Stored {
            device: facts.dev(),
            inode: facts.ino(),
            size: facts.size(),
            seconds: facts.mtime(),
            nanoseconds: facts.mtime_nsec(),
        })
    }
}

impl OpenFile {
    fn new(elf: Elf, path: PathBuf, counts: Arc<FileCounts>) -> Self {
        Self {
            build_id: elf.build_id(),
            elf,
            path,
            counts,
            separate: OnceCell::new(),
            image: OnceCell::new(),
            eh_frame: OnceCell::new(),
            debug_frame: OnceCell::new(),
            go_table: OnceCell::new(),
            linkage: OnceCell::new(),
        }
    }

    /// The separate file with debug information, if this one has none itself.
    fn separate(&self, options: &Options) -> Option<&(PathBuf, Elf)> {
        self.separate
            .get_or_init(|| {
                let has_own = DebugInfo::is_in(&self.elf);
                if has_own { None } else { options.debug_file(&self.path, &self.elf) }
            })
            .as_ref()
    }

    /// Names, lines and variables.
    pub(crate) fn image(&self, options: &Options) -> RefMut<'_, Image> {
        let open = || {
            let image = Image::open(&self.path, &self.elf, self.separate(options), options);
            self.counts.read.fetch_add(1, Ordering::Relaxed);
            RefCell::new(image)
        };
        self.image.get_or_init(open).borrow_mut()
    }

    /// Whether the image was asked for and turned out to know nothing better than exported names.
    pub(crate) fn was_found_lacking(&self) -> bool {
        self.image.get().is_some_and(|image| image.borrow().lacks_names()) && self.go_table().is_none()
    }

    /// Calls of functions in other files.
    pub(crate) fn linkage(&self) -> &Linkage {
        self.linkage.get_or_init(|| Linkage::read(&self.elf))
    }

    /// The function table of a Go program.
    pub(crate) fn go_table(&self) -> Option<&GoTable> {
        self.go_table.get_or_init(|| GoTable::read(&self.elf)).as_ref()
    }

    /// Call frame information that is mapped with the program.
    pub(crate) fn eh_frame(&self) -> Option<&UnwindTable> {
        self.eh_frame.get_or_init(|| UnwindTable::eh_frame(&self.elf)).as_ref()
    }

    /// Call frame information that is debug information: the file's own, else the separate file's.
    pub(crate) fn debug_frame(&self, options: &Options) -> Option<&UnwindTable> {
        let read = || {
            UnwindTable::debug_frame(&self.elf)
                .or_else(|| UnwindTable::debug_frame(&self.separate(options)?.1))
        };
        self.debug_frame.get_or_init(read).as_ref()
    }
}

fn own_vdso() -> io::Result<Vec<u8>> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let range = maps.lines().filter(|line| line.ends_with("[vdso]")).find_map(|line| {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
    });
    let (start, end) = range.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let size = end.saturating_sub(start).min(MAX_VDSO);
    let mut bytes = vec![0; size as usize];
    File::open("/proc/self/mem")?.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_once_when_they_are_opened_and_when_they_are_read() {
        let counts = Arc::new(FileCounts::default());
        let counted = || (counts.opened.load(Ordering::Relaxed), counts.read.load(Ordering::Relaxed));
        let files = Files::counted(&counts);
        let own = std::env::current_exe().unwrap();
        let file = files.clone().open(&own).unwrap();
        files.open(&own).unwrap();
        assert_eq!(counted(), (1, 0));
        file.image(&Options::default());
        file.image(&Options::default());
        assert_eq!(counted(), (1, 1));
    }
}
