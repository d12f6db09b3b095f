//! Which runs are compared: at each number of threads the median one, and in it the process that does the work.

use std::collections::BTreeMap;

use holdup_model::{Arrange, Nanos, Run};
use holdup_sections::{Main, has_failed, main_of};

use super::{Measured, ScalePoint};

/// The runs at one number of threads.
pub(super) struct Chosen<'a> {
    pub(super) threads: u32,
    /// By wall time, at least one. Runs that failed are in it only if all did.
    pub(super) runs: Vec<Main<'a>>,
    /// Runs of which nothing was recorded, or which failed while others did not.
    pub(super) left_out: usize,
    /// True if all of `runs` failed.
    pub(super) failed: bool,
    pub(super) plain: Vec<Nanos>,
}

impl<'a> Chosen<'a> {
    /// Numbers of threads that were measured, ascending. Those of which nothing was recorded are left out.
    pub(super) fn of(points: &[ScalePoint<'a>]) -> Vec<Chosen<'a>> {
        let mut by_threads: BTreeMap<u32, (Vec<&'a Run>, Vec<Nanos>)> = BTreeMap::new();
        for point in points.iter().filter(|point| point.threads > 0) {
            let (runs, plain) = by_threads.entry(point.threads).or_default();
            runs.extend(point.runs);
            plain.extend(point.plain);
        }
        by_threads
            .into_iter()
            .filter_map(|(threads, (runs, plain))| Self::at(threads, &runs, plain))
            .collect()
    }

    fn at(threads: u32, runs: &[&'a Run], plain: Vec<Nanos>) -> Option<Self> {
        let recorded: Vec<Main<'a>> = runs.iter().filter_map(|run| main_of(run)).collect();
        let mut kept: Vec<Main<'a>> = recorded.iter().copied().filter(|main| !has_failed(main.run)).collect();
        let failed = kept.is_empty();
        if failed {
            kept = recorded;
        }
        kept.arrange_by_key(|main| (main.wall(), main.process.start));
        let left_out = runs.len() - kept.len();
        (!kept.is_empty()).then_some(Self { threads, runs: kept, left_out, failed, plain })
    }

    /// The run that stands for all.
    pub(super) fn run(&self) -> &'a Run {
        self.runs[self.median()].run
    }

    /// The index of the run that stands for all: of two in the middle the faster one.
    pub(super) fn median(&self) -> usize {
        (self.runs.len() - 1) / 2
    }

    /// A time of each run, told for the median run and with the range over all.
    pub(super) fn measured(&self, time: impl Fn(usize) -> Nanos) -> Measured {
        let times: Vec<Nanos> = (0..self.runs.len()).map(time).collect();
        Measured {
            median: times[self.median()],
            low: times.iter().copied().min().unwrap_or_default(),
            high: times.iter().copied().max().unwrap_or_default(),
            runs: times.len() as u32,
        }
    }
}
