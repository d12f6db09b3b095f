//! Pools made by hand that work in rounds: somebody gives each thread something to do, waits until all have done it, and goes on alone.

use holdup_criticality::{Depth, Diagnosis, Finding, FindingKind, diagnose, predict_gains};
use holdup_model::{
    Doing, Frame, Nanos, ObjectKind, Outcome, Process, Run, Sample, Site, SiteId, ThreadId, Time, Timeline,
    Wait,
};
use holdup_testkit::{Op, Script};

const MS: u64 = 1_000_000;
const ROUNDS: usize = 20;

fn work(length: u64) -> Op {
    Op::Work(length * MS)
}

fn ms(length: u64) -> Nanos {
    Nanos::new(length * MS)
}

fn diagnosis(process: Process) -> Diagnosis {
    diagnosis_on(2, process)
}

fn diagnosis_on(cores: u32, process: Process) -> Diagnosis {
    let run = Run { processes: vec![process], cores, ..Run::default() };
    let mut diagnosis = diagnose(&run, 0);
    predict_gains(&run, &mut diagnosis, Depth::default());
    diagnosis
}

/// A frame takes each worker so many milliseconds, and main this many while they work, and these alone.
#[derive(Clone, Copy)]
struct Frames {
    workers: [u64; 2],
    beside: u64,
    alone: u64,
}

/// Each worker has jobs of its own, and says on one semaphore when it has done one.
fn frames(frames: Frames) -> Process {
    frames_with(frames, |_| frames.beside)
}

/// The same where main works beside them for another time in each.
fn frames_with(frames: Frames, beside: impl Fn(usize) -> u64) -> Process {
    let mut script = Script::new();
    script.wake_up_takes(20_000);
    let done = script.semaphore("done", 0);
    let [take, give, wait] =
        [("next_job", 10), ("run_job", 14), ("wait_for_all", 30)].map(|(name, line)| script.site(name, line));
    let jobs = [0, 1].map(|_| script.queue("jobs", 4));
    let workers = [0, 1].map(|index| {
        let job = [Op::Get(jobs[index], take), work(frames.workers[index]), Op::Post(done, give)];
        script.thread("pool_worker", job.repeat(ROUNDS))
    });
    workers.iter().for_each(|&worker| script.main_does(&[Op::Start(worker)]));
    let put = script.site("start_all", 25);
    for round in 0..ROUNDS {
        jobs.iter().for_each(|&jobs| script.main_does(&[Op::Put(jobs, put)]));
        script.main_does(&[
            work(beside(round)),
            Op::Take(done, wait),
            Op::Take(done, wait),
            work(frames.alone),
        ]);
    }
    let join = script.site("main", 40);
    workers.iter().for_each(|&worker| script.main_does(&[Op::Join(worker, join)]));
    script.play()
}

fn first(diagnosis: &Diagnosis) -> &Finding {
    diagnosis.findings.first().expect("there is something to find")
}

/// The gain holds what the really fixed program takes less.
fn gives(diagnosis: &Diagnosis, finding: &Finding, expression: &str, fixed: Nanos) {
    let gain = finding.gain.as_ref().unwrap_or_else(|| panic!("{finding:?} has no gain"));
    assert_eq!(gain.expression, expression);
    let real = diagnosis.wall.saturating_sub(fixed);
    assert!(gain.low <= real && real <= gain.high, "{gain:?}, really {real:?} of {:?}", diagnosis.wall);
    assert!(gain.time.get().abs_diff(real.get()) * 20 < diagnosis.wall.get(), "{gain:?} {real:?}");
}

#[test]
fn who_has_more_to_do_in_each_round_is_late() {
    let uneven = diagnosis(frames(Frames { workers: [9, 3], beside: 0, alone: 0 }));
    let finding = first(&uneven);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Imbalance, &[ThreadId::new(1)][..]));
    assert!(
        finding.what.contains("when others have done theirs, waited for in wait_for_all"),
        "{}",
        finding.what
    );
    // One of two workers has nothing to do for 6 of 9 ms, or has ended by then.
    assert!(finding.cost.get().abs_diff(20 * 3 * MS) < MS, "{:?}", finding.cost);
    let even = frames(Frames { workers: [6, 6], beside: 0, alone: 0 });
    gives(&uneven, finding, "threads:pool_worker=balanced", even.end.since(even.start));
}

#[test]
fn what_is_done_between_two_rounds_is_done_alone() {
    let alone = diagnosis(frames(Frames { workers: [4, 4], beside: 0, alone: 6 }));
    let finding = first(&alone);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Serial, &[ThreadId::new(0)][..]));
    assert!(finding.cost.get().abs_diff(20 * 3 * MS) < 2 * MS, "{:?}", finding.cost);
    assert!(
        !alone.findings.iter().any(|finding| finding.kind == FindingKind::Pipeline),
        "{:#?}",
        alone.findings
    );
    let shared = frames(Frames { workers: [4, 4], beside: 0, alone: 3 });
    let gain = finding.gain.as_ref().expect("it can be replayed");
    let real = alone.wall.saturating_sub(shared.end.since(shared.start));
    assert!(gain.low <= real && real <= gain.high, "{gain:?} {real:?}");
}

/// Its own part nearly always takes longest, so that no wait of its own says where what it does alone begins.
#[test]
fn what_is_done_behind_its_own_part_is_done_alone() {
    let rounds = |alone| {
        let frames = Frames { workers: [4, 4], beside: 5, alone };
        frames_with(frames, |round| if round % 4 == 0 { 1 } else { 5 })
    };
    let alone = diagnosis_on(3, rounds(6));
    let finding = first(&alone);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Serial, &[ThreadId::new(0)][..]));
    assert!(
        finding.evidence[0].starts_with("It is the only active thread for 97.7 ms"),
        "{:#?}",
        alone.findings
    );
    let gain = finding.gain.as_ref().expect("it can be replayed");
    assert!(gain.expression.starts_with("alone:main/"), "{gain:?}");
    // What three do of it at once.
    let shared = rounds(2);
    let real = alone.wall.saturating_sub(shared.end.since(shared.start));
    assert!(gain.low <= real && real <= gain.high, "{gain:?} {real:?}");
}

/// Who gives the work out is no worker, and waits for nothing that costs.
#[test]
fn even_rounds_give_no_finding() {
    let even = diagnosis(frames(Frames { workers: [5, 5], beside: 0, alone: 0 }));
    assert_eq!(even.findings, []);
    assert_eq!(even.workers, 2);
    assert!(even.efficiency > 0.99, "{}", even.efficiency);
}

/// Samples of each millisecond in which a thread is at work: main, where it works in a round, and the worker in the same function.
fn sampled(mut process: Process, functions: [&str; 2]) -> Process {
    let timeline = Timeline::build(&process);
    for (index, function) in functions.into_iter().enumerate() {
        let frame = |function: &str| Frame {
            function: Some(function.to_owned()),
            module: Some("app".to_owned()),
            ..Frame::default()
        };
        let caller = if index == 0 { "main" } else { "pool_worker" };
        let site = process.add_site(Site { frames: vec![frame(function), frame(caller)], ..Site::default() });
        let row = timeline.row(ThreadId::new(index as u32));
        for segment in row.segments.iter().filter(|segment| segment.state.is_active()) {
            let times = (segment.start.nanos()..segment.end.nanos()).step_by(MS as usize);
            process.samples.extend(times.skip(1).map(|time| sample(index, Time::from_nanos(time), site)));
        }
    }
    process.samples.sort_by_key(|sample| sample.time);
    process
}

fn sample(thread: usize, time: Time, site: SiteId) -> Sample {
    Sample {
        thread: ThreadId::new(thread as u32),
        time,
        site: Some(site),
        doing: Doing::Running,
        weight: ms(1),
        access: None,
        in_kernel: None,
    }
}

/// Main does a part of each round itself, or prepares the next one: what the code says.
#[test]
fn who_gives_the_work_out_may_do_a_part_of_it() {
    let play = |worker: u64, main: u64| {
        let mut script = Script::new();
        script.wake_up_takes(20_000);
        let done = script.semaphore("done", 0);
        let [take, give, wait, put] =
            [("pool_worker", 10), ("pool_worker", 14), ("wait_for_all", 30), ("start_all", 25)]
                .map(|(name, line)| script.site(name, line));
        let jobs = script.queue("jobs", 4);
        let job = [Op::Get(jobs, take), work(worker), Op::Post(done, give)];
        let thread = script.thread("pool_worker", job.repeat(ROUNDS));
        script.main_does(&[Op::Start(thread)]);
        script.main_does(&[Op::Put(jobs, put), work(main), Op::Take(done, wait)].repeat(ROUNDS));
        script.main_does(&[Op::Join(thread, wait)]);
        script.play()
    };
    let helps = diagnosis(sampled(play(9, 3), ["transform", "transform"]));
    let finding = first(&helps);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Imbalance, &[ThreadId::new(1)][..]));
    assert_eq!(helps.workers, 2);
    let even = play(6, 6);
    gives(&helps, finding, "threads:pool_worker=balanced", even.end.since(even.start));
    let prepares = diagnosis(sampled(play(9, 3), ["prepare", "transform"]));
    assert_eq!(first(&prepares).kind, FindingKind::Pipeline);
}

/// A worker may hold a lock as long as it is at work: who waits for that waits for the work.
#[test]
fn a_lock_that_is_held_for_all_of_the_work() {
    let play = |lengths: [u64; 2]| {
        let mut script = Script::new();
        script.wake_up_takes(20_000);
        let [take, keep, wait, put] =
            [("pool_worker", 10), ("pool_worker", 11), ("wait_for_all", 30), ("start_all", 25)]
                .map(|(name, line)| script.site(name, line));
        let jobs = [0, 1].map(|_| script.queue("jobs", 4));
        let begun = script.semaphore("begun", 0);
        let locks = [0, 1].map(|_| script.object(ObjectKind::Mutex, "worker_lock"));
        let workers = [0, 1].map(|index| {
            let job = [
                Op::Get(jobs[index], take),
                Op::Lock(locks[index], keep),
                Op::Post(begun, keep),
                work(lengths[index]),
                Op::Unlock(locks[index]),
            ];
            script.thread("pool_worker", job.repeat(ROUNDS))
        });
        workers.iter().for_each(|&worker| script.main_does(&[Op::Start(worker)]));
        for _ in 0..ROUNDS {
            jobs.iter().for_each(|&jobs| script.main_does(&[Op::Put(jobs, put)]));
            script.main_does(&[Op::Take(begun, wait), Op::Take(begun, wait)]);
            for lock in locks {
                script.main_does(&[Op::Lock(lock, wait), Op::Unlock(lock)]);
            }
        }
        workers.iter().for_each(|&worker| script.main_does(&[Op::Join(worker, wait)]));
        script.play()
    };
    let uneven = diagnosis(play([3, 9]));
    let finding = first(&uneven);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Imbalance, &[ThreadId::new(2)][..]));
    let even = play([6, 6]);
    gives(&uneven, finding, "threads:pool_worker=balanced", even.end.since(even.start));
}

/// A worker for which there is never anything more to do waits as well as the others.
#[test]
fn a_worker_that_is_given_nothing_more_waits() {
    let mut script = Script::new();
    script.wake_up_takes(20_000);
    let [take, give, wait, put] =
        [("next_job", 10), ("run_job", 14), ("wait_for_all", 30), ("start_all", 25)]
            .map(|(name, line)| script.site(name, line));
    let done = script.semaphore("done", 0);
    let jobs = [0, 1, 2].map(|_| script.queue("jobs", 4));
    let workers = [(9, ROUNDS), (3, ROUNDS), (1, 1)].into_iter().zip(jobs);
    let workers: Vec<ThreadId> = workers
        .map(|((length, rounds), jobs)| {
            let job = [Op::Get(jobs, take), work(length), Op::Post(done, give)];
            script.thread("pool_worker", job.repeat(rounds))
        })
        .collect();
    workers.iter().for_each(|&worker| script.main_does(&[Op::Start(worker)]));
    for round in 0..ROUNDS {
        let given = if round == 0 { 3 } else { 2 };
        jobs[..given].iter().for_each(|&jobs| script.main_does(&[Op::Put(jobs, put)]));
        script.main_does(&[Op::Take(done, wait)].repeat(given));
    }
    workers[..2].iter().for_each(|&worker| script.main_does(&[Op::Join(worker, wait)]));
    let [not_empty, _] = script.conditions(jobs[2]);
    let mut process = script.play();
    let last = &mut process.threads[workers[2].index()];
    let begin = last.end.take().expect("it did what it was given");
    let open = Wait::granted(workers[2], not_empty, begin, process.end);
    process.waits.push(Wait { site: Some(take), outcome: Outcome::Open, ..open });
    let diagnosis = diagnosis(process);
    let late = diagnosis.findings.iter().find(|finding| finding.kind == FindingKind::Imbalance);
    let late = late.expect("who is late in each round");
    assert_eq!(late.threads, workers[..1]);
    assert!(late.what.contains("when others have done theirs"), "{}", late.what);
    assert!(!diagnosis.findings.iter().any(|finding| finding.kind == FindingKind::Pipeline));
}

/// Threads that are made for each round, say on a semaphore that they have done their part, and end; the first of them have more to do.
fn made_anew(rounds: usize, parts: [u64; 3], alone: u64) -> Process {
    let mut script = Script::new();
    script.wake_up_takes(20_000);
    let done = script.semaphore("done", 0);
    let [give, wait, join] =
        [("count_down", 14), ("wait_for_all", 30), ("main", 40)].map(|(name, line)| script.site(name, line));
    for _ in 0..rounds {
        let threads = parts.map(|part| script.thread("do_part", vec![work(part), Op::Post(done, give)]));
        threads.iter().for_each(|&thread| script.main_does(&[Op::Start(thread)]));
        script.main_does(&[Op::Take(done, wait)].repeat(parts.len()));
        script.main_does(&[work(alone)]);
        threads.iter().for_each(|&thread| script.main_does(&[Op::Join(thread, join)]));
    }
    script.play()
}

#[test]
fn who_waits_until_the_threads_that_it_made_have_counted_down_waits_for_their_end() {
    for rounds in [1, 20] {
        let uneven = diagnosis(made_anew(rounds, [18, 3, 3], 2));
        let finding = first(&uneven);
        assert_eq!(finding.kind, FindingKind::Imbalance, "{rounds}: {finding:#?}");
        assert!(
            finding.what.contains("when others have done theirs, waited for in wait_for_all"),
            "{}",
            finding.what
        );
        let late: Vec<usize> = finding.threads.iter().map(|thread| thread.index() % 3).collect();
        assert!(!late.is_empty() && late.iter().all(|&first| first == 1), "{rounds}: {late:?}");
        let queues = |finding: &&Finding| finding.kind == FindingKind::Pipeline;
        assert_eq!(uneven.findings.iter().find(queues).map(|finding| &finding.what), None);
    }
}

/// Its results come one after the other, and only after the last one it ends.
#[test]
fn a_thread_that_is_made_to_hand_over_several_things_gives_work() {
    let mut script = Script::new();
    script.wake_up_takes(20_000);
    let read = script.semaphore("read", 0);
    let [give, wait, join] =
        [("read_file", 14), ("next_block", 30), ("main", 40)].map(|(name, line)| script.site(name, line));
    let block = [work(9), Op::Post(read, give)];
    let reader = script.thread("read_file", block.repeat(ROUNDS));
    script.main_does(&[Op::Start(reader)]);
    script.main_does(&[Op::Take(read, wait), work(3)].repeat(ROUNDS));
    script.main_does(&[Op::Join(reader, join)]);
    let slow = diagnosis(script.play());
    let finding = first(&slow);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Pipeline, &[reader][..]));
}

/// They have it until they end, but who waits for it waits for the lock.
#[test]
fn a_lock_of_threads_that_end_is_a_lock() {
    let mut script = Script::new();
    script.wake_up_takes(20_000);
    let lock = script.object(ObjectKind::Mutex, "sum_lock");
    let [add, wait, join] =
        [("add_up", 14), ("print_sum", 30), ("main", 40)].map(|(name, line)| script.site(name, line));
    let threads = [0, 1]
        .map(|_| script.thread("do_part", vec![work(1), Op::Lock(lock, add), work(8), Op::Unlock(lock)]));
    threads.iter().for_each(|&thread| script.main_does(&[Op::Start(thread)]));
    script.main_does(&[work(2), Op::Lock(lock, wait), work(1), Op::Unlock(lock)]);
    threads.iter().for_each(|&thread| script.main_does(&[Op::Join(thread, join)]));
    let process = script.play();
    let roles = Timeline::build(&process).roles;
    assert_eq!(threads.map(|thread| roles.kind_for(lock, Some(thread))), [ObjectKind::Mutex; 2]);
}
