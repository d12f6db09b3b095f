//! What tasks of OpenMP take: to make, to hand out, and by what they do.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::openmp::{Task, TaskId, TaskRun};
use holdup_model::{SiteId, ThreadId, Time};

/// Half of the tasks being shorter than this (ns), it is handing them out that takes the time of threads that have none:
/// that takes a runtime some microseconds where several threads want one at once.
const TINY: u64 = 5_000;

/// The tasks of executions of regions: of those that were recorded whole, and of others for which these stand.
#[derive(Clone, Debug, Default)]
pub struct TaskSums {
    /// How many were made, those that were not told one by one too.
    pub made: u64,
    /// How many of these were executed at once by who made them, since the program asked for it (`if`, `final`).
    pub at_once: u64,
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
        let begins = begins(runs.iter().copied());
        let mut makers: BTreeMap<ThreadId, Vec<&Task>> = BTreeMap::new();
        let mut sums = Self { tiny: are_tiny(runs), ..Self::default() };
        for task in tasks {
            makers.entry(task.thread).or_default().push(task);
            if let Some(place) = task.place {
                *sums.places.entry(place).or_default() += 1;
            }
        }
        for of_one in makers.values_mut() {
            let is_any_begun = of_one.iter().any(|task| begins.contains_key(&task.id));
            of_one.sort_unstable_by_key(|task| task.id);
            let made = count(of_one);
            sums.made = sums.made.saturating_add(made);
            // Fewer and fewer are told: each stands for those that its thread made since the one before.
            let (mut sum, mut stands_for, mut last, mut at_once) = (0u128, 0u128, None, 0);
            for task in of_one {
                let number = task.id.number();
                let since = u128::from(number - last.replace(number).unwrap_or(number)).max(1);
                if task.undeferred {
                    at_once += since as u64;
                }
                if let Some(making) = making(task, &begins, is_any_begun) {
                    sum = sum.saturating_add(u128::from(making).saturating_mul(since));
                    stands_for += since;
                }
            }
            sums.at_once = sums.at_once.saturating_add(at_once.min(made));
            let making = sum.saturating_mul(u128::from(made)) / stands_for.max(1);
            sums.making = sums.making.saturating_add(u64::try_from(making).unwrap_or(u64::MAX));
        }
        let times = runs.iter().map(|run| run.end.since(run.begin).get());
        sums.time = times.fold(0, u64::saturating_add);
        sums
    }

    /// Those of all executions of the region for which this one stands: there are `executions` times as many, which take `time` times
    /// as long.
    pub fn standing_for(self, executions: f64, time: f64) -> Self {
        let times = |value: u64, factor: f64| (value as f64 * factor).round() as u64;
        Self {
            made: times(self.made, executions),
            at_once: times(self.at_once, executions),
            making: times(self.making, time),
            time: times(self.time, time),
            tiny: self.tiny,
            places: self.places.into_iter().map(|(place, count)| (place, times(count, executions))).collect(),
        }
    }

    /// Adds those of other executions.
    pub fn add(&mut self, other: &Self) {
        self.made = self.made.saturating_add(other.made);
        self.at_once = self.at_once.saturating_add(other.at_once);
        self.making = self.making.saturating_add(other.making);
        self.time = self.time.saturating_add(other.time);
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

/// By task, when it began to be executed, and by whom.
pub fn begins<'a>(runs: impl IntoIterator<Item = &'a TaskRun>) -> BTreeMap<TaskId, (Time, ThreadId)> {
    let mut begins: BTreeMap<TaskId, (Time, ThreadId)> = BTreeMap::new();
    for run in runs {
        let Some(task) = run.task else { continue };
        let first = begins.entry(task).or_insert((run.begin, run.thread));
        *first = (*first).min((run.begin, run.thread));
    }
    begins
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
    (last - first).saturating_add(1).max(told.len() as u64)
}

/// What making a task took, where that was timed. A runtime that has enough of them executes one before it goes on: that is no
/// part of it. One that is executed at once is made in no time. Where it is known of others of the thread's when they began, but not of this one,
/// it may have been executed meanwhile.
fn making(task: &Task, begins: &BTreeMap<TaskId, (Time, ThreadId)>, is_any_begun: bool) -> Option<u64> {
    if task.undeferred {
        return Some(0);
    }
    let whole = task.making?.get();
    match begins.get(&task.id) {
        Some((begin, thread)) if *thread == task.thread => Some(whole.min(begin.since(task.time).get())),
        None if is_any_begun => None,
        _ => Some(whole),
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::Nanos;
    use holdup_model::openmp::Instance;

    use super::*;

    const INSTANCE: Option<Instance> = Some(Instance::new(1));

    /// The task that `thread` made as its `number`th, at that moment.
    fn task(thread: u32, number: u64, time: u64, making: Option<u64>, place: u32) -> Task {
        Task {
            id: TaskId::new(u64::from(thread) << 32 | number),
            parent: None,
            thread: ThreadId::new(thread),
            time: Time::from_nanos(time),
            instance: INSTANCE,
            place: Some(SiteId::new(place)),
            making: making.map(Nanos::new),
            undeferred: false,
            of_loop: false,
        }
    }

    fn run(thread: u32, task: &Task, begin: u64, end: u64) -> TaskRun {
        let [begin, end] = [begin, end].map(Time::from_nanos);
        let (thread, task) = (ThreadId::new(thread), Some(task.id));
        TaskRun { thread, task, instance: INSTANCE, begin, end, complete: true }
    }

    #[test]
    fn sums_of_a_damaged_recording_are_as_large_as_can_be() {
        let task = task(0, 0, 0, Some(u64::MAX), 0);
        let run = run(1, &task, 0, u64::MAX);
        let mut sums = TaskSums::of(&[&task, &task], &[&run, &run]);
        sums.add(&sums.clone());
        assert_eq!((sums.making, sums.time), (u64::MAX, u64::MAX));
    }

    #[test]
    fn tasks_that_are_not_told_are_counted_by_the_numbers_of_those_that_are() {
        // The first thread made 10 and the second 1; two of the first's were timed, one of which it executed at once. In making the
        // last one it may have executed that: nobody was seen to do so.
        let tasks = [
            task(0, 1, 0, Some(300), 7),
            task(0, 6, 2_000, Some(9_000), 7),
            task(0, 10, 20_000, Some(90_000), 7),
            task(1, 4, 100, Some(50), 8),
        ];
        let runs = [run(1, &tasks[0], 400, 5_400), run(0, &tasks[1], 2_100, 10_900)];
        let sums = TaskSums::of(&tasks.each_ref()[..], &runs.each_ref()[..]);
        // The second stands for five, the first for itself.
        assert_eq!((sums.made, sums.making, sums.time), (11, (300 + 5 * 100) * 10 / 6 + 50, 5_000 + 8_800));
        assert_eq!(sums.place(), Some(SiteId::new(7)));
        assert!(!sums.tiny);
    }

    #[test]
    fn an_execution_stands_for_others() {
        let tasks = [task(0, 1, 0, Some(300), 7), Task { undeferred: true, ..task(0, 2, 900, None, 7) }];
        let runs = [run(1, &tasks[0], 400, 1_400)];
        let sums = TaskSums::of(&tasks.each_ref()[..], &runs.each_ref()[..]);
        // Timed was one of two that were made, and the other was made in no time.
        assert_eq!((sums.made, sums.at_once, sums.making, sums.time), (2, 1, 300, 1_000));
        let all = sums.standing_for(10.0, 5.5);
        assert_eq!((all.made, all.at_once, all.making, all.time), (20, 10, 1_650, 5_500));
        assert_eq!((all.tiny, all.place()), (true, Some(SiteId::new(7))));
    }

    #[test]
    fn tasks_that_are_executed_at_once_are_made_in_no_time() {
        let tasks: Vec<Task> = [1, 2, 10, 101]
            .map(|number| Task {
                undeferred: number > 2,
                ..task(0, number, 0, (number <= 2).then_some(400), 7)
            })
            .to_vec();
        let sums = TaskSums::of(&tasks.iter().collect::<Vec<_>>(), &[]);
        assert_eq!((sums.made, sums.at_once, sums.making), (101, 99, 800));
    }

    #[test]
    fn half_of_them_being_short_they_are_tiny() {
        let one = task(0, 1, 0, None, 7);
        let lengths = |lengths: &[u64]| {
            let runs: Vec<TaskRun> = lengths.iter().map(|&length| run(0, &one, 0, length)).collect();
            are_tiny(&runs.iter().collect::<Vec<_>>())
        };
        assert!(lengths(&[900_000, 4_000, 1_000]));
        assert!(!lengths(&[900_000, 5_000, 1_000]));
        assert!(!lengths(&[]));
        let tiny = TaskSums::of(&[&one], &[&run(0, &one, 10, 20)]);
        let mut all = TaskSums::default();
        all.add(&tiny);
        all.add(&tiny);
        assert_eq!((all.made, all.time, all.tiny, all.place()), (2, 20, true, one.place));
    }
}
