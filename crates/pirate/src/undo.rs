//! What has been changed on the machine, as what changes it back: one line of text each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, getpriority_process, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::attributes::{least_utilization, set_least_utilization};
use crate::terminal::{self, Modes};

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
    /// Lets all threads of a process, and of those that it has started, that may use just these CPUs use others again: so
    /// that also those get them back that have inherited.
    Cpus {
        /// The process.
        process: u32,
        /// When it began, in clock ticks since boot.
        began: u64,
        /// The CPUs that they were given.
        from: Vec<u32>,
        /// Those that they had.
        to: Vec<u32>,
    },
    /// The same with their nice value.
    Nice {
        /// The process.
        process: u32,
        /// When it began, in clock ticks since boot.
        began: u64,
        /// The value that they were given.
        from: i32,
        /// The one that they had.
        to: i32,
    },
    /// The same with how busy the kernel takes them to be at least.
    LeastUtilization {
        /// The process.
        process: u32,
        /// When it began, in clock ticks since boot.
        began: u64,
        /// The value that they were given.
        from: u32,
        /// The one that they had.
        to: u32,
    },
    /// Writes what was in a file of the kernel.
    Write {
        /// The file, from the root.
        path: PathBuf,
        /// What was in it.
        content: String,
    },
    /// Gives a terminal back its screen and its cursor, and its modes where they are still those that it was given.
    Terminal {
        /// The terminal, from the root.
        path: PathBuf,
        /// The modes that it was given.
        from: Modes,
        /// Those that it had.
        to: Modes,
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
        let set = sched_getaffinity(Some(Pid::from_raw(i32::try_from(thread).ok()?)?)).ok()?;
        let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect();
        Some(Undo::Affinity { thread, began: began(thread)?, cpus })
    }

    /// What undoes that threads of a process were given the CPUs `from`; `None` if there is no such process.
    pub fn of_cpus(process: u32, from: &[u32], to: &[u32]) -> Option<Undo> {
        Some(Undo::Cpus { process, began: began(process)?, from: from.to_vec(), to: to.to_vec() })
    }

    /// What undoes that threads of a process were given the nice value `from`; `None` if there is no such process.
    pub fn of_nice(process: u32, from: i32, to: i32) -> Option<Undo> {
        Some(Undo::Nice { process, began: began(process)?, from, to })
    }

    /// What undoes that the kernel was told to take threads of a process for as busy as `from` at least; `None` if there is no
    /// such process.
    pub fn of_least_utilization(process: u32, from: u32, to: u32) -> Option<Undo> {
        Some(Undo::LeastUtilization { process, began: began(process)?, from, to })
    }

    /// What undoes writing to `path`.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn of_write(path: &Path) -> io::Result<Undo> {
        Ok(Undo::Write { path: path.to_owned(), content: fs::read_to_string(path)? })
    }

    /// What undoes that a terminal is made raw, and shows its other screen.
    ///
    /// # Errors
    /// If it is no terminal, or cannot be opened.
    pub fn of_terminal(path: &Path) -> io::Result<Undo> {
        let (to, from) = terminal::modes_and_raw(path)?;
        Ok(Undo::Terminal { path: path.to_owned(), from, to })
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
                let set = set_of(cpus);
                let thread = i32::try_from(*thread).ok().and_then(Pid::from_raw);
                // No thread means the calling one to the kernel.
                if thread.is_none() {
                    Ok(())
                } else {
                    sched_setaffinity(thread, &set).map_err(io::Error::from)
                }
            }
            Undo::Cpus { process, began, from, to } => {
                let (from, to) = (set_of(from), set_of(to));
                on_threads(*process, *began, |thread| {
                    if sched_getaffinity(Some(thread))? == from {
                        sched_setaffinity(Some(thread), &to)?;
                    }
                    Ok(())
                })
            }
            Undo::Nice { process, began, from, to } => on_threads(*process, *began, |thread| {
                // The calls are about processes by their names, and about single threads in Linux.
                if getpriority_process(Some(thread))? == *from {
                    setpriority_process(Some(thread), *to)?;
                }
                Ok(())
            }),
            Undo::LeastUtilization { process, began, from, to } => on_threads(*process, *began, |thread| {
                let id = thread.as_raw_nonzero().get() as u32;
                if least_utilization(id).map_err(errno)? == *from {
                    set_least_utilization(id, *to).map_err(errno)?;
                }
                Ok(())
            }),
            Undo::Write { path, content } => fs::OpenOptions::new()
                .write(true)
                .truncate(true)
                .open(path)
                .and_then(|mut file| io::Write::write_all(&mut file, content.as_bytes())),
            Undo::Terminal { path, from, to } => terminal::give_back(path, *from, *to),
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
                format!("affinity {thread} {began} {}", joined(cpus))
            }
            Undo::Cpus { process, began, from, to } => {
                format!("cpus {process} {began} {} {}", joined(from), joined(to))
            }
            Undo::Nice { process, began, from, to } => format!("nice {process} {began} {from} {to}"),
            Undo::LeastUtilization { process, began, from, to } => {
                format!("utilization {process} {began} {from} {to}")
            }
            Undo::Write { path, content } => format!("write {} {}", word(path), escaped(content.as_bytes())),
            Undo::Terminal { path, from, to } => {
                format!("terminal {} {} {}", word(path), joined(from), joined(to))
            }
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
                cpus: numbers(words.next()?)?,
            },
            "cpus" => Undo::Cpus {
                process: words.next()?.parse().ok()?,
                began: words.next()?.parse().ok()?,
                from: numbers(words.next()?)?,
                to: numbers(words.next()?)?,
            },
            "nice" => Undo::Nice {
                process: words.next()?.parse().ok()?,
                began: words.next()?.parse().ok()?,
                from: words.next()?.parse().ok()?,
                to: words.next()?.parse().ok()?,
            },
            "utilization" => Undo::LeastUtilization {
                process: words.next()?.parse().ok()?,
                began: words.next()?.parse().ok()?,
                from: words.next()?.parse().ok()?,
                to: words.next()?.parse().ok()?,
            },
            "write" => Undo::Write {
                path: path(words.next()?)?,
                content: String::from_utf8(unescaped(words.next()?)?).ok()?,
            },
            "terminal" => Undo::Terminal {
                path: path(words.next()?)?,
                from: numbers(words.next()?)?.try_into().ok()?,
                to: numbers(words.next()?)?.try_into().ok()?,
            },
            "remove" => Undo::Remove { path: path(words.next()?)? },
            _ => return None,
        };
        words.next().is_none().then_some(undo)
    }
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

fn joined(cpus: &[u32]) -> String {
    let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
    cpus.join(",")
}

fn numbers(word: &str) -> Option<Vec<u32>> {
    word.split(',').map(|cpu| cpu.parse().ok()).collect()
}

fn set_of(cpus: &[u32]) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.iter().filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu as usize));
    set
}

/// Does something to all threads of a process, if it is still the one that began then, and of the processes that it has
/// started, as far as they have not lost their parents. Twice, because a thread may start another meanwhile. Gives the first
/// error but that a thread is gone.
fn on_threads(process: u32, then: u64, act: impl Fn(Pid) -> rustix::io::Result<()>) -> io::Result<()> {
    if began(process) != Some(then) {
        return Ok(());
    }
    let mut result = Ok(());
    for _ in 0..2 {
        let mut left = vec![process];
        while let Some(process) = left.pop() {
            let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
            for task in tasks.flatten() {
                let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                left.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
                let thread = task.file_name().to_str().and_then(|name| name.parse().ok());
                match thread.and_then(Pid::from_raw).map(&act) {
                    Some(Err(error)) if error != Errno::SRCH => result = result.and(Err(error.into())),
                    _ => {}
                }
            }
        }
    }
    result
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
            (any::<u32>(), any::<u64>(), proptest::collection::vec(any::<u32>(), 1..9), any::<u32>())
                .prop_map(|(process, began, from, to)| Undo::Cpus { process, began, from, to: vec![to] }),
            (any::<u32>(), any::<u64>(), any::<i32>(), any::<i32>())
                .prop_map(|(process, began, from, to)| Undo::Nice { process, began, from, to }),
            (any::<u32>(), any::<u64>(), any::<u32>(), any::<u32>()).prop_map(
                |(process, began, from, to)| { Undo::LeastUtilization { process, began, from, to } }
            ),
            (path.clone(), any::<String>()).prop_map(|(path, content)| Undo::Write { path, content }),
            (path.clone(), any::<Modes>(), any::<Modes>()).prop_map(|(path, from, to)| Undo::Terminal {
                path,
                from,
                to
            }),
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
            "cpus 1 2 3",
            "nice 1 2 x 0",
            "utilization 1 2 1024",
            "terminal /a 1,2,3 1,2,3,4",
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
