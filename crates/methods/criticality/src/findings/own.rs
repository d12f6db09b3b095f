//! What threads lose by themselves: I/O and sleep.

use std::collections::BTreeMap;

use holdup_model::figures::times;
use holdup_model::{Call, Nanos, Segment, SiteId, State};

use super::{Candidate, Case, Description, main_ones, most_first};
use crate::FindingKind;
use crate::losses::ByThread;

/// What others lose meanwhile is told from this share of the waiting on.
const HARDLY_ANY: f64 = 0.05;

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    at_places(&case.losses.io, FindingKind::Io, candidates);
    at_places(&case.losses.sleep, FindingKind::Sleep, candidates);
}

fn at_places<'a>(
    losses: &BTreeMap<Option<SiteId>, ByThread>,
    kind: FindingKind,
    candidates: &mut Vec<Candidate<'a>>,
) {
    for (&site, threads) in losses {
        let threads = threads.clone();
        let lost = threads.values().copied().sum();
        candidates.push(Candidate::new(kind, lost, move |case| describe(case, kind, site, &threads)));
    }
}

fn describe(case: &Case<'_>, kind: FindingKind, place: Option<SiteId>, by_thread: &ByThread) -> Description {
    let threads = main_ones(by_thread);
    let at = place.map(|place| format!(" in {}", case.site(place))).unwrap_or_default();
    let is_io = kind == FindingKind::Io;
    let (state, word) = match mostly_called(case, place, by_thread, is_io) {
        Some((call, _)) if is_io => (State::Io, format!("I/O: {}", call.word())),
        _ if is_io => (State::Io, "I/O".to_owned()),
        _ => (State::Asleep, "sleep".to_owned()),
    };
    let calls = mostly_called(case, place, by_thread, is_io).map_or(0, |(_, calls)| calls);
    let on_path = case
        .path
        .steps
        .iter()
        .filter(|step| step.state == state && step.site == place && by_thread.contains_key(&step.thread))
        .map(|step| step.time)
        .sum();
    // What is lost to it may be more: threads that are not there while this one should start them lose the same time.
    let lost: Nanos = by_thread.values().copied().sum();
    let waited = by_thread.keys().flat_map(|&thread| &case.timeline.row(thread).segments);
    let waited = waited.filter(|segment| segment.state == state && segment.site == place);
    let waited: Nanos = waited.map(Segment::length).sum();
    let who = case.threads(&threads);
    let mut evidence = vec![format!("{who} waited {waited} in all, in calls made {}.", times(calls))];
    if lost.share_of(waited) > 1.0 + HARDLY_ANY {
        evidence.push(format!("Threads that were not there meanwhile lost {}.", lost - waited));
    }
    Description {
        object: None,
        place,
        what: format!("{word}{at}"),
        evidence,
        threads,
        hint: if is_io {
            "Do other work meanwhile: read ahead, write behind, have several requests under way at once."
        } else {
            "Wait for the event itself instead of for time to pass, or sleep less."
        }
        .to_owned(),
        on_path: Some(on_path),
        method: "time in blocking calls",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// The call that takes most of the time at this place, and how often all of them were made.
fn mostly_called(
    case: &Case<'_>,
    place: Option<SiteId>,
    by_thread: &ByThread,
    is_io: bool,
) -> Option<(Call, u64)> {
    let mut calls: BTreeMap<Call, Nanos> = BTreeMap::new();
    let mut count = 0;
    for block in case.process.blocks.iter().filter(|block| (block.call != Call::Sleep) == is_io) {
        if case.timeline.places.at(block.site) == place && by_thread.contains_key(&block.thread) {
            *calls.entry(block.call).or_default() += block.end.since(block.begin);
            count += 1;
        }
    }
    most_first(&calls).first().map(|(call, _)| (*call, count))
}
