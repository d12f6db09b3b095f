//! Threads that end before others, and threads that sleep over and over until those that they have started are done.

use holdup_criticality::{Depth, Diagnosis, FindingKind, diagnose, predict_gains};
use holdup_model::{
    Nanos, ObjectId, ObjectKind, PolledJoins, Process, Run, State, ThreadId, Timeline, Wake, WakeCount,
};
use holdup_testkit::{Op, Script};

const MS: u64 = 1_000_000;

fn of(process: Process) -> (Run, Diagnosis) {
    let run = Run { processes: vec![process], cores: 8, ..Run::default() };
    let diagnosis = diagnose(&run, 0);
    (run, diagnosis)
}

fn work(length: u64) -> Op {
    Op::Work(length * MS)
}

/// `while (running > 0) usleep(10000);`, beside two threads that work for so long (ms), and how long they read meanwhile.
fn waits_for_its_workers_by_sleeping(working: u64, reading: u64, sleeps: usize) -> Script {
    let mut script = Script::new();
    let (until_done, read) = (script.site("wait_for_workers", 30), script.site("read_block", 40));
    let ops = [work(working / 10), Op::Read(reading * MS / 10, read)].repeat(10);
    let workers: Vec<ThreadId> = (0..2).map(|_| script.thread("worker", ops.clone())).collect();
    let mut ops = vec![work(50)];
    ops.extend(workers.iter().map(|&worker| Op::Start(worker)));
    ops.extend([Op::Sleep(10 * MS, until_done), Op::Work(1_000)].repeat(sleeps));
    script.main_does(&ops);
    script
}

#[test]
fn who_sleeps_until_its_threads_are_done_holds_nothing_up() {
    let (_, diagnosis) = of(waits_for_its_workers_by_sleeping(500, 0, 51).play());
    assert_eq!(diagnosis.workers, 2);
    // The last of its sleeps goes on for up to 10 ms when they are done, which is all that waiting for the event would give.
    let sleeps = diagnosis.findings.iter().find(|finding| finding.kind == FindingKind::Sleep);
    assert!(sleeps.is_none_or(|finding| finding.cost < Nanos::new(20 * MS)), "{:?}", diagnosis.findings);
}

/// Who lets go of Python's lock before each sleep gives others no work by that; who signals something else may.
#[test]
fn who_gives_a_lock_back_while_it_sleeps_gives_others_nothing() {
    let joins = |name: &str| {
        let mut process = waits_for_its_workers_by_sleeping(500, 0, 51).play();
        let signalled = process.add_object(ObjectKind::Condition, 0x77);
        process.objects[signalled.index()].name = Some(name.to_owned());
        let sleeps = Timeline::build(&process).threads[0].segments.clone();
        for sleep in sleeps.iter().filter(|segment| segment.state == State::Asleep) {
            process.wakes.push(Wake {
                thread: ThreadId::new(0),
                object: signalled,
                time: sleep.start,
                count: WakeCount::AtMost(1),
                site: None,
            });
        }
        let timeline = Timeline::build(&process);
        PolledJoins::of(&process, &timeline).of_thread(ThreadId::new(0)).len()
    };
    assert_eq!(joins("_PyRuntime.ceval.gil.cond"), 1);
    assert_eq!(joins("work_left"), 0);
}

#[test]
fn what_its_threads_wait_for_holds_it_up() {
    let slow = waits_for_its_workers_by_sleeping(500, 500, 101).play();
    let faster = waits_for_its_workers_by_sleeping(500, 0, 51).play().wall();
    let (run, mut diagnosis) = of(slow);
    predict_gains(&run, &mut diagnosis, Depth::default());
    let finding = diagnosis.findings.first().expect("there is something to find");
    assert_eq!(finding.kind, FindingKind::Io, "{:?}", diagnosis.findings);
    let gain = finding.gain.as_ref().expect("it can be replayed");
    let real = diagnosis.wall.saturating_sub(faster);
    assert!(gain.low <= real && real <= gain.high, "{gain:?} {real:?}");
}

#[test]
fn who_sleeps_between_what_it_gives_to_its_threads_holds_them_up() {
    let mut script = Script::new();
    let queue = script.queue("requests", 100);
    let (put, get, pace) = (script.site("put", 10), script.site("get", 20), script.site("pace", 30));
    let workers: Vec<ThreadId> =
        (0..2).map(|_| script.thread("worker", [Op::Get(queue, get), work(9)].repeat(20))).collect();
    let mut ops: Vec<Op> = workers.iter().map(|&worker| Op::Start(worker)).collect();
    ops.extend([Op::Sleep(10 * MS, pace), Op::Put(queue, put)].repeat(40));
    script.main_does(&ops);
    let process = script.play();
    let timeline = Timeline::build(&process);
    let polled = PolledJoins::of(&process, &timeline);
    assert_eq!(polled.of_thread(ThreadId::new(0)), []);
}

/// Main works beside two threads for 30 ms, and beside the one that is left for 70 ms more.
#[test]
fn a_thread_that_has_ended_did_not_start_late() {
    let mut script = Script::new();
    let site = script.site("join", 10);
    let [short, long] = [30, 100].map(|length| script.thread("worker", vec![work(length)]));
    script.main_does(&[
        Op::Work(MS / 10),
        Op::Start(short),
        Op::Start(long),
        work(100),
        Op::Join(long, site),
    ]);
    let (_, diagnosis) = of(script.play());
    let finding = diagnosis.findings.first().expect("there is something to find");
    assert_eq!(finding.kind, FindingKind::Startup);
    assert_eq!(finding.what, "threads had ended while others had work left");
    assert_eq!(finding.evidence, ["worker 1 ended 70.0 ms before the program."]);
}

/// Main works with five threads, and then for longer with one more.
#[test]
fn nobody_is_missed_while_those_that_are_there_can_use_all_cores() {
    let mut script = Script::new();
    let site = script.site("join", 10);
    let team: Vec<ThreadId> = (0..5).map(|_| script.thread("worker", vec![work(20)])).collect();
    let last = script.thread("one more", vec![work(80)]);
    let mut ops: Vec<Op> = team.iter().map(|&worker| Op::Start(worker)).collect();
    ops.push(work(20));
    ops.extend(team.iter().map(|&worker| Op::Join(worker, site)));
    ops.extend([Op::Start(last), work(80), Op::Join(last, site)]);
    script.main_does(&ops);
    let process = script.play();
    let started_late = |cores| {
        let run = Run { processes: vec![process.clone()], cores, ..Run::default() };
        let diagnosis = diagnose(&run, 0);
        assert_eq!(diagnosis.workers, 6);
        let identity = &diagnosis.cost_identity;
        let parts: Nanos = identity.parts.iter().map(|(_, cost)| *cost).sum();
        assert_eq!(identity.useful + parts + identity.unexplained, diagnosis.wall);
        diagnosis.findings.iter().any(|finding| finding.kind == FindingKind::Startup)
    };
    assert!(started_late(8));
    assert!(!started_late(2));
}

/// A runtime's helper was started along with the workers, and goes on when these have ended, each of which says so with the last that it
/// does.
#[test]
fn who_ends_as_the_wait_for_it_ends_is_joined_whatever_else_was_started() {
    let last = |ends: bool| {
        let mut script = Script::new();
        let (joins, starts) = (script.site("join", 30), script.site("start", 20));
        let [begun, ended] = ["begun", "ended"].map(|name| script.semaphore(name, 0));
        let rest = if ends { Op::Work(1_000) } else { work(300) };
        let helper = script.thread("helper", vec![Op::Post(begun, starts), work(900)]);
        let workers: Vec<ThreadId> = [200, 300]
            .into_iter()
            .map(|length| script.thread("worker", vec![work(length), Op::Post(ended, starts), rest]))
            .collect();
        script.main_does(&[Op::Start(helper), Op::Take(begun, starts)]);
        workers.iter().for_each(|&worker| script.main_does(&[Op::Start(worker)]));
        script.main_does(&[Op::Take(ended, joins), Op::Take(ended, joins), work(10)]);
        let process = script.play();
        let timeline = Timeline::build(&process);
        let object = process.objects.iter().position(|object| object.name.as_deref() == Some("ended"));
        let object = ObjectId::new(object.expect("it was waited for") as u32);
        workers.iter().all(|&worker| timeline.roles.kind_for(object, Some(worker)) == ObjectKind::ThreadEnd)
    };
    assert!(last(true));
    assert!(!last(false), "they have much to do afterwards");
}

#[test]
fn who_loads_libraries_and_then_starts_a_thread_does_not_work() {
    let workers = |module: &str| {
        let mut script = Script::new();
        let (read, rest, join) = (script.site("open", 5), script.site("settle", 20), script.site("main", 30));
        let worker = script.thread("worker", vec![work(400)]);
        let sleep = Op::Sleep(40 * MS, rest);
        script.main_does(&[Op::Read(40 * MS, read), Op::Start(worker), sleep, Op::Join(worker, join)]);
        let mut process = script.play();
        process.sites[read.index()].frames[0].module = Some(module.to_owned());
        of(process).1.workers
    };
    assert_eq!(workers("ld-linux-x86-64.so.2"), 1);
    assert_eq!(workers("app"), 2);
}

/// A thread works for so long (ms) for each of ten pictures, which two threads of a pool then filter.
fn unpacked_one_by_one(unpacking: u64) -> (Diagnosis, Process) {
    let mut script = Script::new();
    let [join, put, take, done] = ["join", "put", "take", "done"].map(|name| script.site(name, 10));
    let (given, filtered) = (script.semaphore("given", 0), script.semaphore("filtered", 0));
    let unpacked = script.semaphore("unpacked", 0);
    let filter = [Op::Take(given, take), work(6), Op::Post(filtered, done)].repeat(10);
    let pool = [0, 1].map(|_| script.thread("filter", filter.clone()));
    script.main_does(&[Op::Start(pool[0]), Op::Start(pool[1])]);
    for _ in 0..10 {
        let unpacker = script.thread("unpack", vec![work(unpacking), Op::Post(unpacked, put)]);
        script.main_does(&[Op::Start(unpacker), Op::Take(unpacked, join)]);
        script.main_does(&[
            Op::Post(given, put),
            Op::Post(given, put),
            Op::Take(filtered, join),
            Op::Take(filtered, join),
        ]);
    }
    let mut process = script.play_on(2, MS);
    process.covered = vec![(process.start, process.end)];
    let run = Run { processes: vec![process.clone()], cores: 2, ..Run::default() };
    let mut diagnosis = diagnose(&run, 0);
    predict_gains(&run, &mut diagnosis, Depth::default());
    (diagnosis, process)
}

/// Of threads that live one after the other none could do what is another's: their work is not uneven.
#[test]
fn threads_that_are_waited_for_one_after_the_other_are_not_late() {
    let (diagnosis, process) = unpacked_one_by_one(10);
    let first = &diagnosis.findings[0];
    assert_eq!((first.kind, first.threads.len()), (FindingKind::Join, 9), "{first:?}");
    let said =
        "wait until 9 threads of unpack have done what they were given, waited for in join (main.c:10)";
    assert_eq!(first.what, said);
    assert_eq!(first.evidence[0], "They were waited for 10 times in all, one after the other.");
    // Two at once take half of the time for each of the nine.
    let gain = first.gain.as_ref().expect("what the work of two at once saves");
    let real = Nanos::new(process.wall().saturating_sub(unpacked_one_by_one(5).1.wall()).get() * 9 / 10);
    assert!(gain.low <= real && real <= gain.high, "{gain:?} {real:?}");
}
