//! How long a diagnosis takes: about a million waits and holds of several shapes. Prints; asserts nothing.

use std::hint::black_box;
use std::time::Instant;

use holdup_criticality::diagnose;
use holdup_model::{
    Doing, Frame, Nanos, ObjectId, ObjectKind, Process, Run, Sample, Site, ThreadId, Time, Timeline,
};
use holdup_testkit::{Op, Script};

/// `threads` threads that take one lock again and again, with `events` waits and holds together.
fn hot_lock(threads: usize, events: usize) -> Process {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "hot_lock");
    let site = script.site("take", 10);
    script.wake_up_takes(300);
    let ops = [Op::Lock(lock, site), Op::Work(1_000), Op::Unlock(lock), Op::Work(100)];
    run_all(script, threads, &ops.repeat(events / 2 / threads))
}

/// Threads that take one of many locks, each holding one of few others meanwhile.
fn many_locks(threads: usize, locks: usize, events: usize) -> Process {
    let mut script = Script::new();
    let site = script.site("take", 10);
    let outer: Vec<ObjectId> =
        (0..4).map(|number| script.object(ObjectKind::Mutex, &format!("outer_{number}"))).collect();
    let inner: Vec<ObjectId> =
        (0..locks).map(|number| script.object(ObjectKind::Mutex, &format!("inner_{number}"))).collect();
    let workers: Vec<ThreadId> = (0..threads)
        .map(|thread| {
            let round = |round: usize| {
                let (first, second) = (outer[(round + thread) % 4], inner[round * 7 % locks]);
                [
                    Op::Lock(first, site),
                    Op::Lock(second, site),
                    Op::Work(1_000),
                    Op::Unlock(second),
                    Op::Unlock(first),
                ]
            };
            script.thread("worker", (0..events / 3 / threads).flat_map(round).collect())
        })
        .collect();
    script.main_runs(&workers);
    script.play()
}

/// Threads that meet at a barrier again and again.
fn barriers(threads: usize, events: usize) -> Process {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", threads as u32);
    let site = script.site("round", 10);
    script.wake_up_takes(300);
    run_all(script, threads, &[Op::Work(1_000), Op::Meet(barrier, site)].repeat(events / threads))
}

/// A pipeline of four stages.
fn pipeline(events: usize) -> Process {
    let mut script = Script::new();
    let site = script.site("queue", 10);
    let queues: Vec<_> = (0..3).map(|number| script.queue(&format!("queue_{number}"), 4)).collect();
    let items = events / 10;
    let mut stages = vec![script.thread("read", [Op::Work(500), Op::Put(queues[0], site)].repeat(items))];
    for stage in 0..2 {
        let work = Op::Work(if stage == 1 { 3_000 } else { 700 });
        let ops = [Op::Get(queues[stage], site), work, Op::Put(queues[stage + 1], site)];
        stages.push(script.thread("stage", ops.repeat(items)));
    }
    stages.push(script.thread("write", [Op::Get(queues[2], site), Op::Work(300)].repeat(items)));
    script.main_runs(&stages);
    script.play()
}

/// Looks at each of the process's threads at even intervals, `samples` times together, in one of 3,000 stacks.
fn sampled(mut process: Process, samples: usize) -> Process {
    let stacks: Vec<_> = (0..3_000)
        .map(|stack| {
            let frame = |depth: u32| Frame {
                function: Some(format!("function_{}", (stack >> depth) % 500)),
                file: Some("/src/main.c".to_owned()),
                line: Some(stack >> depth),
                module: Some("app".to_owned()),
                ..Frame::default()
            };
            process.add_site(Site { frames: (0..12).map(frame).collect(), ..Site::default() })
        })
        .collect();
    let threads = process.threads.len();
    let weight = process.wall().get() * threads as u64 / samples as u64;
    process.samples = (0..samples)
        .map(|number| Sample {
            thread: ThreadId::new((number % threads) as u32),
            time: Time::from_nanos(process.start.nanos() + (number / threads + 1) as u64 * weight),
            doing: Doing::Running,
            site: Some(stacks[number * 7_919 % stacks.len()]),
            weight: Nanos::new(weight),
            access: None,
            in_kernel: None,
        })
        .collect();
    process
}

fn run_all(mut script: Script, threads: usize, ops: &[Op]) -> Process {
    let workers: Vec<ThreadId> = (0..threads).map(|_| script.thread("worker", ops.to_vec())).collect();
    script.main_runs(&workers);
    script.play()
}

fn main() {
    const EVENTS: usize = 1_000_000;
    let shapes = [
        ("hot lock, 4 threads", hot_lock(4, EVENTS)),
        ("hot lock, 64 threads", hot_lock(64, EVENTS)),
        ("10,000 locks in chains, 32 threads", many_locks(32, 10_000, EVENTS)),
        ("barrier, 16 threads", barriers(16, EVENTS)),
        ("pipeline", pipeline(EVENTS)),
        ("barrier, 16 threads, and as many samples", sampled(barriers(16, EVENTS), EVENTS)),
        ("hot lock, 64 threads, and as many samples", sampled(hot_lock(64, EVENTS), EVENTS)),
    ];
    for (name, process) in shapes {
        let events = process.waits.len() + process.holds.len() + process.wakes.len();
        let run = Run { processes: vec![process], cores: 8, ..Run::default() };
        let begin = Instant::now();
        black_box(Timeline::build(&run.processes[0]));
        let build = begin.elapsed();
        let begin = Instant::now();
        let diagnosis = black_box(diagnose(&run, 0));
        println!(
            "{name}: {events} events, diagnosed in {:.0} ms, of which the timeline takes {:.0} ms; {} findings",
            begin.elapsed().as_secs_f64() * 1e3,
            build.as_secs_f64() * 1e3,
            diagnosis.findings.len()
        );
    }
}
