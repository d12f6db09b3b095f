//! What a program finds when it starts.

use std::ffi::OsString;
use std::path::PathBuf;

use rustix::thread::CpuSet as KernelSet;

/// What is different for the program from what holdup found itself; the default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// Environment variables that are set for it.
    pub variables: Vec<(OsString, OsString)>,
    /// The only CPUs that it may use; empty for all that holdup may use.
    pub cpus: Vec<u32>,
    /// Where its standard output goes.
    pub output: Output,
    /// A file that stands in for the terminal, while holdup has it for itself: there is nothing to be read from it, and what the
    /// program would write to the terminal, by standard output or standard error, is added to the file.
    pub held: Option<PathBuf>,
}

/// Where a program's standard output goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// To that of holdup.
    #[default]
    Shared,
    /// To the standard error of holdup, whose standard output is for the answer.
    Diverted,
    /// Nowhere.
    Dropped,
    /// Nowhere, and its standard error too: for a second run of what was run before.
    Silent,
}

impl Setting {
    /// The CPUs as the kernel takes them; `None` for all that holdup may use. CPUs beyond what the set can hold are
    /// left out.
    pub(crate) fn affinity(&self) -> Option<KernelSet> {
        if self.cpus.is_empty() {
            return None;
        }
        let mut set = KernelSet::new();
        for &cpu in self.cpus.iter().filter(|cpu| (**cpu as usize) < KernelSet::MAX_CPU) {
            set.set(cpu as usize);
        }
        Some(set)
    }
}
