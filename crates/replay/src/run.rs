//! The replay itself: threads do their steps on the machine's cores, in virtual time.
//!
//! What happens next is the earliest of: a thread on a core has done the work of its step, its time slice is over, a
//! time has passed. A thread on a core goes through its steps without looking at the others as long as nothing of
//! theirs comes before.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

mod acts;
mod cores;
mod stuck;

use holdup_model::{Nanos, ObjectId, ThreadId};
use holdup_sync::{Barrier, Gate, Lock, Tokens};

use crate::machine::Machine;
use crate::program::{Program, divided};
use acts::Next;

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
    /// What had to be done for it: steps, time slices, wake-ups, and looks at threads and cores. It depends on nothing but what
    /// was asked.
    pub events: u64,
    /// False where that was more than there might be, so that it did not come to its end: then nothing of it is to be told.
    pub is_whole: bool,
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

/// Does all steps of a program on a machine; gives up where that takes far more events than any program needs.
pub fn replay(program: &Program, machine: &Machine, behaviour: &Behaviour) -> Replayed {
    replay_within(program, machine, behaviour, u64::MAX)
}

/// As [`replay`], and gives up after so many events too.
pub(crate) fn replay_within(
    program: &Program,
    machine: &Machine,
    behaviour: &Behaviour,
    most: u64,
) -> Replayed {
    let longest = longest(program, behaviour);
    let most = most.min(most_events(program, machine, longest));
    let mut replay = Replay::new(program, machine, behaviour, (slice(machine, longest), most));
    replay.start();
    replay.run();
    replay.result
}

/// More than a run takes (ns), but for its pauses: as recorded, or with all its work on one core, which a change may have made
/// slower.
fn longest(program: &Program, behaviour: &Behaviour) -> u64 {
    let slowest = behaviour.faster.iter().copied().fold(1.0, f64::min);
    program.wall.get().max(divided(program.work(), slowest))
}

/// More than any replay needs that makes progress: each step may wake every thread, and each slice look at all of them.
fn most_events(program: &Program, machine: &Machine, longest: u64) -> u64 {
    const FOR_EACH: u64 = 64;
    let threads = program.actors.len() as u64;
    let slices = longest / slice(machine, longest) * u64::from(machine.cores).min(threads);
    let each = FOR_EACH + threads / LOOKED_AT_ONCE;
    (program.steps.len() as u64 + slices + threads).saturating_mul(each).saturating_add(1_000_000)
}

fn slice(machine: &Machine, longest: u64) -> u64 {
    machine.slice.clamp(1, MOST_SLICE).max(longest / MOST_SLICES)
}

/// To look at so many threads or cores takes about as long as a step.
const LOOKED_AT_ONCE: u64 = 8;

/// No run has more time slices than this on each core: damaged times are no reason to compute for days.
const MOST_SLICES: u64 = 1_000_000;
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
    /// How many events there may be.
    most: u64,
    result: Replayed,
}

impl<'a> Replay<'a> {
    fn new(
        program: &'a Program,
        machine: &'a Machine,
        behaviour: &'a Behaviour,
        (slice, most): (u64, u64),
    ) -> Self {
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
            slice,
            awaited: program.actors.iter().filter(|actor| actor.is_awaited).count(),
            released: Vec::new(),
            now: 0,
            limit: 0,
            is_over: false,
            most,
            result: Replayed {
                ends: vec![None; program.actors.len()],
                waited: vec![0; objects],
                is_whole: true,
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

    fn wake_at(&mut self, thread: u32, at: u64) {
        self.threads[thread as usize].place = Place::Timer;
        self.timers.push(Reverse((at, thread)));
        self.limit = self.limit.min(at);
    }

    /// It has looked at so many threads, cores or waiting ones.
    fn looked_at(&mut self, number: usize) {
        self.result.events += number as u64 / LOOKED_AT_ONCE;
    }

    /// One event more. True if there may be none, which ends the run.
    fn is_too_long(&mut self) -> bool {
        self.result.events += 1;
        if self.result.events > self.most {
            self.result.is_whole = false;
            self.is_over = true;
        }
        self.is_over
    }

    fn run(&mut self) {
        while !self.is_over && !self.is_too_long() {
            self.looked_at(self.cores.len());
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
        self.result.worked = self.threads.iter().map(|thread| thread.worked - self.undone(thread)).collect();
    }

    /// What is left to do of the work of the thread's step (ns).
    fn undone(&self, thread: &Thread) -> u64 {
        let left = match thread.place {
            Place::Nowhere => 0,
            Place::On(core) => match self.cores[core as usize].done {
                NEVER_AGAIN => 0,
                done => done.saturating_sub(self.now),
            },
            Place::Queued | Place::Blocked(_) | Place::Timer => match thread.left {
                SPINS => 0,
                left => left,
            },
        };
        left.min(thread.worked)
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
        while !self.is_too_long() {
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
}

/// In [`Thread::left`]: the thread spins, and will look at the lock when it runs.
const SPINS: u64 = u64::MAX;
