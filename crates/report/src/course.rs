//! The course of a longer run: its phases and its worst second.

use std::cmp::Reverse;

use holdup_analysis::{Diagnosis, Phase};
use holdup_model::{Nanos, Process};

use crate::lines::{Line, labelled};
use crate::look::Ink;
use crate::numbers::{counted, figure, time};
use crate::{Look, names};

/// At most so many phases are told.
const MOST: usize = 4;

/// Up to this parallelism a phase is one of a thread alone.
const ALONE: f64 = 1.1;

/// From this share of a phase on, the criticality of one thread is most of it.
const MOSTLY: f64 = 0.5;

/// From this share on, it is all of it.
const ALL: f64 = 0.9;

/// The phases and the worst second of a run that has more than one phase and is long enough to have such a second.
/// Of many phases those in which most threads were not active for longest, in the order in which they came.
pub(crate) fn lines(process: &Process, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let course = &diagnosis.over_time;
    let Some(worst) = course.worst.as_ref().filter(|_| course.phases.len() > 1) else {
        return Vec::new();
    };
    let labels = names::threads(process, look);
    let since = |phase: &Phase| phase.start.since(process.start);
    let mut told: Vec<(usize, &Phase)> = course.phases.iter().enumerate().collect();
    let lost = |phase: &Phase| {
        let idle = (f64::from(diagnosis.workers) - phase.parallelism).max(0.0);
        (idle * phase.end.since(phase.start).get() as f64) as u64
    };
    told.sort_by_key(|(index, phase)| (Reverse(lost(phase)), *index));
    told.truncate(MOST);
    told.sort_by_key(|(index, _)| *index);
    let mut pieces: Vec<String> = told
        .iter()
        .map(|(_, phase)| {
            let end = phase.end.since(process.start);
            format!("{} to {}: {}", moment(since(phase), look), moment(end, look), what(phase, &labels))
        })
        .collect();
    if let Some(more @ 1..) = course.phases.len().checked_sub(MOST) {
        pieces.push(format!("and {}", counted(more as u64, "more phase", "more phases")));
    }
    pieces.push(format!("worst second from {}: {}", moment(since(worst), look), what(worst, &labels)));
    let pieces = pieces.iter().map(|text| Line::default().with(text, Ink::Text)).collect();
    labelled("over time", Ink::Faint, pieces, look)
}

fn moment(from_start: Nanos, look: Look) -> String {
    if from_start == Nanos::ZERO { "0 s".to_owned() } else { time(from_start, look) }
}

/// `main alone`, `1.4 active, mostly main`, `7.8 active`.
fn what(phase: &Phase, labels: &[String]) -> String {
    let length = phase.end.since(phase.start).get() as f64;
    let first = phase.threads.first().and_then(|(thread, critical)| {
        let label = labels.get(thread.index())?;
        Some((label, critical / length))
    });
    let active = figure(phase.parallelism);
    match first {
        Some((label, share)) if share >= ALL && phase.parallelism <= ALONE => format!("{label} alone"),
        Some((label, share)) if share >= MOSTLY => format!("{active} active, mostly {label}"),
        _ => format!("{active} active"),
    }
}
