//! How threads that do different things share a cache.
//!
//! The model is the frequency-of-access one of Chandra, Guo, Kim and Solihin (HPCA 2005), with fetches in the place of
//! accesses: what a thread fetches evicts what others have, so that in the long run each has a share in proportion to its
//! rate of fetches, which in turn depends on its share. The shares are the fixed point of
//!
//! c_i = C · r_i(c_i) / Σ n_j · r_j(c_j)
//!
//! over groups j of n_j threads. Where counters tell the bandwidth b(c), r(c) = b(c). Where there are none, the rate comes
//! from the slope of the time t(c) for the same work: −dt/dc = L · −dm/dc, with m misses for that work and L the time that
//! a miss takes; from there to the whole cache, m(c) = (t(c) − t(C)) / L, and r(c) = m(c) / t(c) = (t(c) − t(C)) / (L t(c)).
//! L is the same for all, and cancels. What misses at each size (a stream) does not show in t, so r has a floor: threads
//! of which nothing is known to differ have equal shares.

use super::CacheCurve;

/// The least rate: the share of its time that a thread fetches at any size of the cache.
const FLOOR: f64 = 0.002;

const STEPS: usize = 400;

/// Threads that share a cache with others.
pub(super) struct Sharer<'a> {
    /// How many of them.
    pub(super) threads: u32,
    /// What less cache costs them.
    pub(super) curve: &'a CacheCurve,
}

/// The cache (bytes) that each thread of each group has of `bytes` in all.
pub(super) fn shares(groups: &[Sharer<'_>], bytes: f64) -> Vec<f64> {
    let threads: u32 = groups.iter().map(|group| group.threads).sum();
    let equal = bytes / f64::from(threads.max(1));
    let mut shares = vec![equal; groups.len()];
    let rated = groups.iter().all(|group| group.curve.points().len() > 1);
    if groups.len() < 2 || !rated {
        return shares;
    }
    let counted =
        groups.iter().all(|group| group.curve.points().iter().all(|point| point.bandwidth.is_some()));
    for _ in 0..STEPS {
        let rates: Vec<f64> =
            groups.iter().zip(&shares).map(|(group, &share)| rate(group.curve, share, counted)).collect();
        let sum: f64 = groups.iter().zip(&rates).map(|(group, rate)| f64::from(group.threads) * rate).sum();
        // Half of the way at a time: a full step swings between two extremes where rates fall steeply.
        for (share, rate) in shares.iter_mut().zip(&rates) {
            *share = 0.5 * *share + 0.5 * bytes * rate / sum;
        }
    }
    shares
}

/// What a thread with so much cache fetches, by counters or by its times. Outside of what was measured it is as at the nearest size.
fn rate(curve: &CacheCurve, share: f64, counted: bool) -> f64 {
    let (Some(first), Some(last)) = (curve.points().first(), curve.points().last()) else { return FLOOR };
    let share = share.clamp(first.bytes as f64, last.bytes as f64);
    if let Some(bandwidth) = curve.bandwidth_at(share).filter(|_| counted) {
        return bandwidth.max(1.0);
    }
    let time = curve.at(share).unwrap_or(last.time);
    ((time - last.time) / time).max(0.0) + FLOOR
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::CachePoint;
    use super::*;

    fn curve(points: &[(u64, f64)], bandwidth: Option<f64>) -> CacheCurve {
        let point = |&(bytes, time): &(u64, f64)| CachePoint {
            bytes,
            time,
            high: time,
            bandwidth,
            ..CachePoint::default()
        };
        CacheCurve::of(points.iter().map(point).collect())
    }

    #[test]
    fn threads_that_do_the_same_have_equal_shares() {
        let same = curve(&[(1, 2.0), (4, 1.5), (8, 1.0)], None);
        let sharers = [Sharer { threads: 3, curve: &same }, Sharer { threads: 1, curve: &same }];
        for share in shares(&sharers, 8.0) {
            assert!((share - 2.0).abs() < 1e-9, "{share}");
        }
    }

    #[test]
    fn shares_are_in_proportion_to_bandwidth() {
        let (small, large) =
            (curve(&[(1, 1.0), (8, 1.0)], Some(1e9)), curve(&[(1, 1.0), (8, 1.0)], Some(3e9)));
        let sharers = [Sharer { threads: 1, curve: &small }, Sharer { threads: 1, curve: &large }];
        let shares = shares(&sharers, 8.0);
        assert!((shares[0] - 2.0).abs() < 1e-9 && (shares[1] - 6.0).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn who_needs_no_cache_leaves_it_to_the_others() {
        let (flat, steep) = (curve(&[(1, 1.0), (8, 1.0)], None), curve(&[(1, 3.0), (8, 1.0)], None));
        let sharers = [Sharer { threads: 1, curve: &flat }, Sharer { threads: 1, curve: &steep }];
        let shares = shares(&sharers, 8.0);
        assert!(shares[1] > 6.0 && shares[0] < 2.0, "{shares:?}");
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_cache(
            groups in prop::collection::vec((1u32..5, 1.0f64..4.0, 1.0f64..4.0), 1..5),
            bytes in 4.0f64..64.0,
        ) {
            let curves: Vec<CacheCurve> = groups
                .iter()
                .map(|&(_, small, middle)| curve(&[(1, small), (bytes as u64 / 2 + 1, middle), (bytes as u64 + 2, 1.0)], None))
                .collect();
            let sharers: Vec<Sharer<'_>> =
                groups.iter().zip(&curves).map(|(group, curve)| Sharer { threads: group.0, curve }).collect();
            let shares = shares(&sharers, bytes);
            let sum: f64 = shares.iter().zip(&groups).map(|(share, group)| share * f64::from(group.0)).sum();
            prop_assert!((sum - bytes).abs() < 1e-6 * bytes);
            prop_assert!(shares.iter().all(|&share| share >= 0.0));
        }
    }
}
