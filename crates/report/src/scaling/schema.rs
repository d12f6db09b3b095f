//! The shape of `holdup scale --json`, schema 1; `docs/json-schema/scale.schema.json` is made of it.

use serde::Serialize;

use crate::schema::{Amount, Place};

/// The version of the JSON that [`scale_json`](crate::scale_json) gives. It grows only where a member changes
/// its meaning; members may be added at any time.
pub const SCALE_SCHEMA: u32 = 1;

/// How a program scales over several numbers of threads. Schema 1: members may be added, none is taken away and none
/// changes its meaning. Times are whole nanoseconds (names end in _ns) of wall time; losses and gains may be negative.
/// Numbers that could not be computed are null. Names of functions and files, and the command, are as the program gave
/// them: escape them where they are shown.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "holdup scale --json"))]
pub(crate) struct Scale<'a> {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCALE_SCHEMA)))]
    pub(crate) schema: u32,
    /// The version of holdup that wrote this.
    pub(crate) holdup: &'static str,
    /// The command that was run.
    pub(crate) command: &'a [String],
    /// Cores of the machine that the program could use.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(crate) cores: Option<u32>,
    /// The largest share of the CPUs' time that others used in a run; null where it was below a tenth, or is not known.
    #[cfg_attr(test, schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) used_by_others: Option<f64>,
    /// Why the runs say nothing of how the program scales: it uses another number of threads than it was to. Then there are no
    /// regions, hints, law and efficiencies, and all losses are 0. Else null.
    pub(crate) ignored: Option<&'a str>,
    /// The whole program at each number of threads, ascending. The first one is the base of all speedups.
    pub(crate) runs: Vec<Whole>,
    /// Parallel regions, sections, and what one thread does alone, by falling potential gain.
    pub(crate) regions: Vec<Region<'a>>,
    /// What would help the whole program most, best first.
    pub(crate) hints: Vec<Hint<'a>>,
    /// The law that fits the wall time best; null for fewer than three numbers of threads.
    pub(crate) model: Option<Law<'a>>,
    /// The hierarchy of efficiencies of the POP centre of excellence.
    pub(crate) pop: Pop<'a>,
    /// What a reader must know to trust the numbers, as sentences.
    pub(crate) notes: &'a [String],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Whole {
    /// The number of threads that the program was told to use.
    pub(crate) threads: u32,
    /// Wall time: the median of the runs.
    pub(crate) wall_ns: u64,
    pub(crate) measured: Measured,
    /// Time at the base divided by the time here.
    pub(crate) speedup: Amount,
    /// Parallel efficiency: speedup times base threads / threads.
    pub(crate) efficiency: Amount,
    pub(crate) losses: Losses,
    /// The same causes as what they cost here, whether or not they cost as much at the base. Here lost_ns is the time
    /// minus the useful time, and inflation_ns is 0, since more time for the same work is useful time.
    pub(crate) costs: Losses,
    /// The share of the time in parallel regions that was recorded whole; null without regions.
    #[cfg_attr(test, schemars(range(min = 0.0, max = 1.0)))]
    pub(crate) whole_share: Option<f64>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Measured {
    pub(crate) median_ns: u64,
    /// The least.
    pub(crate) low_ns: u64,
    /// The most.
    pub(crate) high_ns: u64,
    /// How often it was measured.
    pub(crate) runs: u32,
}

/// Where the time that perfect scaling would save went.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Losses {
    /// Time here minus time at the base times base threads / threads. The other members add up to it.
    pub(crate) lost_ns: i64,
    /// Threads wait because others come late, late releases taken out.
    pub(crate) imbalance_ns: i64,
    /// All threads have arrived at a barrier and none has left yet.
    pub(crate) walkthrough_ns: i64,
    /// Some threads have left a barrier and others not yet: lateness that the next barrier sees is blamed here.
    pub(crate) startup_ns: i64,
    /// Acquisitions of locks times the fastest acquisition.
    pub(crate) lock_algorithm_ns: i64,
    /// Waiting for locks that others have.
    pub(crate) lock_contention_ns: i64,
    /// The runtime deals out chunks, makes tasks, forks threads.
    pub(crate) scheduling_ns: i64,
    /// Only one thread may work.
    pub(crate) serial_ns: i64,
    /// Threads find no task to execute.
    pub(crate) starvation_ns: i64,
    /// More CPU time for the same work than at the base.
    pub(crate) inflation_ns: i64,
    /// Threads could run and had no core.
    pub(crate) oversubscription_ns: i64,
    /// What none of these explains; negative where they explain too much.
    pub(crate) unexplained_ns: i64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Region<'a> {
    /// parallel: an OpenMP parallel region. section: the code between two barriers, or between creation and join of
    /// threads. serial: what only one thread does.
    #[cfg_attr(test, schemars(extend("enum" = region_kinds())))]
    pub(crate) kind: &'static str,
    /// True if it is executed inside of another region, or beside one that another thread met: its time is in that of the
    /// other already.
    pub(crate) nested: bool,
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// At each number of threads at which it was executed, ascending.
    pub(crate) points: Vec<RegionPoint>,
    /// Time at the most threads minus time at perfect efficiency there; 0 where it scales better.
    pub(crate) potential_gain_ns: u64,
    /// Those of its last point.
    pub(crate) losses: Losses,
    pub(crate) hints: Vec<Hint<'a>>,
    pub(crate) model: Option<Law<'a>>,
}

#[cfg(test)]
fn region_kinds() -> [&'static str; 3] {
    use holdup_scaling::RegionKind::{Parallel, Section, Serial};
    [Parallel, Section, Serial].map(super::words::region_kind)
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RegionPoint {
    /// The number of threads that the program was told to use.
    pub(crate) threads: u32,
    /// Threads that worked in it, as a mean over its instances.
    pub(crate) team: Amount,
    /// How often it was executed.
    pub(crate) instances: u64,
    /// How many of these were recorded whole.
    pub(crate) whole_instances: u64,
    /// Time in it: the median of the runs.
    pub(crate) ns: u64,
    pub(crate) measured: Measured,
    /// The standard error of the losses that come from sampled instances, relative to lost_ns.
    pub(crate) error: Amount,
    /// Time at the base divided by the time here.
    pub(crate) speedup: Amount,
    /// Parallel efficiency: speedup times base threads / threads.
    pub(crate) efficiency: Amount,
    pub(crate) losses: Losses,
    /// The same causes as what they cost here, as in runs.
    pub(crate) costs: Losses,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Hint<'a> {
    /// schedule, barriers, runtime, lock-hint, atomic, queue-lock, fewer-concurrent, coarser-regions, collapse,
    /// task-cutoff, more-tasks, parallelize, memory-use, fewer-threads; others may come.
    pub(crate) kind: &'static str,
    /// For which region: an index into regions; null for the whole program.
    pub(crate) region: Option<usize>,
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// What to do, as a sentence.
    pub(crate) what: &'a str,
    /// What it would save of the whole program's wall time at the most threads, with the ends of the interval; negative
    /// where it would cost; null where that cannot be told.
    pub(crate) gain: Option<HintGain>,
    /// True if the gain is an upper bound, not a prediction.
    pub(crate) bound: bool,
    /// How the gain was found.
    pub(crate) method: &'a str,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HintGain {
    pub(crate) ns: i64,
    pub(crate) low_ns: i64,
    pub(crate) high_ns: i64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Law<'a> {
    /// amdahl: T(n) = T(1) (s + (1 - s) / n). usl: T(n) = T(1) (1 + sigma (n - 1) + kappa n (n - 1)) / n. normal-form: a
    /// sum of terms c n^i log2(n)^j.
    pub(crate) kind: &'static str,
    pub(crate) formula: &'a str,
    pub(crate) parameters: Vec<LawParameter<'a>>,
    /// The root mean square relative error of predicting each measured point from the others.
    pub(crate) cross_validation_error: Amount,
    /// At the measured numbers of threads and beyond.
    pub(crate) predictions: Vec<LawPrediction>,
    /// The region that takes most of the loss at the furthest prediction: an index into regions. Only for the whole
    /// program.
    pub(crate) dominated_by: Option<usize>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LawParameter<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: Amount,
    /// The lower end of the 95 % interval.
    pub(crate) low: Amount,
    /// The upper end.
    pub(crate) high: Amount,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LawPrediction {
    /// The number of threads that the program was told to use.
    pub(crate) threads: u32,
    pub(crate) ns: u64,
    /// The lower end of the 95 % prediction interval.
    pub(crate) low_ns: u64,
    /// The upper end.
    pub(crate) high_ns: u64,
    pub(crate) efficiency: Amount,
    pub(crate) efficiency_low: Amount,
    pub(crate) efficiency_high: Amount,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Pop<'a> {
    /// One tree for each number of threads.
    pub(crate) points: Vec<PopPoint<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PopPoint<'a> {
    /// The number of threads that the program was told to use.
    pub(crate) threads: u32,
    pub(crate) efficiency: Efficiency<'a, Amount>,
}

/// An efficiency, and what it is the product of.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Efficiency"))]
pub(crate) struct Efficiency<'a, V> {
    pub(crate) name: &'a str,
    /// Mostly from 0 to 1. The product of its factors, where it has any.
    pub(crate) value: V,
    /// Empty for a leaf.
    pub(crate) factors: Vec<Efficiency<'a, V>>,
}
