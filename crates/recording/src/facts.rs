//! The JSON contents of frames. Fields are only ever added, with a default.

mod alone;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::environment::{Environment, FrequencyRange, Load, Placement, Quota};
pub use alone::{Alone, AloneCounted, PirateFacts, PirateStretch};

/// How the run began.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// The version of holdup that records.
    pub holdup: String,
    /// Program and arguments; only the program where arguments were to be left out.
    pub command: Vec<String>,
    /// How many CPUs the program may use.
    pub cores: u32,
    /// `tsc` (ticks are those of the processor's counter) or `monotonic` (ticks are ns of CLOCK_MONOTONIC).
    pub clock: String,
    /// The tick at which the program was started.
    pub start: u64,
    /// Ticks per second, as far as known at the start.
    pub ticks_per_second: f64,
    /// Which collectors are at work.
    pub collectors: Vec<String>,
    /// True if every hold of every lock is recorded.
    pub all_holds: bool,
    /// What the instruction front-end recorded, where it was at work: `counts` or `stream`, if the program ran under
    /// emulation, and times are those; or [`Session::INSTRUMENTED`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The processor's architecture, as Rust calls it: `x86_64`. Empty in recordings from before it was written down.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// True if the program's source was to be left out ([`SourceText`]).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_source: bool,
}

impl Session {
    /// The architecture, if it is not the one whose instructions are understood: x86-64.
    pub fn other_machine(&self) -> Option<&str> {
        Some(self.machine.as_str()).filter(|machine| !matches!(*machine, "" | "x86_64"))
    }

    /// In `instructions`: the program ran natively, and counted by itself what it executed.
    pub const INSTRUMENTED: &str = "instrumented";
}

/// A process of the run was seen.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessStart {
    /// Kernel process id.
    pub pid: u32,
    /// That of its parent.
    pub parent_pid: u32,
    /// The tick at which the library was initialized in it.
    pub start: u64,
    /// True if it is a fork that did not execute another program.
    pub forked: bool,
}

/// A process ended, or the recording of it did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessEnd {
    /// When, in ticks; 0 if unknown.
    pub end: u64,
    /// Events for which there was no room.
    pub lost_events: u64,
    /// Events in signal handlers that interrupted the recording of another.
    pub lost_in_signals: u64,
    /// Threads for which there was no room.
    pub lost_threads: u64,
    /// Uses of locks for which there was no room.
    pub lost_uses: u64,
    /// Ticks that recording an event takes, measured in the process.
    pub event_ticks: f64,
    /// Ticks that counting the use of a lock takes, measured in the process.
    pub use_ticks: f64,
    /// How many events were recorded.
    pub events: u64,
    /// True if the process still ran when the recording ended.
    pub still_running: bool,
    /// True if it executed a program that was not recorded, at `end`.
    pub executed: bool,
    /// True if the program confined itself by seccomp, after which its CPU time is not known.
    pub confined: bool,
}

/// The clock, read twice at one moment.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockSample {
    /// The ticks of the recording's clock.
    pub ticks: u64,
    /// CLOCK_MONOTONIC in ns.
    pub monotonic_ns: u64,
}

/// An object that several processes share.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedObject {
    /// Its address in this process.
    pub address: u64,
    /// What it is, whichever process looks: device, inode and offset of the mapped file.
    pub key: String,
}

/// One frame of a call stack, with its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedFrame {
    /// The function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The module's file name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The address in the module.
    pub address: u64,
    /// True if it was inlined into the next frame.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inlined: bool,
    /// Where the function begins in the module, if it has no name and that is known; 0 where the code is of no known function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin: Option<u64>,
}

/// A call stack with names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedStack {
    /// Frames, innermost first.
    pub frames: Vec<NamedFrame>,
    /// True if it does not reach the start of its thread.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
}

/// A file of code that has no names but those of exported functions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnnamedCode {
    /// Its file name.
    pub module: String,
    /// What gives the names, in words.
    pub remedy: String,
}

/// The names in one process: found while the files that hold them were at hand.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Names {
    /// Copied stacks by their id.
    pub stacks: BTreeMap<u64, NamedStack>,
    /// Code by its address: start functions as they are, callers by their return address.
    pub code: BTreeMap<u64, NamedStack>,
    /// Global variables by the address that was used.
    pub data: BTreeMap<u64, String>,
    /// What kept names from being found, a sentence each.
    pub warnings: Vec<String>,
    /// Files of code that have no names but those of exported functions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unnamed: Vec<UnnamedCode>,
}

/// The names of code in one image of the kernel collector.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageNames {
    /// Which image.
    pub image: u32,
    /// Code by the address that was executed.
    pub executed: BTreeMap<u64, Vec<NamedFrame>>,
    /// Calls by their return address.
    pub callers: BTreeMap<u64, Vec<NamedFrame>>,
    /// Addresses that lie in loops that only another thread, or time, can end, in order: executed ones, and return addresses
    /// from functions that are in `helpers`.
    pub waiting_loops: Vec<u64>,
    /// Addresses, executed or returned to, in functions that do nothing but tell the time, give the core away or read one
    /// variable, in order: whether a thread waits there, the loop that calls them says.
    pub helpers: Vec<u64>,
    /// What kept names from being found, a sentence each.
    pub warnings: Vec<String>,
    /// Files of code that have no names but those of exported functions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unnamed: Vec<UnnamedCode>,
    /// Variables by addresses in cache lines that several threads accessed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<u64, String>,
}

/// Names of the program's blocks that were executed under emulation. There are tens of thousands of them, mostly in the
/// same functions: hence the tables.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockNames {
    /// Names of functions, files and modules.
    pub texts: Vec<String>,
    /// Frames, as places in the code share them.
    pub frames: Vec<BlockFrame>,
    /// For an instruction's address its frames, innermost first: indices into `frames`.
    pub places: BTreeMap<u64, Vec<u32>>,
    /// Addresses of blocks in loops that only another thread, or time, can end.
    pub waiting: Vec<u64>,
}

/// A frame of [`BlockNames`]: indices into its texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockFrame {
    /// The function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<u32>,
    /// The source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<u32>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The module's file name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<u32>,
    /// True if it was inlined into the next frame.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inlined: bool,
}

/// Lines of the program's source around those that names lead to: read right after the run, so that answers can show
/// them where the files are not, or are others by then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceText {
    /// By the names that the debug information has for the files.
    pub files: BTreeMap<String, Vec<SourceExcerpt>>,
}

/// What other runs of the program say of what was counted in this one, under emulation: by its sections, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OtherRuns {
    /// Wall time of the native run (ns).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<u64>,
    /// How it is known which of its threads is which.
    pub matched: ThreadsMatched,
    /// For each section what they say.
    pub sections: Vec<OtherSection>,
}

/// What other runs say of a section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OtherSection {
    /// For each instance the CPU time that each of its threads took natively (ns); none where that is not known.
    pub native: Vec<Vec<u64>>,
    /// Why it depends on the schedule who does how much, after it was looked whether another run gives the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on_schedule: Option<String>,
}

/// How threads of two runs were told to be the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadsMatched {
    /// They began in the same order.
    #[default]
    Order,
    /// By what they do.
    Behaviour,
    /// It is not known.
    Unknown,
}

/// Lines of a source file that follow one another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceExcerpt {
    /// The number of the first line, from 1.
    pub first: u32,
    /// The lines, without line breaks.
    pub lines: Vec<String>,
}

/// How the run ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionEnd {
    /// The tick at which the first process was found to have ended.
    pub end: u64,
    /// Its exit status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that killed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Processes that were not recorded, a sentence each.
    pub unseen: Vec<String>,
    /// What else the reader must know.
    pub warnings: Vec<String>,
    /// The part of the run that is to be told of, from one tick to another; `None` for all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<(u64, u64)>,
    /// CPU time that the recorder used (ns) from the start of the program to its end; `None` in recordings of versions
    /// that did not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorder_cpu: Option<u64>,
}
