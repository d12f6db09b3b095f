//! Recordings that pages are made of.

use holdup_criticality::{Curve, CurvePoint, Diagnosis, Gain, WhatIf, diagnose};
use holdup_model::{Nanos, ObjectKind, Process, Run, Time};
use holdup_testkit::{Op, Script};
use scraper::{ElementRef, Html, Selector};

pub(crate) const MS: u64 = 1_000_000;

/// Three workers that take turns with one lock, then meet at a barrier to which the last one comes late.
pub(crate) fn planted() -> Process {
    let mut script = Script::new();
    let lock = script.object(ObjectKind::Mutex, "table_lock");
    let barrier = script.object(ObjectKind::Barrier, "round_end");
    let [update, meet] = [("update", 12), ("meet", 40)].map(|(name, line)| script.site(name, line));
    let workers: Vec<_> = (0..3)
        .map(|worker| {
            let mut ops = Vec::new();
            for _ in 0..4 {
                ops.extend([Op::Work(MS), Op::Lock(lock, update), Op::Work(4 * MS), Op::Unlock(lock)]);
            }
            ops.extend([Op::Work(if worker == 2 { 20 * MS } else { MS }), Op::Meet(barrier, meet)]);
            script.thread(&format!("worker {worker}"), ops)
        })
        .collect();
    script.main_runs(&workers);
    let mut process = script.play();
    process.command = vec!["/usr/bin/convert".to_owned(), "photos/".to_owned()];
    process.pid = 7;
    process
}

pub(crate) fn run(processes: Vec<Process>) -> Run {
    Run {
        recorded_by: "0.1.0".to_owned(),
        command: processes.first().map(|process| process.command.clone()).unwrap_or_default(),
        start: Time::from_nanos(0),
        end: processes.iter().map(|process| process.end).max().unwrap_or_default(),
        cores: 4,
        processes,
        ..Run::default()
    }
}

pub(crate) fn diagnosed(run: &Run) -> Vec<Diagnosis> {
    (0..run.processes.len()).map(|index| diagnose(run, index)).collect()
}

/// The diagnosis with gains of half of each cost and two curves, as a replay could give them. `name` is in every text.
pub(crate) fn with_gains(mut diagnosis: Diagnosis, name: &str) -> Diagnosis {
    let half = |time: Nanos| Nanos::new(time.get() / 2);
    for finding in &mut diagnosis.findings {
        finding.gain = Some(Gain {
            time: half(finding.cost),
            low: half(half(finding.cost)),
            high: finding.cost,
            expression: format!("lock:{name}=0"),
            capped_by: Some(format!("the barrier {name}")),
        });
    }
    let wall = diagnosis.wall;
    let point = |at: f64, wall: Nanos| CurvePoint { at, wall, low: half(wall), high: wall + Nanos::new(MS) };
    diagnosis.what_if = Some(WhatIf {
        replayed: wall + Nanos::new(MS),
        all_together: Some(Gain {
            time: half(wall),
            low: half(half(wall)),
            high: half(wall),
            expression: name.to_owned(),
            capped_by: None,
        }),
        curves: vec![
            Curve {
                what: format!("critical sections of {name} made cheaper"),
                finding: Some(0),
                axis: "times shorter",
                points: vec![
                    point(1.0, wall),
                    point(2.5, half(wall)),
                    point(f64::INFINITY, half(half(wall))),
                ],
            },
            Curve {
                what: format!("{name} alone"),
                finding: None,
                axis: "cores",
                points: vec![point(1.0, wall)],
            },
            Curve { what: "no point".to_owned(), finding: None, axis: "threads", points: Vec::new() },
        ],
        notes: vec![format!("the holds of {name} were not recorded")],
    });
    diagnosis
}

pub(crate) fn select<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).expect("a selector")).collect()
}

/// The text of an element with its white space as a browser would show it.
pub(crate) fn text(element: ElementRef<'_>) -> String {
    element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}
