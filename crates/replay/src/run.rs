//! The replay itself: threads do their steps on the machine's cores, in virtual time.
//!
//! What happens next is the earliest of: a thread on a core has done the work of its step, its time slice is over, a
//! time has passed. A thread on a core goes through its steps without looking at the others as long as nothing of
//! theirs comes before.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use holdup_model::{Mode, Nanos, ObjectId, ThreadId};
use holdup_sync::{Answer, Barrier, Gate, Lock, Tokens};

use crate::apply::divided;
use crate::machine::Machine;
use crate::program::{NEVER, Op, Program};

/// What became of a program in virtual time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// How long it took.
    pub wall: Nanos,
    /// When each thread ended (ns from the start), in the order of [`Program::actors`]; `None` if it did not.
    pub ends: Vec<Option<u64>>,
    /// How often a thread was let through because all waited for each other: what was recorded does not say who would have
    /// gone first. The more of it, the less can the result be trusted.
    pub let_through: u64,
    /// How long threads waited for each object (ns), by [`holdup_model::ObjectId`], until they were released.
    pub waited: Vec<u64>,
    /// How long threads that could run had no core (ns).
    pub crowded: u64,
    /// The work of the steps that each thread did (ns), in the order of [`Program::actors`].
    pub worked: Vec<u64>,
}

/// How objects behave otherwise than recorded.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Behaviour {
    /// For each lock, how many independent locks take its place: 1 as it is, 0 for one that nobody waits for. Those
    /// beyond the end are 1.
    pub shards: Vec<u32>,
    /// Gates, barriers and tokens that nobody waits for, by [`holdup_model::ObjectId`]. Those beyond the end are not.
    pub is_free: Vec<bool>,
    /// How many times faster each recorded thread is, with its copies, whatever work it comes to do. Those beyond the end
    /// are as recorded.
    pub faster: Vec<f64>,
    /// Objects whose waiting threads run at once when they are released, by [`holdup_model::ObjectId`].
    pub is_instant: Vec<bool>,
}

impl Behaviour {
    fn shards(&self, lock: u32) -> u32 {
        self.shards.get(lock as usize).copied().unwrap_or(1)
    }

    fn faster(&self, thread: ThreadId) -> f64 {
        self.faster.get(thread.index()).copied().unwrap_or(1.0)
    }

    fn is_instant(&self, object: ObjectId) -> bool {
        self.is_instant.get(object.index()).copied().unwrap_or(false)
    }

    fn is_free(&self, object: usize) -> bool {
        self.is_free.get(object).copied().unwrap_or(false)
    }
}

/// Does all steps of a program on a machine.
pub fn replay(program: &Program, machine: &Machine, behaviour: &Behaviour) -> Replayed {
    let mut replay = Replay::new(program, machine, behaviour);
    replay.start();
    replay.run();
    replay.result
}

/// No run has more time slices than this on each core: damaged times are no reason to compute for days.
const MOST_SLICES: u64 = 100_000_000;
/// No slice is longer (ns).
const MOST_SLICE: u64 = 1 << 53;
const NOBODY: u32 = u32::MAX;
const NEVER_AGAIN: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Not started, or ended.
    Nowhere,
    /// On a core.
    On(u32),
    /// Waits for a core.
    Queued,
    /// Blocked on an object.
    Blocked(Blocker),
    /// Until a time has passed.
    Timer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Blocker {
    Lock(u32),
    Barrier(u32),
    Gate(u32),
    Tokens(u32),
}

struct Thread {
    step: u32,
    place: Place,
    /// Work that is left of its step (ns) when it is not on a core.
    left: u64,
    /// CPU time that waking and sleeping cost it, to be done with the next work.
    debt: u64,
    since: u64,
    core: u32,
    /// Of locks that are split: how many times it has taken one, and the shards that it holds now.
    acquisitions: u32,
    has_run: bool,
    /// How long it was on a core (ns), counted from what those had that it competes with: who has had less comes first.
    served: u64,
    shards: Vec<(u32, usize)>,
    worked: u64,
    faster: f64,
}

impl Thread {
    /// It comes to this step; gives the work of it (ns).
    fn begin(&mut self, step: u32, program: &Program) -> u64 {
        self.step = step;
        let work = program.steps[step as usize].work;
        let work = if self.faster == 1.0 { work } else { divided(work, self.faster) };
        self.worked += work;
        work
    }
}

struct Core {
    thread: u32,
    /// When its thread has done the work of its step.
    done: u64,
    slice_end: u64,
    /// Since when its thread has it.
    since: u64,
    queue: VecDeque<u32>,
}

struct Replay<'a> {
    program: &'a Program,
    machine: &'a Machine,
    behaviour: &'a Behaviour,
    threads: Vec<Thread>,
    cores: Vec<Core>,
    /// When each core's next event is.
    next: Vec<u64>,
    /// Threads by number; cores that look for work by that + the number of threads.
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    /// Shards of locks: where those of each begin.
    locks: Vec<Lock>,
    first_shard: Vec<u32>,
    barriers: Vec<Barrier>,
    gates: Vec<Gate>,
    tokens: Vec<Tokens>,
    dealt: Vec<u32>,
    alive: u32,
    /// Threads with whose ends the run is over.
    awaited: usize,
    slice: u64,
    released: Vec<ThreadId>,
    now: u64,
    /// Before this nothing happens elsewhere.
    limit: u64,
    is_over: bool,
    result: Replayed,
}

impl<'a> Replay<'a> {
    fn new(program: &'a Program, machine: &'a Machine, behaviour: &'a Behaviour) -> Self {
        let copies = |thread: ThreadId| program.copies.get(thread.index()).map_or(0, Vec::len) as u32;
        let mut gates: Vec<Gate> = program.gates.iter().map(|acts| Gate::new(*acts)).collect();
        for (thread, gate) in program.ends.iter().enumerate() {
            gates[gate.0 as usize] = Gate::new(1 + copies(ThreadId::new(thread as u32)));
        }
        let mut first_shard = Vec::with_capacity(program.locks.len());
        let mut shards = 0;
        for lock in 0..program.locks.len() as u32 {
            first_shard.push(shards);
            shards += behaviour.shards(lock).max(1);
        }
        let objects = program.objects();
        // More cores than threads are never used.
        let cores = (machine.cores as usize).min(program.actors.len()).max(1);
        Self {
            program,
            machine,
            behaviour,
            threads: program
                .actors
                .iter()
                .map(|actor| Thread {
                    step: actor.first,
                    place: Place::Nowhere,
                    left: 0,
                    debt: 0,
                    since: 0,
                    core: 0,
                    acquisitions: 0,
                    has_run: false,
                    served: 0,
                    shards: Vec::new(),
                    worked: 0,
                    faster: behaviour.faster(actor.thread),
                })
                .collect(),
            cores: (0..cores)
                .map(|_| Core { thread: NOBODY, done: 0, slice_end: 0, since: 0, queue: VecDeque::new() })
                .collect(),
            next: vec![NEVER_AGAIN; cores],
            timers: BinaryHeap::new(),
            locks: vec![Lock::default(); shards as usize],
            first_shard,
            barriers: program.barriers.iter().map(|barrier| Barrier::new(barrier.parties)).collect(),
            gates,
            tokens: program.tokens.iter().map(|tokens| Tokens::new(tokens.at_start, tokens.givers)).collect(),
            dealt: vec![0; program.pools.len()],
            alive: 0,
            slice: machine.slice.clamp(1, MOST_SLICE).max(program.wall.get() / MOST_SLICES),
            awaited: program.actors.iter().filter(|actor| actor.is_awaited).count(),
            released: Vec::new(),
            now: 0,
            limit: 0,
            is_over: false,
            result: Replayed {
                ends: vec![None; program.actors.len()],
                waited: vec![0; objects],
                ..Replayed::default()
            },
        }
    }

    fn start(&mut self) {
        for (index, actor) in self.program.actors.iter().enumerate() {
            if let Some(at) = actor.starts_at {
                self.begin(index as u32, at);
            }
        }
    }

    fn begin(&mut self, thread: u32, at: u64) {
        if self.threads[thread as usize].place == Place::Nowhere
            && self.result.ends[thread as usize].is_none()
        {
            self.alive += 1;
            self.moves_on(thread, self.threads[thread as usize].step);
            self.wake_at(thread, at);
        }
    }

    /// A running thread starts another one. It is given a core at once, while its maker still has one: that is how
    /// three of four threads come to share a core, and one has the other for itself when the maker goes to sleep.
    fn create(&mut self, thread: u32) {
        let index = thread as usize;
        if self.threads[index].place != Place::Nowhere || self.result.ends[index].is_some() {
            return;
        }
        self.alive += 1;
        self.moves_on(thread, self.threads[index].step);
        // Nobody rests where a thread is made: it begins like one that was blocked for a moment.
        self.threads[index].debt += self.machine.latency_after(0);
        self.place(thread);
        self.limit = self.limit.min(self.first_core().1);
    }

    fn wake_at(&mut self, thread: u32, at: u64) {
        self.threads[thread as usize].place = Place::Timer;
        self.timers.push(Reverse((at, thread)));
        self.limit = self.limit.min(at);
    }

    fn run(&mut self) {
        while !self.is_over {
            let (core, at) = self.first_core();
            let timer = self.timers.peek().map_or(NEVER_AGAIN, |Reverse((at, _))| *at);
            if timer <= at {
                if timer == NEVER_AGAIN {
                    if !self.let_one_through() {
                        break;
                    }
                    continue;
                }
                self.now = timer;
                let Some(Reverse((_, who))) = self.timers.pop() else { break };
                match who.checked_sub(self.threads.len() as u32) {
                    None => self.place(who),
                    Some(core) => self.pull(core),
                }
                continue;
            }
            self.now = at;
            if self.cores[core].done > at {
                self.preempt(core as u32);
                continue;
            }
            self.next[core] = NEVER_AGAIN;
            self.limit = self.first_core().1.min(timer);
            self.go_on(core as u32);
        }
        self.result.wall = Nanos::new(self.now);
        self.result.worked = self.threads.iter().map(|thread| thread.worked).collect();
    }

    fn first_core(&self) -> (usize, u64) {
        let mut first = (0, NEVER_AGAIN);
        for (core, &at) in self.next.iter().enumerate() {
            if at < first.1 {
                first = (core, at);
            }
        }
        first
    }

    /// The thread on this core has done the work of its step: it acts, and goes on until something of others comes
    /// first, it has to wait, or its slice is over.
    fn go_on(&mut self, core: u32) {
        let index = self.cores[core as usize].thread;
        let program = self.program;
        loop {
            let thread = &self.threads[index as usize];
            if thread.debt > 0 {
                let debt = std::mem::take(&mut self.threads[index as usize].debt);
                if !self.works(core, debt) {
                    return;
                }
                continue;
            }
            let at = thread.step;
            match self.act(index, core, program.steps[at as usize].op) {
                Next::Step(step) => {
                    let thread = &mut self.threads[index as usize];
                    let work = thread.begin(step, program);
                    let debt = std::mem::take(&mut thread.debt);
                    if work + debt > 0 && !self.works(core, work + debt) {
                        return;
                    }
                }
                Next::Leave => {
                    self.leave(core);
                    return;
                }
                Next::Spin => {
                    let state = &mut self.cores[core as usize];
                    state.done = NEVER_AGAIN;
                    self.next[core as usize] =
                        if state.queue.is_empty() { NEVER_AGAIN } else { state.slice_end.max(self.now) };
                    return;
                }
            }
        }
    }

    /// The thread on this core has so much to do. True if it has done it, before anything else happened.
    fn works(&mut self, core: u32, work: u64) -> bool {
        let state = &mut self.cores[core as usize];
        let done = self.now + work;
        let is_free = state.queue.is_empty() || done <= state.slice_end;
        if done < self.limit && is_free {
            self.now = done;
            return true;
        }
        state.done = done;
        self.next[core as usize] =
            if state.queue.is_empty() { done } else { done.min(state.slice_end.max(self.now)) };
        false
    }

    fn act(&mut self, index: u32, core: u32, op: Op) -> Next {
        let thread = ThreadId::new(index);
        let step = self.threads[index as usize].step + 1;
        match op {
            Op::Acquire(lock) => self.acquire(index, core, lock.0, Mode::Exclusive),
            Op::AcquireShared(lock) => self.acquire(index, core, lock.0, Mode::Shared),
            Op::Release(lock) => {
                self.release(index, lock.0);
                Next::Step(step)
            }
            Op::Arrive(barrier) => {
                if self.behaviour.is_free(self.program.barriers[barrier as usize].object.index()) {
                    return Next::Step(step);
                }
                let answer = self.barriers[barrier as usize].arrive(thread, &mut self.released);
                self.wait_or_go(index, answer, Blocker::Barrier(barrier), step)
            }
            Op::Open(gate) => {
                self.gates[gate.0 as usize].open(&mut self.released);
                self.wake_released(index);
                Next::Step(step)
            }
            Op::Pass(gate) => {
                let object = self.program.gate_objects[gate.0 as usize];
                if object.is_some_and(|object| self.behaviour.is_free(object.index())) {
                    return Next::Step(step);
                }
                let answer = self.gates[gate.0 as usize].pass(thread);
                self.wait_or_go(index, answer, Blocker::Gate(gate.0), step)
            }
            Op::Take(tokens) => {
                if self.behaviour.is_free(self.program.tokens[tokens as usize].object.index()) {
                    return Next::Step(step);
                }
                let answer = self.tokens[tokens as usize].take(thread);
                self.wait_or_go(index, answer, Blocker::Tokens(tokens), step)
            }
            Op::Give(tokens) => {
                self.tokens[tokens as usize].give(&mut self.released);
                self.wake_released(index);
                Next::Step(step)
            }
            Op::Close(tokens) => {
                self.tokens[tokens as usize].close(&mut self.released);
                self.wake_released(index);
                Next::Step(step)
            }
            Op::Pause(pause) => {
                let length = self.program.pauses[pause as usize].length;
                if length == 0 {
                    return Next::Step(step);
                }
                self.moves_on(index, step);
                self.wake_at(index, self.now + length);
                Next::Leave
            }
            Op::Start(started) => {
                self.create(started.index() as u32);
                let program = self.program;
                for copy in &program.copies[started.index()] {
                    self.create(copy.index() as u32);
                }
                Next::Step(step)
            }
            Op::Deal(pool) | Op::EndOfPiece(pool) => {
                let next = &mut self.dealt[pool as usize];
                let piece = self.program.pools[pool as usize].pieces.get(*next as usize);
                *next += u32::from(piece.is_some());
                Next::Step(piece.copied().unwrap_or(self.program.actors[index as usize].tail))
            }
            Op::Nothing => Next::Step(step),
            Op::End => {
                self.end(index);
                Next::Leave
            }
        }
    }

    fn end(&mut self, index: u32) {
        let actor = &self.program.actors[index as usize];
        self.threads[index as usize].place = Place::Nowhere;
        self.result.ends[index as usize] = Some(self.now);
        self.alive -= 1;
        self.awaited -= usize::from(actor.is_awaited);
        self.is_over = self.alive == 0 || actor.is_awaited && self.awaited == 0;
        let gate = self.program.ends[actor.thread.index()];
        self.gates[gate.0 as usize].open(&mut self.released);
        self.wake_released(index);
    }

    /// The step that the thread takes when it runs again.
    fn moves_on(&mut self, index: u32, step: u32) {
        let thread = &mut self.threads[index as usize];
        thread.left = thread.begin(step, self.program);
    }

    fn wait_or_go(&mut self, index: u32, answer: Answer, blocker: Blocker, step: u32) -> Next {
        if answer == Answer::Go {
            self.wake_released(index);
            return Next::Step(step);
        }
        self.moves_on(index, step);
        self.blocks(index, blocker);
        Next::Leave
    }

    fn blocks(&mut self, index: u32, blocker: Blocker) {
        let thread = &mut self.threads[index as usize];
        thread.place = Place::Blocked(blocker);
        thread.since = self.now;
    }

    /// The lock that the thread takes, tries again to take, or has taken.
    fn shard(&self, index: u32, lock: u32) -> Option<usize> {
        let first = self.first_shard[lock as usize] as usize;
        match self.behaviour.shards(lock) {
            0 => None,
            1 => Some(first),
            shards => {
                let thread = &self.threads[index as usize];
                let held = thread.shards.iter().rev().find(|held| held.0 == lock);
                // As good as random.
                let turn = (u64::from(index) << 32 | u64::from(thread.acquisitions))
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
                Some(held.map_or(first + ((turn >> 40) % u64::from(shards)) as usize, |held| held.1))
            }
        }
    }

    fn acquire(&mut self, index: u32, core: u32, lock: u32, mode: Mode) -> Next {
        let step = self.threads[index as usize].step + 1;
        let Some(shard) = self.shard(index, lock) else { return Next::Step(step) };
        let thread = ThreadId::new(index);
        let spins = self.program.locks[lock as usize].spins;
        if spins {
            self.locks[shard].forget(thread);
        }
        if self.locks[shard].acquire(thread, mode) == Answer::Go {
            if spins && self.threads[index as usize].left == SPINS {
                self.waited(index, Blocker::Lock(lock));
            }
            let state = &mut self.threads[index as usize];
            state.left = 0;
            if self.behaviour.shards(lock) > 1 {
                state.acquisitions += 1;
                state.shards.push((lock, shard));
            }
            return Next::Step(step);
        }
        if spins {
            let state = &mut self.threads[index as usize];
            if state.left != SPINS {
                state.left = SPINS;
                state.since = self.now;
            }
            debug_assert_eq!(self.cores[core as usize].thread, index);
            return Next::Spin;
        }
        self.threads[index as usize].left = 0;
        self.blocks(index, Blocker::Lock(lock));
        Next::Leave
    }

    fn release(&mut self, index: u32, lock: u32) {
        let Some(shard) = self.shard(index, lock) else { return };
        self.locks[shard].release(ThreadId::new(index), &mut self.released);
        let held = &mut self.threads[index as usize].shards;
        if let Some(place) = held.iter().rposition(|held| held.0 == lock) {
            held.remove(place);
        }
        if !self.program.locks[lock as usize].spins {
            self.wake_released(index);
            return;
        }
        // Of the threads that spin on a core the one that has done so for the longest time sees first that it is free; those
        // without a core will when they have one.
        self.released.clear();
        if !self.locks[shard].is_free() {
            return;
        }
        let threads = &self.threads;
        let spinning = self
            .cores
            .iter()
            .enumerate()
            .filter(|(_, core)| core.thread != NOBODY && threads[core.thread as usize].left == SPINS);
        let for_this = spinning.filter(|(_, core)| self.spins_for(core.thread) == Some(shard));
        let first = for_this.min_by_key(|(_, core)| (threads[core.thread as usize].since, core.thread));
        if let Some(core) = first.map(|(core, _)| core) {
            self.cores[core].done = self.now;
            self.next[core] = self.now;
            self.limit = self.now;
        }
    }

    /// The lock that a thread which spins waits for.
    fn spins_for(&self, index: u32) -> Option<usize> {
        match self.program.steps[self.threads[index as usize].step as usize].op {
            Op::Acquire(lock) | Op::AcquireShared(lock) => self.shard(index, lock.0),
            _ => None,
        }
    }

    fn object(&self, blocker: Blocker) -> Option<ObjectId> {
        match blocker {
            Blocker::Lock(lock) => Some(self.program.locks[lock as usize].object),
            Blocker::Barrier(barrier) => Some(self.program.barriers[barrier as usize].object),
            Blocker::Gate(gate) => self.program.gate_objects[gate as usize],
            Blocker::Tokens(tokens) => Some(self.program.tokens[tokens as usize].object),
        }
    }

    fn waited(&mut self, index: u32, blocker: Blocker) {
        if let Some(object) = self.object(blocker) {
            self.result.waited[object.index()] += self.now - self.threads[index as usize].since;
        }
    }

    /// Wakes all in `released`; `by` pays for it.
    fn wake_released(&mut self, by: u32) {
        let mut released = std::mem::take(&mut self.released);
        for thread in released.drain(..) {
            let index = thread.index() as u32;
            let Place::Blocked(blocker) = self.threads[index as usize].place else { continue };
            self.waited(index, blocker);
            let blocked = self.now - self.threads[index as usize].since;
            let mut at = self.now;
            let is_instant = self.object(blocker).is_some_and(|object| self.behaviour.is_instant(object));
            if blocked > self.machine.park && !is_instant {
                at += self.machine.latency_after(blocked);
                self.threads[index as usize].debt += self.machine.block_cost;
                self.threads[by as usize].debt += self.machine.wake_cost;
            }
            self.wake_at(index, at);
        }
        self.released = released;
    }

    /// Gives a thread that can run a core, or puts it into a queue.
    fn place(&mut self, index: u32) {
        let home = self.threads[index as usize].core;
        let is_idle = |core: &Core| core.thread == NOBODY;
        let free = if is_idle(&self.cores[home as usize]) {
            Some(home)
        } else {
            self.cores.iter().position(is_idle).map(|core| core as u32)
        };
        if let Some(core) = free {
            return self.runs(core, index);
        }
        let core = if self.threads[index as usize].has_run {
            let shorter = |core: &usize| (self.cores[*core].queue.len(), *core != home as usize, *core);
            (0..self.cores.len()).min_by_key(shorter).unwrap_or(0)
        } else {
            let shortest = |core: &usize| (self.cores[*core].queue.len(), Reverse(*core));
            (0..self.cores.len()).min_by_key(shortest).unwrap_or(0)
        };
        let state = &mut self.cores[core];
        let running = self.threads[state.thread as usize].served + (self.now - state.since);
        let thread = &mut self.threads[index as usize];
        thread.place = Place::Queued;
        thread.since = self.now;
        // Who slept has a claim on a core, but not for all the time that it slept.
        let claim = running.saturating_sub(self.machine.slice);
        thread.served = if thread.has_run { thread.served.max(claim) } else { running };
        if thread.served + self.machine.slice / 2 <= running {
            state.queue.push_front(index);
            self.preempt(core as u32);
        } else {
            state.queue.push_back(index);
            self.next[core] = state.done.min(state.slice_end.max(self.now));
        }
    }

    fn runs(&mut self, core: u32, index: u32) {
        let thread = &mut self.threads[index as usize];
        thread.place = Place::On(core);
        thread.has_run = true;
        thread.core = core;
        let mut work = std::mem::take(&mut thread.debt);
        if thread.left != SPINS {
            work += std::mem::take(&mut thread.left);
        }
        let state = &mut self.cores[core as usize];
        state.thread = index;
        state.since = self.now;
        state.done = self.now + work;
        state.slice_end = self.now + self.slice;
        self.next[core as usize] =
            if state.queue.is_empty() { state.done } else { state.done.min(state.slice_end) };
    }

    /// The thread on this core has gone: the next one runs, or the core looks for one later.
    fn leave(&mut self, core: u32) {
        let state = &mut self.cores[core as usize];
        self.threads[state.thread as usize].served += self.now - state.since;
        state.thread = NOBODY;
        self.next[core as usize] = NEVER_AGAIN;
        if let Some(index) = self.cores[core as usize].queue.pop_front() {
            self.result.crowded += self.now - self.threads[index as usize].since;
            self.runs(core, index);
        } else if self.cores.iter().any(|core| !core.queue.is_empty()) {
            let who = self.threads.len() as u32 + core;
            self.timers.push(Reverse((self.now + self.machine.pull, who)));
        }
    }

    /// A core without a thread takes one that waits for another core.
    fn pull(&mut self, core: u32) {
        if self.cores[core as usize].thread != NOBODY {
            return;
        }
        let fullest =
            (0..self.cores.len()).max_by_key(|&other| (self.cores[other].queue.len(), Reverse(other)));
        let Some(fullest) = fullest.filter(|&other| !self.cores[other].queue.is_empty()) else { return };
        if let Some(index) = self.cores[fullest].queue.pop_front() {
            self.result.crowded += self.now - self.threads[index as usize].since;
            let state = &self.cores[fullest];
            if state.queue.is_empty() && state.thread != NOBODY {
                self.next[fullest] = state.done;
            }
            self.runs(core, index);
        }
    }

    /// The thread's slice is over, and another one waits for its core.
    fn preempt(&mut self, core: u32) {
        if self.threads[self.cores[core as usize].thread as usize].left == SPINS && self.all_spin() {
            self.let_one_through();
        }
        let state = &mut self.cores[core as usize];
        let index = state.thread;
        let thread = &mut self.threads[index as usize];
        if thread.left != SPINS {
            thread.left = state.done - self.now;
        }
        thread.place = Place::Queued;
        thread.since = self.now;
        state.queue.push_back(index);
        self.leave(core);
    }

    /// Whether all threads that want a core spin, for locks that are not free, and no other will come: they would take turns
    /// for ever.
    fn all_spin(&self) -> bool {
        let spins_on = |(index, thread): (usize, &Thread)| match thread.place {
            Place::Nowhere | Place::Blocked(_) => true,
            Place::Timer => false,
            Place::On(_) | Place::Queued => {
                let lock = (thread.left == SPINS).then(|| self.spins_for(index as u32)).flatten();
                lock.is_some_and(|lock| !self.locks[lock].is_free())
            }
        };
        self.threads.iter().enumerate().all(spins_on)
    }

    /// Nothing happens any more, and the run is not over: lets the thread go on that went on first when recorded.
    /// False if there is none.
    fn let_one_through(&mut self) -> bool {
        let first = (0..self.threads.len())
            .filter(|&index| match self.threads[index].place {
                Place::Blocked(Blocker::Gate(gate)) => self.program.gates[gate as usize] != NEVER,
                Place::Blocked(_) => true,
                Place::On(_) | Place::Queued => self.threads[index].left == SPINS,
                Place::Nowhere | Place::Timer => false,
            })
            .min_by_key(|&index| (self.program.times[self.threads[index].step as usize], index));
        let Some(index) = first else { return false };
        let thread = ThreadId::new(index as u32);
        self.result.let_through += 1;
        let Place::Blocked(blocker) = self.threads[index].place else {
            self.stops_spinning(index as u32);
            return true;
        };
        match blocker {
            Blocker::Lock(lock) => {
                if let Some(shard) = self.shard(index as u32, lock) {
                    self.locks[shard].forget(thread);
                }
                // Without the lock: its release is none then.
                self.moves_on(index as u32, self.threads[index].step + 1);
            }
            Blocker::Barrier(barrier) => self.barriers[barrier as usize].forget(thread),
            Blocker::Gate(gate) => self.gates[gate as usize].forget(thread),
            Blocker::Tokens(tokens) => self.tokens[tokens as usize].forget(thread),
        }
        self.wake_at(index as u32, self.now);
        true
    }

    /// The thread, which is on a core or waits for one, goes on without the lock.
    fn stops_spinning(&mut self, index: u32) {
        if let Some(shard) = self.spins_for(index) {
            self.locks[shard].forget(ThreadId::new(index));
        }
        self.moves_on(index, self.threads[index as usize].step + 1);
        if let Place::On(core) = self.threads[index as usize].place {
            let work = std::mem::take(&mut self.threads[index as usize].left);
            let state = &mut self.cores[core as usize];
            state.done = self.now + work;
            self.next[core as usize] = if state.queue.is_empty() {
                state.done
            } else {
                state.done.min(state.slice_end.max(self.now))
            };
        }
    }
}

/// In [`Thread::left`]: the thread spins, and will look at the lock when it runs.
const SPINS: u64 = u64::MAX;

enum Next {
    /// It goes on with this step.
    Step(u32),
    /// It needs no core now.
    Leave,
    /// It stays on its core and waits.
    Spin,
}
