//! Holds that were counted and not recorded one by one: short ones, and those before anybody waited.
//!
//! They are spread evenly over their thread's work outside of other locks. Left out, a lock that is taken a hundred
//! thousand times a second would seem to be free: with more threads, or when another lock is fixed, it may be the next
//! to hold the program up.

use std::collections::BTreeMap;

use holdup_model::{Nanos, ObjectId, ThreadId};

use crate::events::{Act, Maker};
use crate::program::{LockIndex, NO_SITE};

/// A lock whose unseen holds are together a smaller share of the wall time cannot hold anything up: they are counted, and
/// stay a part of the work.
const LEAST_SHARE: f64 = 0.005;

/// At most so many are put into a program: above, several are one.
const MOST: u64 = 1_000_000;

/// The holds of one lock by one thread.
#[derive(Clone, Debug)]
pub(crate) struct Unseen {
    pub(crate) lock: LockIndex,
    /// Where it is mostly taken.
    pub(crate) site: u32,
    /// How long each is (ns).
    pub(crate) hold: u64,
    /// How many there are for each ns of work.
    rate: f64,
    /// The part of the next one that the work so far makes up.
    credit: f64,
    /// How many belong into the work at hand.
    pub(crate) now: u64,
}

impl Unseen {
    /// How many belong into so much work (ns).
    pub(crate) fn take(&mut self, work: u64) -> u64 {
        self.credit += work as f64 * self.rate;
        self.now = self.credit as u64;
        self.credit -= self.now as f64;
        self.now
    }
}

/// What is known of the holds of one lock by one thread that are no events.
struct Count {
    thread: ThreadId,
    object: ObjectId,
    count: u64,
    hold: f64,
}

impl Maker<'_> {
    /// The holds to put in, by thread; sums up all that there are in the program's locks.
    pub(crate) fn unseen_holds(&mut self) -> Vec<Vec<Unseen>> {
        let mut unseen: Vec<Vec<Unseen>> = self.events.iter().map(|_| Vec::new()).collect();
        let counts = self.counts();
        let wall = self.program.wall.get() as f64;
        let mut together: BTreeMap<ObjectId, f64> = BTreeMap::new();
        for count in &counts {
            let lock = self.lock(count.object);
            let facts = &mut self.program.locks[lock.0 as usize];
            facts.unseen = facts.unseen.saturating_add(count.count);
            facts.unseen_hold = facts.unseen_hold.saturating_add((count.hold * count.count as f64) as u64);
            *together.entry(count.object).or_default() += count.hold * count.count as f64;
        }
        let matters = |object: &ObjectId| together.get(object).is_some_and(|sum| *sum >= wall * LEAST_SHARE);
        let mattering = counts.iter().filter(|count| matters(&count.object));
        let all = mattering.fold(0u64, |all, count| all.saturating_add(count.count));
        let merged = all.div_ceil(MOST).max(1);
        let sites = self.sites_of_locks();
        let work_outside = self.work_outside();
        for count in counts.into_iter().filter(|count| matters(&count.object)) {
            let lock = self.lock(count.object);
            let work = work_outside[count.thread.index()];
            if work <= 0.0 {
                continue;
            }
            let number = count.count as f64 / merged as f64;
            // There must be room for what is outside of them.
            let hold = (count.hold * merged as f64).min(work / number * 0.95);
            unseen[count.thread.index()].push(Unseen {
                lock,
                site: sites.get(&lock).copied().unwrap_or(NO_SITE),
                hold: hold.round() as u64,
                rate: number / work,
                credit: 0.0,
                now: 0,
            });
        }
        unseen
    }

    fn counts(&self) -> Vec<Count> {
        // Holds that are events, those of them that were timed, and their time (ns).
        let mut seen: BTreeMap<(ThreadId, ObjectId), (u64, u64, u64)> = BTreeMap::new();
        for hold in &self.process.holds {
            let seen = seen.entry((hold.thread, hold.object)).or_default();
            seen.0 += 1;
            seen.1 += u64::from(hold.begin.is_some());
            seen.2 += hold.begin.map_or(0, |begin| hold.end.since(begin).get());
        }
        // Acquisitions, those that were timed, and their time (ns).
        let mut used: BTreeMap<(ThreadId, ObjectId), (u64, u64, u64)> = BTreeMap::new();
        for uses in &self.process.uses {
            let Some(thread) = uses.thread else { continue };
            if self.process.object(uses.object).kind.is_lock() {
                let used = used.entry((thread, uses.object)).or_default();
                used.0 = used.0.saturating_add(uses.acquisitions);
                used.1 = used.1.saturating_add(uses.timed_holds);
                used.2 = used.2.saturating_add(uses.timed_hold.get());
            }
        }
        let mut counts = Vec::new();
        for ((thread, object), (acquisitions, timed, timed_for)) in used {
            let (recorded, recorded_timed, time) = seen.get(&(thread, object)).copied().unwrap_or_default();
            let count = acquisitions.saturating_sub(recorded);
            let short = timed.saturating_sub(recorded_timed);
            if count > 0 && short > 0 {
                let hold = timed_for.saturating_sub(time) as f64 / short as f64;
                counts.push(Count { thread, object, count, hold });
            }
        }
        counts
    }

    /// CPU time (ns) of each thread outside of the holds that are events, about.
    fn work_outside(&self) -> Vec<f64> {
        let mut held = vec![0u64; self.events.len()];
        for hold in &self.process.holds {
            let held = &mut held[hold.thread.index()];
            *held = held.saturating_add(hold.begin.map_or(0, |begin| hold.end.since(begin).get()));
        }
        let rows = self.timeline.threads.iter().zip(held);
        rows.map(|(row, held)| {
            let active = row.segments.iter().filter(|segment| segment.state.is_active());
            let work: Nanos = active.map(|segment| segment.cpu.unwrap_or(segment.length())).sum();
            work.get().saturating_sub(held) as f64
        })
        .collect()
    }

    /// Where each lock is mostly taken.
    fn sites_of_locks(&self) -> BTreeMap<LockIndex, u32> {
        let mut counts: BTreeMap<(LockIndex, u32), u64> = BTreeMap::new();
        for event in self.events.iter().flatten().filter(|event| event.site != NO_SITE) {
            if let Act::Acquire(lock, _) | Act::Touch(lock, _) = event.act {
                *counts.entry((lock, event.site)).or_default() += 1;
            }
        }
        let mut most: BTreeMap<LockIndex, (u64, u32)> = BTreeMap::new();
        for ((lock, site), count) in counts {
            let most = most.entry(lock).or_default();
            if count > most.0 {
                *most = (count, site);
            }
        }
        most.into_iter().map(|(lock, (_, site))| (lock, site)).collect()
    }
}
