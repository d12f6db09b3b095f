//! Time for the same work over the size of the cache (paper 1, Figs. 4 and 7).

use holdup_model::Arrange;

/// What was measured at one size of the cache.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CachePoint {
    /// The size (bytes).
    pub bytes: u64,
    /// The time for the same work (or cycles per instruction) divided by that with the whole cache: the least that was
    /// measured, as noise only ever adds.
    pub time: f64,
    /// The most that was measured.
    pub high: f64,
    /// How often it was measured.
    pub runs: u32,
    /// Cycles per instruction, where counters tell.
    pub cpi: Option<f64>,
    /// Bytes a second that are fetched from memory, where counters tell.
    pub bandwidth: Option<f64>,
}

/// The points by ascending size, each size once. Between two sizes it is linear; outside of what was measured it says
/// nothing. It need not fall: what was measured is not bent to what one would expect.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CacheCurve(Vec<CachePoint>);

impl CacheCurve {
    /// Sorts the points; of one size measured twice the least time counts, over all its measurements.
    pub fn of(mut points: Vec<CachePoint>) -> CacheCurve {
        points.retain(|point| point.time.is_finite() && point.time > 0.0);
        points.arrange_by(|a, b| a.bytes.cmp(&b.bytes).then(a.time.total_cmp(&b.time)));
        let mut merged: Vec<CachePoint> = Vec::with_capacity(points.len());
        for point in points {
            match merged.last_mut().filter(|last| last.bytes == point.bytes) {
                Some(last) => {
                    last.high = last.high.max(point.high);
                    last.runs += point.runs;
                    last.cpi = last.cpi.or(point.cpi);
                    last.bandwidth = last.bandwidth.or(point.bandwidth);
                }
                None => merged.push(point),
            }
        }
        CacheCurve(merged)
    }

    /// What was measured.
    pub fn points(&self) -> &[CachePoint] {
        &self.0
    }

    /// The time at this size; `None` outside of what was measured.
    pub fn at(&self, bytes: f64) -> Option<f64> {
        self.interpolated(bytes, |point| Some(point.time))
    }

    /// The bandwidth at this size; `None` where it was not measured on both sides.
    pub fn bandwidth_at(&self, bytes: f64) -> Option<f64> {
        self.interpolated(bytes, |point| point.bandwidth)
    }

    fn interpolated(&self, bytes: f64, value: impl Fn(&CachePoint) -> Option<f64>) -> Option<f64> {
        let after = self.0.partition_point(|point| (point.bytes as f64) < bytes);
        let above = self.0.get(after)?;
        if above.bytes as f64 == bytes {
            return value(above);
        }
        let below = self.0.get(after.checked_sub(1)?)?;
        let share = (bytes - below.bytes as f64) / (above.bytes - below.bytes) as f64;
        let (low, high) = (value(below)?, value(above)?);
        Some(low + share * (high - low))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn curve(points: &[(u64, f64)]) -> CacheCurve {
        let point = |&(bytes, time): &(u64, f64)| CachePoint {
            bytes,
            time,
            high: time,
            runs: 1,
            ..CachePoint::default()
        };
        CacheCurve::of(points.iter().map(point).collect())
    }

    #[test]
    fn it_is_linear_between_sizes_and_silent_outside() {
        let curve = curve(&[(8, 1.0), (2, 1.4), (4, 1.2)]);
        assert_eq!(curve.at(3.0), Some(1.2999999999999998));
        assert_eq!(curve.at(8.0), Some(1.0));
        assert_eq!(curve.at(2.0), Some(1.4));
        assert_eq!((curve.at(1.9), curve.at(8.1)), (None, None));
        assert_eq!(CacheCurve::default().at(1.0), None);
    }

    #[test]
    fn of_a_size_measured_twice_the_least_time_counts() {
        let curve = curve(&[(4, 1.3), (4, 1.2)]);
        assert_eq!(curve.points().len(), 1);
        assert_eq!((curve.points()[0].time, curve.points()[0].high, curve.points()[0].runs), (1.2, 1.3, 2));
    }

    proptest! {
        #[test]
        fn what_is_said_lies_between_what_was_measured(
            points in prop::collection::vec((1u64..64, 0.5f64..4.0), 1..8),
            at in 0.0f64..70.0,
        ) {
            let curve = curve(&points);
            if let Some(time) = curve.at(at) {
                let low = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
                let high = points.iter().map(|point| point.1).fold(0.0, f64::max);
                prop_assert!(time >= low - 1e-9 && time <= high + 1e-9);
            }
            let (least, most) = (curve.points()[0].bytes as f64, curve.points()[curve.points().len() - 1].bytes as f64);
            prop_assert_eq!(curve.at(at).is_some(), at >= least && at <= most);
        }
    }
}
