//! Following chains from a queue to the thread at its root, and charging them.

use std::collections::BTreeMap;

use holdup_model::{Nanos, ObjectId, SiteId, State, ThreadId};

use super::{Charge, LONGEST_CHAIN, Pass};

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

/// What is known of the waiting with one chain of links.
#[derive(Clone, Debug, Default)]
pub(crate) struct Total {
    /// Of all waiters in queues that begin with this link.
    pub(crate) time: Nanos,
    /// The waiters as bits: (index / 64, bits), by index.
    waiters: Vec<(u32, u64)>,
}

impl Total {
    pub(crate) fn waiters(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.waiters.iter().flat_map(|&(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| ThreadId::new(word * 64 + bit))
        })
    }

    fn add_waiter(&mut self, thread: ThreadId) {
        let (word, bit) = (thread.index() as u32 / 64, 1u64 << (thread.index() % 64));
        match self.waiters.binary_search_by_key(&word, |entry| entry.0) {
            Ok(place) => self.waiters[place].1 |= bit,
            Err(place) => self.waiters.insert(place, (word, bit)),
        }
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
struct Root {
    object: Option<ObjectId>,
    thread: Option<ThreadId>,
    state: State,
}

impl Pass<'_> {
    /// Charges what has been waited in this queue since the last time. To be called before anything on its chain
    /// changes.
    pub(super) fn charge(&mut self, index: usize) {
        let queue = &mut self.queues[index];
        let length = self.now.since(queue.since);
        queue.since = self.now;
        if length == Nanos::ZERO || queue.is_empty() {
            return;
        }
        let working = Nanos::new(u64::from(queue.working) * length.get());
        let all = Nanos::new(queue.waiters.len() as u64 * length.get());
        let object = queue.object;
        let root = self.follow(index);
        if let Some(object) = object {
            self.blame.objects[object.index()].direct += working;
            self.book_chain(index, all);
        }
        if working == Nanos::ZERO {
            return;
        }
        let is_lock = root.object.is_some_and(|object| self.roles[object.index()].is_lock());
        match root.thread {
            Some(thread) if root.state == State::Active && !is_lock => {
                self.doing[thread.index()].stretch.wait_for(root.object, working);
            }
            _ => {
                let charge: &mut Charge = self.blame.charges.entry((root.object, root.thread)).or_default();
                charge.add(root.state, working);
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
            let (state, next, doing_site) = match holder.map(|holder| &self.doing[holder.index()]) {
                Some(doing) => (doing.state.unwrap_or(State::NotRecorded), doing.queue, doing.site),
                None => (State::NotRecorded, None, None),
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
            let Some(next) = next else { return Root { object: queue.object, thread: holder, state } };
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
        Root { object, thread, state }
    }

    fn book_chain(&mut self, index: usize, time: Nanos) {
        let mut next = None;
        while let Some(link) = self.links.pop() {
            next = Some(self.blame.chains.index_of(Link { next, ..link }));
        }
        let Some(first) = next else { return };
        let total = &mut self.blame.chains.totals[first as usize];
        total.time += time;
        for &waiter in &self.queues[index].waiters {
            total.add_waiter(waiter);
        }
    }

    /// Charges all queues whose chain leads through `thread`.
    pub(super) fn charge_behind(&mut self, thread: ThreadId) {
        if self.doing[thread.index()].held.is_empty() {
            return;
        }
        self.charge_trees(self.doing[thread.index()].held.clone());
    }

    /// Charges this queue, and those whose chain leads through it.
    pub(super) fn charge_queue_tree(&mut self, queue: usize) {
        self.charge_trees(vec![queue]);
    }

    fn charge_trees(&mut self, mut open: Vec<usize>) {
        let mut done = 0;
        // Behind each queue stand its waiters, and behind those the queues that point at them.
        while done < open.len() {
            let queue = open[done];
            done += 1;
            self.charge(queue);
            for waiter in 0..self.queues[queue].waiters.len() {
                let thread = self.queues[queue].waiters[waiter];
                for held in 0..self.doing[thread.index()].held.len() {
                    let held = self.doing[thread.index()].held[held];
                    // Threads that wait for each other come by twice.
                    if !open.contains(&held) {
                        open.push(held);
                    }
                }
            }
        }
    }
}
