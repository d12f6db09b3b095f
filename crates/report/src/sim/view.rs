//! What all faces work out from simulations: their stacks, which one is told in detail, and what each is compared with.

use holdup_cycles::{
    Aggregate, FalseSharing, Growth, PlaceCycles, aggregate, by_line, false_sharing, growth,
};
use holdup_model::cycles::{CycleComponent, CycleStack, Simulated};

use super::{SimRun, SimTold};
use crate::numbers::factor;

/// A face's view of what it tells.
pub(crate) struct View<'a> {
    /// What is told.
    pub(crate) told: &'a SimTold,
    /// The stacks of each simulation.
    pub(crate) aggregates: Vec<Aggregate>,
    main: Option<usize>,
}

impl<'a> View<'a> {
    pub(crate) fn new(told: &'a SimTold) -> Self {
        let aggregates = told.runs.iter().map(|run| aggregate(&run.simulated, &told.names)).collect();
        Self { told, aggregates, main: main(&told.runs) }
    }

    /// The simulation that is told in detail: unchanged, of the first input and machine, on the most cores.
    pub(crate) fn main(&self) -> Option<&'a SimRun> {
        self.told.runs.get(self.main?)
    }

    /// Its stacks.
    pub(crate) fn main_aggregate(&self) -> Option<&Aggregate> {
        self.aggregates.get(self.main?)
    }

    /// What a simulation is compared with, and how many times as fast it is, by time.
    pub(crate) fn speedup(&self, index: usize) -> Option<(&'a SimRun, f64)> {
        let runs = &self.told.runs;
        let base = &runs[reference(runs, index)?];
        let (time, own) = (seconds(&base.simulated), seconds(&runs[index].simulated));
        (own > 0.0).then_some((base, time / own))
    }

    /// Source lines by cycles, of the simulation that is told in detail.
    pub(crate) fn places(&self) -> Vec<PlaceCycles> {
        self.main().map_or_else(Vec::new, |run| by_line(&run.simulated, &self.told.names))
    }

    /// False sharing in that simulation.
    pub(crate) fn false_sharing(&self) -> Vec<FalseSharing> {
        self.main().map_or_else(Vec::new, |run| false_sharing(&run.simulated, &self.told.names))
    }

    /// What grew from the fewest cores to that simulation, where it was simulated on fewer cores too.
    pub(crate) fn growth(&self) -> Option<Growth> {
        let (main, runs) = (self.main?, &self.told.runs);
        let base = reference(runs, main)?;
        let is_less =
            is_like(&runs[base], &runs[main]) && runs[base].simulated.cores < runs[main].simulated.cores;
        is_less.then(|| growth(&runs[base].simulated, &runs[main].simulated))
    }

    /// What tells simulations apart: whether their inputs, machines, cores, changes differ.
    pub(crate) fn differs(&self) -> Differences {
        let runs = &self.told.runs;
        let differs = |is_same: fn(&SimRun, &SimRun) -> bool| runs.iter().any(|run| !is_same(run, &runs[0]));
        Differences {
            input: differs(|a, b| a.input == b.input),
            machine: differs(|a, b| a.simulated.machine == b.simulated.machine),
            cores: differs(|a, b| a.simulated.cores == b.simulated.cores),
            changes: differs(|a, b| a.simulated.changes == b.simulated.changes),
        }
    }
}

/// See [`View::differs`].
#[derive(Clone, Copy)]
pub(crate) struct Differences {
    pub(crate) input: bool,
    pub(crate) machine: bool,
    pub(crate) cores: bool,
    pub(crate) changes: bool,
}

/// The component with most cycles, and its share.
pub(crate) fn largest(stack: &CycleStack) -> Option<(CycleComponent, f64)> {
    let most = stack.parts().max_by_key(|(component, cycles)| (*cycles, std::cmp::Reverse(*component)))?;
    Some((most.0, most.1 as f64 / stack.total() as f64))
}

/// The part of a component in all cycles of a stack.
pub(crate) fn share(stack: &CycleStack, component: CycleComponent) -> f64 {
    stack.get(component) as f64 / stack.total().max(1) as f64
}

/// Cycles for each instruction; `None` without one.
pub(crate) fn cpi(cycles: u64, instructions: u64) -> Option<f64> {
    (instructions > 0).then(|| cycles as f64 / instructions as f64)
}

/// The same in words. A dash where it says nothing: of threads that do hardly anything but wait.
pub(crate) fn told_cpi(cycles: u64, instructions: u64) -> String {
    const MOST: f64 = 1000.0;
    match cpi(cycles, instructions) {
        Some(cpi) if cpi < MOST => factor(cpi),
        Some(_) => "-".to_owned(),
        None => String::new(),
    }
}

/// Simulated seconds.
fn seconds(run: &Simulated) -> f64 {
    run.cycles as f64 / (run.frequency * 1e9).max(1.0)
}

fn is_like(a: &SimRun, b: &SimRun) -> bool {
    a.input == b.input && a.simulated.machine == b.simulated.machine
}

fn main(runs: &[SimRun]) -> Option<usize> {
    let first = runs.first()?;
    let unchanged =
        runs.iter().enumerate().filter(|(_, run)| is_like(run, first) && run.simulated.changes.is_empty());
    unchanged
        .max_by_key(|(index, run)| (run.simulated.cores, std::cmp::Reverse(*index)))
        .map_or(Some(0), |(index, _)| Some(index))
}

/// What a simulation is compared with: a changed one with the same unchanged one; an unchanged one with that on the fewest
/// cores; without any, with the first unchanged one of the same input on another machine.
fn reference(runs: &[SimRun], index: usize) -> Option<usize> {
    let run = &runs[index];
    let unchanged =
        || runs.iter().enumerate().filter(|(other, one)| *other != index && one.simulated.changes.is_empty());
    if !run.simulated.changes.is_empty() {
        let is_same = |one: &SimRun| is_like(one, run) && one.simulated.cores == run.simulated.cores;
        return unchanged().find(|(_, one)| is_same(one)).map(|(other, _)| other);
    }
    let fewer = unchanged().filter(|(_, one)| is_like(one, run) && one.simulated.cores < run.simulated.cores);
    if let Some((other, _)) = fewer.min_by_key(|(other, one)| (one.simulated.cores, *other)) {
        return Some(other);
    }
    let is_base = unchanged().any(|(_, one)| is_like(one, run));
    let other =
        unchanged().find(|(other, one)| *other < index && one.input == run.input && !is_like(one, run));
    other.filter(|_| !is_base).map(|(other, _)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(input: &str, machine: &str, cores: u32, cycles: u64, changes: &[&str]) -> SimRun {
        let simulated = Simulated {
            machine: machine.to_owned(),
            cores,
            cycles,
            frequency: 2.0,
            changes: changes.iter().map(|change| (*change).to_owned()).collect(),
            ..Simulated::default()
        };
        SimRun { input: input.to_owned(), simulated, ..SimRun::default() }
    }

    #[test]
    fn each_is_compared_with_its_like() {
        let runs = vec![
            run("", "a", 8, 500, &[]),
            run("", "a", 2, 1000, &[]),
            run("", "a", 8, 250, &["perfect branches"]),
            run("", "b", 8, 250, &[]),
            run("small", "a", 8, 100, &[]),
            run("", "a", 4, 100, &["free locks"]),
        ];
        let told = SimTold { runs, ..SimTold::default() };
        let view = View::new(&told);
        let speedups: Vec<Option<f64>> =
            (0..told.runs.len()).map(|index| view.speedup(index).map(|(_, speedup)| speedup)).collect();
        assert_eq!(speedups, [Some(2.0), None, Some(2.0), Some(2.0), None, None]);
        assert_eq!(view.main().unwrap().simulated.cores, 8);
        assert!(view.main().unwrap().simulated.changes.is_empty());
        assert!(view.growth().is_some());
    }

    #[test]
    fn changed_runs_alone_are_told_too() {
        let told = SimTold { runs: vec![run("", "a", 8, 0, &["x"])], ..SimTold::default() };
        let view = View::new(&told);
        assert!(view.main().is_some() && view.speedup(0).is_none() && view.growth().is_none());
        assert!(View::new(&SimTold::default()).main().is_none());
    }
}
