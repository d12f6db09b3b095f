//! What the kernel collector adds: samples, context switches, the course of the run.

use holdup_criticality::{Diagnosis, FindingKind, HotSpot, HotSpots, OverTime, Phase, Slice};
use holdup_model::{Doing, Nanos, Process, Run, Sample, SeenBy, SiteId, Time};

use super::{MS, diagnosis, finding, ms, planted_lock, process, run, site, thread};

pub(crate) fn at(milliseconds: u64) -> Time {
    Time::from_nanos(milliseconds * MS)
}

fn spot(process: &Process, place: SiteId, active: u64, critical: u64, samples: u64) -> HotSpot {
    HotSpot {
        place,
        function: process.site(place).place().and_then(|frame| frame.function.clone()),
        inside: None,
        active: ms(active),
        critical: (critical * MS) as f64,
        samples,
        threads: vec![(thread(0), ms(active))],
    }
}

/// So many samples of the first thread, at even distances, all of one place.
fn look_at(process: &mut Process, samples: u64, place: SiteId) {
    let wall = process.wall().get();
    let sample = |index| Sample {
        thread: thread(0),
        time: Time::from_nanos(wall * index / samples),
        doing: Doing::Running,
        site: Some(place),
        weight: Nanos::new(wall / samples),
        access: None,
        in_kernel: None,
    };
    process.samples = (0..samples).map(sample).collect();
    process.covered = vec![(process.start, process.end)];
    process.seen_by.kernel = true;
}

fn phase(start: u64, end: u64, parallelism: f64, first: (u32, f64)) -> Phase {
    let length = ((end - start) * MS) as f64;
    Phase {
        start: at(start),
        end: at(end),
        parallelism,
        threads: vec![(thread(first.0), first.1 * length)],
        nobody: 0.0,
    }
}

/// Adds what the kernel saw of the planted lock: four lines, the first of them not the hottest, and three phases.
pub(crate) fn sample_it(run: &mut Run, told: &mut Diagnosis) {
    let process = &mut run.processes[told.process];
    let lines = [("crunch", "x.c", 88), ("parse_row", "rows.c", 1204), ("main", "convert.c", 7)]
        .map(|(function, file, line)| site(process, function, file, line));
    look_at(process, 1_532, lines[0]);
    process.seen_by.preload = true;
    run.collectors = vec!["preload".to_owned(), "kernel".to_owned()];
    let mut spots = vec![
        spot(process, lines[0], 12_900, 7_500, 521),
        spot(process, lines[1], 19_000, 2_900, 767),
        spot(process, lines[2], 1_900, 1_100, 77),
    ];
    spots[1].inside = Some("memcpy".to_owned());
    told.hot = Some(HotSpots {
        functions: spots.clone(),
        lines: spots,
        samples: 1_532,
        broken_stacks: 0.004,
        active: ms(38_000),
        critical: 12_300.0 * MS as f64,
    });
    let slice = |start| Slice {
        start: at(start),
        parallelism: 3.1,
        threads: vec![(thread(0), 20.0 * MS as f64)],
        nobody: 4.0 * MS as f64,
    };
    told.over_time = OverTime {
        slice: ms(62),
        slices: (0..200).map(|index| slice(62 * index)).collect(),
        phases: vec![
            phase(0, 1_240, 1.0, (0, 0.97)),
            phase(1_240, 11_200, 3.6, (2, 0.3)),
            phase(11_200, 12_400, 1.4, (0, 0.62)),
        ],
        worst: Some(phase(11_400, 12_400, 1.2, (0, 0.7))),
    };
}

/// The planted lock on two cores, seen by both collectors.
pub(crate) fn sampled_lock() -> (Run, Vec<Diagnosis>) {
    let (mut run, mut diagnoses) = planted_lock();
    sample_it(&mut run, &mut diagnoses[0]);
    run.cores = 2;
    (diagnoses[0].cores, diagnoses[0].effective_cores) = (2, 2);
    diagnoses[0].parallelism = 1.9;
    diagnoses[0].on_cpu_parallelism = Some(1.9);
    diagnoses[0].efficiency = 0.95;
    for times in &mut diagnoses[0].threads {
        times.descheduled = ms(2_000);
        times.waiting = times.waiting.saturating_sub(ms(2_000));
    }
    (run, diagnoses)
}

/// A Go program: the kernel alone saw it, and not from its start.
pub(crate) fn kernel_only() -> (Run, Vec<Diagnosis>) {
    let mut process = process("./serve", 100, 4_000, &["serve"; 6]);
    let crunch = site(&mut process, "main.crunch", "/src/serve/x.go", 20);
    look_at(&mut process, 31, crunch);
    process.seen_by = SeenBy { preload: false, kernel: true };
    process.covered = vec![(at(1_000), at(4_000))];
    let mut told = diagnosis(&process, 0, &[0.9, 0.1, 0.0, 0.0, 0.0, 0.0], &[0.85, 0.05, 0.0, 0.0, 0.0, 0.0]);
    told.hot = Some(HotSpots {
        lines: vec![spot(&process, crunch, 3_000, 2_800, 31)],
        functions: vec![spot(&process, crunch, 3_000, 2_800, 31)],
        samples: 31,
        broken_stacks: 0.0,
        active: ms(3_000),
        critical: 2_800.0 * MS as f64,
    });
    told.findings = vec![finding(
        FindingKind::Serial,
        "only one thread at a time at work, mostly in main.crunch (x.go:20)",
        ms(2_500),
    )];
    let mut run = run(vec![process]);
    run.collectors = vec!["kernel".to_owned()];
    run.unseen = vec!["serve (pid 100) is a Go program: its locks were not recorded.".to_owned()];
    (run, vec![told])
}
