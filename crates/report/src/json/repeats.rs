//! What several recordings say together.

use crate::schema::{Elsewhere, FindingRepeats, Kind, RunRepeats};

pub(super) fn run(repeats: &holdup_criticality::RunRepeats) -> RunRepeats {
    RunRepeats {
        walls_ns: repeats.walls.iter().map(|wall| wall.get()).collect(),
        mean_ns: repeats.mean.get(),
        low_ns: repeats.low.get(),
        high_ns: repeats.high.get(),
        elsewhere: repeats
            .elsewhere
            .iter()
            .map(|other| Elsewhere {
                kind: Kind(other.kind.word()),
                what: other.what.clone(),
                found: other.found,
                most_ns: other.most.get(),
            })
            .collect(),
    }
}

pub(super) fn finding(repeats: &holdup_criticality::FindingRepeats) -> FindingRepeats {
    FindingRepeats {
        runs: repeats.runs,
        found: repeats.found,
        least_ns: repeats.least.get(),
        mean_ns: repeats.mean.get(),
        most_ns: repeats.most.get(),
        low_ns: repeats.interval.map(|(low, _)| low.get()),
        high_ns: repeats.interval.map(|(_, high)| high.get()),
    }
}
