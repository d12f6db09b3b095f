//! Slices of a run: parts in each of which all threads together execute so many instructions.
//!
//! One run goes through all of a program and notes what each slice executes, and where everything is at its end
//! ([`Moment`]); its cores take for each block what that takes if all accesses hit, and nothing but synchronization takes longer. Another run
//! simulates some of the slices: from the end of one of them it goes to the moment at which the next one begins. Threads
//! need not be where they were when that was noted: who was faster is put back, who was slower is put forward.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holdup_model::cycles::{CycleComponent, CycleStack};
use holdup_model::{Mode, ThreadId};
use holdup_sync::{Answer, Gate, Lock, Tokens};

use super::calls::Deadline;
use super::{PACED_QUANTUM, State, System};
use crate::collector::Collector;
use crate::program::{Act, Bookmark, Feed, Skipped};

/// Threads that met at the end of a slice do so again at most this part of its instructions sooner or later.
const NEARLY: u64 = 16;

/// Where everything is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    /// By thread.
    pub threads: Vec<ThreadMoment>,
    /// Who holds which lock, how, how many times.
    held: BTreeMap<(u32, u32), (Mode, u32)>,
    /// How many tokens of each kind there are.
    tokens: Vec<u64>,
    /// How many of [`Notes::done`] were done.
    done: usize,
    /// Threads have just met at a barrier.
    meets: bool,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ThreadMoment {
    /// It was not created.
    Unborn,
    /// It has ended.
    Ended,
    /// It waits for what this act of it asks for, and what it waits is booked as said.
    Blocked {
        act: Act,
        spins: bool,
        /// It is asleep in so many cycles.
        asleep: u64,
        component: CycleComponent,
        deals: Option<u32>,
    },
    /// It goes on.
    Alive {
        /// What it does before it goes on with its stream.
        pending: Option<Act>,
        /// It goes on in so many cycles, which are booked as said.
        resumes: u64,
        component: CycleComponent,
        /// It has a core.
        runs: bool,
        /// The construct whose units it takes.
        deals: Option<u32>,
    },
}

/// What is done towards something that happens once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Done {
    /// An act towards the opening of a gate.
    Open(u32),
    /// A unit of a construct was dealt.
    Unit(u32),
}

/// What is noted of a run that has slices.
#[derive(Default)]
pub(super) struct Notes {
    /// Since the beginning, or since the moment that was gone to.
    pub done: Vec<Done>,
    held: BTreeMap<(u32, u32), (Mode, u32)>,
}

impl Notes {
    pub(super) fn acquired(&mut self, lock: u32, thread: u32, mode: Mode) {
        self.held.entry((lock, thread)).or_insert((mode, 0)).1 += 1;
    }

    pub(super) fn released(&mut self, lock: u32, thread: u32) {
        if let Some((_, times)) = self.held.get_mut(&(lock, thread)) {
            *times -= 1;
            if *times == 0 {
                self.held.remove(&(lock, thread));
            }
        }
    }
}

/// All slices of a run, as they were noted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    /// By slice, where everything is at its end; not of the last.
    pub moments: Vec<Moment>,
    /// What was done towards what happens once, in order.
    done: Vec<Done>,
}

impl Course {
    /// Forgets the moments that are not needed.
    pub(crate) fn keep_moments(&mut self, is_needed: impl Fn(usize) -> bool) {
        for (index, moment) in self.moments.iter_mut().enumerate() {
            if !is_needed(index) {
                moment.held = BTreeMap::new();
                moment.tokens = Vec::new();
            }
        }
    }
}

/// Notes all slices.
pub(super) struct Surveys<'a> {
    pub collector: Collector<'a>,
    course: Course,
    /// Instructions of a slice, and when the present one ends.
    size: u64,
    until: u64,
    /// Threads have met at a barrier just now, in the present slice, and in the one before.
    meet: [bool; 3],
    /// The slice that is over ended there.
    meets: bool,
}

impl Surveys<'_> {
    /// A slice ends where threads meet, if they do so in each, but is at most twice as long as others.
    fn is_over(&mut self, executed: u64) -> bool {
        let [now, in_this, before] = self.meet;
        self.meet[0] = false;
        self.meets = now;
        executed >= self.until && (now || !(in_this || before) || executed >= self.until + self.size)
    }
}

/// Where a run that leaves out slices goes on.
#[derive(Clone, Copy)]
pub(crate) struct Leap<'a> {
    /// The slice before which it goes on.
    pub slice: usize,
    pub skipped: &'a Skipped,
    /// By thread.
    pub ends: &'a [Bookmark],
}

/// Which slices are simulated.
pub(crate) trait Route {
    /// How many slices there are.
    fn slices(&self) -> usize;
    /// The instructions of a slice, of all threads.
    fn instructions(&self, slice: usize) -> u64;
    /// What is left out behind this one, if anything is.
    fn leap(&self, slice: usize) -> Option<Leap<'_>>;
    fn course(&self) -> &Course;
}

/// A slice that was simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Simulation {
    pub slice: usize,
    pub begin: u64,
    pub end: u64,
    pub instructions: u64,
}

/// Simulates some of them.
pub(super) struct Follows<'a> {
    route: &'a dyn Route,
    slice: usize,
    until: u64,
    /// When the present one began, and how much was executed before.
    begin: (u64, u64),
    simulated: Vec<Simulation>,
    /// What of the course was done before the moment that was gone to last.
    done: usize,
    /// Threads have met at a barrier just now.
    meet: bool,
}

impl Follows<'_> {
    /// A slice at the end of which threads met ends there again: what they take to wake up belongs to the next one, as in all
    /// others. One thread may be further ahead than it was, so that they meet a little sooner or later.
    fn is_over(&mut self, executed: u64) -> bool {
        let meet = std::mem::take(&mut self.meet);
        if !self.route.course().moments.get(self.slice).is_some_and(|moment| moment.meets) {
            return executed >= self.until;
        }
        let little = self.route.instructions(self.slice) / NEARLY;
        let until = if meet { self.until.saturating_sub(little) } else { self.until.saturating_add(little) };
        executed >= until
    }
}

/// What a run does with its slices.
pub(super) enum Slicer<'a> {
    Surveys(Surveys<'a>),
    Follows(Follows<'a>),
}

impl<'a> Slicer<'a> {
    pub(super) fn surveys(collector: Collector<'a>, size: u64) -> Slicer<'a> {
        let (course, meet) = (Course::default(), [false; 3]);
        Slicer::Surveys(Surveys { collector, course, size, until: size, meet, meets: false })
    }

    pub(super) fn follows(route: &'a dyn Route) -> Slicer<'a> {
        let until = route.instructions(0);
        let simulated = Vec::new();
        Slicer::Follows(Follows { route, slice: 0, until, begin: (0, 0), simulated, done: 0, meet: false })
    }

    /// Threads meet at a barrier.
    pub(super) fn meet(&mut self) {
        match self {
            Slicer::Surveys(surveys) => surveys.meet[..2].fill(true),
            Slicer::Follows(follows) => follows.meet = true,
        }
    }
}

impl<'a, F: Feed> System<'a, F> {
    /// Ends the present slice if all of it was executed. True if it did.
    #[inline]
    pub(super) fn end_slice(&mut self, time: u64) -> bool {
        let done = self.tally.instructions;
        let ends = match &mut self.slicer {
            Some(Slicer::Surveys(surveys)) => surveys.is_over(done),
            Some(Slicer::Follows(follows)) => follows.is_over(done),
            None => false,
        };
        match &self.slicer {
            Some(Slicer::Surveys(_)) if ends => self.note_slice(time),
            Some(Slicer::Follows(_)) if ends => _ = self.follow(time),
            _ => {}
        }
        ends
    }

    /// Nobody has anything left to do: goes on with the next slice that is simulated. False if there is none.
    pub(super) fn goes_on(&mut self) -> bool {
        let latest = self.threads.iter().map(|thread| thread.since.max(thread.end)).max().unwrap_or(0);
        matches!(self.slicer, Some(Slicer::Follows(_))) && self.follow(latest)
    }

    fn note_slice(&mut self, time: u64) {
        let mut moment = self.moment(time);
        let Some(Slicer::Surveys(surveys)) = &mut self.slicer else { return };
        moment.meets = surveys.meets;
        let feed = &mut self.feed;
        surveys.collector.end(|thread| feed.bookmark(thread));
        surveys.course.moments.push(moment);
        surveys.until = self.tally.instructions + surveys.size;
        surveys.meet = [false, false, surveys.meet[1]];
    }

    /// Ends the present slice, and goes to the next one that is simulated. False if it was the last.
    fn follow(&mut self, end: u64) -> bool {
        // Cores that are ahead of others have done what belongs to later slices. Behind a gap all begin at once.
        let now = (0..).zip(&self.on).filter(|(_, on)| on.is_some()).map(|(core, _)| self.cores.now(core));
        let ahead = now.max().unwrap_or(end).max(end);
        let instructions = self.tally.instructions;
        let Some(Slicer::Follows(follows)) = &mut self.slicer else { return false };
        let route = follows.route;
        let (begin, before) = follows.begin;
        let leap = route.leap(follows.slice);
        let is_last = leap.is_none() && follows.slice + 1 >= route.slices();
        let executed = instructions - before;
        follows.simulated.push(Simulation { slice: follows.slice, begin, end, instructions: executed });
        follows.begin = (if leap.is_some() { ahead } else { end }, instructions);
        follows.slice = leap.map_or(follows.slice + 1, |leap| leap.slice);
        if is_last {
            follows.until = u64::MAX;
        } else {
            let from = if leap.is_some() { instructions } else { follows.until };
            let last = follows.slice + 1 == route.slices();
            follows.until = if last { u64::MAX } else { from + route.instructions(follows.slice) };
        }
        for index in 0..self.threads.len() as u32 {
            if leap.is_some() && matches!(self.threads[index as usize].state, State::Running(_)) {
                self.detach(index);
            }
            self.book_wait(index, end);
            self.cut(index);
            let ahead = self.split(index, end - begin);
            if leap.is_none() {
                self.threads[index as usize].piece.stack = ahead;
            }
        }
        if let Some(leap) = leap {
            self.leap(leap, ahead);
        }
        !is_last
    }

    /// Takes what the piece that has just ended has beyond so many cycles: a core may be ahead of the end of its slice.
    fn split(&mut self, index: u32, cycles: u64) -> CycleStack {
        let mut ahead = CycleStack::default();
        if let Some(piece) = self.threads[index as usize].pieces.last_mut()
            && piece.stack.total() > cycles
        {
            let all = piece.stack;
            piece.stack = all.scaled(cycles);
            for (component, cycles) in all.parts() {
                ahead.book(component, cycles.saturating_sub(piece.stack.get(component)));
            }
        }
        ahead
    }

    /// Books what a thread waits up to now.
    fn book_wait(&mut self, index: u32, until: u64) {
        let thread = &mut self.threads[index as usize];
        let waits = matches!(thread.state, State::Blocked | State::Timed | State::Ready);
        if !waits || until <= thread.since {
            return;
        }
        let ready = match thread.state {
            State::Ready => thread.ready_at.clamp(thread.since, until),
            _ => until,
        };
        let mut waited = CycleStack::default();
        waited.book(thread.component, ready - thread.since);
        waited.book(CycleComponent::NoCore, until - ready);
        thread.stack.add(&waited);
        thread.piece.stack.add(&waited);
        thread.since = until;
    }

    fn moment(&self, now: u64) -> Moment {
        let moment = |thread: &super::Thread| {
            let (component, deals) = (thread.component, thread.deals);
            let runs = matches!(thread.state, State::Running(_));
            // A core may be in the midst of what takes long at once: creating a thread, say.
            let resumes = match thread.state {
                State::Timed => thread.ready_at.saturating_sub(now),
                State::Running(core) => self.cores.now(core).saturating_sub(now + PACED_QUANTUM),
                _ => 0,
            };
            let component = if runs && resumes > 0 { CycleComponent::SyncCreate } else { component };
            match (thread.state, thread.awaits) {
                (State::Unborn, _) => ThreadMoment::Unborn,
                (State::Ended, _) => ThreadMoment::Ended,
                (State::Blocked, Some(act)) => {
                    let asleep = thread.asleep_at.saturating_sub(now);
                    ThreadMoment::Blocked { act, spins: thread.spins, asleep, component, deals }
                }
                _ => ThreadMoment::Alive { pending: thread.pending, resumes, component, runs, deals },
            }
        };
        let notes = self.notes.as_ref();
        Moment {
            threads: self.threads.iter().map(moment).collect(),
            held: notes.map(|notes| notes.held.clone()).unwrap_or_default(),
            tokens: self.tokens.iter().map(Tokens::available).collect(),
            done: notes.map_or(0, |notes| notes.done.len()),
            meets: false,
        }
    }

    /// Makes everything as it was at the moment at which a slice begins.
    fn leap(&mut self, leap: Leap<'a>, now: u64) {
        let Some(Slicer::Follows(follows)) = &mut self.slicer else { return };
        let course = follows.route.course();
        let Some(moment) = leap.slice.checked_sub(1).and_then(|before| course.moments.get(before)) else {
            return;
        };
        let done = &course.done[follows.done..moment.done];
        follows.done = moment.done;
        let threads = &self.threads;
        self.cores.memory.replay(leap.skipped, |thread| threads[thread as usize].core, now);
        self.forget_waits();
        self.undo_and_do(done);
        self.hold(&moment.held);
        self.tokens = moment.tokens.iter().map(|&available| Tokens::new(available, 0)).collect();
        self.calls.clear();
        self.ready.clear();
        self.timed.clear();
        self.ended = 0;
        let mut off: Vec<u32> = Vec::new();
        let mut blocked: Vec<(u32, Act)> = Vec::new();
        for (index, &of) in (0..).zip(&moment.threads) {
            self.feed.go_to(index as usize, &leap.ends[index as usize]);
            let mut end = Gate::default();
            let thread = &mut self.threads[index as usize];
            thread.since = now;
            (thread.spins, thread.deadline, thread.last_block) = (false, None, None);
            (thread.pending, thread.awaits, thread.deals) = (None, None, None);
            match of {
                ThreadMoment::Unborn => thread.state = State::Unborn,
                ThreadMoment::Ended => {
                    thread.state = State::Ended;
                    end.open(&mut Vec::new());
                    self.ended += 1;
                }
                ThreadMoment::Blocked { act, spins, asleep, component, deals } => {
                    (thread.spins, thread.component, thread.deals) = (spins, component, deals);
                    thread.asleep_at = now + asleep;
                    (thread.state, thread.awaits) = (State::Blocked, Some(act));
                    blocked.push((index, act));
                }
                ThreadMoment::Alive { pending, resumes, component, runs, deals } => {
                    (thread.pending, thread.deals, thread.component) = (pending, deals, component);
                    thread.state = State::Timed;
                    thread.ready_at = now + resumes;
                    if resumes == 0 && !runs {
                        off.push(index);
                    } else {
                        self.timed.push(Reverse((thread.ready_at, index)));
                    }
                }
            }
            self.ends[index as usize] = end;
        }
        for (index, act) in blocked {
            self.waits_again(index, act, now);
        }
        // Cores go to those that had one.
        for index in off {
            self.threads[index as usize].ready_at = now + 1;
            self.timed.push(Reverse((now + 1, index)));
        }
    }

    /// The thread, which is blocked, waits for what this act of it asks for. What is there already it gets as soon as it has a core.
    fn waits_again(&mut self, index: u32, act: Act, now: u64) {
        let id = ThreadId::new(index);
        let mut released = Vec::new();
        let answer = match act {
            Act::Join(child) => self.ends[child as usize].pass(id),
            Act::Acquire(lock, mode) => self.locks[lock as usize].acquire(id, mode),
            Act::Arrive(barrier) => self.barriers[barrier as usize].arrive(id, &mut released),
            Act::Pass(gate, _) | Act::PassWithin(gate, ..) => self.gates[gate as usize].pass(id),
            Act::Take(tokens, _) => self.tokens[tokens as usize].take(id),
            _ => Answer::Go,
        };
        let thread = &mut self.threads[index as usize];
        if answer == Answer::Go {
            (thread.state, thread.ready_at) = (State::Timed, now);
            self.timed.push(Reverse((now, index)));
        } else if let Act::PassWithin(gate, _, nanos) = act {
            let at = now + self.cycles_of(nanos);
            self.threads[index as usize].deadline = Some(Deadline { at, gate });
            self.timed.push(Reverse((at, index)));
        } else if let Act::Acquire(..) = act {
            thread.pending = Some(act);
        }
        self.wake(&released, now);
    }

    /// Nobody waits for anything any more.
    fn forget_waits(&mut self) {
        for (index, thread) in (0..).zip(&self.threads) {
            let id = ThreadId::new(index);
            match thread.awaits.filter(|_| thread.state == State::Blocked) {
                Some(Act::Arrive(barrier)) => self.barriers[barrier as usize].forget(id),
                Some(Act::Pass(gate, _) | Act::PassWithin(gate, ..)) => self.gates[gate as usize].forget(id),
                _ => {}
            }
            if let Some(Act::Acquire(lock, _)) = thread.pending {
                self.locks[lock as usize] = Lock::default();
            }
        }
    }

    /// Undoes what was done since the moment that was gone to last, and does what the course did up to another one.
    fn undo_and_do(&mut self, done: &[Done]) {
        let undone = self.notes.as_mut().map(|notes| std::mem::take(&mut notes.done)).unwrap_or_default();
        for done in undone {
            match done {
                Done::Open(gate) => self.gates[gate as usize].close(),
                Done::Unit(construct) => self.dealt[construct as usize] -= 1,
            }
        }
        for done in done {
            match *done {
                Done::Open(gate) => self.gates[gate as usize].open(&mut Vec::new()),
                Done::Unit(construct) => self.dealt[construct as usize] += 1,
            }
        }
    }

    /// Locks are held by those that held them.
    fn hold(&mut self, held: &BTreeMap<(u32, u32), (Mode, u32)>) {
        let Some(notes) = &mut self.notes else { return };
        for (lock, _) in notes.held.keys() {
            self.locks[*lock as usize] = Lock::default();
        }
        notes.held.clone_from(held);
        for (&(lock, thread), &(mode, times)) in held {
            for _ in 0..times {
                self.locks[lock as usize].acquire(ThreadId::new(thread), mode);
            }
        }
    }

    /// What was noted: called once, at the end.
    pub(super) fn take_course(&mut self) -> (Course, Option<Collector<'a>>) {
        match self.slicer.take() {
            Some(Slicer::Surveys(mut surveys)) => {
                let feed = &mut self.feed;
                surveys.collector.end(|thread| feed.bookmark(thread));
                surveys.course.done =
                    self.notes.as_mut().map(|notes| std::mem::take(&mut notes.done)).unwrap_or_default();
                (surveys.course, Some(surveys.collector))
            }
            _ => (Course::default(), None),
        }
    }

    /// The slices that were simulated: called once, at the end.
    pub(super) fn take_simulated(&mut self) -> Vec<Simulation> {
        match self.slicer.take() {
            Some(Slicer::Follows(follows)) => follows.simulated,
            _ => Vec::new(),
        }
    }
}
