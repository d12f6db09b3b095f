//! Where threads of OpenMP are: outside of regions, where they begin or end one, in their shares of them, or in tasks.

use crate::{Process, Time};

/// Where a thread of OpenMP is: what it does on one side says nothing of the work on another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// In no parallel region: a runtime's spinning there is for the next one.
    Outside,
    /// Where it begins or ends a parallel region: in the runtime, which starts the others and waits for them.
    Region,
    /// In its share of a parallel region.
    Share,
    /// In a task, in a share or at the barrier behind it, where the runtime spins between tasks.
    Task,
}

/// By thread: when it goes over from one side to another.
pub(crate) fn sides(process: &Process) -> Vec<Vec<(Time, Side)>> {
    let openmp = &process.openmp;
    let regions = openmp.regions.iter().filter(|region| region.count == 1);
    let regions = regions.map(|region| (region.thread, region.begin, region.end, Side::Region));
    let mut edges: Vec<Vec<(Time, Side, i32)>> = vec![Vec::new(); process.threads.len()];
    let shares = openmp.shares.iter().map(|share| (share.thread, share.begin, share.end, Side::Share));
    let tasks = openmp.task_runs.iter().filter(|run| run.task.is_some());
    let tasks = tasks.map(|run| (run.thread, run.begin, run.end, Side::Task));
    for (thread, begin, end, side) in
        regions.chain(shares).chain(tasks).filter(|(_, begin, end, _)| begin < end)
    {
        edges[thread.index()].extend([(begin, side, 1), (end, side, -1)]);
    }
    edges.into_iter().map(changes_of_side).collect()
}

/// From begins (+1) and ends (-1) of regions, shares and tasks, which may lie in each other.
fn changes_of_side(mut edges: Vec<(Time, Side, i32)>) -> Vec<(Time, Side)> {
    edges.sort_unstable_by_key(|edge| edge.0);
    let mut open = [0; Side::Task as usize + 1];
    let mut changes = Vec::new();
    for together in edges.chunk_by(|one, next| one.0 == next.0) {
        for &(_, side, step) in together {
            open[side as usize] += step;
        }
        let inner = [Side::Task, Side::Share, Side::Region].into_iter().find(|&side| open[side as usize] > 0);
        let side = inner.unwrap_or(Side::Outside);
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
