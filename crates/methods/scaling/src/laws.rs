//! Laws of time over numbers of threads: Amdahl's, the universal scalability law, and the performance-model normal form.
//!
//! [`fit`] takes the measured times of a program, or of one region of it, and gives the law that describes them best,
//! with predictions for more threads than were tried and intervals of these. In reading order: the terms that laws are sums
//! of (`term`), which sums are tried (`family`), how a sum is fitted to times (`least_squares`), which one is chosen and
//! what each of the others is worth (`choice`), the interval that comes of all of them (`interval`), and the formula for
//! people (`formula`).
//!
//! The errors that are minimized are relative: runs of a second and of a minute vary by about the same share.

mod choice;
mod family;
mod formula;
mod interval;
mod least_squares;
mod term;

use std::collections::BTreeMap;

use choice::Choice;
use holdup_model::{Arrange, Nanos, median};

use super::{FittedLaw, LawPrediction};

/// How far beyond the most measured threads is predicted, as a factor.
const FURTHEST: u32 = 8;

/// The most threads that are predicted for, where fewer were measured.
const MOST_THREADS: u32 = 1024;

/// Times that were measured at one number of threads.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// The number of threads.
    pub threads: u32,
    /// The time of each run (ns), in any order. What is no time from a nanosecond to what [`Nanos`] can hold is left out.
    pub times: Vec<f64>,
}

/// The times at one number of threads, as the fit sees them.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Point {
    threads: f64,
    /// The median time (ns).
    time: f64,
}

/// What is known of the noise of medians before any law is fitted.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Noise {
    /// Its relative variance.
    variance: f64,
    /// As how many measurements that counts.
    weight: f64,
}

/// The law that fits the times best, with predictions at the measured numbers of threads and up to eight times the most
/// of them. `None` if there are fewer than three different numbers from 1 to `cores` with positive times. Points with
/// more threads than `cores` are left out: there threads take turns, which is another law. `cores` 0 means that their
/// number is not known; then no point is left out.
///
/// Efficiencies are relative to the fewest threads measured: the median time there × that number / (n × T(n)), as
/// [`super::WholePoint::efficiency`] is (paper 5, section 3.1).
pub fn fit(samples: &[Sample], cores: u32) -> Option<FittedLaw> {
    let times = by_threads(samples, cores);
    let points: Vec<Point> = times
        .iter()
        .map(|(&threads, times)| Point { threads: f64::from(threads), time: median(times).unwrap_or(0.0) })
        .collect();
    let noise = noise_of(times.values());
    let choice = Choice::of(&points, noise)?;
    let measured: Vec<u32> = times.keys().copied().collect();
    let targets = targets(&measured);
    let intervals = interval::predict(&choice, &points, &targets);
    let base = points.first()?;
    let predictions = targets
        .iter()
        .zip(intervals)
        .map(|(&threads, interval)| {
            let efficiency = |time: f64| base.time * base.threads / (f64::from(threads) * time.max(1.0));
            LawPrediction {
                threads,
                time: nanos(interval.time),
                low: nanos(interval.low),
                high: nanos(interval.high),
                efficiency: efficiency(interval.time),
                efficiency_low: efficiency(interval.high),
                efficiency_high: efficiency(interval.low),
            }
        })
        .collect();
    let chosen = choice.chosen();
    Some(FittedLaw {
        kind: chosen.law.kind,
        formula: formula::words(&chosen.law, &chosen.fit.coefficients),
        parameters: formula::parameters(chosen, &points),
        cross_validation_error: chosen.cross_validation_error(),
        predictions,
        dominated_by: None,
    })
}

fn nanos(time: f64) -> Nanos {
    // The conversion saturates: a time beyond the range becomes the longest there is.
    Nanos::new(time.round() as u64)
}

/// The times at each usable number of threads, ascending.
fn by_threads(samples: &[Sample], cores: u32) -> BTreeMap<u32, Vec<f64>> {
    let mut times: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.threads >= 1) {
        if cores == 0 || sample.threads <= cores {
            let sound = sample.times.iter().copied().filter(|time| (1.0..=u64::MAX as f64).contains(time));
            times.entry(sample.threads).or_default().extend(sound);
        }
    }
    times.retain(|_, times| !times.is_empty());
    for times in times.values_mut() {
        times.arrange_by(f64::total_cmp);
    }
    times
}

/// Without repeated runs: as if three measurements had shown that medians vary by 2 %, which is between a quiet machine's
/// noise and a shared one's. It keeps a law that meets a few points by chance from claiming to know.
const USUAL_NOISE: Noise = Noise { variance: 0.02 * 0.02, weight: 3.0 };

/// The least noise that is believed, relative: what stays the same in all repetitions of one number of threads (where
/// memory lies, who shares a core) does not show in their spread.
const LEAST_NOISE: f64 = 0.002;

/// The noise of medians, from the spread of repeated runs around their mean, pooled over all numbers of threads. Where
/// these are few, the usual noise counts with them.
fn noise_of<'a>(times: impl Iterator<Item = &'a Vec<f64>> + Clone) -> Noise {
    let (mut squares, mut freedom, mut of_medians, mut points) = (0.0, 0.0, 0.0, 0.0);
    for times in times {
        let count = times.len() as f64;
        let mean = times.iter().sum::<f64>() / count;
        squares += times.iter().map(|time| (time / mean - 1.0).powi(2)).sum::<f64>();
        freedom += count - 1.0;
        // The variance of a median of many is π/2 times that of their mean; of one or two it is the same.
        of_medians += if times.len() > 2 { std::f64::consts::FRAC_PI_2 / count } else { 1.0 / count };
        points += 1.0;
    }
    let usual = USUAL_NOISE;
    if freedom == 0.0 {
        return usual;
    }
    let pooled = (squares / freedom * of_medians / points).max(LEAST_NOISE * LEAST_NOISE);
    let own = freedom.min(usual.weight);
    let variance = (pooled * own + usual.variance * (usual.weight - own)) / usual.weight;
    Noise { variance, weight: usual.weight }
}

/// The numbers of threads to predict for: the measured ones, powers of two, and twice, four and eight times the most
/// measured.
fn targets(measured: &[u32]) -> Vec<u32> {
    let (least, most) = (measured[0], measured[measured.len() - 1]);
    let furthest = most.saturating_mul(FURTHEST).min(MOST_THREADS.max(most));
    let powers = (0..u32::BITS).map(|power| 1u32 << power);
    let beyond = [2, 4, FURTHEST].map(|factor| most.saturating_mul(factor));
    let mut targets: Vec<u32> = measured.iter().copied().chain(powers).chain(beyond).collect();
    targets.retain(|&threads| threads >= least && threads <= furthest);
    targets.sort_unstable();
    targets.dedup();
    targets
}
