//! Whom and what lost time is charged to: one pass over all state changes.
//!
//! Threads that wait stand in queues: one for each lock whose holds were timed, else one for each pair of
//! object and thread that ended the waits. A queue points at the thread that is waited for; that thread is
//! active, or it does something else, or it stands in a queue itself. So from each queue a chain leads to a
//! root: a thread that does not wait for another, and the last object on the way, which is where the waiting
//! comes from. Whenever anything on the chain changes, the time since the last change is charged to the chain
//! as it was. Each change touches the queues behind one thread only, so that the pass takes O(n log n) for n
//! changes and a bounded number of threads, however many holds a wait spans.
//!
//! Places for working threads that nobody takes (see [`Working`]) wait for those that are there: the run goes on
//! until all of them are done, so what each of them does or waits for is charged with an equal share of the
//! absence. As with criticality that takes one number: A = ∫ absent / present dt, of which each thread gets what
//! is added while it does one thing. With no working thread there, the main thread is waited for.

mod chain;
mod stretch;

use std::collections::BTreeMap;

use holdup_model::{
    EdgeKind, Nanos, ObjectId, ObjectKind, Outcome, Process, Segment, SiteId, State, ThreadId, Time, Timeline,
};

use crate::holders::{Holder, Holders};
use crate::path::PathPiece;
use crate::places::Places;
use crate::sweep::{Change, Changes};
use crate::working::{Working, is_joining};

use chain::ThreadSet;
pub(crate) use chain::{Chains, Link};
pub(crate) use stretch::{Charge, Serial, SerialKey};
use stretch::{Stretch, Work};

/// The longest chain that is followed, in threads.
const LONGEST_CHAIN: usize = 64;

/// The queue of places for working threads where nobody takes one.
const ABSENT: usize = 0;

/// What the pass found.
pub(crate) struct Blame {
    /// By object.
    pub(crate) objects: Vec<ObjectBlame>,
    pub(crate) chains: Chains,
    /// Working threads' time by the root of the wait: the last object of the chain (`None`: absent threads) and
    /// the thread at its end (`None`: not known). Without what is in `serial` and `delayed`.
    pub(crate) charges: BTreeMap<(Option<ObjectId>, Option<ThreadId>), Charge>,
    /// The part that was lost while the root worked alone.
    pub(crate) serial: BTreeMap<SerialKey, Serial>,
    /// The part that was lost at barriers, or when others had ended, because the root was late for want of a
    /// core.
    pub(crate) delayed: BTreeMap<(ObjectId, ThreadId), Nanos>,
    /// By thread: the time in which it was the only one that was active.
    pub(crate) alone: Vec<Nanos>,
    /// The time in which any thread was active.
    pub(crate) any_active: Nanos,
    /// By thread: the time in which it was in I/O and another thread was active.
    pub(crate) active_beside_io: Vec<Nanos>,
    /// By object that cannot be held: time of the critical path in which others waited, on this object, for the
    /// path's thread, or it waited itself.
    pub(crate) on_path: Vec<Nanos>,
    /// Time of threads able to run beyond the number of cores: ∫ max(0, active + waking − cores) dt.
    pub(crate) excess: Nanos,
    /// Time of waking working threads while there were more threads able to run than cores.
    pub(crate) crowded_waking: Nanos,
    /// Waits for threads that got a core late while there were more threads able to run than cores.
    pub(crate) kept_waiting_late: Nanos,
}

/// What the pass found about one object.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectBlame {
    /// Working threads' waiting for this object itself.
    pub(crate) direct: Nanos,
    /// The time in which at least one thread waited for it.
    pub(crate) waited: Nanos,
    waiters: u32,
    since: Time,
}

/// Threads that wait for the same thing of the same thread.
#[derive(Default)]
struct Queue {
    /// `None` for [`ABSENT`].
    object: Option<ObjectId>,
    holder: Option<ThreadId>,
    holder_site: Option<SiteId>,
    /// Who owned the object when the last waiter came, for times that no timed hold covers.
    hint: Option<ThreadId>,
    waiters: Vec<ThreadId>,
    /// The same threads.
    set: ThreadSet,
    /// How many waiters are working threads.
    working: u32,
    /// How many waiters are waited for themselves.
    passing_on: u32,
    /// The link that stood for this queue the last time.
    last_link: Option<(Link, u32)>,
    /// Up to when its waiting has been charged.
    since: Time,
    /// The absence at `since`.
    absence: Absence,
    /// The last walk that came by.
    walk: u64,
}

impl Queue {
    fn waited_for(&self) -> Option<ThreadId> {
        self.holder.or(self.hint)
    }

    fn is_empty(&self) -> bool {
        self.waiters.is_empty() && self.working == 0
    }
}

/// What a thread does now.
#[derive(Default)]
struct Doing {
    /// `None` where it does not exist.
    state: Option<State>,
    /// Of the current segment.
    site: Option<SiteId>,
    /// The queue it stands in.
    queue: Option<usize>,
    /// The absence up to which it has been charged with its share.
    absence: Absence,
    /// [`Blame::any_active`] when the current segment began.
    any_active: Nanos,
    /// True if it takes the place of a working thread.
    takes_place: bool,
    /// The queues with waiters that point at it.
    held: Vec<usize>,
    stretch: Stretch,
    /// `Pass::crowded_time` when it was released from its last wait.
    crowded_when_released: Nanos,
}

/// A = ∫ absent / present dt (ns), apart by whether a thread waits for another's end meanwhile: if so, threads
/// have ended, else they have not started.
#[derive(Clone, Copy, Debug, Default)]
struct Absence {
    ended: Nanos,
    not_started: Nanos,
}

/// A thread released others, or was released, other than by a lock, which ends a stretch of its work.
struct Break {
    time: Time,
    thread: ThreadId,
    site: Option<SiteId>,
    barrier: Option<ObjectId>,
}

struct Pass<'a> {
    process: &'a Process,
    roles: &'a [ObjectKind],
    working: &'a Working,
    now: Time,
    queues: Vec<Queue>,
    /// The queue of a lock with timed holds.
    lock_queues: Vec<Option<usize>>,
    other_queues: BTreeMap<(ObjectId, Option<ThreadId>), usize>,
    doing: Vec<Doing>,
    active: u32,
    /// The sum of the indices of the active threads: the one index where there is one.
    active_sum: u64,
    waking: u32,
    /// Those of `waking` that are working threads.
    waking_workers: u32,
    /// How long there have been more threads able to run than cores.
    crowded_time: Nanos,
    places_taken: u32,
    /// Threads that wait for another's end.
    joining: u32,
    absence: Absence,
    /// What of `absent × dt` has not made a whole nanosecond for each present thread yet.
    absence_left: u64,
    /// The object that stands for the end of each thread.
    ends: Vec<Option<ObjectId>>,
    walk: u64,
    arrived: BTreeMap<ObjectId, Work>,
    links: Vec<Link>,
    open: Vec<usize>,
    path: &'a [PathPiece],
    blame: Blame,
}

/// Charges all waiting of a run. `path` is its critical path, in the order of time.
pub(crate) fn blame(
    process: &Process,
    timeline: &Timeline,
    roles: &[ObjectKind],
    holders: &Holders<'_>,
    places: &Places,
    working: &Working,
    path: &[PathPiece],
) -> Blame {
    let mut pass = Pass::new(process, timeline, roles, holders, working, path);
    let owners = owners(process);
    let holder_changes = holders.changes();
    let breaks = breaks(process, timeline, roles, places);
    let (mut next_holder, mut next_break) = (0, 0);
    let mut changes = Changes::new(timeline);
    loop {
        let change_at = changes.peek();
        let holder_at = holder_changes.get(next_holder).map(|change| change.from.max(pass.now));
        let break_at = breaks.get(next_break).map(|end| end.time.max(pass.now));
        let not_later = |a: Option<Time>, b: Option<Time>| a.is_some_and(|a| b.is_none_or(|b| a <= b));
        if not_later(holder_at, change_at) && not_later(holder_at, break_at) {
            pass.holder(holder_changes[next_holder]);
            next_holder += 1;
        } else if not_later(change_at, break_at) {
            let Some(change) = changes.next() else { break };
            pass.change(change, &owners);
        } else if break_at.is_some() {
            pass.end_stretch(&breaks[next_break]);
            next_break += 1;
        } else {
            break;
        }
    }
    pass.finish(timeline)
}

/// Owners at the beginning of waits of which nobody is known to have ended them, by thread and time.
fn owners(process: &Process) -> Vec<(ThreadId, Time, ThreadId)> {
    let mut owners: Vec<_> = process
        .waits
        .iter()
        .filter(|wait| wait.outcome != Outcome::Granted)
        .filter_map(|wait| Some((wait.thread, wait.begin, wait.owner?)))
        .collect();
    owners.sort_unstable();
    owners
}

/// The object that stands for the end of each thread, by thread.
fn ends(process: &Process) -> Vec<Option<ObjectId>> {
    let mut ends = vec![None; process.threads.len()];
    for (index, object) in process.objects.iter().enumerate() {
        let end = object.thread.filter(|_| object.kind == ObjectKind::ThreadEnd);
        if let Some(end) = end.and_then(|thread| ends.get_mut(thread.index())) {
            *end = Some(ObjectId::new(index as u32));
        }
    }
    ends
}

fn breaks(process: &Process, timeline: &Timeline, roles: &[ObjectKind], places: &Places) -> Vec<Break> {
    let mut wake_sites: Vec<(ThreadId, Time, Option<SiteId>)> =
        process.wakes.iter().map(|wake| (wake.thread, wake.time, wake.site)).collect();
    wake_sites.sort_unstable();
    let mut breaks: Vec<Break> = Vec::new();
    for edge in &timeline.edges {
        if edge.object.is_some_and(|object| roles[object.index()].is_lock()) {
            continue;
        }
        let site = match edge.kind {
            EdgeKind::Create => process.thread(edge.to).created_at,
            EdgeKind::Signal => {
                let key = (edge.from, edge.from_time);
                let index = wake_sites.partition_point(|wake| (wake.0, wake.1) < key);
                wake_sites.get(index).filter(|wake| (wake.0, wake.1) == key).and_then(|wake| wake.2)
            }
            _ => None,
        };
        let barrier = edge.object.filter(|_| edge.kind == EdgeKind::Barrier);
        let site = places.at(site);
        breaks.push(Break { time: edge.from_time, thread: edge.from, site, barrier });
        breaks.push(Break { time: edge.to_time, thread: edge.to, site: None, barrier: None });
    }
    breaks.sort_unstable_by_key(|end| (end.time, end.thread, end.barrier, end.site));
    breaks.dedup_by_key(|end| (end.time, end.thread, end.barrier));
    breaks
}

impl<'a> Pass<'a> {
    fn new(
        process: &'a Process,
        timeline: &Timeline,
        roles: &'a [ObjectKind],
        holders: &Holders<'_>,
        working: &'a Working,
        path: &'a [PathPiece],
    ) -> Self {
        let main = (!process.threads.is_empty()).then_some(ThreadId::new(0));
        let mut queues = vec![Queue { holder: main, since: timeline.start, ..Queue::default() }];
        let lock_queue = |(index, covered): (usize, bool)| {
            covered.then(|| {
                let object = Some(ObjectId::new(index as u32));
                queues.push(Queue { object, ..Queue::default() });
                queues.len() - 1
            })
        };
        let lock_queues =
            holders.covered(process.objects.len()).into_iter().enumerate().map(lock_queue).collect();
        let mut pass = Self {
            process,
            roles,
            working,
            now: timeline.start,
            queues,
            lock_queues,
            other_queues: BTreeMap::new(),
            doing: process.threads.iter().map(|_| Doing::default()).collect(),
            active: 0,
            active_sum: 0,
            waking: 0,
            waking_workers: 0,
            crowded_time: Nanos::ZERO,
            places_taken: 0,
            joining: 0,
            absence: Absence::default(),
            absence_left: 0,
            ends: ends(process),
            walk: 0,
            arrived: BTreeMap::new(),
            links: Vec::new(),
            open: Vec::new(),
            path,
            blame: Blame {
                objects: vec![ObjectBlame::default(); process.objects.len()],
                chains: Chains::default(),
                charges: BTreeMap::new(),
                serial: BTreeMap::new(),
                delayed: BTreeMap::new(),
                alone: vec![Nanos::ZERO; process.threads.len()],
                any_active: Nanos::ZERO,
                active_beside_io: vec![Nanos::ZERO; process.threads.len()],
                on_path: vec![Nanos::ZERO; process.objects.len()],
                excess: Nanos::ZERO,
                crowded_waking: Nanos::ZERO,
                kept_waiting_late: Nanos::ZERO,
            },
        };
        pass.set_absent();
        pass
    }

    fn finish(mut self, timeline: &Timeline) -> Blame {
        self.advance(timeline.end);
        for queue in 0..self.queues.len() {
            self.charge(queue);
        }
        for thread in 0..self.doing.len() {
            let thread = ThreadId::new(thread as u32);
            self.charge_own_share(thread);
            self.decide(thread, None);
        }
        self.blame
    }

    fn advance(&mut self, time: Time) {
        let length = time.since(self.now);
        if length == Nanos::ZERO {
            return;
        }
        if self.active > 0 {
            self.blame.any_active += length;
        }
        if self.active == 1 {
            let index = self.active_sum as usize;
            self.blame.alone[index] += length;
            self.doing[index].stretch.alone += length;
        }
        let cores = self.working.cores;
        let excess = (self.active + self.waking).saturating_sub(cores);
        if cores > 0 && excess > 0 {
            self.blame.excess += Nanos::new(u64::from(excess) * length.get());
            self.blame.crowded_waking += Nanos::new(u64::from(self.waking_workers) * length.get());
            self.crowded_time += length;
        }
        self.advance_absence(length);
        self.advance_path(time);
        self.now = time;
    }

    fn advance_absence(&mut self, length: Nanos) {
        let absent = self.working.at_once.saturating_sub(self.places_taken);
        if absent == 0 || self.places_taken == 0 {
            return;
        }
        let present = u64::from(self.places_taken);
        let all = u64::from(absent) * length.get() + self.absence_left;
        self.absence_left = all % present;
        let absence = if self.joining > 0 { &mut self.absence.ended } else { &mut self.absence.not_started };
        *absence += Nanos::new(all / present);
    }

    /// All pieces of the path begin and end at changes, so that one of them covers the time up to `time`.
    fn advance_path(&mut self, time: Time) {
        while let Some((piece, rest)) = self.path.split_first() {
            if piece.end > self.now {
                break;
            }
            self.path = rest;
        }
        let Some(piece) = self.path.first() else { return };
        let doing = &self.doing[piece.thread.index()];
        let object = |queue: usize| self.queues[queue].object;
        let own = doing.queue.filter(|&own| !doing.held.iter().any(|&held| object(held) == object(own)));
        for &queue in doing.held.iter().chain(&own) {
            if let Some(object) = self.queues[queue].object
                && !self.roles[object.index()].is_lock()
            {
                self.blame.on_path[object.index()] += time.since(self.now);
            }
        }
    }

    fn change(&mut self, change: Change<'_>, owners: &[(ThreadId, Time, ThreadId)]) {
        self.advance(change.time);
        let (thread, index) = (change.thread, change.thread.index());
        self.charge_behind(thread);
        match self.doing[index].queue {
            Some(queue) => {
                self.charge(queue);
                self.doing[index].queue = None;
                self.leave(queue, thread);
            }
            None => self.charge_own_share(thread),
        }
        if let Some(before) = change.before {
            self.end_segment(thread, before);
        }
        let taken =
            change.after.is_some_and(|segment| self.working.is[index] && !is_joining(self.process, segment));
        if taken != self.doing[index].takes_place {
            self.doing[index].takes_place = taken;
            self.charge(ABSENT);
            self.places_taken = if taken { self.places_taken + 1 } else { self.places_taken - 1 };
            self.absence_left = 0;
            self.set_absent();
        }
        self.doing[index].absence = self.absence;
        let joins = |segment: Option<&Segment>| {
            u32::from(segment.is_some_and(|segment| is_joining(self.process, segment)))
        };
        self.joining = self.joining + joins(change.after) - joins(change.before);
        let Some(after) = change.after else {
            self.doing[index].state = None;
            self.decide(thread, None);
            return;
        };
        self.doing[index].state = Some(after.state);
        self.doing[index].site = after.site;
        self.doing[index].any_active = self.blame.any_active;
        match after.state {
            State::Active => {
                self.active += 1;
                self.active_sum += index as u64;
                self.doing[index].stretch.active_since = Some(change.time);
            }
            State::Waking => {
                self.doing[index].crowded_when_released = self.crowded_time;
                self.waking += 1;
                self.waking_workers += u32::from(taken);
            }
            State::Blocked | State::Spinning => {
                if let Some(object) = after.object {
                    self.begin_wait(thread, after, object, owners);
                }
            }
            _ => {}
        }
    }

    fn end_segment(&mut self, thread: ThreadId, segment: &Segment) {
        match segment.state {
            State::Active => {
                self.active -= 1;
                self.active_sum -= thread.index() as u64;
                self.doing[thread.index()].stretch.end_of_activity(self.now, segment);
            }
            State::Waking => {
                let doing = &mut self.doing[thread.index()];
                doing.stretch.end_of_waking(self.crowded_time - doing.crowded_when_released);
                self.waking -= 1;
                self.waking_workers -= u32::from(self.doing[thread.index()].takes_place);
            }
            State::Io => {
                let index = thread.index();
                self.blame.active_beside_io[index] += self.blame.any_active - self.doing[index].any_active;
            }
            _ => {}
        }
    }

    fn begin_wait(
        &mut self,
        thread: ThreadId,
        wait: &Segment,
        object: ObjectId,
        owners: &[(ThreadId, Time, ThreadId)],
    ) {
        let role = self.roles[object.index()];
        if !role.is_lock() {
            if role == ObjectKind::Barrier {
                self.arrived.entry(object).or_default().add(&self.doing[thread.index()].stretch.work);
            }
            self.decide(thread, wait.site);
        }
        let owner = || {
            let index = owners.partition_point(|owner| (owner.0, owner.1) < (thread, wait.start));
            owners.get(index).filter(|owner| (owner.0, owner.1) == (thread, wait.start)).map(|owner| owner.2)
        };
        let by = wait.by.or_else(owner).filter(|&by| by != thread && by.index() < self.doing.len());
        let queue = match self.lock_queues[object.index()] {
            Some(queue) => queue,
            None => {
                let next = self.queues.len();
                let queue = *self.other_queues.entry((object, by)).or_insert(next);
                if queue == next {
                    self.queues.push(Queue { object: Some(object), holder: by, ..Queue::default() });
                }
                queue
            }
        };
        self.charge(queue);
        if by.is_some() && self.queues[queue].hint != by {
            self.charge_queue_tree(queue);
            self.repoint(queue, |queue| queue.hint = by);
        }
        self.enter(queue, thread);
    }

    fn enter(&mut self, queue: usize, thread: ThreadId) {
        let takes_place = u32::from(self.doing[thread.index()].takes_place);
        let passes_on = u32::from(!self.doing[thread.index()].held.is_empty());
        // First, so that a thread that waits for itself, as odd recordings may have it, is counted like the others.
        self.doing[thread.index()].queue = Some(queue);
        self.repoint(queue, |queue| {
            queue.waiters.push(thread);
            queue.set.insert(thread);
            queue.working += takes_place;
            queue.passing_on += passes_on;
        });
        if let Some(object) = self.queues[queue].object {
            let object = &mut self.blame.objects[object.index()];
            if object.waiters == 0 {
                object.since = self.now;
            }
            object.waiters += 1;
        }
    }

    fn leave(&mut self, queue: usize, thread: ThreadId) {
        let takes_place = u32::from(self.doing[thread.index()].takes_place);
        let passes_on = u32::from(!self.doing[thread.index()].held.is_empty());
        self.repoint(queue, |queue| {
            if let Some(place) = queue.waiters.iter().position(|&waiter| waiter == thread) {
                queue.waiters.swap_remove(place);
                queue.set.remove(thread);
                queue.working -= takes_place;
                queue.passing_on -= passes_on;
            }
        });
        if let Some(object) = self.queues[queue].object {
            let object = &mut self.blame.objects[object.index()];
            object.waiters -= 1;
            if object.waiters == 0 {
                object.waited += self.now.since(object.since);
            }
        }
    }

    /// Changes a queue, and keeps [`Doing::held`] right: it lists the queues that are not empty.
    fn repoint(&mut self, index: usize, change: impl FnOnce(&mut Queue)) {
        let queue = &mut self.queues[index];
        let before = queue.waited_for().filter(|_| !queue.is_empty());
        change(queue);
        let after = queue.waited_for().filter(|_| !queue.is_empty());
        if before == after {
            return;
        }
        if let Some(thread) = before {
            let doing = &mut self.doing[thread.index()];
            doing.held.retain(|&held| held != index);
            if let Some(queue) = doing.queue.filter(|_| doing.held.is_empty()) {
                self.queues[queue].passing_on -= 1;
            }
        }
        if let Some(thread) = after {
            let doing = &mut self.doing[thread.index()];
            doing.held.push(index);
            if let Some(queue) = doing.queue.filter(|_| doing.held.len() == 1) {
                self.queues[queue].passing_on += 1;
            }
        }
    }

    /// All places wait for the main thread where nobody takes one.
    fn set_absent(&mut self) {
        let absent = if self.places_taken == 0 { self.working.at_once } else { 0 };
        self.repoint(ABSENT, |queue| queue.working = absent);
    }

    fn holder(&mut self, change: Holder) {
        let Some(queue) = self.lock_queues[change.object.index()] else { return };
        self.advance(change.from);
        self.charge_queue_tree(queue);
        let thread = change.thread.filter(|thread| thread.index() < self.doing.len());
        self.repoint(queue, |queue| {
            queue.holder = thread;
            queue.holder_site = change.site;
            queue.hint = None;
        });
    }

    fn end_stretch(&mut self, end: &Break) {
        if end.thread.index() >= self.doing.len() {
            return;
        }
        self.advance(end.time);
        self.charge_behind(end.thread);
        self.charge_own_share(end.thread);
        self.decide(end.thread, end.site);
        if let Some(barrier) = end.barrier {
            self.arrived.remove(&barrier);
        }
    }
}
