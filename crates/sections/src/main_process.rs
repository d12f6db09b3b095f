//! The process of a run that is looked at: the one that does the work.

use holdup_model::{ExitStatus, Nanos, Process, Run, ThreadId, Time};

/// The process of a run that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Main<'a> {
    /// The run.
    pub run: &'a Run,
    /// The process in it.
    pub process: &'a Process,
}

impl Main<'_> {
    /// Its wall time.
    pub fn wall(&self) -> Nanos {
        self.process.wall()
    }
}

/// True if the program did not end well.
pub fn has_failed(run: &Run) -> bool {
    run.exit.is_some_and(|exit| exit != ExitStatus::Code(0))
}

/// The process with the most time in parallel regions; without OpenMP the one that used the most CPU time.
pub fn main_of(run: &Run) -> Option<Main<'_>> {
    let in_regions = |process: &Process| -> u64 {
        let regions = process.openmp.regions.iter().filter(|region| region.parent.is_none());
        regions.map(|region| region.time.get()).fold(0, u64::saturating_add)
    };
    let most = (0..run.processes.len())
        .map(|index| (in_regions(&run.processes[index]), std::cmp::Reverse(index)))
        .filter(|(time, _)| *time > 0)
        .max();
    let index = most.map(|(_, index)| index.0).or_else(|| run.busiest())?;
    let process = run.processes.get(index)?;
    (!process.threads.is_empty() && is_sound(process)).then_some(Main { run, process })
}

/// True if all that refers to a thread refers to one that there is.
fn is_sound(process: &Process) -> bool {
    let known = |thread: ThreadId| thread.index() < process.threads.len();
    let ordered = |begin: Time, end: Time| begin <= end;
    let openmp = &process.openmp;
    ordered(process.start, process.end)
        && openmp.regions.iter().all(|row| known(row.thread))
        && openmp.shares.iter().all(|row| known(row.thread))
        && openmp.works.iter().all(|row| known(row.thread))
        && openmp.syncs.iter().all(|row| known(row.thread))
        && openmp.task_runs.iter().all(|row| known(row.thread))
}
