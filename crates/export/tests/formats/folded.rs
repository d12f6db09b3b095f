//! Folded stacks.

use holdup_criticality::diagnose;
use holdup_export::{Weight, folded};
use holdup_model::{Run, State, Timeline};
use holdup_testkit::any_script;
use proptest::prelude::*;

use super::cases::{any_run, empty, hostile, look_at, run_of, times};

fn lines(run: &Run, weight: Weight) -> Vec<(Vec<String>, u64)> {
    let mut out = Vec::new();
    folded(run, weight, &mut out).expect("memory takes everything");
    let text = String::from_utf8(out).expect("text");
    // As flame graph programs read it: the number follows the last space.
    text.lines()
        .map(|line| {
            let (stack, amount) = line.rsplit_once(' ').expect("a stack and a number");
            (stack.split(';').map(str::to_owned).collect(), amount.parse().expect("a number"))
        })
        .collect()
}

proptest! {
    #[test]
    fn lines_add_up_to_the_timeline(run in any_run()) {
        for (weight, wanted) in [
            (Weight::Active, (|state| state == State::Active) as fn(State) -> bool),
            (Weight::Blocked, |state| state != State::Active && state != State::NotRecorded),
        ] {
            let found: u64 = lines(&run, weight).iter().map(|(_, amount)| amount).sum();
            let all = run.processes.iter().flat_map(times).flatten();
            let expected: u64 = all.filter(|(state, _)| wanted(*state)).map(|(_, time)| time).sum();
            prop_assert_eq!(found, expected);
        }
    }
}

/// The time at stacks that samples saw, as the diagnosis and as the folded lines have it.
fn sampled(run: &Run, weight: Weight) -> u64 {
    let seen = |stack: &[String]| stack.last().is_none_or(|leaf| leaf != "[not sampled]");
    lines(run, weight).iter().filter(|(stack, _)| seen(stack)).map(|(_, amount)| amount).sum()
}

proptest! {
    #[test]
    fn sampled_time_is_that_of_the_hot_spots(script in any_script()) {
        let mut process = script.play_on(2, 700);
        look_at(&mut process);
        let (samples, run) = (process.samples.len(), run_of(vec![process]));
        let hot = diagnose(&run, 0).hot;
        let (active, critical) = hot.map_or((0, 0.0), |hot| (hot.active.get(), hot.critical));
        prop_assert_eq!(sampled(&run, Weight::Active), active);
        // Each piece of time is rounded, and there are at most as many as samples and changes of state.
        let segments: usize = Timeline::build(&run.processes[0]).threads.iter().map(|row| row.segments.len()).sum();
        let most = (samples + segments) as f64;
        prop_assert!((sampled(&run, Weight::Critical) as f64 - critical).abs() <= most);
    }
}

#[test]
fn a_line_is_a_thread_its_stack_and_what_it_waits_for() {
    let mut script = holdup_testkit::Script::new();
    let lock = script.object(holdup_model::ObjectKind::Mutex, "table_lock");
    let site = script.site("update", 12);
    let ops = [
        holdup_testkit::Op::Lock(lock, site),
        holdup_testkit::Op::Work(1_000),
        holdup_testkit::Op::Unlock(lock),
    ];
    let threads: Vec<_> = (0..2).map(|_| script.thread("worker", ops.to_vec())).collect();
    script.main_runs(&threads);
    let found = lines(&run_of(vec![script.play()]), Weight::Wait);
    let waits: Vec<_> = found.iter().map(|(stack, amount)| (stack.join(";"), *amount)).collect();
    assert_eq!(
        waits,
        [
            ("main;main;[blocked: end of worker 1]".to_owned(), 1_000),
            ("main;main;[blocked: end of worker 2]".to_owned(), 1_000),
            ("worker 2;update;[blocked: mutex table_lock]".to_owned(), 1_000),
        ]
    );
}

#[test]
fn names_break_no_line() {
    let run = hostile();
    let threads: usize = run.processes.iter().map(|process| process.threads.len()).sum();
    for weight in Weight::ALL {
        let found = lines(&run, weight);
        let mut roots: Vec<&str> = found.iter().map(|(stack, _)| stack[0].as_str()).collect();
        roots.dedup();
        assert!(!roots.is_empty() && roots.len() <= threads, "{roots:?}");
        for (stack, _) in &found {
            stack.iter().for_each(|frame| super::cases::assert_shown_safely(frame));
        }
    }
    assert_eq!(lines(&empty(), Weight::Active), []);
}
