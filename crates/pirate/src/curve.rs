//! How large is a cache, by what was measured at growing sizes?

/// What one round measured at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Bytes that were gone through.
    pub bytes: u64,
    /// The share of probes that missed after sweeps.
    pub missed: f64,
    /// Time per access of a random chase, in ns.
    pub chase_ns: f64,
}

/// A number with what its repetitions say of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least.
    pub low: u64,
    /// The middle one; of an even number the mean of the two in the middle.
    pub middle: u64,
    /// The most.
    pub high: u64,
}

impl Range {
    /// Of repetitions; `None` of none.
    pub fn of(values: &[u64]) -> Option<Range> {
        let mut values = values.to_vec();
        values.sort_unstable();
        let (low, high) = (*values.first()?, *values.last()?);
        let middle = values[(values.len() - 1) / 2].midpoint(values[values.len() / 2]);
        Some(Range { low, middle, high })
    }

    /// How far the extremes are apart, beside the middle.
    pub fn spread(&self) -> f64 {
        (self.high - self.low) as f64 / self.middle.max(1) as f64
    }
}

/// How far up from hits to misses the chase's time is at the knee.
const KNEE: f64 = 0.25;

/// The most bytes that sweeps could keep in the cache, of any size: at each, those that were not missed.
pub fn available(round: &[Point]) -> u64 {
    round.iter().map(|point| (point.bytes as f64 * (1.0 - point.missed)) as u64).max().unwrap_or(0)
}

/// The largest size of which, and of all smaller, at most `share` is missed (the middle of the rounds at each size).
pub fn holdable(rounds: &[Vec<Point>], share: f64) -> u64 {
    let sizes = rounds.first().map_or(&[][..], Vec::as_slice);
    let held = sizes.iter().enumerate().map_while(|(at, point)| {
        let mut missed: Vec<f64> =
            rounds.iter().filter_map(|round| round.get(at)).map(|point| point.missed).collect();
        missed.sort_by(f64::total_cmp);
        (missed[missed.len() / 2] <= share).then_some(point.bytes)
    });
    held.last().unwrap_or(0)
}

/// The size at which a chase takes a quarter of the way from `hit_ns` to `miss_ns` more than `hit_ns`: where one step in
/// four misses. Between measured sizes the time is taken as a line over the logarithm of the size. `None` where the times
/// begin above or end below.
pub fn knee(curve: &[(u64, f64)], hit_ns: f64, miss_ns: f64) -> Option<u64> {
    let height = hit_ns + KNEE * (miss_ns - hit_ns);
    // From above: a single slow measurement among small sizes is no knee.
    let after = curve.iter().rposition(|(_, ns)| *ns < height)? + 1;
    let ((small, fast), (large, slow)) = (curve[after - 1], *curve.get(after)?);
    let (small_log, large_log) = ((small as f64).ln(), (large as f64).ln());
    let part = if slow > fast { (height - fast) / (slow - fast) } else { 0.0 };
    Some((small_log + part * (large_log - small_log)).exp().round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    /// A chase (ns per access) in 4, 8, 12 and 48 MB of a 32 MB level that others use too, against a pirate of so many MB:
    /// measured on a machine with two processors before this crate was written.
    const MEASURED: [(u64, [f64; 4]); 6] = [
        (0, [12.0, 15.0, 17.0, 139.0]),
        (8, [12.0, 24.0, 39.0, 143.0]),
        (12, [13.0, 72.0, 75.0, 138.0]),
        (16, [29.0, 78.0, 119.0, 144.0]),
        (20, [79.0, 112.0, 134.0, 147.0]),
        (24, [111.0, 131.0, 139.0, 152.0]),
    ];

    #[test]
    fn the_knee_of_measured_chases_moves_as_the_pirate_grows() {
        let knees: Vec<Option<u64>> = MEASURED
            .iter()
            .map(|(_, times)| {
                knee(
                    &[4, 8, 12, 48].map(|mib| mib * MIB).into_iter().zip(*times).collect::<Vec<_>>(),
                    12.0,
                    139.0,
                )
            })
            .collect();
        let places: Vec<Option<u64>> = knees.iter().map(|knee| knee.map(|bytes| bytes / MIB)).collect();
        // With 20 MB and more even the smallest chase is beyond it.
        assert_eq!(places, [Some(16), Some(12), Some(5), Some(4), None, None]);
        for ((pirate, _), knee) in MEASURED.iter().zip(knees).take(4) {
            let sum = knee.unwrap() / MIB + pirate;
            assert!((16..=26).contains(&sum), "{sum} MiB with {pirate}");
        }
    }

    #[test]
    fn a_cache_that_keeps_what_fits_is_measured_exactly() {
        // Random replacement: of a set larger than the cache, as much stays as fits.
        let cache = 20 * MIB;
        let round: Vec<Point> = (1..=40)
            .map(|at| {
                let bytes = at * 2 * MIB;
                let missed = (1.0 - cache as f64 / bytes as f64).max(0.0);
                Point { bytes, missed, chase_ns: 20.0 + 100.0 * missed }
            })
            .collect();
        assert_eq!(available(&round), cache);
        assert_eq!(holdable(std::slice::from_ref(&round), 0.03), cache);
        let chase: Vec<(u64, f64)> = round.iter().map(|point| (point.bytes, point.chase_ns)).collect();
        // One in four misses where the set is a third larger than the cache.
        let knee = knee(&chase, 20.0, 120.0).unwrap() as f64 / cache as f64;
        assert!((knee - 4.0 / 3.0).abs() < 0.01, "{knee}");
    }

    #[test]
    fn one_disturbed_round_does_not_change_what_can_be_held() {
        let round = |missed: [f64; 3]| -> Vec<Point> {
            let sizes = [4, 8, 16].map(|mib| mib * MIB);
            sizes
                .into_iter()
                .zip(missed)
                .map(|(bytes, missed)| Point { bytes, missed, chase_ns: 0.0 })
                .collect()
        };
        let rounds = [round([0.0, 0.01, 0.2]), round([0.0, 0.3, 0.4]), round([0.0, 0.0, 0.1])];
        assert_eq!(holdable(&rounds, 0.03), 8 * MIB);
        assert_eq!(holdable(&[], 0.03), 0);
        assert_eq!(available(&[]), 0);
    }

    #[test]
    fn the_middle_of_two_is_between_them() {
        assert_eq!(Range::of(&[30, 10]), Some(Range { low: 10, middle: 20, high: 30 }));
        assert_eq!(Range::of(&[30, 10, 11]).unwrap().middle, 11);
        assert_eq!(Range::of(&[]), None);
    }

    proptest! {
        #[test]
        fn the_knee_is_between_the_sizes_around_it(cache in 2u64..100, others in 0u64..50) {
            let curve = |cache: u64| -> Vec<(u64, f64)> {
                (0..30)
                    .map(|step| (MIB as f64 * 1.25f64.powi(step)) as u64)
                    .map(|bytes| (bytes, 20.0 + 100.0 * (1.0 - (cache * MIB) as f64 / bytes as f64).max(0.0)))
                    .collect()
            };
            let (free, robbed) = (knee(&curve(cache + others), 20.0, 120.0), knee(&curve(cache), 20.0, 120.0));
            let (free, robbed) = (free.unwrap(), robbed.unwrap());
            prop_assert!(robbed <= free);
            let law = (cache * MIB) as f64 / 0.75;
            prop_assert!((robbed as f64 / law - 1.0).abs() < 0.05);
        }

        #[test]
        fn a_range_has_its_values(values in proptest::collection::vec(any::<u32>(), 1..9)) {
            let values: Vec<u64> = values.into_iter().map(u64::from).collect();
            let range = Range::of(&values).unwrap();
            prop_assert!(range.low <= range.middle && range.middle <= range.high);
            prop_assert!(values.len().is_multiple_of(2) || values.contains(&range.middle));
        }
    }
}
