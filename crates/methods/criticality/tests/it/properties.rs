//! What holds for every process, however odd.

use holdup_criticality::{Diagnosis, diagnose};
use holdup_model::{Nanos, Process, Run, State, Timeline};
use proptest::prelude::*;

fn run(process: Process, cores: u32) -> Run {
    Run { processes: vec![process], cores, ..Run::default() }
}

fn check(diagnosis: &Diagnosis) -> Result<(), TestCaseError> {
    let wall = diagnosis.wall;
    let criticality = &diagnosis.criticality;
    let sum = criticality.threads.iter().sum::<f64>() + criticality.nobody_total();
    prop_assert!((sum - wall.get() as f64).abs() <= 1e-9 * wall.get().max(1) as f64);
    // The bar that is drawn of it is whole, and has a component for each thread, whatever they are called.
    let stack = criticality.stack(&[]);
    prop_assert!(stack.remainder().abs() <= 1e-9 * wall.get().max(1) as f64);
    prop_assert_eq!(stack.components().len(), criticality.threads.len() + criticality.nobody.len());
    let height: f64 = diagnosis.bottle.iter().map(|bottle| bottle.height).sum();
    let somebody = 1.0 - criticality.nobody_total() / wall.get() as f64;
    prop_assert!((height - somebody).abs() <= 1e-9);
    for times in &diagnosis.threads {
        prop_assert_eq!(times.total(), wall);
    }
    prop_assert_eq!(diagnosis.path.length, wall);
    let steps: Nanos = diagnosis.path.steps.iter().map(|step| step.time).sum();
    prop_assert_eq!(steps, wall);
    let by_thread: Nanos = diagnosis.path.by_thread.iter().map(|(_, time)| *time).sum();
    prop_assert_eq!(by_thread, wall);
    for (_, on_path) in &diagnosis.path.by_object {
        prop_assert!(*on_path <= wall);
    }
    prop_assert!((0.0..=1.0).contains(&diagnosis.efficiency));
    Ok(())
}

/// Useful time, the parts and what is not explained make the wall time; what is not explained is no more than
/// `most`, and the rounding of each part and of each thread's start and end.
fn check_identity(diagnosis: &Diagnosis, most: u64) -> Result<(), TestCaseError> {
    let identity = &diagnosis.cost_identity;
    let parts: Nanos = identity.parts.iter().map(|(_, cost)| *cost).sum();
    prop_assert_eq!(identity.useful + parts + identity.unexplained, diagnosis.wall);
    prop_assert!(
        identity.unexplained.get() <= most + (identity.parts.len() + diagnosis.threads.len() * 2) as u64 + 1
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn sums_hold_for_any_process(process in holdup_testkit::any_process(), cores in 0..4u32) {
        prop_assert_eq!(Timeline::build(&process).check(), Ok(()));
        let diagnosis = diagnose(&run(process, cores), 0);
        check(&diagnosis)?;
        check_identity(&diagnosis, diagnosis.wall.get())?;
    }

    #[test]
    fn sums_hold_and_all_is_explained_for_any_program(script in holdup_testkit::any_script(), cores in 0..4u32) {
        let process = script.play();
        prop_assert!(Timeline::build(&process).check().is_ok());
        let diagnosis = diagnose(&run(process, cores), 0);
        check(&diagnosis)?;
        check_identity(&diagnosis, 0)?;
    }

    #[test]
    fn threads_have_the_times_of_the_timeline(process in holdup_testkit::any_process()) {
        let timeline = Timeline::build(&process);
        let diagnosis = diagnose(&run(process, 2), 0);
        for (row, times) in timeline.threads.iter().zip(&diagnosis.threads) {
            prop_assert_eq!(row.time_in(State::is_active), times.active);
            prop_assert_eq!(row.time_in(|state| state == State::Spinning), times.spinning);
        }
    }

    #[test]
    fn the_critical_path_has_no_gaps(script in holdup_testkit::any_script()) {
        let process = script.play();
        let (start, end) = (process.start, process.end);
        let path = diagnose(&run(process, 2), 0).path;
        let mut at = start;
        for piece in &path.pieces {
            prop_assert_eq!(piece.start, at);
            at = piece.end;
        }
        prop_assert_eq!(at, end);
        let of_thread = |thread| -> Nanos {
            let pieces = path.pieces.iter().filter(|piece| piece.thread == thread);
            pieces.map(|piece| piece.end.since(piece.start)).sum()
        };
        for (thread, time) in &path.by_thread {
            prop_assert_eq!(of_thread(*thread), *time);
        }
    }

    #[test]
    fn sums_hold_for_any_part_of_any_program(
        script in holdup_testkit::any_script(),
        cut in (0..=1_000u64, 0..=1_000u64),
        cores in 0..4u32,
    ) {
        let process = script.play();
        let point = |share: u64| process.start + Nanos::new(process.wall().get() * share / 1_000);
        let (from, to) = (point(cut.0.min(cut.1)), point(cut.0.max(cut.1)));
        prop_assume!(from < to);
        let diagnosis = diagnose(&run(process, cores).window(from, to), 0);
        check(&diagnosis)?;
        check_identity(&diagnosis, diagnosis.wall.get())?;
    }

    #[test]
    fn the_order_of_columns_changes_nothing(
        process in holdup_testkit::any_process(),
        turns in proptest::array::uniform4(0..24usize),
    ) {
        let mut turned = process.clone();
        turned.waits.reverse();
        let middle = turns[0] % turned.waits.len().max(1);
        turned.waits.rotate_left(middle);
        let middle = turns[1] % turned.holds.len().max(1);
        turned.holds.rotate_left(middle);
        let middle = turns[2] % turned.wakes.len().max(1);
        turned.wakes.rotate_left(middle);
        let middle = turns[3] % turned.blocks.len().max(1);
        turned.blocks.rotate_left(middle);
        turned.on_core.reverse();
        turned.samples.reverse();
        prop_assert_eq!(diagnose(&run(process, 2), 0), diagnose(&run(turned, 2), 0));
    }
}

#[test]
fn an_empty_process_has_a_diagnosis() {
    let diagnosis = diagnose(&run(Process::default(), 0), 0);
    assert_eq!(diagnosis.wall, Nanos::ZERO);
    assert!(diagnosis.findings.is_empty());
    assert_eq!(diagnosis.path.length, Nanos::ZERO);
}
