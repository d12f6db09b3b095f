//! How long a replay takes: programs of several shapes, and sweeps. Prints; asserts nothing.

use std::hint::black_box;
use std::time::{Duration, Instant};

use holdup_model::{ObjectId, ObjectKind, Process, ThreadId, Timeline};
use holdup_replay::{Behaviour, Budget, Change, LockChange, Machine, Replayer, extract, replay};
use holdup_testkit::{Op, Script};

/// `threads` threads that take one lock again and again.
fn hot_lock(threads: usize, events: usize) -> Process {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "hot_lock");
    let site = script.site("take", 10);
    let ops = [Op::Lock(lock, site), Op::Work(1_000), Op::Unlock(lock), Op::Work(100)];
    run_all(script, threads, &ops.repeat(events / 2 / threads))
}

/// Threads that take locks of their own: nobody waits.
fn quiet_locks(threads: usize, events: usize) -> Process {
    let mut script = Script::new();
    let site = script.site("take", 10);
    let workers: Vec<ThreadId> = (0..threads)
        .map(|thread| {
            let lock = script.object(ObjectKind::Mutex, &format!("lock_{thread}"));
            let ops =
                [Op::Lock(lock, site), Op::Work(1_000), Op::Unlock(lock), Op::Work(100 + thread as u64)];
            script.thread("worker", ops.repeat(events / 2 / threads))
        })
        .collect();
    script.main_runs(&workers);
    script.play()
}

fn barriers(threads: usize, events: usize) -> Process {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", threads as u32);
    let site = script.site("round", 10);
    run_all(script, threads, &[Op::Work(1_000), Op::Meet(barrier, site)].repeat(events / threads))
}

/// A pipeline of three stages.
fn pipeline(events: usize) -> Process {
    let mut script = Script::new();
    let [put, get] = [("put", 10), ("get", 20)].map(|(name, line)| script.site(name, line));
    let [first, second] = ["first", "second"].map(|name| script.guarded_queue(name, 8));
    let items = events / 12;
    let stages = [
        script.thread("read", [Op::Work(700), Op::Put(first, put)].repeat(items)),
        script.thread("pack", [Op::Get(first, get), Op::Work(1_000), Op::Put(second, put)].repeat(items)),
        script.thread("write", [Op::Get(second, get), Op::Work(400)].repeat(items)),
    ];
    script.main_runs(&stages);
    script.play()
}

fn run_all(mut script: Script, threads: usize, ops: &[Op]) -> Process {
    let workers: Vec<ThreadId> = (0..threads).map(|_| script.thread("worker", ops.to_vec())).collect();
    script.main_runs(&workers);
    script.play()
}

fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let result = black_box(what());
    (result, begin.elapsed())
}

/// The quickest of five: what other programs did meanwhile is no part of it.
fn quickest(mut what: impl FnMut()) -> Duration {
    (0..5).map(|_| timed(&mut what).1).min().unwrap_or_default()
}

fn main() {
    const EVENTS: usize = 1_000_000;
    let shapes = [
        ("hot lock, 4 threads", hot_lock(4, EVENTS)),
        ("hot lock, 64 threads", hot_lock(64, EVENTS)),
        ("quiet locks, 4 threads", quiet_locks(4, EVENTS)),
        ("barrier, 16 threads", barriers(16, EVENTS)),
        ("pipeline of 3 stages", pipeline(EVENTS)),
    ];
    for (name, process) in &shapes {
        let timeline = Timeline::build(process);
        let events = process.waits.len() + process.holds.len() + process.wakes.len();
        let (program, taken_apart) = timed(|| extract(process, &timeline).expect("there are threads"));
        for cores in [2, 64] {
            let machine = Machine::new(cores);
            let length = quickest(|| drop(black_box(replay(&program, &machine, &Behaviour::default()))));
            println!(
                "{name}, {cores} cores: {events} events, {} steps; taken apart in {:.0} ms, replayed in {:.1} ms: \
                 {:.1} ns a step, {:.1} ms for a million events, {:.1} ns for each that the budget counts",
                program.steps.len(),
                taken_apart.as_secs_f64() * 1e3,
                length.as_secs_f64() * 1e3,
                length.as_secs_f64() * 1e9 / program.steps.len() as f64,
                length.as_secs_f64() * 1e9 / events as f64,
                length.as_secs_f64() * 1e9
                    / replay(&program, &machine, &Behaviour::default()).events.max(1) as f64,
            );
        }
    }
    drop(shapes);
    let process = hot_lock(4, 10 * EVENTS);
    let lock = ObjectId::new(0);
    let timeline = Timeline::build(&process);
    let (replayer, prepared) = timed(|| Replayer::of(&process, &timeline, 2).expect("it can be replayed"));
    let sets: Vec<Vec<Change>> =
        (1..=20).map(|times| vec![Change::Lock(lock, LockChange::Shorter(f64::from(times) / 2.0))]).collect();
    println!(
        "{} events, {} steps: ready after {:.2} s",
        process.waits.len() + process.holds.len(),
        replayer.program().steps.len(),
        prepared.as_secs_f64()
    );
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads");
        let (_, length) = timed(|| pool.install(|| replayer.curve(&sets, &mut Budget::unlimited())));
        println!("a sweep of 20 points with {threads} threads: {:.2} s", length.as_secs_f64());
    }
}
