//! A whole recorded run: its processes and the machine it ran on.

use crate::{
    Arrange, CostRange, Environment, Nanos, Placement, Process, RecordingCost, Thread, ThreadId, Time,
};

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
    /// What recording itself cost the program, where it was measured.
    pub cost: Option<RecordingCost>,
    /// The processes in the order in which they started.
    pub processes: Vec<Process>,
    /// Processes that could not be recorded, a sentence each.
    pub unseen: Vec<String>,
    /// What else the reader of an answer must know: damage, losses, blind spots.
    pub warnings: Vec<String>,
    /// Files of code of which not all functions could be named.
    pub unnamed: Vec<Unnamed>,
}

impl Run {
    /// CPU time of all threads; of those whose CPU time is not known the time that they were on a core, or that they existed.
    pub fn cpu_time(&self) -> Nanos {
        self.processes.iter().map(cpu_time).sum()
    }

    /// What recording cost as a share of the program's CPU time; `None` where it was not measured.
    pub fn cost_range(&self) -> Option<CostRange> {
        self.cost?.range(self.cpu_time(), self.end.since(self.start), self.cores)
    }
}

/// What is known of the CPU time of its threads.
pub fn cpu_time(process: &Process) -> Nanos {
    let mut on_core = vec![Nanos::ZERO; process.threads.len()];
    for span in &process.on_core {
        on_core[span.thread.index()] += span.end.since(span.begin);
    }
    let lived = |thread: &Thread| thread.end.unwrap_or(process.end).since(thread.start);
    let of_thread = |(thread, on_core): (&Thread, Nanos)| match thread.known_cpu() {
        Some(cpu) => cpu,
        None if on_core > Nanos::ZERO => on_core,
        None => lived(thread),
    };
    process.threads.iter().zip(on_core).map(of_thread).sum()
}

/// A file of code of which not all functions could be named.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Unnamed {
    /// Its file name, as [`crate::Frame::module`] has it. Hostile.
    pub module: String,
    /// What gives the names, in words.
    pub remedy: String,
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

    /// The processes, the one to report on first first: who used more CPU time comes first, with the same who waited more
    /// often, then who started first.
    ///
    /// The CPU time of a thread that was killed is known up to its last wait, if it waited at all: then what it can have
    /// had counts, unless its process started others, for which it may have waited all the time (`timeout 9 ./app`).
    pub fn busiest_first(&self) -> Vec<usize> {
        let has_children =
            |process: &Process| self.processes.iter().any(|other| other.parent_pid == process.pid);
        let mut order: Vec<(Nanos, usize, usize)> = (0..self.processes.len())
            .map(|index| {
                let process = &self.processes[index];
                let may_guess = process.on_core.is_empty() && !has_children(process);
                let of_thread = |index: u32| {
                    let thread = ThreadId::new(index);
                    let known = process.thread(thread).known_cpu();
                    match process.thread(thread).cpu {
                        None if may_guess => known.max(Some(process.possible_cpu(thread))),
                        _ => known,
                    }
                };
                let cpu: Nanos = (0..process.threads.len() as u32).filter_map(of_thread).sum();
                (cpu, process.waits.len(), index)
            })
            .collect();
        order.arrange_by_key(|&(cpu, waits, index)| (std::cmp::Reverse((cpu, waits)), index));
        order.into_iter().map(|(_, _, index)| index).collect()
    }

    /// The first of [`Run::busiest_first`]; `None` if nothing was recorded.
    pub fn busiest(&self) -> Option<usize> {
        self.busiest_first().first().copied()
    }
}

impl Process {
    /// The CPU time that a thread can have had: what it lived and did not wait.
    fn possible_cpu(&self, thread: ThreadId) -> Nanos {
        let facts = self.thread(thread);
        let waited = self.waits.iter().filter(|wait| wait.thread == thread);
        let waited: Nanos = waited.map(|wait| wait.end.since(wait.begin)).sum();
        let blocked = self.blocks.iter().filter(|block| block.thread == thread);
        let blocked: Nanos = blocked.map(|block| block.end.since(block.begin)).sum();
        facts.end.unwrap_or(self.end).since(facts.start).saturating_sub(waited).saturating_sub(blocked)
    }

    /// What to call a thread: its name, `main` for the first one, the process for the first one of a joined one, else its number.
    /// Hostile: escape it where it is shown.
    pub fn thread_name(&self, thread: ThreadId) -> String {
        let index = thread.index();
        let own = self.thread(thread);
        match &own.name {
            Some(name) if !name.is_empty() => name.clone(),
            _ if index == 0 => "main".to_owned(),
            _ if self.is_another(thread) => format!("process {}", own.tid),
            _ => format!("thread {index}"),
        }
    }

    /// True for the first thread of a process that is reported with this one.
    pub fn is_another(&self, thread: ThreadId) -> bool {
        thread.index() > 0 && self.joined.contains(&self.thread(thread).tid)
    }
}

/// The file name of a process's program as it is, else the process's number. Hostile: escape it where it is shown.
pub fn program_of(process: &Process) -> String {
    match process.command.first().map(|path| path.rsplit('/').next().unwrap_or(path)) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => format!("process {}", process.pid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_the_cores_that_it_may_use() {
        let mut run = Run { cores: 8, ..Run::default() };
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(9));
        process.pid = 42;
        assert_eq!(run.cores_of(&process), 8, "nothing is known of it");
        let allowed = |cpus: &[u32]| cpus.iter().copied().collect();
        run.environment.placements =
            vec![Placement { pid: 42, allowed: allowed(&[1, 3, 5]), ..Placement::default() }];
        assert_eq!(run.cores_of(&process), 3);
        run.environment.placements[0].allowed = allowed(&[]);
        assert_eq!(run.cores_of(&process), 8, "none were seen");
    }
}
