//! What each sync object cost, who held it, and who waited for it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use holdup_model::{
    Arrange, Families, Nanos, ObjectId, ObjectKind, Process, SiteId, State, ThreadId, ThreadTimes, Timeline,
};
use holdup_sections::Working;

use crate::blame::Blame;
use crate::{CriticalPath, FamilyCost, HoldTime, HolderShare, ObjectCost, WaiterShare};

/// The most holders and the most waiters that an [`ObjectCost`] lists.
const MOST_SHARES: usize = 32;

/// Sums over one object's waits.
#[derive(Default)]
struct Waiting {
    waits: u64,
    wait: Nanos,
    waking: Nanos,
    waiters: BTreeMap<(ThreadId, Option<SiteId>), Nanos>,
    holders: BTreeMap<(Option<ThreadId>, Option<SiteId>), Nanos>,
}

/// The costs of all objects that were used or waited for, most costly first.
pub(crate) fn object_costs(
    process: &Process,
    timeline: &Timeline,
    blame: &Blame,
    working: &Working,
    path: &CriticalPath,
    busy: &[Busy],
) -> Vec<ObjectCost> {
    let waiting = waiting(process, timeline, blame);
    let rooted = rooted(process, blame);
    let mut on_path = vec![Nanos::ZERO; process.objects.len()];
    for &(object, time) in &path.by_object {
        on_path[object.index()] = time;
    }
    let uses = uses(process);
    let mut costs: Vec<ObjectCost> = waiting
        .into_iter()
        .enumerate()
        .filter(|(index, waiting)| waiting.waits > 0 || uses[*index].seen || busy[*index].brief > 0)
        .map(|(index, waiting)| {
            let uses = &uses[index];
            let waited = blame.objects[index].waited;
            let holders: Vec<HolderShare> = most_first(waiting.holders)
                .map(|((thread, site), time)| HolderShare { thread, site, time })
                .collect();
            let waiters: Vec<WaiterShare> = most_first(waiting.waiters)
                .map(|((thread, site), time)| WaiterShare { thread, site, time })
                .collect();
            let object = &process.objects[index];
            ObjectCost {
                object: ObjectId::new(index as u32),
                place: place(timeline.roles.kinds[index], &holders, &waiters).or(object.created_at),
                acquisitions: uses.acquisitions,
                failed_tries: uses.failed_tries,
                waits: waiting.waits.saturating_add(busy[index].brief),
                wait: waiting.wait + busy[index].waiting,
                waking: waiting.waking,
                hold: uses.hold(),
                cost: working.cost((rooted[index] + busy[index].lost).get()),
                direct_cost: working.cost((blame.objects[index].direct + busy[index].lost).get()),
                holders,
                waiters,
                on_path: on_path[index],
                mean_waiters: waiting.wait.share_of(waited),
            }
        })
        .collect();
    costs.arrange_by_key(|cost| (Reverse(cost.cost), Reverse(cost.wait), cost.object));
    costs
}

/// What one object cost that was waited for very often, beside the waits that were recorded.
#[derive(Clone, Copy, Default)]
pub(crate) struct Busy {
    /// Brief waits, of all threads.
    brief: u64,
    waiting: Nanos,
    /// Of working threads, and no more than they were active: see [`holdup_model::BusyLock::lost`].
    pub(crate) lost: Nanos,
}

/// By [`ObjectId`].
pub(crate) fn busy(process: &Process, working: &Working, times: &[ThreadTimes]) -> Vec<Busy> {
    let mut left: Vec<Nanos> = times.iter().map(|times| times.active.saturating_sub(times.delayed)).collect();
    let mut all = vec![Busy::default(); process.objects.len()];
    for lock in &process.busy_locks {
        let busy = &mut all[lock.object.index()];
        busy.brief = busy.brief.saturating_add(lock.brief);
        busy.waiting += lock.waiting;
        if working.threads.contains(&lock.thread) {
            let left = &mut left[lock.thread.index()];
            let lost = lock.lost().min(*left);
            *left = left.saturating_sub(lost);
            busy.lost += lost;
        }
    }
    all
}

/// The costs of families, most costly first, from those of their members.
pub(crate) fn family_costs(families: &Families, objects: &[ObjectCost]) -> Vec<FamilyCost> {
    let mut by_family: BTreeMap<ObjectId, Vec<&ObjectCost>> = BTreeMap::new();
    for cost in objects {
        if let Some(family) = families.of_object(cost.object) {
            by_family.entry(family.members[0]).or_default().push(cost);
        }
    }
    let mut costs: Vec<FamilyCost> = by_family
        .into_iter()
        .filter(|(_, seen)| seen.len() > 1)
        .filter_map(|(first, seen)| {
            let family = families.of_object(first)?;
            let mut members: Vec<ObjectId> = seen.iter().map(|cost| cost.object).collect();
            let known: BTreeSet<ObjectId> = members.iter().copied().collect();
            members.extend(family.members.iter().filter(|member| !known.contains(member)));
            Some(FamilyCost {
                name: family.name.clone(),
                is_unnamed: family.is_unnamed,
                members,
                waited_for: seen.iter().filter(|cost| cost.waits > 0).count(),
                sum: sum(&seen),
            })
        })
        .collect();
    costs.arrange_by_key(|family| (Reverse(family.sum.cost), Reverse(family.sum.wait), family.sum.object));
    costs
}

/// Of several objects, the most costly first.
fn sum(costs: &[&ObjectCost]) -> ObjectCost {
    let mut sum = costs[0].clone();
    let mut holders: BTreeMap<(Option<ThreadId>, Option<SiteId>), Nanos> = BTreeMap::new();
    let mut waiters: BTreeMap<(ThreadId, Option<SiteId>), Nanos> = BTreeMap::new();
    // How long each was waited for by any thread; these add up where the waiters are counted.
    let mut waited = 0.0;
    for (number, cost) in costs.iter().enumerate() {
        if cost.mean_waiters > 0.0 {
            waited += cost.wait.seconds() / cost.mean_waiters;
        }
        for holder in &cost.holders {
            *holders.entry((holder.thread, holder.site)).or_default() += holder.time;
        }
        for waiter in &cost.waiters {
            *waiters.entry((waiter.thread, waiter.site)).or_default() += waiter.time;
        }
        if number == 0 {
            continue;
        }
        sum.acquisitions = match (sum.acquisitions, cost.acquisitions) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        sum.failed_tries = sum.failed_tries.saturating_add(cost.failed_tries);
        sum.waits += cost.waits;
        sum.wait += cost.wait;
        sum.waking += cost.waking;
        sum.hold = both(sum.hold, cost.hold);
        sum.cost += cost.cost;
        sum.direct_cost += cost.direct_cost;
        sum.on_path += cost.on_path;
    }
    sum.mean_waiters = if waited > 0.0 { sum.wait.seconds() / waited } else { 0.0 };
    sum.holders =
        most_first(holders).map(|((thread, site), time)| HolderShare { thread, site, time }).collect();
    sum.waiters =
        most_first(waiters).map(|((thread, site), time)| WaiterShare { thread, site, time }).collect();
    sum
}

/// How long two objects were held. What is not known of one was hardly anything beside what is known of the other.
fn both(one: HoldTime, other: HoldTime) -> HoldTime {
    match (one, other) {
        (HoldTime::Unknown, known) | (known, HoldTime::Unknown) => known,
        (HoldTime::Measured(one), HoldTime::Measured(other)) => HoldTime::Measured(one + other),
        (HoldTime::Estimated { time, samples }, HoldTime::Measured(more))
        | (HoldTime::Measured(more), HoldTime::Estimated { time, samples }) => {
            HoldTime::Estimated { time: time + more, samples }
        }
        (
            HoldTime::Estimated { time, samples },
            HoldTime::Estimated { time: more_time, samples: more_samples },
        ) => HoldTime::Estimated { time: time + more_time, samples: samples + more_samples },
    }
}

/// Working threads' waiting by the object at the root.
fn rooted(process: &Process, blame: &Blame) -> Vec<Nanos> {
    let mut rooted = vec![Nanos::ZERO; process.objects.len()];
    for ((object, _), charge) in &blame.charges {
        if let Some(object) = object {
            rooted[object.index()] += charge.total();
        }
    }
    for (key, serial) in &blame.serial {
        if let Some(object) = key.object {
            rooted[object.index()] += serial.lost;
        }
    }
    for (key, sought) in &blame.sought {
        if let Some(object) = key.object {
            rooted[object.index()] += sought.with_more + sought.with_none + sought.with_woken;
        }
    }
    for ((object, _), &time) in &blame.delayed {
        if let Some(object) = object {
            rooted[object.index()] += time;
        }
    }
    rooted
}

fn waiting(process: &Process, timeline: &Timeline, blame: &Blame) -> Vec<Waiting> {
    let mut all: Vec<Waiting> = process.objects.iter().map(|_| Waiting::default()).collect();
    for wait in &process.waits {
        all[wait.object.index()].waits += 1;
    }
    for (index, row) in timeline.threads.iter().enumerate() {
        let thread = ThreadId::new(index as u32);
        for segment in &row.segments {
            let Some(object) = segment.object else { continue };
            let waiting = &mut all[object.index()];
            match segment.state {
                State::Blocked | State::Spinning => {
                    waiting.wait += segment.length();
                    *waiting.waiters.entry((thread, segment.site)).or_default() += segment.length();
                }
                State::Waking => waiting.waking += segment.length(),
                _ => {}
            }
        }
    }
    for (link, total) in blame.chains.links.iter().zip(&blame.chains.totals) {
        if total.time > Nanos::ZERO {
            let holders = &mut all[link.object.index()].holders;
            *holders.entry((link.holder, link.site)).or_default() += total.time;
        }
    }
    all
}

/// Where to look. Who holds a lock makes the others wait; at anything else the one that is waited for is not
/// at a place of this object's, but the waiters are.
fn place(role: ObjectKind, holders: &[HolderShare], waiters: &[WaiterShare]) -> Option<SiteId> {
    let held = holders.iter().filter(|_| role.is_lock()).find_map(|holder| holder.site);
    held.or_else(|| waiters.iter().find_map(|waiter| waiter.site))
}

#[derive(Clone, Default)]
struct Uses {
    seen: bool,
    acquisitions: Option<u64>,
    failed_tries: u64,
    /// Holds that were sampled by counters: how many, how long.
    sampled: (u64, Nanos),
    /// Holds that are in the recording one by one: how many, how long.
    recorded: (u64, Nanos),
}

impl Uses {
    fn hold(&self) -> HoldTime {
        let (samples, time) = self.sampled.max(self.recorded);
        match self.acquisitions {
            _ if samples == 0 => HoldTime::Unknown,
            Some(acquisitions) if acquisitions > samples => {
                let time = u128::from(time.get()) * u128::from(acquisitions) / u128::from(samples);
                HoldTime::Estimated { time: Nanos::new(time as u64), samples }
            }
            _ => HoldTime::Measured(time),
        }
    }
}

fn uses(process: &Process) -> Vec<Uses> {
    let mut all = vec![Uses::default(); process.objects.len()];
    for used in &process.uses {
        let uses = &mut all[used.object.index()];
        uses.seen = true;
        uses.acquisitions = Some(uses.acquisitions.unwrap_or(0).saturating_add(used.acquisitions));
        uses.failed_tries = uses.failed_tries.saturating_add(used.failed_tries);
        uses.sampled.0 = uses.sampled.0.saturating_add(used.timed_holds);
        uses.sampled.1 += used.timed_hold;
    }
    for hold in &process.holds {
        let uses = &mut all[hold.object.index()];
        uses.seen = true;
        if let Some(begin) = hold.begin {
            uses.recorded.0 += 1;
            uses.recorded.1 += hold.end.since(begin);
        }
    }
    all
}

fn most_first<K: Copy + Ord>(times: BTreeMap<K, Nanos>) -> impl Iterator<Item = (K, Nanos)> {
    let mut times: Vec<(K, Nanos)> = times.into_iter().filter(|(_, time)| *time > Nanos::ZERO).collect();
    times.arrange_by_key(|&(key, time)| (Reverse(time), key));
    times.into_iter().take(MOST_SHARES)
}
