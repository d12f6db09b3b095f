//! What threads lose by themselves: I/O, sleep, marked spinning.

use std::collections::BTreeMap;

use holdup_model::{Call, Nanos, SiteId, State, ThreadId};

use super::{Candidate, Case, Description, main_ones, most_first};
use crate::FindingKind;
use crate::losses::ByThread;
use crate::wording::times;

#[derive(Default)]
struct Place {
    sites: BTreeMap<SiteId, Nanos>,
    threads: ByThread,
}

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    at_places(case, &case.losses.io, FindingKind::Io, candidates);
    at_places(case, &case.losses.sleep, FindingKind::Sleep, candidates);
    let spinning: Nanos = case.losses.spin.values().copied().sum();
    candidates.push(Candidate::new(FindingKind::Spin, spinning, describe_spin));
}

fn at_places<'a>(
    case: &Case<'_>,
    losses: &BTreeMap<Option<SiteId>, ByThread>,
    kind: FindingKind,
    candidates: &mut Vec<Candidate<'a>>,
) {
    // Places by their text: one source line may have several call stacks.
    let mut places: BTreeMap<Option<String>, Place> = BTreeMap::new();
    for (&site, by_thread) in losses {
        let place = places.entry(site.map(|site| case.site(site))).or_default();
        for (&thread, &time) in by_thread {
            *place.threads.entry(thread).or_default() += time;
            if let Some(site) = site {
                *place.sites.entry(site).or_default() += time;
            }
        }
    }
    for (text, place) in places {
        let lost = place.threads.values().copied().sum();
        candidates
            .push(Candidate::new(kind, lost, move |case| describe(case, kind, text.as_deref(), &place)));
    }
}

fn describe(case: &Case<'_>, kind: FindingKind, text: Option<&str>, place: &Place) -> Description {
    let threads = main_ones(&place.threads);
    let at = text.map(|text| format!(" in {text}")).unwrap_or_default();
    let is_io = kind == FindingKind::Io;
    let (state, word) = match mostly_called(case, place, is_io) {
        Some((call, _)) if is_io => (State::Io, format!("I/O: {}", call.word())),
        _ if is_io => (State::Io, "I/O".to_owned()),
        _ => (State::Asleep, "sleep".to_owned()),
    };
    let calls = mostly_called(case, place, is_io).map_or(0, |(_, calls)| calls);
    let on_path = case
        .path
        .steps
        .iter()
        .filter(|step| step.state == state)
        .filter(|step| match step.site {
            Some(site) => place.sites.contains_key(&site),
            None => place.sites.is_empty() && place.threads.contains_key(&step.thread),
        })
        .map(|step| step.time)
        .sum();
    let total: Nanos = place.threads.values().copied().sum();
    let who = case.threads(&threads);
    Description {
        object: None,
        place: most_first(&place.sites).first().map(|(site, _)| *site),
        what: format!("{word}{at}"),
        evidence: vec![format!("{who} waited {total} in all, in calls made {}.", times(calls))],
        threads,
        hint: if is_io {
            "Do other work meanwhile: read ahead, write behind, have several requests under way at once."
        } else {
            "Wait for the event itself instead of for time to pass, or sleep less."
        }
        .to_owned(),
        on_path: Some(on_path),
        method: "time in blocking calls",
        notes: Vec::new(),
    }
}

/// The call that takes most of the time at this place, and how often all of them were made.
fn mostly_called(case: &Case<'_>, place: &Place, is_io: bool) -> Option<(Call, u64)> {
    let mut calls: BTreeMap<Call, Nanos> = BTreeMap::new();
    let mut count = 0;
    for block in case.process.blocks.iter().filter(|block| (block.call != Call::Sleep) == is_io) {
        let is_here = match block.site {
            Some(site) => place.sites.contains_key(&site),
            None => place.sites.is_empty(),
        };
        if is_here && place.threads.contains_key(&block.thread) {
            *calls.entry(block.call).or_default() += block.end.since(block.begin);
            count += 1;
        }
    }
    most_first(&calls).first().map(|(call, _)| (*call, count))
}

fn describe_spin(case: &Case<'_>) -> Description {
    let threads: Vec<ThreadId> = main_ones(&case.losses.spin);
    let who = case.threads(&threads);
    Description {
        object: None,
        place: threads.first().and_then(|&thread| case.entry(thread)),
        what: format!("{who} spinning"),
        evidence: vec![format!(
            "In loops that the program marked as waiting, {} in all.",
            case.losses.spin.values().copied().sum::<Nanos>()
        )],
        threads,
        hint: "Block instead of spinning where the wait is longer than a few microseconds.".to_owned(),
        on_path: None,
        method: "time between the program's own spin marks",
        notes: Vec::new(),
    }
}
