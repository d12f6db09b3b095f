//! Threads that wait for each other until the recording ends.

use std::collections::BTreeMap;

use holdup_model::{Outcome, ThreadId, Wait};

use super::Case;
use crate::{Finding, FindingKind};

/// Circles of threads each of which waits, to the end, for a lock that the next one owns.
pub(super) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let order = |wait: &Wait| (wait.begin, wait.object, wait.owner, wait.site);
    let mut last: BTreeMap<ThreadId, &Wait> = BTreeMap::new();
    for wait in &case.process.waits {
        let is_open = wait.outcome == Outcome::Open && wait.end >= case.timeline.row(wait.thread).end;
        if is_open && case.role(wait.object).is_lock() {
            let known = last.entry(wait.thread).or_insert(wait);
            if order(wait) > order(known) {
                *known = wait;
            }
        }
    }
    let mut circles: Vec<Vec<&Wait>> = Vec::new();
    for &start in last.keys() {
        let circle = circle(&last, start);
        // A circle is found from each of its threads; the first one tells it.
        if circle.first().is_some_and(|first| circle.iter().all(|wait| first.thread <= wait.thread)) {
            circles.push(circle);
        }
    }
    circles.into_iter().filter_map(|circle| finding(case, &circle)).collect()
}

/// The waits on the way from `start` back to it; empty if the way leads elsewhere.
fn circle<'a>(last: &BTreeMap<ThreadId, &'a Wait>, start: ThreadId) -> Vec<&'a Wait> {
    let mut waits: Vec<&Wait> = Vec::new();
    let mut thread = start;
    while let Some(&wait) = last.get(&thread) {
        if waits.len() > last.len() {
            break;
        }
        waits.push(wait);
        match wait.owner {
            Some(owner) if owner == start => return waits,
            Some(owner) => thread = owner,
            None => break,
        }
    }
    Vec::new()
}

fn finding(case: &Case<'_>, circle: &[&Wait]) -> Option<Finding> {
    let (first, begin) = (circle.first()?, circle.iter().map(|wait| wait.begin).max()?);
    let cost = case.timeline.end.since(begin);
    let place = |wait: &Wait| wait.site.map(|site| format!(" in {}", case.site(site))).unwrap_or_default();
    let steps: Vec<String> = circle
        .iter()
        .map(|wait| {
            format!("{} waits for {}{}", case.threads(&[wait.thread]), case.object(wait.object), place(wait))
        })
        .collect();
    Some(Finding {
        kind: FindingKind::Deadlock,
        object: Some(first.object),
        others: Vec::new(),
        threads: circle.iter().map(|wait| wait.thread).collect(),
        place: first.site,
        what: format!("deadlock: {}", steps.join(", ")),
        evidence: vec![match circle {
            [_] => format!("It owns that lock itself, and has waited for {cost}, until the recording ended."),
            _ => format!(
                "Each of them owns what the one before it waits for; nothing has moved there for {cost}, until the recording ended."
            ),
        }],
        hint: match circle {
            [_] => "Do not lock again what is locked already, or use a recursive lock.".to_owned(),
            _ => "Take these locks in the same order everywhere.".to_owned(),
        },
        cost,
        on_path: None,
        gain: None,
        repeats: None,
        method: "owners of the locks that threads still waited for when the recording ended",
        stretches: Vec::new(),
        notes: Vec::new(),
    })
}
