//! The part of the schema about several recordings of one program.

use serde::Serialize;

use super::Kind;

/// What all recordings say.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunRepeats {
    /// The wall time of the process in each recording, shortest first; the told one is that in the middle.
    pub(crate) walls_ns: Vec<u64>,
    /// The mean of walls_ns.
    pub(crate) mean_ns: u64,
    /// The low end of the 95 % interval of that mean.
    pub(crate) low_ns: u64,
    /// The high end of that interval.
    pub(crate) high_ns: u64,
    /// Findings of other recordings that the told one does not have, most costly first.
    pub(crate) elsewhere: Vec<Elsewhere>,
}

/// A finding of other recordings.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Elsewhere {
    pub(crate) kind: Kind,
    /// Its heading.
    pub(crate) what: String,
    /// How many recordings have it.
    pub(crate) found: u32,
    /// Its greatest cost there.
    pub(crate) most_ns: u64,
}

/// What all recordings say of a finding.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FindingRepeats {
    /// How many recordings there are.
    pub(crate) runs: u32,
    /// In how many of them it was found.
    pub(crate) found: u32,
    /// Its least cost where it was found.
    pub(crate) least_ns: u64,
    /// Its mean cost where it was found.
    pub(crate) mean_ns: u64,
    /// Its greatest cost.
    pub(crate) most_ns: u64,
    /// The low end of the 95 % interval of the mean; null where it was found once.
    pub(crate) low_ns: Option<u64>,
    /// The high end of that interval.
    pub(crate) high_ns: Option<u64>,
}
