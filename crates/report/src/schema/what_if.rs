//! What the replay of the run predicts.

use serde::Serialize;

/// What a change gives, as a replay of the run predicts it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Gain {
    /// The expected gain.
    pub(crate) ns: u64,
    /// The low end of its interval.
    pub(crate) low_ns: u64,
    /// The high end of its interval.
    pub(crate) high_ns: u64,
    /// What `holdup whatif` takes for it; empty where no replay can do it.
    pub(crate) expression: String,
    /// What holds the program up next, where that keeps the gain below the cost.
    pub(crate) capped_by: Option<String>,
}

/// What a replay of the run predicts.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WhatIf {
    /// The wall time of the unchanged run as the replay has it; gains are differences from this.
    pub(crate) replayed_ns: u64,
    /// All findings that have a gain fixed at once: gains do not add up.
    pub(crate) all_together: Option<Gain>,
    /// How the run would change with the size of a change.
    pub(crate) curves: Vec<Curve>,
    /// What to keep in mind.
    pub(crate) notes: Vec<String>,
}

/// How the run would change with the size of a change.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Curve {
    /// What changes.
    pub(crate) what: String,
    /// The index of the finding that it is about.
    pub(crate) finding: Option<usize>,
    /// What `at` is: times shorter, cores, threads.
    pub(crate) axis: &'static str,
    /// One for each size, as it was asked for.
    pub(crate) points: Vec<CurvePoint>,
}

/// The run with a change of one size.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CurvePoint {
    /// The size of the change; null for removed.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    pub(crate) at: Option<f64>,
    /// The predicted wall time.
    pub(crate) wall_ns: u64,
    /// The low end of its interval.
    pub(crate) low_ns: u64,
    /// The high end of its interval.
    pub(crate) high_ns: u64,
}
