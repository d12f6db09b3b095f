//! Where threads of OpenMP are: outside of regions, in their shares of them, or in tasks.

use crate::{Process, Time};

/// Where a thread of OpenMP is: what it does on one side says nothing of the work on another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// In no parallel region: a runtime's spinning there is for the next one.
    Outside,
    /// In its share of a parallel region.
    Share,
    /// In a task, in a share or at the barrier behind it, where the runtime spins between tasks.
    Task,
}

/// By thread: when it goes over from one side to another.
pub(crate) fn sides(process: &Process) -> Vec<Vec<(Time, Side)>> {
    let openmp = &process.openmp;
    let mut edges: Vec<Vec<(Time, Side, i32)>> = vec![Vec::new(); process.threads.len()];
    let shares = openmp.shares.iter().map(|share| (share.thread, share.begin, share.end, Side::Share));
    let tasks = openmp.task_runs.iter().filter(|run| run.task.is_some());
    let tasks = tasks.map(|run| (run.thread, run.begin, run.end, Side::Task));
    for (thread, begin, end, side) in shares.chain(tasks).filter(|(_, begin, end, _)| begin < end) {
        edges[thread.index()].extend([(begin, side, 1), (end, side, -1)]);
    }
    edges.into_iter().map(changes_of_side).collect()
}

/// From begins (+1) and ends (-1) of shares and tasks, which may lie in each other.
fn changes_of_side(mut edges: Vec<(Time, Side, i32)>) -> Vec<(Time, Side)> {
    edges.sort_unstable_by_key(|edge| edge.0);
    let (mut shares, mut tasks) = (0, 0);
    let mut changes = Vec::new();
    for together in edges.chunk_by(|one, next| one.0 == next.0) {
        for &(_, side, step) in together {
            *if side == Side::Task { &mut tasks } else { &mut shares } += step;
        }
        let side = match (shares > 0, tasks > 0) {
            (_, true) => Side::Task,
            (true, false) => Side::Share,
            (false, false) => Side::Outside,
        };
        if changes.last().map_or(Side::Outside, |last: &(Time, Side)| last.1) != side {
            changes.push((together[0].0, side));
        }
    }
    changes
}

/// The last change before this moment: when it was, and the side since then.
pub(crate) fn change_before(sides: &[(Time, Side)], time: Time) -> Option<(Time, Side)> {
    let before = sides.partition_point(|change| change.0 < time).checked_sub(1)?;
    sides.get(before).copied()
}
