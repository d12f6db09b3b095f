//! Cache allocation by the processor itself, where the kernel offers it (`/sys/fs/resctrl`): a group of threads may fill
//! only some ways of the last level.
//!
//! The files and their formats: the kernel's `Documentation/filesystems/resctrl.rst`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::undo::Undo;

/// The directory of the last level, as resctrl calls it.
const LEVEL: &str = "L3";

/// The kernel's directory, or what a test has in its place.
pub trait Tree {
    /// What is in a file.
    ///
    /// # Errors
    /// Those of the system.
    fn read(&self, path: &str) -> io::Result<String>;
    /// Writes one line to a file that exists.
    ///
    /// # Errors
    /// Those of the system.
    fn write(&self, path: &str, line: &str) -> io::Result<()>;
    /// Makes a group.
    ///
    /// # Errors
    /// Those of the system.
    fn make(&self, group: &str) -> io::Result<()>;
    /// Removes a group; its threads go back to the whole.
    ///
    /// # Errors
    /// Those of the system.
    fn remove(&self, group: &str) -> io::Result<()>;
    /// Where a group is.
    fn path(&self, group: &str) -> PathBuf;
}

/// The mounted file system.
#[derive(Clone, Debug)]
pub struct Mounted(PathBuf);

impl Mounted {
    /// At this directory: `/sys/fs/resctrl`.
    pub fn at(directory: &Path) -> Mounted {
        Mounted(directory.to_owned())
    }
}

impl Tree for Mounted {
    fn read(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(self.0.join(path))
    }

    fn write(&self, path: &str, line: &str) -> io::Result<()> {
        // One call for the line: the kernel takes each as a whole.
        // The kernel's directories have their files already; in any other they are made.
        fs::OpenOptions::new().create(true).append(true).open(self.0.join(path))?.write_all(line.as_bytes())
    }

    fn make(&self, group: &str) -> io::Result<()> {
        fs::create_dir(self.0.join(group))
    }

    fn remove(&self, group: &str) -> io::Result<()> {
        fs::remove_dir(self.0.join(group))
    }

    fn path(&self, group: &str) -> PathBuf {
        self.0.join(group)
    }
}

/// Why no cache can be allotted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResctrlError {
    /// Not there.
    #[error(
        "the processor's cache allocation is not to be had: {file} cannot be read (mount -t resctrl resctrl /sys/fs/resctrl)"
    )]
    NotThere {
        /// Which file.
        file: String,
    },
    /// A file that says something else than the kernel's documentation.
    #[error("{file} of resctrl says {found:?}")]
    Unreadable {
        /// Which file.
        file: String,
        /// What it says.
        found: String,
    },
    /// More or fewer ways than can be allotted.
    #[error("{asked} ways cannot be allotted: at least {least}, at most {most}")]
    Ways {
        /// How many were asked for.
        asked: u32,
        /// The least.
        least: u32,
        /// All that there are.
        most: u32,
    },
    /// The cache has no line in the schemata.
    #[error("resctrl knows no {LEVEL} cache of number {id}")]
    NoCache {
        /// The number.
        id: u32,
    },
    /// The kernel refused.
    #[error("resctrl: {what}: {error}{said}")]
    Refused {
        /// What was tried.
        what: &'static str,
        /// What the system call said.
        error: io::Error,
        /// What `info/last_cmd_status` says, in parentheses.
        said: String,
    },
}

/// What can be allotted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resctrl<T> {
    tree: T,
    /// A bit for each way.
    whole: u64,
    least: u32,
    closids: u32,
}

/// Ways for a group of threads, until this is dropped.
#[derive(Debug)]
pub struct Allotment<T: Tree> {
    tree: T,
    group: String,
    /// The ways, a bit for each.
    pub mask: u64,
}

impl<T: Tree + Clone> Resctrl<T> {
    /// Looks what there is.
    ///
    /// # Errors
    /// Where it is not mounted, or the processor cannot allot its last level.
    pub fn open(tree: T) -> Result<Resctrl<T>, ResctrlError> {
        let read = |name: &str, radix: u32| -> Result<u64, ResctrlError> {
            let file = format!("info/{LEVEL}/{name}");
            let found = tree.read(&file).map_err(|_| ResctrlError::NotThere { file: file.clone() })?;
            u64::from_str_radix(found.trim(), radix).map_err(|_| ResctrlError::Unreadable { file, found })
        };
        let whole = read("cbm_mask", 16)?;
        let least = u32::try_from(read("min_cbm_bits", 10)?).unwrap_or(u32::MAX);
        let closids = u32::try_from(read("num_closids", 10)?).unwrap_or(u32::MAX);
        if whole == 0 || whole.leading_zeros() + whole.count_ones() != 64 {
            return Err(ResctrlError::Unreadable {
                file: format!("info/{LEVEL}/cbm_mask"),
                found: format!("{whole:x}"),
            });
        }
        Ok(Resctrl { tree, whole, least: least.max(1), closids })
    }

    /// How many ways the level has for all.
    pub fn ways(&self) -> u32 {
        self.whole.count_ones()
    }

    /// The fewest ways that a group can have.
    pub fn least(&self) -> u32 {
        self.least
    }

    /// How many groups there can be at once, the one of all other threads among them.
    pub fn groups(&self) -> u32 {
        self.closids
    }

    /// What removes the group again: to be told to a [`Guardian`](crate::Guardian) before [`Resctrl::allot`].
    pub fn undo(&self, group: &str) -> Undo {
        Undo::Remove { path: self.tree.path(group) }
    }

    /// Lets `threads`, and those that they start from now on, fill only `ways` ways of cache number `cache`. A group of that
    /// name that somebody left is taken away before.
    ///
    /// # Errors
    /// The kernel's reasons. Nothing is left behind.
    pub fn allot(
        &self,
        group: &str,
        cache: u32,
        ways: u32,
        threads: &[u32],
    ) -> Result<Allotment<T>, ResctrlError> {
        let mask = self.mask(ways)?;
        let refused = |what: &'static str| move |error: io::Error| refused(&self.tree, what, error);
        let present = self.tree.read("schemata").map_err(refused("reading schemata"))?;
        if !caches(&present).contains(&cache) {
            return Err(ResctrlError::NoCache { id: cache });
        }
        let _ = self.tree.remove(group);
        self.tree.make(group).map_err(refused("making a group"))?;
        // From here on dropping it takes the group away again.
        let allotment = Allotment { tree: self.tree.clone(), group: group.to_owned(), mask };
        self.tree
            .write(&format!("{group}/schemata"), &format!("{LEVEL}:{cache}={mask:x}\n"))
            .map_err(refused("writing schemata"))?;
        threads.iter().try_for_each(|thread| allotment.add(*thread))?;
        Ok(allotment)
    }

    /// The lowest `ways` ways.
    fn mask(&self, ways: u32) -> Result<u64, ResctrlError> {
        if ways < self.least || ways > self.ways() {
            return Err(ResctrlError::Ways { asked: ways, least: self.least, most: self.ways() });
        }
        Ok(self.whole >> (self.ways() - ways))
    }
}

impl<T: Tree> Allotment<T> {
    /// Lets a thread fill only these ways from now on.
    ///
    /// # Errors
    /// The kernel's reason. That the thread has ended is none: it needs no cache.
    pub fn add(&self, thread: u32) -> Result<(), ResctrlError> {
        self.assign(&format!("{}/tasks", self.group), thread)
    }

    /// Lets it fill all ways again that the group of all threads may.
    ///
    /// # Errors
    /// Those of [`Allotment::add`].
    pub fn give_back(&self, thread: u32) -> Result<(), ResctrlError> {
        self.assign("tasks", thread)
    }

    fn assign(&self, tasks: &str, thread: u32) -> Result<(), ResctrlError> {
        match self.tree.write(tasks, &format!("{thread}\n")) {
            Err(error) if error.raw_os_error() != Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                Err(refused(&self.tree, "writing tasks", error))
            }
            _ => Ok(()),
        }
    }
}

/// With what the kernel says besides.
fn refused(tree: &impl Tree, what: &'static str, error: io::Error) -> ResctrlError {
    let said = tree.read("info/last_cmd_status").unwrap_or_default();
    let said = said.trim();
    let said = if said.is_empty() || said == "ok" { String::new() } else { format!(" ({said})") };
    ResctrlError::Refused { what, error, said }
}

impl<T: Tree> Drop for Allotment<T> {
    fn drop(&mut self) {
        // The kernel gives the threads back to the group of all. Where this fails the guardian tries again.
        let _ = self.tree.remove(&self.group);
    }
}

/// The numbers of the caches in the line of the last level: `    L3:0=fffff;1=fffff`.
fn caches(schemata: &str) -> Vec<u32> {
    let line = schemata.lines().find_map(|line| line.trim().strip_prefix(LEVEL)?.strip_prefix(':'));
    let pairs = line.unwrap_or_default().split(';').filter_map(|pair| pair.split_once('='));
    pairs.filter_map(|(id, _)| id.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    /// Does what the kernel does: a new group has files, each write is checked.
    #[derive(Debug, Default)]
    struct Kernel {
        files: RefCell<BTreeMap<String, String>>,
        groups: RefCell<BTreeSet<String>>,
        dead: Vec<u32>,
    }

    impl Kernel {
        fn new(mask: &str) -> Kernel {
            let kernel = Kernel { dead: vec![666], ..Kernel::default() };
            for (name, content) in [
                ("info/L3/cbm_mask", format!("{mask}\n")),
                ("info/L3/min_cbm_bits", "2\n".to_owned()),
                ("info/L3/num_closids", "16\n".to_owned()),
                ("info/last_cmd_status", "ok\n".to_owned()),
                ("tasks", String::new()),
                ("schemata", format!("    MB:0=100;1=100\n    L3:0={mask};1={mask}\n")),
            ] {
                kernel.files.borrow_mut().insert(name.to_owned(), content);
            }
            kernel
        }

        fn content(&self, path: &str) -> Option<String> {
            self.files.borrow().get(path).cloned()
        }
    }

    impl Tree for &Kernel {
        fn read(&self, path: &str) -> io::Result<String> {
            self.content(path).ok_or_else(|| io::ErrorKind::NotFound.into())
        }

        fn write(&self, path: &str, line: &str) -> io::Result<()> {
            let mut files = self.files.borrow_mut();
            let file = files.get_mut(path).ok_or(io::ErrorKind::NotFound)?;
            assert!(line.ends_with('\n'));
            if path.ends_with("tasks") {
                let thread: u32 = line.trim().parse().map_err(|_| io::ErrorKind::InvalidInput)?;
                if self.dead.contains(&thread) {
                    return Err(io::Error::from_raw_os_error(rustix::io::Errno::SRCH.raw_os_error()));
                }
                file.push_str(line);
            } else if line.contains("=1\n") {
                files.insert(
                    "info/last_cmd_status".to_owned(),
                    "Need at least 2 bits in the mask\n".to_owned(),
                );
                return Err(io::ErrorKind::InvalidInput.into());
            } else {
                *file = line.to_owned();
            }
            Ok(())
        }

        fn make(&self, group: &str) -> io::Result<()> {
            if !self.groups.borrow_mut().insert(group.to_owned()) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            for file in ["schemata", "tasks"] {
                self.files.borrow_mut().insert(format!("{group}/{file}"), String::new());
            }
            Ok(())
        }

        fn remove(&self, group: &str) -> io::Result<()> {
            self.files.borrow_mut().retain(|path, _| !path.starts_with(&format!("{group}/")));
            if self.groups.borrow_mut().remove(group) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
        }

        fn path(&self, group: &str) -> PathBuf {
            Path::new("/sys/fs/resctrl").join(group)
        }
    }

    #[test]
    fn a_group_has_its_ways_and_threads_until_it_is_dropped() {
        let kernel = Kernel::new("fffff");
        let resctrl = Resctrl::open(&kernel).unwrap();
        assert_eq!((resctrl.ways(), resctrl.groups()), (20, 16));
        let allotment = resctrl.allot("holdup", 1, 5, &[10, 666, 11]).unwrap();
        assert_eq!(allotment.mask, 0b11111);
        assert_eq!(kernel.content("holdup/schemata").unwrap(), "L3:1=1f\n");
        assert_eq!(kernel.content("holdup/tasks").unwrap(), "10\n11\n");
        allotment.add(12).unwrap();
        allotment.give_back(10).unwrap();
        assert_eq!(kernel.content("holdup/tasks").unwrap(), "10\n11\n12\n");
        assert_eq!(kernel.content("tasks").unwrap(), "10\n");
        drop(allotment);
        assert!(kernel.groups.borrow().is_empty());
        assert_eq!(resctrl.undo("holdup"), Undo::Remove { path: "/sys/fs/resctrl/holdup".into() });
    }

    #[test]
    fn what_another_run_left_is_taken_away() {
        let kernel = Kernel::new("fff");
        (&kernel).make("holdup").unwrap();
        let resctrl = Resctrl::open(&kernel).unwrap();
        drop(resctrl.allot("holdup", 0, 4, &[]).unwrap());
        assert!(kernel.groups.borrow().is_empty());
    }

    #[test]
    fn what_the_kernel_refuses_leaves_nothing_and_its_reason_is_told() {
        let kernel = Kernel::new("fff");
        let mut resctrl = Resctrl::open(&kernel).unwrap();
        assert!(matches!(
            resctrl.allot("g", 0, 1, &[]),
            Err(ResctrlError::Ways { asked: 1, least: 2, most: 12 })
        ));
        assert!(matches!(resctrl.allot("g", 0, 13, &[]), Err(ResctrlError::Ways { .. })));
        assert!(matches!(resctrl.allot("g", 2, 3, &[]), Err(ResctrlError::NoCache { id: 2 })));
        // As if another kernel wanted more ways than it says.
        resctrl.least = 1;
        let error = resctrl.allot("g", 0, 1, &[]).unwrap_err();
        assert!(error.to_string().contains("(Need at least 2 bits in the mask)"), "{error}");
        assert!(kernel.groups.borrow().is_empty());
    }

    #[test]
    fn what_is_not_mounted_or_not_understood_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let nothing = Resctrl::open(Mounted::at(directory.path()));
        assert!(matches!(nothing, Err(ResctrlError::NotThere { .. })));
        let kernel = Kernel::new("f0f");
        assert!(matches!(Resctrl::open(&kernel), Err(ResctrlError::Unreadable { .. })));
        // The same files on a disk.
        for (path, content) in Kernel::new("ff").files.borrow().iter() {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        assert_eq!(Resctrl::open(Mounted::at(directory.path())).unwrap().ways(), 8);
    }

    #[test]
    fn the_line_of_the_level_is_found_among_others() {
        assert_eq!(caches("    MB:0=100;7=100\n    L3:0=fffff;1=fffff\n"), [0, 1]);
        assert_eq!(caches("L3CODE:0=f\nL2:3=f\n"), [0; 0]);
        assert_eq!(caches(""), [0; 0]);
    }

    proptest! {
        #[test]
        fn a_mask_has_as_many_ways_side_by_side(all in 2u32..=64, ways in 2u32..=64) {
            let mask = u64::MAX >> (64 - all);
            let kernel = Kernel::new(&format!("{mask:x}"));
            match Resctrl::open(&kernel).unwrap().mask(ways) {
                Ok(mask) => {
                    prop_assert_eq!(mask.count_ones(), ways);
                    prop_assert_eq!(mask.trailing_ones(), ways);
                }
                Err(_) => prop_assert!(ways > all),
            }
        }
    }
}
