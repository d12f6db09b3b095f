//! Threads that do the same have one stack (paper 3, section 2.3).

use std::collections::BTreeMap;

use holdup_model::cycles::{CycleComponent, CycleStack, Simulated, SimulatedThread};
use holdup_model::{Arrange, Frame};

use super::CycleNames;

/// Modules of runtimes of OpenMP, as their names begin.
const TEAM_MODULES: [&str; 3] = ["libgomp", "libomp", "libiomp"];

/// Threads that execute the same top-level function.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadGroup {
    /// Which they are.
    pub kind: GroupKind,
    /// The start function; `None` where it is not known, and for the first thread.
    pub entry: Option<Frame>,
    /// Threads that are in the stack, by their index.
    pub threads: Vec<usize>,
    /// Threads that spend more than half their time in synchronization other than locks, or do nothing: not in the stack.
    pub left_out: Vec<usize>,
    /// Instructions of the threads in the stack.
    pub instructions: u64,
    /// Their cycles, component by component: those of the run for each that is there at once.
    pub stack: CycleStack,
}

/// What makes threads a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupKind {
    /// The first thread of the program.
    Main,
    /// Threads of OpenMP, with the first thread, which works with them.
    Team,
    /// The same start function.
    Function,
    /// Nothing is known of their start.
    Unknown,
}

/// The stack of a run, and of its groups of threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// The groups, the one with most cycles first. Those without a thread in the stack are last.
    pub groups: Vec<ThreadGroup>,
    /// The cycles of all groups.
    pub stack: CycleStack,
    /// Their instructions.
    pub instructions: u64,
    /// How many threads are in the stack.
    pub threads: usize,
    /// True if all threads spend more than half their time in synchronization other than locks: then none is left out.
    pub all_wait: bool,
}

/// Groups threads by their top-level function and adds up their stacks. Threads that spend more than half their time in
/// synchronization are left out, as section 2.3 has it; their time is from their begin to their end. Its examples are conditions
/// and barriers. A thread that waits for a lock has work to do, and where all queue for one lock that is the answer: locks do
/// not count here.
pub fn aggregate(run: &Simulated, names: &CycleNames) -> Aggregate {
    let is_team = run.threads.iter().any(|thread| is_team_thread(names.place(thread.entry)));
    let all_wait = !run.threads.iter().any(does_work);
    let mut groups: BTreeMap<(GroupKind, String), ThreadGroup> = BTreeMap::new();
    let mut told = Aggregate { all_wait, ..Aggregate::default() };
    for (index, thread) in run.threads.iter().enumerate() {
        let frame = names.place(thread.entry);
        let (kind, key, entry) = match (thread, frame) {
            _ if thread.number == 0 && !is_team => (GroupKind::Main, String::new(), None),
            _ if thread.number == 0 || is_team_thread(frame) => (GroupKind::Team, String::new(), None),
            (SimulatedThread { entry: 0, .. }, _) => (GroupKind::Unknown, String::new(), None),
            (_, Some(frame)) => (GroupKind::Function, key(frame), Some(frame.clone())),
            (_, None) => {
                let frame = Frame { address: thread.entry, ..Frame::default() };
                (GroupKind::Function, key(&frame), Some(frame))
            }
        };
        let group = groups.entry((kind, key)).or_insert_with(|| ThreadGroup {
            kind,
            entry,
            threads: Vec::new(),
            left_out: Vec::new(),
            instructions: 0,
            stack: CycleStack::default(),
        });
        if !all_wait && !does_work(thread) {
            group.left_out.push(index);
            continue;
        }
        group.threads.push(index);
        group.instructions += thread.instructions;
        group.stack.add(&thread.stack);
    }
    told.groups = groups.into_values().collect();
    for group in &mut told.groups {
        take_turns(run, group);
        told.threads += group.threads.len();
        told.instructions += group.instructions;
        told.stack.add(&group.stack);
    }
    told.groups.arrange_by_key(|group| std::cmp::Reverse((!group.threads.is_empty(), group.stack.total())));
    told
}

/// Threads that come one after the other are in one place: a place that is empty is so once, not once for each thread that is
/// not there. There are as many places as threads of the group were there at once.
fn take_turns(run: &Simulated, group: &mut ThreadGroup) {
    let lives = group.threads.iter().map(|&index| (run.threads[index].begin, run.threads[index].end));
    let lives: Vec<(u64, u64)> = lives.filter(|(begin, end)| begin < end).collect();
    let mut changes: Vec<(u64, i64)> =
        lives.iter().flat_map(|&(begin, end)| [(begin, 1), (end, -1)]).collect();
    changes.sort_unstable();
    let there = changes.iter().scan(0, |there, (_, change)| {
        *there += change;
        Some(*there)
    });
    let places = there.max().unwrap_or(0) as u64;
    let absent = group.stack.get(CycleComponent::Imbalance);
    let counted_twice = (lives.len() as u64 - places) * run.cycles;
    let mut stack = CycleStack::default();
    for (component, cycles) in group.stack.parts() {
        let is_absent = component == CycleComponent::Imbalance;
        stack.book(component, if is_absent { absent.saturating_sub(counted_twice) } else { cycles });
    }
    group.stack = stack;
}

/// What tells start functions apart.
fn key(frame: &Frame) -> String {
    match &frame.function {
        Some(function) => format!("{function}\0{}", frame.module.as_deref().unwrap_or_default()),
        None => format!("{:#x}\0{}", frame.address, frame.module.as_deref().unwrap_or_default()),
    }
}

fn is_team_thread(entry: Option<&Frame>) -> bool {
    let module = entry.and_then(|frame| frame.module.as_deref());
    module.is_some_and(|module| TEAM_MODULES.iter().any(|begin| module.starts_with(begin)))
}

/// True if a thread waits for others, but for locks, for no more than half its time, and is there at all.
fn does_work(thread: &SimulatedThread) -> bool {
    let time = thread.stack.total() - thread.stack.get(CycleComponent::Imbalance);
    let idle = thread.stack.sync() - thread.stack.get(CycleComponent::SyncCritSect);
    time > 0 && idle <= time / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn thread(number: u32, entry: u64, work: u64, sync: u64, imbalance: u64) -> SimulatedThread {
        let mut stack = CycleStack::default();
        stack.book(CycleComponent::DependInt, work);
        stack.book(CycleComponent::SyncCond, sync);
        stack.book(CycleComponent::Imbalance, imbalance);
        SimulatedThread { number, entry, instructions: 10 * work, stack, ..SimulatedThread::default() }
    }

    fn names(entries: &[(u64, &str, &str)]) -> CycleNames {
        let frame = |function: &str, module: &str| Frame {
            function: Some(function.to_owned()),
            module: Some(module.to_owned()),
            ..Frame::default()
        };
        let code = entries.iter().map(|(at, function, module)| (*at, vec![frame(function, module)]));
        CycleNames { code: code.collect(), ..CycleNames::default() }
    }

    fn run(threads: Vec<SimulatedThread>) -> Simulated {
        Simulated { cycles: 100, threads, ..Simulated::default() }
    }

    #[test]
    fn a_pipeline_has_a_group_for_each_stage_and_the_first_thread_that_waits_is_left_out() {
        let threads = vec![
            thread(0, 0, 2, 98, 0),
            thread(1, 0x10, 80, 20, 0),
            thread(2, 0x20, 90, 10, 0),
            thread(3, 0x20, 50, 50, 0),
            thread(4, 0x30, 49, 51, 0),
        ];
        let names = names(&[(0x10, "read", "dedup"), (0x20, "compress", "dedup"), (0x30, "write", "dedup")]);
        let told = aggregate(&run(threads), &names);
        let shown: Vec<_> = told
            .groups
            .iter()
            .map(|group| {
                let name = group.entry.as_ref().and_then(|frame| frame.function.as_deref());
                (group.kind, name, group.threads.clone(), group.left_out.clone())
            })
            .collect();
        assert_eq!(
            shown,
            [
                (GroupKind::Function, Some("compress"), vec![2, 3], vec![]),
                (GroupKind::Function, Some("read"), vec![1], vec![]),
                (GroupKind::Main, None, vec![], vec![0]),
                (GroupKind::Function, Some("write"), vec![], vec![4]),
            ]
        );
        assert_eq!((told.threads, told.stack.total(), told.instructions), (3, 300, 2200));
        assert!(!told.all_wait);
    }

    #[test]
    fn a_thread_that_comes_late_is_judged_by_its_own_time() {
        let told =
            aggregate(&run(vec![thread(1, 0, 10, 5, 85), thread(2, 0, 10, 11, 79)]), &CycleNames::default());
        assert_eq!((&told.groups[0].threads, &told.groups[0].left_out), (&vec![0], &vec![1]));
        assert_eq!(told.groups[0].kind, GroupKind::Unknown);
    }

    #[test]
    fn where_all_wait_none_is_left_out() {
        let told =
            aggregate(&run(vec![thread(0, 0, 10, 90, 0), thread(1, 8, 20, 80, 0)]), &CycleNames::default());
        assert!(told.all_wait);
        assert_eq!(told.stack.total(), 200);
    }

    #[test]
    fn threads_that_queue_for_a_lock_count() {
        let mut waiting = thread(1, 8, 10, 0, 0);
        waiting.stack.book(CycleComponent::SyncCritSect, 90);
        let told =
            aggregate(&run(vec![thread(0, 0, 10, 90, 0), waiting.clone(), waiting]), &CycleNames::default());
        assert_eq!((told.threads, told.stack.get(CycleComponent::SyncCritSect)), (2, 180));
        assert!(!told.all_wait);
    }

    #[test]
    fn threads_that_come_one_after_the_other_are_in_one_place() {
        let life = |begin: u64, end: u64| {
            let length = end - begin;
            SimulatedThread { begin, end, ..thread(1, 8, length, 0, 100 - length) }
        };
        let told = aggregate(&run(vec![life(0, 20), life(20, 50), life(10, 60)]), &CycleNames::default());
        // Two at once for 100 cycles, which were there for 100.
        assert_eq!((told.threads, told.stack.total()), (3, 200));
        assert_eq!(told.stack.get(CycleComponent::Imbalance), 100);
    }

    #[test]
    fn a_team_includes_the_first_thread() {
        let threads = vec![thread(0, 0, 80, 20, 0), thread(1, 0x10, 80, 20, 0)];
        let told = aggregate(&run(threads), &names(&[(0x10, "gomp_thread_start", "libgomp.so.1")]));
        assert_eq!(told.groups.len(), 1);
        assert_eq!((told.groups[0].kind, told.groups[0].threads.len()), (GroupKind::Team, 2));
    }

    proptest! {
        #[test]
        fn each_thread_is_in_one_group_and_sums_are_exact(
            threads in prop::collection::vec((0u32..4, 0u64..3, 0u64..1000, 0u64..1000, 0u64..1000), 0..40),
        ) {
            let threads: Vec<_> =
                threads.into_iter().map(|(number, entry, work, sync, late)| thread(number, entry, work, sync, late)).collect();
            let simulated = run(threads);
            let told = aggregate(&simulated, &names(&[(1, "a", "m")]));
            let mut seen: Vec<usize> =
                told.groups.iter().flat_map(|group| group.threads.iter().chain(&group.left_out)).copied().collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..simulated.threads.len()).collect::<Vec<_>>());
            let mut sum = CycleStack::default();
            told.groups.iter().for_each(|group| sum.add(&group.stack));
            prop_assert_eq!(sum, told.stack);
            let counted = told.groups.iter().flat_map(|group| &group.threads);
            let cycles: u64 = counted.map(|&index| simulated.threads[index].stack.total()).sum();
            prop_assert_eq!(cycles, told.stack.total());
        }
    }
}
