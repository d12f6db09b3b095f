//! Several recordings of one program: what the one that is told says of the others.

use holdup_compare::{Ledger, combine, middle};
use holdup_criticality::{Diagnosis, Finding, FindingKind, Gain, WhatIf, diagnose};
use holdup_model::{Nanos, ObjectKind, Run, ThreadId};
use holdup_testkit::{Op, Script};

const MS: u64 = 1_000_000;

/// Four workers whose lock is held `held` tenths of a millisecond ten times; addresses of objects differ from run to
/// run.
fn run(held: u64, objects_before: usize) -> Run {
    let mut script = Script::new();
    for index in 0..objects_before {
        script.object(ObjectKind::Condition, &format!("unused {index}"));
    }
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let site = script.site("update", 12);
    let ops =
        [Op::Lock(lock, site), Op::Work(held * MS / 10), Op::Unlock(lock), Op::Work(20 * MS)].repeat(10);
    let workers: Vec<ThreadId> = (0..4).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    Run { processes: vec![script.play()], cores: 8, ..Run::default() }
}

fn gain(time: u64, low: u64, high: u64) -> Gain {
    Gain {
        time: Nanos::new(time * MS),
        low: Nanos::new(low * MS),
        high: Nanos::new(high * MS),
        expression: "lock:table_lock=0".to_owned(),
        capped_by: None,
    }
}

fn lock(diagnosis: &Diagnosis) -> &Finding {
    let mut locks = diagnosis.findings.iter().filter(|finding| finding.kind == FindingKind::Lock);
    locks.next().expect("the lock is found")
}

/// A run with this gain of its lock, diagnosed.
fn with_gain(held: u64, objects_before: usize, of: Gain) -> (Run, Diagnosis) {
    let run = run(held, objects_before);
    let mut diagnosis = diagnose(&run, 0);
    let lock =
        diagnosis.findings.iter_mut().find(|finding| finding.kind == FindingKind::Lock).expect("the lock");
    lock.gain = Some(of.clone());
    let what_if =
        WhatIf { replayed: diagnosis.wall, all_together: Some(of), curves: Vec::new(), notes: Vec::new() };
    diagnosis.what_if = Some(what_if);
    (run, diagnosis)
}

#[test]
fn the_run_in_the_middle_is_told() {
    let walls = |walls: &[u64]| walls.iter().map(|&wall| Nanos::new(wall)).collect::<Vec<_>>();
    assert_eq!(middle(&walls(&[])), None);
    assert_eq!(middle(&walls(&[7])), Some(0));
    assert_eq!(middle(&walls(&[9, 3])), Some(1));
    assert_eq!(middle(&walls(&[9, 3, 5])), Some(2));
    assert_eq!(middle(&walls(&[4, 4, 1, 9, 4])), Some(1));
}

#[test]
fn one_recording_says_nothing_of_others() {
    let run = run(200, 0);
    let mut diagnosis = diagnose(&run, 0);
    let before = diagnosis.clone();
    combine(&run, &mut diagnosis, &[]);
    assert_eq!(diagnosis, before);
}

#[test]
fn costs_and_gains_scatter() {
    let told = with_gain(200, 0, gain(100, 90, 130));
    let others = [with_gain(220, 3, gain(120, 100, 140)), with_gain(180, 1, gain(110, 80, 120))];
    let costs: Vec<Nanos> = others.iter().chain([&told]).map(|(_, diagnosis)| lock(diagnosis).cost).collect();
    let ledgers: Vec<Ledger> = others.iter().map(|(run, diagnosis)| Ledger::of(run, diagnosis)).collect();
    let (run, mut diagnosis) = told;
    combine(&run, &mut diagnosis, &ledgers);
    let finding = lock(&diagnosis);
    let repeats = finding.repeats.as_ref().expect("there are others");
    assert_eq!((repeats.runs, repeats.found), (3, 3));
    assert_eq!(Some(repeats.least), costs.iter().min().copied());
    assert_eq!(Some(repeats.most), costs.iter().max().copied());
    assert!(
        finding.evidence.iter().any(|line| line.starts_with("In 3 runs it cost")),
        "{:?}",
        finding.evidence
    );
    // The low bounds 90, 100, 80: 90 − 4.303 · 10 / √3 = 65.16. The high ones 130, 140, 120: 130 + 24.84 = 154.84.
    let gain = finding.gain.as_ref().expect("a gain");
    assert_eq!(gain.time, Nanos::new(110 * MS));
    let about = |time: Nanos, ms: f64| (time.get() as f64 / MS as f64 - ms).abs() < 0.01;
    assert!(about(gain.low, 65.16) && about(gain.high, 154.84), "{gain:?}");
    assert_eq!(gain.expression, "lock:table_lock=0");
    let together = diagnosis.what_if.as_ref().and_then(|what_if| what_if.all_together.as_ref());
    assert_eq!(together.map(|together| (together.low, together.high)), Some((gain.low, gain.high)));
    let all = diagnosis.repeats.as_ref().expect("there are others");
    assert_eq!(all.walls.len(), 3);
    assert!(all.walls.is_sorted() && all.walls.contains(&diagnosis.wall));
    assert!(all.low < all.mean && all.mean < all.high);
    assert_eq!(all.elsewhere, []);
}

#[test]
fn an_interval_stays_within_what_is_possible() {
    let told = with_gain(200, 0, gain(100, 90, 130));
    let wall = told.1.wall;
    let (other_run, other) = with_gain(220, 0, gain(700, 10, 790));
    let (run, mut diagnosis) = told;
    combine(&run, &mut diagnosis, &[Ledger::of(&other_run, &other)]);
    let gain = lock(&diagnosis).gain.as_ref().expect("a gain");
    assert_eq!((gain.low, gain.high), (Nanos::ZERO, wall), "two runs say next to nothing");
    assert!(gain.low <= gain.time && gain.time <= gain.high);
}

#[test]
fn what_only_some_runs_find_is_said_to_be_so() {
    // Held so shortly that it is not worth a word.
    let quiet = run(1, 0);
    let quiet_diagnosis = diagnose(&quiet, 0);
    assert!(quiet_diagnosis.findings.iter().all(|finding| finding.kind != FindingKind::Lock));
    let quiet_ledger = Ledger::of(&quiet, &quiet_diagnosis);
    let (run, mut diagnosis) = with_gain(200, 0, gain(100, 90, 130));
    let ledger = Ledger::of(&run, &diagnosis);
    combine(&run, &mut diagnosis, &[quiet_ledger.clone(), quiet_ledger]);
    let finding = lock(&diagnosis);
    let repeats = finding.repeats.as_ref().expect("there are others");
    assert_eq!((repeats.found, repeats.runs, repeats.interval), (1, 3, None));
    assert!(
        finding.evidence.iter().any(|line| line.contains("one of 3 runs only")),
        "{:?}",
        finding.evidence
    );
    assert_eq!(finding.gain.as_ref().map(|gain| gain.low), Some(Nanos::ZERO));
    // The other way round it is one of others' findings.
    let mut told = quiet_diagnosis;
    combine(&quiet, &mut told, &[ledger.clone(), ledger]);
    let elsewhere = &told.repeats.as_ref().expect("there are others").elsewhere;
    let lock = elsewhere.iter().find(|other| other.kind == FindingKind::Lock).expect("the others' lock");
    assert_eq!(lock.found, 2);
    assert!(lock.what.starts_with("mutex table_lock"), "{}", lock.what);
}
