//! Profiles to tell of.

use Component::{Cache, Environment, ExtraWork, Memory, Oversubscription, Serial, Synchronization};
use holdup_model::{Frame, Nanos, NotAlone, Site};
use holdup_speedup::instances::{Instances, instances};
use holdup_speedup::{
    Beside, CacheCurve, CacheFacts, CachePoint, Component, Curves, Discarded, Effort, GroupCurve, Missing,
    PhaseKind, PhasePoint, PhaseStack, PointStack, Sensitivity, Speedup, SpeedupLoss, SpeedupProfile,
    SpeedupStack, SpeedupStep, ThiefPoint, Together, Watched,
};

const MIB: u64 = 1 << 20;

pub(crate) fn site(function: &str, file: &str, line: u32) -> Site {
    let frame = Frame {
        function: Some(function.to_owned()),
        file: Some(file.to_owned()),
        line: Some(line),
        module: Some("app".to_owned()),
        ..Frame::default()
    };
    Site { frames: vec![frame], ..Site::default() }
}

/// A stack of these losses; the others are 0 unless they are told together.
pub(crate) fn stack(
    threads: u32,
    lost: &[(Component, f64)],
    together: Option<(&[Component], f64)>,
) -> PointStack {
    let of = together.map_or(&[][..], |(of, _)| of);
    let mut at = Speedup::perfect(threads);
    let mut components = Vec::new();
    let mut curves = Curves { perfect: at, ..Curves::default() };
    let mut imbalance = Speedup::ZERO;
    for component in Component::ALL {
        if of.contains(&component) {
            if of[0] == component {
                at = at - Speedup::of(together.map_or(0.0, |(_, amount)| amount));
            }
            continue;
        }
        let amount = lost.iter().find(|(known, _)| *known == component).map_or(0.0, |(_, amount)| *amount);
        let amount = Speedup::of(amount);
        if component == Synchronization {
            curves.no_sync = at;
            imbalance = Speedup::of(amount.value() / 4.0);
        }
        at = at - amount;
        components.push((component, amount));
        match component {
            Serial => curves.serial = at,
            ExtraWork => curves.extra_work = Some(at),
            Cache => curves.pirate = Some(at),
            _ => {}
        }
    }
    curves.measured = at;
    let together = together.map(|(of, amount)| Together { of: of.to_vec(), amount: Speedup::of(amount) });
    PointStack { curves, components, together, imbalance }
}

fn point(threads: u32, one: f64, stack: PointStack) -> PhasePoint {
    let time = Nanos::new((one / stack.curves.measured.value().max(0.01) * 1e6) as u64);
    PhasePoint { threads, time, instances: 1, stack: Some(stack), ..PhasePoint::default() }
}

fn curve(points: &[(u64, f64, f64)]) -> CacheCurve {
    let point = |&(mib, time, high): &(u64, f64, f64)| CachePoint {
        bytes: mib * MIB,
        time,
        high,
        runs: 3,
        ..CachePoint::default()
    };
    CacheCurve::of(points.iter().map(point).collect())
}

fn group(name: &str, threads: u32) -> GroupCurve {
    GroupCurve {
        name: name.to_owned(),
        threads,
        cpu_share: 0.98,
        cache: Some(2 * MIB),
        curve: curve(&[(2, 1.23, 1.26), (4, 1.04, 1.05), (8, 1.0, 1.01)]),
        bandwidth: vec![
            ThiefPoint { taken: 2_000_000_000, time: 1.01 },
            ThiefPoint { taken: 6_000_000_000, time: 1.04 },
        ],
        sensitivity: Some(Sensitivity { now: 2 * MIB, lost: 0.19, more: 2 * MIB, lost_with_more: 0.04 }),
        takes_over: false,
        control: Some(1.004),
    }
}

/// In kind after swaptions: the cache, a little synchronization.
pub(crate) fn swaptions() -> SpeedupProfile {
    let lost = |k: f64| {
        [
            (Serial, 0.02 * k),
            (ExtraWork, 0.01 * k),
            (Cache, 0.24 * k),
            (Memory, -0.01 * k),
            (Synchronization, 0.08 * k),
        ]
    };
    let points = |one: f64| -> Vec<PhasePoint> {
        vec![
            point(1, one, stack(1, &[], None)),
            point(2, one, stack(2, &lost(1.0), None)),
            point(4, one, stack(4, &lost(3.5), None)),
        ]
    };
    let mut of_phase = points(11_000.0);
    for at in &mut of_phase[1..] {
        at.groups = vec![group("price", at.threads)];
        at.alone_share = Some(0.995);
        at.stretch = Some(Nanos::new(31_000_000));
        at.refill = Some(0.004);
    }
    SpeedupProfile {
        command: ["./swaptions", "-ns", "512", "two words"].map(str::to_owned).to_vec(),
        cores: 4,
        cache: Some(CacheFacts {
            bytes: 8 * MIB,
            nominal: 32 * MIB,
            level: 3,
            refill: Some(Nanos::new(800_000)),
            bandwidth: Some(10_600_000_000),
        }),
        base: 1,
        phases: vec![
            PhaseStack {
                kind: PhaseKind::Whole,
                place: None,
                share: 1.0,
                potential_gain: Some(Nanos::new(1_400_000_000)),
                points: points(12_400.0),
            },
            PhaseStack {
                kind: PhaseKind::ForkJoin,
                place: Some(site("main", "/src/swaptions.c", 88)),
                share: 0.96,
                potential_gain: Some(Nanos::new(1_300_000_000)),
                points: of_phase,
            },
            PhaseStack {
                kind: PhaseKind::Region,
                place: Some(site("merge._omp_fn.0", "/src/merge.c", 12)),
                share: 0.03,
                potential_gain: Some(Nanos::new(60_000_000)),
                points: vec![
                    point(1, 200.0, stack(1, &[], None)),
                    point(4, 200.0, stack(4, &[(ExtraWork, 0.4), (Memory, 1.9)], None)),
                ],
            },
        ],
        effort: Effort {
            runs: 11,
            time: Nanos::new(83_000_000_000),
            in_runs: Some(6.7),
            recording: Some(0.012),
            control: Some(0.004),
            alone: Some(1.9),
        },
        discarded: vec![Discarded {
            threads: 4,
            which: 1,
            cache: 2 * MIB,
            beside: Beside::Pirate,
            phase: None,
            reason: "the pirate missed 9 % of its probes".to_owned(),
        }],
        notes: vec!["Threads wait often.".to_owned()],
        watched: vec![Watched {
            threads: 4,
            which: 0,
            beside: Beside::Pirate,
            cpu: Nanos::new(930_000_000),
            alone: Some(0.995),
            rest: vec![(NotAlone::Woken, 0.003), (NotAlone::Bound, 0.002)],
        }],
        ..SpeedupProfile::default()
    }
}

/// No pirate, more threads than cores, a quota: what is missing, and what helps.
pub(crate) fn missing() -> SpeedupProfile {
    let together: (&[Component], f64) = (&[ExtraWork, Cache, Memory], 0.9);
    let reason = "With 4 threads no run with a thread alone counts: the machine has one core only.";
    let mut last = point(
        4,
        5_000.0,
        stack(4, &[(Oversubscription, 1.2), (Environment, 0.3), (Serial, 0.1)], Some(together)),
    );
    last.missing = [ExtraWork, Cache, Memory]
        .map(|component| Missing { component: Some(component), reason: reason.to_owned() })
        .to_vec();
    let unknown = PhasePoint {
        threads: 4,
        time: Nanos::new(300_000_000),
        missing: vec![Missing {
            component: None,
            reason: "The phase was not seen with 1 thread.".to_owned(),
        }],
        ..PhasePoint::default()
    };
    SpeedupProfile {
        command: vec!["./app".to_owned()],
        cores: 2,
        base: 1,
        phases: vec![
            PhaseStack {
                kind: PhaseKind::Whole,
                share: 1.0,
                potential_gain: Some(Nanos::new(900_000_000)),
                points: vec![point(1, 5_000.0, stack(1, &[], None)), last],
                ..PhaseStack::default()
            },
            PhaseStack {
                kind: PhaseKind::ForkJoin,
                share: 0.2,
                potential_gain: None,
                points: vec![unknown],
                ..PhaseStack::default()
            },
        ],
        notes: vec!["One core only: no pirate can run beside a thread.".to_owned()],
        simulated: vec![SpeedupStack {
            machine: "nehalem".to_owned(),
            cores: 4,
            single: 1000,
            cycles: [300, 350, 350, 400, 400, 420],
            speedup: 2.38,
            losses: vec![
                (SpeedupLoss::ExtraWork, 0.67),
                (SpeedupLoss::Step(SpeedupStep::Caches), 0.48),
                (SpeedupLoss::Step(SpeedupStep::Memory), 0.47),
            ],
        }],
        ..SpeedupProfile::default()
    }
}

/// 403.gcc of the paper, as copies.
pub(crate) fn copies() -> SpeedupProfile {
    let cpi = |mib: u64, cpi: f64, bandwidth: Option<f64>| CachePoint {
        bytes: mib * MIB,
        time: cpi,
        high: cpi,
        runs: 1,
        cpi: Some(cpi),
        bandwidth,
    };
    let of = Instances {
        name: "403.gcc".to_owned(),
        cache: 8 * MIB,
        curve: CacheCurve::of(vec![
            cpi(8, 1.18, None),
            cpi(4, 1.25, Some(0.85e9)),
            cpi(2, 1.32, Some(0.95e9)),
        ]),
        measured: vec![(1, Some(1.0)), (2, None), (4, Some(3.1))],
        bandwidth: Some(3.4e9),
    };
    SpeedupProfile { instances: vec![instances(&of)], cores: 4, ..SpeedupProfile::default() }
}

/// One number of threads.
pub(crate) fn alone() -> SpeedupProfile {
    let mut profile = swaptions();
    for phase in &mut profile.phases {
        phase.points.truncate(1);
    }
    profile
}

/// Three groups of threads, with what the processor's counters say of each: cycles per instruction and bandwidth over the
/// size of the cache (paper 1, Figs. 4 and 7).
pub(crate) fn counted() -> SpeedupProfile {
    let mut profile = swaptions();
    profile.notes = vec!["With 4 threads a lone thread may have waited in a loop.".to_owned()];
    let kinds =
        [("read_blocks", 1, 0.9, 1.9e9), ("compress_block", 2, 1.2, 0.85e9), ("write_blocks", 1, 0.7, 0.0)];
    for point in &mut profile.phases[1].points {
        let of = |&(name, threads, cpi, bandwidth): &(&str, u32, f64, f64)| {
            let mut group = group(name, threads);
            let counted = group.curve.points().iter().map(|at| CachePoint {
                cpi: Some(cpi * at.time),
                bandwidth: Some(bandwidth * at.time * at.time),
                ..*at
            });
            group.curve = CacheCurve::of(counted.collect());
            group.bandwidth.clear();
            group
        };
        point.groups = kinds.iter().map(of).collect();
    }
    profile
}

/// Perfect scaling.
pub(crate) fn perfect() -> SpeedupProfile {
    let mut profile = missing();
    profile.simulated.clear();
    profile.phases.truncate(1);
    profile.phases[0].points[1] = point(4, 5_000.0, stack(4, &[(Serial, 0.01)], None));
    profile
}

/// Numbers that are none, or too large.
pub(crate) fn odd() -> SpeedupProfile {
    let mut profile = swaptions();
    let stack = stack(4, &[(Cache, -7.0), (Memory, 9.0e6), (Synchronization, -9.0e6)], None);
    profile.phases[0].points[2].stack = Some(stack);
    profile.phases[1].share = f64::NAN;
    profile.phases[1].points[2].groups[0].cpu_share = f64::INFINITY;
    profile.effort.in_runs = Some(f64::NAN);
    profile
}

/// A name wherever one can be.
pub(crate) fn hostile(name: &str) -> SpeedupProfile {
    let mut profile = swaptions();
    let name = name.to_owned();
    profile.command = vec![name.clone(), name.clone()];
    for phase in &mut profile.phases {
        if phase.place.is_some() {
            phase.place = Some(site(&name, &name, 3));
        }
        for point in &mut phase.points {
            point.missing = vec![Missing { component: Some(Cache), reason: name.clone() }];
            for group in &mut point.groups {
                group.name = name.clone();
            }
            let more = point.groups.first().cloned();
            point.groups.extend(more);
        }
    }
    profile.discarded[0].phase = Some(name.clone());
    profile.discarded[0].reason = name.clone();
    profile.notes = vec![name.clone()];
    profile.instances = copies().instances;
    profile.instances[0].name = name.clone();
    profile.simulated = missing().simulated;
    profile.simulated[0].machine = name;
    profile
}

/// All of them, with a name each.
pub(crate) fn all() -> Vec<(&'static str, SpeedupProfile)> {
    vec![
        ("swaptions", swaptions()),
        ("missing", missing()),
        ("copies", copies()),
        ("alone", alone()),
        ("counted", counted()),
        ("perfect", perfect()),
        ("odd", odd()),
        ("nothing", SpeedupProfile::default()),
        ("hostile", hostile("\u{1b}[31m<b>\n")),
    ]
}
