//! A whole recorded run: its processes and the machine it ran on.

use crate::{Environment, Nanos, Placement, Process, Thread, ThreadId, Time};

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitStatus {
    /// It returned this status.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
}

/// A recorded run: a tree of processes, and what was known of the machine.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The version of holdup that recorded it.
    pub recorded_by: String,
    /// The command that was run; empty where it was left out on request.
    pub command: Vec<String>,
    /// When the first process started.
    pub start: Time,
    /// When it ended, or when the recording stopped.
    pub end: Time,
    /// How it ended; `None` if the recording stopped first.
    pub exit: Option<ExitStatus>,
    /// How many CPUs the program was allowed to use.
    pub cores: u32,
    /// What surrounded it: limits, other load.
    pub environment: Environment,
    /// Which collectors gave the data: `preload`, …
    pub collectors: Vec<String>,
    /// The clock and its error, in words.
    pub clock: String,
    /// The time that recording itself took in the program's threads together (ns), where it was measured.
    pub perturbation: Option<Nanos>,
    /// The processes in the order in which they started.
    pub processes: Vec<Process>,
    /// Processes that could not be recorded, a sentence each.
    pub unseen: Vec<String>,
    /// What else the reader of an answer must know: damage, losses, blind spots.
    pub warnings: Vec<String>,
}

impl Run {
    /// How many CPUs a process was allowed to use; 0 where that is not known.
    pub fn cores_of(&self, process: &Process) -> u32 {
        let placement = self.environment.placement(process.pid);
        let allowed = placement.map(|placement| placement.allowed.len() as u32);
        allowed.filter(|&cores| cores > 0).unwrap_or(self.cores)
    }

    /// How many CPUs a process could have at a time, by its affinity and the quota of its control groups; 0 where
    /// that is not known.
    pub fn effective_cores_of(&self, process: &Process) -> u32 {
        let placement = self.environment.placement(process.pid);
        placement.and_then(Placement::effective_cores).unwrap_or(self.cores)
    }

    /// The process that used the most CPU time (where that is not known, the most waits), which is the one to
    /// report on first; `None` if nothing was recorded.
    pub fn busiest(&self) -> Option<usize> {
        let cpu = |process: &Process| -> Nanos { process.threads.iter().filter_map(Thread::known_cpu).sum() };
        (0..self.processes.len()).max_by_key(|&index| {
            let process = &self.processes[index];
            (cpu(process), process.waits.len(), std::cmp::Reverse(index))
        })
    }
}

impl Process {
    /// What to call a thread: its name, `main` for the first one, else its number. Hostile: escape it where it
    /// is shown.
    pub fn thread_name(&self, thread: ThreadId) -> String {
        let index = thread.index();
        match &self.thread(thread).name {
            Some(name) if !name.is_empty() => name.clone(),
            _ if index == 0 => "main".to_owned(),
            _ => format!("thread {index}"),
        }
    }
}
