//! What has been changed on the machine, as what changes it back: one line of text each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// One change, told by what undoes it. Each can be done twice, and after what it is about has gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Lets a thread run on these CPUs again, if it is still the one that it was.
    Affinity {
        /// The thread's number.
        thread: u32,
        /// When it began, in clock ticks since boot: numbers are used again.
        began: u64,
        /// The CPUs that it had.
        cpus: Vec<u32>,
    },
    /// Writes what was in a file of the kernel.
    Write {
        /// The file, from the root.
        path: PathBuf,
        /// What was in it.
        content: String,
    },
    /// Removes an empty directory: a group of resctrl or of cgroups. What was in such a group goes back to the one above.
    Remove {
        /// The directory, from the root.
        path: PathBuf,
    },
}

impl Undo {
    /// What undoes a change of a thread's CPUs that is about to be made; `None` if there is no such thread.
    pub fn of_affinity(thread: u32) -> Option<Undo> {
        let set =
            rustix::thread::sched_getaffinity(Some(Pid::from_raw(i32::try_from(thread).ok()?)?)).ok()?;
        let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect();
        Some(Undo::Affinity { thread, began: began(thread)?, cpus })
    }

    /// What undoes writing to `path`.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn of_write(path: &Path) -> io::Result<Undo> {
        Ok(Undo::Write { path: path.to_owned(), content: fs::read_to_string(path)? })
    }

    /// Does it.
    ///
    /// # Errors
    /// Those of the system. That there is nothing to undo any more is none.
    pub fn perform(&self) -> io::Result<()> {
        let done = match self {
            Undo::Affinity { thread, began: then, cpus } => {
                if began(*thread) != Some(*then) {
                    return Ok(());
                }
                let mut set = CpuSet::new();
                cpus.iter()
                    .filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU)
                    .for_each(|cpu| set.set(*cpu as usize));
                let thread = i32::try_from(*thread).ok().and_then(Pid::from_raw);
                // No thread means the calling one to the kernel.
                if thread.is_none() {
                    Ok(())
                } else {
                    sched_setaffinity(thread, &set).map_err(io::Error::from)
                }
            }
            Undo::Write { path, content } => fs::OpenOptions::new()
                .write(true)
                .truncate(true)
                .open(path)
                .and_then(|mut file| io::Write::write_all(&mut file, content.as_bytes())),
            Undo::Remove { path } => fs::remove_dir(path),
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// As a line, without its end.
    pub fn line(&self) -> String {
        match self {
            Undo::Affinity { thread, began, cpus } => {
                let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
                format!("affinity {thread} {began} {}", cpus.join(","))
            }
            Undo::Write { path, content } => format!("write {} {}", word(path), escaped(content.as_bytes())),
            Undo::Remove { path } => format!("remove {}", word(path)),
        }
    }

    /// Of a line; `None` if it is none.
    pub fn parse(line: &str) -> Option<Undo> {
        let mut words = line.split(' ');
        let undo = match words.next()? {
            "affinity" => Undo::Affinity {
                thread: words.next()?.parse().ok()?,
                began: words.next()?.parse().ok()?,
                cpus: words.next()?.split(',').map(|cpu| cpu.parse().ok()).collect::<Option<_>>()?,
            },
            "write" => Undo::Write {
                path: path(words.next()?)?,
                content: String::from_utf8(unescaped(words.next()?)?).ok()?,
            },
            "remove" => Undo::Remove { path: path(words.next()?)? },
            _ => return None,
        };
        words.next().is_none().then_some(undo)
    }
}

/// When a thread began: field 22 of its `stat`, in clock ticks since boot.
fn began(thread: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).ok()?;
    // The name before may have anything in it, parentheses too.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

fn word(path: &Path) -> String {
    escaped(path.as_os_str().as_encoded_bytes())
}

fn path(word: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = PathBuf::from(std::ffi::OsString::from_vec(unescaped(word)?));
    path.is_absolute().then_some(path)
}

/// Without spaces and ends of lines: those, and all that is no printed ASCII, as `%` and two digits.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_graphic() && *byte != b'%' {
            text.push(char::from(*byte));
        } else {
            text.push_str(&format!("%{byte:02x}"));
        }
    }
    text
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*byte);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStringExt;

    fn undo() -> impl Strategy<Value = Undo> {
        let path = proptest::collection::vec(1u8..=255, 0..40).prop_map(|mut bytes| {
            bytes.insert(0, b'/');
            PathBuf::from(std::ffi::OsString::from_vec(bytes))
        });
        prop_oneof![
            (any::<u32>(), any::<u64>(), proptest::collection::vec(any::<u32>(), 1..9))
                .prop_map(|(thread, began, cpus)| Undo::Affinity { thread, began, cpus }),
            (path.clone(), any::<String>()).prop_map(|(path, content)| Undo::Write { path, content }),
            path.prop_map(|path| Undo::Remove { path }),
        ]
    }

    proptest! {
        #[test]
        fn a_line_says_all_of_a_change(undo in undo()) {
            let line = undo.line();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(Undo::parse(&line), Some(undo));
        }

        #[test]
        fn what_is_no_change_is_none(line in ".{0,60}") {
            let _ = Undo::parse(&line);
        }
    }

    #[test]
    fn lines_that_are_cut_off_or_lead_elsewhere_are_no_changes() {
        for line in [
            "",
            "write",
            "write /a",
            "write a b",
            "remove a",
            "affinity 1 2",
            "affinity 1 2 x",
            "remove /a b",
            "write /a %2",
        ] {
            assert_eq!(Undo::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_file_gets_back_what_was_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("setting");
        fs::write(&file, "madvise\n").unwrap();
        let undo = Undo::of_write(&file).unwrap();
        fs::write(&file, "something much longer\n").unwrap();
        undo.perform().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "madvise\n");
        fs::remove_file(&file).unwrap();
        undo.perform().unwrap();
        assert!(!file.exists(), "what has gone is not made anew");
    }

    #[test]
    fn a_group_is_removed_once() {
        let directory = tempfile::tempdir().unwrap();
        let group = directory.path().join("group");
        fs::create_dir(&group).unwrap();
        let undo = Undo::Remove { path: group.clone() };
        undo.perform().unwrap();
        assert!(!group.exists());
        undo.perform().unwrap();
    }

    #[test]
    fn a_thread_gets_its_cpus_back_and_another_of_its_number_does_not() {
        std::thread::spawn(|| {
            let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            let undo = Undo::of_affinity(thread).unwrap();
            let Undo::Affinity { cpus, began, .. } = undo.clone() else { panic!("{undo:?}") };
            let mut one = CpuSet::new();
            one.set(cpus[0] as usize);
            sched_setaffinity(None, &one).unwrap();
            let other = Undo::Affinity { thread, began: began + 1, cpus: cpus.clone() };
            other.perform().unwrap();
            assert_eq!(crate::allowed_cpus(), [cpus[0]]);
            undo.perform().unwrap();
            assert_eq!(crate::allowed_cpus(), cpus);
        })
        .join()
        .unwrap();
    }
}
