//! Where the time goes, to the nanosecond.

use holdup_model::openmp::WorkKind;
use holdup_model::{Efficiency, Nanos};
use holdup_scaling::{HintKind, Losses, RegionKind, Scaling};
use proptest::prelude::*;

use crate::builder::{Phase, Program, region, scaled};

const MS: u64 = 1_000_000;

fn sum(losses: &Losses) -> i64 {
    losses.explained() + losses.unexplained
}

/// What holds for every scaling.
fn check(scaling: &Scaling) {
    for point in &scaling.points {
        assert_eq!(sum(&point.losses), point.losses.lost);
        assert_eq!(sum(&point.costs), point.costs.lost);
    }
    for point in scaling.regions.iter().flat_map(|region| &region.points) {
        assert_eq!(sum(&point.losses), point.losses.lost);
        assert_eq!(sum(&point.costs), point.costs.lost);
        assert!(point.error.is_finite() && point.efficiency.is_finite() && point.speedup.is_finite());
    }
    for (efficiencies, point) in scaling.pop.iter().zip(&scaling.points) {
        assert!((efficiencies.root.value - point.efficiency).abs() < 1e-9);
        products(&efficiencies.root);
    }
    for hint in &scaling.hints {
        // Only to use fewer threads is for the whole program.
        assert!(hint.region.is_some() || hint.kind == HintKind::FewerThreads, "{hint:?}");
        let points = hint.region.map(|index| &scaling.regions[index].points);
        if let Some(gain) = hint.gain {
            assert!(gain.low <= gain.time && gain.time <= gain.high, "{hint:?}");
            // Neither a region nor the program can be fixed into less than nothing.
            let takes = match points {
                Some(points) => points.last().map_or(0, |point| point.time.median.get()),
                None => scaling.points.last().map_or(0, |point| point.wall.median.get()),
            };
            assert!(gain.high <= gain.time.max(takes as i64 + 1), "{hint:?} in {takes} ns");
        }
    }
}

fn products(efficiency: &Efficiency) {
    if !efficiency.factors.is_empty() {
        let product: f64 = efficiency.factors.iter().map(|factor| factor.value).product();
        assert!(
            (product - efficiency.value).abs() < 1e-9 * efficiency.value.abs().max(1.0),
            "{efficiency:?}"
        );
    }
    efficiency.factors.iter().for_each(products);
}

#[test]
fn perfect_scaling_loses_nothing() {
    let scaling = scaled(&[1, 2, 4], |threads| {
        let mut program = Program::new(threads);
        program.parallel("work", 0, &[Phase::of(&vec![8 * MS / u64::from(threads); threads as usize])]);
        program.run()
    });
    check(&scaling);
    for point in &scaling.points {
        assert_eq!(point.losses, Losses::default());
        assert!((point.efficiency - 1.0).abs() < 1e-12);
    }
    assert_eq!(region(&scaling, "work").potential_gain, Nanos::ZERO);
    assert!(scaling.hints.is_empty(), "{:?}", scaling.hints);
}

#[test]
fn uneven_work_a_slow_fork_and_a_serial_part() {
    let scaling = scaled(&[1, 4], |threads| {
        let mut program = Program::new(threads);
        program.serial(2 * MS);
        match threads {
            1 => program.parallel("work", 0, &[Phase::of(&[8 * MS])]),
            _ => program.parallel("work", 1_000, &[Phase::of(&[MS, 2 * MS, 2 * MS, 3 * MS]).walk(500)]),
        }
        program.run()
    });
    check(&scaling);
    let work = &region(&scaling, "work").points[1];
    let expected = Losses {
        lost: MS as i64 + 1_500,
        imbalance: MS as i64,
        walkthrough: 500,
        scheduling: 1_000,
        ..Losses::default()
    };
    assert_eq!(work.losses, expected);
    let serial = scaling.regions.iter().find(|region| region.kind == RegionKind::Serial).unwrap();
    assert_eq!(serial.points[1].losses.serial, 1_500_000);
    assert_eq!(serial.points[1].losses.lost, 1_500_000);
    let whole = scaling.points[1].losses;
    assert_eq!(whole, Losses { lost: expected.lost + 1_500_000, serial: 1_500_000, ..expected });
    let root = &scaling.pop[1].root;
    assert_eq!(root.factors[0].name, "parallel efficiency");
    // All of the loss is parallel, none is more CPU time.
    assert!((root.factors[1].value - 1.0).abs() < 1e-9);
}

/// Issue point 4: nobody's work is uneven; one thread is released late from the first barrier.
#[test]
fn a_late_release_is_blamed_on_the_first_barrier() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = Program::new(threads);
        match threads {
            1 => program.parallel("work", 0, &[Phase::of(&[2 * MS]), Phase::of(&[2 * MS])]),
            _ => program.parallel("work", 0, &[Phase::of(&[MS, MS]).late(&[0, 7_000]), Phase::of(&[MS, MS])]),
        }
        program.run()
    });
    check(&scaling);
    let losses = region(&scaling, "work").points[1].losses;
    assert_eq!(losses, Losses { lost: 7_000, startup: 7_000, ..Losses::default() });
}

#[test]
fn what_one_thread_does_alone_is_serial() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = Program::new(threads);
        let phase = match threads {
            1 => Phase::of(&[3 * MS]).kind(WorkKind::Single),
            _ => Phase::of(&[3 * MS, 0]).kind(WorkKind::Single),
        };
        program.parallel("work", 0, &[phase]);
        program.process.openmp.works.retain(|work| work.thread.index() == 0);
        program.run()
    });
    check(&scaling);
    let losses = region(&scaling, "work").points[1].losses;
    assert_eq!(losses, Losses { lost: 1_500_000, serial: 1_500_000, ..Losses::default() });
}

#[test]
fn more_time_for_the_same_work_is_inflation() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = Program::new(threads);
        let work: &[u64] = if threads == 1 { &[4 * MS] } else { &[3 * MS, 3 * MS] };
        program.parallel("work", 0, &[Phase::of(work)]);
        program.run()
    });
    check(&scaling);
    let losses = region(&scaling, "work").points[1].losses;
    assert_eq!(losses, Losses { lost: MS as i64, inflation: MS as i64, ..Losses::default() });
    let scalability = &scaling.pop[1].root.factors[1];
    assert!((scalability.value - 4.0 / 6.0).abs() < 1e-9);
}

/// The paper's Table 2: two regions with as much time in locks; in one each thread has its own.
#[test]
fn lock_time_is_the_algorithm_without_contention_and_waiting_with() {
    let scaling = scaled(&[1, 4], |threads| {
        let mut program = Program::new(threads);
        let each = vec![10 * MS / u64::from(threads); threads as usize];
        program.parallel("own", 0, &[Phase::of(&each)]);
        program.locks("own", 40_000 / u64::from(threads), (100, 5_100, 50), (0, 0));
        let each = if threads == 1 { vec![10 * MS] } else { vec![3 * MS; 4] };
        program.parallel("one", 0, &[Phase::of(&each)]);
        let waits = if threads == 1 { (0, 0) } else { (400, 600_000) };
        program.locks("one", 800, (10, 600, 55), waits);
        program.run()
    });
    check(&scaling);
    let own = &region(&scaling, "own").points[1];
    // 40,000 acquisitions of 51 ns on average, by four threads.
    assert_eq!((own.costs.lock_algorithm, own.costs.lock_contention), (510_000, 0));
    let one = &region(&scaling, "one").points[1];
    assert_eq!(one.costs.lock_algorithm, 800 * 51);
    assert_eq!(one.costs.lock_contention, 400 * 60 + 600_000 - 800 * 51);
    let own: Vec<_> = region(&scaling, "own").hints.iter().map(|hint| hint.kind).collect();
    let one: Vec<_> = region(&scaling, "one").hints.iter().map(|hint| hint.kind).collect();
    use holdup_scaling::HintKind::{FewerConcurrent, LockHint, QueueLock};
    assert!(own.contains(&LockHint) && !own.contains(&FewerConcurrent), "{own:?}");
    assert!(
        one.contains(&FewerConcurrent) && one.contains(&QueueLock) && !one.contains(&LockHint),
        "{one:?}"
    );
}

#[test]
fn skipped_executions_are_like_those_that_were_recorded() {
    let scaling = scaled(&[1, 2], |threads| {
        let mut program = Program::new(threads);
        let (work, time): (&[u64], u64) =
            if threads == 1 { (&[4_000], 4_000) } else { (&[1_000, 3_000], 3_000) };
        for _ in 0..10 {
            program.parallel("work", 0, &[Phase::of(work)]);
        }
        program.skipped("work", 90, time);
        program.run()
    });
    check(&scaling);
    let work = &region(&scaling, "work").points[1];
    assert_eq!((work.instances, work.whole), (100, 10));
    assert_eq!(work.losses, Losses { lost: 100_000, imbalance: 100_000, ..Losses::default() });
    assert_eq!(work.error, 0.0);
    assert!((scaling.points[1].whole_share.unwrap() - 0.1).abs() < 1e-9);
}

prop_compose! {
    fn any_phase(threads: usize)(work in proptest::collection::vec(0..10_000u64, threads), walk in 0..1_000u64,
                                 late in proptest::collection::vec(0..500u64, threads)) -> Phase {
        Phase::of(&work).walk(walk).late(&late)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// With the same useful work nothing is left unexplained: the parts of fork, barriers and join are all that was lost.
    #[test]
    fn parts_add_up_to_what_was_lost(phases in proptest::collection::vec(any_phase(4), 1..5), fork in 0..500u64,
                                     serial in 0..5_000u64) {
        let useful: u64 = phases.iter().flat_map(|phase| &phase.work).sum();
        let scaling = scaled(&[1, 4], |threads| {
            let mut program = Program::new(threads);
            program.serial(serial);
            match threads {
                1 => program.parallel("work", 0, &[Phase::of(&[useful])]),
                _ => program.parallel("work", fork, &phases),
            }
            program.run()
        });
        check(&scaling);
        // Each part is rounded to a nanosecond.
        let losses = scaling.points[1].losses;
        prop_assert!(losses.unexplained.abs() <= 6, "{:?}", losses);
        prop_assert!(losses.inflation.abs() <= 1, "{:?}", losses);
        prop_assert!(losses.imbalance >= 0 && losses.startup >= 0 && losses.walkthrough >= 0);
    }
}
