//! Known answers: programs whose changed run is known by hand, or by playing the changed script.

use crate::programs::{MS, on_ideal_cores};
use holdup_model::{
    BusyLock, Doing, Nanos, ObjectId, ObjectKind, Process, Sample, SiteId, ThreadId, Time, Timeline,
};
use holdup_replay::{
    Change, LockChange, Machine, PauseKind, Recorded, Replayed, Replayer, apply, extract, parse, replay,
};
use holdup_testkit::{Op, QueueId, Script};

fn work(length: u64) -> Op {
    Op::Work(length * MS)
}

/// The changed run on so many cores that cost nothing.
fn changed_on(process: &Process, cores: u32, changes: &[Change]) -> Replayed {
    let timeline = Timeline::build(process);
    let program = extract(process, &timeline).expect("a script has threads");
    let recorded = Recorded::new(process, &timeline);
    let setting = apply(&recorded, &program, &on_ideal_cores(cores), changes);
    let replayed = replay(&setting.program, &setting.machine, &setting.behaviour);
    assert_eq!(replayed.let_through, 0, "{changes:?}");
    assert!(replayed.ends.iter().all(Option::is_some), "{changes:?}");
    replayed
}

/// The wall time (ns) of the changed run, with cores for all.
fn changed(process: &Process, changes: &[Change]) -> u64 {
    changed_on(process, 64, changes).wall.get()
}

fn workers(script: &mut Script, ops: &[Vec<Op>]) -> Vec<ThreadId> {
    let workers: Vec<ThreadId> = ops.iter().map(|ops| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    workers
}

/// Threads that hold a lock for `held` and work for `outside` by turns, without ties.
fn one_lock(threads: u64, rounds: usize, held: u64, outside: u64) -> (Script, ObjectId, Vec<ThreadId>) {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "lock");
    let site = script.site("update", 10);
    let ops: Vec<Vec<Op>> = (0..threads)
        .map(|thread| {
            let first = Op::Work(1 + thread);
            let round = [Op::Lock(lock, site), Op::Work(held), Op::Unlock(lock), Op::Work(outside)];
            std::iter::once(first).chain(round.repeat(rounds)).collect()
        })
        .collect();
    let workers = workers(&mut script, &ops);
    (script, lock, workers)
}

#[test]
fn a_lock_that_nobody_waits_for() {
    let (script, lock, _) = one_lock(4, 10, 9 * MS, MS);
    let process = script.play();
    assert_eq!(process.wall().get(), 1 + 40 * 9 * MS + MS);
    // Each thread by itself; the last one begins 3 ns later than the first.
    assert_eq!(changed(&process, &[Change::Lock(lock, LockChange::Free)]), 4 + 10 * 10 * MS);
    assert_eq!(changed(&process, &[Change::Free(lock)]), 4 + 10 * 10 * MS);
    // As many as there are cores; at the end one core may have a slice's work left alone.
    let on_two = changed_on(&process, 2, &[Change::Lock(lock, LockChange::Free)]).wall.get();
    let least = (4 * 100 * MS + 1 + 2 + 3 + 4) / 2;
    assert!(on_two >= least && on_two <= least + on_ideal_cores(2).slice, "{on_two}");
}

/// What [`BusyLock::lost`] gives: brief waits of so long.
fn busy(thread: ThreadId, object: ObjectId, lost: u64) -> BusyLock {
    BusyLock {
        thread,
        object,
        brief: 1000,
        waiting: Nanos::new(lost),
        acquisitions: 0,
        acquiring: Nanos::ZERO,
        releasing: Nanos::ZERO,
    }
}

#[test]
fn a_busy_lock_that_others_do_not_use_takes_no_work() {
    let mut script = Script::new();
    let (lock, other) = (script.object(ObjectKind::Mutex, "lock"), script.object(ObjectKind::Mutex, "other"));
    let threads = workers(&mut script, &[vec![work(100)], vec![work(100)]]);
    let mut process = script.play();
    let as_it_is = process.wall().get();
    process.busy_locks = vec![busy(threads[0], lock, 60 * MS), busy(threads[1], lock, 20 * MS)];
    process.busy_locks.push(busy(threads[1], other, 30 * MS));
    let free = |lock| Change::Lock(lock, LockChange::Free);
    assert_eq!(changed(&process, &[]), as_it_is);
    assert_eq!(changed(&process, &[free(lock)]), as_it_is - 20 * MS);
    assert_eq!(changed(&process, &[free(other)]), as_it_is);
    assert_eq!(changed(&process, &[free(lock), free(other)]), as_it_is - 50 * MS);
    assert_eq!(changed(&process, &[free(lock), Change::Free(lock)]), as_it_is - 20 * MS, "the same twice");
    // One of four each: three quarters of it are gone.
    assert_eq!(changed(&process, &[Change::Lock(lock, LockChange::Split(4))]), as_it_is - 15 * MS);
    // No run is shorter than the work that is left: 90 ms on one core, of 200 that were recorded within 100.
    let timeline = Timeline::build(&process);
    let one_core = Replayer::of(&process, &timeline, 1).expect("a script has threads");
    let predicted = one_core.predict(&[free(lock), free(other)]).expect("it is replayed").wall;
    assert_eq!(predicted, Nanos::new(90 * MS));
    // No more than there is.
    process.busy_locks = vec![busy(threads[0], lock, 500 * MS), busy(threads[1], lock, 500 * MS)];
    assert_eq!(changed(&process, &[free(lock)]), as_it_is - 95 * MS);
}

#[test]
fn critical_sections_made_shorter_are_the_script_with_shorter_ones() {
    let (script, lock, _) = one_lock(4, 10, 9 * MS, MS);
    let process = script.play();
    for (times, held) in [(1.0, 9 * MS), (2.0, 4_500_000), (9.0, MS), (0.5, 18 * MS)] {
        let (other, ..) = one_lock(4, 10, held, MS);
        let predicted = changed(&process, &[Change::Lock(lock, LockChange::Shorter(times))]);
        assert_eq!(predicted, other.play().wall().get(), "{times}");
    }
}

#[test]
fn a_lock_inside_another_one_is_shorter_with_it() {
    let mut script = Script::new();
    let [outer, inner] = ["outer", "inner"].map(|name| script.object(ObjectKind::Mutex, name));
    let site = script.site("update", 10);
    let ops = vec![
        work(1),
        Op::Lock(outer, site),
        work(10),
        Op::Lock(inner, site),
        work(100),
        Op::Unlock(inner),
        work(1_000),
        Op::Unlock(outer),
        work(10_000),
    ];
    workers(&mut script, &[ops]);
    let process = script.play();
    let of = |lock| changed(&process, &[Change::Lock(lock, LockChange::Shorter(10.0))]);
    assert_eq!(of(inner), 11_021 * MS);
    assert_eq!(of(outer), (1 + 1 + 10 + 100 + 10_000) * MS);
}

#[test]
fn split_locks_keep_nested_ones_apart() {
    // Each thread takes a lock in the split one: it must release the part that it took.
    let mut script = Script::new();
    let [outer, inner] = ["outer", "inner"].map(|name| script.object(ObjectKind::Mutex, name));
    let site = script.site("update", 10);
    let ops: Vec<Vec<Op>> = (0..4)
        .map(|thread| {
            let round = [
                Op::Lock(outer, site),
                Op::Work(700 + thread),
                Op::Lock(inner, site),
                Op::Work(100),
                Op::Unlock(inner),
                Op::Work(200),
                Op::Unlock(outer),
                Op::Work(10),
            ];
            round.repeat(50)
        })
        .collect();
    workers(&mut script, &ops);
    let process = script.play();
    let free = changed(&process, &[Change::Lock(outer, LockChange::Free)]);
    let one = changed(&process, &[Change::Lock(outer, LockChange::Split(1))]);
    assert_eq!(one, changed(&process, &[]));
    for parts in [2, 3, 8, 1_000] {
        let split = changed(&process, &[Change::Lock(outer, LockChange::Split(parts))]);
        assert!(free <= split && split < one, "{parts}: {free} {split} {one}");
    }
    let many = changed(&process, &[Change::Lock(outer, LockChange::Split(1_000))]);
    assert!(many - free <= (one - free) / 20, "{free} {many} {one}");
}

/// Three threads that meet after each of four rounds; the thread whose turn it is works for 50 ms, the others for 5.
fn uneven_rounds() -> (Script, ObjectId, Vec<ThreadId>) {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", 3);
    let site = script.site("round", 10);
    let ops: Vec<Vec<Op>> = (0..3)
        .map(|thread| {
            let round = |round| [work(if round % 3 == thread { 50 } else { 5 }), Op::Meet(barrier, site)];
            (0..4).flat_map(round).collect()
        })
        .collect();
    let workers = workers(&mut script, &ops);
    (script, barrier, workers)
}

#[test]
fn a_balanced_barrier() {
    let (script, barrier, _) = uneven_rounds();
    let process = script.play();
    assert_eq!(process.wall().get(), 4 * 50 * MS);
    assert_eq!(changed(&process, &[Change::BalancedBarrier(barrier)]), 4 * 20 * MS);
    // Without a barrier each does what it has to do.
    assert_eq!(changed(&process, &[Change::Free(barrier)]), (2 * 50 + 2 * 5) * MS);
    // Half as many cores do it in turn: one round of 60 ms work on two cores takes 40 ms, with a slice of 3 ms less.
    let on_one = changed_on(&process, 1, &[Change::BalancedBarrier(barrier)]).wall.get();
    assert_eq!(on_one, 4 * 60 * MS);
}

/// What main does before it starts the thread that it meets is nobody else's to do.
#[test]
fn work_before_the_others_begin_is_not_dealt_out() {
    let mut script = Script::new();
    let site = script.site("main", 5);
    let barrier = script.barrier("round_done", 2);
    let worker = script.thread("worker", vec![work(50), Op::Meet(barrier, site)]);
    script.main_does(&[
        work(20),
        Op::Start(worker),
        work(10),
        Op::Meet(barrier, site),
        Op::Join(worker, site),
    ]);
    let process = script.play();
    assert_eq!(process.wall().get(), 70 * MS);
    assert_eq!(changed(&process, &[Change::BalancedBarrier(barrier)]), (20 + 30) * MS);
}

#[test]
fn threads_started_in_phases_are_balanced_phase_by_phase() {
    let mut script = Script::new();
    let site = script.site("main", 5);
    for lengths in [[10, 40], [30, 90]] {
        let phase = lengths.map(|length| script.thread("worker", vec![work(length)]));
        script.main_does(&phase.map(Op::Start));
        script.main_does(&phase.map(|thread| Op::Join(thread, site)));
    }
    let process = script.play();
    assert_eq!(process.wall().get(), 130 * MS);
    let workers = (1..5).map(ThreadId::new).collect();
    assert_eq!(changed(&process, &[Change::BalancedThreads(workers)]), (25 + 60) * MS);
}

#[test]
fn faster_threads() {
    let (script, _, workers) = uneven_rounds();
    let process = script.play();
    assert_eq!(changed(&process, &[Change::Faster(workers.clone(), 4.0)]), 50 * MS);
    // Of the four rounds thread 1 has the first and the last.
    assert_eq!(changed(&process, &[Change::Faster(vec![workers[0]], 2.0)]), (25 + 50 + 50 + 25) * MS);
    assert_eq!(changed(&process, &[Change::Faster(vec![workers[1]], 0.5)]), (50 + 100 + 50 + 50) * MS);
    // Twice is twice.
    let twice = [Change::Faster(workers.clone(), 2.0), Change::Faster(workers, 2.0)];
    assert_eq!(changed(&process, &twice), 50 * MS);
}

fn samples(process: &mut Process, thread: ThreadId, sites: &[SiteId], every: u64) {
    let number = process.thread(thread).end.map_or(0, |end| end.nanos()) / every;
    for sample in 0..number {
        process.samples.push(Sample {
            thread,
            time: Time::from_nanos(sample * every + every / 2),
            doing: Doing::Running,
            site: Some(sites[sample as usize % sites.len()]),
            weight: Nanos::new(every),
            access: None,
            in_kernel: None,
        });
    }
}

#[test]
fn faster_code_is_a_share_of_the_samples() {
    let mut script = Script::new();
    let [hash, sort] = [script.site("hash", 20), script.site("sort", 30)];
    let workers = workers(&mut script, &[vec![work(100)], vec![work(60)]]);
    let mut process = script.play();
    samples(&mut process, workers[0], &[hash, sort], MS);
    samples(&mut process, workers[1], &[sort], MS);
    // Half of the longer thread's time: a quarter of it is saved.
    assert_eq!(changed(&process, &[Change::FasterCode(vec![hash], 2.0)]), 75 * MS);
    assert_eq!(changed(&process, &[Change::FasterCode(vec![hash, sort], 2.0)]), 50 * MS);
    // Then the other thread is the longer one.
    assert_eq!(changed(&process, &[Change::FasterCode(vec![hash], 1e9)]), 60 * MS);
    assert_eq!(changed(&process, &[Change::FasterCode(vec![hash], 0.5)]), 150 * MS);
}

#[test]
fn a_serial_part_spread_over_threads() {
    let mut script = Script::new();
    let [first, second] = [40, 30].map(|length| script.thread("worker", vec![work(length)]));
    let site = script.site("main", 5);
    // 100 ms alone, 20 ms beside the others, and 60 ms alone at the end.
    script.main_does(&[work(100), Op::Start(first), Op::Start(second), work(20)]);
    script.main_does(&[Op::Join(first, site), Op::Join(second, site), work(60)]);
    let process = script.play();
    let main = ThreadId::new(0);
    assert_eq!(process.wall().get(), 200 * MS);
    assert_eq!(changed(&process, &[Change::Spread(vec![main], None, 4.0)]), (25 + 40 + 15) * MS);
    // What it does before it starts the others, and after the last call that waits for one.
    let part = |expression: &str| {
        let changes = parse(expression, &process).expect(expression).remove(0).changes;
        changed(&process, &changes)
    };
    assert_eq!(part("alone:main@..main.c:5/4"), (25 + 40 + 60) * MS);
    assert_eq!(part("alone:main@'main.c:5'../4"), (100 + 40 + 15) * MS);
    assert_eq!(part("alone:main@..main.c:5/4,alone:main@main.c:5../4"), (25 + 40 + 15) * MS);
    // The longer worker is alone for its last 10 ms.
    assert_eq!(changed(&process, &[Change::Spread(vec![first], None, 2.0)]), (100 + 35 + 60) * MS);
}

#[test]
fn io_and_sleep() {
    let mut script = Script::new();
    let site = script.site("wait", 10);
    workers(&mut script, &[vec![work(10), Op::Read(80 * MS, site), work(10), Op::Sleep(100 * MS, site)]]);
    let process = script.play();
    assert_eq!(changed(&process, &[]), 200 * MS);
    assert_eq!(changed(&process, &[Change::Shorter(PauseKind::Io, None, 4.0)]), 140 * MS);
    assert_eq!(changed(&process, &[Change::Shorter(PauseKind::Io, None, f64::INFINITY)]), 120 * MS);
    assert_eq!(changed(&process, &[Change::Shorter(PauseKind::Sleep, None, 2.0)]), 150 * MS);
    assert_eq!(changed(&process, &[Change::Shorter(PauseKind::Sleep, None, f64::INFINITY)]), 100 * MS);
    let both = [
        Change::Shorter(PauseKind::Sleep, None, f64::INFINITY),
        Change::Shorter(PauseKind::Io, None, f64::INFINITY),
    ];
    assert_eq!(changed(&process, &both), 20 * MS);
}

#[test]
fn io_at_one_place() {
    let mut script = Script::new();
    let [read, write] = [("read", 10), ("write", 20)].map(|(name, line)| script.site(name, line));
    workers(
        &mut script,
        &[vec![Op::Read(80 * MS, read), Op::Read(40 * MS, write), Op::Sleep(20 * MS, read)]],
    );
    let process = script.play();
    let at = |kind, site, times| changed(&process, &[Change::Shorter(kind, Some(vec![site]), times)]) / MS;
    assert_eq!(at(PauseKind::Io, read, f64::INFINITY), 60);
    assert_eq!(at(PauseKind::Io, write, 2.0), 120);
    assert_eq!(at(PauseKind::Sleep, read, 2.0), 130);
    assert_eq!(at(PauseKind::Sleep, write, 2.0), 140);
}

/// A ball that two threads throw to each other.
fn ping_pong(throws: usize) -> Process {
    let mut script = Script::new();
    let [ping, pong] = ["ping", "pong"].map(|name| script.semaphore(name, 0));
    let site = script.site("throw", 10);
    let first = [Op::Work(50_000), Op::Post(ping, site), Op::Take(pong, site)].repeat(throws);
    let second = [Op::Take(ping, site), Op::Work(50_000), Op::Post(pong, site)].repeat(throws);
    workers(&mut script, &[first, second]);
    script.play()
}

#[test]
fn wake_ups_that_cost_nothing() {
    let process = ping_pong(100);
    let timeline = Timeline::build(&process);
    let program = extract(&process, &timeline).expect("a script has threads");
    let machine = Machine::new(4);
    let recorded = Recorded::new(&process, &timeline);
    let run = |changes: &[Change]| {
        let setting = apply(&recorded, &program, &machine, changes);
        replay(&setting.program, &setting.machine, &setting.behaviour).wall.get()
    };
    assert_eq!(run(&[Change::FreeWakeUps]), 200 * 50_000);
    // Each of 200 waits of 50 µs or more: the latency, and what it costs the woken thread itself (what the waker pays it does
    // meanwhile); and the starts and ends of the threads.
    let each = machine.latency[1].1 + machine.block_cost;
    let extra = run(&[]) - 200 * 50_000;
    assert!(extra >= 199 * each && extra <= 200 * each + 100_000, "{extra} {each}");
}

#[test]
fn more_and_fewer_cores() {
    let mut script = Script::new();
    // The kernel's records say of threads that are there at their beginning that they waited for something.
    script.main_does(&[Op::Work(1)]);
    workers(&mut script, &vec![vec![work(30)]; 4]);
    let process = script.play_on(2, MS);
    assert_eq!(process.wall().get(), 60 * MS + 1);
    for (cores, wall) in [(1, 120), (2, 60), (4, 30), (8, 30), (65_536, 30)] {
        assert_eq!(changed(&process, &[Change::Cores(cores)]), wall * MS + 1, "{cores}");
    }
}

/// Threads that divide 240 ms of work among them in each of three rounds, without turns.
fn loop_of(threads: u64) -> Process {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", threads as u32);
    let site = script.site("round", 10);
    let ops = [work(240 / threads), Op::Meet(barrier, site)].repeat(3);
    workers(&mut script, &vec![ops; threads as usize]);
    script.play()
}

#[test]
fn another_number_of_threads_for_a_loop_with_barriers() {
    for threads in [1, 2, 4, 6] {
        let process = loop_of(threads);
        let all: Vec<ThreadId> = (1..=threads as u32).map(ThreadId::new).collect();
        for number in [1, 2, 3, 4, 8, 12] {
            let other = loop_of(u64::from(number)).wall().get();
            assert_eq!(
                changed(&process, &[Change::Threads(all.clone(), number)]),
                other,
                "{threads} {number}"
            );
        }
    }
}

/// As [`loop_of`], with main as one of the threads: it works for 20 ms before and for 10 ms after.
fn loop_with_main(threads: u64) -> (Process, Vec<ThreadId>) {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", threads as u32);
    let site = script.site("round", 10);
    let ops = [work(240 / threads), Op::Meet(barrier, site)].repeat(3);
    let others: Vec<ThreadId> = (1..threads).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_does(&[work(20)]);
    script.main_does(&others.iter().map(|&other| Op::Start(other)).collect::<Vec<_>>());
    script.main_does(&ops);
    script.main_does(&others.iter().map(|&other| Op::Join(other, site)).collect::<Vec<_>>());
    script.main_does(&[work(10)]);
    (script.play(), others)
}

#[test]
fn another_number_of_threads_of_which_main_is_one() {
    for threads in [2, 4, 6] {
        let (process, others) = loop_with_main(threads);
        for number in [2, 3, 4, 8, 12] {
            let (other, _) = loop_with_main(u64::from(number));
            let predicted = changed(&process, &[Change::Threads(others.clone(), number)]);
            assert_eq!(predicted, other.wall().get(), "{threads} {number}");
        }
    }
}

#[test]
fn another_number_of_threads_for_uneven_blocks() {
    // 10, 20, 30 and 40 ms: two threads do 30 and 70 of them, eight each half of one, three 40 / 3 … .
    let mut script = Script::new();
    let all = workers(&mut script, &[10, 20, 30, 40].map(|length| vec![work(length)]));
    let process = script.play();
    let with = |number| changed(&process, &[Change::Threads(all.clone(), number)]);
    assert_eq!(with(1), 100 * MS);
    assert_eq!(with(2), 70 * MS);
    assert_eq!(with(8), 20 * MS);
    // The last third of four: a third of the third one's, and all of the last one's.
    assert_eq!(with(3), 50 * MS);
}

/// 240 turns, divided among the threads: the lock for 1 ms, then 4 ms without.
fn turns_of(threads: usize) -> (Process, Vec<ThreadId>) {
    let (script, _, workers) = one_lock(threads as u64, 240 / threads, MS, 4 * MS);
    (script.play(), workers)
}

#[test]
fn another_number_of_threads_for_turns_at_a_lock() {
    let (process, workers) = turns_of(2);
    for number in [1, 3, 4, 5, 8, 12] {
        let (other, _) = turns_of(number);
        let predicted = changed(&process, &[Change::Threads(workers.clone(), number as u32)]);
        // The 4 ms behind a turn that is the last one of a part are in the next thread's.
        assert!(
            predicted.abs_diff(other.wall().get()) <= 5 * MS,
            "{number}: {predicted} {}",
            other.wall().get()
        );
    }
    // Five threads keep the lock busy: then more of them change nothing.
    assert!(changed(&process, &[Change::Threads(workers, 12)]) >= 240 * MS);
}

/// A producer, and one consumer of all its items.
struct Pipeline {
    process: Process,
    queue: QueueId,
    script: Script,
}

const ITEMS: u64 = 60;
const PRODUCER: ThreadId = ThreadId::new(1);
const CONSUMER: ThreadId = ThreadId::new(2);

/// How the consumers learn that nothing more comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    ByBroadcast,
    ByPill,
}

impl Pipeline {
    fn new(capacity: usize, produce: u64, consume: impl Fn(u64) -> u64, told: Told) -> Self {
        let mut script = Script::new();
        let queue = script.guarded_queue("items", capacity);
        let [put, get, close] =
            [("put", 10), ("get", 20), ("close", 30)].map(|(name, line)| script.site(name, line));
        let mut producer: Vec<Op> =
            (0..ITEMS).flat_map(|_| [Op::Work(produce), Op::Put(queue, put)]).collect();
        let mut consumer: Vec<Op> =
            (0..ITEMS).flat_map(|item| [Op::Get(queue, get), Op::Work(consume(item))]).collect();
        producer.push(Op::Work(3));
        producer.push(if told == Told::ByBroadcast { Op::Close(queue, close) } else { Op::Put(queue, put) });
        consumer.push(Op::Get(queue, get));
        let threads = [script.thread("produce", producer), script.thread("consume", consumer)];
        script.main_runs(&threads);
        Self { process: script.play(), queue, script }
    }

    fn with_consumers(&self, number: u32) -> u64 {
        changed(&self.process, &[Change::Threads(vec![CONSUMER], number)])
    }
}

/// When the last of so many consumers is done: each takes the next item as it is free, and the producer waits while the queue
/// is full.
fn pipeline_takes(capacity: usize, produce: u64, consume: impl Fn(u64) -> u64, consumers: usize) -> u64 {
    let mut free = vec![0u64; consumers];
    let mut taken: Vec<u64> = Vec::new();
    let mut produced = 0;
    for item in 0..ITEMS {
        produced += produce;
        let room = (item as usize).checked_sub(capacity).map_or(0, |before| taken[before]);
        produced = produced.max(room);
        free.sort_unstable();
        let from = produced.max(free[0]);
        taken.push(from);
        free[0] = from + consume(item);
    }
    free.into_iter().max().unwrap_or(0).max(produced + 3)
}

#[test]
fn a_pool_of_consumers() {
    for told in [Told::ByBroadcast, Told::ByPill] {
        for capacity in [1, 2, 4, 1_000] {
            let consume = |item: u64| 400_007 + item % 7 * 1_003;
            let pipeline = Pipeline::new(capacity, 100_003, consume, told);
            let one = changed(&pipeline.process, &[]);
            assert_eq!(one, pipeline.process.wall().get(), "{told:?} {capacity}");
            for number in [1, 2, 3, 4, 8] {
                let expected = pipeline_takes(capacity, 100_003, consume, number);
                let predicted = pipeline.with_consumers(number as u32);
                assert_eq!(predicted, expected, "{told:?} {capacity} {number}");
            }
        }
    }
}

#[test]
fn of_two_numbers_of_the_same_threads_the_first_counts() {
    let pipeline = Pipeline::new(4, 100_003, |_| 400_007, Told::ByPill);
    let both = |first, second| {
        let number = |number| Change::Threads(vec![CONSUMER], number);
        changed(&pipeline.process, &[number(first), number(second)])
    };
    assert_eq!(both(4, 2), pipeline.with_consumers(4));
    assert_eq!(both(2, 4), pipeline.with_consumers(2));
}

#[test]
fn faster_stages() {
    for told in [Told::ByBroadcast, Told::ByPill] {
        let pipeline = Pipeline::new(3, 200_003, |_| 100_001, told);
        for (thread, times, produce, consume) in [
            (PRODUCER, 4.0, 50_001, 100_001),
            (PRODUCER, 0.5, 400_006, 100_001),
            (CONSUMER, 0.25, 200_003, 400_004),
            (CONSUMER, 100_001.0, 200_003, 1),
        ] {
            let predicted = changed(&pipeline.process, &[Change::Faster(vec![thread], times)]);
            let other = Pipeline::new(3, produce, |_| consume, told);
            let last = if thread == PRODUCER { (3.0 / times).round() as u64 } else { 3 };
            let expected = other.process.wall().get();
            assert!(
                predicted.abs_diff(expected) <= last.abs_diff(3),
                "{told:?} {times}: {predicted} {expected}"
            );
        }
    }
}

/// One consumer of a pool that is twice as fast takes twice as many items, and those that it takes are the faster ones.
#[test]
fn a_faster_taker_takes_more() {
    let pipeline = Pipeline::new(1_000, 7, |_| 100_000, Told::ByBroadcast);
    let process = &pipeline.process;
    let changes = [Change::Faster(vec![CONSUMER], 2.0), Change::Threads(vec![CONSUMER], 2)];
    // Both, since one is a copy of the other.
    let both = changed(process, &changes);
    assert!(both.abs_diff(ITEMS * 100_000 / 4) <= 60, "{both}");
}

#[test]
fn nobody_waits_for_a_queue_that_is_free() {
    let pipeline = Pipeline::new(1, 300_003, |_| 100_001, Told::ByBroadcast);
    let [not_empty, _] = pipeline.script.conditions(pipeline.queue);
    let free = changed_on(&pipeline.process, 64, &[Change::Free(not_empty)]);
    assert_eq!(free.ends[CONSUMER.index()], Some(ITEMS * 100_001));
    assert_eq!(free.waited[not_empty.index()], 0);
}

#[test]
fn more_room_in_a_queue_is_what_a_longer_one_has() {
    // The stage that is doubled waits for the one behind it: the room between them is respected.
    let slow = Pipeline::new(2, 100_003, |_| 100_001, Told::ByBroadcast);
    let doubled = slow.with_consumers(2);
    assert_eq!(doubled, pipeline_takes(2, 100_003, |_| 100_001, 2));
    assert!(doubled >= ITEMS * 100_003);
}

/// A program with a serial part (100 ms) and a shared one, in which the second thread begins 4 ms and ends 2 ms after the first.
#[test]
fn work_is_shared_out_as_it_is_elsewhere_in_the_program() {
    let play = |late: u64| {
        let mut script = Script::new();
        let [first, second] = [60, 60].map(|length| script.thread("worker", vec![work(length)]));
        let site = script.site("main", 5);
        script.main_does(&[work(100), Op::Start(first), Op::Sleep(late * MS, site), Op::Start(second)]);
        script.main_does(&[Op::Join(first, site), Op::Join(second, site)]);
        script.play()
    };
    let over = |process: &Process| {
        let timeline = Timeline::build(process);
        let replayer = Replayer::of(process, &timeline, 2).expect("a replay");
        replayer.spread_over(&[ThreadId::new(0)], 2)
    };
    assert_eq!(over(&play(0)), 2.0);
    // 120 of 2 × 64 ms.
    assert_eq!(over(&play(4)), 1.9);
    // 120 of 2 × 100 ms: the cores are not unused because threads begin and end apart from each other.
    assert_eq!(over(&play(40)), 2.0);
}

/// Two workers that each have a queue of their own; main gives both something to do, and waits for both, twice.
#[test]
fn what_main_gives_to_threads_round_by_round_is_balanced_within_the_rounds() {
    let mut script = Script::new();
    let site = script.site("main", 5);
    let given = ["one", "other"].map(|name| script.semaphore(name, 0));
    let done = script.semaphore("done", 0);
    let rounds = [[10, 40], [90, 30]];
    let workers = [0, 1].map(|which| {
        let round =
            |lengths: [u64; 2]| [Op::Take(given[which], site), work(lengths[which]), Op::Post(done, site)];
        script.thread("worker", rounds.into_iter().flat_map(round).collect())
    });
    script.main_does(&workers.map(Op::Start));
    for _ in rounds {
        script.main_does(&given.map(|queue| Op::Post(queue, site)));
        script.main_does(&[Op::Take(done, site), Op::Take(done, site), work(5)]);
    }
    script.main_does(&workers.map(|worker| Op::Join(worker, site)));
    let process = script.play();
    assert_eq!(process.wall().get(), (40 + 90 + 10) * MS);
    let balanced = changed(&process, &[Change::BalancedThreads(workers.to_vec())]);
    assert_eq!(balanced, (25 + 60 + 10) * MS);
}
