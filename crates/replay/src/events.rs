//! What the threads of a recorded process did at which moments, as events of which steps are made.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use holdup_model::{
    Ending, Hold, Mode, Nanos, ObjectId, ObjectKind, Outcome, PolledJoin, PolledJoins, Process, Segment,
    SiteId, State, Stop, ThreadId, Time, Timeline, Wait, WakeCount, endings, repeated, stops,
};

use crate::program::{
    BarrierFacts, GateIndex, LockFacts, LockIndex, NEVER, NO_SITE, Pause, PauseKind, Program,
};

/// A hold belongs to the wait that ended so much before it began (ns), at most.
const AFTER_A_WAIT: Nanos = Nanos::new(20_000);

/// What a thread does at one moment of the recording.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Act {
    Release(LockIndex),
    Open(GateIndex),
    Start(ThreadId),
    Acquire(LockIndex, Mode),
    /// Acquires and releases: a hold of which nothing more is known.
    Touch(LockIndex, Mode),
    Arrive(u32),
    Pass(GateIndex),
    Pause(u32),
    /// A wake-up of a condition variable, with the number that it can release: for pools.
    Signal(ObjectId, bool),
    /// A wait for a condition variable: for pools, where it takes the place of the gate before it.
    Wanted(ObjectId),
}

/// An act in its time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Event {
    pub(crate) at: u64,
    /// At one moment waits come last, since what follows a wait is later; releases and meetings (the last one at a barrier
    /// does not wait) come before acquisitions, and of these that which is held for longer: it is outside.
    rank: (bool, u8, Reverse<u64>),
    pub(crate) act: Act,
    /// When the thread went on: later than `at` for waits.
    pub(crate) until: u64,
    pub(crate) site: u32,
}

/// The parts of a program while it is made.
pub(crate) struct Maker<'a> {
    pub(crate) process: &'a Process,
    pub(crate) timeline: &'a Timeline,
    pub(crate) program: Program,
    pub(crate) events: Vec<Vec<Event>>,
    pub(crate) locks: BTreeMap<ObjectId, LockIndex>,
    /// By object, whether anything is known of who held it: nothing is of the locks of runtimes and of the kernel, for
    /// which threads were only seen to wait.
    is_held: Vec<bool>,
    /// Gates that an act of a thread opens, by thread, time and object.
    gates: BTreeMap<(ThreadId, Time, ObjectId), GateIndex>,
}

impl<'a> Maker<'a> {
    /// With the events of all threads, and no steps yet.
    pub(crate) fn of(process: &'a Process, timeline: &'a Timeline) -> Self {
        let mut maker = Maker {
            process,
            timeline,
            program: Program { wall: timeline.wall(), ..Program::default() },
            events: process.threads.iter().map(|_| Vec::new()).collect(),
            locks: BTreeMap::new(),
            is_held: is_held(process),
            gates: BTreeMap::new(),
        };
        maker.ends();
        let endings = endings(process);
        let stops = stops(process, timeline);
        maker.holds_and_waits(&endings, &stops);
        maker.pauses(&stops);
        maker.starts();
        for events in &mut maker.events {
            events.sort_unstable();
        }
        maker
    }
}

impl Maker<'_> {
    fn add(&mut self, thread: ThreadId, at: Time, until: Time, act: Act, site: Option<SiteId>) {
        self.add_held(thread, at, until, act, site, until);
    }

    /// Adds an act; what it acquires is held until `held`.
    fn add_held(
        &mut self,
        thread: ThreadId,
        at: Time,
        until: Time,
        act: Act,
        site: Option<SiteId>,
        held: Time,
    ) {
        let row = self.timeline.row(thread);
        let (at, until) = (at.clamp(row.start, row.end), until.clamp(row.start, row.end));
        let (at, until) = (at.since(self.process.start).get(), until.since(self.process.start).get());
        let site = site.map_or(NO_SITE, |site| site.index() as u32);
        let rank = match act {
            Act::Release(_) => 0,
            Act::Open(_) => 1,
            Act::Start(_) => 2,
            Act::Arrive(_) => 3,
            Act::Acquire(..) | Act::Touch(..) => 4,
            Act::Signal(..) => 5,
            Act::Pass(_) | Act::Pause(_) => 6,
            Act::Wanted(_) => 7,
        };
        let held = held.since(self.process.start).get();
        self.events[thread.index()].push(Event {
            at,
            rank: (until > at, rank, Reverse(held)),
            act,
            until,
            site,
        });
    }

    fn gate(&mut self, acts: u32, object: Option<ObjectId>) -> GateIndex {
        self.program.gates.push(acts);
        self.program.gate_objects.push(object);
        GateIndex(self.program.gates.len() as u32 - 1)
    }

    pub(crate) fn lock(&mut self, object: ObjectId) -> LockIndex {
        let spins = self.process.object(object).kind == ObjectKind::SpinLock;
        let locks = &mut self.program.locks;
        *self.locks.entry(object).or_insert_with(|| {
            locks.push(LockFacts { object, spins, unseen: 0, unseen_hold: 0 });
            LockIndex(locks.len() as u32 - 1)
        })
    }

    /// One gate for each thread's end.
    fn ends(&mut self) {
        for _ in &self.process.threads {
            let gate = self.gate(1, None);
            self.program.ends.push(gate);
        }
        for object in 0..self.process.objects.len() as u32 {
            let object = ObjectId::new(object);
            if let Some(thread) = self.process.object(object).thread {
                let gate = self.program.ends[thread.index()];
                self.program.gate_objects[gate.0 as usize] = Some(object);
            }
        }
    }

    fn holds_and_waits(&mut self, endings: &[Ending], stops: &[Option<Stop>]) {
        let process = self.process;
        let holds = Holds::of(process);
        let waits = in_order(&process.waits);
        self.number_locks();
        let mut waited_before: Vec<Option<u32>> = vec![None; process.holds.len()];
        let mut follows: Vec<bool> = vec![false; process.waits.len()];
        for &index in &waits {
            let wait = &process.waits[index];
            let is_lock = process.object(wait.object).kind.is_lock();
            let hold = (is_lock && wait.outcome == Outcome::Granted).then(|| holds.after(wait)).flatten();
            if let Some(hold) = hold {
                waited_before[hold as usize] = Some(index as u32);
                follows[index] = true;
            }
        }
        let begins = self.begins_unseen(endings);
        for &index in &holds.order {
            let (hold, waited) = (&process.holds[index as usize], waited_before[index as usize]);
            if !process.object(hold.object).kind.is_lock() {
                continue;
            }
            let lock = self.lock(hold.object);
            let unseen = || begins.get(&(hold.thread, hold.object, hold.end)).copied();
            let (begin, until, site) = match waited.map(|wait| &process.waits[wait as usize]) {
                Some(wait) => (wait.begin, wait.end, hold.acquired_at.or(wait.site)),
                None => {
                    let begin = hold.begin.or_else(unseen).unwrap_or(hold.end);
                    (begin, begin, hold.acquired_at)
                }
            };
            // Cut to the thread's life, as all events are.
            let row = self.timeline.row(hold.thread);
            if begin.clamp(row.start, row.end) >= hold.end.clamp(row.start, row.end) {
                self.add(hold.thread, begin, begin, Act::Touch(lock, hold.mode), site);
                continue;
            }
            // Whoever held it had it until all was done that it was given: to come before it would be too early.
            let joins = |index: &u32| self.timeline.places.joins(process.waits[*index as usize].site);
            if let Some(index) = waited.filter(joins)
                && let Some(gate) = self.opened_by(&process.waits[index as usize], &endings[index as usize])
            {
                self.add(hold.thread, begin, begin, Act::Pass(gate), site);
            }
            self.add_held(hold.thread, begin, until, Act::Acquire(lock, hold.mode), site, hold.end);
            self.add(hold.thread, hold.end, hold.end, Act::Release(lock), hold.released_at);
        }
        let mut rounds = self.rounds();
        let repeated = repeated(process, endings, &waits);
        for index in waits {
            let wait = &process.waits[index];
            let is_stopped = stops[wait.thread.index()].as_ref().is_some_and(|stop| stop.has_wait(wait));
            if !follows[index] && !repeated[index] && !is_stopped {
                self.wait(&process.waits[index], &endings[index], rounds.remove(&index));
            }
        }
    }

    /// Numbers the locks by their objects, whatever the order of the columns.
    fn number_locks(&mut self) {
        let process = self.process;
        let objects = process.holds.iter().map(|hold| hold.object);
        let objects = objects.chain(process.waits.iter().map(|wait| wait.object));
        let locks: BTreeSet<ObjectId> =
            objects.filter(|&object| process.object(object).kind.is_lock()).collect();
        for object in locks {
            self.lock(object);
        }
    }

    /// When somebody first waited for a hold of which only the end was seen.
    fn begins_unseen(&self, endings: &[Ending]) -> BTreeMap<(ThreadId, ObjectId, Time), Time> {
        let process = self.process;
        let unseen = process.holds.iter().filter(|hold| hold.begin.is_none());
        let mut begins: BTreeMap<_, _> =
            unseen.map(|hold| ((hold.thread, hold.object, hold.end), hold.end)).collect();
        for (wait, ending) in process.waits.iter().zip(endings) {
            if let Some(by) = ending.by
                && let Some(begin) = begins.get_mut(&(by, wait.object, ending.at))
            {
                *begin = (*begin).min(wait.begin);
            }
        }
        begins
    }

    /// Which waits are arrivals at barriers whose number of parties is known, by index.
    fn rounds(&mut self) -> BTreeMap<usize, u32> {
        let mut by_barrier: BTreeMap<(ObjectId, u32), Vec<usize>> = BTreeMap::new();
        for (index, wait) in self.process.waits.iter().enumerate() {
            let object = self.process.object(wait.object);
            if let (ObjectKind::Barrier, Some(parties)) = (object.kind, object.parties) {
                by_barrier.entry((wait.object, parties)).or_default().push(index);
            }
        }
        let mut rounds = BTreeMap::new();
        for ((object, parties), waits) in by_barrier {
            let barrier = self.program.barriers.len() as u32;
            self.program.barriers.push(BarrierFacts { object, parties: parties.max(1) });
            // An incomplete round at the end never was: its threads wait still, or were cut off.
            rounds.extend(waits.into_iter().map(|index| (index, barrier)));
        }
        rounds
    }

    fn wait(&mut self, wait: &Wait, ending: &Ending, barrier: Option<u32>) {
        let kind = self.process.object(wait.object).kind;
        let act = match (wait.outcome, barrier) {
            (Outcome::Open, _) => Act::Pass(self.gate(NEVER, Some(wait.object))),
            (Outcome::TimedOut | Outcome::Failed, _) => self.pause(wait, wait.end),
            (Outcome::Granted, Some(barrier)) => Act::Arrive(barrier),
            // The hold that followed was too short to be recorded.
            (Outcome::Granted, None) if kind.is_lock() && self.is_held[wait.object.index()] => {
                Act::Touch(self.lock(wait.object), wait.mode)
            }
            (Outcome::Granted, None) => match self.opened_by(wait, ending) {
                Some(gate) => Act::Pass(gate),
                None => self.pause(wait, ending.at),
            },
        };
        self.add(wait.thread, wait.begin, wait.end, act, wait.site);
        if kind == ObjectKind::Condition && wait.outcome != Outcome::Open {
            self.add(wait.thread, wait.begin, wait.end, Act::Wanted(wait.object), wait.site);
        }
    }

    fn pause(&mut self, wait: &Wait, until: Time) -> Act {
        let length = until.since(wait.begin).get();
        self.program.pauses.push(Pause { length, kind: PauseKind::Object(wait.object) });
        Act::Pause(self.program.pauses.len() as u32 - 1)
    }

    /// The gate that the thread which ended the wait opened; it opens where that thread was then.
    fn opened_by(&mut self, wait: &Wait, ending: &Ending) -> Option<GateIndex> {
        let by = ending.by.filter(|by| *by != wait.thread)?;
        if let Some(thread) = self.process.object(wait.object).thread {
            return Some(self.program.ends[thread.index()]);
        }
        if let Some(&gate) = self.gates.get(&(by, ending.at, wait.object)) {
            return Some(gate);
        }
        let gate = self.gate(1, Some(wait.object));
        self.gates.insert((by, ending.at, wait.object), gate);
        self.add(by, ending.at, ending.at, Act::Open(gate), None);
        Some(gate)
    }

    /// Waits for nothing that another thread of the process does.
    fn pauses(&mut self, stops: &[Option<Stop>]) {
        let timeline = self.timeline;
        let polled = PolledJoins::of(self.process, timeline);
        for (index, row) in timeline.threads.iter().enumerate() {
            let thread = ThreadId::new(index as u32);
            for join in polled.of_thread(thread) {
                self.polled_join(thread, join);
            }
            let is_repeated = |segment: &&Segment| {
                polled.at(thread, segment).is_some_and(|join| join.last != segment.start)
            };
            let stop = stops[index].as_ref();
            if let Some(stop) = stop {
                self.stop(thread, stop);
            }
            let is_stopped = |segment: &&Segment| stop.is_some_and(|stop| stop.has(segment));
            for segment in row.segments.iter().filter(|segment| !is_repeated(segment) && !is_stopped(segment))
            {
                let kind = match (segment.state, segment.object) {
                    // No wait of its own, as those for spin locks are.
                    (State::Spinning, Some(lock))
                        if self.process.object(lock).kind != ObjectKind::SpinLock =>
                    {
                        PauseKind::Object(lock)
                    }
                    (State::Blocked, Some(_)) => continue,
                    (state, _) => match pause_in(state) {
                        Some(kind) => kind,
                        None => continue,
                    },
                };
                let length = segment.length().get();
                self.program.pauses.push(Pause { length, kind });
                let pause = Act::Pause(self.program.pauses.len() as u32 - 1);
                self.add(thread, segment.start, segment.end, pause, segment.site);
            }
        }
    }

    /// Who pauses until another thread stops it waits for that one; how long it takes to notice is a pause.
    fn stop(&mut self, thread: ThreadId, stop: &Stop) {
        let gate = self.gate(1, stop.last.object);
        self.add(stop.by, stop.at, stop.at, Act::Open(gate), None);
        self.add(thread, stop.last.start, stop.at, Act::Pass(gate), stop.last.site);
        let length = stop.last.end.since(stop.at).get();
        if length > 0 {
            let kind = stop.last.object.map(PauseKind::Object).or(pause_in(stop.last.state));
            let kind = kind.unwrap_or(PauseKind::Unknown);
            self.program.pauses.push(Pause { length, kind });
            let pause = Act::Pause(self.program.pauses.len() as u32 - 1);
            self.add(thread, stop.at, stop.last.end, pause, stop.last.site);
        }
    }

    /// Who sleeps until others have come so far waits for these: each opens its gate where it was when the last sleep began.
    fn polled_join(&mut self, thread: ThreadId, join: &PolledJoin) {
        let opens: Vec<(ThreadId, Time)> =
            join.started.iter().filter_map(|&other| Some((other, self.progress(other, join)?))).collect();
        let gate = self.gate(opens.len() as u32, None);
        for (other, at) in opens {
            self.add(other, at, at, Act::Open(gate), None);
        }
        self.add(thread, join.last, join.last, Act::Pass(gate), None);
    }

    /// Up to where a thread has come before the last sleep, outside of its own waits.
    fn progress(&self, thread: ThreadId, join: &PolledJoin) -> Option<Time> {
        let row = self.timeline.row(thread);
        if row.end <= join.last {
            return (row.end > join.begin).then_some(row.end);
        }
        let before = row.segments.partition_point(|segment| segment.start <= join.last);
        let works = |segment: &&Segment| matches!(segment.state, State::Active | State::Descheduled);
        let segment = row.segments[..before].iter().rev().find(works)?;
        let at = if join.last < segment.end { join.last } else { segment.start };
        (at > join.begin).then_some(at)
    }

    fn starts(&mut self) {
        for (index, thread) in self.process.threads.iter().enumerate() {
            let id = ThreadId::new(index as u32);
            if let Some(parent) = thread.parent.filter(|parent| *parent != id) {
                let at = self.created_at(parent, thread.start);
                self.add(parent, at, at, Act::Start(id), thread.created_at);
            }
        }
        // Only what threads wait for with a mutex may be the signal of a pool.
        let pooled: BTreeSet<ObjectId> =
            self.process.waits.iter().filter(|wait| wait.mutex.is_some()).map(|wait| wait.object).collect();
        for wake in self.process.wakes.iter().filter(|wake| pooled.contains(&wake.object)) {
            let all = wake.count == WakeCount::All;
            self.add(wake.thread, wake.time, wake.time, Act::Signal(wake.object, all), wake.site);
        }
    }

    /// When its parent created a thread that began to run at `start`: while the parent worked.
    fn created_at(&self, parent: ThreadId, start: Time) -> Time {
        let segments = &self.timeline.row(parent).segments;
        let before = segments.partition_point(|segment| segment.start <= start);
        let works = |segment: &&Segment| matches!(segment.state, State::Active | State::Descheduled);
        let Some(covering) = before.checked_sub(1).map(|at| &segments[at]) else { return start };
        if works(&covering) {
            return start;
        }
        segments[..before].iter().rev().find(works).map_or(start, |segment| segment.end)
    }
}

/// What a thread in this state pauses for, where it waits for no object.
fn pause_in(state: State) -> Option<PauseKind> {
    match state {
        State::Io => Some(PauseKind::Io),
        State::Asleep => Some(PauseKind::Sleep),
        State::Blocked | State::NotRecorded => Some(PauseKind::Unknown),
        State::Active | State::Spinning | State::Waking | State::Descheduled => None,
    }
}

/// The indices of waits, in an order that is not that of the column.
fn in_order(waits: &[Wait]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..waits.len()).collect();
    order.sort_by_key(|&index| {
        let Wait { thread, begin, end, object, site, mode, outcome, owner, mutex, .. } = waits[index];
        (
            begin,
            end,
            thread,
            object,
            outcome == Outcome::Granted,
            outcome == Outcome::Open,
            mode,
            site,
            owner,
            mutex,
        )
    });
    order
}

fn is_held(process: &Process) -> Vec<bool> {
    let mut is_held = vec![false; process.objects.len()];
    for hold in &process.holds {
        is_held[hold.object.index()] = true;
    }
    for uses in process.uses.iter().filter(|uses| uses.acquisitions > 0) {
        is_held[uses.object.index()] = true;
    }
    is_held
}

/// The recorded holds, sorted so that the one after a wait is found.
struct Holds<'a> {
    process: &'a Process,
    order: Vec<u32>,
}

impl<'a> Holds<'a> {
    fn of(process: &'a Process) -> Self {
        let mut order: Vec<u32> = (0..process.holds.len() as u32).collect();
        order.sort_by_cached_key(|&index| {
            let hold = &process.holds[index as usize];
            (Self::key(hold), Self::rest(hold))
        });
        Self { process, order }
    }

    fn key(hold: &Hold) -> (ThreadId, ObjectId, Option<Time>, Time) {
        (hold.thread, hold.object, hold.begin, hold.end)
    }

    /// What is left to tell two holds apart.
    fn rest(hold: &Hold) -> (Mode, Option<SiteId>, Option<SiteId>) {
        (hold.mode, hold.acquired_at, hold.released_at)
    }

    /// The hold that the wait was for, if it was recorded.
    fn after(&self, wait: &Wait) -> Option<u32> {
        let from = (wait.thread, wait.object, Some(wait.begin), wait.begin);
        let next = self.order.partition_point(|&index| Self::key(&self.process.holds[index as usize]) < from);
        let index = *self.order.get(next)?;
        let hold = &self.process.holds[index as usize];
        let is_next = hold.thread == wait.thread
            && hold.object == wait.object
            && hold.begin.is_some_and(|begin| begin <= wait.end + AFTER_A_WAIT);
        is_next.then_some(index)
    }
}
