//! Queues that are too short: two stages of a pipeline wait for each other by turns, the one for room while it has the cheaper pieces, the
//! other for work while that has. With room for more, each would go on meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::times;
use holdup_model::{Nanos, ObjectId, SiteId, ThreadId, Time};

use super::waits::{Group, Waits};
use super::{Candidate, Case, Description, Stage, main_ones, most_first};
use crate::{FindingKind, Gain};

/// Of one object and thread that is waited for, those who wait are one stage for this share of the time.
const MOSTLY: f64 = 0.8;
/// Both wait: the one that waits less for at least this share of what the other one does.
const BOTH: f64 = 1.0 / 3.0;
/// Waits of each.
const FEWEST_WAITS: usize = 16;
/// In so many waits at least it is once the other's turn. One that gives another something to do and waits until that is done has it in
/// each.
const IN_A_ROW: usize = 3;
/// Waits of this part of what they take on average do not count.
const SHORT: u64 = 4;
/// What a queue that is longer gives at the least, as a share of what one gives that is long enough.
const LEAST_PART: f64 = 0.5;

/// What is waited for, and who could have ended it.
pub(super) type Key = (ObjectId, ThreadId);

/// Those of one stage wait for those of another.
#[derive(Default)]
struct Flow {
    /// What they lost while the other stage was at work.
    lost: Nanos,
    /// For how long they waited there in all.
    waited: Nanos,
    group: Group,
    waiters: BTreeSet<ThreadId>,
    keys: Vec<Key>,
}

impl Flow {
    /// How long each of the waiting threads waits, on the average.
    fn each(&self) -> Nanos {
        Nanos::new(self.waited.get() / self.waiters.len().max(1) as u64)
    }
}

/// Such a queue.
pub(super) struct ShortQueue {
    /// Those who put into it wait for room.
    room: Flow,
    /// Those who take from it wait for work.
    work: Flow,
    waits: usize,
    /// How often it was the other's turn to wait.
    turns: usize,
}

impl ShortQueue {
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.room.keys.iter().chain(&self.work.keys).copied()
    }

    /// With room for all pieces the stages take as long as the one that has more to do; but the one that takes has nothing in the first
    /// stretch, or the one that gives nothing more in the last one.
    pub(super) fn candidate<'a>(self, case: &Case<'_>) -> Candidate<'a> {
        let (less, more) = (self.room.each().min(self.work.each()), self.room.each().max(self.work.each()));
        let active: Nanos = case.times.iter().map(|times| times.active).sum();
        let cores = u64::from(case.working.cores.max(1));
        let idle = match case.working.cores {
            0 => case.wall(),
            _ => case.wall().saturating_sub(Nanos::new(active.get() / cores)),
        };
        let stretch = (self.room.waited + self.work.waited).get() / (self.turns as u64 + 1);
        let time = less.saturating_sub(Nanos::new(stretch)).min(idle);
        let low = Nanos::new((time.get() as f64 * LEAST_PART) as u64);
        let high = more.max(time).min(idle);
        let lost = self.room.lost + self.work.lost;
        let gain = Gain { time, low, high, expression: String::new(), capped_by: None };
        let candidate = Candidate::new(FindingKind::Queue, lost, move |case| self.describe(case));
        Candidate { gain: Some(gain), ..candidate }
    }

    fn describe(&self, case: &Case<'_>) -> Description {
        let objects =
            most_first(&self.room.group.objects).into_iter().chain(most_first(&self.work.group.objects));
        let objects: Vec<ObjectId> = objects.map(|(object, _)| object).collect();
        let [gives, takes] =
            [&self.room, &self.work].map(|flow| flow.waiters.iter().copied().collect::<Vec<_>>());
        let mut places: BTreeMap<SiteId, Nanos> = BTreeMap::new();
        let costs = self.room.group.objects.keys().filter_map(|&object| case.object_cost(object));
        for waiter in costs.flat_map(|cost| &cost.waiters) {
            if let Some(site) = waiter.site {
                *places.entry(site).or_default() += waiter.time;
            }
        }
        let place = most_first(&places).first().map(|(site, _)| *site);
        let at = place.map(|place| format!(", waited for in {}", case.site(place))).unwrap_or_default();
        let (giver, taker) = (case.threads(&gives), case.threads(&takes));
        let row = self.waits / self.turns.max(1);
        Description {
            object: objects.first().copied(),
            place,
            what: format!("queue too short between {giver} and {taker}{at}"),
            evidence: vec![
                format!(
                    "They wait for each other by turns: {giver} {} for room (full queue), {taker} {} for work (empty queue).",
                    self.room.waited, self.work.waited
                ),
                format!("Of {} waits, about {row} in a row are of the same one.", self.waits),
                format!("It was the other's turn {}.", times(self.turns as u64)),
            ],
            hint: format!(
                "Make room for more in it, some {} pieces at least: then each can go on while the other has the dearer ones.",
                (row * 2).next_power_of_two()
            ),
            threads: main_ones(&self.room.group.threads)
                .into_iter()
                .chain(main_ones(&self.work.group.threads))
                .collect(),
            on_path: objects.iter().filter_map(|&object| Some(case.object_cost(object)?.on_path)).max(),
            method: "waits until the signal, of two stages for each other; what both wait is not needed by the work of either",
            stretches: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// All of them.
pub(super) fn short_queues<'a>(case: &Case<'a>) -> Vec<ShortQueue> {
    let waiters = waiters(case);
    let mut flows: BTreeMap<(&'a Stage, &'a Stage), Flow> = BTreeMap::new();
    for (&(object, thread), charge) in &case.losses.signals {
        let Some(thread) = thread.filter(|_| !case.working.take_turns) else { continue };
        let Some((stage, threads)) = waiters.get(&(object, thread)) else { continue };
        if *stage == case.stage(thread) {
            continue;
        }
        let flow = flows.entry((stage, case.stage(thread))).or_default();
        flow.lost += charge.total();
        flow.group.add(object, Some(thread), charge);
        flow.waiters.extend(threads);
        flow.keys.push((object, thread));
    }
    let mut found = Vec::new();
    let pairs: Vec<(&Stage, &Stage)> = flows.keys().filter(|(one, other)| one < other).copied().collect();
    for (one, other) in pairs {
        if !flows.contains_key(&(other, one)) {
            continue;
        }
        let both = [flows.remove(&(one, other)), flows.remove(&(other, one))].map(Option::unwrap_or_default);
        let [less, more] = [both[0].lost.min(both[1].lost), both[0].lost.max(both[1].lost)];
        if less.share_of(more) < BOTH {
            continue;
        }
        let [first, second] = both;
        let is_for_room = [&first, &second].map(|flow| {
            let waits = Waits::of(case, &flow.group);
            waits.for_room > waits.for_work
        });
        let (room, work) = match is_for_room {
            [true, false] => (first, second),
            [false, true] => (second, first),
            _ => continue,
        };
        found.extend(by_turns(case, room, work));
    }
    found
}

/// By what is waited for: the stage of those who mostly wait, and who they are.
fn waiters<'a>(case: &Case<'a>) -> BTreeMap<Key, (&'a Stage, Vec<ThreadId>)> {
    let chains = &case.blame.chains;
    let mut waits: BTreeMap<Key, BTreeMap<&'a Stage, (Nanos, BTreeSet<ThreadId>)>> = BTreeMap::new();
    for (link, total) in chains.links.iter().zip(&chains.totals) {
        // Who waits for the end of one that waits takes nothing from the queue.
        let Some(holder) = link.holder.filter(|_| link.next.is_none() && total.time > Nanos::ZERO) else {
            continue;
        };
        let of_key = waits.entry((link.object, holder)).or_default();
        for waiter in total.waiters() {
            let of_stage = of_key.entry(case.stage(waiter)).or_default();
            of_stage.0 += total.time;
            of_stage.1.insert(waiter);
        }
    }
    let mostly = |stages: BTreeMap<&'a Stage, (Nanos, BTreeSet<ThreadId>)>| {
        let all: Nanos = stages.values().map(|(time, _)| *time).sum();
        let most = stages.into_iter().max_by_key(|(_, (time, _))| *time)?;
        let (stage, (time, threads)) = most;
        (time.share_of(all) >= MOSTLY).then(|| (stage, threads.into_iter().collect()))
    };
    waits.into_iter().filter_map(|(key, stages)| Some((key, mostly(stages)?))).collect()
}

/// Such a queue, if they wait by turns, and often.
fn by_turns(case: &Case<'_>, mut room: Flow, mut work: Flow) -> Option<ShortQueue> {
    let mut waits: Vec<(Time, bool, Nanos)> = Vec::new();
    for wait in &case.process.waits {
        let of = |flow: &Flow| {
            flow.group.objects.contains_key(&wait.object) && flow.waiters.contains(&wait.thread)
        };
        let is_room = of(&room);
        if is_room || of(&work) {
            // Of a part of a run, waits are whole.
            let (begin, end) = (wait.begin.max(case.timeline.start), wait.end.min(case.timeline.end));
            let length = end.since(begin);
            let flow = if is_room { &mut room } else { &mut work };
            flow.waited += length;
            waits.push((begin, is_room, length));
        }
    }
    waits.sort_unstable();
    // Who has come just before the other waits for a moment: that is nobody's turn.
    let least = Nanos::new((room.waited + work.waited).get() / waits.len().max(1) as u64 / SHORT);
    waits.retain(|(.., length)| *length >= least);
    let rooms = waits.iter().filter(|(_, is_room, _)| *is_room).count();
    let turns = waits.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    let are_enough = rooms.min(waits.len() - rooms) >= FEWEST_WAITS;
    let waits = waits.len();
    (are_enough && turns >= 2 && waits >= turns * IN_A_ROW).then_some(ShortQueue { room, work, waits, turns })
}
