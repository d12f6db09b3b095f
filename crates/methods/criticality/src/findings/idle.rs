//! Threads with nothing to do, because nothing comes from outside of the program. At most one finding, the last.

use std::collections::BTreeMap;

use holdup_model::{Nanos, SiteId, ThreadId};

use super::{Candidate, Case, Description, main_ones, most_first};
use crate::FindingKind;

/// A part is told if it is at least this share of all.
const WORTH_A_SENTENCE: f64 = 0.05;

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    candidates.push(Candidate::new(FindingKind::Idle, case.losses.idle.total(), describe));
}

fn describe(case: &Case<'_>) -> Description {
    let idle = &case.losses.idle;
    let mut threads: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    let mut places: BTreeMap<SiteId, Nanos> = BTreeMap::new();
    let mut calls: BTreeMap<SiteId, Nanos> = BTreeMap::new();
    let mut givers: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    for (&site, by_thread) in &idle.own {
        for (&thread, &time) in by_thread {
            *threads.entry(thread).or_default() += time;
            if let Some(site) = site {
                *calls.entry(site).or_default() += time;
                *places.entry(site).or_default() += time;
            }
        }
    }
    for (&(object, giver), &lost) in &idle.by_object {
        if let Some(giver) = giver {
            *givers.entry(giver).or_default() += lost;
        }
        let Some(cost) = case.object_cost(object) else { continue };
        let part = |time: Nanos| Nanos::new((lost.get() as f64 * time.share_of(cost.wait)) as u64);
        for waiter in &cost.waiters {
            *threads.entry(waiter.thread).or_default() += part(waiter.time);
            if let Some(site) = waiter.site {
                *places.entry(site).or_default() += part(waiter.time);
            }
        }
    }
    let threads = main_ones(&threads);
    let place = most_first(&places).first().map(|(site, _)| *site);
    let at = place.map(|place| format!(", mostly in {}", case.site(place))).unwrap_or_default();
    let mut evidence = Vec::new();
    if let Some((site, _)) = most_first(&calls).first() {
        let time: Nanos = calls.values().copied().sum();
        evidence.push(format!(
            "Threads wait {time} in calls that something outside of the program ends, mostly in {}.",
            case.site(*site)
        ));
    }
    let by_object: Nanos = idle.by_object.values().copied().sum();
    if by_object.share_of(idle.total()) >= WORTH_A_SENTENCE {
        let givers = main_ones(&givers);
        evidence.push(match givers.is_empty() {
            true => format!("They wait {by_object} for work while no thread of the program is at work."),
            false => format!(
                "They wait {by_object} for work that {} would give them, but waits itself, for something outside or \
                 for time to pass.",
                case.threads(&givers)
            ),
        });
    }
    Description {
        object: None,
        what: format!("nothing to do for {}{at}", case.threads(&threads)),
        threads,
        place,
        evidence,
        hint: "There is nothing to fix, unless the program could ask earlier for what it waits for."
            .to_owned(),
        on_path: None,
        method: "waits that only something outside of the program, or time, ends",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}
