//! What changed between two programs whose every nanosecond is known, and what must hold for any two.

use holdup_compare::{Against, Class, Comparison, Ledger, Presence, Row, Subject, compare};
use holdup_criticality::diagnose;
use holdup_model::{Marker, MarkerKind, ObjectKind, Process, Run, ThreadId, Time};
use holdup_testkit::{Op, Script, any_process, any_script};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn ledger(process: Process, cores: u32) -> Ledger {
    let run = Run { processes: vec![process], cores, ..Run::default() };
    Ledger::of(&run, &diagnose(&run, 0))
}

/// `threads` workers that each do ten times `held` ms with a lock and `free` ms without it; the lock is taken in
/// `update` at this line. Another lock is taken by them, never waited for.
fn locked(threads: usize, held: u64, free: u64, line: u32) -> Process {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let site = script.site("update", line);
    let ops = [Op::Lock(lock, site), Op::Work(held * MS), Op::Unlock(lock), Op::Work(free * MS)].repeat(10);
    let workers: Vec<ThreadId> = (0..threads).map(|_| script.thread("worker", ops.clone())).collect();
    script.main_runs(&workers);
    script.play()
}

fn changed(before: &[Ledger], after: &[Ledger]) -> Comparison {
    compare(before, after, Against::Change).expect("runs on both sides")
}

fn row<'a>(comparison: &'a Comparison, subject: Subject, what: &str) -> &'a Row {
    let rows = &comparison.table(subject).expect("a table for each subject").rows;
    rows.iter().find(|row| row.what.contains(what)).unwrap_or_else(|| panic!("no {what} in {rows:#?}"))
}

fn contribution(comparison: &Comparison, class: Class) -> i64 {
    let mut parts = comparison.contributions.iter().filter(|part| part.class == class);
    parts.next().map_or(0, |part| part.change.difference)
}

#[test]
fn a_lock_that_is_held_less() {
    // Four threads: one after another 10 · 4 · 9 ms and the last one's 1 ms; then 2 ms held and 8 ms free, so that
    // four fit next to each other but for the first round.
    let (before, after) = (ledger(locked(4, 9, 1, 12), 8), ledger(locked(4, 2, 8, 15), 8));
    let comparison = changed(&[before], &[after]);
    assert_eq!(comparison.wall.before, 361 * MS as i64);
    assert_eq!(comparison.wall.after, 106 * MS as i64);
    assert_eq!(comparison.wall.difference, -255 * MS as i64);
    assert_eq!(comparison.wall.interval, None);
    // The work is the same: all of the difference is waiting.
    assert_eq!(contribution(&comparison, Class::Useful), 0);
    let first = &comparison.contributions[0];
    assert_eq!(first.class.word(), "lock");
    assert_eq!(first.causes.len(), 1);
    assert!(first.causes[0].what.starts_with("mutex table_lock"));
    let lock = row(&comparison, Subject::Objects, "table_lock");
    assert_eq!(lock.presence, Presence::Both);
    assert_eq!(lock.change().map(|change| change.difference), Some(first.change.difference));
    let lines =
        [&lock.place_before, &lock.place_after].map(|place| place.as_ref().and_then(|place| place.line));
    assert_eq!(lines, [Some(12), Some(15)]);
    let site = row(&comparison, Subject::Sites, "update");
    assert_eq!(site.presence, Presence::Both, "the line moved within its function");
    // 990 ms of waiting before, 12 ms after (2 + 4 + 6, in the first round alone), by four threads.
    let waited = site.change().expect("waits are known");
    assert_eq!((waited.before, waited.after), (2475 * MS as i64 / 10, 3 * MS as i64));
    assert!(
        comparison.warnings.iter().any(|warning| warning.contains("cannot tell a difference from noise"))
    );
}

#[test]
fn what_is_only_on_one_side_is_new_or_gone() {
    let mut script = Script::new();
    let barrier = script.barrier("round_done", 2);
    let site = script.site("round", 30);
    let late = script.thread("late", [Op::Work(20 * MS), Op::Meet(barrier, site)].repeat(10));
    let prompt = script.thread("prompt", [Op::Work(2 * MS), Op::Meet(barrier, site)].repeat(10));
    script.main_runs(&[late, prompt]);
    let comparison = changed(&[ledger(locked(2, 9, 1, 12), 8)], &[ledger(script.play(), 8)]);
    assert_eq!(row(&comparison, Subject::Objects, "table_lock").presence, Presence::Gone);
    assert_eq!(row(&comparison, Subject::Objects, "round_done").presence, Presence::New);
    assert_eq!(row(&comparison, Subject::Threads, "worker").presence, Presence::Gone);
    assert_eq!(row(&comparison, Subject::Threads, "late").presence, Presence::New);
    assert_eq!(row(&comparison, Subject::Threads, "main").presence, Presence::Both);
    let late = row(&comparison, Subject::Findings, "late");
    assert_eq!((late.presence, late.sort), (Presence::New, "imbalance"));
}

#[test]
fn several_runs_tell_noise_from_a_difference() {
    let side = |held: [u64; 3]| held.map(|held| ledger(locked(2, held, 10, 12), 8)).to_vec();
    let same = changed(&side([10, 11, 12]), &side([12, 10, 11]));
    assert_eq!((same.wall.difference, same.wall.is_beyond_noise()), (0, Some(false)));
    let other = changed(&side([10, 11, 12]), &side([30, 31, 32]));
    assert_eq!(other.wall.is_beyond_noise(), Some(true));
    let (low, high) = other.wall.interval.expect("three runs on each side");
    assert!(low < other.wall.difference && other.wall.difference < high);
    assert!(!other.warnings.iter().any(|warning| warning.contains("noise")));
}

#[test]
fn more_threads_without_loss_have_no_cost_and_with_a_lock_they_do() {
    let alone = || {
        let mut script = Script::new();
        let lock = script.object(ObjectKind::Mutex, "table_lock");
        let site = script.site("update", 12);
        let ops = [Op::Lock(lock, site), Op::Work(6 * MS), Op::Unlock(lock), Op::Work(4 * MS)].repeat(40);
        let worker = script.thread("worker", ops);
        script.main_runs(&[worker]);
        ledger(script.play(), 8)
    };
    let four = ledger(locked(4, 6, 4, 12), 8);
    let comparison = compare(&[alone()], &[four], Against::Threads).expect("runs");
    let scaling = comparison.scaling.expect("asked for");
    // 400 ms of work on one thread; 40 holds of 6 ms one after another, and the last one's 4 ms.
    assert_eq!(scaling.ideal.get(), 100 * MS);
    assert_eq!((comparison.wall.before, comparison.wall.after), (100 * MS as i64, 244 * MS as i64));
    assert!((scaling.speedup - 400.0 / 244.0).abs() < 1e-9);
    assert!((scaling.efficiency - 100.0 / 244.0).abs() < 1e-9);
    assert_eq!(contribution(&comparison, Class::Useful), 0, "no work was added");
    assert_eq!(comparison.contributions[0].class.word(), "lock");
    let sum: i64 = comparison.contributions.iter().map(|part| part.change.difference).sum();
    assert_eq!(sum, 144 * MS as i64);
}

#[test]
fn labels_are_compared() {
    let marked = |until: u64| {
        let mut process = locked(2, 5, 5, 12);
        for (time, kind) in [(MS, MarkerKind::WorkBegin), (until * MS, MarkerKind::WorkEnd)] {
            process.markers.push(Marker {
                thread: ThreadId::new(1),
                time: Time::from_nanos(time),
                kind,
                label: Some("item".to_owned()),
            });
        }
        ledger(process, 8)
    };
    let comparison = changed(&[marked(21)], &[marked(61)]);
    let item = row(&comparison, Subject::Labels, "work item").change().expect("known");
    assert_eq!((item.before, item.after, item.difference), (20 * MS as i64, 60 * MS as i64, 40 * MS as i64));
}

#[test]
fn other_programs_arguments_and_machines_are_told() {
    let of = |command: &[&str], cores| {
        let mut process = locked(2, 5, 5, 12);
        process.command = command.iter().map(|word| (*word).to_owned()).collect();
        ledger(process, cores)
    };
    let warnings = |one: Ledger, other: Ledger| changed(&[one], &[other]).warnings.join(" ");
    let same = warnings(of(&["/a/app", "1"], 4), of(&["/b/app", "1"], 4));
    assert!(
        !same.contains("differ:") && !same.contains("The machines"),
        "only the folder is another: {same}"
    );
    assert!(
        warnings(of(&["app", "1"], 4), of(&["app", "2"], 4))
            .contains("The arguments differ: 1 before, 2 after.")
    );
    assert!(warnings(of(&["app"], 4), of(&["other"], 4)).contains("app before, other after"));
    assert!(warnings(of(&["app"], 4), of(&["app"], 8)).contains("CPUs that it may use: 4 before, 8 after"));
}

fn check_sums(comparison: &Comparison) -> Result<(), TestCaseError> {
    let sum: i64 = comparison.contributions.iter().map(|part| part.change.difference).sum();
    prop_assert_eq!(sum, comparison.wall.difference);
    for part in &comparison.contributions {
        let causes: i64 = part.causes.iter().map(|cause| cause.change.difference).sum();
        prop_assert!(part.causes.is_empty() || causes + part.rest == part.change.difference);
    }
    Ok(())
}

/// What changed, by name, in an order that does not depend on which side came first.
fn differences(comparison: &Comparison, sign: i64) -> Vec<(String, i64)> {
    let rows = comparison.tables.iter().flat_map(|table| {
        table
            .rows
            .iter()
            .flat_map(|row| row.changes.iter().flatten())
            .map(|change| (table.subject.word().to_owned(), change.difference * sign))
    });
    let parts = comparison
        .contributions
        .iter()
        .map(|part| (part.class.word().to_owned(), part.change.difference * sign));
    let mut all: Vec<_> =
        rows.chain(parts).chain([("wall".to_owned(), comparison.wall.difference * sign)]).collect();
    all.sort();
    all
}

fn is_empty(comparison: &Comparison) -> bool {
    let rows = comparison.tables.iter().flat_map(|table| &table.rows);
    comparison.wall.difference == 0
        && comparison.contributions.iter().all(|part| part.change.difference == 0 && part.rest == 0)
        && comparison.surroundings.is_empty()
        && rows.into_iter().all(|row| {
            row.presence == Presence::Both
                && row.changes.iter().flatten().all(|change| change.difference == 0)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn a_run_and_itself_do_not_differ(process in any_process(), cores in 0..4u32) {
        let ledger = ledger(process, cores);
        let one = std::slice::from_ref(&ledger);
        prop_assert!(is_empty(&changed(one, one)));
        let two = [ledger.clone(), ledger];
        prop_assert!(is_empty(&changed(&two, &two)));
    }

    #[test]
    fn swapping_the_sides_turns_the_sign(one in any_process(), other in any_process(), third in any_script()) {
        let (one, other, third) = (ledger(one, 2), ledger(other, 2), ledger(third.play(), 2));
        for (before, after) in [
            (vec![one.clone()], vec![other.clone()]),
            (vec![one.clone(), third.clone()], vec![other.clone()]),
            (vec![one, other.clone()], vec![third, other]),
        ] {
            let (there, back) = (changed(&before, &after), changed(&after, &before));
            prop_assert_eq!(differences(&there, 1), differences(&back, -1));
        }
    }

    #[test]
    fn contributions_add_up(
        before in proptest::collection::vec(any_process(), 1..4),
        after in proptest::collection::vec(any_script(), 1..4),
        by_threads: bool,
    ) {
        let before: Vec<Ledger> = before.into_iter().map(|process| ledger(process, 2)).collect();
        let after: Vec<Ledger> = after.into_iter().map(|script| ledger(script.play(), 2)).collect();
        let against = if by_threads { Against::Threads } else { Against::Change };
        check_sums(&compare(&before, &after, against).expect("runs"))?;
        check_sums(&compare(&after, &before, against).expect("runs"))?;
    }

    #[test]
    fn the_order_of_the_runs_makes_no_difference(scripts in proptest::collection::vec(any_script(), 3)) {
        let runs: Vec<Ledger> = scripts.into_iter().map(|script| ledger(script.play(), 2)).collect();
        let turned: Vec<Ledger> = [2, 0, 1].map(|index| runs[index].clone()).to_vec();
        let (one, other) = (changed(&runs, &runs), changed(&turned, &turned));
        prop_assert_eq!(one.wall, other.wall);
        prop_assert_eq!(one.wall.difference, 0);
    }
}
