//! How much of the imbalance is gone when the reported misses are (paper 2, section 5.3 and Fig. 5).

use holdup_imbalance::SectionWhy;
use holdup_model::counts::{SectionKind, SectionPlace};
use serde::Serialize;

use crate::numbers::percent;

/// What simulations without causes gave for a section.
#[derive(Clone, Debug, PartialEq)]
pub struct Removed {
    /// Which section: its kind, and where it ends and begins.
    pub section: (SectionKind, SectionPlace, SectionPlace),
    /// The idle time (cycles) that stayed, by what was taken away.
    pub steps: Vec<(Without, u64)>,
}

/// What is taken away in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Without {
    /// The misses at the line of the first such cause of each section.
    FirstMisses,
    /// Those at the lines of all such causes that are told.
    ToldMisses,
    /// Those of all that go with the imbalance by more than chance, whatever their score.
    AllMisses,
    /// Queueing: interconnects and memory have no limit.
    Queueing,
}

impl Without {
    fn words(self) -> &'static str {
        match self {
            Without::FirstMisses => "without the misses of the first cause",
            Without::ToldMisses => "without those of all causes told",
            Without::AllMisses => "without those of all that are significant",
            Without::Queueing => "without queueing",
        }
    }
}

/// The share of the section's idle time that is gone; below 0 where there is more.
fn share(section: &SectionWhy, stays: u64) -> f64 {
    if section.idle == 0 { 0.0 } else { 1.0 - stays as f64 / section.idle as f64 }
}

fn of<'a>(section: &SectionWhy, all: &'a [Removed]) -> Option<&'a Removed> {
    let is_it = |removed: &&Removed| {
        let (kind, end, begin) = &removed.section;
        *kind == section.kind && *end == section.end && *begin == section.begin
    };
    all.iter().find(is_it)
}

/// How much of the imbalance disappears, in a sentence.
pub(crate) fn sentence(section: &SectionWhy, all: &[Removed]) -> Option<String> {
    let steps = &of(section, all)?.steps;
    let told: Vec<String> = steps
        .iter()
        .map(|(without, stays)| format!("{} {}", percent(share(section, *stays).max(0.0)), without.words()))
        .collect();
    (!told.is_empty())
        .then(|| format!("Simulated again, so much of the imbalance disappears: {}.", told.join("; ")))
}

/// The same for scripts: what was taken away, the idle time that stayed, and the share that is gone. `None` where nothing
/// was taken away.
pub(super) fn steps(section: &SectionWhy, all: &[Removed]) -> Option<Vec<(Without, u64, f64)>> {
    let step = |(without, stays): &(Without, u64)| (*without, *stays, share(section, *stays));
    Some(of(section, all)?.steps.iter().map(step).collect())
}
