//! What the program said about itself: regions, phases, units of work.

use std::cmp::Reverse;

use holdup_model::{Arrange, MarkerKind, Nanos, Process, ThreadId, Time};

use super::budget;

/// A part of the run to which the program gave a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) thread: ThreadId,
    /// Hostile.
    pub(super) label: Option<String>,
}

/// The marks of a process, in order of time.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) regions: Vec<Mark>,
    /// Each lasts until the next one begins.
    pub(super) phases: Vec<Mark>,
    pub(super) work: Vec<Mark>,
}

impl Marks {
    pub(super) fn of(process: &Process) -> Marks {
        let mut markers: Vec<_> = process.markers.iter().collect();
        markers.arrange_by_key(|marker| (marker.time, marker.thread, marker.kind));
        let mut marks = Marks::default();
        let (mut regions, mut work) = (Open::default(), Open::default());
        for marker in markers {
            let time = marker.time.clamp(process.start, process.end);
            let mark =
                Mark { start: time, end: process.end, thread: marker.thread, label: marker.label.clone() };
            match marker.kind {
                MarkerKind::RegionBegin => regions.begin(mark),
                // A region is the whole process's: it may end on another thread.
                MarkerKind::RegionEnd => {
                    let is_it = |open: &Mark| mark.label.is_none() || open.label == mark.label;
                    marks.regions.extend(regions.end(&mark, is_it));
                }
                MarkerKind::WorkBegin => work.begin(mark),
                MarkerKind::WorkEnd => {
                    marks.work.extend(work.end(&mark, |open| open.thread == mark.thread));
                }
                MarkerKind::Phase => {
                    if let Some(last) = marks.phases.last_mut() {
                        last.end = time;
                    }
                    marks.phases.push(mark);
                }
                MarkerKind::SpinBegin | MarkerKind::SpinEnd => {}
            }
        }
        marks.regions.append(&mut regions.0);
        marks.work.append(&mut work.0);
        for told in [&mut marks.regions, &mut marks.phases, &mut marks.work] {
            told.retain(|mark| mark.start < mark.end);
            keep_longest(told);
        }
        marks
    }
}

/// What has begun and not ended.
#[derive(Default)]
struct Open(Vec<Mark>);

impl Open {
    fn begin(&mut self, mark: Mark) {
        // Begun and never ended, again and again: what is older than so many is over.
        if self.0.len() >= budget::MARKS {
            self.0.remove(0);
        }
        self.0.push(mark);
    }

    /// The latest that `is_it`, ended here.
    fn end(&mut self, end: &Mark, is_it: impl Fn(&Mark) -> bool) -> Option<Mark> {
        let at = self.0.iter().rposition(is_it)?;
        Some(Mark { end: end.start, ..self.0.remove(at) })
    }
}

fn keep_longest(marks: &mut Vec<Mark>) {
    let length = |mark: &Mark| -> Nanos { mark.end.since(mark.start) };
    marks.arrange_by_key(|mark| (Reverse(length(mark)), mark.start, mark.thread));
    marks.truncate(budget::MARKS);
    marks.arrange_by_key(|mark| (mark.start, Reverse(mark.end), mark.thread));
}

#[cfg(test)]
mod tests {
    use holdup_model::Marker;

    use super::*;

    #[test]
    fn regions_nest_and_phases_follow_each_other() {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100));
        let thread = process.add_thread("main", Time::from_nanos(0), None);
        let said = |time, kind, label: &str| Marker {
            thread,
            time: Time::from_nanos(time),
            kind,
            label: Some(label.to_owned()),
        };
        process.markers = vec![
            said(10, MarkerKind::RegionBegin, "outer"),
            said(20, MarkerKind::RegionBegin, "inner"),
            said(30, MarkerKind::RegionEnd, "inner"),
            said(50, MarkerKind::Phase, "second"),
            said(5, MarkerKind::Phase, "first"),
            said(60, MarkerKind::RegionEnd, "never begun"),
        ];
        let marks = Marks::of(&process);
        let told = |marks: &[Mark]| -> Vec<(u64, u64, String)> {
            let told = |mark: &Mark| (mark.start.nanos(), mark.end.nanos(), mark.label.clone().unwrap());
            marks.iter().map(told).collect()
        };
        assert_eq!(told(&marks.regions), [(10, 100, "outer".into()), (20, 30, "inner".into())]);
        assert_eq!(told(&marks.phases), [(5, 50, "first".into()), (50, 100, "second".into())]);
    }
}
