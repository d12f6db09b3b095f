//! Is a line in the cache? Single loads at random places, timed, against a limit between hit and miss.

use std::hint::black_box;

use holdup_model::median;

use crate::instructions::flush;
use crate::refusal::Refusal;
use crate::sweep::Sweep;
use crate::timer::Timer;
use crate::walk::{LINE, Walk};

/// Probes in each sweep. An error of 3 % is seen within a few sweeps; they cost about 10 µs.
pub(crate) const PER_SWEEP: usize = 48;
/// Hits and misses that a limit is made of.
const SAMPLES: usize = 1000;
/// At most this share of hits or of misses may be on the wrong side of the limit.
const MOST_CONFUSED: f64 = 0.015;

/// Times of loads that hit the shared level and of loads that miss it, and the limit between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The median of loads that the shared level answers, in ns.
    pub hit_ns: f64,
    /// The median of loads that memory answers, in ns.
    pub miss_ns: f64,
    /// What takes longer counts as missed, in ns.
    pub limit_ns: f64,
    /// The share of loads from the cache that take longer nevertheless (interrupts, other traffic).
    pub false_misses: f64,
    /// The share of loads from memory that do not.
    pub false_hits: f64,
}

impl Limit {
    /// The limit between two samples that confuses fewest: the sum of both shares on the wrong side is least. Of several
    /// such limits the middle one.
    ///
    /// # Errors
    /// [`Refusal::Indistinct`] where more than 1.5 % of either are on the wrong side.
    pub fn between(hits: &[f64], misses: &[f64]) -> Result<Limit, Refusal> {
        let (hits, misses) = (sorted(hits), sorted(misses));
        let middle = |times| median(times).unwrap_or(f64::NAN);
        let (hit_ns, miss_ns) = (middle(&hits), middle(&misses));
        let above = |limit: f64| {
            (hits.len() - hits.partition_point(|time| *time <= limit)) as f64 / hits.len() as f64
        };
        let below = |limit: f64| misses.partition_point(|time| *time <= limit) as f64 / misses.len() as f64;
        /// Candidates between the medians.
        const STEPS: u32 = 200;
        let candidates: Vec<(f64, f64)> = (0..=STEPS)
            .map(|step| hit_ns + (miss_ns - hit_ns) * f64::from(step) / f64::from(STEPS))
            .map(|limit| (above(limit) + below(limit), limit))
            .collect();
        let least = candidates.iter().map(|(wrong, _)| *wrong).fold(f64::INFINITY, f64::min);
        let best: Vec<f64> =
            candidates.iter().filter(|(wrong, _)| *wrong <= least).map(|(_, limit)| *limit).collect();
        let limit_ns = best.get(best.len() / 2).copied().unwrap_or(miss_ns);
        let limit =
            Limit { hit_ns, miss_ns, limit_ns, false_misses: above(limit_ns), false_hits: below(limit_ns) };
        let confused = limit.false_misses.max(limit.false_hits);
        // No numbers at all are confused too.
        if confused <= MOST_CONFUSED && hit_ns < miss_ns {
            Ok(limit)
        } else {
            Err(Refusal::Indistinct { hit_ns, miss_ns, confused: confused * 100.0 })
        }
    }

    /// Measures it in `bytes`, which the shared level holds and the core's own caches of `private_bytes` do not.
    pub(crate) fn measure(
        timer: &Timer,
        bytes: &[u8],
        private_bytes: u64,
        walk: &mut Walk,
    ) -> Result<Limit, Refusal> {
        /// A level that takes what inner ones drop does not take all of it the first time.
        const WARMING: u32 = 4;
        (0..WARMING).for_each(|_| Sweep::whole(bytes));
        let mut hits = Vec::with_capacity(SAMPLES);
        while hits.len() < SAMPLES {
            Sweep::whole(bytes);
            hits.extend((0..PER_SWEEP).map(|_| probe(timer, bytes, walk)));
        }
        // Some of the lines were in the core's own caches: the quickest are left out, as many as fit there.
        let own = (private_bytes as f64 / bytes.len() as f64).min(0.5);
        let hits = sorted(&hits).split_off((own * hits.len() as f64) as usize);
        let misses: Vec<f64> = (0..SAMPLES).map(|_| missing(timer, bytes, walk)).collect();
        Limit::between(&hits, &misses)
    }

    /// Makes `count` probes at random places of `bytes`: how many missed.
    pub(crate) fn missed(&self, timer: &Timer, bytes: &[u8], count: usize, walk: &mut Walk) -> usize {
        (0..count).filter(|_| probe(timer, bytes, walk) > self.limit_ns).count()
    }
}

/// Times one load at a random place.
fn probe(timer: &Timer, bytes: &[u8], walk: &mut Walk) -> f64 {
    timer.load_ns(&bytes[translated(bytes, walk)])
}

/// The same of a line that no cache has.
fn missing(timer: &Timer, bytes: &[u8], walk: &mut Walk) -> f64 {
    let at = translated(bytes, walk);
    flush(&bytes[at]);
    timer.load_ns(&bytes[at])
}

/// A random line of `bytes`, which are whole pages. Another line of its page has been read, so that no translation is timed
/// (a guest's can cost more than the miss): at a random distance, since prefetchers learn a fixed one, and not so near that
/// they bring the line with its neighbour.
fn translated(bytes: &[u8], walk: &mut Walk) -> usize {
    const PAGE: usize = 4096;
    const NEAR: usize = 8;
    let at = walk.next(bytes.len() / LINE) * LINE;
    let distance = (NEAR + walk.next(PAGE / LINE - 2 * NEAR)) * LINE;
    let page = at / PAGE * PAGE;
    black_box(bytes[page + (at - page + distance) % PAGE]);
    at
}

fn sorted(times: &[f64]) -> Vec<f64> {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_limit_is_between_two_separate_groups() {
        let hits: Vec<f64> = (0..1000).map(|at| 15.0 + f64::from(at % 10)).collect();
        let misses: Vec<f64> = (0..1000).map(|at| 150.0 + f64::from(at % 20)).collect();
        let limit = Limit::between(&hits, &misses).unwrap();
        assert_eq!((limit.hit_ns, limit.miss_ns), (19.5, 159.5));
        assert!(limit.limit_ns > 24.0 && limit.limit_ns < 150.0, "{limit:?}");
        assert_eq!((limit.false_misses, limit.false_hits), (0.0, 0.0));
    }

    #[test]
    fn some_interrupted_hits_do_not_move_the_limit() {
        let hits: Vec<f64> = (0..1000).map(|at| if at % 100 == 0 { 5_000.0 } else { 20.0 }).collect();
        let limit = Limit::between(&hits, &vec![140.0; 1000]).unwrap();
        assert!(limit.limit_ns < 140.0);
        assert_eq!(limit.false_misses, 0.01);
    }

    #[test]
    fn times_that_overlap_are_refused_with_the_figures() {
        let hits: Vec<f64> = (0..1000).map(|at| f64::from(at) / 10.0).collect();
        let misses: Vec<f64> = (0..1000).map(|at| 50.0 + f64::from(at) / 10.0).collect();
        let Err(Refusal::Indistinct { hit_ns, miss_ns, confused }) = Limit::between(&hits, &misses) else {
            panic!("overlapping times have no limit")
        };
        assert_eq!((hit_ns, miss_ns), (49.95, 99.95));
        assert!(confused > 20.0);
        assert!(Limit::between(&[], &[]).is_err());
        assert!(Limit::between(&[100.0; 10], &[20.0; 10]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_told_as_confused_is_what_is_on_the_wrong_side(
            hits in proptest::collection::vec(10.0f64..60.0, 50..200),
            misses in proptest::collection::vec(100.0f64..400.0, 50..200),
        ) {
            let limit = Limit::between(&hits, &misses).unwrap();
            prop_assert!(limit.limit_ns >= limit.hit_ns && limit.limit_ns <= limit.miss_ns);
            prop_assert!(hits.iter().filter(|time| **time > limit.limit_ns).count() as f64 / hits.len() as f64 == limit.false_misses);
            prop_assert_eq!(limit.false_misses + limit.false_hits, 0.0);
        }
    }
}
