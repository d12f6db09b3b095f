//! Recordings of which little can be said: notes, never a panic.

use holdup_model::openmp::{Instance, Region, Share, Sync, SyncKind, Vendor};
use holdup_model::{ExitStatus, Nanos, Process, Run, ThreadId, Time};
use holdup_scaling::{ScalePoint, Scaling, scale};
use proptest::prelude::*;

use crate::builder::{Phase, Program, scaled};

fn simple(threads: u32) -> Program {
    let mut program = Program::new(threads);
    program.parallel("work", 0, &[Phase::of(&vec![1_000_000; threads as usize])]);
    program
}

fn has_note(scaling: &Scaling, words: &str) -> bool {
    scaling.notes.iter().any(|note| note.contains(words))
}

#[test]
fn nothing_at_all() {
    assert!(has_note(&scale(&[]), "Nothing was recorded"));
    let empty = Run::default();
    let runs = [empty];
    let scaling = scale(&[ScalePoint { threads: 2, runs: &runs, plain: &[] }]);
    assert!(has_note(&scaling, "Nothing was recorded") && scaling.points.is_empty());
}

#[test]
fn one_number_of_threads() {
    let scaling = scaled(&[2], |threads| simple(threads).run());
    assert!(has_note(&scaling, "Only one number of threads (2)"));
    assert_eq!((scaling.points.len(), scaling.points[0].speedup), (1, 1.0));
    assert!(scaling.law.is_none());
}

#[test]
fn failed_runs_are_left_out_while_others_are_left() {
    let failed = Run { exit: Some(ExitStatus::Signal(11)), ..simple(2).run() };
    let good = simple(2).run();
    let both = [failed.clone(), good];
    let scaling = scale(&[ScalePoint { threads: 2, runs: &both, plain: &[] }]);
    assert!(has_note(&scaling, "1 run is left out"));
    assert_eq!(scaling.points[0].wall.runs, 1);
    let only = [failed];
    assert!(has_note(&scale(&[ScalePoint { threads: 2, runs: &only, plain: &[] }]), "every run failed"));
}

#[test]
fn the_median_of_several_runs_stands_for_all() {
    let of = |time: u64| {
        let mut program = Program::new(2);
        program.parallel("work", 0, &[Phase::of(&[time, time / 2])]);
        program.run()
    };
    let runs = [of(300), of(100), of(200), of(400)];
    let scaling = scale(&[ScalePoint { threads: 2, runs: &runs, plain: &[] }]);
    let wall = scaling.points[0].wall;
    let times = [wall.median, wall.low, wall.high].map(|time| time.get());
    assert_eq!((times, wall.runs), ([200, 100, 400], 4));
    assert_eq!(scaling.points[0].costs.imbalance, 50);
}

#[test]
fn a_region_inside_of_another_is_not_counted_twice() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = simple(threads);
        let outer = program.process.openmp.regions[0].instance;
        let place = Some(program.site("inner", 90));
        let mut inner = program.process.openmp.regions[0].clone();
        (inner.instance, inner.parent, inner.place, inner.whole) =
            (Instance::new(99), Some(outer), place, false);
        program.process.openmp.regions.push(inner);
        program.run()
    });
    let inner = crate::builder::region(&scaling, "inner");
    assert!(inner.nested && inner.hints.is_empty());
    assert_eq!(inner.points[1].time.median, Nanos::new(1_000_000));
    let counted = scaling.regions.iter().filter(|region| !region.nested);
    let time: u64 = counted.map(|region| region.points[1].time.median.get()).sum();
    assert_eq!(time, scaling.points[1].wall.median.get());
}

#[test]
fn lost_events_recording_costs_and_more_processes_are_said() {
    let mut program = simple(2);
    program.process.lost.events = 12;
    let mut run = program.run();
    run.processes.push(Process::new(Time::from_nanos(0), Time::from_nanos(5)));
    let (runs, plain) = ([run], [Nanos::new(500_000)]);
    let scaling = scale(&[ScalePoint { threads: 2, runs: &runs, plain: &plain }]);
    assert!(has_note(&scaling, "12 events were lost"));
    assert!(has_note(&scaling, "recording changed the run"));
    assert!(has_note(&scaling, "started 1 process more"));
}

#[test]
fn a_share_is_missing() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = simple(threads);
        if threads == 2 {
            program.process.openmp.shares.pop();
        }
        program.run()
    });
    assert!(has_note(&scaling, "parts of 1 execution"));
    // It took what it took; why is not known.
    let losses = scaling.points[1].losses;
    assert_eq!((losses.lost, losses.unexplained), (500_000, 500_000));
}

#[test]
fn work_that_grows_with_the_threads_is_said() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = simple(threads);
        for _ in 1..threads {
            program.parallel("work", 0, &[Phase::of(&vec![1_000_000; threads as usize])]);
        }
        program.run()
    });
    assert!(has_note(&scaling, "executed once with 1 thread, and 2 times with 2 threads"));
}

prop_compose! {
    fn any_time()(nanos in 0..200u64) -> Time { Time::from_nanos(nanos) }
}

prop_compose! {
    fn any_openmp()(
        regions in proptest::collection::vec(
            (0..3u32, any_time(), any_time(), 1..5u64, 0..5u64, 0..4u32, 0..3u64, 0..3u64, any::<(bool, bool)>()), 0..6),
        shares in proptest::collection::vec((0..3u32, 1..5u64, any_time(), any_time()), 0..12),
        syncs in proptest::collection::vec(
            (0..3u32, 1..5u64, 0..3u32, any_time(), any_time(), any::<(bool, bool)>()), 0..12),
    ) -> Process {
        let mut process = Process::new(Time::from_nanos(10), Time::from_nanos(150));
        for _ in 0..3 {
            process.add_thread("any", Time::from_nanos(10), None);
        }
        for (thread, begin, end, instance, parent, size, count, timed, (whole, open)) in regions {
            process.openmp.regions.push(Region {
                thread: ThreadId::new(thread), begin, end, instance: Instance::new(instance), place: None, met_at: None,
                parent: (parent > 0).then(|| Instance::new(parent)), size, count, timed,
                time: end.since(begin), vendor: Vendor::Gnu, whole, league: false, open,
            });
        }
        for (thread, instance, begin, end) in shares {
            process.openmp.shares.push(Share {
                thread: ThreadId::new(thread), instance: Instance::new(instance), index: thread, begin, end, cpu: None, cpu_begin: None,
            });
        }
        for (thread, instance, sequence, begin, end, (continued, taskwait)) in syncs {
            process.openmp.syncs.push(Sync {
                thread: ThreadId::new(thread), instance: Instance::new(instance), sequence,
                kind: if taskwait { SyncKind::Taskwait } else { SyncKind::ExplicitBarrier },
                place: None, begin, end, continued, interrupted: false,
            });
        }
        process
    }
}

fn check(scaling: &Scaling) -> Result<(), TestCaseError> {
    let points = scaling.points.iter().map(|point| point.losses);
    let regions = scaling.regions.iter().flat_map(|region| region.points.iter().map(|point| point.losses));
    for losses in points.chain(regions) {
        prop_assert_eq!(losses.explained() + losses.unexplained, losses.lost);
    }
    for (efficiencies, point) in scaling.pop.iter().zip(&scaling.points) {
        prop_assert!((efficiencies.root.value - point.efficiency).abs() < 1e-9);
        let product: f64 = efficiencies.root.factors.iter().map(|factor| factor.value).product();
        prop_assert!((product - point.efficiency).abs() <= 1e-9 * point.efficiency.abs().max(1.0));
    }
    Ok(())
}

fn run(process: Process) -> Run {
    Run { processes: vec![process], cores: 2, ..Run::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_openmp_is_told(first in any_openmp(), second in any_openmp()) {
        let (first, second) = ([run(first)], [run(second)]);
        check(&scale(&[
            ScalePoint { threads: 1, runs: &first, plain: &[] },
            ScalePoint { threads: 3, runs: &second, plain: &[] },
        ]))?;
    }

    #[test]
    fn any_process_is_told(first in holdup_testkit::any_process(), second in holdup_testkit::any_process()) {
        let (first, second) = ([run(first)], [run(second)]);
        check(&scale(&[
            ScalePoint { threads: 1, runs: &first, plain: &[] },
            ScalePoint { threads: 2, runs: &second, plain: &[] },
        ]))?;
    }
}
