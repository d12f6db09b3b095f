//! What this machine allows, what holdup cannot answer where it does not, and the command that would
//! change it.
//!
//! Everything is read below [`Machine::root`], so that a test can be the machine; what files do not tell
//! (whether an event opens, how much room a file system has) is asked through closures. Nothing is
//! changed, and nothing is started but the emulator, with a program that ends at once.

mod clock;
mod emulation;
mod events;
mod isolation;
mod load;
mod memory;
mod processors;
mod stack;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::cgroups::Cgroups;
use crate::error::CollectError;
use crate::files::Files;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// A word or two, the same in every run.
    pub name: &'static str,
    /// Whether holdup has what it wants.
    pub state: State,
    /// What was seen, with its figures.
    pub found: String,
    /// What holdup cannot answer, or answers less well, because of it; empty where nothing is lost.
    pub lost: String,
    /// The exact command that would change it, where there is one.
    pub remedy: Option<String>,
    /// What else the remedy does.
    pub consequence: Option<String>,
}

/// How much of a thing there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All that holdup wants.
    Available,
    /// There, but answers suffer.
    Limited,
    /// Not there.
    Missing,
}

/// The machine that is examined.
pub struct Machine<'a> {
    /// The folder that has `proc`, `sys` and `dev`: `/` outside tests.
    pub root: &'a Path,
    /// The holdup binary, which remedies give capabilities to.
    pub holdup: &'a Path,
    /// Opens and closes an event on this thread, user space only.
    pub try_event: &'a dyn Fn(Event) -> io::Result<()>,
    /// Looks for an emulator that records instructions, and tries it; gives its version and where it is.
    pub try_emulator: &'a dyn Fn() -> Result<(String, PathBuf), CollectError>,
    /// The share of a CPU that a thread gets which wants all of it, for a moment; `None` where that cannot be tried.
    pub try_core: &'a dyn Fn(u32) -> Option<f64>,
    /// The room in the file system of a folder (`statvfs`); `None` where there is no such folder.
    pub room: &'a dyn Fn(&Path) -> Option<Room>,
}

/// A kind of perf event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Software: samples by the CPU time of a thread (`PERF_COUNT_SW_TASK_CLOCK`).
    TaskClock,
    /// Software: switch records (`PERF_COUNT_SW_DUMMY` with `context_switch`).
    ContextSwitches,
    /// Hardware: cycles (`PERF_COUNT_HW_CPU_CYCLES`).
    Cycles,
}

/// A file system's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// All of it, in bytes.
    pub size: u64,
    /// What an ordinary user can still use, in bytes.
    pub free: u64,
}

/// Looks at everything, in the order in which it matters.
pub fn examine(machine: &Machine<'_>) -> Vec<Check> {
    let files = Files::below(machine.root);
    let cgroups = Cgroups::of_this_process(&files);
    let container = isolation::container(&files);
    let setting = Setting { machine, files: &files, cgroups: &cgroups, in_container: container.is_some() };
    [
        Some(isolation::check(container)),
        Some(clock::check(&setting)),
        Some(memory::buffers(&setting)),
        Some(events::paranoia(&setting)),
        Some(events::samples(&setting)),
        Some(events::switches(&setting)),
        Some(events::wake_ups(&setting)),
        Some(events::hardware(&setting)),
        Some(emulation::check(&setting)),
        Some(isolation::other_processes_memory(&setting)),
        Some(processors::allowed(&setting)),
        Some(processors::quota(&setting)),
        processors::throttling(&setting),
        Some(load::at_the_moment(&setting)),
        load::stolen(&setting),
        Some(processors::frequency(&setting)),
        Some(processors::shared_cores(&setting)),
        Some(processors::memory_nodes(&setting)),
        Some(stack::shared_cache(&setting)),
        Some(stack::cache_allocation(&setting)),
        Some(stack::huge_pages(&setting)),
        stack::quiet(&setting),
        memory::limit(&setting),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What each check is given.
struct Setting<'a> {
    machine: &'a Machine<'a>,
    files: &'a Files<'a>,
    cgroups: &'a Cgroups,
    in_container: bool,
}

impl Check {
    fn available(name: &'static str, found: impl Into<String>) -> Check {
        Check {
            name,
            state: State::Available,
            found: found.into(),
            lost: String::new(),
            remedy: None,
            consequence: None,
        }
    }

    fn limited(name: &'static str, found: impl Into<String>, lost: impl Into<String>) -> Check {
        Check { state: State::Limited, lost: lost.into(), ..Check::available(name, found) }
    }

    fn missing(name: &'static str, found: impl Into<String>, lost: impl Into<String>) -> Check {
        Check { state: State::Missing, lost: lost.into(), ..Check::available(name, found) }
    }

    fn remedy(self, command: impl Into<String>, consequence: impl Into<String>) -> Check {
        Check { remedy: Some(command.into()), consequence: Some(consequence.into()), ..self }
    }
}

impl fmt::Display for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            State::Available => "available",
            State::Limited => "limited",
            State::Missing => "missing",
        })
    }
}

/// A line with name, state and what was found; then, indented, what is lost, the remedy and its consequence.
impl fmt::Display for Check {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:<20} {:<10} {}", self.name, self.state, self.found)?;
        let lost = Some(&self.lost).filter(|lost| !lost.is_empty());
        let lines =
            [("lost", lost), ("remedy", self.remedy.as_ref()), ("consequence", self.consequence.as_ref())];
        for (name, text) in lines {
            if let Some(text) = text {
                write!(out, "\n{:<20} {name:<11} {text}", "")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
