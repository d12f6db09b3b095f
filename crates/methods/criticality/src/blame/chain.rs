//! Following chains from a queue to the thread at its root, and charging them.

use std::collections::BTreeMap;

use holdup_model::{Nanos, ObjectId, SiteId, State, ThreadId};

use super::{Charge, LONGEST_CHAIN, Pass, is_able};

/// One step of a chain: as [`crate::ChainLink`], for all its uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Link {
    pub(crate) object: ObjectId,
    /// Where it is waited for; not told for the first link, whose waiters may be at several places.
    pub(crate) wait_site: Option<SiteId>,
    pub(crate) holder: Option<ThreadId>,
    pub(crate) state: State,
    pub(crate) site: Option<SiteId>,
    /// The next link towards the root, by index.
    pub(crate) next: Option<u32>,
}

/// A set of threads as bits: (index / 64, bits), by index. Empty words may be left.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadSet(Vec<(u32, u64)>);

impl ThreadSet {
    fn word(&mut self, word: u32) -> &mut u64 {
        let place = match self.0.binary_search_by_key(&word, |entry| entry.0) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (word, 0));
                place
            }
        };
        &mut self.0[place].1
    }

    pub(super) fn insert(&mut self, thread: ThreadId) {
        *self.word(thread.index() as u32 / 64) |= 1 << (thread.index() % 64);
    }

    pub(super) fn remove(&mut self, thread: ThreadId) {
        *self.word(thread.index() as u32 / 64) &= !(1 << (thread.index() % 64));
        if self.0.len() > 1 {
            self.0.retain(|&(_, bits)| bits != 0);
        }
    }

    fn insert_all(&mut self, others: &ThreadSet) {
        for &(word, bits) in &others.0 {
            *self.word(word) |= bits;
        }
    }
}

/// What is known of the waiting with one chain of links.
#[derive(Clone, Debug, Default)]
pub(crate) struct Total {
    /// Of all waiters in queues that begin with this link.
    pub(crate) time: Nanos,
    waiters: ThreadSet,
}

impl Total {
    pub(crate) fn waiters(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.waiters.0.iter().flat_map(|&(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| ThreadId::new(word * 64 + bit))
        })
    }
}

/// All chains that occurred. Those with a common end share its links.
#[derive(Default)]
pub(crate) struct Chains {
    indices: BTreeMap<Link, u32>,
    pub(crate) links: Vec<Link>,
    pub(crate) totals: Vec<Total>,
}

impl Chains {
    fn index_of(&mut self, link: Link) -> u32 {
        let next = self.links.len() as u32;
        let index = *self.indices.entry(link).or_insert(next);
        if index == next {
            self.links.push(link);
            self.totals.push(Total::default());
        }
        index
    }

    /// The last link of a chain.
    pub(crate) fn root(&self, mut index: usize) -> &Link {
        while let Some(next) = self.links[index].next {
            index = next as usize;
        }
        &self.links[index]
    }
}

/// Where a chain ends.
pub(super) struct Root {
    pub(super) object: Option<ObjectId>,
    pub(super) thread: Option<ThreadId>,
    pub(super) state: State,
    /// See [`super::Doing::is_apart`].
    pub(super) is_apart: bool,
}

impl Pass<'_> {
    /// Charges what has been waited in this queue since the last time. To be called before anything on its chain
    /// changes.
    pub(super) fn charge(&mut self, index: usize) {
        let queue = &mut self.queues[index];
        let since = std::mem::replace(&mut queue.since, self.now);
        let length = self.now.since(since);
        let absent = self.absence.since(queue.absence);
        queue.absence = self.absence;
        let spared = self.spared - std::mem::replace(&mut queue.spared, self.spared);
        if length == Nanos::ZERO || queue.is_empty() {
            return;
        }
        self.blame.beyond_cores += Nanos::new(u64::from(queue.working) * spared.get());
        let working = Nanos::new(u64::from(queue.working) * (length - spared).get());
        let all = Nanos::new(queue.waiters.len() as u64 * length.get());
        // The waiters' shares of what absent threads lost.
        let shares = Nanos::new(u64::from(queue.working) * (absent.ended + absent.not_started).get());
        let object = queue.object;
        let root = self.follow(index);
        if let Some(object) = object {
            self.blame.objects[object.index()].direct += working;
            self.book_chain(index, all);
        }
        let number = root.thread.map(|thread| {
            let key = (root.object, thread);
            let known = self.queues[index].last_root.filter(|last| last.0 == key);
            let number = known.map_or_else(|| self.roots.number(key), |known| known.1);
            self.queues[index].last_root = Some((key, number));
            self.times.waited(number, thread, since, self.now);
            number
        });
        self.charge_root(&root, number, working + shares);
    }

    /// With the number of the root where it is known.
    pub(super) fn charge_root(&mut self, root: &Root, number: Option<u32>, time: Nanos) {
        if time == Nanos::ZERO {
            return;
        }
        let is_lock = root.object.is_some_and(|object| self.roles[object.index()].is_lock());
        match root.thread {
            Some(thread) if is_able(root.state) && !is_lock => {
                let number = number.unwrap_or_else(|| self.roots.number((root.object, thread)));
                self.wait_for(number, thread, root.state, time);
            }
            _ => {
                let charge: &mut Charge = self.blame.charges.entry((root.object, root.thread)).or_default();
                charge.add(root.state, root.is_apart, time);
            }
        }
    }

    /// Walks to the root; leaves the links on the way in `self.links`. A chain that comes back to itself
    /// (a deadlock), or is too long, is cut after its first link.
    fn follow(&mut self, start: usize) -> Root {
        self.links.clear();
        self.walk += 1;
        let mut index = start;
        let mut wait_site = None;
        for _ in 0..LONGEST_CHAIN {
            let queue = &mut self.queues[index];
            queue.walk = self.walk;
            let holder = queue.waited_for();
            let (state, next, doing_site, is_apart) = match holder.map(|holder| &self.doing[holder.index()]) {
                Some(doing) => {
                    (doing.state.unwrap_or(State::NotRecorded), doing.queue, doing.site, doing.is_apart)
                }
                None => (State::NotRecorded, None, None, false),
            };
            let next_object = next.and_then(|next| self.queues[next].object);
            let queue = &self.queues[index];
            if let Some(object) = queue.object
                && next_object != Some(object)
            {
                // Where a lock was taken, if that was seen; what cannot be held: where its giver's work ends.
                let is_lock = self.roles[object.index()].is_lock();
                let site = if is_lock { queue.holder_site } else { doing_site };
                self.links.push(Link { object, wait_site, holder, state, site, next: None });
                wait_site = doing_site;
            } else if queue.object.is_none() {
                wait_site = doing_site;
            }
            let Some(next) = next else {
                return Root { object: queue.object, thread: holder, state, is_apart };
            };
            if self.queues[next].walk == self.walk {
                break;
            }
            index = next;
        }
        let queue = &self.queues[start];
        let (object, thread, site) = (queue.object, queue.waited_for(), queue.holder_site);
        let state = State::Blocked;
        self.links.clear();
        if let Some(object) = object {
            self.links.push(Link { object, wait_site: None, holder: thread, state, site, next: None });
        }
        Root { object, thread, state, is_apart: false }
    }

    fn book_chain(&mut self, index: usize, time: Nanos) {
        let mut next = None;
        while let Some(link) = self.links.pop() {
            let link = Link { next, ..link };
            let queue = &mut self.queues[index];
            next = match queue.last_link.filter(|last| self.links.is_empty() && last.0 == link) {
                Some((_, known)) => Some(known),
                None => Some(self.blame.chains.index_of(link)),
            };
            if self.links.is_empty() {
                queue.last_link = next.map(|next| (link, next));
            }
        }
        let Some(first) = next else { return };
        let total = &mut self.blame.chains.totals[first as usize];
        total.time += time;
        total.waiters.insert_all(&self.queues[index].set);
    }

    /// Charges all queues whose chain leads through `thread`.
    pub(super) fn charge_behind(&mut self, thread: ThreadId) {
        self.open.clear();
        self.open.extend_from_slice(&self.doing[thread.index()].held);
        self.charge_open();
    }

    /// Charges this queue, and those whose chain leads through it.
    pub(super) fn charge_queue_tree(&mut self, queue: usize) {
        self.open.clear();
        self.open.push(queue);
        self.charge_open();
    }

    fn charge_open(&mut self) {
        let mut done = 0;
        // Behind each queue stand its waiters, and behind those the queues that point at them.
        while let Some(&queue) = self.open.get(done) {
            done += 1;
            self.charge(queue);
            let queue = &self.queues[queue];
            if queue.passing_on == 0 {
                continue;
            }
            for thread in &queue.waiters {
                for held in &self.doing[thread.index()].held {
                    // Threads that wait for each other come by twice.
                    if !self.open.contains(held) {
                        self.open.push(*held);
                    }
                }
            }
        }
    }
}
