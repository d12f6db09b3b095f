//! Threads on cores: the simulation's main loop.
//!
//! Cores are simulated one after the other, each for a quantum of simulated time ([`QUANTUM`], as in paper 3, section 3.1),
//! on one thread of the host: that is deterministic. Within a quantum accesses of different cores may be out of order by up
//! to its length. Acts of synchronization never are: a core that comes to one stops until no other core is behind it.

mod acts;
mod calls;
mod cores;
mod slices;
mod steering;
mod step;
mod tally;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use holdup_model::cycles::{CycleComponent, CyclePiece, CycleStack, Simulated, SimulatedThread};
use holdup_model::figures::times;
use holdup_sync::{Barrier, Gate, Lock, Tokens};

use crate::Changes;
use crate::collector::Collector;
use crate::machine::Machine;
use crate::padding::PaddedFeed;
use crate::program::{Act, Feed, Program};
use calls::{Deadline, PendingCall};
use cores::Cores;
use slices::{Notes, Slicer};
use steering::Steer;
use tally::Tally;

pub(crate) use slices::{Course, Leap, Moment, Route, Simulation, ThreadMoment};
pub use steering::Steering;

/// Cycles for which one core is simulated before the next.
const QUANTUM: u64 = 100;
/// The same where only the order of things is of interest.
const PACED_QUANTUM: u64 = 500;
/// The place of what no recorded instruction does.
pub(crate) const NO_PLACE: u32 = u32::MAX;
/// Quanta from one report of progress to the next.
const PROGRESS_QUANTA: u64 = 4096;

/// What is simulated besides program and machine.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How many cores; sockets are added where the machine has fewer.
    pub cores: u32,
    /// What is different.
    pub changes: Changes,
    /// Whether [`CyclePiece::misses`] are wanted.
    pub misses: bool,
    /// Who is made fast while it runs, if anybody is.
    pub steering: Option<Steering>,
}

/// How far a simulation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Instructions simulated, of all threads.
    pub instructions: u64,
    /// Simulated cycles.
    pub cycles: u64,
    /// Threads that have ended.
    pub threads_ended: u32,
}

/// Simulates a program on a machine. `progress` is called now and then; what it ends by giving false has a warning.
pub fn simulate<F: Feed>(
    program: &Program,
    feed: F,
    machine: &Machine,
    options: &Options,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Simulated {
    let padding = &options.changes.padded;
    if padding.is_empty() {
        return simulated(program, feed, machine, options, progress);
    }
    let mut feed = feed;
    let mut result = simulated(program, PaddedFeed::new(&mut feed, padding), machine, options, progress);
    result.shared_lines = padding.restored(result.shared_lines);
    result
}

fn simulated<F: Feed>(
    program: &Program,
    feed: F,
    machine: &Machine,
    options: &Options,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Simulated {
    let mut system = System::new(program, feed, machine, options);
    let stopped = !system.run::<false>(progress);
    system.result(stopped)
}

/// Goes through a program on cores of which all accesses hit the first level, and notes slices of `size` instructions: what
/// all threads execute in each, and where everything is at its end.
pub(crate) fn surveyed<'a, F: Feed>(
    program: &'a Program,
    feed: F,
    machine: &'a Machine,
    options: &'a Options,
    size: u64,
) -> (Course, Option<Collector<'a>>) {
    let mut system = System::new(program, feed, machine, options);
    system.cores.find_paces(program, machine);
    system.notes = Some(Notes::default());
    let collector = Collector::new(&program.code, program.threads.len());
    system.slicer = Some(Slicer::surveys(collector, size));
    system.run::<true>(&mut |_| true);
    system.take_course()
}

/// Simulates the slices of a route: what [`simulate`] gives for these, and what each of them took.
pub(crate) fn followed<F: Feed>(
    program: &Program,
    feed: F,
    machine: &Machine,
    options: &Options,
    route: &dyn Route,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> (Simulated, Vec<Simulation>) {
    let mut system = System::new(program, feed, machine, options);
    system.notes = Some(Notes::default());
    system.slicer = Some(Slicer::follows(route));
    let stopped = !system.run::<false>(progress);
    let simulated = system.take_simulated();
    (system.result(stopped), simulated)
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Another thread creates it.
    Unborn,
    /// On a core.
    Running(u32),
    /// Able to run, without a core.
    Ready,
    /// Able to run from [`Thread::ready_at`] on.
    Timed,
    /// Waits in the queue of an object.
    Blocked,
    Ended,
}

struct Thread {
    state: State,
    /// What it has to do before it goes on with its stream.
    pending: Option<Act>,
    /// What it waits for, while it is blocked.
    awaits: Option<Act>,
    /// Since when it has not been on a core, and what that is booked as until `ready_at`.
    since: u64,
    component: CycleComponent,
    ready_at: u64,
    /// When it is asleep, while it is blocked: it cannot be woken before.
    asleep_at: u64,
    /// It looks for what it waits for itself, and needs nobody to wake it.
    spins: bool,
    /// When it does without the gate that it waits for.
    deadline: Option<Deadline>,
    /// The core that it was on last.
    core: Option<u32>,
    /// When it got its core, for time slices.
    on_core_since: u64,
    /// The block that it executed last, whose branch is decided by the next.
    last_block: Option<u32>,
    /// The construct whose units it takes.
    deals: Option<u32>,
    begin: Option<u64>,
    end: u64,
    instructions: u64,
    stack: CycleStack,
    piece: CyclePiece,
    pieces: Vec<CyclePiece>,
}

struct System<'a, F> {
    program: &'a Program,
    machine: &'a Machine,
    options: &'a Options,
    feed: F,
    cores: Cores,
    tally: Tally,
    threads: Vec<Thread>,
    /// The thread on each core.
    on: Vec<Option<u32>>,
    ready: VecDeque<u32>,
    timed: BinaryHeap<Reverse<(u64, u32)>>,
    locks: Vec<Lock>,
    barriers: Vec<Barrier>,
    gates: Vec<Gate>,
    tokens: Vec<Tokens>,
    ends: Vec<Gate>,
    /// Calls under way that other threads can end.
    calls: Vec<PendingCall>,
    /// The next unit of each construct.
    dealt: Vec<usize>,
    let_through: u64,
    ended: u32,
    costs: Costs,
    steer: Option<Box<Steer>>,
    /// What is done with slices, and what is noted for that.
    slicer: Option<Slicer<'a>>,
    notes: Option<Notes>,
}

/// Of [`crate::machine::SystemFacts`], in cycles.
struct Costs {
    wake_up: u64,
    waking: u64,
    sleep: u64,
    create: u64,
    start: u64,
    switch: u64,
    slice: u64,
    barrier: u64,
    lock: u64,
    frequency: f64,
}

impl Costs {
    fn of(machine: &Machine) -> Self {
        let cycles = |nanos: f64| (nanos * machine.frequency).round().max(0.0) as u64;
        let facts = &machine.system;
        Self {
            wake_up: cycles(facts.wake_up_ns),
            waking: cycles(facts.waking_ns),
            sleep: cycles(facts.sleep_ns),
            create: cycles(facts.create_ns),
            start: cycles(facts.start_ns),
            switch: cycles(facts.switch_ns),
            slice: cycles(facts.slice_ns).max(QUANTUM),
            barrier: cycles(facts.barrier_ns),
            lock: cycles(facts.lock_ns),
            frequency: machine.frequency,
        }
    }
}

impl<'a, F: Feed> System<'a, F> {
    fn new(program: &'a Program, feed: F, machine: &'a Machine, options: &'a Options) -> Self {
        let cores = options.cores.max(1);
        let thread = |created: bool| Thread {
            state: if created { State::Unborn } else { State::Timed },
            pending: None,
            awaits: None,
            since: 0,
            component: CycleComponent::Imbalance,
            ready_at: 0,
            asleep_at: 0,
            spins: false,
            deadline: None,
            core: None,
            on_core_since: 0,
            last_block: None,
            deals: None,
            begin: None,
            end: 0,
            instructions: 0,
            stack: CycleStack::default(),
            piece: CyclePiece::default(),
            pieces: Vec::new(),
        };
        let threads: Vec<Thread> = program.threads.iter().map(|facts| thread(facts.is_created)).collect();
        let timed = (0..).zip(&threads).filter(|(_, thread)| thread.state == State::Timed);
        let timed = timed.map(|(index, _)| Reverse((0, index))).collect();
        Self {
            program,
            machine,
            options,
            feed,
            cores: Cores::new(program, machine, cores, &options.changes),
            tally: Tally::new(program, options),
            on: vec![None; cores as usize],
            ready: VecDeque::new(),
            timed,
            locks: vec![Lock::default(); program.locks.len()],
            barriers: program.barriers.iter().map(|&parties| Barrier::new(parties)).collect(),
            gates: program.gates.iter().map(|&acts| Gate::new(acts)).collect(),
            tokens: program.tokens.iter().map(|&available| Tokens::new(available, 0)).collect(),
            ends: threads.iter().map(|_| Gate::default()).collect(),
            calls: Vec::new(),
            dealt: vec![0; program.constructs.len()],
            let_through: 0,
            ended: 0,
            costs: Costs::of(machine),
            steer: options
                .steering
                .as_ref()
                .map(|steering| Box::new(Steer::new(steering, machine, cores, threads.len()))),
            slicer: None,
            notes: None,
            threads,
        }
    }

    /// Until all threads have ended: true; or until `progress` gives false. A `PACED` run only brings things into their order.
    fn run<const PACED: bool>(&mut self, progress: &mut dyn FnMut(&Progress) -> bool) -> bool {
        let mut quanta = 0u64;
        loop {
            let Some(time) = self.next_time() else {
                if self.goes_on() {
                    continue;
                }
                return true;
            };
            if self.slicer.is_some() && self.end_slice(time) {
                continue;
            }
            let limit = time + if PACED { PACED_QUANTUM } else { QUANTUM };
            self.steer(time);
            self.end_calls(time);
            self.wake_timed(limit);
            self.fill_cores();
            // Each quantum another core is the first, so that none always comes before the others.
            let count = self.on.len() as u64;
            for turn in 0..count {
                self.run_core::<PACED>(((turn + quanta) % count) as u32, limit);
            }
            quanta += 1;
            if quanta.is_multiple_of(PROGRESS_QUANTA) && !progress(&self.progress(time)) {
                return false;
            }
        }
    }

    fn progress(&self, cycles: u64) -> Progress {
        Progress { instructions: self.tally.instructions, cycles, threads_ended: self.ended }
    }

    /// The time of the core that is furthest behind, or at which a thread is able to run again. `None` when all have ended.
    fn next_time(&mut self) -> Option<u64> {
        loop {
            let running = (0..).zip(&self.on).filter(|(_, on)| on.is_some());
            let running = running.map(|(core, _)| self.cores.now(core)).min();
            let timed = self.next_timed();
            let ready = self.ready.iter().map(|&index| self.threads[index as usize].ready_at).min();
            if running.is_none() && ready.is_none() && self.end_calls_of_all() {
                continue;
            }
            // Who is ready and has no core waits for those that run, and for nobody else.
            let next = [running.or(ready), timed].into_iter().flatten().min();
            if next.is_some() || !self.let_one_through() {
                return next;
            }
        }
    }

    /// Threads that are able to run before `limit` are ready.
    fn wake_timed(&mut self, limit: u64) {
        while let Some(&Reverse((at, index))) = self.timed.peek().filter(|Reverse((at, _))| *at < limit) {
            self.timed.pop();
            if !self.is_due(index, at) {
                continue;
            }
            let thread = &mut self.threads[index as usize];
            thread.ready_at = at;
            thread.state = State::Ready;
            self.ready.push_back(index);
        }
    }

    /// Ready threads get free cores: the one that they were on, if it is free, else another. Where there is none, who has
    /// had a core for a time slice gives it up.
    fn fill_cores(&mut self) {
        let mut waiting = std::mem::take(&mut self.ready);
        waiting.make_contiguous().sort_by_key(|&index| (self.threads[index as usize].ready_at, index));
        while let Some(index) = waiting.pop_front() {
            let own = self.threads[index as usize].core.filter(|&core| self.on[core as usize].is_none());
            let free = own.or_else(|| self.free_core());
            let Some(core) = free.or_else(|| self.preempt()) else {
                waiting.push_front(index);
                break;
            };
            self.attach(index, core);
        }
        waiting.append(&mut self.ready);
        self.ready = waiting;
    }

    /// The free core that the fewest threads were on last, the first of these: who sleeps comes back to where its data is, and
    /// a thread that is created gets a core of its own while there is one.
    fn free_core(&self) -> Option<u32> {
        let free = (0..).zip(&self.on).filter(|(_, on)| on.is_none()).map(|(core, _)| core);
        let lives = |core: u32, thread: &Thread| thread.core == Some(core) && thread.state != State::Ended;
        free.min_by_key(|&core| (self.threads.iter().filter(|thread| lives(core, thread)).count(), core))
    }

    /// Takes the core from the thread that has had one for longest, if that is a time slice.
    fn preempt(&mut self) -> Option<u32> {
        let had = |core: u32| {
            let thread = self.on[core as usize]?;
            let since = self.threads[thread as usize].on_core_since;
            Some((self.cores.now(core).saturating_sub(since), core, thread))
        };
        let (had, core, thread) =
            (0..self.on.len() as u32).filter_map(had).max_by_key(|(had, core, _)| (*had, Reverse(*core)))?;
        if had < self.costs.slice {
            return None;
        }
        let now = self.detach(thread);
        let thread_data = &mut self.threads[thread as usize];
        thread_data.state = State::Ready;
        thread_data.component = CycleComponent::NoCore;
        thread_data.ready_at = now;
        self.ready.push_back(thread);
        Some(core)
    }

    /// The thread gets the core, and what it waited is booked.
    fn attach(&mut self, index: u32, core: u32) {
        let thread = &mut self.threads[index as usize];
        let changes = &self.options.changes;
        let speed = |of: &std::collections::BTreeMap<u32, f64>, key: u32| {
            of.get(&key).copied().filter(|speed| speed.is_finite() && *speed > 0.0).unwrap_or(1.0)
        };
        let speed = speed(&changes.faster_threads, index) * speed(&changes.faster_cores, core);
        let switches = thread.core.is_some() && thread.core != Some(core);
        let start = thread.ready_at.max(self.cores.now(core)).max(thread.since);
        let ready = thread.ready_at.clamp(thread.since, start);
        let starts = start + if switches { self.costs.switch } else { 0 };
        let mut waited = CycleStack::default();
        waited.book(thread.component, ready - thread.since);
        waited.book(CycleComponent::NoCore, starts - ready);
        thread.stack.add(&waited);
        if thread.begin.is_some() || self.notes.is_some() {
            thread.piece.stack.add(&waited);
        }
        if thread.begin.is_none() {
            thread.begin = Some(starts);
            thread.piece.begin = starts;
        }
        thread.core = Some(core);
        thread.on_core_since = starts;
        thread.state = State::Running(core);
        self.on[core as usize] = Some(index);
        let (ratio, stands) =
            self.steer.as_mut().map_or((1.0, 0), |steer| steer.attached(index, core, starts, &thread.stack));
        self.cores.begin(core, starts, speed, ratio);
        if stands > 0 {
            self.cores.spend(core, stands, CycleComponent::Io);
        }
    }

    /// The thread leaves its core; gives the time.
    fn detach(&mut self, index: u32) -> u64 {
        if let State::Running(core) = self.threads[index as usize].state {
            self.cores.all[core as usize].core.settle();
        }
        self.account(index);
        let thread = &mut self.threads[index as usize];
        if let State::Running(core) = thread.state {
            self.on[core as usize] = None;
            thread.since = self.cores.now(core);
            if let Some(steer) = &mut self.steer {
                steer.detached(index, core, thread.since, &thread.stack);
            }
        }
        thread.since
    }

    /// Books what the thread did on its core since that was done last.
    fn account(&mut self, index: u32) {
        let thread = &mut self.threads[index as usize];
        if let State::Running(core) = thread.state {
            let (stack, instructions) = self.cores.since_last(core);
            thread.stack.add(&stack);
            thread.piece.stack.add(&stack);
            thread.instructions += instructions;
            thread.piece.instructions += instructions;
        }
    }

    /// The result: called once, when all is done.
    fn result(mut self, stopped: bool) -> Simulated {
        for index in 0..self.threads.len() as u32 {
            if matches!(self.threads[index as usize].state, State::Running(_)) {
                self.threads[index as usize].end = self.detach(index);
            }
        }
        let cycles = self.threads.iter().map(|thread| thread.end.max(thread.since)).max().unwrap_or(0);
        let mut warnings = self.program.warnings.clone();
        if stopped {
            warnings.push("It was stopped before its end: all figures are those up to there.".to_owned());
        }
        let mut doubts = self.program.doubts.clone();
        if self.let_through > 0 {
            doubts.push(format!(
                "All threads waited for each other {}, and one was let through each time: the recording does \
                 not say what releases it.",
                times(self.let_through)
            ));
        }
        let places = self.tally.places(self.program, &self.cores);
        let shared_lines = self.cores.shared_lines(&self.tally.addresses);
        let threads: Vec<SimulatedThread> = self
            .threads
            .into_iter()
            .zip(&self.program.threads)
            .map(|(thread, facts)| {
                let mut stack = thread.stack;
                // What it did not live to see.
                stack.book(CycleComponent::Imbalance, cycles.saturating_sub(stack.total()));
                SimulatedThread {
                    number: facts.number,
                    name: facts.name.clone(),
                    entry: facts.entry,
                    begin: thread.begin.unwrap_or(cycles),
                    end: if thread.begin.is_some() { thread.end } else { cycles },
                    instructions: thread.instructions,
                    stack,
                    pieces: thread.pieces,
                }
            })
            .collect();
        let resources = self.cores.resources(cycles);
        let steered = self.steer.map(|steer| steer.finish(self.machine, cycles, &resources));
        Simulated {
            machine: self.machine.name.clone(),
            cores: self.on.len() as u32,
            frequency: self.machine.frequency,
            changes: Vec::new(),
            cycles,
            instructions: threads.iter().map(|thread| thread.instructions).sum(),
            threads,
            places,
            shared_lines,
            resources,
            doubts,
            warnings,
            sampled: None,
            steered,
        }
    }
}
