//! Where each finding happens most: the part of the run, and the span in it, to which a reader can jump.

use std::collections::BTreeSet;

use holdup_criticality::{Diagnosis, Finding, FindingKind};
use holdup_model::{Nanos, ObjectId, ThreadId, Time, Timeline};

use super::budget;
use super::coverage::Grid;
use super::spans::Span;
use crate::page::shade::Shade;

/// How the spans of a finding are known.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Sign {
    /// Waits for one of these objects, or spinning at it.
    Objects(BTreeSet<ObjectId>),
    /// One of these shades, whatever it is about.
    Shades(&'static [Shade]),
    /// No more than one thread is active.
    Alone,
    /// From the start of the run until the last working thread has started.
    Start,
}

const WAITS: &[Shade] = &[Shade::Lock, Shade::Barrier, Shade::Signal, Shade::Spinning, Shade::Waking];

/// Up to this many active threads on average a tile is one of a thread alone.
const ALONE: f64 = 1.1;

impl Sign {
    fn of(finding: &Finding) -> Sign {
        use FindingKind as Kind;
        match (finding.kind, finding.object) {
            (Kind::Serial, _) => Sign::Alone,
            (Kind::Startup, _) => Sign::Start,
            (Kind::Spin, None) => Sign::Shades(&[Shade::Spinning]),
            (Kind::WakeUp, None) => Sign::Shades(&[Shade::Waking]),
            (Kind::Io, _) => Sign::Shades(&[Shade::Io]),
            (Kind::Sleep, _) => Sign::Shades(&[Shade::Asleep]),
            (Kind::Quota | Kind::Affinity | Kind::Oversubscription | Kind::Delayed, _) => {
                Sign::Shades(&[Shade::Descheduled])
            }
            (_, Some(object)) => Sign::Objects(finding.others.iter().copied().chain([object]).collect()),
            (Kind::Lock, None) => Sign::Shades(&[Shade::Lock]),
            (Kind::Barrier | Kind::Imbalance | Kind::Join, None) => Sign::Shades(&[Shade::Barrier]),
            (_, None) => Sign::Shades(&[Shade::Signal]),
        }
    }

    fn is_in(&self, span: &Span) -> bool {
        match self {
            Sign::Objects(objects) => {
                span.what.object.is_some_and(|object| objects.contains(&object))
                    && WAITS.contains(&span.what.shade)
            }
            Sign::Shades(shades) => shades.contains(&span.what.shade),
            Sign::Alone | Sign::Start => false,
        }
    }
}

/// What was found of one finding so far.
struct Trace {
    sign: Sign,
    /// By tile: its time in it, of all threads together (ns).
    time: Vec<u64>,
    occurrences: u64,
}

/// Looks for the findings in the spans of a run.
pub(super) struct Search {
    tiles: Grid,
    traces: Vec<Trace>,
    /// By tile: time of active threads (ns).
    active: Vec<u64>,
}

/// Where a finding happens most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Focus {
    /// The rank of the finding, from 0.
    pub(super) finding: usize,
    /// The first of the tiles.
    pub(super) from: usize,
    /// The one behind the last.
    pub(super) to: usize,
}

impl Search {
    /// For the findings that a person reads.
    pub(super) fn of(diagnosis: &Diagnosis, tiles: Grid) -> Search {
        let findings = &diagnosis.findings[..diagnosis.findings.len().min(budget::FINDINGS)];
        let trace = |finding| Trace { sign: Sign::of(finding), time: vec![0; tiles.bins], occurrences: 0 };
        Search { tiles, traces: findings.iter().map(trace).collect(), active: vec![0; tiles.bins] }
    }

    pub(super) fn look_at(&mut self, span: &Span) {
        if matches!(span.what.shade, Shade::Active | Shade::Holding) {
            self.tiles.spread(span.start, span.end, |tile, length| {
                let active = &mut self.active[tile];
                *active = active.saturating_add(length);
            });
            return;
        }
        for trace in self.traces.iter_mut().filter(|trace| trace.sign.is_in(span)) {
            trace.occurrences += 1;
            self.tiles.spread(span.start, span.end, |tile, length| {
                let time = &mut trace.time[tile];
                *time = time.saturating_add(length);
            });
        }
    }

    /// Where each finding happens most; none for those that do not show in the timeline.
    pub(super) fn result(mut self, timeline: &Timeline, diagnosis: &Diagnosis) -> Vec<Focus> {
        let mut focuses = Vec::new();
        for (finding, mut trace) in self.traces.drain(..).enumerate() {
            match trace.sign {
                Sign::Start => {
                    let starts = diagnosis.working_threads.iter().map(|thread| timeline.row(*thread).start);
                    let last = starts.max().unwrap_or(timeline.start);
                    focuses.push(Focus {
                        finding,
                        from: 0,
                        to: (self.tiles.index(last) + 2).min(self.tiles.bins),
                    });
                    continue;
                }
                Sign::Alone => {
                    let most = self.tiles.bin as f64 * ALONE;
                    let mut before = false;
                    for (tile, active) in self.active.iter().enumerate() {
                        let is_alone = *active > 0 && (*active as f64) <= most;
                        trace.time[tile] = u64::from(is_alone);
                        trace.occurrences += u64::from(is_alone && !before);
                        before = is_alone;
                    }
                }
                Sign::Objects(_) | Sign::Shades(_) => {}
            }
            if trace.occurrences > 0 {
                let (from, to) = most(&trace.time, trace.occurrences);
                focuses.push(Focus { finding, from, to });
            }
        }
        focuses
    }
}

/// The longest span of a finding in its focus: the thread, and a time in the span.
pub(super) fn example(
    finding: &Finding,
    from: Time,
    to: Time,
    spans: impl Iterator<Item = (ThreadId, Span)>,
) -> Option<(ThreadId, Time)> {
    let sign = Sign::of(finding);
    let first = finding.threads.first();
    let mut longest: Option<(Nanos, ThreadId, Time)> = None;
    for (thread, span) in spans {
        let (start, end) = (span.start.max(from), span.end.min(to));
        let shows = match &sign {
            Sign::Alone | Sign::Start => {
                first == Some(&thread) && matches!(span.what.shade, Shade::Active | Shade::Holding)
            }
            sign => sign.is_in(&span),
        };
        let length = end.since(start);
        if shows && longest.is_none_or(|longest| length > longest.0) {
            longest = Some((length, thread, start + Nanos::new(length.get() / 2)));
        }
    }
    longest.map(|(_, thread, at)| (thread, at))
}

/// The part of some tiles with the most time among those that are as long as [`budget::OCCURRENCES`] take on average:
/// where it begins and ends. The earliest of equal ones.
fn most(time: &[u64], occurrences: u64) -> (usize, usize) {
    let share = budget::OCCURRENCES as f64 / occurrences as f64;
    let length = ((time.len() as f64 * share).ceil() as usize).clamp(1, time.len());
    let mut sum: u128 = time[..length].iter().map(|time| u128::from(*time)).sum();
    let (mut best, mut from) = (sum, 0);
    for begin in 1..=time.len() - length {
        sum = sum + u128::from(time[begin + length - 1]) - u128::from(time[begin - 1]);
        if sum > best {
            (best, from) = (sum, begin);
        }
    }
    (from, from + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_densest_part_is_found() {
        let mut time = vec![1; 1000];
        time[700..710].fill(9);
        let occurrences = budget::OCCURRENCES * 100;
        assert_eq!(most(&time, occurrences), (700, 710));
        assert_eq!(most(&time, 1), (0, 1000), "all of the run for what occurs once");
        assert_eq!(most(&[3, 3, 3, 3], budget::OCCURRENCES * 4), (0, 1), "the earliest of equal ones");
    }
}
