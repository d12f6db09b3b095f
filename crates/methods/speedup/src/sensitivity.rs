//! What more cache would give a thread: read from the curve, never beyond it.

use super::{CacheCurve, Sensitivity};

/// Less than this share of its time lost is not worth more cache.
const LEAST_LOSS: f64 = 0.02;

/// The additional cache that is told of: the least of these parts of what the thread has that makes the loss half as
/// large, else the largest that was measured.
const STEPS: [f64; 6] = [0.125, 0.25, 0.5, 1.0, 2.0, 3.0];

/// What a thread loses with `now` bytes of the cache, and would lose with more of it. `None` where that is next to
/// nothing, or where nothing larger was measured.
pub(super) fn sensitivity(curve: &CacheCurve, now: u64) -> Option<Sensitivity> {
    let whole = curve.points().last()?.time;
    let lost = |bytes: f64| Some(1.0 - whole / curve.at(bytes)?);
    let lost_now = lost(now as f64).filter(|&lost| lost >= LEAST_LOSS)?;
    let steps = STEPS.iter().map(|part| (now as f64 * part).round());
    let told: Vec<(f64, f64)> = steps
        .filter_map(|more| Some((more, lost(now as f64 + more)?)))
        .filter(|(more, _)| *more > 0.0)
        .collect();
    let half = told.iter().find(|(_, lost)| *lost <= lost_now / 2.0);
    let (more, lost_with_more) = *half.or(told.last())?;
    Some(Sensitivity { now, lost: lost_now, more: more as u64, lost_with_more })
}

#[cfg(test)]
mod tests {
    use super::super::CachePoint;
    use super::*;

    const MIB: u64 = 1 << 20;

    fn curve(points: &[(u64, f64)]) -> CacheCurve {
        let point =
            |&(mib, time): &(u64, f64)| CachePoint { bytes: mib * MIB, time, ..CachePoint::default() };
        CacheCurve::of(points.iter().map(point).collect())
    }

    #[test]
    fn the_least_that_halves_the_loss_is_told() {
        let told = sensitivity(&curve(&[(2, 1.25), (4, 1.05), (8, 1.0)]), 2 * MIB).unwrap();
        assert!((told.lost - 0.2).abs() < 1e-9);
        assert_eq!(told.more, 2 * MIB);
        assert!((told.lost_with_more - (1.0 - 1.0 / 1.05)).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_said_beyond_what_was_measured() {
        assert_eq!(sensitivity(&curve(&[(2, 1.25), (8, 1.0)]), MIB), None);
        assert_eq!(sensitivity(&curve(&[(2, 1.25)]), 2 * MIB), None);
        // Flat: more cache gives nothing.
        assert_eq!(sensitivity(&curve(&[(2, 1.001), (8, 1.0)]), 2 * MIB), None);
    }
}
