//! Where a blocked thread is.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::ids::{Pid, Tid};
use crate::linux::read_memory;
use crate::threads::{Processes, unexpected};

/// Looks at one thread again and again, without stopping it.
///
/// It needs the right to trace the thread (as root, or the same user and a descendant where Yama restricts it). It keeps
/// one descriptor, so a later thread with the same number is never taken for this one.
#[derive(Debug)]
pub struct Lookout {
    pid: Pid,
    file: File,
    stack: Vec<u8>,
}

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight<'a> {
    /// It was running, or ready to.
    Running,
    /// It was blocked, but ran while it was being looked at.
    Moved,
    /// It was blocked all the time.
    Blocked(Blocked<'a>),
}

/// Where a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked<'a> {
    /// The system call; `None` outside of any, as in a page fault.
    pub call: Option<Call>,
    /// The stack pointer.
    pub sp: u64,
    /// The instruction that follows the system call, or that faulted.
    pub pc: u64,
    /// The stack from `sp` upwards; shorter than asked for where its memory ends, empty where it cannot be read.
    pub stack: &'a [u8],
}

/// A system call and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub number: u64,
    /// What was in the argument registers, whether it takes that many or not.
    pub arguments: [u64; 6],
}

/// Longer than any line of the file: nine numbers of at most 18 characters.
const LINE_BYTES: usize = 256;

impl Lookout {
    /// For a thread that exists. Up to `stack_bytes` of its stack will be copied, but no more than 63 pages.
    pub fn on(processes: &Processes, pid: Pid, tid: Tid, stack_bytes: usize) -> io::Result<Lookout> {
        let file = File::open(processes.thread_file(pid, tid, "syscall"))?;
        Ok(Lookout { pid, file, stack: vec![0; stack_bytes] })
    }

    /// Looks. An error where the thread has ended, or must not be looked at.
    pub fn look(&mut self) -> io::Result<Sight<'_>> {
        let (mut before, mut after) = ([0; LINE_BYTES], [0; LINE_BYTES]);
        let before = self.line(&mut before)?;
        let Some(place) = parse(before)? else { return Ok(Sight::Running) };
        // A stack pointer that points nowhere is the program's business, and no reason to hide where it waits.
        let copied = read_memory(self.pid, place.sp, &mut self.stack).unwrap_or(0);
        // The same call with the same arguments at the same place of the same stack, so the frames above are the same.
        if self.line(&mut after)? != before {
            return Ok(Sight::Moved);
        }
        Ok(Sight::Blocked(Blocked { stack: &self.stack[..copied], ..place }))
    }

    fn line<'b>(&self, buffer: &'b mut [u8; LINE_BYTES]) -> io::Result<&'b [u8]> {
        let read = self.file.read_at(buffer, 0)?;
        Ok(&buffer[..read])
    }
}

/// `running`, or the call's number and its arguments (or only -1), and then sp and pc: `202 0x7f… … 0x7f… 0x7f…`.
fn parse(line: &[u8]) -> io::Result<Option<Blocked<'static>>> {
    let text = str::from_utf8(line).unwrap_or_default();
    let mut words = text.split_ascii_whitespace();
    let first = words.next();
    let mut numbers = words.map_while(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let mut place = || {
        let call = match first? {
            "-1" => None,
            number => {
                let mut arguments = [0; 6];
                for argument in &mut arguments {
                    *argument = numbers.next()?;
                }
                Some(Call { number: number.parse().ok()?, arguments })
            }
        };
        Some(Blocked { call, sp: numbers.next()?, pc: numbers.next()?, stack: &[] })
    };
    if first == Some("running") {
        return Ok(None);
    }
    place().map(Some).ok_or_else(|| unexpected("syscall"))
}

#[cfg(test)]
mod tests;
