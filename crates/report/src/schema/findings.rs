//! What to fix, and where the time went.

use serde::Serialize;

#[cfg(test)]
use super::WHOLE;
use super::{FindingRepeats, Gain, Kind, Place};

/// What holds the program up.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Finding {
    pub(crate) kind: Kind,
    /// Where in the code to look.
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// The call stack of that place, innermost frame first; empty where it is not known.
    pub(crate) stack: Vec<Place>,
    /// The sync object, where it is about one; where it is about several of a family, the worst.
    pub(crate) object: Option<usize>,
    /// The other objects of that family, the next worst first; empty where it is about one.
    pub(crate) others: Vec<usize>,
    /// The threads that cause it, most first.
    pub(crate) threads: Vec<usize>,
    /// One heading that names it.
    pub(crate) what: String,
    /// Figures, a sentence each.
    pub(crate) evidence: Vec<String>,
    /// What can be done.
    pub(crate) hint: String,
    /// Thread-time lost to it, divided by workers.
    pub(crate) cost_ns: u64,
    /// cost_ns by the wall time of the process.
    #[cfg_attr(test, schemars(range(min = 0.0, max = WHOLE)))]
    pub(crate) share: f64,
    /// How much of the critical path it is; null where that has no meaning.
    pub(crate) on_path_ns: Option<u64>,
    /// What fixing it saves, as a replay predicts it; null where no replay was made.
    pub(crate) gain: Option<Gain>,
    /// What all recordings say of it; null for a report of one.
    pub(crate) repeats: Option<FindingRepeats>,
    /// How the cost was found.
    pub(crate) method: &'static str,
    /// What to keep in mind, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// Where the wall time went, on the average over the workers.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CostIdentity {
    /// The wall time of the process: useful_ns, all parts and unexplained_ns add up to it exactly.
    pub(crate) wall_ns: u64,
    /// Active, and on a core as far as that is known.
    pub(crate) useful_ns: u64,
    /// What was lost, by class; only classes with a loss.
    pub(crate) parts: Vec<CostPart>,
    /// Lost to nothing that is known, and what rounding leaves over.
    pub(crate) unexplained_ns: u64,
}

/// What was lost to one class of findings.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CostPart {
    pub(crate) kind: Kind,
    /// What was lost to it.
    pub(crate) cost_ns: u64,
}
