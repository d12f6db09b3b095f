//! How much measurements of the same thing differ: what is smaller than that means nothing.

use holdup_model::Nanos;

use super::point::Point;
use super::{Noise, PhaseKind, PhaseStack};

/// Less than this is usual, and not told.
const LEAST: f64 = 0.05;

/// By how much sorted times differ: the middle half of them, which is all of them where there are few.
fn spread(times: &[Nanos]) -> f64 {
    let few = times.len() / 4;
    match (times.get(few), times.len().checked_sub(few + 1).and_then(|most| times.get(most))) {
        (Some(low), Some(high)) => high.get() as f64 / low.get().max(1) as f64 - 1.0,
        _ => 0.0,
    }
}

/// The largest difference there is between runs that should be equal; `None` where it is small.
pub(super) fn noise(points: &[Point<'_>], phases: &[PhaseStack]) -> Option<Noise> {
    let most = points.last()?.threads;
    let plain = points.iter().map(|point| spread(&point.plain)).fold(0.0, f64::max);
    let phases = phases.iter().filter(|phase| phase.kind != PhaseKind::Whole);
    let alone: f64 = phases
        .filter_map(|phase| {
            let point = phase.points.last().filter(|point| point.threads == most)?;
            Some(phase.share * point.spread?)
        })
        .sum();
    let share = plain.max(alone);
    (share > LEAST).then(|| Noise { share, speedup: share * f64::from(most), of_alone: alone > plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_runs_the_outer_ones_are_left_out() {
        let spread = |times: &[u64]| spread(&times.iter().copied().map(Nanos::new).collect::<Vec<_>>());
        assert_eq!((spread(&[]), spread(&[7])), (0.0, 0.0));
        assert!((spread(&[100, 120]) - 0.2).abs() < 1e-9);
        assert!((spread(&[50, 100, 110, 900]) - 0.1).abs() < 1e-9);
    }
}
