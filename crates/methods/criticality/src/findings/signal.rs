//! Condition variables, semaphores and futexes: stages of a pipeline that keep their neighbours waiting, and
//! other waits for a signal.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::{percent, times};
use holdup_model::{Nanos, ObjectId, ObjectKind, RoutineKind, SiteId, State, ThreadId};

use super::short_queue::{Key, ShortQueue, short_queues};
use super::waits::{Group, Waits};
use super::{Candidate, Case, Description, Stage, main_ones, most_first};
use crate::wording::meanwhile;
use crate::{FamilyCost, FindingKind, ObjectCost};

/// A stage of a pipeline is at work (or in I/O) for at least this share of its life while others wait for it.
const BUSY: f64 = 0.5;

/// A stage hands on more often than this; what is waited for less often is an event, not a flow.
const FEWEST_WAITS: u64 = 8;

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Cause<'a> {
    /// Threads that do something else than those who wait for them.
    Stage(&'a Stage),
    /// The same sort of thread waits and is waited for, or it is not known who is waited for.
    Object(ObjectId),
    /// Threads that go on with what others of them have begun.
    Turns,
}

pub(super) fn candidates<'a>(case: &Case<'a>, candidates: &mut Vec<Candidate<'a>>) {
    let like = waiters_like_root(case);
    let is_alike = |object, thread| match thread {
        Some(_) if case.working.take_turns => false,
        Some(thread) => like.get(&(object, thread)).copied().unwrap_or(false),
        None => true,
    };
    let mut lost: BTreeMap<ObjectId, Nanos> = BTreeMap::new();
    for (&(object, thread), charge) in &case.losses.signals {
        if is_alike(object, thread) {
            *lost.entry(object).or_default() += charge.total();
        }
    }
    let mut first: BTreeMap<ObjectId, (ObjectId, &FamilyCost)> = BTreeMap::new();
    for (family, members) in case.together(&lost) {
        members.iter().for_each(|(object, _)| _ = first.insert(*object, (members[0].0, family)));
    }
    let short = short_queues(case);
    let in_short: BTreeSet<Key> = short.iter().flat_map(ShortQueue::keys).collect();
    candidates.extend(short.into_iter().map(|queue| queue.candidate(case)));
    let mut groups: BTreeMap<Cause<'_>, Group> = BTreeMap::new();
    for (&(object, thread), charge) in &case.losses.signals {
        if thread.is_some_and(|thread| in_short.contains(&(object, thread))) {
            continue;
        }
        let cause = match thread {
            Some(_) if case.working.take_turns => Cause::Turns,
            Some(thread) if !is_alike(object, Some(thread)) => Cause::Stage(case.stage(thread)),
            _ => Cause::Object(first.get(&object).map_or(object, |(first, _)| *first)),
        };
        groups.entry(cause).or_default().add(object, thread, charge);
    }
    for (cause, group) in groups {
        let lost = group.charge.total();
        candidates.push(match cause {
            Cause::Stage(_) => {
                let kind = if is_flow(case, &group) { FindingKind::Pipeline } else { FindingKind::Condition };
                Candidate::new(kind, lost, move |case| describe_stage(case, kind, &group))
            }
            Cause::Turns => {
                Candidate::new(FindingKind::Condition, lost, move |case| describe_turns(case, &group))
            }
            Cause::Object(object) => {
                let kind = match case.role(object) {
                    ObjectKind::Semaphore => FindingKind::Semaphore,
                    _ => FindingKind::Condition,
                };
                let family = first.get(&object).map(|(_, family)| *family);
                let others = most_first(&group.objects).into_iter().map(|(other, _)| other);
                let others = others.filter(|other| *other != object).collect();
                let candidate =
                    Candidate::new(kind, lost, move |case| describe_object(case, object, family, &group));
                Candidate { others, ..candidate }
            }
        });
    }
}

/// By object and thread at the root: whether most of the threads that wait start with the root's function. A forked process that waits
/// for another one does something else.
fn waiters_like_root(case: &Case<'_>) -> BTreeMap<(ObjectId, ThreadId), bool> {
    let chains = &case.blame.chains;
    let mut times: BTreeMap<(ObjectId, ThreadId), (Nanos, Nanos)> = BTreeMap::new();
    for (first, total) in chains.totals.iter().enumerate() {
        let root = chains.root(first);
        let counts = case.losses.signals.contains_key(&(root.object, root.holder));
        let Some(holder) = root.holder.filter(|_| counts && total.time > Nanos::ZERO) else { continue };
        let entry = case.stage(holder);
        let waiters: Vec<ThreadId> = total.waiters().collect();
        let is_alike = |waiter| case.stage(waiter) == entry && !case.process.is_another(holder);
        let alike = waiters.iter().filter(|&&waiter| is_alike(waiter)).count();
        let (same, all) = times.entry((root.object, holder)).or_default();
        *all += total.time;
        if alike * 2 > waiters.len() {
            *same += total.time;
        }
    }
    times.into_iter().map(|(key, (same, all))| (key, same.share_of(all) > 0.5)).collect()
}

fn is_flow(case: &Case<'_>, group: &Group) -> bool {
    let waits: u64 =
        group.objects.keys().filter_map(|&object| case.object_cost(object)).map(|cost| cost.waits).sum();
    waits >= FEWEST_WAITS && busy_share(case, &main_ones(&group.threads)) >= BUSY
}

fn busy_share(case: &Case<'_>, threads: &[ThreadId]) -> f64 {
    let (mut busy, mut life) = (Nanos::ZERO, Nanos::ZERO);
    for thread in threads {
        let times = case.times[thread.index()];
        busy += times.active + times.descheduled + times.io;
        life += case.wall().saturating_sub(times.not_existing);
    }
    busy.share_of(life)
}

fn describe_stage(case: &Case<'_>, kind: FindingKind, group: &Group) -> Description {
    let threads = main_ones(&group.threads);
    let objects = main_ones(&group.objects);
    let object = objects.first().copied();
    let who = case.threads(&threads);
    let waited_at = object.and_then(|object| case.object_cost(object)?.place);
    // A runtime's pool waits for the next piece of work, whoever signals what meanwhile.
    let is_pool = case.timeline.places.idles(waited_at);
    let place = hands_on_at(case, group).or(waited_at);
    let names = names(case, &objects);
    let busy = percent(busy_share(case, &threads));
    let executed = case.executed_while_waited_for(&threads, objects.iter().map(|&object| Some(object)));
    let at = match (&executed, place) {
        (Some(executed), _) => format!(", mostly in {}", executed.words),
        (None, Some(place)) => format!(", up to {}", case.site(place)),
        (None, None) => String::new(),
    };
    let place = executed.as_ref().map(|executed| executed.place).or(place);
    let waits = Waits::of(case, group);
    // Of a futex that only the kernel saw it is not known what it is for.
    let is_known = case.process.seen_by.preload || !case.process.seen_by.kernel;
    let (what, hint) = match kind {
        FindingKind::Pipeline if !is_known => (
            format!("others wait for {who}{at}"),
            "Give this part of the work to more threads, or make it shorter.",
        ),
        FindingKind::Pipeline if waits.is_a_stage() && !is_pool => (
            format!("slow stage {who}{at}"),
            "Give this stage more threads, or less to do: the other stages cannot be faster than it is.",
        ),
        FindingKind::Pipeline => (
            format!("threads wait for work from {who}{at}"),
            "Let more threads produce work, make each piece of it cheaper to produce, or start fewer threads.",
        ),
        _ => (
            format!("waits for a signal from {who}{at}"),
            "Signal earlier, or give the waiting threads something else to do meanwhile.",
        ),
    };
    let plural = threads.len() > 1;
    let mut evidence = vec![format!(
        "{} busy {busy} of {} time, and other threads wait for {} on {names}.",
        if plural { "They are" } else { "It is" },
        if plural { "their" } else { "its" },
        if plural { "them" } else { "it" },
    )];
    evidence.extend(executed.map(|executed| executed.evidence()));
    evidence.extend(waits.sentence().filter(|_| is_known));
    evidence.extend(meanwhile(&group.charge));
    // The same time, on several objects at once: not their sum.
    let on_path = objects.iter().filter_map(|&object| Some(case.object_cost(object)?.on_path)).max();
    Description {
        object,
        threads,
        place,
        what,
        evidence,
        hint: hint.to_owned(),
        on_path,
        method: "waits until the signal, charged along the chain to the thread that works meanwhile",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// Threads that take turns have nothing to go on with until others of them have come so far.
fn describe_turns(case: &Case<'_>, group: &Group) -> Description {
    let threads = main_ones(&group.threads);
    let objects: Vec<ObjectId> = group.objects.keys().copied().collect();
    let executed = case.executed_while_waited_for(&threads, objects.iter().map(|&object| Some(object)));
    let at = executed.as_ref().map(|executed| format!(", mostly in {}", executed.words)).unwrap_or_default();
    let mut evidence =
        vec![format!("Threads wait on {} for {}.", names(case, &objects), case.threads(&threads))];
    evidence.extend(executed.as_ref().map(|executed| executed.evidence()));
    evidence.extend(meanwhile(&group.charge));
    Description {
        object: objects.first().copied(),
        place: executed.map(|executed| executed.place),
        what: format!("threads have nothing to run while others are at work{at}"),
        evidence,
        hint: "Start more goroutines that can run side by side, or let them wait less for each other."
            .to_owned(),
        on_path: objects.iter().filter_map(|&object| Some(case.object_cost(object)?.on_path)).max(),
        threads,
        method: "waits until the signal, charged along the chain to the thread that works meanwhile",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// The first objects by name, those that are called the same as one.
fn names(case: &Case<'_>, objects: &[ObjectId]) -> String {
    let mut named: Vec<(String, usize)> = Vec::new();
    for name in objects.iter().map(|&object| case.object(object)) {
        match named.iter_mut().find(|(other, _)| *other == name) {
            Some((_, count)) => *count += 1,
            None => named.push((name, 1)),
        }
    }
    let told = named.iter().take(2).map(|(name, count)| match count {
        1 => name.clone(),
        count => format!("{name} ({count} of them)"),
    });
    let told: Vec<String> = told.collect();
    match named.iter().skip(2).map(|(_, count)| count).sum::<usize>() {
        0 => told.join(" and "),
        more => format!("{} and {more} more", told.join(", ")),
    }
}

/// The sync site at which the work that is waited for mostly ends; where that is a call for I/O, the place of the
/// signals.
fn hands_on_at(case: &Case<'_>, group: &Group) -> Option<SiteId> {
    let chains = &case.blame.chains;
    let mut sites: BTreeMap<SiteId, Nanos> = BTreeMap::new();
    for (first, total) in chains.totals.iter().enumerate() {
        let root = chains.root(first);
        let belongs = group.objects.contains_key(&root.object)
            && root.holder.is_some_and(|holder| group.threads.contains_key(&holder));
        if let (true, State::Active, Some(site)) = (belongs, root.state, root.site) {
            *sites.entry(site).or_default() += total.time;
        }
    }
    let calls: BTreeSet<SiteId> =
        case.process.blocks.iter().filter_map(|block| case.timeline.places.at(block.site)).collect();
    let mut signals: BTreeMap<SiteId, Nanos> = BTreeMap::new();
    for wake in &case.process.wakes {
        if let Some(site) = case.timeline.places.at(wake.site)
            && group.objects.contains_key(&wake.object)
            && group.threads.contains_key(&wake.thread)
        {
            *signals.entry(site).or_default() += Nanos::new(1);
        }
    }
    let end = most_first(&sites).first().copied().filter(|(site, _)| !calls.contains(site));
    end.or_else(|| most_first(&signals).first().copied()).map(|(site, _)| site)
}

/// Waits for an object, or for those of a family, of which it is the worst.
fn describe_object(
    case: &Case<'_>,
    object: ObjectId,
    family: Option<&FamilyCost>,
    group: &Group,
) -> Description {
    let cost = family.map(|family| &family.sum).or_else(|| case.object_cost(object));
    let place = cost.and_then(|cost| cost.waiters.first()).and_then(|waiter| waiter.site);
    let name = family.map_or_else(|| case.object(object), |family| case.family(family));
    let is_idle = case.timeline.roles.is_idle[object.index()];
    let threads = main_ones(&group.threads);
    // Who has nothing to do waits nowhere in particular: it is what others still do that could be shared.
    let objects = || group.objects.keys().map(|&object| Some(object));
    let executed = is_idle.then(|| case.executed_while_waited_for(&threads, objects())).flatten();
    let what = match (place, is_idle) {
        (Some(place), true) => {
            let idle = idle_at(case, cost, place);
            let meanwhile = executed.as_ref().map(|executed| {
                let (who, are) = (case.threads(&threads), if threads.len() == 1 { "is" } else { "are" });
                format!(" while {who} {are} in {}", executed.words)
            });
            format!("not enough work for {idle}{}", meanwhile.unwrap_or_default())
        }
        (Some(place), false) => format!("{name}, waited for in {}", case.site(place)),
        (None, _) => name,
    };
    let place = executed.as_ref().map(|executed| executed.place).or(place);
    let mut evidence = Vec::new();
    evidence.extend(family.map(|family| case.spread(family, &most_first(&group.objects))));
    if let Some(cost) = cost {
        let by = if threads.is_empty() {
            "who ends the waits is not known".to_owned()
        } else {
            format!("mostly for {}", case.threads(&threads))
        };
        evidence.push(format!(
            "Threads waited for {} {}, {} in all, {:.1} of them at once on average; {by}.",
            if family.is_some() { "them" } else { "it" },
            times(cost.waits),
            cost.wait,
            cost.mean_waiters
        ));
    }
    let short_lives = super::short_lives::started_with(case, &threads);
    let hint = match short_lives {
        Some(_) => super::short_lives::HINT,
        None => hint(is_idle, case.role(object)),
    };
    evidence.extend(short_lives.map(|short| short.evidence));
    evidence.extend(executed.map(|executed| executed.evidence()));
    evidence.extend(meanwhile(&group.charge));
    Description {
        object: Some(object),
        threads,
        place,
        what,
        evidence,
        hint: hint.to_owned(),
        on_path: cost.map(|cost| cost.on_path),
        method: "waits until the signal, charged along the chain to the thread that works meanwhile",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// What can be done about waits for an object of this kind.
fn hint(is_idle: bool, kind: ObjectKind) -> &'static str {
    match (is_idle, kind) {
        (true, _) => "Give these threads more, or more evenly cut, work.",
        (false, ObjectKind::Ordered) => {
            "It lets iterations through one after the other: dealt out in blocks (schedule(static)), each thread waits until the one \
             before is through with its whole block. Deal neighbours out to different threads (schedule(static, 1)), or do less in it."
        }
        (false, _) => {
            "Let more threads through at once, signal earlier, or do less between the wait and the signal."
        }
    }
}

/// Those who have nothing to do: `rayon's idle workers`, `4 threads of crunch, which wait in next_job (pool.c:60)`.
fn idle_at(case: &Case<'_>, cost: Option<&ObjectCost>, place: SiteId) -> String {
    if let Some(routine) = case.process.site(place).routine(|kind| kind == RoutineKind::Idle) {
        return routine.name.to_owned();
    }
    let mut waiters: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    for waiter in cost.into_iter().flat_map(|cost| &cost.waiters) {
        *waiters.entry(waiter.thread).or_default() += waiter.time;
    }
    format!("{}, waiting in {}", case.threads(&main_ones(&waiters)), case.site(place))
}
