//! The course of a longer run: its phases and its worst second.

use std::cmp::Reverse;

use holdup_criticality::{Diagnosis, Phase};
use holdup_model::{Arrange, Nanos, Run, Time};

use crate::ink::Ink;
use crate::lines::{Line, labelled};
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

/// Neighbouring phases of which the same is said.
struct Stretch {
    start: Time,
    end: Time,
    what: String,
    /// Worker time in which none was active (ns).
    lost: u64,
}

/// The phases and the worst second of a run that has more than one phase and is long enough to have such a second.
/// Phases of which the same would be said are told as one. Of many, those in which most worker time was not active, in
/// the order in which they came. Times are counted from the start of the run, as `--from` and `--to` do.
pub(crate) fn lines(run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let course = &diagnosis.over_time;
    let Some(worst) = &course.worst else { return Vec::new() };
    let labels = names::threads(&run.processes[diagnosis.process], look);
    let mut stretches: Vec<Stretch> = Vec::new();
    for phase in &course.phases {
        let idle = (f64::from(diagnosis.workers) - phase.parallelism).max(0.0);
        let lost = (idle * phase.end.since(phase.start).get() as f64) as u64;
        let what = what(phase, &labels);
        match stretches.last_mut().filter(|last| last.what == what) {
            Some(last) => (last.end, last.lost) = (phase.end, last.lost.saturating_add(lost)),
            None => stretches.push(Stretch { start: phase.start, end: phase.end, what, lost }),
        }
    }
    if stretches.len() < 2 {
        return Vec::new();
    }
    let mut told: Vec<(usize, &Stretch)> = stretches.iter().enumerate().collect();
    told.arrange_by_key(|(index, stretch)| (Reverse(stretch.lost), *index));
    told.truncate(MOST);
    told.arrange_by_key(|(index, _)| *index);
    let from_start = |time: Time| moment(time.since(run.start), look);
    let mut pieces: Vec<String> = told
        .iter()
        .map(|(_, Stretch { start, end, what, .. })| {
            format!("{} to {}: {what}", from_start(*start), from_start(*end))
        })
        .collect();
    if let Some(more @ 1..) = stretches.len().checked_sub(MOST) {
        pieces.push(format!("and {}", counted(more as u64, "more phase", "more phases")));
    }
    pieces.push(format!("worst second from {}: {}", from_start(worst.start), what(worst, &labels)));
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
