//! What larger chunks of a loop would give.

use holdup_model::{Doing, Nanos, Sample};
use holdup_replay::LEAST_ERROR;

use super::Case;
use crate::findings::Chunks;
use crate::{Finding, FindingKind, Gain};

/// What a loop takes to ask for a chunk, beside what the runtime does: the call, and that a core cannot go on to the next iteration
/// meanwhile. Measured: 13 to 34 ns for each chunk more than samples in the runtime say, with gcc and clang, of iterations of 30 and 110 ns.
const CALL: Nanos = Nanos::new(25);

impl Case<'_> {
    /// What larger chunks save where dealing them out takes long: nearly all of that, as far as samples say how long it was, and what
    /// asking for them takes.
    pub(super) fn larger_chunks(&self, finding: &Finding, workers: u32) -> Option<Gain> {
        if finding.kind != FindingKind::Tasks || finding.object.is_some() {
            return None;
        }
        let deals =
            |sample: &&Sample| self.timeline.places.spin(sample.site).is_some_and(|routine| routine.deals);
        let running = self.process.samples.iter().filter(|sample| sample.doing == Doing::Running);
        let (samples, time) = running
            .filter(deals)
            .fold((0u64, Nanos::ZERO), |(samples, time), sample| (samples + 1, time + sample.weight));
        // As many of them as the finding has of the time, of a loop of several.
        let own = Nanos::new(finding.cost.get().saturating_mul(u64::from(workers))).share_of(time).min(1.0);
        // Twice the standard error of a count.
        let error = 2.0 / (samples as f64 * own).max(1.0).sqrt() * finding.cost.get() as f64;
        let error = Nanos::new((error + LEAST_ERROR * self.wall.get() as f64) as u64);
        let chunks = finding.place.and_then(|place| Chunks::of(self.process, place));
        let calls = chunks.map_or(0, |chunks| chunks.count * CALL.get() / u64::from(workers.max(1)));
        let time = (finding.cost + Nanos::new(calls)).min(self.wall);
        let (low, high) = (time.saturating_sub(error), (time + error).min(self.wall));
        Some(Gain { time, low, high, expression: String::new(), capped_by: None })
    }
}
