//! Threads that a broadcast wakes in vain: it was for another one, and they wait again at once.

use std::collections::BTreeMap;

use holdup_model::{Nanos, ObjectId, ObjectKind, Outcome, Process, SiteId, ThreadId, Time, Wait, WakeCount};

/// Who waits again within this has done nothing with what it was woken for.
const AT_ONCE: Nanos = Nanos::new(20_000);
/// So many are woken in vain at least...
const FEWEST: u64 = 100;
/// ...and so much of those that are woken.
const LEAST_SHARE: f64 = 0.2;

/// A condition variable whose broadcasts wake threads in vain. Of those waits and broadcasts that were recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Herd {
    pub(crate) condition: ObjectId,
    /// Where most of the broadcasts are that wake somebody.
    pub(crate) place: Option<SiteId>,
    /// How many wake somebody.
    pub(crate) broadcasts: u64,
    /// How many threads they wake.
    pub(crate) woken: u64,
    /// How many of these wait again at once, without having woken anybody: of each broadcast all but one, if all do.
    pub(crate) in_vain: u64,
}

/// Of the condition variables of each mutex the one with the most threads that are woken in vain. `kind` says what an object is for: at a
/// barrier all go on.
pub(crate) fn herds(process: &Process, kind: &dyn Fn(ObjectId) -> ObjectKind) -> BTreeMap<ObjectId, Herd> {
    let mut broadcasts: BTreeMap<ObjectId, Vec<(Time, Option<SiteId>)>> = BTreeMap::new();
    for wake in process.wakes.iter().filter(|wake| wake.count == WakeCount::All) {
        broadcasts.entry(wake.object).or_default().push((wake.time, wake.site));
    }
    broadcasts.retain(|object, all| all.len() as u64 * 2 >= FEWEST && kind(*object) == ObjectKind::Condition);
    if broadcasts.is_empty() {
        return BTreeMap::new();
    }
    broadcasts.values_mut().for_each(|all| all.sort_unstable());
    let mut wakes: BTreeMap<ThreadId, Vec<Time>> = BTreeMap::new();
    for wake in &process.wakes {
        wakes.entry(wake.thread).or_default().push(wake.time);
    }
    wakes.values_mut().for_each(|all| all.sort_unstable());
    let mut waits: BTreeMap<(ObjectId, ObjectId), Vec<&Wait>> = BTreeMap::new();
    for wait in process.waits.iter().filter(|wait| wait.outcome == Outcome::Granted) {
        if let Some(mutex) = wait.mutex.filter(|_| broadcasts.contains_key(&wait.object)) {
            waits.entry((mutex, wait.object)).or_default().push(wait);
        }
    }
    let mut found: BTreeMap<ObjectId, Herd> = BTreeMap::new();
    for ((mutex, condition), mut waits) in waits {
        waits.sort_unstable_by_key(|wait| (wait.thread, wait.begin));
        let herd = of_condition(condition, &broadcasts[&condition], &waits, &wakes);
        let is_one = herd.in_vain >= FEWEST && herd.in_vain as f64 >= LEAST_SHARE * herd.woken as f64;
        if is_one && found.get(&mutex).is_none_or(|other| other.in_vain < herd.in_vain) {
            found.insert(mutex, herd);
        }
    }
    found
}

/// `waits` are in the order of their threads, and of time.
fn of_condition(
    condition: ObjectId,
    broadcasts: &[(Time, Option<SiteId>)],
    waits: &[&Wait],
    wakes: &BTreeMap<ThreadId, Vec<Time>>,
) -> Herd {
    let wakes_one = |thread: ThreadId, from: Time, to: Time| {
        let own = wakes.get(&thread).map_or(&[][..], Vec::as_slice);
        own.get(own.partition_point(|time| *time < from)).is_some_and(|time| *time <= to)
    };
    // By broadcast: how many it woke, and how many of these waited again.
    let mut woken: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for (at, wait) in waits.iter().enumerate() {
        let first = broadcasts.partition_point(|(time, _)| *time < wait.begin);
        if broadcasts.get(first).is_none_or(|(time, _)| *time > wait.end) {
            continue;
        }
        let next = waits.get(at + 1).filter(|next| next.thread == wait.thread);
        let again = next.is_some_and(|next| {
            next.begin.since(wait.end) <= AT_ONCE && !wakes_one(wait.thread, wait.end, next.begin)
        });
        let (all, in_vain) = woken.entry(first).or_default();
        *all += 1;
        *in_vain += u64::from(again);
    }
    let mut herd = Herd { condition, place: None, broadcasts: woken.len() as u64, woken: 0, in_vain: 0 };
    let mut places: BTreeMap<SiteId, u64> = BTreeMap::new();
    for (broadcast, (all, again)) in woken {
        herd.woken += all;
        herd.in_vain += again.min(all - 1);
        if let Some(place) = broadcasts[broadcast].1 {
            *places.entry(place).or_default() += 1;
        }
    }
    herd.place = places.into_iter().max_by_key(|(_, count)| *count).map(|(place, _)| place);
    herd
}

#[cfg(test)]
mod tests {
    use holdup_model::Wake;

    use super::*;

    const MUTEX: ObjectId = ObjectId::new(0);
    const CONDITION: ObjectId = ObjectId::new(1);
    const WAITERS: u64 = 4;

    /// Each millisecond one gets its answer, and all that wait are woken; of the first `others` those that it is not for wait again.
    fn process(others: u64) -> Process {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(1_000_000_000));
        let time = |round: u64, after: u64| Time::from_nanos(round * 1_000_000 + after);
        for round in 1..=200u64 {
            let giver = ThreadId::new(WAITERS as u32);
            process.wakes.push(Wake {
                thread: giver,
                time: time(round, 0),
                object: CONDITION,
                site: Some(SiteId::new(7)),
                count: WakeCount::All,
            });
            for waiter in 0..WAITERS {
                // Who does something else meanwhile is back before the next one.
                let goes_on = waiter == round % WAITERS || waiter >= others;
                let begin = if goes_on { time(round, 500_000) } else { time(round, 6_000) };
                let end = time(round + 1, 5_000);
                let wait = Wait::granted(ThreadId::new(waiter as u32), CONDITION, begin, end);
                process.waits.push(Wait { mutex: Some(MUTEX), ..wait });
            }
        }
        process
    }

    fn found(process: &Process) -> BTreeMap<ObjectId, Herd> {
        herds(process, &|object| if object == CONDITION { ObjectKind::Condition } else { ObjectKind::Mutex })
    }

    #[test]
    fn who_is_woken_by_what_was_for_another_one_waits_again() {
        let found = found(&process(WAITERS));
        let herd = &found[&MUTEX];
        assert_eq!((herd.condition, herd.place), (CONDITION, Some(SiteId::new(7))));
        // The first broadcast finds nobody.
        assert_eq!((herd.broadcasts, herd.woken), (199, 199 * WAITERS));
        assert_eq!(herd.in_vain, 199 * (WAITERS - 1));
    }

    #[test]
    fn who_does_something_or_wakes_others_was_not_woken_in_vain() {
        assert!(found(&process(1)).is_empty());
        let mut giving = process(WAITERS);
        for wait in &giving.waits {
            giving.wakes.push(Wake {
                thread: wait.thread,
                time: wait.end + Nanos::new(500),
                object: ObjectId::new(2),
                site: None,
                count: WakeCount::AtMost(1),
            });
        }
        assert!(found(&giving).is_empty());
        // At a barrier all are to go on.
        assert!(herds(&process(WAITERS), &|_| ObjectKind::Barrier).is_empty());
    }
}
