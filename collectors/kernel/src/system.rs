//! What is asked of the system, so that a test can be another one.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::attributes::{Attributes, Target};
use crate::ids::Cpu;

/// The kernel and its files.
pub trait System {
    /// Opens an event of that target on that processor (`perf_event_open`). The descriptor is closed at exec.
    fn open(&self, attributes: &Attributes, target: Target, cpu: Cpu) -> io::Result<OwnedFd>;

    /// The text of a file, at a path without its leading slash (`proc/self/status`).
    fn read(&self, path: &str) -> io::Result<String>;

    /// Where a symbolic link points, by the same kind of path.
    fn link(&self, path: &str) -> io::Result<PathBuf>;
}
