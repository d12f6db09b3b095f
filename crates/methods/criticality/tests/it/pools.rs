//! Pools of threads that have nothing to do.

use holdup_criticality::{Diagnosis, FindingKind};
use holdup_model::{ObjectKind, ThreadId};
use holdup_testkit::{Op, Script};

use crate::waiting::{at, first, four, ms, of, run_at, stack, wait};

const MS: u64 = 1_000_000;

/// A pool of which only one thread ever has work: those that search all the time are part of it.
#[test]
fn threads_that_never_found_work_count() {
    let (mut process, workers) = four();
    let search = stack(&mut process, &["rayon_core::registry::WorkerThread::wait_until_cold@app"]);
    for &worker in &workers {
        run_at(&mut process, worker, search, 0, 100);
    }
    let diagnosis = of(process);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.cost), (FindingKind::Serial, ms(750)));
    assert_eq!(finding.threads, [ThreadId::new(0)]);
}

/// A library's pool that nobody calls: its threads search for a while and then sleep to the end, and main and a worker are all that work.
#[test]
fn threads_that_sleep_since_they_were_never_given_work_do_not_count() {
    let (mut process, workers) = four();
    let server = ["blas_thread_server@libopenblas.so.0", "start_thread@libc.so.6"];
    let search = stack(&mut process, &server);
    let called = process.add_object(ObjectKind::Condition, 0x90);
    for &idle in &workers[..2] {
        run_at(&mut process, idle, search, 0, 20);
        process.waits.push(wait(idle, called, search, at(20), at(100)));
    }
    process.threads[workers[2].index()].start = at(60);
    let diagnosis = of(process);
    assert_eq!(diagnosis.workers, 2);
    let finding = first(&diagnosis);
    assert_eq!((finding.kind, finding.threads.as_slice()), (FindingKind::Serial, &[ThreadId::new(0)][..]));
    assert!(ms(250) < finding.cost && finding.cost < ms(350), "half of 60 ms, about: {finding:?}");
}

/// Main sleeps 2 ms at a time, sees what two threads have done, and gives each as much again, or only one of `workers` something; it has
/// a lock while it sleeps, or not. They need `length` (ns) for it.
fn looks_now_and_then(workers: usize, gives: usize, length: u64, is_locked: bool) -> Diagnosis {
    let mut script = Script::new();
    let jobs = script.queue("jobs", 100);
    let lock = script.object(ObjectKind::Mutex, "table");
    let (put, get, looks) =
        (script.site("accept", 50), script.site("next_job", 60), script.site("poll_results", 70));
    let mut job = vec![Op::Get(jobs, get)];
    if is_locked {
        job.extend([Op::Lock(lock, get), Op::Unlock(lock)]);
    }
    job.push(Op::Work(length));
    let rounds = 40;
    let job = job.repeat(rounds * gives / workers);
    let workers: Vec<ThreadId> = (0..workers).map(|_| script.thread("worker", job.clone())).collect();
    let mut round = vec![Op::Sleep(2 * MS, looks), Op::Work(MS / 50)];
    round.extend(std::iter::repeat_n(Op::Put(jobs, put), gives));
    if is_locked {
        round.insert(0, Op::Lock(lock, looks));
        round.insert(2, Op::Unlock(lock));
    }
    let mut ops: Vec<Op> = workers.iter().map(|&worker| Op::Start(worker)).collect();
    ops.extend(round.repeat(rounds));
    let join = script.site("main", 80);
    ops.extend(workers.iter().map(|&worker| Op::Join(worker, join)));
    script.main_does(&ops);
    of(script.play())
}

#[test]
fn who_looks_now_and_then_what_others_have_done_keeps_them_waiting() {
    let diagnosis = looks_now_and_then(2, 2, MS, false);
    let finding = first(&diagnosis);
    assert_eq!(finding.kind, FindingKind::Sleep, "{:?}", diagnosis.findings);
    assert_eq!(finding.what, "sleep in poll_results (main.c:70)");
    // They have nothing to do in half of each sleep.
    assert!(finding.cost.share_of(diagnosis.wall) > 0.4, "{finding:?}");
    assert!(
        finding.evidence[1].contains("Others, which had done what they were given, waited"),
        "{finding:?}"
    );
    assert!(finding.hint.ends_with("If this pace is meant, there is nothing to fix."), "{}", finding.hint);
    assert!(
        diagnosis.findings.iter().all(|finding| finding.kind != FindingKind::Idle),
        "{:?}",
        diagnosis.findings
    );
}

#[test]
fn who_has_waited_since_before_the_sleep_waits_for_more_than_its_end() {
    // One of four is given something in each sleep: each waits four sleeps for it.
    let diagnosis = looks_now_and_then(4, 1, MS, false);
    assert_eq!(first(&diagnosis).kind, FindingKind::Idle, "{:?}", diagnosis.findings);
}

#[test]
fn a_lock_that_a_thread_has_while_it_sleeps_is_held_too_long() {
    let diagnosis = looks_now_and_then(2, 2, MS / 2, true);
    let finding = first(&diagnosis);
    assert_eq!(finding.kind, FindingKind::Lock, "{:?}", diagnosis.findings);
    assert!(finding.evidence.iter().any(|sentence| sentence.contains("asleep")), "{:?}", finding.evidence);
}
