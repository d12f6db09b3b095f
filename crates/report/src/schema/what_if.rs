//! What the replay of the run predicts.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Gain {
    pub(crate) ns: u64,
    pub(crate) low_ns: u64,
    pub(crate) high_ns: u64,
    pub(crate) expression: String,
    pub(crate) capped_by: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct WhatIf {
    pub(crate) replayed_ns: u64,
    pub(crate) all_together: Option<Gain>,
    pub(crate) curves: Vec<Curve>,
    pub(crate) notes: Vec<String>,
}

#[derive(Serialize)]
pub(crate) struct Curve {
    pub(crate) what: String,
    pub(crate) finding: Option<usize>,
    pub(crate) axis: &'static str,
    pub(crate) points: Vec<CurvePoint>,
}

/// `at` is null for *removed*.
#[derive(Serialize)]
pub(crate) struct CurvePoint {
    pub(crate) at: Option<f64>,
    pub(crate) wall_ns: u64,
    pub(crate) low_ns: u64,
    pub(crate) high_ns: u64,
}
