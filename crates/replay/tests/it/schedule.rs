//! Loops and tasks that are dealt out anew: against loops and tasks whose answer is known.

use crate::dealt;
use crate::dealt::{Deal, Loop, forked, nanos, region, share, thread, time};
use holdup_model::Nanos;
use holdup_model::openmp::{
    Depend, DependKind, Instance, OpenMp, Sync, SyncKind, Task, TaskId, TaskRun, WorkKind,
};
use holdup_replay::schedule::{
    Redone, Schedule, TaskChange, balanced, loops, redeal, reschedule, task_graphs,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn redealt(recorded: &OpenMp, schedule: Schedule, threads: Option<u32>) -> Redone {
    redeal(&loops(recorded), schedule, threads).expect("a loop")
}

/// Iterations that get dearer, as in a triangular loop.
fn rising(count: u64) -> Vec<u64> {
    (0..count).map(|iteration| 1000 + 37 * iteration).collect()
}

#[test]
fn a_loop_is_taken_over_as_it_was() {
    let recorded =
        Loop::new(vec![5, 6, 7, 8, 9, 10], 2, Deal::Dynamic(2)).entering(&[0, 3]).dealing(4).record();
    let recorded = loops(&recorded);
    assert_eq!(recorded.len(), 1);
    assert_eq!(recorded[0].kind, WorkKind::DynamicLoop);
    assert_eq!(recorded[0].entries, [nanos(0), nanos(3)]);
    let chunks: Vec<_> = recorded[0].chunks.iter().map(|chunk| (chunk.count, chunk.time.get())).collect();
    assert_eq!(chunks, [(2, 11), (2, 15), (2, 19)]);
    assert_eq!((recorded[0].iterations, recorded[0].dealt, recorded[0].threads()), (6, 3, 2));
    assert_eq!(recorded[0].dealing, 4.0);
    assert_eq!(recorded[0].work(), 45.0);
}

#[test]
fn an_unchanged_loop_takes_what_it_took() {
    for deal in [Deal::Dynamic(1), Deal::Dynamic(16), Deal::Guided(4)] {
        let recorded =
            Loop::new(rising(2000), 7, deal).entering(&[0, 500, 20, 9000, 0, 1, 2]).dealing(60).record();
        let redone = redealt(&recorded, Schedule::Static, None);
        let ratio = redone.unchanged.get() as f64 / redone.recorded.get() as f64;
        assert!((ratio - 1.0).abs() < 1e-3, "{deal:?}: {redone:?}");
    }
}

#[test]
fn other_schedules_take_what_they_would() {
    let costs = rising(997);
    let entries = [0, 2000, 300, 0];
    let of = |deal| Loop::new(costs.clone(), 4, deal).entering(&entries).dealing(25);
    let recorded = of(Deal::Dynamic(1)).record();
    let pairs = [
        (Schedule::Static, Deal::Static),
        (Schedule::StaticChunks(10), Deal::StaticChunks(10)),
        (Schedule::Dynamic(1), Deal::Dynamic(1)),
        (Schedule::Dynamic(64), Deal::Dynamic(64)),
        (Schedule::Guided(1), Deal::Guided(1)),
        (Schedule::Guided(20), Deal::Guided(20)),
    ];
    for (schedule, deal) in pairs {
        let predicted = redealt(&recorded, schedule, None);
        let truth = of(deal).takes() as f64;
        let ratio = predicted.time.get() as f64 / truth;
        assert!((ratio - 1.0).abs() < 2e-3, "{schedule}: {predicted:?}, true {truth}");
        assert!(!predicted.bound && predicted.low <= predicted.time && predicted.time <= predicted.high);
    }
}

/// From chunks of 16, whose iterations are taken to cost the same as each other, other sizes come out within 2 %.
#[test]
fn larger_chunks_still_tell_most() {
    let costs = rising(4000);
    let recorded = Loop::new(costs.clone(), 8, Deal::Dynamic(16)).dealing(40).record();
    for (schedule, deal) in [
        (Schedule::Static, Deal::Static),
        (Schedule::Dynamic(1), Deal::Dynamic(1)),
        (Schedule::Dynamic(200), Deal::Dynamic(200)),
        (Schedule::Guided(8), Deal::Guided(8)),
    ] {
        let predicted = redealt(&recorded, schedule, None);
        let truth = Loop::new(costs.clone(), 8, deal).dealing(40).takes() as f64;
        let ratio = predicted.time.get() as f64 / truth;
        assert!((ratio - 1.0).abs() < 0.02, "{schedule}: {predicted:?}, true {truth}");
    }
}

#[test]
fn some_of_the_chunks_stand_for_all() {
    let costs = rising(8000);
    let whole = Loop::new(costs.clone(), 4, Deal::Dynamic(4)).dealing(30);
    let mut recorded = whole.record();
    let mut number = 0u64;
    recorded.chunks.retain(|_| {
        number += 1;
        number.is_multiple_of(5)
    });
    let predicted = redealt(&recorded, Schedule::Static, None);
    let truth = Loop::new(costs, 4, Deal::Static).takes() as f64;
    let ratio = predicted.time.get() as f64 / truth;
    assert!((ratio - 1.0).abs() < 0.03, "{predicted:?}, true {truth}");
}

/// A thread that lost its core while it got a chunk says nothing about what getting one costs.
#[test]
fn a_long_wait_for_one_chunk_is_not_the_price_of_all() {
    let mut recorded = Loop::new(vec![4_000; 400], 4, Deal::Dynamic(8)).record();
    let late = recorded.works[2].chunks;
    for work in &mut recorded.works {
        let wait = if work.thread == thread(2) { 800_000 } else { 0 };
        work.dealing = Some(nanos(50 * u64::from(work.chunks) + wait));
    }
    let redealt = redealt(&recorded, Schedule::Dynamic(1), None);
    assert!(late > 0 && loops(&recorded)[0].dealing == 50.0);
    // Dealing out 400 single iterations costs 20 µs in all, not ten times the 0.8 ms.
    assert!(redealt.time.get() < redealt.recorded.get() * 3 / 2, "{redealt:?}");
}

/// The first instance pays for things that no later one does.
#[test]
fn getting_a_chunk_costs_what_it_costs_at_best() {
    let mut all = OpenMp::default();
    for (number, dealing) in [(1, 9_000), (2, 50), (3, 60)] {
        let one =
            Loop::new(vec![1_000; 4_000], 4, Deal::Dynamic(400)).dealing(dealing).numbered(number).record();
        all.regions.extend(one.regions);
        all.works.extend(one.works);
        all.chunks.extend(one.chunks);
    }
    let redealt = redealt(&all, Schedule::Dynamic(1), None);
    // Each of 3 × 4000 iterations costs 50 ns more, shared by four threads; chunks of 400 made four threads uneven.
    let expected = 3.0 * (4_000.0 * 1_050.0 / 4.0);
    assert!((redealt.time.get() as f64 / expected - 1.0).abs() < 0.02, "{redealt:?} {expected}");
}

/// Of a loop with very many chunks the first of each thread are told one by one; the others are counted.
#[test]
fn behind_the_chunks_that_are_told_come_the_others() {
    let costs = [vec![8_000; 300], vec![1_000; 3_000]].concat();
    let whole = Loop::new(costs.clone(), 4, Deal::Dynamic(1)).dealing(30);
    let mut recorded = whole.record();
    for index in 0..4 {
        let mut told = 0;
        recorded.chunks.retain(|chunk| {
            let own = chunk.thread == thread(index);
            told += u32::from(own);
            !own || told <= 100
        });
    }
    assert!(recorded.chunks.len() == 400);
    for work in &mut recorded.works {
        work.dealing = Some(nanos(30 * u64::from(work.chunks)));
    }
    for (schedule, deal) in [(Schedule::Static, Deal::Static), (Schedule::Dynamic(10), Deal::Dynamic(10))] {
        let predicted = redealt(&recorded, schedule, None);
        let truth = Loop::new(costs.clone(), 4, deal).dealing(30).takes() as f64;
        let ratio = predicted.time.get() as f64 / truth;
        assert!((ratio - 1.0).abs() < 0.01, "{schedule}: {predicted:?}, true {truth}");
        let unchanged = predicted.unchanged.get() as f64 / predicted.recorded.get() as f64;
        assert!((unchanged - 1.0).abs() < 0.01, "{predicted:?}");
        let whole = redealt(&whole.record(), schedule, None);
        let width = |redone: &Redone| redone.high.get() - redone.low.get();
        assert!(width(&predicted) > width(&whole), "{predicted:?} {whole:?}");
    }
}

#[test]
fn iterations_may_be_numbered_downwards_or_not_at_all() {
    let of = |deal| Loop::new(rising(500), 3, deal).dealing(10);
    let truth = of(Deal::Static).takes() as f64;
    let mut downwards = of(Deal::Dynamic(5)).record();
    for chunk in &mut downwards.chunks {
        chunk.first = 0u64.wrapping_sub(chunk.first);
    }
    let mut unnumbered = of(Deal::Dynamic(5)).record();
    for chunk in &mut unnumbered.chunks {
        (chunk.first, chunk.count) = (0, 0);
    }
    for recorded in [downwards, unnumbered] {
        let predicted = redealt(&recorded, Schedule::Static, None);
        let ratio = predicted.time.get() as f64 / truth;
        assert!((ratio - 1.0).abs() < 0.02, "{predicted:?}, true {truth}");
    }
}

/// 4 threads of a static loop: 10, 20, 30 and 40 µs. Balanced they take 25 µs, which is a bound.
#[test]
fn a_static_loop_can_only_be_balanced() {
    let costs = [10_000, 20_000, 30_000, 40_000].to_vec();
    let recorded = loops(&Loop::new(costs, 4, Deal::Static).record());
    assert!(recorded[0].chunks.is_empty());
    let balanced = balanced(&recorded, None).expect("a loop");
    assert_eq!(
        (balanced.recorded, balanced.unchanged, balanced.time),
        (nanos(40_000), nanos(40_000), nanos(25_000))
    );
    assert!(balanced.bound && balanced.high == nanos(40_000));
    assert_eq!(redeal(&recorded, Schedule::Dynamic(1), None), Some(balanced));
    assert_eq!(balanced.gain()[0], 15_000);
}

#[test]
fn threads_that_come_late_take_less_of_a_balanced_loop() {
    // 60 µs of work on two threads, of which one comes 20 µs late: they end together at 40 µs.
    let costs = vec![1000; 60];
    let recorded = loops(&Loop::new(costs.clone(), 2, Deal::Dynamic(30)).entering(&[0, 20_000]).record());
    assert_eq!(balanced(&recorded, None).map(|balanced| balanced.time), Some(nanos(40_000)));
    // One that comes when the other is done takes no part, and is waited for.
    let recorded = loops(&Loop::new(costs, 2, Deal::Dynamic(60)).entering(&[0, 90_000]).record());
    assert_eq!(balanced(&recorded, None).map(|balanced| balanced.time), Some(nanos(90_000)));
}

#[test]
fn instances_that_differ_widen_the_interval() {
    let width = |spread: u64| {
        let mut all = OpenMp::default();
        for number in 1..=6 {
            let costs = rising(400).into_iter().map(|cost| cost + (number * spread) % 7000).collect();
            let one = Loop::new(costs, 4, Deal::Dynamic(1)).numbered(number).record();
            all.regions.extend(one.regions);
            all.works.extend(one.works);
            all.chunks.extend(one.chunks);
        }
        let redone = redealt(&all, Schedule::Static, None);
        assert_eq!(redone.instances, 6);
        (redone.high.get() - redone.low.get()) as f64 / redone.time.get() as f64
    };
    assert!(width(3333) > width(0) * 1.2, "{} {}", width(3333), width(0));
}

#[test]
fn what_is_not_whole_is_left_out() {
    let whole = Loop::new(rising(10), 2, Deal::Dynamic(1)).record();
    let mut skipped = whole.clone();
    skipped.regions[0].whole = false;
    let mut lost = whole.clone();
    lost.works.pop();
    assert_eq!(loops(&whole).len(), 1);
    assert!(loops(&skipped).is_empty() && loops(&lost).is_empty());
    assert_eq!(redeal(&[], Schedule::Static, None), None);
    assert_eq!(balanced(&[], Some(4)), None);
    assert_eq!(reschedule(&[], TaskChange::Unchanged, None), None);

    let shape: Vec<(u8, u64)> = std::iter::once((40, 100)).chain((0..40).map(|_| (0, 5_000))).collect();
    let whole = forked(&shape, 0, 0);
    assert_eq!(task_graphs(&whole).len(), 1);
    // Some tasks are not told, or were not seen at work.
    let mut thinned = whole.clone();
    thinned.tasks.retain(|task| task.id.number().is_multiple_of(3));
    let mut unseen = whole.clone();
    unseen.task_runs.truncate(20);
    assert!(task_graphs(&thinned).is_empty() && task_graphs(&unseen).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No schedule is faster than its work shared by all threads, or than its longest iteration; who takes the next when
    /// he is free is at most so much slower than that (Graham, SIAM J. Appl. Math. 17, 1969).
    #[test]
    fn a_loop_keeps_its_bounds(
        costs in vec(1..50_000u64, 1..200),
        threads in 1..9u32,
        more in 1..9u32,
        chunk in 1..40u64,
        dealing in 0..300u64,
    ) {
        let recorded = loops(&Loop::new(costs.clone(), threads, Deal::Dynamic(1)).dealing(dealing).record());
        let work: u64 = costs.iter().sum();
        let longest = costs.iter().copied().max().unwrap_or(0);
        let shared = work.div_ceil(u64::from(more));
        let bound = balanced(&recorded, Some(more)).expect("a loop");
        prop_assert!(bound.time.get() + 1 >= shared.max(longest) && bound.time.get() <= shared.max(longest) + 1);
        for schedule in
            [Schedule::Static, Schedule::StaticChunks(chunk), Schedule::Dynamic(chunk), Schedule::Guided(chunk)]
        {
            let redone = redeal(&recorded, schedule, Some(more)).expect("a loop");
            prop_assert!(redone.time.get() + 1 >= bound.time.get(), "{schedule} {redone:?} {bound:?}");
        }
        let dealt = redeal(&recorded, Schedule::Dynamic(1), Some(more)).expect("a loop");
        let with_dealing = work + dealing * costs.len() as u64;
        let most = with_dealing.div_ceil(u64::from(more)) + longest + dealing;
        prop_assert!(dealt.time.get() <= most + 1, "{dealt:?} {most}");
    }

    /// One more thread never makes independent chunks slower.
    #[test]
    fn more_threads_never_cost(
        costs in vec(1..50_000u64, 1..200),
        threads in 1..9u32,
        chunk in 1..20u64,
        dealing in 0..300u64,
    ) {
        let recorded = loops(&Loop::new(costs, 1, Deal::Dynamic(1)).dealing(dealing).record());
        let time = |threads| redeal(&recorded, Schedule::Dynamic(chunk), Some(threads)).expect("a loop").time;
        prop_assert!(time(threads + 1) <= time(threads) + nanos(1));
    }

    /// Dealing that costs more never makes a loop of one thread faster, and larger chunks save it.
    #[test]
    fn larger_chunks_save_dealing(costs in vec(1..5_000u64, 1..200), chunk in 1..20u64, dealing in 0..3000u64) {
        let recorded = loops(&Loop::new(costs.clone(), 1, Deal::Dynamic(1)).dealing(dealing).record());
        let redone = redeal(&recorded, Schedule::Dynamic(chunk), None).expect("a loop");
        let expected = costs.iter().sum::<u64>() + dealing * (costs.len() as u64).div_ceil(chunk);
        prop_assert!(redone.time.get().abs_diff(expected) <= 1, "{redone:?} {expected}");
    }

    /// Whatever was recorded: no panic, and intervals that hold what is told.
    #[test]
    fn any_records_are_taken(recorded in dealt::any_records(), threads in 0..70u32, chunk in 0..u64::MAX) {
        let taken = loops(&recorded);
        let schedules = [
            Schedule::Static,
            Schedule::StaticChunks(chunk % 7),
            Schedule::Dynamic(chunk),
            Schedule::Guided(chunk % 5),
        ];
        let redone = schedules.into_iter().filter_map(|schedule| redeal(&taken, schedule, Some(threads)));
        for redone in redone.chain(balanced(&taken, None)) {
            prop_assert!(redone.low <= redone.time && redone.time <= redone.high, "{redone:?}");
        }
        let graphs = task_graphs(&recorded);
        for change in [TaskChange::Unchanged, TaskChange::FreeMaking, TaskChange::Cutoff(nanos(500))] {
            if let Some(redone) = reschedule(&graphs, change, Some(threads)) {
                prop_assert!(redone.low <= redone.time && redone.time <= redone.high, "{redone:?}");
            }
        }
        for graph in &graphs {
            prop_assert!(graph.tasks() > 0 && graph.threads() > 0);
            graph.critical_path();
        }
    }

    /// Tasks that wait for those that they make: never faster than the work shared by all threads, or than the longest chain
    /// of tasks, and never slower than one thread.
    #[test]
    fn tasks_keep_their_bounds(shape in vec((0..6u8, 1..9_000u64), 2..60), threads in 1..9u32) {
        let graphs = task_graphs(&forked(&shape, 0, 0));
        let graph = &graphs[0];
        let work: u64 = shape.iter().map(|(_, work)| work).sum();
        prop_assert_eq!(graph.work(), nanos(work));
        prop_assert_eq!(graph.overhead(), Nanos::ZERO);
        prop_assert_eq!(graph.time(), nanos(work));
        let alone = reschedule(&graphs, TaskChange::Unchanged, Some(1)).expect("a graph");
        prop_assert_eq!((alone.time, alone.unchanged), (nanos(work), nanos(work)));
        let path = graph.critical_path().get();
        let redone = reschedule(&graphs, TaskChange::Unchanged, Some(threads)).expect("a graph").time.get();
        prop_assert!(redone >= path && redone >= work / u64::from(threads), "{redone} {path} {work}");
        prop_assert!(redone <= work, "{redone} {work}");
    }

    /// Where one task makes all others, never slower than Graham's bound for list schedules. Where others make and wait for some as well it does
    /// not hold: who executes another task while its own waits goes on with that only when the other one is done.
    #[test]
    fn tasks_of_one_maker_keep_the_bound_of_list_schedules(
        work in vec(1..9_000u64, 2..60),
        made in 0..6u8,
        threads in 1..9u32,
    ) {
        let shape: Vec<(u8, u64)> =
            work.iter().enumerate().map(|(task, &work)| (if task == 0 { made } else { 0 }, work)).collect();
        let graphs = task_graphs(&forked(&shape, 0, 0));
        let path = graphs[0].critical_path().get();
        let beside = (work.iter().sum::<u64>() - path).div_ceil(u64::from(threads));
        let redone = reschedule(&graphs, TaskChange::Unchanged, Some(threads)).expect("a graph").time.get();
        prop_assert!(redone <= path + beside, "{redone} {path} {beside}");
    }

    /// What making and fetching cost is paid once for each task, and a cut-off above all saves all of it.
    #[test]
    fn a_cutoff_saves_making_and_fetching(
        shape in vec((0..6u8, 5_000..9_000u64), 12..60),
        making in 0..400u64,
        fetching in 0..400u64,
    ) {
        let recorded = forked(&shape, making, fetching);
        let graphs = task_graphs(&recorded);
        prop_assume!(graphs.first().is_some_and(|graph| graph.tasks() > 3));
        let work: u64 = shape.iter().map(|(_, work)| work).sum();
        prop_assert_eq!(graphs[0].work(), nanos(work));
        let time = |change| reschedule(&graphs, change, Some(1)).map(|redone| redone.time.get()).expect("a graph");
        let recorded = graphs[0].time().get();
        prop_assert!(time(TaskChange::Unchanged).abs_diff(recorded) <= 1);
        for change in [TaskChange::FreeMaking, TaskChange::Cutoff(nanos(u64::MAX))] {
            // The fetching that is known is that of the quickest; here all are the same.
            let least = graphs[0].time().get() * work / (work + graphs[0].overhead().get());
            prop_assert!(time(change).abs_diff(least) <= 2, "{} {least}", time(change));
        }
    }
}

/// One thread makes 100 tasks of 10 µs in 1 µs each; the others come to the barrier and execute them.
#[test]
fn a_producer_of_tasks() {
    let (threads, tasks, making, work) = (4u64, 100u64, 1_000u64, 10_000u64);
    let instance = Instance::new(1);
    let mut recorded = OpenMp { regions: vec![region(instance, threads as u32)], ..OpenMp::default() };
    for index in 0..threads {
        let end = if index == 0 { tasks * making } else { 0 };
        recorded.shares.push(share(instance, index as u32, 0, end));
    }
    // Who is free takes the oldest that is there; the producer helps when it has made all.
    let mut free: Vec<u64> = (0..threads).map(|index| if index == 0 { tasks * making } else { 0 }).collect();
    for number in 0..tasks {
        let made = (number + 1) * making;
        let id = TaskId::new(number + 1);
        recorded.tasks.push(Task {
            id,
            parent: None,
            thread: thread(0),
            time: time(made - making),
            instance: Some(instance),
            place: None,
            making: Some(nanos(making)),
            undeferred: false,
            of_loop: false,
        });
        let who = (0..threads as usize).min_by_key(|&index| free[index]).expect("threads");
        let begin = free[who].max(made);
        free[who] = begin + work;
        recorded.task_runs.push(TaskRun {
            thread: thread(who as u32),
            task: Some(id),
            instance: Some(instance),
            begin: time(begin),
            end: time(free[who]),
            complete: true,
        });
    }
    let took = free.iter().copied().max().expect("threads");
    let graphs = task_graphs(&recorded);
    assert_eq!((graphs[0].tasks(), graphs[0].threads()), (100, 4));
    assert_eq!((graphs[0].time(), graphs[0].work()), (nanos(took), nanos(tasks * work)));
    assert_eq!(graphs[0].overhead(), nanos(tasks * making));
    assert_eq!(graphs[0].critical_path(), nanos(work));
    let same = reschedule(&graphs, TaskChange::Unchanged, None).expect("a graph");
    assert!((same.unchanged.get() as f64 / took as f64 - 1.0).abs() < 0.03, "{same:?}");
    // Without making: 1 ms of work on four threads.
    let free = reschedule(&graphs, TaskChange::FreeMaking, None).expect("a graph");
    assert!((free.time.get() as f64 / 250_000.0 - 1.0).abs() < 0.03, "{free:?}");
    // On many threads the producer is the bound: the last task begins when all are made.
    let many = reschedule(&graphs, TaskChange::Unchanged, Some(32)).expect("a graph");
    assert!((many.time.get() as f64 / 110_000.0 - 1.0).abs() < 0.03, "{many:?}");
    // A cut-off above all leaves all work to the producer.
    let alone = reschedule(&graphs, TaskChange::Cutoff(nanos(work + 1)), None).expect("a graph");
    assert!((alone.time.get() as f64 / 1_000_000.0 - 1.0).abs() < 0.03, "{alone:?}");
}

/// Where making was not timed, what the quickest two tasks have between them is it.
#[test]
fn making_that_was_not_timed_is_the_least_between_two() {
    let shape: Vec<(u8, u64)> = std::iter::once((20, 100)).chain((0..20).map(|_| (0, 5_000))).collect();
    let mut recorded = forked(&shape, 300, 0);
    for task in &mut recorded.tasks {
        task.making = None;
    }
    let graphs = task_graphs(&recorded);
    assert_eq!((graphs[0].overhead(), graphs[0].work()), (nanos(20 * 300), nanos(100 + 20 * 5_000)));
    // Of a few it cannot be told.
    recorded.tasks.truncate(5);
    assert_eq!(task_graphs(&recorded)[0].overhead(), Nanos::ZERO);
}

/// Ten tasks of 5 µs: each may write what the one before wrote, or all only read it.
#[test]
fn dependences_make_a_chain() {
    let path = |kind: DependKind, threads: u32| {
        let shape: Vec<(u8, u64)> = std::iter::once((10, 1)).chain((0..10).map(|_| (0, 5_000))).collect();
        let mut recorded = forked(&shape, 0, 0);
        recorded.depends =
            recorded.tasks.iter().map(|task| Depend { task: task.id, address: 64, kind }).collect();
        let graphs = task_graphs(&recorded);
        let redone = reschedule(&graphs, TaskChange::Unchanged, Some(threads)).expect("a graph");
        (graphs[0].critical_path().get(), redone.time.get())
    };
    assert_eq!(path(DependKind::Out, 4), (50_001, 50_001));
    assert_eq!(path(DependKind::In, 10), (5_001, 5_001));
    assert_eq!(path(DependKind::OutSet, 5), (5_001, 10_001));
}

/// Two phases with a barrier between: tasks of the first are done before the second begins.
#[test]
fn a_barrier_waits_for_all_tasks() {
    let instance = Instance::new(1);
    let mut recorded = OpenMp { regions: vec![region(instance, 1)], ..OpenMp::default() };
    recorded.shares.push(share(instance, 0, 0, 400));
    for (number, begin) in [(1u64, 100u64), (2, 300)] {
        recorded.tasks.push(Task {
            id: TaskId::new(number),
            parent: None,
            thread: thread(0),
            time: time(begin),
            instance: Some(instance),
            place: None,
            making: None,
            undeferred: false,
            of_loop: false,
        });
        recorded.syncs.push(Sync {
            thread: thread(0),
            instance,
            sequence: number as u32,
            kind: SyncKind::ExplicitBarrier,
            place: None,
            begin: time(begin),
            end: time(begin + 100),
            continued: false,
            interrupted: true,
        });
        recorded.task_runs.push(TaskRun {
            thread: thread(0),
            task: Some(TaskId::new(number)),
            instance: Some(instance),
            begin: time(begin),
            end: time(begin + 100),
            complete: true,
        });
    }
    let graphs = task_graphs(&recorded);
    assert_eq!(graphs[0].critical_path(), nanos(400));
    let many = reschedule(&graphs, TaskChange::Unchanged, Some(8)).expect("a graph");
    assert_eq!((many.unchanged, many.time), (nanos(400), nanos(400)));
}
