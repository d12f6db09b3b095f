//! What tasks of OpenMP take: to make, to hand out, and by what they do.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::openmp::{Task, TaskId, TaskRun};
use holdup_model::{SiteId, ThreadId, Time};

/// Half of the tasks being shorter than this (ns), it is handing them out that takes the time of threads that have none:
/// that takes a runtime some microseconds where several threads want one at once.
const TINY: u64 = 5_000;

/// The tasks of one or more executions of regions that were recorded whole.
#[derive(Clone, Debug, Default)]
pub struct TaskSums {
    /// How many were made, those that were not told one by one too.
    pub made: u64,
    /// What making them took, where that was timed (ns of thread-time): of as many as are not told as of those that are.
    pub making: u64,
    /// Time in them (ns of thread-time).
    pub time: u64,
    /// True if in one of the executions they are so small that it is handing them out that takes the time.
    pub tiny: bool,
    /// How many were told, by place.
    places: BTreeMap<SiteId, u64>,
}

impl TaskSums {
    /// Of one execution of a region.
    pub fn of(tasks: &[&Task], runs: &[&TaskRun]) -> Self {
        let mut begins: BTreeMap<TaskId, (Time, ThreadId)> = BTreeMap::new();
        for run in runs {
            let Some(task) = run.task else { continue };
            let first = begins.entry(task).or_insert((run.begin, run.thread));
            *first = (*first).min((run.begin, run.thread));
        }
        let mut makers: BTreeMap<ThreadId, Vec<&Task>> = BTreeMap::new();
        let mut sums = Self { tiny: are_tiny(runs), ..Self::default() };
        for task in tasks {
            makers.entry(task.thread).or_default().push(task);
            if let Some(place) = task.place {
                *sums.places.entry(place).or_default() += 1;
            }
        }
        for of_one in makers.values() {
            let made = count(of_one);
            let timed: Vec<u64> = of_one.iter().filter_map(|task| making(task, &begins)).collect();
            let sum = u128::from(timed.iter().sum::<u64>());
            sums.made += made;
            sums.making += (sum * u128::from(made) / timed.len().max(1) as u128) as u64;
        }
        sums.time = runs.iter().map(|run| run.end.since(run.begin).get()).sum();
        sums
    }

    /// Adds those of other executions.
    pub fn add(&mut self, other: &Self) {
        self.made += other.made;
        self.making += other.making;
        self.time += other.time;
        self.tiny |= other.tiny;
        for (&place, count) in &other.places {
            *self.places.entry(place).or_default() += count;
        }
    }

    /// Where most of them are.
    pub fn place(&self) -> Option<SiteId> {
        self.places
            .iter()
            .max_by_key(|&(place, count)| (count, std::cmp::Reverse(place)))
            .map(|(&place, _)| place)
    }
}

/// True if tasks with these runs are so small that it is handing them out that takes the time.
pub fn are_tiny(runs: &[&TaskRun]) -> bool {
    let mut lengths: Vec<u64> = runs.iter().map(|run| run.end.since(run.begin).get()).collect();
    let middle = lengths.len() / 2;
    !lengths.is_empty() && *lengths.select_nth_unstable(middle).1 < TINY
}

/// How many tasks one thread made: the numbers of its tasks follow each other, and those of some are not told.
fn count(told: &[&Task]) -> u64 {
    let numbers: BTreeSet<u64> = told.iter().map(|task| task.id.number()).collect();
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return 0 };
    (last - first + 1).max(told.len() as u64)
}

/// What making a task took, where that was timed. A runtime that has enough of them executes one before it goes on: that is no
/// part of it.
fn making(task: &Task, begins: &BTreeMap<TaskId, (Time, ThreadId)>) -> Option<u64> {
    let whole = task.making?.get();
    let begun = begins.get(&task.id).filter(|(_, thread)| *thread == task.thread);
    Some(begun.map_or(whole, |(begin, _)| whole.min(begin.since(task.time).get())))
}
