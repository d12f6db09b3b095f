//! From a program and changes to the program, the machine and the behaviour of objects that result.

mod balance;
mod code;
pub(crate) mod spread;
mod threads;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use holdup_model::{Nanos, ObjectId, Process, SiteId, Stretch, ThreadId, Timeline, stretches};

use crate::change::{Change, LockChange};
use crate::machine::Machine;
use crate::program::{LockIndex, Op, PauseKind, Program, divided};
use crate::run::{Behaviour, Replayed};

/// What is replayed.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The steps.
    pub program: Cow<'a, Program>,
    /// The cores and costs.
    pub machine: Machine,
    /// How objects behave.
    pub behaviour: Behaviour,
    /// For how many threads each recorded one stands. Those beyond the end stand for themselves.
    pub stands_for: Vec<f64>,
    /// Work (ns) that is no more to be done, since it was spent on locks that others use too.
    pub relieved: u64,
}

/// What the changes may look at besides the program.
#[derive(Debug)]
pub struct Recorded<'a> {
    /// The process as it was recorded.
    pub process: &'a Process,
    /// Its timeline.
    pub timeline: &'a Timeline,
    /// What is looked at often, found once it is.
    alone: OnceLock<Vec<Vec<(u64, u64)>>>,
    stretches: OnceLock<Vec<Vec<Stretch>>>,
}

impl<'a> Recorded<'a> {
    /// A process and the timeline that was built of it.
    pub fn new(process: &'a Process, timeline: &'a Timeline) -> Self {
        Self { process, timeline, alone: OnceLock::new(), stretches: OnceLock::new() }
    }

    /// For each thread, the spans (ns from the start) in which it alone was active.
    fn alone(&self) -> &[Vec<(u64, u64)>] {
        self.alone.get_or_init(|| spread::alone(self.timeline))
    }

    /// The stretches of each thread.
    fn stretches(&self) -> &[Vec<Stretch>] {
        self.stretches.get_or_init(|| stretches(self.process, self.timeline))
    }
}

/// Makes the changes, one after the other; those of the number of threads last, so that others find the threads as they were
/// recorded.
pub fn apply<'a>(
    recorded: &Recorded<'_>,
    program: &'a Program,
    machine: &Machine,
    changes: &[Change],
) -> Setting<'a> {
    let mut setting = Setting {
        program: Cow::Borrowed(program),
        machine: machine.clone(),
        behaviour: Behaviour::default(),
        stands_for: Vec::new(),
        relieved: 0,
    };
    let of_number = |change: &&Change| change.numbered().is_some();
    // There can be one number of the same threads only: the one that is said first.
    let is_first = |(index, change): &(usize, &Change)| {
        let Some(threads) = change.numbered() else { return false };
        let said = |others: &[ThreadId]| threads.iter().any(|thread| others.contains(thread));
        !changes[..*index].iter().filter_map(Change::numbered).any(said)
    };
    let numbers = changes.iter().enumerate().filter(is_first).map(|(_, change)| change);
    setting.relieve(recorded, changes);
    for change in changes.iter().filter(|change| !of_number(change)).chain(numbers) {
        setting.make(recorded, change);
    }
    setting
}

/// At most so much of a thread's work is taken to be spent on locks.
const MOST_RELIEVED: f64 = 0.95;

impl Setting<'_> {
    /// Takes from the work of each thread what it spent on locks that others use no more, or less.
    fn relieve(&mut self, recorded: &Recorded<'_>, changes: &[Change]) {
        if self.program.busy.is_empty() {
            return;
        }
        let mut left: BTreeMap<ObjectId, f64> = BTreeMap::new();
        for change in changes {
            let (object, share) = match change {
                Change::Lock(object, LockChange::Free) | Change::Free(object) => (*object, 0.0),
                Change::Lock(object, LockChange::Split(shards)) => {
                    (*object, 1.0 / f64::from((*shards).max(1)))
                }
                _ => continue,
            };
            for part in recorded.timeline.roles.parts(object) {
                let left = left.entry(part).or_insert(1.0);
                *left = left.min(share);
            }
        }
        let mut relieved = vec![0.0; self.program.actors.len()];
        for busy in &self.program.busy {
            if let Some(left) = left.get(&busy.object) {
                relieved[busy.thread.index()] += busy.lost as f64 * (1.0 - left);
            }
        }
        for (index, relieved) in relieved.into_iter().enumerate().filter(|(_, relieved)| *relieved > 0.0) {
            let steps = self.program.steps_of(ThreadId::new(index as u32));
            let steps = &mut self.program.to_mut().steps[steps];
            let work: u64 = steps.iter().map(|step| step.work).sum();
            let share = (relieved / work.max(1) as f64).min(MOST_RELIEVED);
            steps.iter_mut().for_each(|step| step.work = (step.work as f64 * (1.0 - share)).round() as u64);
            self.relieved += (work as f64 * share) as u64;
        }
    }

    fn make(&mut self, recorded: &Recorded<'_>, change: &Change) {
        match change {
            Change::Lock(object, LockChange::Free) | Change::Free(object) => {
                for part in recorded.timeline.roles.parts(*object) {
                    self.free(part);
                }
            }
            Change::Lock(object, LockChange::Split(shards)) => {
                if let Some(lock) = self.program.lock_of(*object) {
                    self.split(lock, (*shards).max(1));
                }
            }
            Change::Lock(object, LockChange::Shorter(times)) => {
                if let Some(lock) = self.program.lock_of(*object) {
                    shorten(self.program.to_mut(), lock, *times);
                }
            }
            Change::BalancedBarrier(object) => {
                if let Some(barrier) = self.program.barrier_of(*object) {
                    balance::barrier(self.program.to_mut(), barrier);
                }
            }
            Change::BalancedThreads(threads) => balance::threads(self.program.to_mut(), recorded, threads),
            Change::Faster(threads, times) => multiply(&mut self.behaviour.faster, threads, *times),
            Change::FasterCode(sites, times) => code::faster(self.program.to_mut(), recorded, sites, *times),
            Change::Spread(threads, within, over) => {
                spread::spread(self.program.to_mut(), recorded, threads, within.as_deref(), *over);
            }
            Change::Shorter(kind, None, times) => self.shorter_pauses(*kind, *times),
            Change::Shorter(kind, Some(places), times) => {
                shorten_at(self.program.to_mut(), *kind, places, *times)
            }
            Change::InstantWakeUps(object) => {
                let is_instant = &mut self.behaviour.is_instant;
                for part in recorded.timeline.roles.parts(*object) {
                    is_instant.resize(is_instant.len().max(part.index() + 1), false);
                    is_instant[part.index()] = true;
                }
            }
            Change::FreeWakeUps => self.machine = self.machine.without_costs(),
            // The replay has no threads but the program's: what that gives, `predict` says.
            Change::WithoutLoad => {}
            Change::Cores(cores) => self.machine.cores = (*cores).max(1),
            Change::Threads(threads, number) => threads::set(self.program.to_mut(), threads, *number),
            Change::Stage(threads, times) if threads::take_from_pools(&self.program, threads) => {
                let number = (threads.len() as u32).saturating_mul(*times);
                threads::set(self.program.to_mut(), threads, number);
            }
            Change::Stage(threads, times) => {
                let times = f64::from((*times).max(1));
                multiply(&mut self.behaviour.faster, threads, times);
                multiply(&mut self.stands_for, threads, times);
            }
        }
    }

    /// Counts the work of those that a faster thread stands for: no run is shorter than all of it on all cores.
    pub(crate) fn with_all_work(&self, mut run: Replayed) -> Replayed {
        if self.stands_for.is_empty() {
            return run;
        }
        for (actor, worked) in self.program.actors.iter().zip(&mut run.worked) {
            let threads = self.stands_for.get(actor.thread.index()).copied().unwrap_or(1.0);
            *worked = (*worked as f64 * threads).round() as u64;
        }
        let work: u64 = run.worked.iter().sum();
        run.wall = run.wall.max(Nanos::new(work / u64::from(self.machine.cores.max(1))));
        run
    }

    fn free(&mut self, object: ObjectId) {
        if let Some(lock) = self.program.lock_of(object) {
            self.split(lock, 0);
        }
        let is_free = &mut self.behaviour.is_free;
        is_free.resize(is_free.len().max(object.index() + 1), false);
        is_free[object.index()] = true;
        self.shorter_pauses(PauseKind::Object(object), f64::INFINITY);
    }

    fn split(&mut self, lock: LockIndex, shards: u32) {
        let all = &mut self.behaviour.shards;
        all.resize(all.len().max(lock.0 as usize + 1), 1);
        all[lock.0 as usize] = shards;
    }

    fn shorter_pauses(&mut self, kind: PauseKind, times: f64) {
        if self.program.pauses.iter().any(|pause| pause.kind == kind) {
            for pause in self.program.to_mut().pauses.iter_mut().filter(|pause| pause.kind == kind) {
                pause.length = divided(pause.length, times);
            }
        }
    }
}

/// Divides the pauses of this kind at these places.
fn shorten_at(program: &mut Program, kind: PauseKind, places: &[SiteId], times: f64) {
    let places: BTreeSet<u32> = places.iter().map(|site| site.index() as u32).collect();
    for (step, site) in program.steps.iter().zip(program.sites.iter()) {
        if let Op::Pause(pause) = step.op
            && let pause = &mut program.pauses[pause as usize]
            && pause.kind == kind
            && places.contains(site)
        {
            pause.length = divided(pause.length, times);
        }
    }
}

/// Of each of these threads; others are 1.
fn multiply(factors: &mut Vec<f64>, threads: &[ThreadId], times: f64) {
    for thread in threads {
        factors.resize(factors.len().max(thread.index() + 1), 1.0);
        factors[thread.index()] *= times;
    }
}

/// Divides the work between the acquisitions of a lock and its releases.
fn shorten(program: &mut Program, lock: LockIndex, times: f64) {
    let mut depth = 0u32;
    for step in &mut program.steps {
        if depth > 0 {
            step.work = divided(step.work, times);
        }
        match step.op {
            Op::Acquire(taken) | Op::AcquireShared(taken) if taken == lock => depth += 1,
            Op::Release(left) if left == lock => depth = depth.saturating_sub(1),
            Op::End => depth = 0,
            _ => {}
        }
    }
}
