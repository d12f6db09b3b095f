//! Scaling analyses of several shapes.

use holdup_model::{Efficiency, Frame, Nanos, Site};
use holdup_scaling::{
    Efficiencies, FittedLaw, Hint, HintGain, HintKind, LawKind, LawParameter, LawPrediction, Losses,
    Measured, RegionKind, RegionPoint, RegionScaling, Scaling, WholePoint,
};

pub(crate) const MS: i64 = 1_000_000;

pub(crate) const UNEVEN: &str = "The iterations of the loop at blts (lu.c:91) cost differently, and each thread has a \
    fixed share of them: 720 ms (40 % of the region) are lost. Deal them out dynamically (schedule(dynamic)). Even work \
    keeps more threads busy at once, and takes 1.3 % more CPU time then: that is in the gain";

pub(crate) fn ms(milliseconds: u64) -> Nanos {
    Nanos::new(milliseconds * MS as u64)
}

pub(crate) fn site(function: &str, file: &str, line: u32) -> Site {
    let frame = Frame {
        function: Some(function.to_owned()),
        file: Some(format!("src/{file}")),
        line: Some(line),
        module: Some("lu".to_owned()),
        address: 0x1234,
        ..Default::default()
    };
    Site { frames: vec![frame], ..Site::default() }
}

/// A time that was measured three times, at most two per cent off.
fn thrice(median: Nanos) -> Measured {
    let off = median.get() / 50;
    let (low, high) = (Nanos::new(median.get() - off / 2), Nanos::new(median.get() + off));
    Measured { median, low, high, runs: 3 }
}

/// Losses of these milliseconds: imbalance, lock contention, scheduling, work inflation; what is left of `lost` is
/// unexplained.
fn losses(lost: i64, [imbalance, contention, scheduling, inflation]: [i64; 4]) -> Losses {
    Losses {
        lost: lost * MS,
        imbalance: imbalance * MS,
        lock_contention: contention * MS,
        scheduling: scheduling * MS,
        inflation: inflation * MS,
        unexplained: (lost - imbalance - contention - scheduling - inflation) * MS,
        ..Losses::default()
    }
}

fn whole(base: &WholePoint, threads: u32, wall: u64, parts: [i64; 4]) -> WholePoint {
    let perfect = base.wall.median.get() as f64 * f64::from(base.threads) / f64::from(threads);
    let speedup = base.wall.median.get() as f64 / ms(wall).get() as f64;
    let lost = wall as i64 - (perfect / MS as f64) as i64;
    WholePoint {
        threads,
        wall: thrice(ms(wall)),
        speedup,
        efficiency: speedup * f64::from(base.threads) / f64::from(threads),
        losses: losses(lost, parts),
        costs: losses(lost + 10, parts),
        whole_share: Some(0.83),
    }
}

fn base(threads: u32, wall: u64) -> WholePoint {
    WholePoint {
        threads,
        wall: thrice(ms(wall)),
        speedup: 1.0,
        efficiency: 1.0,
        losses: Losses::default(),
        costs: losses(60, [0, 0, 40, 0]),
        whole_share: Some(1.0),
    }
}

fn region_points(points: &[(u32, u64, [i64; 4])], instances: u64) -> Vec<RegionPoint> {
    let (base_threads, base_time, _) = points[0];
    let point = |&(threads, time, parts): &(u32, u64, [i64; 4])| {
        let speedup = base_time as f64 / time as f64;
        let perfect = base_time * u64::from(base_threads) / u64::from(threads);
        RegionPoint {
            threads,
            team: f64::from(threads),
            instances,
            whole: instances.min(40),
            time: thrice(ms(time)),
            error: if instances > 40 { 0.03 } else { 0.0 },
            speedup,
            efficiency: speedup * f64::from(base_threads) / f64::from(threads),
            losses: losses(time as i64 - perfect as i64, parts),
            costs: losses(time as i64 - perfect as i64 + 10, parts),
        }
    };
    points.iter().map(point).collect()
}

fn region(kind: RegionKind, place: Option<Site>, points: Vec<RegionPoint>) -> RegionScaling {
    let gain = points.last().map_or(0, |last| last.losses.lost.max(0));
    RegionScaling {
        kind,
        place,
        nested: false,
        points,
        potential_gain: Nanos::new(gain.unsigned_abs()),
        hints: Vec::new(),
        law: None,
    }
}

fn hint(kind: HintKind, region: usize, text: &str, gain: Option<[i64; 3]>, bound: bool) -> Hint {
    Hint {
        kind,
        region: Some(region),
        place: (region == 0).then(|| site("blts._omp_fn.0", "lu.c", 91)),
        text: text.to_owned(),
        gain: gain.map(|[time, low, high]| HintGain { time: time * MS, low: low * MS, high: high * MS }),
        bound,
        method: "chunks dealt out again in replayed time".to_owned(),
    }
}

fn law(wall: u64) -> FittedLaw {
    let serial = 0.14;
    let time = |threads: u32, serial: f64| {
        Nanos::new((ms(wall).get() as f64 * (serial + (1.0 - serial) / f64::from(threads))).round() as u64)
    };
    let efficiency = |threads: u32, serial: f64| 1.0 / (serial * f64::from(threads) + 1.0 - serial);
    FittedLaw {
        kind: LawKind::Amdahl,
        formula: "T(n) = 12.4 s · (0.14 + 0.86 / n)".to_owned(),
        parameters: vec![LawParameter {
            name: "serial share s".to_owned(),
            value: serial,
            low: 0.13,
            high: 0.152,
        }],
        cross_validation_error: 0.021,
        predictions: [1, 2, 4, 8, 16, 32, 64]
            .map(|threads| LawPrediction {
                threads,
                time: time(threads, serial),
                low: time(threads, 0.13),
                high: time(threads, 0.152),
                efficiency: efficiency(threads, serial),
                efficiency_low: efficiency(threads, 0.152),
                efficiency_high: efficiency(threads, 0.13),
            })
            .into(),
        dominated_by: Some(0),
    }
}

fn leaf(name: &str, value: f64) -> Efficiency {
    Efficiency { name: name.to_owned(), value, factors: Vec::new() }
}

fn product(name: &str, factors: Vec<Efficiency>) -> Efficiency {
    Efficiency { name: name.to_owned(), value: factors.iter().map(|factor| factor.value).product(), factors }
}

fn efficiencies(threads: u32, balance: f64, runtime: f64, computation: f64) -> Efficiencies {
    let parallel = product(
        "parallel region efficiency",
        vec![leaf("load balance", balance), leaf("runtime and synchronization", runtime)],
    );
    let root = product("parallel efficiency", vec![parallel, leaf("computational scalability", computation)]);
    Efficiencies { threads, root }
}

/// A program whose largest region is uneven, with everything that an analysis can tell.
pub(crate) fn lu() -> Scaling {
    let first = base(1, 12_400);
    let mut regions = vec![
        RegionScaling {
            hints: vec![hint(HintKind::Schedule, 0, UNEVEN, Some([710, 640, 760]), false)],
            law: Some(FittedLaw { dominated_by: None, ..law(7_100) }),
            ..region(
                RegionKind::Parallel,
                Some(site("blts._omp_fn.0", "lu.c", 88)),
                region_points(
                    &[
                        (1, 7_100, [0; 4]),
                        (2, 3_900, [230, 0, 10, 90]),
                        (4, 2_400, [470, 20, 20, 90]),
                        (8, 1_800, [720, 70, 30, 60]),
                    ],
                    250,
                ),
            )
        },
        region(
            RegionKind::Parallel,
            Some(site("rhs.omp_outlined", "rhs.c", 31)),
            region_points(
                &[
                    (1, 5_000, [0; 4]),
                    (2, 2_600, [40, 0, 0, 50]),
                    (4, 1_450, [60, 0, 10, 110]),
                    (8, 1_000, [80, 0, 20, 260]),
                ],
                40,
            ),
        ),
        region(
            RegionKind::Serial,
            None,
            region_points(&[(1, 300, [0; 4]), (2, 300, [0; 4]), (4, 300, [0; 4]), (8, 300, [0; 4])], 291),
        ),
    ];
    // What no part explains of the third region is that one thread is alone.
    for point in &mut regions[2].points {
        point.losses.serial = std::mem::take(&mut point.losses.unexplained);
    }
    // The second one takes a lock that nobody else wants: that costs as much with one thread.
    for point in &mut regions[1].points {
        point.costs.lock_algorithm = point.time.median.get() as i64 / 10;
    }
    let mut points = vec![
        first.clone(),
        whole(&first, 2, 6_800, [270, 0, 10, 140]),
        whole(&first, 4, 4_150, [530, 20, 30, 200]),
        whole(&first, 8, 3_100, [800, 70, 50, 320]),
    ];
    for (point, alone) in points.iter_mut().zip(&regions[2].points) {
        point.losses.serial = alone.losses.serial;
        point.losses.unexplained -= alone.losses.serial;
    }
    Scaling {
        command: ["./lu", "-n", "512", "two words"].map(str::to_owned).into(),
        cores: 8,
        used_by_others: None,
        ignored: None,
        points,
        hints: vec![
            hint(HintKind::Schedule, 0, UNEVEN, Some([710, 640, 760]), false),
            hint(
                HintKind::Memory,
                1,
                "The same work takes 43 % more CPU time with 8 threads than with 1: caches and memory are shared. Let each \
                 thread work on data of its own that stays in its cache, and write nothing that others read nearby.",
                Some([260, 260, 260]),
                true,
            ),
            hint(
                HintKind::Parallelize,
                2,
                "One thread is on its own for 300 ms (9.7 % of the run). Parallelize that",
                None,
                false,
            ),
        ],
        law: Some(law(12_400)),
        pop: vec![
            efficiencies(1, 1.0, 1.0, 1.0),
            efficiencies(2, 0.96, 0.99, 0.96),
            efficiencies(4, 0.86, 0.95, 0.91),
            efficiencies(8, 0.71, 0.85, 0.83),
        ],
        notes: vec!["With 8 threads the machine was busy with 0.4 other threads on average".to_owned()],
        regions,
    }
}

/// Only one number of threads.
pub(crate) fn one_point() -> Scaling {
    let mut one = lu();
    one.points.truncate(1);
    one.regions.iter_mut().for_each(|region| {
        region.points.truncate(1);
        region.potential_gain = Nanos::ZERO;
    });
    one.pop.truncate(1);
    Scaling { law: None, hints: Vec::new(), ..one }
}

/// It uses as many threads as it likes.
pub(crate) fn ignored() -> Scaling {
    let mut ignored = lu();
    ignored.ignores_threads(
        "2 threads worked each time, whatever OMP_NUM_THREADS said. Put {threads} where its arguments take a number".to_owned(),
    );
    ignored
}

/// It scales better than perfectly, since the same work takes less CPU time.
pub(crate) fn superlinear() -> Scaling {
    let first = base(2, 9_000);
    let points = [(2, 9_000, [0; 4]), (8, 1_800, [50, 0, 0, -480])];
    Scaling {
        command: vec!["./stencil".to_owned()],
        points: vec![first.clone(), whole(&first, 8, 1_800, [50, 0, 0, -480])],
        regions: vec![region(
            RegionKind::Section,
            Some(site("step", "stencil.c", 12)),
            region_points(&points, 3),
        )],
        ..Scaling::default()
    }
}

/// More threads make it slower, causes explain more than is lost, and no law fits.
pub(crate) fn slower() -> Scaling {
    let first = base(1, 1_000);
    Scaling {
        points: vec![
            first.clone(),
            whole(&first, 2, 900, [600, 0, 0, 0]),
            whole(&first, 4, 1_700, [0, 1_300, 900, -100]),
        ],
        regions: vec![region(RegionKind::Parallel, None, Vec::new())],
        cores: 2,
        ..lu()
    }
}

/// Two hundred regions and sixty-four numbers of threads.
pub(crate) fn large() -> Scaling {
    let first = base(1, 64_000);
    let mut large = lu();
    large.points = (2..=64).fold(vec![first.clone()], |mut points, threads| {
        points.push(whole(
            &first,
            threads,
            64_000 / u64::from(threads) + 40 * u64::from(threads),
            [3, 0, 1, 2],
        ));
        points
    });
    large.pop = (1..=64).map(|threads| efficiencies(threads, 0.9, 0.9, 0.9)).collect();
    large.regions = (0..200)
        .map(|index| {
            let points: Vec<(u32, u64, [i64; 4])> = (1..=64)
                .step_by(7)
                .map(|threads| (threads, (3_000 - 9 * index) / u64::from(threads) + 30, [20, 1, 0, 0]))
                .collect();
            let line = index as u32 + 1;
            region(
                RegionKind::Parallel,
                Some(site(&format!("f{index}"), "f.c", line)),
                region_points(&points, 9_000),
            )
        })
        .collect();
    large.hints = (0..40)
        .map(|region| hint(HintKind::Barriers, region, "Join the two loops", Some([9, 1, 20]), true))
        .collect();
    large.notes = (0..30).map(|note| format!("Note {note}.")).collect();
    large
}

/// Every text that can hold a name holds this one.
pub(crate) fn hostile(name: &str) -> Scaling {
    let mut hostile = lu();
    let bad = Site {
        frames: vec![Frame {
            function: Some(name.to_owned()),
            file: Some(format!("dir/{name}")),
            line: Some(3),
            module: Some(name.to_owned()),
            ..Frame::default()
        }],
        ..Site::default()
    };
    let spoil = |hint: &mut Hint| {
        (hint.text, hint.method, hint.place) = (name.to_owned(), name.to_owned(), Some(bad.clone()));
    };
    let spoil_law = |law: &mut FittedLaw| {
        law.formula = name.to_owned();
        law.parameters.iter_mut().for_each(|parameter| parameter.name = name.to_owned());
    };
    for region in &mut hostile.regions {
        region.place = Some(bad.clone());
        region.hints.iter_mut().for_each(spoil);
        region.law.iter_mut().for_each(spoil_law);
    }
    hostile.hints.iter_mut().for_each(spoil);
    hostile.law.iter_mut().for_each(spoil_law);
    for point in &mut hostile.pop {
        point.root.name = name.to_owned();
        point.root.factors.iter_mut().for_each(|factor| factor.name = name.to_owned());
    }
    hostile.command = vec![name.to_owned(), name.to_owned()];
    hostile.notes = vec![name.to_owned(); 2];
    hostile
}

/// Numbers that no program gives: nothing may break on them.
pub(crate) fn extreme() -> Scaling {
    let mut extreme = lu();
    let values = [f64::NAN, f64::INFINITY, -1.0, 0.0];
    for (point, value) in extreme.points.iter_mut().zip(values) {
        (point.speedup, point.efficiency) = (value, value);
        point.losses =
            Losses { lost: i64::MIN, imbalance: i64::MAX, unexplained: i64::MIN, ..Losses::default() };
        point.wall =
            Measured { median: Nanos::new(u64::MAX), low: Nanos::new(u64::MAX), high: Nanos::ZERO, runs: 2 };
    }
    for region in &mut extreme.regions {
        region.potential_gain = Nanos::new(u64::MAX);
        for (point, value) in region.points.iter_mut().zip(values) {
            (point.team, point.error, point.efficiency) = (value, value, value);
            (point.instances, point.whole) = (u64::MAX, 0);
            point.time.median = Nanos::ZERO;
        }
    }
    for hint in &mut extreme.hints {
        hint.region = Some(usize::MAX);
        hint.gain = Some(HintGain { time: i64::MAX, low: i64::MIN, high: i64::MAX });
    }
    let law = extreme.law.as_mut().expect("a law");
    law.dominated_by = Some(usize::MAX);
    law.cross_validation_error = f64::NAN;
    for prediction in &mut law.predictions {
        (prediction.time, prediction.low, prediction.high) = (Nanos::ZERO, Nanos::new(u64::MAX), Nanos::ZERO);
        (prediction.efficiency, prediction.efficiency_low) = (f64::NAN, f64::NEG_INFINITY);
    }
    law.predictions[6].threads = u32::MAX;
    extreme.points[0].threads = 0;
    for point in &mut extreme.pop {
        point.root.value = f64::NAN;
    }
    extreme.pop[3].root.factors.reverse();
    extreme
}

/// All shapes by name.
pub(crate) fn all() -> Vec<(&'static str, Scaling)> {
    vec![
        ("lu", lu()),
        ("one point", one_point()),
        ("ignored", ignored()),
        ("superlinear", superlinear()),
        ("slower", slower()),
        ("no law", Scaling { law: None, ..lu() }),
        ("no regions", Scaling { regions: Vec::new(), ..lu() }),
        ("large", large()),
        ("nothing", Scaling::default()),
        ("hostile", hostile("\u{202e}<b>\u{1b}[2J&\n\0\"")),
        ("extreme", extreme()),
    ]
}
