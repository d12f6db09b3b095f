//! What changes would give: replays with and without them, and how far they can be trusted.

use std::cmp::Reverse;

use holdup_model::{Nanos, ObjectId, Process, Row, Segment, State, ThreadId, Timeline};
use rayon::prelude::*;

use crate::apply::spread::efficiency;
use crate::apply::{Recorded, Setting, apply};
use crate::budget::Budget;
use crate::change::Change;
use crate::extract::extract;
use crate::machine::Machine;
use crate::program::{Actor, Op, Program};
use crate::run::{Behaviour, Replayed, replay, replay_within};
use crate::workers;

/// From this share of the wall time on, holds of a lock that are known only in number may make it the next to hold the
/// program up.
const MUCH_UNSEEN: f64 = 0.3;

/// No prediction is taken to be better than this share of the run time: what runs of one program differ by on a quiet
/// machine, and what recording costs. (Of 44 changes that were really made, measured times lay in intervals with 1 % in
/// 27 cases, with 2 % in 35, and with what is below in 39.)
pub const LEAST_ERROR: f64 = 0.02;

/// Which of its threads the kernel lets share a core is not known: so much more of the run time, where threads had to wait
/// for cores for [`CROWDED`] of it.
const ERROR_OF_CROWDS: f64 = 0.02;
const CROWDED: f64 = 0.05;

/// What a lock is worth depends on how its threads happen to meet: so much more of the run time (predictions for locks
/// differed by up to 4 % from run to run).
const ERROR_OF_LOCKS: f64 = 0.02;

/// Threads that work at once share what cores share, seen or not: memory, caches, clock rates, on virtual machines cores. What is
/// done beside others only with a change may take so much longer. (Two copies of a program at once took 0 to 7 %, 15 % and 28 % longer
/// than one, of three programs, on the two CPUs of a virtual machine; chosen with the changes in docs/truth.md at hand.)
const SLOWER_AT_ONCE: f64 = 0.15;

/// A thread that waits for a core for so long after its wake-up waits behind another: to wake on a free one takes a hundredth
/// of it, also on a virtual machine.
pub const BEHIND_ANOTHER: Nanos = Nanos::new(1_000_000);

/// A replay that leaves more of the work undone than this share tells nothing; less may be what threads wait actively for
/// each other.
const MOST_UNDONE: f64 = 0.1;

/// Cores that work for this share of the time limit the program.
const BUSY_CORES: f64 = 0.93;
/// So does a thread that works for this share of it,
const MOST_OF_THE_TIME: f64 = 0.85;
/// and an object for which threads wait for this share of it, all together.
const A_LOT_OF_WAITING: f64 = 0.25;

/// From so many steps on a replay takes long enough to do without some of them.
const LONG: usize = 1_000_000;

/// What would hold the program up next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Its cores have work all the time.
    Cores(u32),
    /// Threads wait for this.
    Object(ObjectId),
    /// This thread has the most to do.
    Thread(ThreadId),
}

/// What a change would give.
#[derive(Clone, PartialEq, Debug)]
pub struct Prediction {
    /// The expected wall time.
    pub wall: Nanos,
    /// The low end of its interval.
    pub low: Nanos,
    /// The high end of its interval.
    pub high: Nanos,
    /// What would hold the program up then.
    pub next: Option<Next>,
    /// How often a thread had to be let through because the replay was stuck: see [`Replayed::let_through`].
    pub let_through: u64,
    /// Locks of which most holds are known only in number, and which might hold the program up then.
    pub unseen: Vec<ObjectId>,
}

/// Why a process cannot be replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoReplay {
    /// None of its threads were recorded.
    #[error("nothing was recorded that could be replayed")]
    Nothing,
    /// What was recorded contradicts itself, so that the replay of it, or of it with a change, does not come to its end.
    #[error("what was recorded contradicts itself: a replay of it comes to no end; record again")]
    Endless,
    /// With the change its threads wait for each other, and end with work left undone.
    #[error(
        "what was recorded does not say how its threads would share the work then: they would wait for each other and \
         leave some of it undone"
    )]
    Undone,
    /// It takes more than there is for it.
    #[error("to replay it takes longer than an answer may")]
    NoTime,
}

impl Prediction {
    /// The wall time less the predicted one (ns), with its low and its high end. Negative where the change makes the
    /// program slower.
    pub fn gain(&self, wall: Nanos) -> [i64; 3] {
        [self.wall, self.high, self.low].map(|predicted| wall.get() as i64 - predicted.get() as i64)
    }
}

/// A recorded process that can be replayed with changes.
#[derive(Debug)]
pub struct Replayer<'a> {
    recorded: Recorded<'a>,
    program: Program,
    machine: Machine,
    /// On each of the [`variants`].
    unchanged: Vec<Replayed>,
}

/// How far replays with other costs are from the one with the estimated costs, as shares of that.
#[derive(Clone, Copy, Default, Debug)]
struct Spread {
    below: f64,
    above: f64,
}

impl Spread {
    fn of(ratios: &[f64]) -> Self {
        let middle = ratios[0].max(f64::MIN_POSITIVE);
        let share = |ratio: &f64| ratio / middle - 1.0;
        let shares = ratios.iter().map(share);
        shares.fold(Self::default(), |all, share| Self {
            below: all.below.max(-share),
            above: all.above.max(share),
        })
    }

    fn widest(self, other: Spread) -> Self {
        Self { below: self.below.max(other.below), above: self.above.max(other.above) }
    }
}

/// What became of a prediction.
struct Attempt {
    /// Events of its replays.
    events: u64,
    /// With how wide its interval is.
    prediction: Result<(Prediction, Spread), NoReplay>,
}

/// How many replays there are for a prediction.
const VARIANTS: usize = 3;

/// Replays with other costs of sleeping and waking: as estimated, none, twice the latency.
fn variants(machine: &Machine) -> [Machine; VARIANTS] {
    let twice = machine.latency.map(|(limit, latency)| (limit, latency * 2));
    [machine.clone(), machine.without_costs(), Machine { latency: twice, ..machine.clone() }]
}

/// Work that is done while another thread works too (CPU time): all that is more than one core can do in the run's time.
fn overlapped(run: &Replayed) -> Nanos {
    work_of(run).saturating_sub(run.wall)
}

/// What its threads did (CPU time).
fn work_of(run: &Replayed) -> Nanos {
    run.worked.iter().copied().map(Nanos::new).sum()
}

impl<'a> Replayer<'a> {
    /// Takes a process on so many cores apart.
    ///
    /// # Errors
    /// [`NoReplay`] where that gives nothing that can be replayed.
    pub fn of(process: &'a Process, timeline: &'a Timeline, cores: u32) -> Result<Self, NoReplay> {
        workers::prepare();
        let program = extract(process, timeline).ok_or(NoReplay::Nothing)?;
        let machine = Machine::of(process, timeline, cores);
        let machines = variants(&machine);
        let replayed = |machine: &Machine| replay(&program, machine, &Behaviour::default());
        let unchanged: Vec<Replayed> = machines.par_iter().map(replayed).collect();
        if !unchanged.iter().all(|run| run.is_whole) {
            return Err(NoReplay::Endless);
        }
        let recorded = Recorded::new(process, timeline);
        let replayer = Self { recorded, program, machine, unchanged };
        if replayer.replayed() > Nanos::ZERO { Ok(replayer) } else { Err(NoReplay::Nothing) }
    }

    /// Events of the unchanged replay: what one replay more takes about.
    pub fn events(&self) -> u64 {
        self.unchanged[0].events
    }

    /// What is left of a budget once the process was replayed unchanged.
    pub fn budget(&self, mut all: Budget) -> Budget {
        all.spend(self.unchanged.iter().map(|run| run.events).sum());
        all
    }

    /// The program that is replayed.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The machine that it is replayed on.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The wall time of the unchanged program as replayed: how far it is from the recorded one says how far
    /// predictions can be trusted.
    pub fn replayed(&self) -> Nanos {
        self.unchanged[0].wall
    }

    /// Over how many threads the work that these do alone can be thought of as spread ([`Change::Spread`]), where so many share
    /// it out as the program does elsewhere: they do not all begin and end at once.
    pub fn spread_over(&self, threads: &[ThreadId], number: u32) -> f64 {
        let over = f64::from(number) * efficiency(&self.recorded, threads, number.min(self.machine.cores));
        (over * 10.0).round().max(10.0) / 10.0
    }

    /// How often a thread had to be let through in the unchanged replay.
    pub fn let_through(&self) -> u64 {
        self.unchanged[0].let_through
    }

    /// What all these changes together would give.
    ///
    /// # Errors
    /// Where the replay comes to no end, which takes a recording that contradicts itself, or leaves work undone.
    pub fn predict(&self, changes: &[Change]) -> Result<Prediction, NoReplay> {
        Ok(self.attempt(changes, None, &Budget::unlimited()).prediction?.0)
    }

    /// What changes would give, with an interval as wide as is known, else by replays with other costs.
    fn attempt(&self, changes: &[Change], known: Option<Spread>, budget: &Budget) -> Attempt {
        let setting = apply(&self.recorded, &self.program, &self.machine, changes);
        if changes.iter().all(|change| *change == Change::WithoutLoad) {
            // Nothing is replayed otherwise than it was.
            let prediction = Ok(self.prediction(changes, &self.unchanged, &setting, known));
            return Attempt { events: 0, prediction };
        }
        let machines = variants(&setting.machine);
        let machines = if known.is_some() { &machines[..1] } else { &machines[..] };
        let most = budget.of_one(self.events());
        let runs: Vec<Replayed> = machines
            .par_iter()
            .map(|machine| replay_within(&setting.program, machine, &setting.behaviour, most))
            .map(|run| setting.with_all_work(run))
            .collect();
        let events = runs.iter().map(|run| run.events).sum();
        let prediction = if !runs.iter().all(|run| run.is_whole) {
            Err(if most < u64::MAX { NoReplay::NoTime } else { NoReplay::Endless })
        } else if runs.iter().any(|run| self.is_undone(changes, &setting, run)) {
            Err(NoReplay::Undone)
        } else {
            Ok(self.prediction(changes, &runs, &setting, known))
        };
        Attempt { events, prediction }
    }

    /// True if a program with changes that leave all of its work to be done did much less of it than unchanged.
    fn is_undone(&self, changes: &[Change], setting: &Setting<'_>, run: &Replayed) -> bool {
        let got_stuck = run.let_through > self.unchanged[0].let_through;
        let keep_it = changes.iter().all(Change::keeps_work);
        keep_it
            && (work_of(run).get() as f64)
                < (1.0 - MOST_UNDONE) * self.work_left_by(changes, setting, got_stuck) as f64
    }

    /// What there is to do with these changes (ns): nothing is known of that where one of them takes work away. What threads do
    /// that are cut off by the end of the program need not be done, where the program did not get stuck on the way there and
    /// their work is not divided among others.
    fn work_left_by(&self, changes: &[Change], setting: &Setting<'_>, got_stuck: bool) -> u64 {
        if !changes.iter().all(Change::leaves_work_to_others) {
            return 0;
        }
        let is_divided = |thread: &ThreadId| {
            changes.iter().filter_map(Change::numbered).any(|threads| threads.contains(thread))
        };
        let is_wanted = |actor: &Actor| actor.is_awaited || got_stuck || is_divided(&actor.thread);
        let actors = self.program.actors.iter().zip(&self.unchanged[0].worked);
        let all: u64 = actors.filter(|(actor, _)| is_wanted(actor)).map(|(_, worked)| *worked).sum();
        all.saturating_sub(setting.relieved)
    }

    fn prediction(
        &self,
        changes: &[Change],
        runs: &[Replayed],
        setting: &Setting<'_>,
        known: Option<Spread>,
    ) -> (Prediction, Spread) {
        let recorded = self.recorded.timeline.wall().get() as f64;
        let ratios: Vec<f64> = runs
            .iter()
            .zip(&self.unchanged)
            .map(|(run, unchanged)| run.wall.get() as f64 / unchanged.wall.get().max(1) as f64)
            .collect();
        let margin = self.margin(changes, &runs[0]);
        let spread = known.unwrap_or_else(|| Spread::of(&ratios));
        let low = ratios[0] * (1.0 - spread.below) - margin;
        // What is divided among others is done by somebody, also where the replay lets one do it in less time.
        let is_left = changes.iter().all(Change::leaves_work_to_others);
        let work = if is_left {
            work_of(&self.unchanged[0]).saturating_sub(Nanos::new(setting.relieved)).max(work_of(&runs[0]))
        } else {
            work_of(&runs[0])
        };
        let at_once = work.saturating_sub(runs[0].wall);
        let at_once = at_once.saturating_sub(overlapped(&self.unchanged[0]));
        let slower = SLOWER_AT_ONCE * at_once.share_of(self.unchanged[0].wall);
        let high = ratios[0] * (1.0 + spread.above) + margin + slower;
        // Of a run alone on the machine: what it may be shorter than the recorded one, likely, most and least.
        let alone = if changes.contains(&Change::WithoutLoad) {
            let likely = self.without_core(BEHIND_ANOTHER) as f64;
            let most = self.without_core(Nanos::ZERO) as f64;
            [(recorded - self.replayed().get() as f64).clamp(0.0, likely), most, 0.0]
        } else {
            [0.0; 3]
        };
        let ratios = [ratios[0], low, high].into_iter().zip(alone);
        let walls = ratios.map(|(ratio, less)| ((recorded - less).max(0.0) * ratio.max(0.0)).round() as u64);
        // No run is shorter than its work on all cores.
        let least = self.work_left_by(changes, setting, false) / u64::from(setting.machine.cores.max(1));
        let least = least.min(recorded as u64);
        let walls: Vec<Nanos> = walls.map(|wall| Nanos::new(wall.max(least))).collect();
        let (wall, low, high) = (walls[0], walls[1], walls[2]);
        let prediction = Prediction {
            wall,
            low,
            high,
            next: self.next(&runs[0], &setting.program, setting.machine.cores),
            let_through: runs[0].let_through,
            unseen: self.unseen(&setting.program, runs[0].wall),
        };
        (prediction, spread)
    }

    /// As [`Replayer::predict`] for several sets of changes, on all cores, one after another until the budget is spent:
    /// [`NoReplay::NoTime`] for those that it is not enough for.
    pub fn sweep(&self, sets: &[Vec<Change>], budget: &mut Budget) -> Vec<Result<Prediction, NoReplay>> {
        // So many at once, and not as many as there are cores: which ones are replayed must not depend on the machine.
        const AT_ONCE: usize = 8;
        let mut found = Vec::with_capacity(sets.len());
        while found.len() < sets.len() {
            let affordable = budget.replays(self.events()) / VARIANTS;
            let next: Vec<_> = sets[found.len()..].iter().take(affordable.min(AT_ONCE)).collect();
            if next.is_empty() {
                break;
            }
            let attempts: Vec<_> =
                next.par_iter().map(|changes| self.attempt(changes, None, budget)).collect();
            for attempt in attempts {
                budget.spend(attempt.events);
                found.push(attempt.prediction.map(|(prediction, _)| prediction));
            }
        }
        found.resize(sets.len(), Err(NoReplay::NoTime));
        found
    }

    /// The same for one change in several sizes. In a long recording only the first, the middle and the last size are replayed with
    /// other costs too; the widest of their intervals is that of all others. Nothing where the budget is not enough for all.
    pub fn curve(&self, sizes: &[Vec<Change>], budget: &mut Budget) -> Vec<Result<Prediction, NoReplay>> {
        let full = [0, sizes.len() / 2, sizes.len().saturating_sub(1)];
        let is_short = self.program.steps.len() < LONG || sizes.len() <= full.len();
        let replays =
            if is_short { sizes.len() * VARIANTS } else { sizes.len() + full.len() * (VARIANTS - 1) };
        if budget.replays(self.events()) < replays {
            return vec![Err(NoReplay::NoTime); sizes.len()];
        }
        if is_short {
            return self.sweep(sizes, budget);
        }
        let attempt = |size: usize, known| self.attempt(&sizes[size], known, budget);
        let some: Vec<Attempt> = full.par_iter().map(|&size| attempt(size, None)).collect();
        let spreads = some.iter().filter_map(|attempt| Some(attempt.prediction.as_ref().ok()?.1));
        let spread = spreads.fold(Spread::default(), Spread::widest);
        let is_known = |size: &usize| full.contains(size);
        let others = (0..sizes.len()).into_par_iter();
        let others = others.map(|size| (!is_known(&size)).then(|| attempt(size, Some(spread))));
        let mut others: Vec<Option<Attempt>> = others.collect();
        for (size, attempt) in full.into_iter().zip(some) {
            others[size] = Some(attempt);
        }
        let mut predictions = Vec::with_capacity(sizes.len());
        for attempt in others.into_iter().flatten() {
            budget.spend(attempt.events);
            predictions.push(attempt.prediction.map(|(prediction, _)| prediction));
        }
        predictions
    }

    /// The longest time that a thread could have run and had no core (ns): no run is shorter by more without others on the
    /// machine. Wake-ups count that took so long at least.
    fn without_core(&self, wake_up: Nanos) -> u64 {
        let of_segment = |segment: &Segment| match segment.state {
            State::Waking if segment.length() < wake_up => Nanos::ZERO,
            State::Descheduled | State::Waking => segment.length(),
            State::Active | State::Spinning => {
                segment.length().saturating_sub(segment.cpu.unwrap_or(segment.length()))
            }
            _ => Nanos::ZERO,
        };
        let rows = self.recorded.timeline.threads.iter();
        let of_thread = |row: &Row| -> Nanos { row.segments.iter().map(of_segment).sum() };
        rows.map(of_thread).max().unwrap_or(Nanos::ZERO).get()
    }

    /// What is not known of the ratio of two replays: how far the unchanged one is off, and what runs differ by.
    fn margin(&self, changes: &[Change], run: &Replayed) -> f64 {
        let wall = self.recorded.timeline.wall().get().max(1) as f64;
        let off = (self.replayed().get() as f64 / wall - 1.0).abs();
        let locks = if changes.iter().any(Change::is_of_lock) { ERROR_OF_LOCKS } else { 0.0 };
        let stuck = self.let_through() as f64 / self.program.steps.len().max(1) as f64;
        let is_crowded = |run: &Replayed| run.crowded as f64 >= CROWDED * run.wall.get() as f64;
        let is_crowded = is_crowded(run) || is_crowded(&self.unchanged[0]);
        let crowds = if is_crowded { ERROR_OF_CROWDS } else { 0.0 };
        LEAST_ERROR + locks + crowds + off / 2.0 + stuck
    }

    fn next(&self, run: &Replayed, program: &Program, cores: u32) -> Option<Next> {
        let wall = run.wall.get().max(1) as f64;
        if run.worked.iter().sum::<u64>() as f64 >= BUSY_CORES * wall * f64::from(cores) {
            return Some(Next::Cores(cores));
        }
        let most = run.worked.iter().enumerate().max_by_key(|&(actor, worked)| (*worked, Reverse(actor)));
        if let Some((actor, &worked)) = most
            && worked as f64 >= MOST_OF_THE_TIME * wall
        {
            return Some(Next::Thread(program.actors[actor].thread));
        }
        let objects = &self.recorded.process.objects;
        let most = run.waited.iter().enumerate().filter(|(object, _)| objects[*object].thread.is_none());
        let (object, &waited) = most.max_by_key(|&(object, waited)| (*waited, Reverse(object)))?;
        (waited as f64 >= A_LOT_OF_WAITING * wall).then(|| Next::Object(ObjectId::new(object as u32)))
    }

    /// Locks whose holds are not steps, and would be a large part of the run.
    fn unseen(&self, program: &Program, wall: Nanos) -> Vec<ObjectId> {
        let mut steps = vec![0u64; program.locks.len()];
        for step in &program.steps {
            if let Op::Acquire(lock) = step.op {
                steps[lock.0 as usize] += 1;
            }
        }
        let much = |(lock, steps): &(&crate::LockFacts, u64)| {
            let is_seen = *steps >= lock.unseen;
            !is_seen && lock.unseen_hold as f64 >= MUCH_UNSEEN * wall.get() as f64
        };
        program.locks.iter().zip(steps).filter(much).map(|(lock, _)| lock.object).collect()
    }
}
