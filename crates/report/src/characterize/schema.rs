//! The shape of `holdup characterize --json`, schema 1; `docs/json-schema/characterize.schema.json` is made of it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::schema::Amount;
#[cfg(test)]
use crate::schema::WHOLE;

/// The version of the JSON that [`characterize_json`](crate::characterize_json) gives. It grows only where a member changes
/// its meaning; members may be added at any time.
pub const CHARACTERIZE_SCHEMA: u32 = 1;

/// Which programs behave alike, and how each moves with threads and input. docs/sweep.md says how it is computed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "holdup characterize --json"))]
pub(crate) struct Characterize<'a> {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = CHARACTERIZE_SCHEMA)))]
    pub(crate) schema: u32,
    /// The version of holdup that wrote this.
    pub(crate) holdup: &'static str,
    /// What was compared, in words.
    pub(crate) of: &'a str,
    /// Whether values are shares of a whole.
    pub(crate) shares: bool,
    pub(crate) pca: Pca<'a>,
    /// The names of the columns.
    pub(crate) columns: &'a [String],
    /// All components, from the largest variance to the smallest.
    pub(crate) components: Vec<Component<'a>>,
    /// The rows, in the order in which they were read.
    pub(crate) points: Vec<Point<'a>>,
    /// By name.
    pub(crate) suites: Vec<Suite<'a>>,
    /// The points of each leaf of the dendrogram, first the one that stands for it.
    pub(crate) leaves: &'a [Vec<usize>],
    pub(crate) reduced: Reduced,
    /// From the nearest pair on.
    pub(crate) merges: Vec<Merge>,
    /// Pearson's correlation of linkage distances with true ones; null where there is none.
    pub(crate) cophenetic_correlation: Option<f64>,
    /// From the one with the most points.
    pub(crate) clusters: Vec<Cluster>,
    /// Merges at this distance and above were undone; null where none was.
    pub(crate) cut: Amount,
    /// The share of the spread that representatives stand for, with one cluster, two… up to the number that was chosen.
    #[cfg_attr(test, schemars(inner(range(min = 0.0, max = WHOLE))))]
    pub(crate) covered: &'a [f64],
    /// The mean silhouette of the points; null with one cluster.
    pub(crate) silhouette: Option<f64>,
    /// How programs move with threads.
    pub(crate) scaling: Vec<Move<'a>>,
    /// How programs move with their input.
    pub(crate) inputs: Vec<Move<'a>>,
    /// Circles in the plane of the first two components in which no point lies.
    pub(crate) gaps: Vec<Gap<'a>>,
    /// Rows without a number in some column.
    pub(crate) left_out: Vec<LeftOut<'a>>,
    /// What else to know, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// A number for each column.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ByColumn<'a>(BTreeMap<&'a str, Amount>);

impl<'a> ByColumn<'a> {
    /// These values, in the order of the columns.
    pub(crate) fn of(columns: &'a [String], values: &[f64]) -> Self {
        let values = values.iter().copied().map(Amount::from);
        Self(columns.iter().map(String::as_str).zip(values).collect())
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Pca<'a> {
    /// Whether the mean of each column was subtracted.
    pub(crate) centred: bool,
    /// Whether each column was divided by its deviation.
    pub(crate) scaled: bool,
    /// How many components were used for distances and clusters.
    pub(crate) kept: usize,
    /// What was subtracted.
    pub(crate) centre: ByColumn<'a>,
    /// What was divided by.
    pub(crate) scale: ByColumn<'a>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Component<'a> {
    /// PC1, PC2…
    pub(crate) name: String,
    /// The sum of squares of all points' scores, by the points less one (by the points if not centred).
    pub(crate) variance: f64,
    /// Its share of all variance.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) share: f64,
    /// The sum of the shares up to this one.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) sum: f64,
    pub(crate) kept: bool,
    /// The column with the largest weight.
    pub(crate) main: &'a str,
    pub(crate) weights: ByColumn<'a>,
    /// The points with the highest scores, at most five.
    pub(crate) highest: Vec<usize>,
    /// Those with the lowest scores, the lowest last.
    pub(crate) lowest: Vec<usize>,
}

/// What a row tells of.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Labels<'a> {
    /// The collection that the program belongs to.
    suite: Option<&'a str>,
    /// The program, or a group of its threads.
    program: &'a str,
    /// Its input.
    input: Option<&'a str>,
    /// On how many threads, or simulated cores.
    threads: Option<u32>,
    /// On which machine.
    machine: Option<&'a str>,
    /// What was changed in the simulation.
    what_if: Option<&'a str>,
}

impl<'a> From<&'a holdup_characterize::Labels> for Labels<'a> {
    fn from(labels: &'a holdup_characterize::Labels) -> Self {
        Self {
            suite: labels.suite.as_deref(),
            program: &labels.program,
            input: labels.input.as_deref(),
            threads: labels.threads,
            machine: labels.machine.as_deref(),
            what_if: labels.what_if.as_deref(),
        }
    }
}

/// A row.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Point<'a> {
    #[serde(flatten)]
    pub(crate) labels: Labels<'a>,
    /// Its program, with the labels that differ between points.
    pub(crate) name: &'a str,
    /// Its cluster: an index into clusters.
    pub(crate) cluster: usize,
    /// Its value in each component.
    pub(crate) scores: &'a [f64],
    pub(crate) values: ByColumn<'a>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Suite<'a> {
    pub(crate) name: &'a str,
    pub(crate) rows: usize,
    /// For each component.
    pub(crate) means: &'a [f64],
    /// For each component, with rows less one; null for a single row.
    pub(crate) deviations: &'a [Option<f64>],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Reduced {
    pub(crate) to: ReducedTo,
    /// The width of the cells.
    pub(crate) width: Option<f64>,
}

/// What is a leaf of the dendrogram.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReducedTo {
    /// Each point.
    Nothing,
    /// Those that are equal.
    Equal,
    /// Those in one cell of a grid.
    Cells,
}

impl From<holdup_characterize::Reduced> for Reduced {
    fn from(reduced: holdup_characterize::Reduced) -> Self {
        match reduced {
            holdup_characterize::Reduced::No => Self { to: ReducedTo::Nothing, width: None },
            holdup_characterize::Reduced::Equal => Self { to: ReducedTo::Equal, width: None },
            holdup_characterize::Reduced::Cells(width) => Self { to: ReducedTo::Cells, width: Some(width) },
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Merge {
    /// A leaf, or, from the number of leaves on, the cluster of an earlier merge.
    pub(crate) a: usize,
    pub(crate) b: usize,
    /// The linkage distance: the mean distance of their leaves.
    pub(crate) distance: f64,
    /// The points in it.
    pub(crate) rows: usize,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cluster {
    /// The point that stands for it.
    pub(crate) representative: usize,
    /// Its points, in the order of the dendrogram.
    pub(crate) rows: Vec<usize>,
    /// The largest distance of a leaf from the representative.
    pub(crate) radius: f64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Move<'a> {
    /// Rows (indices of points), in order of what differs.
    pub(crate) rows: &'a [usize],
    /// Of the first and the last one, in the components that are kept.
    pub(crate) distance: f64,
    /// The last row's values less the first one's.
    pub(crate) grew: ByColumn<'a>,
    pub(crate) same_cluster: bool,
    /// The square of distance by the mean squared distance of runs of different programs; null where there are none.
    pub(crate) of_apart: Option<f64>,
    /// Whether of_apart is at most 0.1: a small input stands for the large one. Null for moves with threads.
    pub(crate) stands_for: Option<bool>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Gap<'a> {
    /// In the first two components.
    pub(crate) centre: [f64; 2],
    /// No point is nearer to the centre.
    pub(crate) radius: f64,
    /// The columns there, if the other components are zero.
    pub(crate) values: ByColumn<'a>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LeftOut<'a> {
    #[serde(flatten)]
    pub(crate) labels: Labels<'a>,
    /// The first column in which it has no number.
    pub(crate) column: &'a str,
}
