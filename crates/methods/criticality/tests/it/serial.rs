//! Serial phases between barriers, and threads of which never two are at work.

use holdup_criticality::{Depth, Diagnosis, Finding, FindingKind, diagnose, predict_gains};
use holdup_model::{Nanos, Run, ThreadId};
use holdup_testkit::{Op, Script};

const MS: u64 = 1_000_000;

fn work(length: u64) -> Op {
    Op::Work(length * MS)
}

fn diagnosis(script: &Script) -> Diagnosis {
    diagnose(&Run { processes: vec![script.play()], cores: 8, ..Run::default() }, 0)
}

#[test]
fn a_serial_phase_between_barriers() {
    let mut script = Script::new();
    let barrier = script.barrier("phase_done", 4);
    let site = script.site("run_phase", 10);
    let workers: Vec<ThreadId> = (0..4)
        .map(|thread| {
            let mut round = vec![work(4), Op::Meet(barrier, site)];
            if thread == 2 {
                round.push(work(6));
            }
            round.push(Op::Meet(barrier, site));
            script.thread("worker", round.repeat(10))
        })
        .collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    assert_eq!(diagnosis.findings.len(), 1, "{:#?}", diagnosis.findings);
    let finding = &diagnosis.findings[0];
    assert_eq!((finding.kind, finding.object), (FindingKind::Serial, Some(barrier)));
    assert_eq!(finding.threads, [workers[2]]);
    assert_eq!(finding.cost, Nanos::new(45 * MS));
}

/// Others are not at work that return from one wait and go into the next, and that they wake up late meanwhile costs nothing.
#[test]
fn a_serial_phase_as_short_as_two_wake_ups() {
    const ROUNDS: u64 = 100;
    let mut script = Script::new();
    script.wake_up_takes(25_000);
    let barrier = script.barrier("phase_done", 4);
    let site = script.site("run_phase", 10);
    let workers: Vec<ThreadId> = (0..4)
        .map(|thread| {
            // It comes last to the first of the two, so that the others are woken when it begins its own.
            let [shared, own] = if thread == 2 { [130_000, 60_000] } else { [80_000, 2_000] };
            let round = [Op::Work(shared), Op::Meet(barrier, site), Op::Work(own), Op::Meet(barrier, site)];
            script.thread("worker", round.repeat(ROUNDS as usize))
        })
        .collect();
    script.main_runs(&workers);
    let diagnosis = diagnosis(&script);
    let cost = |kind| {
        let of_kind = diagnosis.findings.iter().find(|finding| finding.kind == kind);
        of_kind.map(|finding| finding.cost.get() / 10_000)
    };
    let serial = &diagnosis.findings[0];
    assert_eq!((serial.kind, serial.object), (FindingKind::Serial, Some(barrier)));
    assert_eq!(serial.threads, workers[2..3]);
    // Three of four wait for 58 µs a round, whether they are awake by then or not.
    assert_eq!(serial.cost.get() / 1_000, 58 * ROUNDS * 3 / 4);
    // They wait for 25 µs before it, and lose as much by waking up after it. (The first round has no wait before it.)
    assert_eq!((cost(FindingKind::Imbalance), cost(FindingKind::WakeUp)), (Some(189), Some(188)));
}

/// Threads with 10 ms of work each, of which each is started when the one before it has ended, or all at first.
fn started_and_joined(threads: usize, one_by_one: bool) -> (Script, Vec<ThreadId>) {
    let mut script = Script::new();
    let join = script.site("render_all", 40);
    let workers: Vec<ThreadId> = (0..threads).map(|_| script.thread("render_tile", vec![work(10)])).collect();
    let at_once = if one_by_one { 1 } else { threads };
    for workers in workers.chunks(at_once) {
        workers.iter().for_each(|&worker| script.main_does(&[Op::Start(worker)]));
        workers.iter().for_each(|&worker| script.main_does(&[Op::Join(worker, join)]));
    }
    (script, workers)
}

#[test]
fn who_joins_each_thread_before_it_starts_the_next_has_one_at_work() {
    let (script, workers) = started_and_joined(6, true);
    let run = Run { processes: vec![script.play()], cores: 2, ..Run::default() };
    let mut diagnosis = diagnose(&run, 0);
    predict_gains(&run, &mut diagnosis, Depth::default());
    let [finding] = diagnosis.findings.as_slice() else { panic!("{:#?}", diagnosis.findings) };
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Serial, workers.as_slice()));
    assert_eq!(
        finding.what,
        "6 threads of render_tile one after the other, joined in render_all (main.c:40)"
    );
    let until = "main waits for its end in render_all (main.c:40) before it starts the next.";
    assert!(finding.evidence[0].ends_with(until), "{:?}", finding.evidence);
    assert!(finding.hint.starts_with("Start all of them before"), "{}", finding.hint);
    assert!(diagnosis.one_by_one && diagnosis.workers == 2, "{}", diagnosis.workers);
    assert_eq!(finding.cost.get(), diagnosis.wall.get() / 2);
    let fixed = started_and_joined(6, false).0.play();
    let real = fixed.end.since(fixed.start).get() * 6 / 2;
    let gain = finding.gain.as_ref().expect("it can be replayed");
    let left = diagnosis.wall.saturating_sub(gain.time);
    assert!(left.get().abs_diff(real) * 20 < real, "{left:?}, really {real}");
}

/// On one core nobody else could be at work, and goroutines go from thread to thread.
#[test]
fn where_no_other_could_be_at_work_it_is_no_cause() {
    let on = |cores: u32| {
        let (script, _) = started_and_joined(6, true);
        diagnose(&Run { processes: vec![script.play()], cores, ..Run::default() }, 0)
    };
    let one = on(1);
    assert_eq!((one.findings.as_slice(), one.one_by_one, one.workers), (&[][..], false, 1));
    assert!(on(0).one_by_one);
    // A program that does all its work on a thread of its own.
    let (script, _) = started_and_joined(1, true);
    let alone = diagnosis(&script);
    assert_eq!((alone.findings.as_slice(), alone.one_by_one, alone.workers), (&[][..], false, 1));
}

/// Who gives a thread something to do and waits until that is done never works beside it, though there are places for two.
#[test]
fn who_waits_for_the_one_that_it_gave_all_to_has_one_at_work() {
    const ROUNDS: usize = 20;
    let mut script = Script::new();
    script.wake_up_takes(20_000);
    let done = script.semaphore("done", 0);
    let [take, give, put, wait] =
        [("serve", 10), ("serve", 14), ("ask", 25), ("ask", 26)].map(|(name, line)| script.site(name, line));
    let jobs = script.queue("jobs", 4);
    let server = script.thread("serve", [Op::Get(jobs, take), work(5), Op::Post(done, give)].repeat(ROUNDS));
    script.main_does(&[Op::Start(server)]);
    // It checks each answer before it says so.
    script.main_does(&[Op::Put(jobs, put), Op::Work(200_000), Op::Take(done, wait)].repeat(ROUNDS));
    let diagnosis = diagnosis(&script);
    let finding = &diagnosis.findings[0];
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Serial, &[server][..]));
    assert!(finding.evidence[0].ends_with("main waits for it in ask (main.c:26)."), "{:?}", finding.evidence);
    // Of 5 ms of work main waits for all but what it does itself, and one of two places is lost.
    let expected = (5 * MS - 200_000) * ROUNDS as u64 / 2;
    assert!(finding.cost.get().abs_diff(expected) < expected / 20, "{:?} {expected}", finding.cost);
}

/// Each of a hundred steps starts two threads for so much work (ns), of which the second does another half of it, and joins them; they run
/// so long (ns) after they were started.
fn started_for_each_step(length: u64, late: u64, are_processes: bool) -> Diagnosis {
    let mut script = Script::new();
    let (start, join) = (script.site("step", 10), script.site("step", 12));
    script.wake_up_takes(late);
    for _ in 0..100 {
        let workers = [length, length * 3 / 2].map(|length| script.thread("worker", vec![Op::Work(length)]));
        script.main_does(&[Op::Work(400_000)]);
        workers.iter().for_each(|&worker| script.main_does(&[Op::Start(worker)]));
        workers.iter().for_each(|&worker| script.main_does(&[Op::Join(worker, join)]));
    }
    let mut process = script.play();
    process.threads.iter_mut().skip(1).for_each(|thread| thread.created_at = Some(start));
    if are_processes {
        process.joined = process.threads[1..].iter().map(|thread| thread.tid).collect();
    }
    diagnose(&Run { processes: vec![process], cores: 8, ..Run::default() }, 0)
}

#[test]
fn that_threads_are_started_for_a_little_work_each_is_said() {
    let said = "200 threads are started in step (main.c:10), each of which is at work for 375 µs on average.";
    let find = |diagnosis: &Diagnosis, kind| {
        // Wake-ups after waits for threads' ends have advice of their own.
        let is_of_kind = |finding: &&Finding| {
            finding.kind == kind && (kind != FindingKind::WakeUp || finding.object.is_none())
        };
        let finding = diagnosis.findings.iter().find(is_of_kind);
        finding.cloned().unwrap_or_else(|| panic!("{kind:?}: {:?}", diagnosis.findings))
    };
    let short = started_for_each_step(300_000, 100_000, false);
    for kind in [FindingKind::Serial, FindingKind::Imbalance, FindingKind::WakeUp] {
        let finding = find(&short, kind);
        assert!(finding.evidence[1..].iter().any(|evidence| evidence == said), "{finding:?}");
        assert!(finding.hint.starts_with("Keep the threads"), "{finding:?}");
    }
    let woken = find(&short, FindingKind::WakeUp);
    assert_eq!(woken.what, "wake-ups of threads that are started over and over in step (main.c:10)");
    let long = started_for_each_step(3_000_000, 200_000, false);
    assert!(long.findings.iter().all(|finding| !finding.hint.starts_with("Keep the threads")), "{long:?}");
    assert!(find(&long, FindingKind::WakeUp).what.starts_with("wake-ups"));
    let processes = started_for_each_step(300_000, 100_000, true);
    assert!(
        processes.findings.iter().all(|finding| !finding.hint.starts_with("Keep the threads")),
        "{processes:?}"
    );
}
