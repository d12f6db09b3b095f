//! The part of the schema about several recordings of one program.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct RunRepeats {
    pub(crate) walls_ns: Vec<u64>,
    pub(crate) mean_ns: u64,
    pub(crate) low_ns: u64,
    pub(crate) high_ns: u64,
    pub(crate) elsewhere: Vec<Elsewhere>,
}

#[derive(Serialize)]
pub(crate) struct Elsewhere {
    pub(crate) kind: &'static str,
    pub(crate) what: String,
    pub(crate) found: u32,
    pub(crate) most_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct FindingRepeats {
    pub(crate) runs: u32,
    pub(crate) found: u32,
    pub(crate) least_ns: u64,
    pub(crate) mean_ns: u64,
    pub(crate) most_ns: u64,
    pub(crate) low_ns: Option<u64>,
    pub(crate) high_ns: Option<u64>,
}
