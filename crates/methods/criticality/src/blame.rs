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
//! absence (`absence.rs`). As with criticality that takes one number: A = ∫ absent / present dt, of which each thread gets what
//! is added while it does one thing. With no working thread there, the main thread is waited for.
//!
//! Of more places than cores some could not work in any case: what waits and places that nobody takes lost is less by their part.
//!
//! Of some threads it is not known whom they wait for: those that search for work in a runtime's loop, those that
//! are blocked in a way that was not recorded, and idle workers that nobody woke. While one thread alone is able to
//! run they wait for that one, in the end: whatever they need, nobody else can bring it about.

mod absence;
mod chain;
mod owners;
mod roots;
mod seeking;
mod stretch;
mod times;

use std::collections::BTreeMap;

use absence::{Absence, last_on_core};
use chain::ThreadSet;
use holdup_model::{
    Meeting, Nanos, ObjectId, ObjectKind, Places, Process, Roles, Segment, SiteId, State, ThreadId, Time,
    Timeline, meetings,
};
use holdup_sections::{Outside, Working, is_joining};

use crate::PathPiece;
use crate::holders::{Holder, Holders};
use crate::sweep::{Change, Changes};
pub(crate) use chain::{Chains, Link};
use owners::owners;
use roots::{RootKey, Roots};
use seeking::{LongSpins, Seeking};
pub(crate) use seeking::{Sought, SoughtKey};
use stretch::{Arrived, Stretch};
pub(crate) use stretch::{Charge, Serial, SerialKey};
use times::{BlameTimes, TimesSoFar};
pub(crate) use times::{Spans, Waited};

/// The longest chain that is followed, in threads.
const LONGEST_CHAIN: usize = 64;

/// The queue of places for working threads where nobody takes one.
const ABSENT: usize = 0;

/// What the pass found.
#[derive(Default)]
pub(crate) struct Blame {
    /// By object.
    pub(crate) objects: Vec<ObjectBlame>,
    pub(crate) chains: Chains,
    /// Working threads' time by the root of the wait: the last object of the chain (`None`: absent threads) and
    /// the thread at its end (`None`: not known). Without what is in `serial` and `delayed`.
    pub(crate) charges: BTreeMap<(Option<ObjectId>, Option<ThreadId>), Charge>,
    /// The part that was lost while the root worked alone.
    pub(crate) serial: BTreeMap<SerialKey, Serial>,
    /// The part that was lost at barriers, when others had ended, or while the root worked alone, because it was late for
    /// want of a core (`None`: absent threads).
    pub(crate) delayed: BTreeMap<(Option<ObjectId>, ThreadId), Nanos>,
    /// Working threads' time without anybody that they are known to wait for.
    pub(crate) sought: BTreeMap<SoughtKey, Sought>,
    /// The sum of all [`Sought::with_woken`], by the thread that had been released.
    pub(crate) sought_of_woken: BTreeMap<ThreadId, Nanos>,
    /// By thread: the time in which it was the only one that was able to run.
    pub(crate) alone: Vec<Nanos>,
    /// The time in which any thread was active.
    pub(crate) any_active: Nanos,
    /// By thread: the time in which it was in I/O and another thread was active.
    pub(crate) active_beside_io: Vec<Nanos>,
    /// By object that cannot be held: time of the critical path in which others waited, on this object, for the
    /// path's thread, or it waited itself.
    pub(crate) on_path: Vec<Nanos>,
    /// Time of threads that want a core beyond the number of cores:
    /// ∫ max(0, active + descheduled + waking + spinning − cores) dt.
    pub(crate) excess: Nanos,
    /// The part of it that would not be there if no thread spun.
    pub(crate) excess_by_spinning: Nanos,
    /// Places that nobody took and nobody missed: of who waited for what it had given to others.
    pub(crate) spare: Nanos,
    /// The spared part of what waited and of places that nobody took: there were not so many cores.
    pub(crate) beyond_cores: Nanos,
    /// By thread: what was spared of each of its segments in I/O and asleep, in their order.
    pub(crate) spared: Vec<Vec<Nanos>>,
    /// Time of waking working threads, without `woken_to_wait`.
    pub(crate) waking: Nanos,
    /// Waking up from waits for these objects, only to wait again for a thread that works alone: that is in `serial`.
    pub(crate) woken_to_wait: BTreeMap<Option<ObjectId>, Nanos>,
    /// Time of waking working threads while there were more threads able to run than cores.
    pub(crate) crowded_waking: Nanos,
    /// Waits for threads that got a core late while there were more threads able to run than cores.
    pub(crate) kept_waiting_late: Nanos,
    /// When what is in `charges` and `serial` was lost.
    pub(crate) times: BlameTimes,
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

impl ObjectBlame {
    fn enter(&mut self, now: Time) {
        if self.waiters == 0 {
            self.since = now;
        }
        self.waiters += 1;
    }

    fn leave(&mut self, now: Time) {
        self.waiters -= 1;
        if self.waiters == 0 {
            self.waited += now.since(self.since);
        }
    }
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
    /// Where its chain led the last time.
    last_root: Option<(RootKey, u32)>,
    /// Up to when its waiting has been charged.
    since: Time,
    /// The absence at `since`.
    absence: Absence,
    /// [`Pass::spared`] at `since`.
    spared: Nanos,
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
    /// True in a call that something outside of the program ends, and in a sleep that is too long for others.
    is_apart: bool,
    /// What it seeks, if it waits for nobody in particular.
    seeks: Option<Seeking>,
    /// [`Blame::any_active`] when the current segment began.
    any_active: Nanos,
    /// [`Pass::spared`] when it did.
    spared: Nanos,
    /// True if it takes the place of a working thread.
    takes_place: bool,
    /// True if it does and waits for others, sleeps or is in I/O.
    rests: bool,
    /// The queues with waiters that point at it.
    held: Vec<usize>,
    stretch: Stretch,
    /// `Pass::crowded_time` when it was released from its last wait.
    crowded_when_released: Nanos,
}

/// True for a thread that would make progress if it had a core.
fn is_able(state: State) -> bool {
    matches!(state, State::Active | State::Descheduled)
}

/// True for a thread that would go on spinning if it had a core.
fn spins_without_core(segment: &Segment) -> bool {
    segment.state == State::Spinning && segment.object.is_none() && segment.delay() == segment.length()
}

struct Pass<'a> {
    process: &'a Process,
    roles: &'a [ObjectKind],
    /// By object: whether threads wait on it for something to do.
    is_idle: &'a [bool],
    places: &'a Places,
    outside: &'a Outside,
    working: &'a Working,
    now: Time,
    queues: Vec<Queue>,
    /// The queue of a lock with timed holds.
    lock_queues: Vec<Option<usize>>,
    other_queues: BTreeMap<(ObjectId, Option<ThreadId>), usize>,
    doing: Vec<Doing>,
    active: u32,
    /// Those of them of which that is known: see [`Pass::is_known_to_work`].
    known_active: u32,
    last_on_core: Vec<Time>,
    /// ∫ of the part of a waiting thread that is no loss: see [`Pass::spared_of`].
    spared: Nanos,
    /// Active or descheduled threads.
    able: u32,
    /// The sum of their indices: the one index where there is one.
    able_sum: u64,
    spinning: u32,
    /// Working threads that wait for nobody in particular.
    seekers: u32,
    long_spins: LongSpins,
    /// How long one thread alone has been able to run.
    one_able: Nanos,
    /// How long none has been.
    none_able: Nanos,
    /// How long none has been, and one alone has been released and not yet running.
    one_woken: Nanos,
    waking: u32,
    /// The sum of their indices.
    waking_sum: u64,
    /// Those of `waking` that are working threads.
    waking_workers: u32,
    /// How long there have been more threads able to run than cores.
    crowded_time: Nanos,
    places_taken: u32,
    /// Threads that wait for another's end, or for what they gave to others.
    joining: u32,
    /// Those that wait for what they gave to others.
    giving: u32,
    /// Working threads that have ended since a thread waits for others' ends.
    ended_meanwhile: u32,
    /// Of which threads that wait for others, sleep or are in I/O get their shares.
    absence: Absence,
    /// Of which the others get theirs.
    absence_of_others: Absence,
    /// Working threads that wait for others, sleep or are in I/O.
    resting: u32,
    /// What of `absent × dt` has not made a whole nanosecond for each present thread yet.
    absence_left: u64,
    /// The object that stands for the end of each thread.
    ends: Vec<Option<ObjectId>>,
    walk: u64,
    arrived: BTreeMap<ObjectId, Arrived>,
    links: Vec<Link>,
    open: Vec<usize>,
    path: &'a [PathPiece],
    roots: Roots,
    times: TimesSoFar,
    blame: Blame,
}

/// What the pass looks at.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) process: &'a Process,
    pub(crate) timeline: &'a Timeline,
    pub(crate) holders: &'a Holders<'a>,
    pub(crate) outside: &'a Outside,
    pub(crate) working: &'a Working,
    /// The critical path, in the order of time.
    pub(crate) path: &'a [PathPiece],
}

/// Charges all waiting of a run.
pub(crate) fn blame(facts: &Facts<'_>) -> Blame {
    let Facts { process, timeline, holders, .. } = *facts;
    let mut pass = Pass::new(facts);
    let owners = owners(process, timeline);
    let holder_changes = holders.changes();
    let met = meetings(process, timeline);
    let (mut next_holder, mut next_meeting) = (0, 0);
    let mut changes = Changes::new(timeline);
    loop {
        let change_at = changes.peek();
        let holder_at = holder_changes.get(next_holder).map(|change| change.from.max(pass.now));
        let meeting_at = met.get(next_meeting).map(|end| end.time.max(pass.now));
        let not_later = |a: Option<Time>, b: Option<Time>| a.is_some_and(|a| b.is_none_or(|b| a <= b));
        if not_later(holder_at, change_at) && not_later(holder_at, meeting_at) {
            pass.holder(holder_changes[next_holder]);
            next_holder += 1;
        } else if not_later(change_at, meeting_at) {
            let Some(change) = changes.next() else { break };
            pass.change(change, &owners);
        } else if meeting_at.is_some() {
            pass.end_stretch(&met[next_meeting]);
            next_meeting += 1;
        } else {
            break;
        }
    }
    pass.finish(timeline)
}

/// The object that stands for the end of each thread, by thread.
fn ends(process: &Process, roles: &Roles) -> Vec<Option<ObjectId>> {
    let mut ends = vec![None; process.threads.len()];
    for (index, object) in process.objects.iter().enumerate() {
        let end = object.thread.filter(|_| object.kind == ObjectKind::ThreadEnd);
        if let Some(end) = end.and_then(|thread| ends.get_mut(thread.index())) {
            *end = Some(ObjectId::new(index as u32));
        }
    }
    for (thread, end) in ends.iter_mut().enumerate() {
        *end = roles.ended_on(ThreadId::new(thread as u32)).or(*end);
    }
    ends
}

impl<'a> Pass<'a> {
    fn new(facts: &Facts<'a>) -> Self {
        let Facts { process, timeline, holders, outside, working, path } = *facts;
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
            roles: &timeline.roles.kinds,
            is_idle: &timeline.roles.is_idle,
            places: &timeline.places,
            outside,
            working,
            now: timeline.start,
            queues,
            lock_queues,
            other_queues: BTreeMap::new(),
            doing: process.threads.iter().map(|_| Doing::default()).collect(),
            active: 0,
            known_active: 0,
            last_on_core: last_on_core(process),
            spared: Nanos::ZERO,
            able: 0,
            able_sum: 0,
            spinning: 0,
            seekers: 0,
            long_spins: LongSpins::of(process, timeline),
            one_able: Nanos::ZERO,
            none_able: Nanos::ZERO,
            one_woken: Nanos::ZERO,
            waking: 0,
            waking_sum: 0,
            waking_workers: 0,
            crowded_time: Nanos::ZERO,
            places_taken: 0,
            joining: 0,
            giving: 0,
            ended_meanwhile: 0,
            absence: Absence::default(),
            absence_of_others: Absence::default(),
            resting: 0,
            absence_left: 0,
            ends: ends(process, &timeline.roles),
            walk: 0,
            arrived: BTreeMap::new(),
            links: Vec::new(),
            open: Vec::new(),
            path,
            roots: Roots::default(),
            times: TimesSoFar::of(process),
            blame: Blame {
                objects: vec![ObjectBlame::default(); process.objects.len()],
                alone: vec![Nanos::ZERO; process.threads.len()],
                spared: vec![Vec::new(); process.threads.len()],
                active_beside_io: vec![Nanos::ZERO; process.threads.len()],
                on_path: vec![Nanos::ZERO; process.objects.len()],
                ..Blame::default()
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
            self.end_seeking(thread);
            self.decide(thread, None, false);
        }
        self.blame.times = self.times.finish(&self.roots.keys);
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
        self.spared += self.spared_of(length);
        if self.able == 1 && self.waking > 0 {
            let index = self.able_sum as usize;
            self.times.alone(ThreadId::new(index as u32), self.now, time);
            self.doing[index].stretch.beside_woken += length;
        } else if self.able == 1 {
            let index = self.able_sum as usize;
            self.blame.alone[index] += length;
            self.one_able += length;
            self.times.alone(ThreadId::new(index as u32), self.now, time);
            let stretch = &mut self.doing[index].stretch;
            stretch.alone += length;
            if self.seekers > 0 {
                stretch.sought.lost += Nanos::new(u64::from(self.seekers) * length.get());
                stretch.sought.alone += length;
            }
        } else if self.able == 0 && self.waking == 0 {
            self.none_able += length;
        } else if self.able == 0 && self.waking == 1 {
            self.one_woken += length;
            if self.seekers > 0 {
                let woken = ThreadId::new(self.waking_sum as u32);
                *self.blame.sought_of_woken.entry(woken).or_default() +=
                    Nanos::new(u64::from(self.seekers) * length.get());
            }
        }
        self.blame.waking += Nanos::new(u64::from(self.waking_workers) * length.get());
        let cores = self.working.cores;
        let wanting = self.able + self.waking + self.spinning;
        let excess = wanting.saturating_sub(cores);
        if cores > 0 && excess > 0 {
            self.blame.excess += Nanos::new(u64::from(excess) * length.get());
            let by_spinning = excess.min(self.spinning);
            self.blame.excess_by_spinning += Nanos::new(u64::from(by_spinning) * length.get());
            self.blame.crowded_waking += Nanos::new(u64::from(self.waking_workers) * length.get());
        }
        let fewest = self.working.fewest_cores;
        if fewest > 0 && wanting > fewest {
            self.crowded_time += length;
        }
        self.advance_absence(time);
        self.advance_path(time);
        self.now = time;
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
        self.leave_and_begin(change, owners);
        self.set_rests(change.thread);
    }

    fn leave_and_begin(&mut self, change: Change<'_>, owners: &[(ThreadId, Time, ThreadId)]) {
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
        self.end_seeking(thread);
        if let Some(before) = change.before {
            self.end_segment(thread, before);
        }
        let is_joining = |segment: &Segment| {
            is_joining(self.process, self.places, &self.working.polled_joins, thread, segment)
        };
        let taken = change.after.is_some_and(|segment| self.working.is[index] && !is_joining(segment));
        let [was_joining, joins] =
            [change.before, change.after].map(|segment| u32::from(segment.is_some_and(is_joining)));
        if taken != self.doing[index].takes_place {
            self.doing[index].takes_place = taken;
            self.charge(ABSENT);
            self.places_taken = if taken { self.places_taken + 1 } else { self.places_taken - 1 };
            self.absence_left = 0;
            self.set_absent();
        }
        self.joining = self.joining + joins - was_joining;
        // Threads whose end is waited for are given nothing more.
        let is_end = |object: ObjectId| self.process.object(object).kind == ObjectKind::ThreadEnd;
        let gives = |segment: &Segment| {
            segment.state == State::Blocked
                && self.places.only_gives(segment.site)
                && !segment.object.is_some_and(is_end)
        };
        let [was_giving, gives] =
            [change.before, change.after].map(|segment| u32::from(segment.is_some_and(gives)));
        self.giving = self.giving + gives - was_giving;
        self.ended_meanwhile = match (self.joining, change.after) {
            (0, _) => 0,
            (_, None) => self.ended_meanwhile + u32::from(self.working.is[index]),
            _ => self.ended_meanwhile,
        };
        let Some(after) = change.after else {
            self.doing[index].state = None;
            self.decide(thread, None, false);
            return;
        };
        // For those who wait for it, a thread that would spin on if it had a core has none.
        self.doing[index].state =
            Some(if spins_without_core(after) { State::Descheduled } else { after.state });
        self.doing[index].site = after.site;
        self.doing[index].any_active = self.blame.any_active;
        self.doing[index].spared = self.spared;
        self.doing[index].is_apart = match after.state {
            State::Io => self.outside.is_at(thread, after.start),
            _ => self.working.late_looks.has(thread, after),
        };
        if is_able(after.state) {
            self.active += u32::from(after.state == State::Active);
            self.known_active += u32::from(self.is_known_to_work(thread, after));
            self.able += 1;
            self.able_sum += index as u64;
            self.doing[index].stretch.able_since = Some(change.time);
        }
        self.spinning += u32::from(after.state == State::Spinning);
        match after.state {
            State::Waking => {
                self.doing[index].crowded_when_released = self.crowded_time;
                self.waking += 1;
                self.waking_sum += index as u64;
                self.waking_workers += u32::from(taken);
            }
            State::Blocked | State::Spinning => {
                if let Some(object) = after.object {
                    self.begin_wait(thread, after, object, owners);
                } else if after.state == State::Blocked || self.spins_for_long(thread, after) {
                    self.seek(thread, after);
                }
            }
            _ => {}
        }
    }

    fn end_segment(&mut self, thread: ThreadId, segment: &Segment) {
        if matches!(segment.state, State::Io | State::Asleep) {
            let spared = self.spared - self.doing[thread.index()].spared;
            self.blame.spared[thread.index()].push(spared);
        }
        match segment.state {
            state if is_able(state) => {
                self.active -= u32::from(state == State::Active);
                self.known_active -= u32::from(self.is_known_to_work(thread, segment));
                self.able -= 1;
                self.able_sum -= thread.index() as u64;
                self.doing[thread.index()].stretch.end_of_activity(self.now, segment);
            }
            State::Spinning => {
                self.spinning -= 1;
                if spins_without_core(segment) {
                    self.doing[thread.index()].stretch.add_delay(segment.length());
                }
            }
            State::Waking => {
                let doing = &mut self.doing[thread.index()];
                doing.stretch.end_of_waking(segment, self.crowded_time - doing.crowded_when_released);
                self.waking -= 1;
                self.waking_sum -= thread.index() as u64;
                self.waking_workers -= u32::from(self.doing[thread.index()].takes_place);
            }
            State::Io => {
                let index = thread.index();
                self.blame.active_beside_io[index] += self.blame.any_active - self.doing[index].any_active;
            }
            _ => {}
        }
    }

    /// True where a thread seeks work, as several samples in a row say, on a core.
    fn spins_for_long(&self, thread: ThreadId, segment: &Segment) -> bool {
        self.places.seeks_work(segment.site)
            && segment.delay() < segment.length()
            && self.long_spins.contain(thread, segment.start)
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
                self.arrive(object, thread);
            }
            self.doing[thread.index()].stretch.woken = None;
            self.decide(thread, wait.site, role == ObjectKind::Barrier);
        }
        let owner = || {
            let index = owners.partition_point(|owner| (owner.0, owner.1) < (thread, wait.start));
            owners.get(index).filter(|owner| (owner.0, owner.1) == (thread, wait.start)).map(|owner| owner.2)
        };
        let by = wait.by.or_else(owner).filter(|&by| by != thread && by.index() < self.doing.len());
        if by.is_none() && self.is_idle[object.index()] && wait.state == State::Blocked {
            self.seek(thread, wait);
            return;
        }
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
            self.blame.objects[object.index()].enter(self.now);
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
            self.blame.objects[object.index()].leave(self.now);
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

    fn end_stretch(&mut self, end: &Meeting) {
        if end.thread.index() >= self.doing.len() {
            return;
        }
        self.advance(end.time);
        self.charge_behind(end.thread);
        self.charge_own_share(end.thread);
        self.decide(end.thread, end.site, end.barrier.is_some());
        self.doing[end.thread.index()].stretch.behind_tasks |= end.behind_tasks;
        if let Some(barrier) = end.barrier {
            self.arrived.remove(&barrier);
        }
    }
}
