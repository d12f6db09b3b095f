//! Time in regions, phases and units of work that a program marked.

use std::collections::BTreeMap;

use holdup_model::{Arrange, Marker, MarkerKind, Process, ThreadId, Time};

use super::entries::{Entries, Entry, added_up, whole};
use super::names::Name;

/// What markers that come in pairs enclose.
const REGION: &str = "region";
const WORK: &str = "work";
const PHASE: &str = "phase";

/// How deep a thread is in what has this label, and since when.
type Open<'a> = BTreeMap<(&'static str, ThreadId, &'a str), (u32, Time)>;

/// By label: the time in it, all threads added up, and how often it began. What encloses itself counts once. A phase
/// ends where the next one begins, whoever says so.
pub(crate) fn labels(process: &Process) -> Entries {
    let mut markers: Vec<&Marker> = process.markers.iter().collect();
    markers.arrange_by_key(|marker| (marker.time, marker.thread, marker.kind));
    let mut spans: Vec<(&'static str, &str, Time, Time)> = Vec::new();
    let mut open: Open<'_> = BTreeMap::new();
    let mut phase: Option<(&str, Time)> = None;
    for marker in markers {
        let label = marker.label.as_deref().unwrap_or("without a label");
        let mut begin = |sort| {
            let (depth, since) = open.entry((sort, marker.thread, label)).or_insert((0, marker.time));
            if *depth == 0 {
                *since = marker.time;
            }
            *depth += 1;
        };
        match marker.kind {
            MarkerKind::RegionBegin => begin(REGION),
            MarkerKind::WorkBegin => begin(WORK),
            MarkerKind::RegionEnd => end(&mut open, &mut spans, REGION, marker),
            MarkerKind::WorkEnd => end(&mut open, &mut spans, WORK, marker),
            MarkerKind::Phase => {
                if let Some((before, since)) = phase.replace((label, marker.time)) {
                    spans.push((PHASE, before, since, marker.time));
                }
            }
            MarkerKind::SpinBegin | MarkerKind::SpinEnd => {}
        }
    }
    for ((sort, thread, label), (depth, since)) in open {
        if depth > 0 {
            spans.push((sort, label, since, process.thread(thread).end.unwrap_or(process.end)));
        }
    }
    spans.extend(phase.map(|(label, since)| (PHASE, label, since, process.end)));
    let entry = |(sort, label, from, until): (&'static str, &str, Time, Time)| Entry {
        name: Name { sort, symbol: Some(label.to_owned()), ..Name::default() },
        told: format!("{sort} {label}"),
        place: None,
        amounts: vec![Some(whole(until.since(from))), Some(1)],
    };
    Entries { all: added_up(spans.into_iter().map(entry).collect()), absent: vec![Some(0), Some(0)] }
}

/// Ends what this marker ends: by its label, or without one what the thread began last.
fn end<'a>(
    open: &mut Open<'a>,
    spans: &mut Vec<(&'static str, &'a str, Time, Time)>,
    sort: &'static str,
    marker: &'a Marker,
) {
    let is_open = |(key, (depth, _)): &(&(&'static str, ThreadId, &'a str), &(u32, Time))| {
        key.0 == sort && key.1 == marker.thread && *depth > 0
    };
    let key = match marker.label.as_deref() {
        Some(label) => Some((sort, marker.thread, label)),
        None => open.iter().filter(is_open).max_by_key(|(_, (_, since))| *since).map(|(key, _)| *key),
    };
    let Some((depth, since)) = key.and_then(|key| open.get_mut(&key)).filter(|(depth, _)| *depth > 0) else {
        return;
    };
    *depth -= 1;
    if *depth == 0
        && let Some((_, _, label)) = key
    {
        spans.push((sort, label, *since, marker.time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(markers: &[(u32, u64, MarkerKind, Option<&str>)]) -> Vec<(String, i64, i64)> {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100));
        process.add_thread("main", Time::from_nanos(0), None);
        process.add_thread("worker", Time::from_nanos(0), Some(Time::from_nanos(80)));
        process.markers = markers
            .iter()
            .map(|&(thread, time, kind, label)| Marker {
                thread: ThreadId::new(thread),
                time: Time::from_nanos(time),
                kind,
                label: label.map(str::to_owned),
            })
            .collect();
        let entries = labels(&process).all.into_iter();
        entries
            .map(|entry| (entry.told, entry.amounts[0].unwrap_or(-1), entry.amounts[1].unwrap_or(-1)))
            .collect()
    }

    #[test]
    fn times_of_labels_add_up() {
        use MarkerKind::{Phase, RegionBegin, RegionEnd, WorkBegin, WorkEnd};
        let found = marked(&[
            (0, 10, Phase, Some("load")),
            (1, 60, Phase, Some("run")),
            (0, 10, WorkBegin, Some("item")),
            (1, 12, WorkBegin, Some("item")),
            // One within one of the same label.
            (0, 15, WorkBegin, Some("item")),
            (0, 18, WorkEnd, Some("item")),
            (0, 20, WorkEnd, None),
            (1, 30, WorkEnd, Some("item")),
            // Never ended, and never begun.
            (1, 50, RegionBegin, Some("solve")),
            (0, 70, RegionEnd, Some("other")),
        ]);
        let expected =
            [("phase load", 50, 1), ("phase run", 40, 1), ("region solve", 30, 1), ("work item", 28, 2)];
        assert_eq!(found, expected.map(|(label, time, times)| (label.to_owned(), time, times)));
    }
}
