//! Threads that are blocked on something that was not recorded, while several others work or none does.
//!
//! While exactly one other thread works, that one is what they wait for: see [`super::serial`]. What is left is told
//! by where the threads were seen blocked. A thread that waits for something to do, or for another's end, holds
//! nobody up: that part is in no class.

use std::collections::BTreeMap;

use holdup_model::{Doing, Frame, Nanos, Site, SiteId, State, ThreadId};

use super::{Candidate, Case, Description, main_ones};
use crate::FindingKind;
use crate::hot::{dominating, inside};
use crate::losses::ByThread;

/// What a library's function waits for, by a part of its name. The first match counts.
const WAITS: &[(&str, &str)] = &[
    ("cond_", "a condition variable"),
    ("rwlock", "a read-write lock"),
    ("mutex", "a lock"),
    ("lll_lock", "a lock"),
    ("barrier_wait", "a barrier"),
    ("sem_", "a semaphore"),
];

/// Functions that wait for a thread's end, by the start of their name.
const JOINS: &[&str] =
    &["pthread_join", "__pthread_join", "pthread_timedjoin", "__pthread_timedjoin", "__pthread_clockjoin"];

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let seen = seen(case);
    let mut places: BTreeMap<Option<SiteId>, ByThread> = BTreeMap::new();
    for (&thread, &lost) in &case.losses.blocked {
        match seen.get(&thread) {
            Some(shares) => {
                for (place, time) in shared_out(lost, shares) {
                    if let Seen::Blocked(place) = place {
                        *places.entry(Some(place)).or_default().entry(thread).or_default() += time;
                    }
                }
            }
            None => *places.entry(None).or_default().entry(thread).or_default() += lost,
        }
    }
    for (place, threads) in places {
        let lost = threads.values().copied().sum();
        candidates
            .push(Candidate::new(FindingKind::Blocked, lost, move |case| describe(case, place, &threads)));
    }
}

/// What a blocked thread was seen in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// It has nothing to do.
    Idle,
    Blocked(SiteId),
}

/// By thread that was seen blocked on nothing known: the time that its samples stand for, by what they show.
fn seen(case: &Case<'_>) -> BTreeMap<ThreadId, BTreeMap<Seen, Nanos>> {
    let mut seen: BTreeMap<ThreadId, BTreeMap<Seen, Nanos>> = BTreeMap::new();
    for sample in case.process.samples.iter().filter(|sample| sample.doing == Doing::Blocked) {
        let row = case.timeline.row(sample.thread);
        let is_unknown = row.at(sample.time).is_some_and(|index| {
            let segment = &row.segments[index];
            segment.state == State::Blocked && segment.object.is_none()
        });
        let (true, Some(site)) = (is_unknown, sample.site) else { continue };
        let what = match case.timeline.places.at(Some(site)) {
            _ if case.timeline.places.idles(Some(site)) || is_join(case.process.site(site)) => Seen::Idle,
            Some(place) => Seen::Blocked(place),
            None => continue,
        };
        *seen.entry(sample.thread).or_default().entry(what).or_default() += sample.weight;
    }
    seen
}

fn is_join(site: &Site) -> bool {
    let is_join = |frame: &Frame| {
        let name = frame.function.as_deref();
        name.is_some_and(|name| JOINS.iter().any(|join| name.starts_with(join)))
    };
    site.frames.iter().any(is_join)
}

/// `lost` in the ratio of `shares`; together exactly `lost`.
fn shared_out(lost: Nanos, shares: &BTreeMap<Seen, Nanos>) -> Vec<(Seen, Nanos)> {
    let all: u128 = shares.values().map(|share| u128::from(share.get())).sum();
    let (mut so_far, mut given) = (0u128, 0u64);
    shares
        .iter()
        .map(|(&what, share)| {
            so_far += u128::from(share.get());
            let until = (u128::from(lost.get()) * so_far / all.max(1)) as u64;
            (what, Nanos::new(until - std::mem::replace(&mut given, until)))
        })
        .collect()
}

fn describe(case: &Case<'_>, place: Option<SiteId>, by_thread: &ByThread) -> Description {
    let threads = main_ones(by_thread);
    let total: Nanos = by_thread.values().copied().sum();
    let inside = place.and_then(|place| inside_of(case, place));
    let kind = inside.and_then(|name| WAITS.iter().find(|(sign, _)| name.contains(sign)));
    let kind = kind.map_or("something", |(_, kind)| kind);
    let inside = inside.map(|name| format!(", inside {name}"));
    let at = place.map(|place| format!(", in {}", case.site(place))).unwrap_or_default();
    Description {
        object: None,
        place,
        what: format!("blocked on {kind} that was not recorded{at}"),
        evidence: vec![format!(
            "{} waited {total} in all{}.",
            case.threads(&threads),
            inside.unwrap_or_default()
        )],
        threads,
        hint: "Look at what is called there: it may wait for a lock, a file, the network or another process. Where the \
               program can be started by holdup with all collectors, the object is named."
            .to_owned(),
        on_path: None,
        method: "time off the core for want of nothing that was recorded, by where threads were seen blocked",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// The function of a library in which threads were mostly seen blocked at this place.
fn inside_of<'a>(case: &Case<'a>, place: SiteId) -> Option<&'a str> {
    let process = case.process;
    let mut functions: BTreeMap<&str, Nanos> = BTreeMap::new();
    let mut all = Nanos::ZERO;
    for sample in process.samples.iter().filter(|sample| sample.doing == Doing::Blocked) {
        if case.timeline.places.at(sample.site) == Some(place) {
            all += sample.weight;
            if let Some(name) = sample.site.and_then(|site| inside(process, site)) {
                *functions.entry(name).or_default() += sample.weight;
            }
        }
    }
    dominating(&functions, all)
}
