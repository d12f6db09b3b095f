//! The simulations that a table of policies needs, and what they say.

use holdup_feed::Prepared;
use holdup_model::cycles::Simulated;
use holdup_model::{Run, Steered};
use holdup_policies::{
    PolicyRun, PolicyThread, ProgramPolicies, Sweep, SweepPoint, Validation, scaled_slice_ns,
};
use holdup_policy::{Choice, Rules, best_single, most};
use holdup_sim::{Machine, Options, Program, Steering};

use crate::simulation::{Watch, all};

/// A recorded program.
pub(super) struct Subject<'a> {
    pub(super) name: String,
    pub(super) run: &'a Run,
    pub(super) prepared: &'a Prepared<'a>,
}

/// What is wanted of each.
pub(super) struct Wanted<'a> {
    pub(super) machine: &'a Machine,
    /// As many as threads that work where there is no number.
    pub(super) cores: Option<u32>,
    /// GHz.
    pub(super) fast: f64,
    /// As long as the run allows where there is none.
    pub(super) slice_ns: Option<f64>,
    pub(super) rules: Rules,
    pub(super) validate: bool,
    pub(super) sweep: bool,
    pub(super) jobs: usize,
}

/// How many of the most critical threads are accelerated one by one (Fig. 4b).
const VALIDATED: usize = 3;

/// The frequencies of a sweep: from the machine's on in so many steps to twice as much (Fig. 6: from 2 to 4 GHz by 0.25).
const SWEEP_STEPS: u32 = 8;

/// A thread that is active for less than this share of the run is not tried: it could save no more than a fifth of that.
const ACTIVE_ENOUGH: f64 = 0.01;

/// A simulation.
#[derive(Clone, Debug, PartialEq)]
struct Job {
    subject: usize,
    steering: Steering,
}

/// What it gave.
struct Done {
    cycles: u64,
    steered: Steered,
    warnings: Vec<String>,
}

impl Done {
    fn of(simulated: Simulated) -> Self {
        let warnings = simulated.all_warnings().cloned().collect();
        Self { cycles: simulated.cycles, steered: simulated.steered.unwrap_or_default(), warnings }
    }

    fn run(&self, frequency: f64) -> PolicyRun {
        PolicyRun::of(&self.steered, self.cycles, frequency)
    }
}

/// All simulations of all programs; `None` if the user did not want to wait.
pub(super) fn simulated(subjects: &[Subject<'_>], wanted: &Wanted<'_>) -> Option<Vec<ProgramPolicies>> {
    let first: Vec<Job> =
        (0..subjects.len()).map(|subject| wanted.job(subject, Choice::Nobody, None)).collect();
    let without = wave(&first, subjects, wanted)?;
    let slices: Vec<f64> = without.iter().map(|done| wanted.slice(done)).collect();
    let mut plans = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    for (index, (done, slice)) in without.iter().zip(&slices).enumerate() {
        let mut plan = Plan { subject: index, slice: *slice, wanted, jobs: &mut jobs };
        plans.push(plan.all(done));
    }
    let done = wave(&jobs, subjects, wanted)?;
    let all = subjects.iter().zip(plans).zip(without.iter().zip(slices));
    Some(
        all.map(|((subject, plan), (without, slice))| told(subject, &plan, without, &done, slice, wanted))
            .collect(),
    )
}

impl Wanted<'_> {
    fn cores(&self, subject: &Subject<'_>) -> u32 {
        let usual = || subject.prepared.working_at_once().clamp(1, self.machine.cores().max(1));
        self.cores.unwrap_or_else(usual)
    }

    fn slice(&self, without: &Done) -> f64 {
        let nanoseconds = without.cycles as f64 / self.machine.frequency;
        self.slice_ns.unwrap_or_else(|| scaled_slice_ns(nanoseconds, without.steered.updates.0))
    }

    fn job(&self, subject: usize, choice: Choice, slice_ns: Option<f64>) -> Job {
        // A slice as long as any run: nothing is decided.
        let slice_ns = slice_ns.or(self.slice_ns).unwrap_or(1e12);
        Job { subject, steering: Steering { choice, fast: self.fast, slice_ns, most: self.rules.most } }
    }
}

/// Where the runs of a program are among all.
struct Planned {
    all: usize,
    tcp: usize,
    bis: usize,
    dynamic: usize,
    offline: (Vec<u32>, usize),
    /// By thread.
    singles: Vec<(u32, usize)>,
    validation: Vec<(u32, usize)>,
    /// The thread, and the runs from the second frequency on.
    sweep: Option<(u32, Vec<(f64, usize)>)>,
}

struct Plan<'a> {
    subject: usize,
    slice: f64,
    wanted: &'a Wanted<'a>,
    jobs: &'a mut Vec<Job>,
}

impl Plan<'_> {
    fn all(&mut self, without: &Done) -> Planned {
        let rules = self.wanted.rules;
        // Whole cycles rank them.
        let cycles: Vec<u64> = without.steered.criticality.iter().map(|cycles| *cycles as u64).collect();
        let offline = most(&cycles, rules.most);
        let critical = most(&cycles, VALIDATED);
        let twice = self.wanted.machine.frequency * 2.0;
        let singles = (0..)
            .zip(&without.steered.prospects)
            .filter(|(_, found)| found.active as f64 >= ACTIVE_ENOUGH * without.cycles as f64)
            .map(|(thread, _)| thread)
            .collect::<Vec<u32>>();
        let choice = match offline[..] {
            // The same run as that in which it is tried.
            [only] => Choice::Single(only),
            _ => Choice::Offline(offline.clone()),
        };
        Planned {
            all: self.run(Choice::All),
            tcp: self.run(Choice::CacheMisses),
            bis: self.run(Choice::Bottlenecks),
            dynamic: self.run(Choice::Dynamic(rules)),
            singles: singles.into_iter().map(|thread| (thread, self.run(Choice::Single(thread)))).collect(),
            offline: (offline, self.run(choice)),
            validation: critical
                .iter()
                .take(if self.wanted.validate { VALIDATED } else { 0 })
                .map(|&thread| (thread, self.at(thread, twice)))
                .collect(),
            sweep: critical.first().filter(|_| self.wanted.sweep).map(|&thread| {
                let base = self.wanted.machine.frequency;
                let step = |step| base * (1.0 + f64::from(step) / f64::from(SWEEP_STEPS));
                let at = |frequency| (frequency, self.at(thread, frequency));
                (thread, (1..=SWEEP_STEPS).map(step).map(at).collect())
            }),
        }
    }

    fn run(&mut self, choice: Choice) -> usize {
        let job = self.wanted.job(self.subject, choice, Some(self.slice));
        self.add(job)
    }

    /// One thread for the whole run at a frequency.
    fn at(&mut self, thread: u32, fast: f64) -> usize {
        let mut job = self.wanted.job(self.subject, Choice::Single(thread), Some(self.slice));
        job.steering.fast = fast;
        self.add(job)
    }

    fn add(&mut self, job: Job) -> usize {
        self.jobs.iter().position(|known| *known == job).unwrap_or_else(|| {
            self.jobs.push(job);
            self.jobs.len() - 1
        })
    }
}

/// Does simulations beside each other.
fn wave(jobs: &[Job], subjects: &[Subject<'_>], wanted: &Wanted<'_>) -> Option<Vec<Done>> {
    let amounts: Vec<u64> = jobs.iter().map(|job| subjects[job.subject].prepared.instructions()).collect();
    let watch = Watch::new(&amounts);
    let done = all(&watch, wanted.jobs, |index| {
        let job = &jobs[index];
        let subject = &subjects[job.subject];
        let cores = wanted.cores(subject);
        let how = Options { cores, steering: Some(job.steering.clone()), ..Options::default() };
        let progress = &mut |progress: &holdup_sim::Progress| watch.at(index, progress.instructions);
        let machine = wanted.machine.with_cores(cores);
        Done::of(subject.prepared.simulated(true, &machine, &how, progress))
    })?;
    Some(done.into_iter().map(|(done, _)| done).collect())
}

fn told(
    subject: &Subject<'_>,
    plan: &Planned,
    without: &Done,
    done: &[Done],
    slice_ns: f64,
    wanted: &Wanted<'_>,
) -> ProgramPolicies {
    let program = subject.prepared.program();
    let number = |thread: u32| program.threads.get(thread as usize).map_or(thread, |found| found.number);
    let frequency = wanted.machine.frequency;
    let speedup = |run: usize| without.cycles as f64 / done[run].cycles.max(1) as f64;
    let tried: Vec<(u32, u64)> =
        plan.singles.iter().map(|&(thread, run)| (thread, done[run].cycles)).collect();
    let best = best_single(without.cycles, &tried).map(|found| found.0);
    let best_run = plan.singles.iter().find(|single| Some(single.0) == best).map(|single| &done[single.1]);
    let named = |policy: &str, run: &Done, chosen: &[u32]| PolicyRun {
        policy: policy.to_owned(),
        chosen: chosen.iter().map(|&thread| number(thread)).collect(),
        ..run.run(frequency)
    };
    let runs = vec![
        named("none", without, &[]),
        named("all", &done[plan.all], &[]),
        named("offline", &done[plan.offline.1], &plan.offline.0),
        named("single", best_run.unwrap_or(without), best.as_slice()),
        named("tcp", &done[plan.tcp], &[]),
        named("bis", &done[plan.bis], &[]),
        named("dynamic", &done[plan.dynamic], &[]),
    ];
    let cores = wanted.cores(subject);
    ProgramPolicies {
        name: subject.name.clone(),
        command: subject.run.command.clone(),
        working: subject.prepared.working_at_once(),
        cores,
        slice_ns,
        runs,
        threads: threads(program, without, |thread| {
            let single = plan.singles.iter().find(|single| single.0 == thread);
            single.map(|&(_, run)| speedup(run))
        }),
        validation: plan
            .validation
            .iter()
            .map(|&(thread, run)| Validation {
                thread: number(thread),
                frequency: done[run].steered.fast,
                speedup: speedup(run),
            })
            .collect(),
        sweep: plan.sweep.as_ref().map(|(thread, points)| Sweep {
            thread: number(*thread),
            points: std::iter::once(SweepPoint {
                frequency,
                speedup: 1.0,
                criticality: criticality(without),
            })
            .chain(points.iter().map(|&(frequency, run)| SweepPoint {
                frequency,
                speedup: speedup(run),
                criticality: criticality(&done[run]),
            }))
            .collect(),
        }),
        warnings: warnings(subject, without),
    }
}

fn criticality(run: &Done) -> Vec<f64> {
    run.steered.criticality.iter().map(|cycles| cycles / run.cycles.max(1) as f64).collect()
}

fn threads(program: &Program, without: &Done, simulated: impl Fn(u32) -> Option<f64>) -> Vec<PolicyThread> {
    let whole = without.cycles.max(1) as f64;
    let criticality = criticality(without);
    let one = |(index, facts): (usize, &holdup_sim::SimThread)| {
        let found = without.steered.prospects.get(index).copied().unwrap_or_default();
        PolicyThread {
            number: facts.number,
            name: facts.name.clone(),
            criticality: criticality.get(index).copied().unwrap_or(0.0),
            scaling: found.scaling / whole,
            alone: found.alone as f64 / whole,
            predicted: whole / (whole - found.saved).max(1.0),
            simulated: simulated(index as u32),
        }
    };
    program.threads.iter().enumerate().map(one).collect()
}

fn warnings(subject: &Subject<'_>, without: &Done) -> Vec<String> {
    let mut warnings = without.warnings.clone();
    for warning in &subject.run.warnings {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    warnings
}
