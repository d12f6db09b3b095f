//! Running one thread of the program by itself: the recorder's side of [`holdup_trace::alone`].
//!
//! A thread of the recorder looks at what the program's threads do, lets [`policy`] decide, and does that: it chooses the
//! profiled thread, and lets the others go where that one cannot go on by itself. What is to work beside that thread, a
//! cache pirate or a bandwidth thief, runs in another thread and follows the turn by its gate ([`AloneGate`]).

mod beside;
mod count;
mod keep;
mod look;
mod policy;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holdup_pirate::{CacheShare, Guardian};
use holdup_recording::facts::{Alone, AloneCounted, PirateFacts};
use holdup_trace::alone::{AloneCode, Block, Conduct, EndCode, Phase, Profiled};
use holdup_trace::shared::{ProcessFile, ProcessState, Slot};
use holdup_trace::wire::NO_THREAD;
use rustix::thread::futex;

use crate::machine::ClockSource;
use crate::session::SharedMemory;
pub use beside::{AloneGate, Beside};
pub use count::{CounterSource, Counting};
use keep::Keeper;
use policy::{Act, Policy, Seen, View, Wanted};

/// How one thread of each parallel phase is to run by itself.
#[derive(Clone, Debug)]
pub struct AloneOptions {
    /// Which one, from 0 in the given order; without one in that of creation, in which the one that created the others comes
    /// last.
    pub which: u32,
    /// Numbers of threads in the order in which those of a phase are counted, where it is known: threads that do next to
    /// nothing are not among them.
    pub order: Vec<u32>,
    /// When the program has run for so long, all its threads run to the end.
    pub give_up_after: Duration,
    /// A thread that comes to no sync operation for so long may wait for the others in a loop of the program's own: then they
    /// are let go. Better longer than any thread of the program computes without one.
    pub silence: Duration,
    /// The core to which the thread that runs by itself is confined.
    pub core: Option<u32>,
    /// What works beside it.
    pub beside: Option<Beside>,
    /// The only part of the shared cache that it may fill.
    pub share: Option<Arc<CacheShare>>,
    /// Takes its core from it again if the recorder is killed.
    pub guardian: Option<Arc<Guardian>>,
    /// Counters of it.
    pub counters: Option<CounterSource>,
}

impl Default for AloneOptions {
    fn default() -> AloneOptions {
        AloneOptions {
            which: 0,
            order: Vec::new(),
            give_up_after: Duration::from_secs(600),
            silence: Duration::from_secs(1),
            core: None,
            beside: None,
            share: None,
            guardian: None,
            counters: None,
        }
    }
}

fn wake(word: &std::sync::atomic::AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

fn wake_everybody(block: &Block) {
    [&block.turn, &block.go, &block.pirate_bell].into_iter().for_each(wake);
}

/// What the threads of the recorder share.
struct Shared {
    stop: AtomicBool,
    /// Processes that have come and that the controller has not looked at yet.
    come: Mutex<Vec<(u32, SharedMemory)>>,
    /// The process that has a profiled thread.
    active: Mutex<Option<SharedMemory>>,
    /// Nothing works beside it, or does any more.
    is_without: AtomicBool,
}

impl Shared {
    /// The profiled thread waits for nobody beside it any more.
    fn beside_is_over(&self) {
        let active = locked(&self.active).clone();
        self.is_without.store(true, Ordering::SeqCst);
        if let Some(memory) = active {
            let parts = memory.parts();
            parts.header().alone.pirated.store(0, Ordering::SeqCst);
            if parts.lets_go() {
                wake(&parts.header().alone.go);
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads that see to it that one thread of the program runs by itself.
pub(crate) struct Controller {
    shared: Arc<Shared>,
    looker: Option<JoinHandle<Alone>>,
    beside: Option<JoinHandle<PirateFacts>>,
}

impl Controller {
    pub(crate) fn start(options: AloneOptions, clock: ClockSource, ticks_per_second: f64) -> Controller {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            come: Mutex::default(),
            active: Mutex::default(),
            is_without: AtomicBool::new(options.beside.is_none()),
        });
        let beside = options.beside.as_ref().and_then(|beside| beside.start(AloneGate::of(&shared)));
        let watched = Arc::clone(&shared);
        let looker = std::thread::Builder::new().name("holdup alone".into());
        let looker = looker.spawn(move || Looker::new(watched, options, clock, ticks_per_second).run()).ok();
        Controller { shared, looker, beside }
    }

    /// A process of the program has come.
    pub(crate) fn attach(&self, pid: u32, memory: SharedMemory) {
        locked(&self.shared.come).push((pid, memory));
        if let Some(looker) = &self.looker {
            looker.thread().unpark();
        }
    }

    /// The run is over: lets everybody go, and gives what is to be stored of it.
    pub(crate) fn finish(mut self) -> Alone {
        self.shared.stop.store(true, Ordering::Release);
        let looked = self.looker.take().and_then(|looker| {
            looker.thread().unpark();
            looker.join().ok()
        });
        let mut facts = looked.unwrap_or_default();
        facts.pirate = self.beside.take().and_then(|beside| beside.join().ok());
        facts
    }
}

/// A process that shares memory with us.
struct Program {
    pid: u32,
    memory: SharedMemory,
}

struct Looker {
    shared: Arc<Shared>,
    options: AloneOptions,
    clock: ClockSource,
    ticks_per_second: f64,
    started: Instant,
    programs: Vec<Program>,
    /// The process that has a profiled thread, and the decisions on it.
    active: Option<(Program, Policy)>,
    /// What is done to the profiled thread.
    keeper: Keeper,
    /// The process of the thread to which it is done.
    kept_in: u32,
    /// Threads of the active process by number that have been looked at.
    known: BTreeMap<u32, ()>,
    facts: Alone,
}

impl Looker {
    fn new(shared: Arc<Shared>, options: AloneOptions, clock: ClockSource, ticks_per_second: f64) -> Looker {
        let keeper = Keeper::new(&options);
        let facts = Alone { which: options.which, core: options.core, ..Alone::default() };
        Looker {
            shared,
            options,
            clock,
            ticks_per_second,
            started: Instant::now(),
            programs: Vec::new(),
            active: None,
            keeper,
            kept_in: 0,
            known: BTreeMap::new(),
            facts,
        }
    }

    fn run(mut self) -> Alone {
        while !self.shared.stop.load(Ordering::Acquire) {
            self.take_in();
            self.see_who_is_active();
            for program in &self.programs {
                program.memory.parts().header().alone.beat.fetch_add(1, Ordering::Relaxed);
            }
            match self.active.take() {
                Some((program, policy)) => self.look_after(program, policy),
                None => std::thread::park_timeout(Duration::from_millis(1)),
            }
        }
        for program in self.programs.iter().chain(self.active.iter().map(|(program, _)| program)) {
            let block = &program.memory.parts().header().alone;
            block.give_up(EndCode::Decided);
            wake_everybody(block);
        }
        self.leave();
        self.facts
    }

    fn take_in(&mut self) {
        let come = std::mem::take(&mut *locked(&self.shared.come));
        for (pid, memory) in come {
            // What the process executed before is gone.
            self.programs.retain(|program| program.pid != pid);
            if self.active.as_ref().is_some_and(|(program, _)| program.pid == pid) {
                self.leave();
            }
            self.programs.push(Program { pid, memory });
        }
    }

    /// Only one process at a time has a profiled thread: the first that has several threads, or one that is held.
    fn see_who_is_active(&mut self) {
        self.programs.retain(|program| !is_gone(program));
        if self.active.as_ref().is_some_and(|(program, _)| is_gone(program)) {
            self.leave();
        }
        let candidate = self.programs.iter().position(|program| {
            let block = &program.memory.parts().header().alone;
            !block.is_given_up() && has_a_group(program.memory.parts())
        });
        let Some(candidate) = candidate else { return };
        let program = self.programs.swap_remove(candidate);
        let block = &program.memory.parts().header().alone;
        if self.active.is_some() {
            self.facts.notes.push(format!(
                "process {} had threads too at the same time: these were not held, so no stretch of the other was quiet",
                program.pid
            ));
            block.give_up(EndCode::Decided);
            wake_everybody(block);
            return;
        }
        block.pirated.store(u32::from(!self.shared.is_without.load(Ordering::SeqCst)), Ordering::SeqCst);
        *locked(&self.shared.active) = Some(program.memory.clone());
        // Who is to wait for the others does so for as long as one of them can have to compute.
        let patience = (self.options.silence / 2).as_micros().min(u128::from(u32::MAX)) as u32;
        block.patience.store(patience, Ordering::SeqCst);
        let limit = self.options.give_up_after;
        let order = self.options.order.iter().enumerate().map(|(place, number)| (*number, place)).collect();
        let wanted = Wanted { which: self.options.which, order, silence: self.options.silence, limit };
        self.active = Some((program, Policy::new(wanted)));
    }

    /// There is no active process any more.
    fn leave(&mut self) {
        *locked(&self.shared.active) = None;
        self.let_go();
        self.known.clear();
        if let Some((program, policy)) = self.active.take() {
            self.add_up(&program, &policy);
        }
    }

    fn add_up(&mut self, program: &Program, policy: &Policy) {
        let block = &program.memory.parts().header().alone;
        let (facts, counts) = (&mut self.facts, policy.counts);
        facts.stretches += block.stretches.load(Ordering::Relaxed);
        facts.bounds += block.bounds.load(Ordering::Relaxed);
        facts.chosen += counts.chosen;
        facts.sleeps += counts.sleeps;
        facts.silences += counts.silences;
        facts.spins += counts.spins;
        facts.turns += counts.turns;
        facts.sleepers += counts.sleepers;
        let why = EndCode::from_code(block.given_up.load(Ordering::SeqCst) as u8);
        let why = match why {
            Some(EndCode::Silent) => "the program's threads had no sign of life from holdup for too long",
            Some(EndCode::Confined) => "the program has confined its system calls (seccomp)",
            _ => return,
        };
        facts.gave_up.get_or_insert_with(|| why.to_owned());
    }

    fn look_after(&mut self, program: Program, mut policy: Policy) {
        let parts = program.memory.parts();
        let block = &parts.header().alone;
        let heard = block.call.load(Ordering::SeqCst);
        block.beat.fetch_add(1, Ordering::Relaxed);
        if block.is_given_up() {
            std::thread::park_timeout(Duration::from_millis(20));
            self.active = Some((program, policy));
            return;
        }
        let view = view(parts, self.started.elapsed());
        self.see_new_threads(&view);
        let pid = program.pid;
        self.kept_in = pid;
        let acts = policy.step(&view, &mut look::Looks(pid));
        for act in &acts {
            self.act(act, parts, &view);
        }
        if acts.is_empty() {
            let pause = policy.pause(&view);
            block.listens.store(1, Ordering::SeqCst);
            let timeout = rustix::time::Timespec { tv_sec: 0, tv_nsec: pause.as_nanos() as _ };
            let _ = futex::wait(&block.call, futex::Flags::empty(), heard, Some(&timeout));
            block.listens.store(0, Ordering::SeqCst);
        }
        self.active = Some((program, policy));
    }

    fn act(&mut self, act: &Act, parts: ProcessFile, view: &View) {
        let block = &parts.header().alone;
        match act {
            Act::Choose(target) => {
                self.keep(target.tid);
                let profiled = Profiled { slot: target.slot, number: target.number };
                block.profiled.store(profiled.word(), Ordering::SeqCst);
                let turn = block.turn();
                let waits = target.conduct == Conduct::Waits;
                let next = match turn.phase() {
                    Phase::Free | Phase::Gather if waits => turn.next(Phase::Free),
                    Phase::Free | Phase::Gather => turn.with(Phase::Wanted),
                    // All that are held stay so, and who had the turn is at its next hook.
                    Phase::Alone => turn.next(Phase::Wanted),
                    Phase::Wanted => turn,
                };
                block.change(turn, next);
                wake_everybody(block);
            }
            Act::Gather => {
                self.let_go();
                block.profiled.store(0, Ordering::SeqCst);
                let turn = block.turn();
                let next = match turn.phase() {
                    // Threads that are held where they began stay so.
                    Phase::Gather | Phase::Wanted => turn.with(Phase::Gather),
                    Phase::Free | Phase::Alone => turn.next(Phase::Gather),
                };
                block.change(turn, next);
                wake_everybody(block);
            }
            Act::Release(why, window) => {
                let turn = block.turn();
                if turn.phase() == Phase::Alone && turn.generation() == view.generation {
                    let now = self.clock.ticks();
                    block.released_at.store(now, Ordering::SeqCst);
                    block.released_why.store(*why as u32, Ordering::SeqCst);
                    let window = window.as_secs_f64() * self.ticks_per_second;
                    block.not_before.store(now + window as u64, Ordering::SeqCst);
                    block.change(turn, turn.next(Phase::Free));
                    wake_everybody(block);
                }
            }
            Act::Cut(length) => {
                block.cut_micros.store(length.as_micros() as u32, Ordering::SeqCst);
                block.cut.store(view.generation.wrapping_add(1), Ordering::SeqCst);
            }
            Act::Sleeps(slot) => {
                if let Some(slot) = parts.slot(*slot) {
                    let (runs, sleeps) = (Conduct::Runs as u32, Conduct::Sleeps as u32);
                    let _ =
                        slot.alone_state.compare_exchange(runs, sleeps, Ordering::SeqCst, Ordering::SeqCst);
                }
                if parts.lets_go() {
                    wake(&block.go);
                }
            }
            Act::GiveUp => {
                let limit = self.options.give_up_after.as_secs_f64();
                self.facts.gave_up = Some(format!("the program had run for {limit:.0} s"));
                block.released_why.store(AloneCode::GivenUp as u32, Ordering::SeqCst);
                block.give_up(EndCode::Decided);
                wake_everybody(block);
                self.let_go();
            }
        }
    }

    fn keep(&mut self, tid: u32) {
        if self.keeper.keeps(tid) {
            return;
        }
        self.let_go();
        if let Some(note) = self.keeper.keep(tid, self.clock.ticks())
            && !self.facts.notes.contains(&note)
        {
            self.facts.notes.push(note);
        }
    }

    fn let_go(&mut self) {
        let counted = self.keeper.let_go(self.clock.ticks());
        self.facts.counted.extend(counted.map(|counted| AloneCounted { pid: self.kept_in, ..counted }));
    }

    fn see_new_threads(&mut self, view: &View) {
        for seen in &view.threads {
            if self.known.insert(seen.number, ()).is_none() {
                self.keeper.free_new(seen.tid);
            }
        }
    }
}

fn is_gone(program: &Program) -> bool {
    let state = program.memory.parts().header().state.load(Ordering::Acquire);
    state == ProcessState::Ended as u32 || !std::path::Path::new(&format!("/proc/{}", program.pid)).exists()
}

/// True once a process has several threads, or holds one.
fn has_a_group(parts: ProcessFile) -> bool {
    let live = || parts.used_slots().filter(|(_, slot)| slot.live.load(Ordering::SeqCst) != 0);
    live().count() > 1 || live().any(|(_, slot)| slot.conduct() == Conduct::Held)
}

fn view(parts: ProcessFile, now: Duration) -> View {
    let block = &parts.header().alone;
    let turn = block.turn();
    let live = parts.used_slots().filter(|(_, slot)| slot.live.load(Ordering::SeqCst) != 0);
    let is_stale = |slot: &Slot| {
        let began = slot.alone_began.load(Ordering::SeqCst);
        turn.phase() == Phase::Gather && began != turn.generation().wrapping_add(1)
    };
    let threads = live.map(|(index, slot)| Seen {
        slot: index,
        number: slot.thread.load(Ordering::SeqCst),
        parent: Some(slot.parent.load(Ordering::SeqCst)).filter(|parent| *parent != NO_THREAD),
        tid: slot.tid.load(Ordering::SeqCst),
        conduct: match slot.conduct() {
            // It has been let go, and has not got a core since.
            Conduct::Held if is_stale(slot) => Conduct::Runs,
            conduct => conduct,
        },
    });
    let threads = threads.collect();
    let profiled = parts.profiled_slot().map(|slot| slot.thread.load(Ordering::SeqCst));
    let progress = block.progress.load(Ordering::SeqCst);
    let created = parts.header().next_thread.load(Ordering::SeqCst);
    let unborn = created.saturating_sub(block.begun.load(Ordering::SeqCst));
    View { now, phase: turn.phase(), generation: turn.generation(), profiled, progress, threads, unborn }
}
