//! Predictions: what they say, whatever the number of the host's threads, and against the script that was really changed.

use crate::programs;
use crate::programs::{MS, any_program};
use holdup_model::{
    Nanos, ObjectId, ObjectKind, ObjectUse, Outcome, Process, ThreadId, Timeline, Wait, Wake, WakeCount,
};
use holdup_replay::{Budget, Change, LockChange, Next, NoReplay, PauseKind, Prediction, Replayer};
use holdup_testkit::{Op, Script};
use proptest::prelude::*;

fn work(length: u64) -> Op {
    Op::Work(length * MS)
}

fn workers(script: &mut Script, ops: Vec<Vec<Op>>) -> Vec<ThreadId> {
    let workers: Vec<ThreadId> = ops.into_iter().map(|ops| script.thread("worker", ops)).collect();
    script.main_runs(&workers);
    workers
}

fn predicted(process: &Process, cores: u32, changes: &[Change]) -> Prediction {
    let timeline = Timeline::build(process);
    Replayer::of(process, &timeline, cores).expect("it can be replayed").predict(changes).expect("an end")
}

/// The really changed run is in the interval.
fn contains(prediction: &Prediction, real: Nanos) {
    assert!(prediction.low <= prediction.wall && prediction.wall <= prediction.high, "{prediction:?}");
    assert!(prediction.low <= real && real <= prediction.high, "{prediction:?} {real:?}");
    assert_eq!(prediction.let_through, 0);
}

/// Threads that hold a lock for `held` ms and work for `outside` ms by turns.
fn one_lock(threads: usize, held: u64, outside: u64) -> (Script, ObjectId, Vec<ThreadId>) {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "lock");
    let site = script.site("update", 10);
    let turn = [Op::Lock(lock, site), work(held), Op::Unlock(lock), work(outside)];
    let workers = workers(&mut script, vec![turn.repeat(240 / threads); threads]);
    (script, lock, workers)
}

#[test]
fn locks_that_were_really_changed() {
    let (script, lock, workers) = one_lock(4, 8, 8);
    let process = script.play();
    assert_eq!(process.wall().get(), (240 * 8 + 8) * MS);
    let shorter = |times| predicted(&process, 8, &[Change::Lock(lock, LockChange::Shorter(times))]);
    for (times, held) in [(1.0, 8), (2.0, 4), (4.0, 2), (8.0, 1)] {
        contains(&shorter(times), one_lock(4, held, 8).0.play().wall());
    }
    contains(&predicted(&process, 8, &[Change::Lock(lock, LockChange::Free)]), Nanos::new(60 * 16 * MS));
    for number in [1, 2, 3, 6] {
        let changes = [Change::Threads(workers.clone(), number)];
        contains(&predicted(&process, 8, &changes), one_lock(number as usize, 8, 8).0.play().wall());
    }
    // Twice as fast outside of the lock too.
    let faster = predicted(&process, 8, &[Change::Faster(workers, 2.0)]);
    contains(&faster, one_lock(4, 4, 4).0.play().wall());
}

#[test]
fn the_gain_is_what_is_less() {
    let (script, lock, _) = one_lock(4, 8, 8);
    let process = script.play();
    let prediction = predicted(&process, 8, &[Change::Lock(lock, LockChange::Free)]);
    let [gain, low, high] = prediction.gain(process.wall());
    assert_eq!(gain, process.wall().get() as i64 - prediction.wall.get() as i64);
    assert!(low <= gain && gain <= high && low > 0);
    // What makes it slower has a negative one.
    let slower = predicted(&process, 8, &[Change::Cores(1)]);
    assert!(slower.gain(process.wall())[0] < 0);
}

#[test]
fn what_holds_it_up_next() {
    let (script, lock, workers) = one_lock(4, 8, 8);
    let process = script.play();
    let next = |cores, changes: &[Change]| predicted(&process, cores, changes).next;
    assert_eq!(next(8, &[]), Some(Next::Object(lock)));
    assert_eq!(next(8, &[Change::Lock(lock, LockChange::Shorter(1.5))]), Some(Next::Object(lock)));
    assert_eq!(next(2, &[Change::Lock(lock, LockChange::Free)]), Some(Next::Cores(2)));
    assert_eq!(next(8, &[Change::Cores(1)]), Some(Next::Cores(1)));
    // All work all the time: the first of those with the most to do.
    let free = Change::Lock(lock, LockChange::Free);
    assert_eq!(next(8, std::slice::from_ref(&free)), Some(Next::Thread(workers[0])));
    assert_eq!(next(8, &[free, Change::Faster(workers[..3].to_vec(), 4.0)]), Some(Next::Thread(workers[3])));
}

#[test]
fn the_lock_behind_the_lock() {
    let mut script = Script::new();
    let [first, second] = ["first", "second"].map(|name| script.object(ObjectKind::Mutex, name));
    let site = script.site("update", 10);
    let turn = [
        Op::Lock(first, site),
        work(10),
        Op::Unlock(first),
        Op::Lock(second, site),
        work(7),
        Op::Unlock(second),
        work(2),
    ];
    workers(&mut script, vec![turn.repeat(20); 4]);
    let process = script.play();
    assert_eq!(predicted(&process, 8, &[]).next, Some(Next::Object(first)));
    let free = predicted(&process, 8, &[Change::Lock(first, LockChange::Free)]);
    assert_eq!(free.next, Some(Next::Object(second)));
    // It is held all the time then.
    assert!(free.wall.get() >= 4 * 20 * 7 * MS);
}

#[test]
fn a_pipeline_is_as_fast_as_its_slowest_stage() {
    let mut script = Script::new();
    let queue = script.guarded_queue("items", 4);
    let [put, get] = [("put", 10), ("get", 20)].map(|(name, line)| script.site(name, line));
    let produce = script.thread("produce", [work(2), Op::Put(queue, put)].repeat(100));
    let consume = script.thread("consume", [Op::Get(queue, get), work(5)].repeat(100));
    script.main_runs(&[produce, consume]);
    let process = script.play();
    assert_eq!(predicted(&process, 4, &[]).next, Some(Next::Thread(consume)));
    let faster = predicted(&process, 4, &[Change::Faster(vec![consume], 5.0)]);
    assert_eq!(faster.next, Some(Next::Thread(produce)));
    contains(&faster, Nanos::new(201 * MS));
}

/// 300 ms of the main thread alone, then two workers with so many milliseconds.
fn alone_and_then_two(lengths: [u64; 2]) -> (Process, [ThreadId; 2]) {
    let mut script = Script::new();
    let workers = lengths.map(|length| script.thread("worker", vec![work(length)]));
    let site = script.site("main", 5);
    script.main_does(&[work(300), Op::Start(workers[0]), Op::Start(workers[1])]);
    script.main_does(&workers.map(|worker| Op::Join(worker, site)));
    (script.play(), workers)
}

/// Threads that work at once share more than cores: what they do at once only then may take longer.
#[test]
fn what_is_done_at_once_may_be_slower() {
    let (process, _) = alone_and_then_two([100, 100]);
    assert_eq!(process.wall().get(), 400 * MS);
    let spread = predicted(&process, 2, &[Change::Spread(vec![ThreadId::new(0)], None, 2.0)]);
    let about = |time: Nanos, wanted: u64| assert!(time.get().abs_diff(wanted) < MS, "{time:?} {wanted}");
    // 2 % either way, and 15 % of the 150 ms that both do then.
    let margin = 400 * MS / 50;
    about(spread.wall, 250 * MS);
    about(spread.low, 250 * MS);
    about(spread.high, 250 * MS + margin + 150 * MS * 15 / 100);
    // What was done at once before is done as fast as before.
    let unchanged = predicted(&process, 2, &[]);
    about(unchanged.high, 400 * MS + margin);
}

/// What is spread over threads is still to be done: no faster than by all cores at once.
#[test]
fn a_spread_part_leaves_its_work_to_other_threads() {
    let (process, workers) = alone_and_then_two([100, 20]);
    let changes =
        [Change::Spread(vec![ThreadId::new(0)], None, 8.0), Change::BalancedThreads(workers.to_vec())];
    let both = predicted(&process, 2, &changes);
    assert_eq!(both.low.get(), 420 / 2 * MS, "{both:?}");
}

#[test]
fn nothing_to_replay() {
    let process = Script::new().play();
    assert_eq!(Replayer::of(&process, &Timeline::build(&process), 4).err(), Some(NoReplay::Nothing));
    let nobody = Process::default();
    assert_eq!(Replayer::of(&nobody, &Timeline::build(&nobody), 4).err(), Some(NoReplay::Nothing));
}

/// As many as there is time for, the first ones, whatever number of threads replays them.
#[test]
fn a_budget_is_spent_on_the_first_changes() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "lock");
    let site = script.site("update", 10);
    workers(&mut script, vec![[Op::Lock(lock, site), Op::Work(600), Op::Unlock(lock)].repeat(2_000); 2]);
    let process = script.play();
    let timeline = Timeline::build(&process);
    let replayer = Replayer::of(&process, &timeline, 2).expect("it can be replayed");
    let sets: Vec<Vec<Change>> = (1..=20).map(|cores| vec![Change::Cores(cores)]).collect();
    let all = replayer.sweep(&sets, &mut Budget::unlimited());
    assert!(all.iter().all(Result::is_ok));
    let one = replayer.events();
    let known = |budget: u64| {
        let found = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| replayer.sweep(&sets, &mut Budget::of_events(budget)))
        });
        assert_eq!(found[0], found[1]);
        let known = found[0].iter().take_while(|prediction| prediction.is_ok()).count();
        assert_eq!(found[0][..known], all[..known]);
        assert!(found[0][known..].iter().all(|later| *later == Err(NoReplay::NoTime)));
        known
    };
    assert_eq!(known(0), 0);
    assert_eq!(known(one * 3), 1);
    // The third of three variants, and changes, need not have as many events as the run without any.
    assert!((4..=16).contains(&known(one * 30)), "{}", known(one * 30));
    assert_eq!(replayer.curve(&sets, &mut Budget::of_events(one * 59)), vec![Err(NoReplay::NoTime); 20]);
}

fn used(process: &mut Process, lock: ObjectId, thread: ThreadId, acquisitions: u64, timed: u64, each: u64) {
    process.uses.push(ObjectUse {
        thread: Some(thread),
        object: lock,
        acquisitions,
        failed_tries: 0,
        timed_holds: timed,
        timed_hold: Nanos::new(timed * each),
    });
}

/// 100,000 holds of 100 ns that were counted, and every hundredth timed.
#[test]
fn holds_that_were_only_counted() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "counter_lock");
    let workers = workers(&mut script, vec![vec![work(5)]; 4]);
    let mut process = script.play();
    let without = programs::program_of(&process);
    for &worker in &workers {
        used(&mut process, lock, worker, 25_000, 250, 100);
    }
    let program = programs::program_of(&process);
    assert_eq!(program.work(), without.work());
    let acquisitions = |program: &holdup_replay::Program| {
        program.steps.iter().filter(|step| matches!(step.op, holdup_replay::Op::Acquire(_))).count()
    };
    assert_eq!((acquisitions(&without), acquisitions(&program)), (0, 100_000));
    let facts = program.locks[program.lock_of(lock).expect("it is used").0 as usize];
    assert_eq!((facts.unseen, facts.unseen_hold), (100_000, 100_000 * 100));
    // Half of each thread's time is in it: two threads' worth. So there is room for two at a time, not for four.
    let replayed = programs::unchanged(&process);
    assert_eq!(replayed.worked.iter().sum::<u64>(), without.work());
    assert_eq!(replayed.let_through, 0);
    assert!(replayed.waited[lock.index()] > 0);
    assert!(replayed.wall.get() >= 10 * MS, "{replayed:?}");
    // Alone nobody waits.
    let one = predicted(&process, 1, &[]);
    assert_eq!(one.next, Some(Next::Cores(1)));
    let free = predicted(&process, 8, &[Change::Lock(lock, LockChange::Free)]);
    let kept = predicted(&process, 8, &[]);
    assert!(free.wall < kept.wall && kept.unseen.is_empty(), "{free:?} {kept:?}");
}

/// In a long recording only some points of a curve have intervals of their own.
#[test]
fn a_curve_of_a_long_recording() {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "lock");
    let site = script.site("update", 10);
    let turn = [Op::Lock(lock, site), Op::Work(600), Op::Unlock(lock), Op::Work(200)];
    workers(&mut script, vec![turn.repeat(255_000); 2]);
    let process = script.play();
    let timeline = Timeline::build(&process);
    let replayer = Replayer::of(&process, &timeline, 2).expect("it can be replayed");
    assert!(replayer.program().steps.len() > 1_000_000);
    let sizes: Vec<Vec<Change>> =
        (1..=4).map(|times| vec![Change::Lock(lock, LockChange::Shorter(f64::from(times)))]).collect();
    let curve = replayer.curve(&sizes, &mut Budget::unlimited());
    let curve: Vec<Prediction> = curve.into_iter().map(|point| point.expect("an end")).collect();
    assert!(curve.windows(2).all(|pair| pair[0].wall > pair[1].wall), "{curve:?}");
    assert!(curve.iter().all(|point| point.low <= point.wall && point.wall <= point.high), "{curve:?}");
    // The first has an interval of its own, the second that of the others.
    assert_eq!(Ok(&curve[0]), replayer.predict(&sizes[0]).as_ref());
    let second = replayer.predict(&sizes[1]).expect("an end");
    assert_eq!(
        (curve[1].wall, curve[1].next, curve[1].let_through),
        (second.wall, second.next, second.let_through)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_run_is_shorter_than_its_work(script in any_program(), cores in 1..6u32, more in 1..6u32) {
        let process = script.play_on(cores, 100_000);
        let timeline = Timeline::build(&process);
        let Ok(replayer) = Replayer::of(&process, &timeline, cores) else { return Ok(()) };
        let work = replayer.program().work();
        let workers: Vec<ThreadId> = (1..process.threads.len() as u32).map(ThreadId::new).collect();
        let free = (0..process.objects.len() as u32).map(|object| vec![Change::Free(ObjectId::new(object))]);
        let sets = free.chain([
            vec![Change::FreeWakeUps, Change::WithoutLoad],
            vec![Change::Shorter(PauseKind::Io, None, f64::INFINITY), Change::Shorter(PauseKind::Sleep, None, f64::INFINITY)],
            vec![Change::BalancedThreads(workers.clone())],
            vec![Change::Threads(workers.clone(), more)],
            vec![Change::Stage(workers.clone(), more)],
        ]);
        for set in sets {
            for (cores, set) in [(cores, set.clone()), (more, [set, vec![Change::Cores(more)]].concat())] {
                match replayer.predict(&set) {
                    Ok(found) => prop_assert!(
                        found.low.get() >= (work / u64::from(cores)).min(process.wall().get()),
                        "{:?}: {:?}, {} on {}", set, found, work, cores
                    ),
                    Err(why) => prop_assert_eq!(why, NoReplay::Undone),
                }
            }
        }
    }

    #[test]
    fn the_same_with_any_number_of_host_threads(script in any_program(), cores in 1..6u32) {
        let process = script.play_on(cores, 100_000);
        let timeline = Timeline::build(&process);
        let workers: Vec<ThreadId> = (1..process.threads.len() as u32).map(ThreadId::new).collect();
        let sets: Vec<Vec<Change>> = (0..process.objects.len() as u32)
            .map(|object| vec![Change::Free(ObjectId::new(object))])
            .chain((1..6).map(|cores| vec![Change::Cores(cores)]))
            .chain([vec![], vec![Change::FreeWakeUps], vec![Change::Faster(workers, 2.0)]])
            .collect();
        let all = [1, 2, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| Replayer::of(&process, &timeline, cores)
                .map(|replayer| replayer.sweep(&sets, &mut Budget::unlimited())))
        });
        prop_assert_eq!(&all[0], &all[1]);
        prop_assert_eq!(&all[0], &all[2]);
        for prediction in all[0].iter().flatten().flatten() {
            prop_assert!(prediction.low <= prediction.wall && prediction.wall <= prediction.high);
        }
    }
}

/// Two workers of 30 ms that share a core, which others had as far as the replay knows.
#[test]
fn without_load_threads_have_the_cores() {
    let mut script = Script::new();
    workers(&mut script, vec![vec![work(30)]; 2]);
    let process = script.play_on(1, MS);
    assert_eq!(process.wall().get(), 60 * MS);
    let without = predicted(&process, 2, &[Change::WithoutLoad]);
    contains(&without, Nanos::new(30 * MS));
    let timeline = Timeline::build(&process);
    let replayed = Replayer::of(&process, &timeline, 2).expect("it can be replayed").replayed();
    assert_eq!(without.wall, replayed);
    // With its cores the run was as long as it is.
    assert_eq!(predicted(&process, 1, &[Change::WithoutLoad]).wall.get().abs_diff(60 * MS) / MS, 0);
}

/// Two threads that keep both cores busy, and a third that waits for what they make: there is no core for more of them.
#[test]
fn a_stage_has_no_more_cores_than_there_are() {
    let mut script = Script::new();
    let made = script.object(ObjectKind::Semaphore, "made");
    let [post, take] = [("make", 10), ("take", 20)].map(|(name, line)| script.site(name, line));
    let makes = [work(5), Op::Post(made, post)].repeat(20);
    let mut threads = vec![script.thread("make", makes.clone()), script.thread("make", makes)];
    threads.push(script.thread("take", vec![Op::Take(made, take); 40]));
    script.main_runs(&threads);
    let process = script.play_on(2, MS);
    assert_eq!(process.wall().get() / MS, 100);
    let makers = vec![threads[0], threads[1]];
    // But for what the thread that takes them does.
    let takes = |cores, changes: &[Change], length: u64| {
        let wall = predicted(&process, cores, changes).wall.get();
        assert!(wall.abs_diff(length * MS) < MS, "{changes:?} on {cores}: {wall}");
    };
    let stage = |times| Change::Stage(makers.clone(), times);
    takes(2, &[Change::Faster(makers.clone(), 2.0)], 50);
    takes(2, &[stage(2)], 100);
    takes(2, &[stage(1)], 100);
    takes(2, &[stage(2), Change::Cores(4)], 50);
    assert_eq!(predicted(&process, 2, &[stage(2)]).next, Some(Next::Cores(2)));
}

/// Consumers of two queues: those of one cannot do what is in the other.
#[test]
fn no_work_is_left_undone() {
    let mut script = Script::new();
    let [put, get, close] =
        [("put", 10), ("get", 20), ("close", 30)].map(|(name, line)| script.site(name, line));
    let mut threads = Vec::new();
    for name in ["letters", "parcels"] {
        let queue = script.guarded_queue(name, 2);
        let mut producer = [Op::Work(100_003), Op::Put(queue, put)].repeat(40);
        producer.push(Op::Close(queue, close));
        let mut consumer = [Op::Get(queue, get), work(1)].repeat(40);
        consumer.push(Op::Get(queue, get));
        threads.extend([script.thread(&format!("post {name}"), producer), script.thread("carry", consumer)]);
    }
    script.main_runs(&threads);
    let process = script.play();
    let timeline = Timeline::build(&process);
    let replayer = Replayer::of(&process, &timeline, 4).expect("it can be replayed");
    let carriers = vec![threads[1], threads[3]];
    let takes =
        |thread: &ThreadId| replayer.program().pools.iter().position(|pool| pool.members.contains(thread));
    let pools: Vec<_> = carriers.iter().map(takes).collect();
    assert!(pools.iter().all(Option::is_some) && pools[0] != pools[1], "{pools:?}");
    assert_eq!(replayer.predict(&[Change::Threads(carriers.clone(), 1)]), Err(NoReplay::Undone));
    let more = replayer.predict(&[Change::Threads(carriers, 4)]).expect("each queue has two");
    assert!(more.wall.get() < 30 * MS, "{more:?}");
}

/// Two threads that hand on to each other: some wake-ups take longer than most, as they do, and nobody had their cores.
#[test]
fn slow_wake_ups_are_no_load() {
    const US: u64 = 1_000;
    let mut script = Script::new();
    workers(&mut script, vec![vec![work(1)]]);
    let mut process = script.play();
    let there = process.add_object(ObjectKind::Semaphore, 0x77);
    let back = process.add_object(ObjectKind::Semaphore, 0x88);
    let [first, second] = [ThreadId::new(0), ThreadId::new(1)];
    let mut now = process.start + Nanos::new(US);
    let mut waiting_since = [now; 2];
    for round in 0..40 {
        for (who, whom, object) in [(first, second, there), (second, first, back)] {
            let sent = now + Nanos::new(50 * US);
            let latency = if round % 5 < 3 { 5 * US } else { 900 * US };
            now = sent + Nanos::new(latency);
            process.wakes.push(Wake {
                thread: who,
                time: sent,
                object,
                site: None,
                count: WakeCount::AtMost(1),
            });
            let begin = waiting_since[whom.index()];
            process.waits.push(Wait::granted(whom, object, begin, now));
            waiting_since[who.index()] = sent + Nanos::new(US);
        }
    }
    process.end = now + Nanos::new(US);
    process.threads[0].end = Some(process.end);
    process.threads[1].end = Some(process.end);
    let wall = process.wall().get();
    let timeline = Timeline::build(&process);
    let replayer = Replayer::of(&process, &timeline, 2).expect("it can be replayed");
    assert!(replayer.replayed().get() < wall / 2, "{:?} of {wall}", replayer.replayed());
    let without = replayer.predict(&[Change::WithoutLoad]).expect("an end");
    assert_eq!(without.wall.get(), wall);
    assert!(without.low.get() < wall, "it is not known that it was no load either");
}

/// Who is killed while it waits for a signal that nobody sends was not held up by load, however short the replay is.
#[test]
fn no_run_is_shorter_without_load_than_threads_lacked_a_core() {
    let mut script = Script::new();
    workers(&mut script, vec![vec![work(30)]; 2]);
    let mut process = script.play();
    let begin = process.end;
    process.end = begin + Nanos::new(10_000 * MS);
    let signal = process.add_object(ObjectKind::Condition, 0x77);
    process.threads[0].end = Some(process.end);
    let wait = Wait::granted(ThreadId::new(0), signal, begin, process.end);
    process.waits.push(Wait { outcome: Outcome::Open, ..wait });
    let wall = process.wall();
    let timeline = Timeline::build(&process);
    let replayer = Replayer::of(&process, &timeline, 2).expect("it can be replayed");
    let without = replayer.predict(&[Change::WithoutLoad]).expect("an end");
    assert!(
        without.wall.get() + MS >= wall.get(),
        "{without:?} of {wall:?}, replayed {:?}",
        replayer.replayed()
    );
}
