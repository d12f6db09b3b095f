//! What `/proc` tells of processes and threads, without privileges.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::ids::{Pid, Tid};

/// The folder of processes.
#[derive(Clone, Debug)]
pub struct Processes {
    root: PathBuf,
}

/// What the scheduler counted for a thread since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// On a processor, in ns.
    pub cpu_ns: u64,
    /// Runnable, but on no processor, in ns.
    pub run_delay_ns: u64,
    /// How often it was put on a processor.
    pub slices: u64,
}

/// Memory of a process that can be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeMapping {
    /// The address of the first byte.
    pub start: u64,
    /// How many bytes.
    pub len: u64,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// The file as seen in the root of that process; empty, `[vdso]` and the like where there is none.
    pub path: Vec<u8>,
}

/// To whom a thread belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its process.
    pub process: Pid,
    /// The process that started that one, or took it over.
    pub parent: Pid,
}

impl Processes {
    /// Those of this system.
    pub fn here() -> Processes {
        Processes::below(Path::new("/proc"))
    }

    /// Those in a folder that looks like `/proc`.
    pub fn below(root: &Path) -> Processes {
        Processes { root: root.to_owned() }
    }

    /// The threads of a process, in the order of their numbers.
    pub fn threads(&self, pid: Pid) -> io::Result<Vec<Tid>> {
        let mut threads = Vec::new();
        for entry in std::fs::read_dir(self.root.join(format!("{pid}/task")))? {
            let name = entry?.file_name();
            threads.extend(name.to_str().and_then(|name| name.parse().ok()).map(Tid));
        }
        threads.sort_unstable();
        Ok(threads)
    }

    /// A process that exists and all that descend from it, by number. One whose parent has ended descends no more.
    pub fn family_of(&self, pid: Pid) -> io::Result<Vec<Pid>> {
        let mut parents = Vec::new();
        for entry in std::fs::read_dir(&self.root)? {
            let Some(child) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            // One that has just ended has no parent to be told.
            parents.extend(self.family(Tid(child)).map(|family| (Pid(child), family.parent)));
        }
        let mut family = BTreeSet::from([pid]);
        // Numbers wrap around, so a child may have a smaller one than its parent.
        loop {
            let before = family.len();
            for (child, parent) in &parents {
                if family.contains(parent) {
                    family.insert(*child);
                }
            }
            if family.len() == before {
                return Ok(family.into_iter().collect());
            }
        }
    }

    /// The number that a process or thread was given last: as long as it stays there are no new ones.
    pub fn latest(&self) -> io::Result<u32> {
        let text = std::fs::read_to_string(self.root.join("loadavg"))?;
        let number = text.split_ascii_whitespace().last().and_then(|last| last.parse().ok());
        number.ok_or_else(|| unexpected("loadavg"))
    }

    /// A thread's name, as the program chose it.
    pub fn name(&self, pid: Pid, tid: Tid) -> io::Result<Vec<u8>> {
        let mut name = std::fs::read(self.thread_file(pid, tid, "comm"))?;
        name.pop_if(|last| *last == b'\n');
        Ok(name)
    }

    /// A thread's CPU time and run-queue delay.
    pub fn scheduling(&self, pid: Pid, tid: Tid) -> io::Result<Scheduling> {
        let text = std::fs::read_to_string(self.thread_file(pid, tid, "schedstat"))?;
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        let mut next = || match numbers.next() {
            Some(Ok(number)) => Ok(number),
            _ => Err(unexpected("schedstat")),
        };
        Ok(Scheduling { cpu_ns: next()?, run_delay_ns: next()?, slices: next()? })
    }

    /// To whom a thread (or a process, by its first thread) belongs.
    pub fn family(&self, tid: Tid) -> io::Result<Family> {
        let status = std::fs::read(self.root.join(format!("{tid}/status")))?;
        let field = |name: &[u8]| {
            let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name))?;
            std::str::from_utf8(line).ok()?.trim().parse().ok().map(Pid)
        };
        match (field(b"Tgid:"), field(b"PPid:")) {
            (Some(process), Some(parent)) => Ok(Family { process, parent }),
            _ => Err(unexpected("status")),
        }
    }

    /// The memory of a process that can be executed, by address.
    pub fn code(&self, pid: Pid) -> io::Result<Vec<CodeMapping>> {
        let maps = std::fs::read(self.root.join(format!("{pid}/maps")))?;
        Ok(maps.split(|byte| *byte == b'\n').filter_map(code_mapping).collect())
    }

    /// A file of a thread.
    pub fn thread_file(&self, pid: Pid, tid: Tid, name: &str) -> PathBuf {
        self.root.join(format!("{pid}/task/{tid}/{name}"))
    }
}

/// A line of `maps`, if it is about code: `55d0-55e0 r-xp 00001000 fd:01 1234    /usr/bin/app`.
fn code_mapping(line: &[u8]) -> Option<CodeMapping> {
    let mut rest = line;
    let mut word = || {
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after.trim_ascii_start();
        std::str::from_utf8(word).ok()
    };
    let (range, access, offset, _device, _inode) = (word()?, word()?, word()?, word()?, word()?);
    if access.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    Some(CodeMapping { start, len: end.checked_sub(start)?, offset: number(offset)?, path: path(rest) })
}

/// The kernel writes a line break in a path as `\012`, and nothing else in another way than it is.
fn path(written: &[u8]) -> Vec<u8> {
    const BREAK: &[u8] = b"\\012";
    let mut path = Vec::with_capacity(written.len());
    let mut rest = written;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(BREAK) {
            path.push(b'\n');
            rest = after;
        } else {
            path.push(*first);
            rest = after;
        }
    }
    path
}

pub(crate) fn unexpected(file: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{file} of a thread has not the expected form"))
}

#[cfg(test)]
mod tests;
