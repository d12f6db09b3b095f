//! Programs that run, looked at from outside: through `/proc`, as a collector does.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use holdup_symbols::{Files, Mapping, StackCopy, Symbolizer};

use crate::build::options_in;

/// Bytes of a stack that are copied.
const COPIED: usize = 64 * 1024;

/// A child that ends with the test.
pub(crate) struct Running {
    child: Child,
    /// The thread that said that it would block.
    thread: u32,
}

/// What `/proc/PID/task/TID/syscall` tells of a blocked thread, and its stack.
pub(crate) struct Blocked {
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    pub(crate) stack: Vec<u8>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts a program and reads the line that it writes before it blocks: process and thread id.
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", program.display()));
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let thread = line.split_whitespace().nth(1).unwrap_or_default().parse();
        let thread = thread.unwrap_or_else(|_| panic!("{arguments:?} wrote {line:?}"));
        Self { child, thread }
    }

    pub(crate) fn process(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.child.id()))
    }

    /// The thread, once it blocks in another system call than the one that wrote the line.
    pub(crate) fn blocked(&self) -> Blocked {
        self.blocked_thread(self.thread)
    }

    /// All threads.
    pub(crate) fn threads(&self) -> Vec<u32> {
        let tasks = std::fs::read_dir(self.process().join("task")).unwrap();
        tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
    }

    /// The thread, once it blocks in `read`: in between Go's runtime may have made it wait for something of its own.
    pub(crate) fn reading(&self) -> Blocked {
        self.blocked_in(self.thread, |call| call == "0")
    }

    /// Any thread that blocks in the end.
    pub(crate) fn blocked_thread(&self, thread: u32) -> Blocked {
        self.blocked_in(thread, |call| call != "1")
    }

    fn blocked_in(&self, thread: u32, is_it: impl Fn(&str) -> bool) -> Blocked {
        let path = self.process().join(format!("task/{thread}/syscall"));
        loop {
            let text = std::fs::read_to_string(&path).unwrap();
            let fields: Vec<&str> = text.split_whitespace().collect();
            let number = |field: &str| u64::from_str_radix(field.trim_start_matches("0x"), 16).unwrap();
            if fields.len() == 9 && is_it(fields[0]) {
                let (sp, ip) = (number(fields[7]), number(fields[8]));
                return Blocked { ip, sp, stack: self.stack(sp) };
            }
            std::thread::yield_now();
        }
    }

    fn stack(&self, sp: u64) -> Vec<u8> {
        let memory = File::open(self.process().join("mem")).unwrap();
        let mut bytes = vec![0; COPIED];
        let mut read = 0;
        while let Ok(count @ 1..) = memory.read_at(&mut bytes[read..], sp + read as u64) {
            read += count;
        }
        bytes.truncate(read);
        bytes
    }

    /// The executable mappings.
    pub(crate) fn mappings(&self) -> Vec<Mapping> {
        executable_mappings(self.process().join("maps"))
    }

    /// An image with all mappings, which warns of nothing.
    pub(crate) fn symbolizer(&self, directory: &Path) -> Symbolizer {
        let options = options_in(directory);
        let mut symbolizer = Symbolizer::live(Some(self.process()), options, Files::default());
        for mapping in self.mappings() {
            assert_eq!(symbolizer.add(&mapping).warning, None);
        }
        symbolizer
    }
}

impl Blocked {
    /// What is known without the register `rbp`.
    pub(crate) fn copy(&self) -> StackCopy<'_> {
        StackCopy { ip: self.ip, sp: self.sp, bp: None, bytes: &self.stack }
    }
}

/// The executable mappings that a file like `/proc/PID/maps` lists.
pub(crate) fn executable_mappings(maps: impl AsRef<Path>) -> Vec<Mapping> {
    std::fs::read_to_string(maps).unwrap().lines().filter_map(mapping).collect()
}

/// A line of `/proc/PID/maps`, if it is executable.
fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let is_executable = fields.next()?.contains('x');
    let offset = fields.next()?;
    let path = line.splitn(6, ' ').nth(5).unwrap_or_default().trim_start();
    let number = |text| u64::from_str_radix(text, 16).unwrap();
    is_executable.then(|| Mapping {
        path: PathBuf::from(path),
        start: number(start),
        end: number(end),
        offset: number(offset),
        build_id: None,
    })
}
