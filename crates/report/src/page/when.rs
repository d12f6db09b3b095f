//! When: how many threads were active in the course of the run, its phases, and the place of the timeline.

use std::fmt::Write;

use askama::Template;
use holdup_criticality::Phase;
use holdup_model::{Nanos, ThreadId};

use super::chart::{across, coordinate, ticks};
use super::text::{Told, percent, time, time_of};
use crate::numbers;

/// The units in which the curve is drawn; the chart is stretched to the room there is.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 120.0;

/// At most so many phases have a row.
const MOST_PHASES: usize = 12;

/// A moment so near to an end of the axis has its label within (share of the axis).
const NEAR: f64 = 0.03;

/// The section.
#[derive(Template)]
#[template(path = "when.html")]
pub(super) struct When {
    lead: String,
    curve: Option<Curve>,
    phases: Vec<Row>,
    more: usize,
    worst: Option<String>,
    slice: String,
    numbers: Vec<(String, String, String)>,
}

struct Curve {
    label: String,
    area: String,
    height: f64,
    grid: Vec<(String, String)>,
    moments: Vec<(String, &'static str, String)>,
    /// Where the mean is, and the number of threads that could have been active.
    mean: (String, String),
    room: Option<(String, String)>,
    bands: Vec<(String, String, String)>,
}

struct Row {
    from: String,
    until: String,
    length: String,
    active: String,
    threads: String,
    nobody: String,
}

impl When {
    pub(super) fn new(told: &Told<'_>) -> Self {
        let course = &told.diagnosis.over_time;
        let steady = course.phases.len() < 2;
        Self {
            lead: if steady {
                "The threads shared the run alike from its start to its end.".to_owned()
            } else {
                format!(
                    "The run has {} phases, in which its threads share the time differently.",
                    numbers::in_words(course.phases.len())
                )
            },
            curve: curve(told),
            phases: if steady {
                Vec::new()
            } else {
                course.phases.iter().take(MOST_PHASES).map(|phase| row(told, phase)).collect()
            },
            more: course.phases.len().saturating_sub(MOST_PHASES),
            worst: course.worst.as_ref().map(|worst| {
                format!(
                    "The worst second begins at {}: {} threads were active.",
                    told.moment(worst.start),
                    numbers::figure(worst.parallelism)
                )
            }),
            slice: time(course.slice),
            numbers: (course.slices.iter())
                .map(|slice| {
                    (told.moment(slice.start), numbers::figure(slice.parallelism), time_of(slice.nobody))
                })
                .collect(),
        }
    }
}

fn row(told: &Told<'_>, phase: &Phase) -> Row {
    let length = phase.end.since(phase.start);
    let share = |(thread, critical): &(ThreadId, f64)| {
        format!("{} {}", told.thread(*thread), percent(critical / length.get().max(1) as f64))
    };
    Row {
        from: told.moment(phase.start),
        until: told.moment(phase.end),
        length: time(length),
        active: numbers::figure(phase.parallelism),
        threads: phase.threads.iter().take(3).map(share).collect::<Vec<_>>().join(", "),
        nobody: time_of(phase.nobody),
    }
}

fn curve(told: &Told<'_>) -> Option<Curve> {
    let (process, diagnosis) = (told.process, told.diagnosis);
    let slices = &diagnosis.over_time.slices;
    let whole = diagnosis.wall.get() as f64;
    if slices.is_empty() || whole <= 0.0 {
        return None;
    }
    let room = f64::from(diagnosis.workers.max(1));
    let most = slices.iter().map(|slice| slice.parallelism).fold(room, f64::max) * 1.04;
    let x = |since: Nanos| coordinate(since.get() as f64, whole, WIDTH);
    let y = |threads: f64| coordinate(most - threads, most, HEIGHT);
    let mut area = format!("M0,{HEIGHT}");
    for (index, slice) in slices.iter().enumerate() {
        let end = slices.get(index + 1).map_or(process.end, |next| next.start);
        let (from, until) = (x(slice.start.since(process.start)), x(end.since(process.start)));
        let height = y(slice.parallelism);
        write!(area, "L{from},{height}L{until},{height}").expect("a String takes all that is written to it");
    }
    write!(area, "L{WIDTH},{HEIGHT}Z").expect("a String takes all that is written to it");
    let label_of = |threads: f64| {
        if threads.fract() == 0.0 { format!("{threads:.0}") } else { format!("{threads:.1}") }
    };
    let begins = process.start.since(told.run.start);
    let end = begins.get() as f64 + whole;
    let in_time = ticks(end, 6.0).into_iter().filter(|at| *at >= begins.get() as f64 - NEAR * whole);
    let moments = in_time.map(|at| {
        let at_start = at - begins.get() as f64;
        let anchor = match at_start / whole {
            share if share < NEAR => "start",
            share if share > 1.0 - NEAR => "end",
            _ => "middle",
        };
        let label = if at == 0.0 { "0\u{a0}s".to_owned() } else { time_of(at) };
        (across(at_start, whole), anchor, label)
    });
    let bands = diagnosis.over_time.phases.iter().map(|phase| {
        let (from, length) = (phase.start.since(process.start), phase.end.since(phase.start));
        let title = format!(
            "{} to {}\n{} active",
            told.moment(phase.start),
            told.moment(phase.end),
            numbers::figure(phase.parallelism)
        );
        (across(from.get() as f64, whole), across(length.get() as f64, whole), title)
    });
    let mean = numbers::figure(diagnosis.parallelism);
    let cores = f64::from(diagnosis.effective_cores);
    Some(Curve {
        label: format!(
            "Active threads over time: {mean} on average, between {} and {}",
            numbers::figure(slices.iter().map(|slice| slice.parallelism).fold(f64::INFINITY, f64::min)),
            numbers::figure(slices.iter().map(|slice| slice.parallelism).fold(0.0, f64::max)),
        ),
        area,
        height: HEIGHT,
        grid: ticks(most, 3.0).into_iter().map(|threads| (y(threads), label_of(threads))).collect(),
        moments: moments.collect(),
        mean: (y(diagnosis.parallelism), format!("mean {mean}")),
        room: (cores > 0.0 && cores < most).then(|| {
            (y(cores), if cores == 1.0 { "1 core".to_owned() } else { format!("{cores:.0} cores") })
        }),
        bands: if diagnosis.over_time.phases.len() > 1 { bands.collect() } else { Vec::new() },
    })
}
