//! Limits, held against runs whose every nanosecond is known.

use holdup_compare::{BudgetError, Ledger, Missing, Verdict, judge, parse_budget};
use holdup_criticality::diagnose;
use holdup_model::{Marker, MarkerKind, Nanos, ObjectKind, Process, Run, ThreadId, Time};
use holdup_testkit::{Op, Script, any_process};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// Two workers, ten times 30 ms with a lock and 10 ms without: 610 ms, of which each waits about half. Uses of locks are
/// counted.
fn process(held: u64, free: u64) -> Process {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let quiet = script.object(ObjectKind::Mutex, "quiet_lock");
    let site = script.site("update", 12);
    let log = script.site("log_line", 80);
    let round = [
        Op::Lock(lock, site),
        Op::Work(held * MS),
        Op::Unlock(lock),
        Op::Work(free * MS),
        Op::Lock(quiet, log),
        Op::Unlock(quiet),
    ];
    let workers: Vec<ThreadId> = (0..2).map(|_| script.thread("worker", round.repeat(10))).collect();
    script.main_runs(&workers);
    let mut process = script.play();
    process.seen_by.preload = true;
    process
}

fn of(process: Process) -> Ledger {
    let run = Run { processes: vec![process], cores: 4, ..Run::default() };
    Ledger::of(&run, &diagnose(&run, 0))
}

fn ledger(held: u64, free: u64) -> Ledger {
    of(process(held, free))
}

fn judged(budget: &str, runs: &[Ledger], baseline: &[Ledger]) -> Result<Verdict, BudgetError> {
    let budgets = [parse_budget(budget)?];
    Ok(judge(&budgets, runs, baseline, Missing::Refused)?.remove(0))
}

fn verdict(budget: &str) -> Verdict {
    judged(budget, &[ledger(30, 10)], &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn values_are_those_of_the_diagnosis() {
    let run = Run { processes: vec![process(30, 10)], cores: 4, ..Run::default() };
    let diagnosis = diagnose(&run, 0);
    let lock = diagnosis.objects.iter().find(|cost| cost.cost > Nanos::ZERO).expect("the lock");
    let value = |budget: &str| verdict(budget).judged[0].value;
    assert_eq!(value("wall<=1s"), diagnosis.wall.get() as f64);
    assert_eq!(value("efficiency>=0.5"), diagnosis.efficiency);
    assert_eq!(value("parallelism>=1"), diagnosis.parallelism);
    assert_eq!(value("lock:table_lock<=5%"), lock.cost.share_of(diagnosis.wall));
    assert_eq!(value("lock:table_lock<=5ms"), lock.cost.get() as f64);
    assert_eq!(value("site:update<=5ms"), (lock.wait.get() / 2) as f64);
    let nobody = diagnosis.criticality.nobody_total() / diagnosis.wall.get() as f64;
    assert!((value("thread:worker<=100%") - (1.0 - nobody)).abs() < 0.01);
}

#[test]
fn limits_are_kept_or_not() {
    assert!(!verdict("lock:table_lock<=5%").holds());
    assert!(verdict("lock:table_lock<=90%").holds());
    assert!(!verdict("efficiency>=0.9").holds());
    assert!(verdict("wall<=611ms").holds() && !verdict("wall<=600ms").holds());
    assert!(verdict("finding:deadlock<=0%").holds(), "no finding, no cost");
    assert!(!verdict("finding:*<=1%").holds());
    assert!(!verdict("cost:lock<=1%").holds() && verdict("cost:io<=0%").holds());
    assert!(verdict("thread:main<=5%").holds());
}

#[test]
fn a_pattern_judges_each_and_tells_the_worst_first() {
    let verdict = verdict("lock:*<=10%");
    assert!(!verdict.holds());
    let told: Vec<(&str, bool)> =
        verdict.judged.iter().map(|judged| (judged.what.as_str(), judged.holds)).collect();
    assert_eq!(told, [("mutex table_lock", false), ("mutex quiet_lock", true)]);
    let place = verdict.judged[0].place.as_ref().expect("where it is held");
    assert_eq!((place.function.as_deref(), place.line), (Some("update"), Some(12)));
}

#[test]
fn a_mistyped_name_is_an_error_with_the_nearest() {
    let error = judged("lock:table_lok<=5%", &[ledger(30, 10)], &[]).expect_err("no such lock");
    let said = error.to_string();
    assert!(said.contains("most like it: table_lock") && said.contains("--allow-missing"), "{said}");
    assert!(matches!(error, BudgetError::Unknown { .. }));
    let allowed = judge(
        &[parse_budget("lock:table_lok<=5%").expect("a budget")],
        &[ledger(30, 10)],
        &[],
        Missing::Allowed,
    );
    assert!(allowed.expect("it may be missing")[0].holds());
}

#[test]
fn what_is_missing_for_a_reason_holds_with_a_note() {
    // The baseline has it.
    let mut without = process(30, 10);
    without.objects[0].name = Some("shards".to_owned());
    let verdict =
        judged("lock:table_lock<=5%", &[of(without)], &[ledger(30, 10)]).expect("it was there once");
    assert!(verdict.holds() && verdict.notes[0].contains("no longer occurs"), "{:?}", verdict.notes);
    // A pattern may match nothing, and the kernel's view may have missed a lock.
    assert!(judged("lock:cache*<=5%", &[ledger(30, 10)], &[]).expect("a pattern").holds());
    let mut seen_from_outside = process(30, 10);
    seen_from_outside.seen_by.preload = false;
    assert!(judged("lock:cache<=5%", &[of(seen_from_outside)], &[]).expect("not certain").holds());
    // A function in which nobody waits.
    assert!(judged("site:log_line<=1%", &[ledger(30, 10)], &[]).expect("a function").holds());
    assert!(judged("region:solve<=1%", &[ledger(30, 10)], &[]).is_err());
}

#[test]
fn labels_have_budgets() {
    let mut process = process(30, 10);
    for (time, kind) in [(10, MarkerKind::RegionBegin), (70, MarkerKind::RegionEnd)] {
        let label = Some("solve".to_owned());
        process.markers.push(Marker {
            thread: ThreadId::new(1),
            time: Time::from_nanos(time * MS),
            kind,
            label,
        });
    }
    let verdict = judged("region:solve<=50ms", &[of(process)], &[]).expect("the label");
    assert_eq!((verdict.judged[0].value, verdict.holds()), (60e6, false));
}

#[test]
fn a_regression_needs_more_than_noise() {
    let side = |held: &[u64]| held.iter().map(|&held| ledger(held, 10)).collect::<Vec<_>>();
    let of =
        |held: &[u64], before: &[u64]| judged("regression<=2%", &side(held), &side(before)).expect("runs");
    // Several runs: beyond the limit and beyond noise.
    assert!(!of(&[40, 41, 42], &[30, 31, 32]).holds());
    // Beyond the limit, but they scatter by more than they differ.
    let noisy = of(&[20, 60, 45], &[30, 50, 35]);
    assert!(noisy.holds() && noisy.judged[0].value > 0.02);
    assert!(noisy.notes.iter().any(|note| note.contains("noise")), "{:?}", noisy.notes);
    // One against one: only what is above the stated threshold counts.
    assert!(!of(&[40], &[30]).holds());
    let little = of(&[31], &[30]);
    assert!(little.holds() && little.judged[0].value > 0.02 && little.judged[0].interval.is_none());
    assert!(little.notes.iter().any(|note| note.contains("5 % from noise")), "{:?}", little.notes);
    // Faster is no regression.
    assert!(of(&[20], &[30]).holds());
    let error = judged("regression<=2%", &side(&[30]), &[]).expect_err("no baseline");
    assert!(error.to_string().contains("--baseline"), "{error}");
    assert!(judged("wall<=2s", &[], &[]).is_err());
}

#[test]
fn several_runs_are_judged_by_their_mean() {
    let runs = [ledger(30, 10), ledger(20, 10), ledger(25, 10)];
    let verdict = judged("wall<=1s", &runs, &[]).expect("runs");
    let walls: u64 = runs.iter().map(|run| run.wall.get()).sum();
    let value = verdict.judged[0].value;
    assert!((value - walls as f64 / 3.0).abs() < 1.0);
    let (low, high) = verdict.judged[0].interval.expect("three runs");
    assert!(low < value && value < high);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_run_can_be_judged(process in any_process(), before in any_process()) {
        let budgets = [
            "wall<=1s", "cpu<1ms", "efficiency>=0.5", "parallelism>1", "lock:*<=1%", "object:*<=1ns", "site:*<=1%",
            "function:*<=1%", "thread:*<=1%", "region:*<=1s", "finding:*<=1%", "cost:*<=1%", "regression<=1%",
        ];
        let budgets: Vec<_> = budgets.iter().map(|text| parse_budget(text).expect("a budget")).collect();
        let verdicts = judge(&budgets, &[of(process)], &[of(before)], Missing::Refused).expect("patterns may match none");
        prop_assert_eq!(verdicts.len(), budgets.len());
        for verdict in verdicts {
            for judged in &verdict.judged {
                prop_assert!(judged.value.is_finite());
                prop_assert!(verdict.budget.limited.word() == "regression" || judged.value >= 0.0);
            }
        }
    }

    #[test]
    fn any_text_is_a_budget_or_an_error_within_it(text in "(lock|wall|cost|finding)?[:<>=%*? a-z0-9.µ]{0,24}") {
        if let Err(BudgetError::Grammar { at, .. }) = parse_budget(&text) {
            prop_assert!(at >= 1 && at <= text.chars().count() + 1);
        }
    }
}
