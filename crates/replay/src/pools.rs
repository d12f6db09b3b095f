//! Queues, and work that several threads take from one.
//!
//! A wait for a condition variable ended with one certain signal when it was recorded. In a changed run another one may
//! end it, a thread may have to wait that did not, and an item may go to another thread. So where a condition variable
//! is that of a queue, its signals give tokens, and each visit to the queue takes one: a *section* of its mutex at a
//! place where threads ever waited for it. How many there are at the start (the free places of a bounded queue) is the
//! largest deficit of the recording. A broadcast is taken as the end of what a thread puts in.
//!
//! A lock without a condition variable may guard a loop counter or a list of tasks as well as a result to which each
//! thread adds its part. Only the former deals work out: then threads of the same start function took different
//! numbers of turns, and yet came to the end together.
//!
//! What a thread does from one section to the next is a *piece*. Threads of the same start function that take at the same
//! place have one *pool* of pieces: whoever comes first takes the next. The last section of each thread, which found
//! nothing more or was told to end, is its own.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::{ObjectId, ObjectKind, Outcome, SiteId, ThreadId};

use crate::events::{Act, Maker};
use crate::program::{LockIndex, NO_SITE, Pool, TokenFacts};

/// Fewer signals than this make no queue.
const LEAST_SIGNALS: u64 = 4;
/// A thread that visits a place less often takes no work there.
const LEAST_SECTIONS: usize = 3;
/// The share of a mutex's acquisitions that must be events: else takers are not known.
const LEAST_SEEN: f64 = 0.9;
/// The share of waits that may have ended because their time was up: more are polling.
const MOST_TIMED_OUT: f64 = 0.1;

/// Where a thread's events are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// The first piece begins.
    First,
    /// Another piece begins.
    Next,
    /// The last section, behind all pieces.
    Tail,
}

/// A thread that takes from a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) pool: u32,
    /// Positions in the thread's events, in order.
    pub(crate) cuts: Vec<(usize, Cut)>,
}

impl Member {
    pub(crate) fn cut_at(&self, position: usize) -> Option<Cut> {
        let found = self.cuts.binary_search_by_key(&position, |cut| cut.0).ok()?;
        Some(self.cuts[found].1)
    }
}

/// The queues and pools of a process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Found {
    pub(crate) pools: Vec<Pool>,
    pub(crate) tokens: Vec<TokenFacts>,
    /// By thread.
    pub(crate) members: Vec<Option<Member>>,
    /// By thread, the positions of events before which a token is taken, and which.
    pub(crate) takes: Vec<BTreeMap<usize, u32>>,
    /// By thread, the positions of waits in whose place tokens are taken.
    pub(crate) replaced: Vec<BTreeSet<usize>>,
    /// The tokens that signals of a condition variable give.
    pub(crate) given: BTreeMap<ObjectId, u32>,
}

impl Found {
    pub(crate) fn member(&self, thread: ThreadId) -> Option<&Member> {
        self.members.get(thread.index()).and_then(Option::as_ref)
    }
}

/// The place of a section: its mutex and the function that it is in.
type Place = (LockIndex, String);

/// A visit to a queue.
struct Section {
    thread: usize,
    /// Of its first event.
    position: usize,
    /// When it had what it came for (ns from the start).
    taken_at: u64,
    /// The positions of its waits, and for what.
    waits: Vec<(usize, ObjectId)>,
}

/// What the recording says of a condition variable.
#[derive(Default)]
struct Condition {
    mutex: Option<ObjectId>,
    waits: u64,
    timed_out: u64,
    signals: u64,
    broadcasts: u64,
    waits_of: BTreeSet<ThreadId>,
    signals_of: BTreeSet<ThreadId>,
}

impl Condition {
    /// True if the only one that waits signals too: that is for another, which may wait there for something else and never had to.
    fn goes_both_ways(&self) -> bool {
        self.waits_of.len() == 1 && self.waits_of.is_subset(&self.signals_of)
    }
}

/// Finds them in the sorted events.
pub(crate) fn find(maker: &Maker<'_>) -> Found {
    let conditions = candidates(maker);
    let seen = seen_whole(maker);
    let mutexes: BTreeSet<LockIndex> = conditions
        .values()
        .filter_map(|condition| maker.locks.get(&condition.mutex?).copied())
        .filter(|lock| seen.contains(lock))
        .collect();
    let mut names = Names::of(maker);
    let dealt = dealt(maker, &mut names, &mutexes, &seen);
    let mut found = Found {
        members: vec![None; maker.events.len()],
        takes: vec![BTreeMap::new(); maker.events.len()],
        replaced: vec![BTreeSet::new(); maker.events.len()],
        ..Found::default()
    };
    let mut sections: BTreeMap<Place, Vec<Section>> = BTreeMap::new();
    for thread in 0..maker.events.len() {
        sections_of(maker, &mut names, &mutexes, thread, &mut sections);
    }
    sections.values_mut().for_each(|sections| keep_visits(maker, sections));
    let mut used: BTreeSet<ObjectId> = BTreeSet::new();
    sections.retain(|_, sections| {
        let waited: BTreeSet<ObjectId> =
            sections.iter().flat_map(|section| section.waits.iter().map(|wait| wait.1)).collect();
        // Where several are waited for it is not known which of them a visit takes from.
        waited.len() == 1
            && waited.iter().all(|object| conditions.contains_key(object) && used.insert(*object))
    });
    for sections in sections.values() {
        let Some(&(_, condition)) = sections.iter().find_map(|section| section.waits.first()) else {
            continue;
        };
        let token = found.tokens.len() as u32;
        let givers = conditions[&condition].broadcasts as u32;
        let at_start = deficit(maker, sections, condition, givers > 0);
        found.tokens.push(TokenFacts { object: condition, at_start, givers });
        found.given.insert(condition, token);
        for section in sections {
            found.takes[section.thread].insert(section.position, token);
            for wait in &section.waits {
                found.replaced[section.thread].insert(wait.0);
            }
        }
    }
    sections.extend(dealt);
    put_into_pools(maker, &sections, &mut found);
    found
}

/// Keeps the visits that may have to wait: a function that takes work under a lock may take the lock anew to say that it has done it.
fn keep_visits(maker: &Maker<'_>, sections: &mut Vec<Section>) {
    let call = |section: &Section| {
        let site = maker.events[section.thread][section.position].site;
        (site != NO_SITE).then(|| maker.process.site(SiteId::new(site)).place().map(|place| place.address))
    };
    let mut waits: BTreeMap<Option<Option<u64>>, (usize, bool)> = BTreeMap::new();
    for section in &*sections {
        let (visits, waited) = waits.entry(call(section)).or_default();
        *visits += 1;
        *waited |= !section.waits.is_empty();
    }
    if waits.values().any(|(_, waited)| *waited) {
        sections.retain(|section| {
            let (visits, waited) = waits[&call(section)];
            waited || visits < LEAST_SECTIONS
        });
    }
}

/// Sections of locks without condition variables at which threads take work.
fn dealt(
    maker: &Maker<'_>,
    names: &mut Names<'_>,
    queues: &BTreeSet<LockIndex>,
    seen: &BTreeSet<LockIndex>,
) -> BTreeMap<Place, Vec<Section>> {
    let with_condition: BTreeSet<ObjectId> =
        maker.process.waits.iter().filter_map(|wait| wait.mutex).collect();
    let locks: BTreeSet<LockIndex> = seen
        .iter()
        .copied()
        .filter(|lock| {
            let object = maker.program.locks[lock.0 as usize].object;
            let is_mutex =
                matches!(maker.process.object(object).kind, ObjectKind::Mutex | ObjectKind::SpinLock);
            is_mutex && !queues.contains(lock) && !with_condition.contains(&object)
        })
        .collect();
    let mut sections: BTreeMap<Place, Vec<Section>> = BTreeMap::new();
    if !locks.is_empty() {
        for thread in 0..maker.events.len() {
            sections_of(maker, names, &locks, thread, &mut sections);
        }
    }
    sections.retain(|_, sections| are_turns(maker, sections));
    sections
}

/// Whether several threads of one start function took turns as each became free: different numbers of them, and the last
/// ones at about the same time.
fn are_turns(maker: &Maker<'_>, sections: &[Section]) -> bool {
    let entry = |section: &Section| maker.process.threads[section.thread].entry;
    let Some(first) = sections.first().filter(|first| entry(first).is_some()) else { return false };
    if sections.iter().any(|section| entry(section) != entry(first)) {
        return false;
    }
    // By thread: how many, when the last one came, and the longest time from one to the next.
    let mut threads: BTreeMap<usize, (usize, u64)> = BTreeMap::new();
    let mut longest = 0;
    for section in sections {
        let turns = threads.entry(section.thread).or_insert((0, section.taken_at));
        longest = longest.max(section.taken_at.saturating_sub(turns.1));
        *turns = (turns.0 + 1, section.taken_at);
    }
    let counts = || threads.values().map(|turns| turns.0);
    let lasts = || threads.values().map(|turns| turns.1);
    let (Some(fewest), Some(most)) = (counts().min(), counts().max()) else { return false };
    let (Some(soonest), Some(latest)) = (lasts().min(), lasts().max()) else { return false };
    threads.len() >= 2 && fewest >= LEAST_SECTIONS && most >= fewest + 2 && latest - soonest <= longest
}

/// The condition variables that may be those of queues.
fn candidates(maker: &Maker<'_>) -> BTreeMap<ObjectId, Condition> {
    let mut conditions: BTreeMap<ObjectId, Condition> = BTreeMap::new();
    for wait in maker.process.waits.iter().filter(|wait| wait.mutex.is_some()) {
        let condition = conditions.entry(wait.object).or_default();
        condition.mutex = condition.mutex.into_iter().chain(wait.mutex).min();
        condition.waits += 1;
        condition.waits_of.insert(wait.thread);
        condition.timed_out += u64::from(wait.outcome == Outcome::TimedOut);
    }
    for (events, thread) in maker.events.iter().zip(0..) {
        for event in events {
            if let Act::Signal(object, all) = event.act
                && let Some(condition) = conditions.get_mut(&object)
            {
                condition.signals += u64::from(!all);
                condition.broadcasts += u64::from(all);
                condition.signals_of.insert(ThreadId::new(thread));
            }
        }
    }
    let threads = maker.events.len() as u64;
    let roles = &maker.timeline.roles;
    // Who says there that all is done puts nothing into a queue.
    conditions.retain(|object, condition| {
        !roles.kinds[object.index()].is_lock()
            && !roles.joins(*object)
            && !condition.goes_both_ways()
            && condition.signals >= LEAST_SIGNALS
            && condition.broadcasts <= threads
            && condition.broadcasts * 2 <= condition.signals
            && condition.timed_out as f64 <= MOST_TIMED_OUT * condition.waits as f64
    });
    conditions
}

/// Locks of which almost all acquisitions are events.
fn seen_whole(maker: &Maker<'_>) -> BTreeSet<LockIndex> {
    let locks = &maker.program.locks;
    let mut seen = vec![0u64; locks.len()];
    for event in maker.events.iter().flatten() {
        if let Act::Acquire(lock, _) | Act::Touch(lock, _) = event.act {
            seen[lock.0 as usize] += 1;
        }
    }
    let mut used: BTreeMap<ObjectId, u64> = BTreeMap::new();
    for uses in &maker.process.uses {
        let all = used.entry(uses.object).or_default();
        *all = all.saturating_add(uses.acquisitions);
    }
    let used = |lock: &LockIndex| used.get(&locks[lock.0 as usize].object).copied().unwrap_or(0);
    let is_seen = |lock: &LockIndex| seen[lock.0 as usize] as f64 >= used(lock) as f64 * LEAST_SEEN;
    (0..locks.len() as u32).map(LockIndex).filter(is_seen).collect()
}

/// Functions by site.
struct Names<'a> {
    maker: &'a Maker<'a>,
    by_site: BTreeMap<u32, Option<String>>,
    /// The mutex that is given up in waits for each condition variable.
    mutex_of: BTreeMap<ObjectId, LockIndex>,
}

impl<'a> Names<'a> {
    fn of(maker: &'a Maker<'a>) -> Self {
        let mut mutexes: BTreeMap<ObjectId, ObjectId> = BTreeMap::new();
        for wait in &maker.process.waits {
            if let Some(mutex) = wait.mutex {
                let least = mutexes.entry(wait.object).or_insert(mutex);
                *least = mutex.min(*least);
            }
        }
        let known =
            mutexes.into_iter().filter_map(|(object, mutex)| Some((object, *maker.locks.get(&mutex)?)));
        Self { maker, by_site: BTreeMap::new(), mutex_of: known.collect() }
    }

    fn function(&mut self, site: u32) -> Option<String> {
        if site == NO_SITE {
            return None;
        }
        let process = self.maker.process;
        let name = self.by_site.entry(site).or_insert_with(|| {
            let frame = process.site(SiteId::new(site)).place()?;
            Some(frame.function.clone().unwrap_or_else(|| format!("{:x}", frame.address)))
        });
        name.clone()
    }
}

/// Adds a thread's visits to queues.
fn sections_of(
    maker: &Maker<'_>,
    names: &mut Names<'_>,
    mutexes: &BTreeSet<LockIndex>,
    thread: usize,
    sections: &mut BTreeMap<Place, Vec<Section>>,
) {
    // The visit that goes on, by mutex: its place, and whether the thread waits in it, so that the next acquisition is none
    // of its own.
    let mut open: BTreeMap<LockIndex, (Place, bool)> = BTreeMap::new();
    let mut held = 0u32;
    for (position, event) in maker.events[thread].iter().enumerate() {
        let is_inside = held > 0;
        match event.act {
            Act::Acquire(..) => held += 1,
            Act::Release(_) => held = held.saturating_sub(1),
            _ => {}
        }
        match event.act {
            Act::Acquire(lock, _) | Act::Touch(lock, _) if mutexes.contains(&lock) => {
                if let Some((place, waits)) = open.get_mut(&lock)
                    && std::mem::take(waits)
                {
                    if let Some(section) = sections.get_mut(place).and_then(|all| all.last_mut()) {
                        section.taken_at = event.until;
                    }
                    continue;
                }
                // A visit by a thread that holds something else is a part of what it does with that.
                if is_inside {
                    continue;
                }
                let Some(function) = names.function(event.site) else { continue };
                let place = (lock, function);
                let section = Section { thread, position, taken_at: event.until, waits: Vec::new() };
                sections.entry(place.clone()).or_default().push(section);
                open.insert(lock, (place, false));
            }
            Act::Wanted(object) => {
                let Some(&lock) = names.mutex_of.get(&object).filter(|lock| mutexes.contains(lock)) else {
                    continue;
                };
                let Some(function) = names.function(event.site) else { continue };
                let place = (lock, function);
                let is_open = open.get(&lock).is_some_and(|(open, _)| *open == place)
                    && sections
                        .get(&place)
                        .and_then(|all| all.last())
                        .is_some_and(|last| last.thread == thread);
                if !is_open {
                    // The acquisition before it was not recorded.
                    let position = position.saturating_sub(1);
                    let section = Section { thread, position, taken_at: event.until, waits: Vec::new() };
                    sections.entry(place.clone()).or_default().push(section);
                }
                if let Some(section) = sections.get_mut(&place).and_then(|all| all.last_mut()) {
                    section.waits.push((position, object));
                    section.taken_at = event.until;
                }
                open.insert(lock, (place, true));
            }
            _ => {}
        }
    }
}

/// The largest number of tokens that were taken before they were given.
fn deficit(maker: &Maker<'_>, sections: &[Section], condition: ObjectId, is_closed: bool) -> u64 {
    let mut last: BTreeMap<usize, usize> = BTreeMap::new();
    for section in sections {
        last.insert(section.thread, section.position);
    }
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for section in sections {
        // With a broadcast at the end, a thread's last visit takes nothing.
        if !(is_closed && last[&section.thread] == section.position) {
            changes.push((section.taken_at, 1));
        }
    }
    for event in maker.events.iter().flatten() {
        if event.act == Act::Signal(condition, false) {
            changes.push((event.at, -1));
        }
    }
    changes.sort_unstable();
    let (mut taken, mut most) = (0, 0);
    for (_, change) in changes {
        taken += change;
        most = most.max(taken);
    }
    most as u64
}

/// Threads of the same start function that visit the same place make a pool.
fn put_into_pools(maker: &Maker<'_>, sections: &BTreeMap<Place, Vec<Section>>, found: &mut Found) {
    // Each thread takes at the place that it visits first of those that it visits again and again.
    let mut first: BTreeMap<usize, (usize, &Place)> = BTreeMap::new();
    for (place, sections) in sections {
        let mut visits: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for section in sections {
            let visits = visits.entry(section.thread).or_insert((0, section.position));
            visits.0 += 1;
            visits.1 = visits.1.min(section.position);
        }
        for (thread, (count, position)) in visits {
            let is_first = first.get(&thread).is_none_or(|first| position < first.0);
            if count >= LEAST_SECTIONS && is_first {
                first.insert(thread, (position, place));
            }
        }
    }
    let mut pools: BTreeMap<(&Place, Option<SiteId>, usize), u32> = BTreeMap::new();
    for (&thread, &(_, place)) in &first {
        let entry = maker.process.threads[thread].entry;
        // Of a thread without a known start function nothing says that others do the same.
        let alone = if entry.is_some() { usize::MAX } else { thread };
        let pool = *pools.entry((place, entry, alone)).or_insert_with(|| {
            found.pools.push(Pool { lock: place.0, site: None, pieces: Vec::new(), members: Vec::new() });
            found.pools.len() as u32 - 1
        });
        let mut positions: Vec<usize> = sections[place]
            .iter()
            .filter(|section| section.thread == thread)
            .map(|section| section.position)
            .collect();
        positions.sort_unstable();
        let last = positions.len() - 1;
        let cuts = positions.iter().enumerate().map(|(index, &position)| {
            let cut = match index {
                0 => Cut::First,
                index if index == last => Cut::Tail,
                _ => Cut::Next,
            };
            (position, cut)
        });
        found.members[thread] = Some(Member { pool, cuts: cuts.collect() });
        let site = maker.events[thread][positions[0]].site;
        let pool = &mut found.pools[pool as usize];
        pool.site = pool.site.or((site != NO_SITE).then(|| SiteId::new(site)));
        pool.members.push(ThreadId::new(thread as u32));
    }
}
