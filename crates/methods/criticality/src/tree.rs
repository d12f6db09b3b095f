//! A run of many processes as one: a build, a test suite, a script. What its programs cost, how many threads were at work
//! at once, the path through the processes that decided how long it took, and what more jobs at once would give.
//!
//! Criticality is that of paper 4 (Du Bois et al., "Criticality Stacks", ISCA'13, Eq. 1) over the threads of all processes:
//! while r of them are active, each gets 1 / r of the time; a program has what its processes' threads have.

use std::collections::BTreeMap;

use holdup_model::{Arrange, Course, Fixed, Nanos, Process, Run, Time, from_fixed, names};

mod jobs;
mod life;
mod schedule;
mod walk;

use life::Lives;
pub(crate) use life::cpu_of;

pub use jobs::{Forecast, Jobs};
pub use walk::{Came, TreeStep};

/// A run of several processes, seen as one program.
#[derive(Clone, PartialEq, Debug)]
pub struct ProcessTree {
    /// How long the run took: T.
    pub wall: Nanos,
    /// How many CPUs its processes could have at a time; 0 where that is not known.
    pub cores: u32,
    /// How many processes there were. One that executes another program stays one.
    pub processes: usize,
    /// CPU time of all, as far as it is known.
    pub cpu: Nanos,
    /// By how many threads were active at once, from none on: for how long. The sum is T.
    pub at_once: Vec<Nanos>,
    /// In sixty parts of the same length: how many threads were active, on the average.
    pub over_time: Vec<f64>,
    /// What each program's processes did, those first that have most of the path.
    pub programs: Vec<ProgramShare>,
    /// From the start of the run to its end: which process the rest waited for.
    pub path: Vec<TreeStep>,
    /// The jobs of `make` and its like; `None` where none of them ran, or only one job.
    pub jobs: Option<Jobs>,
}

/// What the processes of one program did.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramShare {
    /// The file name of the program. Hostile.
    pub program: String,
    /// How many processes executed it.
    pub processes: usize,
    /// Their CPU time, as far as it is known.
    pub cpu: Nanos,
    /// Their criticality: of the time in which r threads of the run were active, 1 / r for each of theirs (ns).
    pub criticality: f64,
    /// How much of the path it is.
    pub on_path: Nanos,
    /// The process that has most of that (an index into [`Run::processes`]), and how much.
    pub longest: Option<(usize, Nanos)>,
}

/// Into how many parts the course of a run is cut.
const SLICES: usize = 60;

/// From this share of the CPU time on, one process is what the run is about: the others are beside it.
const MOST_OF_ALL: f64 = 0.6;

/// From this share of the CPU time and of the run's length on, one process is all of it.
const NEARLY_ALL: f64 = 0.9;

/// From this share on, what holds one process up is told too.
const MUCH_OF_ALL: f64 = 0.3;

impl ProcessTree {
    /// What the processes of a run did together; `None` where there was only one, or nothing is known of when any was active.
    pub fn of(run: &Run) -> Option<ProcessTree> {
        // That one has no others is known without when it was active.
        if run.processes.len() < 2 || run.end <= run.start {
            return None;
        }
        let lives = Lives::of(run);
        let processes = lives.processes();
        if processes < 2 {
            return None;
        }
        let sums = Sums::of(run, &lives);
        let path = walk::path(run, &lives);
        if path.is_empty() {
            return None;
        }
        let programs = programs(run, &lives, &sums, &path);
        let jobs = Jobs::of(run, &lives);
        Some(ProcessTree {
            wall: run.end.since(run.start),
            cores: run.processes.iter().map(|process| run.effective_cores_of(process)).max().unwrap_or(0),
            processes,
            cpu: lives.all.iter().map(|life| life.cpu).sum(),
            at_once: sums.at_once,
            over_time: sums.over_time,
            programs,
            path,
            jobs,
        })
    }

    /// True if this process used so much of the CPU time that what holds it up says something of the run.
    pub fn is_told_by(&self, process: &Process) -> bool {
        cpu_of(process).share_of(self.cpu) >= MUCH_OF_ALL
    }

    /// True if no process is what the run is about: what holds one of them up says little of the run. One with a single
    /// thread, which nothing in it holds up, is what the run is about only if there is hardly anything else.
    pub fn is_the_subject(&self, run: &Run) -> bool {
        let Some(busiest) = run.busiest().map(|index| &run.processes[index]) else { return false };
        let (cpu, life) = (cpu_of(busiest).share_of(self.cpu), busiest.wall().share_of(self.wall));
        let is_all = cpu >= NEARLY_ALL && life >= NEARLY_ALL;
        self.cpu > Nanos::ZERO && (cpu < MOST_OF_ALL || busiest.threads.len() <= 1 && !is_all)
    }

    /// How many threads were active on the average.
    pub fn parallelism(&self) -> f64 {
        let sum: f64 =
            self.at_once.iter().zip(0u32..).map(|(time, count)| time.seconds() * f64::from(count)).sum();
        let wall = self.wall.seconds();
        if wall > 0.0 { sum / wall } else { 0.0 }
    }

    /// The parallelism divided by the CPUs, from 0 to 1; `None` where these are not known.
    pub fn efficiency(&self) -> Option<f64> {
        (self.cores > 0).then(|| (self.parallelism() / f64::from(self.cores)).min(1.0))
    }

    /// How long exactly one thread of all was active.
    pub fn alone(&self) -> Nanos {
        self.at_once.get(1).copied().unwrap_or_default()
    }

    /// How long none was.
    pub fn nobody(&self) -> Nanos {
        self.at_once.first().copied().unwrap_or_default()
    }
}

/// What is summed over the threads of all processes.
struct Sums {
    at_once: Vec<Nanos>,
    over_time: Vec<f64>,
    /// By process (ns).
    criticality: Vec<f64>,
}

impl Sums {
    fn of(run: &Run, lives: &Lives) -> Sums {
        // What a thread gains is what V has grown by from each begin to its end.
        let mut changes: Vec<(Time, bool, usize)> = Vec::new();
        for (index, life) in lives.all.iter().enumerate() {
            for &(begin, end) in &life.active {
                changes.push((begin, true, index));
                changes.push((end, false, index));
            }
        }
        changes.sort_unstable();
        let mut course = Course::new(run.start.nanos());
        let mut gained: Vec<Fixed> = vec![0; lives.all.len()];
        let mut at_once: Vec<Nanos> = vec![Nanos::ZERO];
        let mut slices = Slices::of(run);
        for (time, begins, index) in changes {
            let (from, active) = (course.at(), course.active());
            let length = course.advance(time.nanos());
            add(&mut at_once, active, length);
            slices.add(from, from + length, active);
            course.change(begins);
            let v = course.v();
            gained[index] =
                if begins { gained[index].wrapping_sub(v) } else { gained[index].wrapping_add(v) };
        }
        let rest = course.advance(run.end.nanos());
        add(&mut at_once, course.active(), rest);
        Sums { at_once, over_time: slices.means(), criticality: gained.into_iter().map(from_fixed).collect() }
    }
}

fn add(at_once: &mut Vec<Nanos>, active: u32, length: u64) {
    let index = active as usize;
    if at_once.len() <= index {
        at_once.resize(index + 1, Nanos::ZERO);
    }
    at_once[index] += Nanos::new(length);
}

/// Thread time by part of the run.
struct Slices {
    start: u64,
    length: u64,
    sums: Vec<u128>,
}

impl Slices {
    fn of(run: &Run) -> Slices {
        let length = run.end.since(run.start).get();
        Slices { start: run.start.nanos(), length, sums: vec![0; SLICES] }
    }

    /// The border before a slice.
    fn border(&self, slice: usize) -> u64 {
        self.start + (u128::from(self.length) * slice as u128 / SLICES as u128) as u64
    }

    fn add(&mut self, from: u64, to: u64, active: u32) {
        if active == 0 || to <= from || self.length == 0 {
            return;
        }
        let first = (u128::from(from - self.start) * SLICES as u128 / u128::from(self.length)) as usize;
        for slice in first.saturating_sub(1)..SLICES {
            let (begin, end) = (self.border(slice).max(from), self.border(slice + 1).min(to));
            if begin >= to {
                break;
            }
            self.sums[slice] += u128::from(end.saturating_sub(begin)) * u128::from(active);
        }
    }

    fn means(&self) -> Vec<f64> {
        let mean = |slice: usize| {
            let length = self.border(slice + 1) - self.border(slice);
            if length > 0 { self.sums[slice] as f64 / length as f64 } else { 0.0 }
        };
        (0..SLICES).map(mean).collect()
    }
}

fn programs(run: &Run, lives: &Lives, sums: &Sums, path: &[TreeStep]) -> Vec<ProgramShare> {
    let mut on_path = vec![Nanos::ZERO; lives.all.len()];
    for step in path {
        on_path[step.process] += step.length();
    }
    let mut found: BTreeMap<String, ProgramShare> = BTreeMap::new();
    for (index, life) in lives.all.iter().enumerate() {
        let program = names::program_of(&run.processes[index]);
        let share = found.entry(program.clone()).or_insert_with(|| ProgramShare {
            program,
            processes: 0,
            cpu: Nanos::ZERO,
            criticality: 0.0,
            on_path: Nanos::ZERO,
            longest: None,
        });
        share.processes += 1;
        share.cpu += life.cpu;
        share.criticality += sums.criticality[index];
        share.on_path += on_path[index];
        let longest = share.longest.map_or(Nanos::ZERO, |(_, time)| time);
        if on_path[index] > longest {
            share.longest = Some((index, on_path[index]));
        }
    }
    let mut programs: Vec<ProgramShare> = found.into_values().collect();
    programs.arrange_by_key(|share| (std::cmp::Reverse((share.on_path, share.cpu)), share.program.clone()));
    programs
}
