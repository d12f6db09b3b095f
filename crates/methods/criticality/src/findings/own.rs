//! What threads lose by themselves: I/O and sleep.

use std::collections::BTreeMap;

use holdup_model::figures::times;
use holdup_model::{Call, Nanos, Process, Segment, Site, SiteId, State, ThreadId, Timeline};

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
    let called =
        mostly_called(case.process, case.timeline, place, is_io, |thread| by_thread.contains_key(&thread));
    let (state, word) = match called {
        Some((call, _)) if is_io => (State::Io, format!("I/O: {}", call.word())),
        _ if is_io => (State::Io, "I/O".to_owned()),
        _ => (State::Asleep, "sleep".to_owned()),
    };
    let (call, calls) = called.unwrap_or((if is_io { Call::Other } else { Call::Sleep }, 0));
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
    let late = |thread: &ThreadId| case.losses.late_looks.get(&(place, *thread)).copied();
    let late: Nanos = by_thread.keys().filter_map(late).filter(|_| !is_io).sum();
    let through = |thread: &ThreadId| case.losses.through_calls.get(&(place, *thread)).copied();
    let through: Nanos = by_thread.keys().filter_map(through).filter(|_| is_io).sum();
    if late > Nanos::ZERO {
        evidence.push(format!(
            "Others, which had done what they were given, waited {late} meanwhile: they were given more when it woke."
        ));
    }
    if through > Nanos::ZERO {
        evidence.push(format!("Others waited {through} meanwhile for what they are given there."));
    }
    let rest = lost - late - through;
    if rest.share_of(waited) > 1.0 + HARDLY_ANY {
        evidence.push(format!("Threads that were not there meanwhile lost {}.", rest - waited));
    }
    let hint = match hint(call, place.map(|place| case.process.site(place))) {
        hint if late > Nanos::ZERO => format!("{hint} If this pace is meant, there is nothing to fix."),
        hint => hint.to_owned(),
    };
    Description {
        object: None,
        place,
        what: format!("{word}{at}"),
        evidence,
        threads,
        hint,
        on_path: Some(on_path),
        method: "time in blocking calls",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// What can be done about waits in such calls at such a place.
fn hint(call: Call, place: Option<&Site>) -> &'static str {
    match call {
        Call::Sleep => "Wait for the event itself instead of for time to pass, or sleep less.",
        _ if place.is_some_and(Site::is_in_loader) => {
            "Libraries are loaded: from the disk, if they are not in memory yet. Run it again to see it without."
        }
        Call::PageFault => {
            "What is mapped is read when it is first used: have it read before (MAP_POPULATE, madvise). A page fault waits as well \
             while other threads map or unmap memory."
        }
        Call::Sync => "Let several writes share one, or let another thread call it.",
        Call::WaitChild => "Have several child processes at once, or do other work until they end.",
        Call::FileLock => "Hold it shorter, or lock only a part of the file.",
        _ => "Do other work meanwhile: read ahead, write behind, have several requests under way at once.",
    }
}

/// The call that takes most of these threads' time at this place, and how often all of them were made.
pub(crate) fn mostly_called(
    process: &Process,
    timeline: &Timeline,
    place: Option<SiteId>,
    is_io: bool,
    is_one: impl Fn(ThreadId) -> bool,
) -> Option<(Call, u64)> {
    let mut calls: BTreeMap<Call, Nanos> = BTreeMap::new();
    let mut count = 0;
    for block in process.blocks.iter().filter(|block| (block.call != Call::Sleep) == is_io) {
        if timeline.places.at(block.site) == place && is_one(block.thread) {
            *calls.entry(block.call).or_default() += block.end.since(block.begin);
            count += 1;
        }
    }
    most_first(&calls).first().map(|(call, _)| (*call, count))
}

#[cfg(test)]
mod tests {
    use holdup_model::Frame;

    use super::*;

    #[test]
    fn who_waits_for_libraries_to_be_loaded_need_not_read_ahead() {
        let site = |module: &str| {
            let frame = |module: &str| Frame { module: Some(module.to_owned()), ..Frame::default() };
            Site { frames: vec![frame(module), frame("app")], ..Site::default() }
        };
        let [loader, own] = [site("ld-linux-x86-64.so.2"), site("app")];
        for call in [Call::Read, Call::PageFault] {
            assert!(hint(call, Some(&loader)).starts_with("Libraries are loaded"));
        }
        assert!(hint(Call::PageFault, Some(&own)).starts_with("What is mapped"));
        assert!(hint(Call::Sync, Some(&own)).contains("share one"));
        for place in [Some(&own), None] {
            assert!(hint(Call::Read, place).starts_with("Do other work meanwhile"));
        }
        assert!(hint(Call::Sleep, Some(&own)).starts_with("Wait for the event itself"));
    }
}
