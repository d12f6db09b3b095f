//! Locks that are held while others wait.

use std::collections::BTreeMap;

use holdup_model::figures::{percent, times};
use holdup_model::{Nanos, ObjectId, ObjectKind, ThreadId, Time};

use super::executed::Executed;
use super::{Candidate, Case, Description, main_ones};
use crate::blame::{Charge, Spans};
use crate::wording::{mean, meanwhile};
use crate::{FindingKind, HoldTime, ObjectCost};

/// A lock that is held for less than this on average costs by being taken often, not by being held long.
const SHORT_HOLD: Nanos = Nanos::new(20_000);

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let mut locks: BTreeMap<ObjectId, Charge> = BTreeMap::new();
    for (&(object, _), charge) in &case.losses.locks {
        locks.entry(object).or_default().merge(charge);
    }
    for (object, charge) in locks {
        candidates.push(Candidate::new(FindingKind::Lock, charge.total(), move |case| {
            describe(case, object, &charge)
        }));
    }
}

fn describe(case: &Case<'_>, object: ObjectId, charge: &Charge) -> Description {
    let cost = case.object_cost(object);
    let holders = holders(case, object);
    let executed = executed_while_held(case, object, &holders);
    let place = cost.and_then(|cost| cost.place);
    let is_held_there = cost.is_some_and(|cost| cost.holders.iter().any(|holder| holder.site.is_some()));
    let name = case.object(object);
    let what = match place.map(|place| case.site(place)) {
        Some(place) if is_held_there => format!("{name}, held in {place}"),
        Some(place) => format!("{name}, waited for in {place}"),
        None => format!("{name}, held by {}", case.threads(&holders)),
    };
    let mut evidence = Vec::new();
    let mut hint = None;
    if let Some(cost) = cost {
        evidence.push(figures(case, cost, &holders));
        hint = short_holds(cost);
        let passed_on = cost.cost.saturating_sub(cost.direct_cost);
        if passed_on.share_of(cost.cost) >= 0.1 {
            evidence.push(format!(
                "{} of the cost comes through others: threads that wait for something else, or are missing, while \
                 the one that they wait for waits for this lock.",
                percent(passed_on.share_of(cost.cost))
            ));
        }
    }
    if let Some(executed) = executed {
        evidence.push(format!(
            "While threads wait for it, {} mostly in {}. {}",
            if holders.len() > 1 { "those who hold it are" } else { "the one that holds it is" },
            executed.words,
            executed.evidence()
        ));
    }
    evidence.extend(meanwhile(charge));
    let hidden =
        case.timeline.roles.hidden[object.index()].and_then(|routine| routine.hint).map(str::to_owned);
    let hint = hidden.or(hint).unwrap_or_else(|| match case.role(object) {
        ObjectKind::RwLock => {
            "Move work out of the part that holds it, above all as a writer, or give readers a copy."
                .to_owned()
        }
        _ => "Move work out of the part that holds it, or split what it protects.".to_owned(),
    });
    Description {
        object: Some(object),
        threads: holders,
        place,
        what,
        evidence,
        hint,
        on_path: cost.map(|cost| cost.on_path),
        method: "waits until the release, charged along the chain to the lock whose holder does not wait itself",
        notes: Vec::new(),
    }
}

/// What these threads mostly did while they held the lock and others waited for it.
fn executed_while_held(case: &Case<'_>, object: ObjectId, holders: &[ThreadId]) -> Option<Executed> {
    let mut held: BTreeMap<ThreadId, Vec<(Time, Time)>> = BTreeMap::new();
    for hold in case.process.holds.iter().filter(|hold| hold.object == object) {
        if let Some(begin) = hold.begin {
            held.entry(hold.thread).or_default().push((begin, hold.end));
        }
    }
    let during: Vec<(ThreadId, Spans)> = holders
        .iter()
        .filter_map(|&thread| {
            let waited = case.blame.times.waited.get(&(Some(object), thread))?;
            // Of the threads that take a lock in turn each is waited for a little before it has it.
            let spans = match held.remove(&thread) {
                Some(mut holds) => {
                    holds.sort_unstable();
                    let mut spans = Spans::default();
                    holds.into_iter().for_each(|(begin, end)| spans.add(begin, end));
                    waited.common(&spans)
                }
                None => waited.clone(),
            };
            Some((thread, spans))
        })
        .collect();
    case.executed(during.iter().map(|(thread, spans)| (*thread, spans)))
}

fn holders(case: &Case<'_>, object: ObjectId) -> Vec<ThreadId> {
    let of_object = case.losses.locks.range((object, None)..).take_while(|((lock, _), _)| *lock == object);
    let by_thread: BTreeMap<ThreadId, Nanos> =
        of_object.filter_map(|(&(_, thread), charge)| Some((thread?, charge.total()))).collect();
    main_ones(&by_thread)
}

fn figures(case: &Case<'_>, cost: &ObjectCost, holders: &[ThreadId]) -> String {
    let held = match cost.hold {
        HoldTime::Measured(time) => Some(format!("Held {} of the time", percent(time.share_of(case.wall())))),
        HoldTime::Estimated { time, samples } => Some(format!(
            "Held about {} of the time (from {samples} timed holds)",
            percent(time.share_of(case.wall()))
        )),
        HoldTime::Unknown => None,
    };
    let by = if holders.is_empty() { String::new() } else { format!("mostly by {}", case.threads(holders)) };
    let held = match (held, by.is_empty()) {
        (Some(held), true) => format!("{held}; "),
        (Some(held), false) => format!("{held}, {by}; "),
        (None, false) => format!("Held {by}; "),
        (None, true) => String::new(),
    };
    let mut waits = format!(
        "threads waited for it {}, {} in all, {:.1} of them at once on average.",
        times(cost.waits),
        cost.wait,
        cost.mean_waiters
    );
    if held.is_empty() {
        waits.replace_range(..1, "T");
    }
    format!("{held}{waits}")
}

fn short_holds(cost: &ObjectCost) -> Option<String> {
    let hold = cost.hold.time()?;
    let acquisitions = cost.acquisitions?;
    let each = mean(hold, acquisitions);
    (each < SHORT_HOLD).then(|| {
        format!(
            "It is taken {}, {each} each: take it less often (in batches), or give each thread a part of its own.",
            times(acquisitions)
        )
    })
}
