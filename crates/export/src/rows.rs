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
