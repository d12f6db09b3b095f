//! What several recordings of one program say together, as far as it is told with one of them.

use holdup_model::Nanos;

use crate::finding_kind::FindingKind;

/// What all recordings of the program say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunRepeats {
    /// The wall time of each recording, shortest first; this one's is among them.
    pub walls: Vec<Nanos>,
    /// Their mean.
    pub mean: Nanos,
    /// The low end of the 95 % interval of the mean (Student's t).
    pub low: Nanos,
    /// Its high end.
    pub high: Nanos,
    /// Findings of other recordings that this one does not have.
    pub elsewhere: Vec<Elsewhere>,
}

/// A finding of other recordings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// Which sort.
    pub kind: FindingKind,
    /// Its heading. Hostile.
    pub what: String,
    /// How many recordings have it.
    pub found: u32,
    /// Its greatest cost there.
    pub most: Nanos,
}

/// What all recordings say of one finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FindingRepeats {
    /// How many recordings there are.
    pub runs: u32,
    /// In how many of them it was found.
    pub found: u32,
    /// Its least cost where it was found.
    pub least: Nanos,
    /// Its mean cost where it was found.
    pub mean: Nanos,
    /// Its greatest cost.
    pub most: Nanos,
    /// The 95 % interval of the mean cost where it was found (Student's t); `None` where that was once.
    pub interval: Option<(Nanos, Nanos)>,
}
