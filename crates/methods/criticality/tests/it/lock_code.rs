//! Locks that are waited for on a core: what their code takes, as samples see it.

use holdup_criticality::{Diagnosis, Finding, FindingKind, diagnose, predict_gains};
use holdup_model::{BusyLock, Nanos, ObjectKind, Process, Run, Sample, ThreadId, Time};

use crate::waiting::{four, ms, run_at, stack, wait};

/// Four threads take a critical section over and over, and wait for it on a core; each is found in these stacks for so long (ms), one
/// after the other. The lock's cost is by 40 ms of each thread in threads that have a core, and they sleep for it for `asleep` (ms).
fn hot(found: &[(u64, &[&str])], asleep: u64) -> (Process, Diagnosis) {
    let (mut process, workers) = four();
    let lock = process.add_object(ObjectKind::Critical, 0x40);
    let threads: Vec<ThreadId> = std::iter::once(ThreadId::new(0)).chain(workers).collect();
    let enters = stack(&mut process, &["GOMP_critical_start@libgomp.so.1", "expand@app", "main@app"]);
    for &thread in &threads {
        process.busy_locks.push(BusyLock {
            thread,
            object: lock,
            brief: 1000,
            waiting: ms(400),
            acquisitions: 1000,
            acquiring: Nanos::new(20 * 1000),
            releasing: Nanos::new(20 * 1000),
        });
        let mut from = 0;
        for &(length, frames) in found {
            let site = stack(&mut process, frames);
            run_at(&mut process, thread, site, from, from + length);
            from += length;
        }
    }
    // One after the other has it.
    let at = |time: u64| Time::from_nanos(time * 1_000_000);
    process
        .waits
        .extend(threads[1..].iter().map(|&thread| wait(thread, lock, enters, at(90 - asleep), at(90))));
    let run = Run { processes: vec![process.clone()], cores: 4, ..Run::default() };
    let mut diagnosis = diagnose(&run, 0);
    predict_gains(&run, &mut diagnosis, Default::default());
    (process, diagnosis)
}

fn lock(diagnosis: &Diagnosis) -> &Finding {
    let finding = diagnosis.findings.iter().find(|finding| finding.kind == FindingKind::Lock);
    finding.unwrap_or_else(|| panic!("a lock: {:?}", diagnosis.findings))
}

const ENTER: &[&str] = &["GOMP_critical_start@libgomp.so.1", "expand@app", "main@app"];
const LEAVE: &[&str] = &["syscall@libc.so.6", "GOMP_critical_end@libgomp.so.1", "expand@app", "main@app"];
const NAMELESS: &[&str] = &["@libgomp.so.1", "expand@app", "main@app"];
const BARRIER: &[&str] = &["@libgomp.so.1", "GOMP_barrier@libgomp.so.1", "expand@app", "main@app"];
const OTHER: &[&str] = &["pthread_mutex_lock@libc.so.6", "count@app", "main@app"];
const WORK: &[&str] = &["expand@app", "main@app"];

#[test]
fn what_its_code_takes_is_saved_and_nothing_of_other_code() {
    let (process, diagnosis) =
        hot(&[(10, ENTER), (50, LEAVE), (10, NAMELESS), (5, BARRIER), (5, OTHER), (20, WORK)], 1);
    let gain = lock(&diagnosis).gain.as_ref().expect("a gain");
    assert_eq!(gain.expression, "");
    // Of 100 ms 70 are in it, of each of four threads at once.
    let cpu = |part: f64| (process.wall().get() as f64 * 0.7 * part) as u64;
    // Three of them sleep for a millisecond; the samples in which they wait, of this lock as far as is known, are no sleep.
    let asleep = 750_000;
    assert_eq!(lock(&diagnosis).cost, ms(400 + 150) + Nanos::new(asleep));
    let is_near = |found: Nanos, expected: u64| found.get().abs_diff(expected) < 100_000;
    assert!(is_near(gain.time, cpu(0.9) + asleep), "{gain:?} {asleep}");
    // What a replay says widens it, and does not narrow it.
    assert!(gain.low.get() <= cpu(0.6) + asleep, "{gain:?}");
    assert!(gain.high.get() >= (cpu(1.4) + asleep).min(process.wall().get()), "{gain:?}");
}

/// Samples do not see what it takes that the data goes from core to core: where a replay gives more, that is likelier.
#[test]
fn a_replay_that_gives_more_is_likelier() {
    let (process, diagnosis) = hot(&[(10, LEAVE), (90, WORK)], 1);
    let gain = lock(&diagnosis).gain.as_ref().expect("a gain");
    let seen = |part: f64| process.wall().get() as f64 * 0.1 * part + 750_000.0;
    assert!(gain.time.get() as f64 > 2.0 * seen(0.9) && gain.expression.is_empty(), "{gain:?}");
    assert!(gain.low.get() as f64 <= seen(0.6) + 1.0, "{gain:?}");
}

#[test]
fn without_samples_in_its_code_and_of_one_that_threads_sleep_for_a_replay_says_what_it_gives() {
    let (_, diagnosis) = hot(&[(4, ENTER), (96, WORK)], 1);
    let few = lock(&diagnosis).gain.as_ref().expect("a gain");
    assert!(few.expression.contains("lock:"), "16 samples: {few:?}");
    let (_, diagnosis) = hot(&[(40, ENTER), (60, WORK)], 80);
    let asleep = lock(&diagnosis);
    assert!(asleep.cost > ms(800), "{asleep:?}");
    assert!(asleep.gain.as_ref().is_none_or(|gain| gain.expression.contains("lock:")), "{asleep:?}");
}

#[test]
fn samples_that_are_not_of_threads_at_work_say_nothing() {
    let (mut process, _) = hot(&[(40, ENTER), (60, WORK)], 1);
    process.samples.iter_mut().for_each(|sample: &mut Sample| sample.site = None);
    let run = Run { processes: vec![process], cores: 4, ..Run::default() };
    let mut diagnosis = diagnose(&run, 0);
    predict_gains(&run, &mut diagnosis, Default::default());
    assert!(lock(&diagnosis).gain.as_ref().is_none_or(|gain| gain.expression.contains("lock:")));
}
