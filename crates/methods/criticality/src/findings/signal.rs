//! Condition variables, semaphores and futexes: stages of a pipeline that keep their neighbours waiting, and
//! other waits for a signal.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::{percent, times};
use holdup_model::{Arrange, Nanos, ObjectId, ObjectKind, RoutineKind, SiteId, State, ThreadId, Time, Wake};

use super::{Candidate, Case, Description, Stage, main_ones, most_first};
use crate::blame::Charge;
use crate::wording::meanwhile;
use crate::{FamilyCost, FindingKind, ObjectCost};

/// A stage of a pipeline is at work (or in I/O) for at least this share of its life while others wait for it.
const BUSY: f64 = 0.5;

/// A stage hands on more often than this; what is waited for less often is an event, not a flow.
const FEWEST_WAITS: u64 = 8;

/// Waits for one stage, or for one object.
#[derive(Default)]
struct Group {
    charge: Charge,
    threads: BTreeMap<ThreadId, Nanos>,
    objects: BTreeMap<ObjectId, Nanos>,
}

impl Group {
    fn add(&mut self, object: ObjectId, thread: Option<ThreadId>, charge: &Charge) {
        self.charge.merge(charge);
        *self.objects.entry(object).or_default() += charge.total();
        if let Some(thread) = thread {
            *self.threads.entry(thread).or_default() += charge.total();
        }
    }
}

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
    let mut groups: BTreeMap<Cause<'_>, Group> = BTreeMap::new();
    for (&(object, thread), charge) in &case.losses.signals {
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

/// Of a slow stage those behind it wait for so many times as long as those before it, at most.
const BEHIND: u64 = 3;

/// Whether threads wait for work, for room for their own, or for what becomes of it.
#[derive(Default)]
struct Waits {
    for_work: Nanos,
    for_room: Nanos,
    for_answers: Nanos,
}

impl Waits {
    /// Nothing is taken from a queue before something was put into it. So threads whose first signal comes before the
    /// first one of those who signal to them put things in, and wait for room; the others wait for work.
    fn of(case: &Case<'_>, group: &Group) -> Self {
        let stage = |thread: ThreadId| case.stage(thread);
        let sooner =
            |first: &mut Option<Time>, time: Time| *first = Some(first.map_or(time, |at| at.min(time)));
        let mut sums = Self::default();
        let mut waits: BTreeMap<ObjectId, BTreeMap<&Stage, (Time, Nanos)>> = BTreeMap::new();
        // Who waits for the end of what it gave to others waits for neither.
        let in_queues = case.process.waits.iter().filter(|wait| !case.timeline.places.joins(wait.site));
        for wait in in_queues {
            // Of a part of a run, waits are whole.
            let (begin, end) = (wait.begin.max(case.timeline.start), wait.end.min(case.timeline.end));
            let of_stage = waits.entry(wait.object).or_default().entry(stage(wait.thread));
            let (first, sum) = of_stage.or_insert((wait.begin, Nanos::ZERO));
            *first = wait.begin.min(*first);
            // A runtime's function says which it is, whatever was signalled before.
            let (places, is_in_group) = (&case.timeline.places, group.objects.contains_key(&wait.object));
            let sum = match is_in_group {
                true if case.process.object(wait.object).kind == ObjectKind::Room => &mut sums.for_room,
                true if places.idles(wait.site) => &mut sums.for_work,
                true if places.waits_for_room(wait.site) => &mut sums.for_room,
                _ => sum,
            };
            *sum += end.since(begin);
        }
        let mut signals: BTreeMap<ObjectId, BTreeMap<&Stage, Option<Time>>> = BTreeMap::new();
        let answers = Handshakes::of(case);
        // Who lets others have a lock puts nothing into a queue.
        let is_signal = |wake: &&Wake| !case.role(wake.object).is_lock() && !answers.has(case, wake);
        for wake in case.process.wakes.iter().filter(is_signal) {
            sooner(signals.entry(wake.object).or_default().entry(stage(wake.thread)).or_default(), wake.time);
        }
        // When one stage first signalled to another, and when it first did to any, or sent messages.
        let mut to_other: BTreeMap<(&Stage, &Stage), Option<Time>> = BTreeMap::new();
        let mut to_any: BTreeMap<&Stage, Option<Time>> = BTreeMap::new();
        let mut sent: BTreeMap<&Stage, Option<Time>> = BTreeMap::new();
        let is_message = |object: &ObjectId| case.process.object(*object).kind == ObjectKind::Messages;
        for (object, by) in &signals {
            for (&by, time) in by.iter().filter_map(|(by, time)| Some((by, (*time)?))) {
                sooner(to_any.entry(by).or_default(), time);
                if is_message(object) {
                    sooner(sent.entry(by).or_default(), time);
                }
                for &waits in waits.get(object).into_iter().flat_map(BTreeMap::keys) {
                    sooner(to_other.entry((by, waits)).or_default(), time);
                }
            }
        }
        for object in group.objects.keys() {
            for (&own, &(first, sum)) in waits.get(object).into_iter().flatten() {
                let givers = || signals.get(object).into_iter().flatten().filter(|(by, _)| **by != own);
                let given = givers().filter_map(|(_, first)| *first).min();
                let answered = givers().filter_map(|(by, _)| *to_other.get(&(own, *by))?).min();
                // Messages answer messages, or are work.
                let to_any = if is_message(object) { &sent } else { &to_any };
                let signalled = answered.or_else(|| to_any.get(own).copied().flatten());
                // Of two at the same moment nothing is known but whether something was put in before the wait.
                let puts_in = given.zip(signalled).is_some_and(|(given, signalled)| {
                    signalled < given || signalled == given && signalled < first
                });
                *match puts_in {
                    // Those that are waited for have not come yet: there is no lack of room.
                    true if is_message(object) => &mut sums.for_answers,
                    true => &mut sums.for_room,
                    false => &mut sums.for_work,
                } += sum;
            }
        }
        sums
    }

    /// True where somebody is slower than those before it, which wait for room or for answers, and not only than those behind it, of
    /// which there may be several.
    fn is_a_stage(&self) -> bool {
        (self.for_room + self.for_answers).get() * BEHIND >= self.for_work.get().max(1)
    }

    fn sentence(&self) -> Option<String> {
        let sums = [
            (self.for_work, "work (empty queue)"),
            (self.for_room, "room (full queue)"),
            (self.for_answers, "answers to their messages"),
        ];
        let sums = sums.iter().filter(|(sum, _)| *sum > Nanos::ZERO);
        let parts: Vec<String> = sums.map(|(sum, what)| format!("{sum} for {what}")).collect();
        let (last, others) = parts.split_last()?;
        let others = others.join(", ");
        let and = if others.is_empty() { "" } else { " and " };
        Some(format!("Threads wait {others}{and}{last}."))
    }
}

/// Waits of threads for others that they are just making, until these say that they are there: such a signal puts nothing
/// into a queue. It is the first that a thread gives.
struct Handshakes {
    /// By thread.
    firsts: Vec<Option<Time>>,
    /// By object, in order of threads and times. Those of one thread do not overlap.
    waits: Vec<Vec<(ThreadId, Time, Time)>>,
}

impl Handshakes {
    fn of(case: &Case<'_>) -> Self {
        let function =
            |site: SiteId| case.process.site(site).place().and_then(|place| place.function.as_deref());
        let mut makes: Vec<(ThreadId, &str)> = Vec::new();
        for thread in &case.process.threads {
            let made = thread.parent.zip(thread.created_at.and_then(function));
            if let Some(made) = made.filter(|made| !makes.contains(made)) {
                makes.push(made);
            }
        }
        let mut waits: Vec<Vec<(ThreadId, Time, Time)>> =
            case.process.objects.iter().map(|_| Vec::new()).collect();
        let mut firsts: Vec<Option<Time>> = vec![None; case.process.threads.len()];
        for wake in &case.process.wakes {
            let first = &mut firsts[wake.thread.index()];
            *first = Some(first.map_or(wake.time, |first| first.min(wake.time)));
        }
        if makes.is_empty() {
            return Self { firsts, waits };
        }
        // By site: who makes threads in one of its functions.
        let mut makers: Vec<Option<Vec<ThreadId>>> = case.process.sites.iter().map(|_| None).collect();
        for wait in &case.process.waits {
            let Some(site) = wait.site else { continue };
            let makers = makers[site.index()].get_or_insert_with(|| {
                let frames = case.process.site(site).frames.iter();
                let functions: Vec<&str> = frames.filter_map(|frame| frame.function.as_deref()).collect();
                makes.iter().filter(|(_, made)| functions.contains(made)).map(|(thread, _)| *thread).collect()
            });
            if makers.contains(&wait.thread) {
                waits[wait.object.index()].push((wait.thread, wait.begin, wait.end));
            }
        }
        waits.iter_mut().for_each(|waits| waits.arrange_by_key(|wait| *wait));
        Self { firsts, waits }
    }

    fn has(&self, case: &Case<'_>, wake: &Wake) -> bool {
        let Some(parent) = case.process.thread(wake.thread).parent else { return false };
        if self.firsts[wake.thread.index()] != Some(wake.time) {
            return false;
        }
        let waits = &self.waits[wake.object.index()];
        let begun = waits.partition_point(|&(thread, begin, _)| (thread, begin) <= (parent, wake.time));
        let last = begun.checked_sub(1).map(|last| waits[last]);
        last.is_some_and(|(thread, _, end)| thread == parent && wake.time <= end)
    }
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
    evidence.extend(executed.map(|executed| executed.evidence()));
    evidence.extend(meanwhile(&group.charge));
    Description {
        object: Some(object),
        threads,
        place,
        what,
        evidence,
        hint: hint(is_idle, case.role(object)).to_owned(),
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
