//! Threads that wait on a core: in loops of the program, and in routines of runtimes.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::percent;
use holdup_model::{Nanos, Routine, SiteId, State, ThreadId, Time};

use super::{Candidate, Case, Description, main_ones, most_first};
use crate::FindingKind;
use crate::losses::ByThread;
use crate::scarcity::part;
use crate::sweep::Changes;

/// Who works meanwhile is told where it is the same for at least this share of the spinning.
const MOSTLY: f64 = 0.5;

/// What is one loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Loop {
    /// The program marked it.
    Marked,
    /// A runtime searches for work, wherever it was called.
    Search(&'static str),
    At(SiteId),
}

#[derive(Default)]
struct Spinning {
    routine: Option<&'static Routine>,
    sites: BTreeMap<SiteId, Nanos>,
    threads: ByThread,
}

impl Spinning {
    fn time(&self) -> Nanos {
        self.threads.values().copied().sum()
    }
}

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let mut loops: BTreeMap<Loop, Spinning> = BTreeMap::new();
    for (&site, threads) in &case.losses.spin {
        if super::tasks::are_searched_for(case, site) {
            continue;
        }
        let routine = case.timeline.places.spin(site);
        let key = match (site, routine.filter(|routine| routine.seeks_work)) {
            (None, _) => Loop::Marked,
            (Some(_), Some(routine)) => Loop::Search(routine.name),
            (Some(site), None) => Loop::At(site),
        };
        let spinning = loops.entry(key).or_default();
        spinning.routine = routine;
        for (&thread, &time) in threads {
            *spinning.threads.entry(thread).or_default() += time;
            if let Some(site) = site {
                *spinning.sites.entry(site).or_default() += time;
            }
        }
    }
    let all = case.losses.spun();
    for spinning in loops.into_values() {
        let taken = part(case.losses.taken_by_spinning, spinning.time(), all);
        let lost = spinning.time() + taken;
        let is_lock = spinning.routine.is_some_and(|routine| routine.is_lock);
        let kind = if is_lock { FindingKind::Lock } else { FindingKind::Spin };
        candidates.push(Candidate::new(kind, lost, move |case| describe(case, &spinning, taken)));
    }
}

fn describe(case: &Case<'_>, spinning: &Spinning, taken: Nanos) -> Description {
    let threads: Vec<ThreadId> = main_ones(&spinning.threads);
    let who = case.threads(&threads);
    let total = spinning.time();
    let site = most_first(&spinning.sites).first().map(|(site, _)| *site);
    let is_in_program =
        site.is_some_and(|site| case.process.site(site).place().is_some_and(holdup_model::Frame::is_program));
    let what = match (site, spinning.routine) {
        (None, _) => format!("{who} spinning"),
        // The words of the lock's other finding, about blocked threads, so that both become one.
        (Some(site), Some(routine)) if routine.is_lock => {
            format!("{}, waited for in {}", routine.name, case.site(site))
        }
        (Some(site), Some(routine)) if is_in_program && !routine.seeks_work => {
            format!("spinning in {}: {}", case.site(site), routine.name)
        }
        (Some(_), Some(routine)) => format!("spinning: {}", routine.name),
        (Some(site), None) => format!("spinning in {}", case.site(site)),
    };
    let (how, method) = match site {
        None => ("in loops that the program marked as waiting", "time between the program's own spin marks"),
        Some(_) => (
            "as samples of their call stacks show",
            "CPU time that samples in waiting loops and routines stand for",
        ),
    };
    let did = match spinning.routine {
        Some(routine) if routine.is_lock => "fought for it on a core",
        _ => "spun",
    };
    let mut evidence = vec![format!("{who} {did} for {total} in all, {how}.")];
    if taken.share_of(total + taken) >= 0.05 {
        evidence.push(format!("Meanwhile threads that could have worked lacked a core for {taken} in all."));
    }
    evidence.extend(meanwhile(case, spinning));
    Description {
        object: None,
        place: site.or_else(|| threads.first().and_then(|&thread| case.entry(thread))),
        what,
        evidence,
        threads,
        hint: spinning
            .routine
            .and_then(|routine| routine.hint)
            .unwrap_or("Block instead of spinning where the wait is longer than a few microseconds.")
            .to_owned(),
        on_path: None,
        method,
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// What the other threads did while these spun, where it was mostly the same: who works alone then is, most likely,
/// who is waited for.
fn meanwhile(case: &Case<'_>, spinning: &Spinning) -> Option<String> {
    let is_in_loop = |segment: &holdup_model::Segment| {
        segment.state == State::Spinning
            && segment.object.is_none()
            && segment.site.map_or(spinning.sites.is_empty(), |site| spinning.sites.contains_key(&site))
    };
    let is_able = |state: State| matches!(state, State::Active | State::Descheduled | State::Waking);
    let mut able: BTreeSet<ThreadId> = BTreeSet::new();
    let mut spinners = 0u64;
    let mut at = Time::default();
    let (mut all, mut nobody) = (Nanos::ZERO, Nanos::ZERO);
    let mut alone: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    for change in Changes::new(case.timeline) {
        let spun = Nanos::new(spinners * change.time.since(at).get());
        at = change.time;
        all += spun;
        match (able.first(), able.len()) {
            (None, _) => nobody += spun,
            (Some(&only), 1) => *alone.entry(only).or_default() += spun,
            _ => {}
        }
        let counts = spinning.threads.contains_key(&change.thread);
        if let Some(before) = change.before {
            able.remove(&change.thread);
            spinners -= u64::from(counts && is_in_loop(before));
        }
        if let Some(after) = change.after {
            if is_able(after.state) {
                able.insert(change.thread);
            }
            spinners += u64::from(counts && is_in_loop(after));
        }
    }
    if let Some(&(thread, time)) = most_first(&alone).first()
        && time.share_of(all) >= MOSTLY
    {
        let thread = case.threads(&[thread]);
        return Some(format!(
            "For {} of that, {thread} is the only other thread at work: most likely they wait for it.",
            percent(time.share_of(all))
        ));
    }
    (nobody.share_of(all) >= MOSTLY)
        .then(|| format!("For {} of that, no thread is at work.", percent(nobody.share_of(all))))
}
