//! A program that hangs: every thread waits for something that only another thread of it could give.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::{counted, times};
use holdup_model::{Nanos, ObjectId, ObjectKind, Outcome, ThreadId, Time, Wait};

use super::Case;
use crate::{Finding, FindingKind};

/// From this time on in which nothing ran until the recording ended, it hung.
const LEAST: Nanos = Nanos::new(500_000_000);

/// A thread that ended, or did something, so shortly before the end of the recording was ended by what ended the program.
const END: Nanos = Nanos::new(5_000_000);

/// The hang with which the recording ended, if it did, and all that threads waited for then. A circle of locks is told as a
/// deadlock instead.
pub(super) fn finding(case: &Case<'_>) -> Option<(Finding, BTreeSet<ObjectId>)> {
    let stuck = Stuck::of(case)?;
    let cost = case.timeline.end.since(stuck.since);
    if cost < LEAST {
        return None;
    }
    // What nobody is left to give: not the ends of threads that wait themselves, nor locks that these own.
    let is_root = |wait: &&&Wait| {
        let owner = wait.owner.filter(|_| case.role(wait.object).is_lock());
        !joined(case, wait).into_iter().chain(owner).any(|thread| stuck.waits.contains_key(&thread))
    };
    let mut roots: BTreeMap<ObjectId, Vec<&Wait>> = BTreeMap::new();
    for wait in stuck.waits.values().filter(is_root) {
        roots.entry(wait.object).or_default().push(wait);
    }
    let (&object, waits) =
        roots.iter().max_by_key(|(object, waits)| (waits.len(), std::cmp::Reverse(*object)))?;
    let threads: Vec<ThreadId> = waits.iter().map(|wait| wait.thread).collect();
    let place = waits.iter().find_map(|wait| wait.site);
    let at = place.map(|site| format!(" in {}", case.site(site))).unwrap_or_default();
    let (why, hint) = why(case, object, waits);
    let all: BTreeSet<ThreadId> = stuck.waits.keys().copied().collect();
    // A lock that has an owner is not known to be waited for until a time only.
    let has_lock = stuck.waits.values().any(|wait| case.role(wait.object).is_lock());
    let limit = if has_lock { "" } else { " without a limit" };
    let mut evidence = vec![
        format!(
            "Nothing has run for {cost}, until the recording ended: all {} wait{limit}, and none is left to end it.",
            counted(all.len() as u64, "thread", "threads")
        ),
        why,
    ];
    let others: Vec<String> =
        roots.keys().filter(|other| **other != object).take(3).map(|&other| case.object(other)).collect();
    if !others.is_empty() {
        evidence.push(format!("Others wait for {}.", others.join(", ")));
    }
    let waited_for = stuck.waits.values().map(|wait| wait.object).collect();
    let finding = Finding {
        kind: FindingKind::Hang,
        object: Some(object),
        others: Vec::new(),
        what: format!("hang: {} for {}{at}, for ever", wait_or_waits(case, &threads), case.object(object)),
        threads,
        place,
        evidence,
        hint: hint.to_owned(),
        cost,
        on_path: None,
        gain: None,
        repeats: None,
        method: "waits that had not ended when the recording did, of all threads that lived then",
        stretches: Vec::new(),
        notes: Vec::new(),
    };
    Some((finding, waited_for))
}

fn wait_or_waits(case: &Case<'_>, threads: &[ThreadId]) -> String {
    format!("{} {}", case.threads(threads), if threads.len() == 1 { "waits" } else { "wait" })
}

/// Threads that wait at the end of the recording, if none does anything else.
struct Stuck<'a> {
    waits: BTreeMap<ThreadId, &'a Wait>,
    /// When the last of all came to a stop.
    since: Time,
}

impl<'a> Stuck<'a> {
    fn of(case: &Case<'a>) -> Option<Self> {
        let mut open: BTreeMap<ThreadId, &Wait> = BTreeMap::new();
        for wait in case.process.waits.iter().filter(|wait| wait.outcome == Outcome::Open) {
            let known = open.entry(wait.thread).or_insert(wait);
            if (wait.begin, wait.object) > (known.begin, known.object) {
                *known = wait;
            }
        }
        let (mut waits, mut since) = (BTreeMap::new(), case.timeline.start);
        for (index, row) in case.timeline.threads.iter().enumerate() {
            let thread = ThreadId::new(index as u32);
            let wait = open.get(&thread).copied().filter(|wait| row.end.since(wait.end) <= END);
            // What is not recorded from within (a spin lock is work for its core) may do anything.
            match wait.filter(|wait| case.role(wait.object) != ObjectKind::SpinLock) {
                _ if case.timeline.end.since(row.end) > END => since = since.max(row.end),
                Some(wait) => {
                    since = since.max(wait.begin);
                    waits.insert(thread, wait);
                }
                None => return None,
            }
        }
        (!waits.is_empty()).then_some(Self { waits, since })
    }
}

/// The thread for whose end it waits.
fn joined(case: &Case<'_>, wait: &Wait) -> Option<ThreadId> {
    case.process.object(wait.object).thread
}

/// Why nobody ends these waits, as far as is known, and what to look for.
fn why(case: &Case<'_>, object: ObjectId, waits: &[&Wait]) -> (String, &'static str) {
    let first = waits.iter().map(|wait| wait.begin).min().unwrap_or(case.timeline.end);
    let woken: Vec<Time> =
        case.process.wakes.iter().filter(|wake| wake.object == object).map(|wake| wake.time).collect();
    let name = case.object(object);
    match case.role(object) {
        ObjectKind::Condition => {
            let signals = match woken.iter().filter(|time| **time <= first).max() {
                None if woken.is_empty() => format!("{name} was never signalled."),
                None => format!("{name} was signalled after that, and not for all who wait."),
                Some(last) => format!(
                    "{name} was signalled last {} before, and that is lost on who waits only then.",
                    first.since(*last)
                ),
            };
            (
                signals,
                "Change what is waited for and signal while holding the mutex, and wait in a loop that looks at it first.",
            )
        }
        ObjectKind::Barrier => {
            let parties = case.process.object(object).parties;
            let come = waits.len();
            let told = match parties {
                Some(parties) => format!("It is for {parties} threads, and {come} have come."),
                None => format!("{come} have come, and the others do not."),
            };
            (told, "Let as many threads come to it as it was made for.")
        }
        ObjectKind::Semaphore => (
            format!("{name} was posted {}, as far as it was waited for.", times(woken.len() as u64)),
            "Post it once for each wait.",
        ),
        kind if kind.is_lock() => {
            let owner = waits.iter().find_map(|wait| wait.owner);
            let told = match owner {
                Some(owner) => format!("{} owns it, and has ended.", case.threads(&[owner])),
                None => format!("Who owns {name} is not known."),
            };
            (told, "Unlock it on every way out of the code that locks it.")
        }
        _ => (
            format!("What would end the waits for {name} did not come."),
            "Look for who should have ended these waits.",
        ),
    }
}
