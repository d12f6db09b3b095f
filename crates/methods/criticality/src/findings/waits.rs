//! What threads wait for in a queue: work, room, or answers.

use std::collections::BTreeMap;

use holdup_model::{Arrange, Nanos, ObjectId, ObjectKind, SiteId, ThreadId, Time, Wake};

use super::{Case, Stage};
use crate::blame::Charge;

/// Waits for one stage, or for one object.
#[derive(Default)]
pub(super) struct Group {
    pub(super) charge: Charge,
    pub(super) threads: BTreeMap<ThreadId, Nanos>,
    pub(super) objects: BTreeMap<ObjectId, Nanos>,
}

impl Group {
    pub(super) fn add(&mut self, object: ObjectId, thread: Option<ThreadId>, charge: &Charge) {
        self.charge.merge(charge);
        *self.objects.entry(object).or_default() += charge.total();
        if let Some(thread) = thread {
            *self.threads.entry(thread).or_default() += charge.total();
        }
    }
}

/// Of a slow stage those behind it wait for so many times as long as those before it, at most.
const BEHIND: u64 = 3;

/// Whether threads wait for work, for room for their own, or for what becomes of it.
#[derive(Default)]
pub(super) struct Waits {
    pub(super) for_work: Nanos,
    pub(super) for_room: Nanos,
    for_answers: Nanos,
}

impl Waits {
    /// Nothing is taken from a queue before something was put into it. So threads whose first signal comes before the
    /// first one of those who signal to them put things in, and wait for room; the others wait for work.
    pub(super) fn of(case: &Case<'_>, group: &Group) -> Self {
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
    pub(super) fn is_a_stage(&self) -> bool {
        (self.for_room + self.for_answers).get() * BEHIND >= self.for_work.get().max(1)
    }

    pub(super) fn sentence(&self) -> Option<String> {
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
