//! Locks that are held while others wait.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::{percent, times};
use holdup_model::{Nanos, ObjectId, ObjectKind, ThreadId, Time};

use super::executed::Executed;
use super::{Candidate, Case, Description, Herd, main_ones};
use crate::blame::{Charge, Spans};
use crate::wording::{mean, meanwhile};
use crate::{FamilyCost, FindingKind, HoldTime, ObjectCost};

/// A lock that is held for less than this on average costs by being taken often, not by being held long.
const SHORT_HOLD: Nanos = Nanos::new(20_000);

pub(super) fn candidates<'a>(case: &Case<'a>, candidates: &mut Vec<Candidate<'a>>) {
    let mut locks: BTreeMap<ObjectId, Charge> = BTreeMap::new();
    for (&(object, _), charge) in &case.losses.locks {
        locks.entry(object).or_default().merge(charge);
    }
    let lost = locks.iter().map(|(&object, charge)| (object, charge.total())).collect();
    for (family, members) in case.together(&lost) {
        let total: Nanos = members.iter().map(|(_, lost)| *lost).sum();
        let mut charge = Charge::default();
        members.iter().filter_map(|(object, _)| locks.remove(object)).for_each(|one| charge.merge(&one));
        let others = members[1..].iter().map(|(object, _)| *object).collect();
        let candidate = Candidate::new(FindingKind::Lock, total, move |case| {
            describe_family(case, family, &members, &charge)
        });
        candidates.push(Candidate { others, ..candidate });
    }
    for (object, charge) in locks {
        let gain = case.gain_of_lock_code(object, case.working.cost(charge.total().get()));
        let candidate =
            Candidate::new(FindingKind::Lock, charge.total(), move |case| describe(case, object, &charge));
        candidates.push(Candidate { gain, ..candidate });
    }
}

/// Locks of a family that were waited for, the worst first: one thing to fix.
fn describe_family(
    case: &Case<'_>,
    family: &FamilyCost,
    members: &[(ObjectId, Nanos)],
    charge: &Charge,
) -> Description {
    let worst = members[0].0;
    let objects: Vec<ObjectId> = members.iter().map(|(object, _)| *object).collect();
    let holders = holders(case, &objects);
    let what = case.family(family);
    let mut evidence = vec![case.spread(family, members), taken(case, family, &holders)];
    if let Some(executed) = executed_while_held(case, &objects, &holders) {
        evidence.push(executed_by_holders("one of them", &holders, &executed));
    }
    let (moved, method) = moved(case, &objects, family.sum.cost, "them");
    evidence.extend(moved);
    evidence.extend(meanwhile(charge));
    Description {
        object: Some(worst),
        place: family.sum.place,
        what: with_place(case, what, Some(&family.sum), &holders),
        threads: holders,
        evidence,
        hint: hint_of_family(family, members),
        on_path: Some(family.sum.on_path),
        method,
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// How the cost of a lock is found.
const METHOD: &str =
    "waits until the release, charged along the chain to the lock whose holder does not wait itself";

/// As [`METHOD`], where threads have a core for a part of it.
const METHOD_OF_BUSY: &str = "waits until the release, charged along the chain to the lock whose holder does not wait \
    itself; brief waits by their number and time, getting and releasing it by a sample of each";

/// What a lock takes while its threads have a core is said from this share of its cost on.
const MUCH: f64 = 0.1;

/// How much of the cost of locks is not waiting for a holder, where that is much; and how the cost is found.
fn moved(case: &Case<'_>, objects: &[ObjectId], cost: Nanos, it: &str) -> (Option<String>, &'static str) {
    let busy: Nanos = objects.iter().filter_map(|object| case.losses.busy.get(object)).copied().sum();
    if busy == Nanos::ZERO {
        return (None, METHOD);
    }
    let share = case.working.cost(busy.get()).share_of(cost).min(1.0);
    let text = format!(
        "{} of the cost is in threads that have a core: brief waits, getting {it} from another core, and giving {it} to one.",
        percent(share)
    );
    ((share >= MUCH).then_some(text), METHOD_OF_BUSY)
}

/// How often locks of a family were taken and waited for, all together.
fn taken(case: &Case<'_>, family: &FamilyCost, holders: &[ThreadId]) -> String {
    let sum = &family.sum;
    let mut parts: Vec<String> = Vec::new();
    if let Some(count) = sum.acquisitions.filter(|count| *count > 0 && case.process.lost.uses == 0) {
        let each = sum.hold.time().map_or_else(String::new, |hold| format!(", {} each", mean(hold, count)));
        parts.push(format!("taken {}{each}", times(count)));
    }
    if !holders.is_empty() {
        parts.push(format!("held mostly by {}", case.threads(holders)));
    }
    parts.push(format!("threads waited for them {}, {} in all", times(sum.waits), sum.wait));
    let mut text = parts.join("; ") + ".";
    text[..1].make_ascii_uppercase();
    text
}

/// Few of many that are waited for most ask for another way to deal things out to them; else there are not enough.
fn hint_of_family(family: &FamilyCost, members: &[(ObjectId, Nanos)]) -> String {
    let total: Nanos = members.iter().map(|(_, lost)| *lost).sum();
    let fair = 1.0 / members.len() as f64;
    let hold = family.sum.hold.time().zip(family.sum.acquisitions).map(|(hold, count)| mean(hold, count));
    if members[0].1.share_of(total) >= SKEWED * fair {
        "Deal out what they protect more evenly, or move work out of the parts that hold them."
    } else if hold.is_some_and(|hold| hold < SHORT_HOLD) {
        "Take them less often (in batches), have more of them, each for less, or let threads that only look for \
         work wait for it."
    } else {
        "Move work out of the parts that hold them, or have more of them, each for less."
    }
    .to_owned()
}

/// The worst of a family is out of line with so many times its share of the cost.
const SKEWED: f64 = 4.0;

fn describe(case: &Case<'_>, object: ObjectId, charge: &Charge) -> Description {
    let cost = case.object_cost(object);
    let holders = holders(case, &[object]);
    let executed = executed_while_held(case, &[object], &holders);
    let place = cost.and_then(|cost| cost.place);
    let what = with_place(case, case.object(object), cost, &holders);
    let mut evidence = Vec::new();
    let mut hint = None;
    let mut method = METHOD;
    if let Some(cost) = cost {
        evidence.push(figures(case, cost, &holders));
        let (moved, how) = moved(case, &[object], cost.cost, "it");
        evidence.extend(moved);
        method = how;
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
        evidence.push(executed_by_holders("it", &holders, &executed));
    }
    evidence.extend(meanwhile(charge));
    let (mut what, mut place) = (what, place);
    if let Some((herd, share)) = cost.and_then(|cost| woken_in_vain(case, cost)) {
        evidence.insert(0, herd_sentence(case, herd, share));
        let rest = hint.filter(|_| share < MUCH_IN_VAIN).map(|hint| format!(" {hint}")).unwrap_or_default();
        hint = Some(format!("{WAKE_ONE}{rest}"));
        if share >= MUCH_IN_VAIN {
            let at = herd.place.map(|place| format!(" in {}", case.site(place))).unwrap_or_default();
            what = format!("{}, taken by threads that a broadcast{at} wakes in vain", case.object(object));
            place = herd.place.or(place);
        }
    }
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
        method,
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// Threads that are woken in vain are said to take a lock from this share of its acquisitions on...
const SOME_IN_VAIN: f64 = 0.05;
/// ...and from this on it is what the lock is about.
const MUCH_IN_VAIN: f64 = 0.25;
const WAKE_ONE: &str = "Wake only who can go on: a condition variable for each of them, or signal in place of broadcast where any will do.";

/// Who is woken in vain and takes this mutex for it, and how much of its acquisitions that is, if it is some.
fn woken_in_vain<'a>(case: &Case<'a>, cost: &ObjectCost) -> Option<(&'a Herd, f64)> {
    let herd = case.herds.get(&cost.object)?;
    let share = herd.in_vain as f64 / cost.acquisitions?.max(1) as f64;
    (share >= SOME_IN_VAIN).then_some((herd, share.min(1.0)))
}

fn herd_sentence(case: &Case<'_>, herd: &Herd, share: f64) -> String {
    format!(
        "{} of its acquisitions are for nothing: a broadcast{} wakes {:.1} threads on average, if any, and {} of them wait again at once.",
        percent(share),
        herd.place.map(|place| format!(" in {}", case.site(place))).unwrap_or_default(),
        herd.woken as f64 / herd.broadcasts.max(1) as f64,
        percent(herd.in_vain as f64 / herd.woken.max(1) as f64)
    )
}

/// What there is to say of who, or where, a lock is held by.
fn with_place(case: &Case<'_>, name: String, cost: Option<&ObjectCost>, holders: &[ThreadId]) -> String {
    let is_held_there = cost.is_some_and(|cost| cost.holders.iter().any(|holder| holder.site.is_some()));
    match cost.and_then(|cost| cost.place) {
        Some(place) if is_held_there => format!("{name}, held in {}", case.site(place)),
        Some(place) => case.waited_for_in(&name, place),
        None => format!("{name}, held by {}", case.threads(holders)),
    }
}

fn executed_by_holders(held: &str, holders: &[ThreadId], executed: &Executed) -> String {
    format!(
        "While threads wait for {held}, {} mostly in {}. {}",
        if holders.len() > 1 { "those who hold it are" } else { "the one that holds it is" },
        executed.words,
        executed.evidence()
    )
}

/// What the holders of a lock mostly do while others wait for it.
pub(super) fn done_by_holders(case: &Case<'_>, object: ObjectId) -> Option<String> {
    let holders = holders(case, &[object]);
    let executed = executed_while_held(case, &[object], &holders)?;
    Some(executed_by_holders("it", &holders, &executed))
}

/// What these threads mostly did while they held one of the locks and others waited for it.
fn executed_while_held(case: &Case<'_>, objects: &[ObjectId], holders: &[ThreadId]) -> Option<Executed> {
    let mut held: BTreeMap<(ObjectId, ThreadId), Vec<(Time, Time)>> = BTreeMap::new();
    let wanted: BTreeSet<ObjectId> = objects.iter().copied().collect();
    for hold in case.process.holds.iter().filter(|hold| wanted.contains(&hold.object)) {
        if let Some(begin) = hold.begin {
            held.entry((hold.object, hold.thread)).or_default().push((begin, hold.end));
        }
    }
    let each = objects.iter().flat_map(|&object| holders.iter().map(move |&thread| (object, thread)));
    let during: Vec<(ThreadId, Spans)> = each
        .filter_map(|(object, thread)| {
            let waited = case.blame.times.waited.get(&(Some(object), thread))?;
            // Of the threads that take a lock in turn each is waited for a little before it has it.
            let spans = match held.remove(&(object, thread)) {
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

fn holders(case: &Case<'_>, objects: &[ObjectId]) -> Vec<ThreadId> {
    let mut by_thread: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    for &object in objects {
        let of_object =
            case.losses.locks.range((object, None)..).take_while(|((lock, _), _)| *lock == object);
        for (&(_, thread), charge) in of_object {
            if let Some(thread) = thread {
                *by_thread.entry(thread).or_default() += charge.total();
            }
        }
    }
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
