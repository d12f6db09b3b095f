//! From a recorded process to a [`Program`]: which CPU time lies between which acts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdup_model::{
    Ending, Hold, Mode, Nanos, ObjectId, ObjectKind, Outcome, Process, Row, Segment, SiteId, State, ThreadId,
    Time, Timeline, Wait, WakeCount, endings,
};

use crate::pools::{self, Cut};
use crate::program::{
    Actor, BarrierFacts, GateIndex, LockFacts, LockIndex, NEVER, NO_SITE, Op, Pause, PauseKind, Program, Step,
};
use crate::unseen::Unseen;

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

/// The program that a process ran, as far as it was recorded. `None` where no thread was, or its times make no sense.
pub fn extract(process: &Process, timeline: &Timeline) -> Option<Program> {
    if process.threads.is_empty() || timeline.wall() > Nanos::LONGEST_RUN {
        return None;
    }
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
    maker.holds_and_waits();
    maker.pauses();
    maker.starts();
    for events in &mut maker.events {
        events.sort_unstable();
    }
    let pools = pools::find(&maker);
    let unseen = maker.unseen_holds();
    maker.steps(&pools, unseen);
    Some(maker.program)
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

    fn holds_and_waits(&mut self) {
        let process = self.process;
        let endings = endings(process);
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
        let begins = self.begins_unseen(&endings);
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
            self.add_held(hold.thread, begin, until, Act::Acquire(lock, hold.mode), site, hold.end);
            self.add(hold.thread, hold.end, hold.end, Act::Release(lock), hold.released_at);
        }
        let mut rounds = self.rounds();
        for index in waits {
            if !follows[index] {
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
    fn pauses(&mut self) {
        let timeline = self.timeline;
        for (index, row) in timeline.threads.iter().enumerate() {
            for segment in &row.segments {
                let kind = match segment.state {
                    State::Io => PauseKind::Io,
                    State::Asleep => PauseKind::Sleep,
                    State::Blocked if segment.object.is_none() => PauseKind::Unknown,
                    State::NotRecorded => PauseKind::Unknown,
                    _ => continue,
                };
                let length = segment.length().get();
                self.program.pauses.push(Pause { length, kind });
                let pause = Act::Pause(self.program.pauses.len() as u32 - 1);
                self.add(ThreadId::new(index as u32), segment.start, segment.end, pause, segment.site);
            }
        }
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

    /// Puts the events of each thread into steps.
    fn steps(&mut self, pools: &pools::Found, unseen: Vec<Vec<Unseen>>) {
        let last = self.last_thread();
        self.program.pools.clone_from(&pools.pools);
        self.program.tokens.clone_from(&pools.tokens);
        let mut starts: Vec<(u64, u32, u32)> = Vec::new();
        for (index, unseen) in unseen.into_iter().enumerate() {
            let thread = ThreadId::new(index as u32);
            let row = self.timeline.row(thread);
            let first = self.program.steps.len() as u32;
            let has_parent = self.process.threads[index].parent.is_some_and(|parent| parent != thread);
            let mut writer = Writer {
                program: &mut self.program,
                work: Work::of(row, self.process.start),
                at: self.timeline.row(thread).start.since(self.process.start).get(),
                pending: 0,
                held: 0,
                unseen,
            };
            let member = pools.member(thread);
            let mut tail = first;
            for (position, event) in self.events[index].iter().enumerate() {
                let replaced = pools.replaced[index].contains(&(position + 1));
                let pool = member.map_or(0, |member| member.pool);
                match member.and_then(|member| member.cut_at(position)) {
                    None => {}
                    Some(cut) => {
                        writer.work_until(event.at);
                        let op = if cut == Cut::First { Op::Deal(pool) } else { Op::EndOfPiece(pool) };
                        writer.step(op, event.at, NO_SITE);
                        let next = writer.program.steps.len() as u32;
                        if cut == Cut::Tail {
                            tail = next;
                        } else {
                            starts.push((event.at, pool, next));
                        }
                    }
                }
                if let Some(&token) = pools.takes[index].get(&position) {
                    writer.work_until(event.at);
                    writer.step(Op::Take(token), event.at, event.site);
                }
                match event.act {
                    // A token was taken in its place.
                    Act::Pass(_) | Act::Pause(_) if replaced => writer.goes_on_at(event.until),
                    Act::Signal(condition, all) => {
                        if let Some(&token) = pools.given.get(&condition) {
                            writer.work_until(event.at);
                            let op = if all { Op::Close(token) } else { Op::Give(token) };
                            writer.step(op, event.at, event.site);
                        }
                    }
                    Act::Wanted(_) => {}
                    _ => writer.event(event),
                }
            }
            let end = self.timeline.row(thread).end.since(self.process.start).get();
            writer.work_until(end);
            writer.step(Op::End, end, NO_SITE);
            self.program.actors.push(Actor {
                thread,
                starts_at: (!has_parent).then(|| row.start.since(self.process.start).get()),
                first,
                tail,
                is_awaited: Some(thread) == last || self.process.thread(thread).end.is_some(),
                is_added: false,
            });
        }
        starts.sort_unstable();
        for (_, pool, step) in starts {
            self.program.pools[pool as usize].pieces.push(step);
        }
        self.program.copies = vec![Vec::new(); self.events.len()];
    }

    /// The thread with whose end the process ended; `None` where it did not live on until then.
    fn last_thread(&self) -> Option<ThreadId> {
        let rows = &self.timeline.threads;
        let lived_on = |row: &&(usize, &Row)| row.1.end >= self.timeline.end;
        let rows: Vec<(usize, &Row)> = rows.iter().enumerate().collect();
        let works = |row: &&(usize, &Row)| row.1.segments.last().is_some_and(|last| last.state.is_active());
        let alive: Vec<_> = rows.iter().filter(lived_on).collect();
        let first_working = alive.iter().find(|row| works(row)).or_else(|| alive.first());
        first_working.map(|(index, _)| ThreadId::new(*index as u32))
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

/// The CPU time of a thread's useful segments, asked for in order of time.
struct Work<'a> {
    segments: &'a [Segment],
    start: Time,
    next: usize,
}

impl<'a> Work<'a> {
    fn of(row: &'a Row, start: Time) -> Self {
        Self { segments: &row.segments, start, next: 0 }
    }

    /// CPU time (ns) between two moments, the first not before those asked for earlier.
    fn between(&mut self, from: u64, until: u64) -> u64 {
        let mut sum = 0;
        while let Some(segment) = self.segments.get(self.next) {
            let begin = segment.start.since(self.start).get();
            let end = segment.end.since(self.start).get();
            if end <= from {
                self.next += 1;
                continue;
            }
            if begin >= until {
                break;
            }
            let works =
                segment.state.is_active() || segment.state == State::Spinning && segment.object.is_none();
            if works {
                let part = end.min(until) - begin.max(from);
                sum += match segment.cpu {
                    None => part,
                    Some(cpu) if part == end - begin => cpu.get().min(part),
                    Some(cpu) => {
                        (cpu.get().min(end - begin) as u128 * part as u128 / (end - begin) as u128) as u64
                    }
                };
            }
            if end > until {
                break;
            }
            self.next += 1;
        }
        sum
    }
}

/// Writes one thread's steps.
struct Writer<'a> {
    program: &'a mut Program,
    work: Work<'a>,
    /// Up to when the work is in steps or in `pending`.
    at: u64,
    pending: u64,
    /// How many locks the thread holds.
    held: u32,
    unseen: Vec<Unseen>,
}

impl Writer<'_> {
    fn work_until(&mut self, time: u64) {
        if time > self.at {
            self.pending += self.work.between(self.at, time);
            self.at = time;
        }
    }

    fn step(&mut self, op: Op, at: u64, site: u32) {
        if self.held == 0 && self.pending > 0 && !self.unseen.is_empty() {
            self.unseen_holds(at);
        }
        match op {
            Op::Acquire(_) | Op::AcquireShared(_) => self.held += 1,
            Op::Release(_) => self.held = self.held.saturating_sub(1),
            _ => {}
        }
        self.push(op, at, site);
    }

    fn push(&mut self, op: Op, at: u64, site: u32) {
        let work = std::mem::take(&mut self.pending);
        self.program.steps.push(Step { work, op });
        Arc::make_mut(&mut self.program.times).push(at);
        Arc::make_mut(&mut self.program.sites).push(site);
    }

    /// Spreads the holds that were only counted evenly over the pending work.
    fn unseen_holds(&mut self, at: u64) {
        let work = self.pending;
        let mut unseen = std::mem::take(&mut self.unseen);
        let (mut count, mut held) = (0, 0);
        for lock in &mut unseen {
            count += lock.take(work);
            held += lock.now * lock.hold;
        }
        if count > 0 {
            let mut outside = work.saturating_sub(held);
            let mut left = count;
            let mut inside = work - outside;
            while left > 0 {
                for lock in unseen.iter_mut().filter(|lock| lock.now > 0) {
                    let gap = outside / (left + 1);
                    let hold = lock.hold.min(inside);
                    self.pending = gap;
                    self.push(Op::Acquire(lock.lock), at, lock.site);
                    self.pending = hold;
                    self.push(Op::Release(lock.lock), at, NO_SITE);
                    outside -= gap;
                    inside -= hold;
                    lock.now -= 1;
                    left -= 1;
                }
            }
            self.pending = outside + inside;
        }
        self.unseen = unseen;
    }

    fn event(&mut self, event: &Event) {
        self.work_until(event.at);
        let acquire = |lock, mode| match mode {
            Mode::Exclusive => Op::Acquire(lock),
            Mode::Shared => Op::AcquireShared(lock),
        };
        match event.act {
            Act::Release(lock) => self.step(Op::Release(lock), event.at, event.site),
            Act::Open(gate) => self.step(Op::Open(gate), event.at, event.site),
            Act::Start(thread) => self.step(Op::Start(thread), event.at, event.site),
            Act::Acquire(lock, mode) => self.step(acquire(lock, mode), event.at, event.site),
            Act::Touch(lock, mode) => {
                self.step(acquire(lock, mode), event.at, event.site);
                self.step(Op::Release(lock), event.at, event.site);
            }
            Act::Arrive(barrier) => self.step(Op::Arrive(barrier), event.at, event.site),
            Act::Pass(gate) => self.step(Op::Pass(gate), event.at, event.site),
            Act::Pause(pause) => self.step(Op::Pause(pause), event.at, event.site),
            Act::Signal(..) | Act::Wanted(..) => {}
        }
        self.goes_on_at(event.until);
    }

    /// What the thread did on a core on its way out of a wait is the wait's price, which the replay knows.
    fn goes_on_at(&mut self, time: u64) {
        self.at = self.at.max(time);
    }
}
