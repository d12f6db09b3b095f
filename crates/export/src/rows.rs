//! Which rows of a process's columns are of one thread.

use holdup_model::{Process, ThreadId, Time};

/// The rows of one thread, each list in order of time, then of their place in the column.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) waits: Vec<usize>,
    pub(crate) blocks: Vec<usize>,
    pub(crate) holds: Vec<usize>,
    pub(crate) wakes: Vec<usize>,
    pub(crate) markers: Vec<usize>,
    /// Of [`holdup_model::openmp::OpenMp`], as the next three.
    pub(crate) regions: Vec<usize>,
    pub(crate) shares: Vec<usize>,
    pub(crate) works: Vec<usize>,
    pub(crate) task_runs: Vec<usize>,
}

impl Rows {
    /// Those of every thread.
    pub(crate) fn by_thread(process: &Process) -> Vec<Rows> {
        let mut rows: Vec<Rows> = process.threads.iter().map(|_| Rows::default()).collect();
        sort(&mut rows, &process.waits, |rows| &mut rows.waits, |wait| (wait.thread, wait.begin));
        sort(&mut rows, &process.blocks, |rows| &mut rows.blocks, |block| (block.thread, block.begin));
        sort(&mut rows, &process.wakes, |rows| &mut rows.wakes, |wake| (wake.thread, wake.time));
        sort(&mut rows, &process.markers, |rows| &mut rows.markers, |marker| (marker.thread, marker.time));
        sort(
            &mut rows,
            &process.holds,
            |rows| &mut rows.holds,
            |hold| (hold.thread, hold.begin.unwrap_or(hold.end)),
        );
        let openmp = &process.openmp;
        sort(&mut rows, &openmp.regions, |rows| &mut rows.regions, |region| (region.thread, region.begin));
        sort(&mut rows, &openmp.shares, |rows| &mut rows.shares, |share| (share.thread, share.begin));
        sort(&mut rows, &openmp.works, |rows| &mut rows.works, |work| (work.thread, work.begin));
        sort(&mut rows, &openmp.task_runs, |rows| &mut rows.task_runs, |run| (run.thread, run.begin));
        rows
    }
}

fn sort<T>(
    rows: &mut [Rows],
    column: &[T],
    list: impl Fn(&mut Rows) -> &mut Vec<usize>,
    key: impl Fn(&T) -> (ThreadId, Time),
) {
    for (row, item) in column.iter().enumerate() {
        list(&mut rows[key(item).0.index()]).push(row);
    }
    for rows in rows {
        list(rows).sort_by_key(|&row| key(&column[row]).1);
    }
}
