//! What a law says for other numbers of threads, with 95 % prediction intervals.
//!
//! An interval says where the median of as many runs as were made at the measured points would lie. It is found by a
//! parametric bootstrap (Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, section 6.5): a law is drawn by
//! its weight, a noise by the χ² distribution of its estimate, times at the measured points by law and noise; the
//! law is fitted to them, and predicts, with the noise of the predicted runs themselves. So the interval has in it the
//! noise, what it does to the parameters, how little is known of it (Student's t), and that another law may be the true
//! one. The draws are the same for the same times.

use holdup_model::Arrange;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{ChiSquared, Distribution, StandardNormal};

use super::Point;
use super::choice::{Candidate, Choice};
use super::least_squares::{Row, Solver, dot};

/// How many runs of the measurements are drawn.
const DRAWS: usize = 1000;

/// Where the draws begin: any number, always the same.
const SEED: u64 = 0x1a35;

/// The least share of the runs' time that is predicted: none is done in no time.
const LEAST_FACTOR: f64 = 0.01;

/// A predicted time (ns), and the ends of its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Interval {
    pub(super) time: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What the chosen law says for each of `targets`, and what all of them leave possible.
pub(super) fn predict(choice: &Choice, points: &[Point], targets: &[u32]) -> Vec<Interval> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut drawn: Vec<Vec<f64>> = targets.iter().map(|_| Vec::with_capacity(DRAWS)).collect();
    let (mut weight, mut done) = (0.0, 0);
    for candidate in &choice.candidates {
        weight += candidate.weight;
        let end = (weight * DRAWS as f64).round() as usize;
        if end > done {
            draw(candidate, points, targets, end - done, &mut random, &mut drawn);
            done = end;
        }
    }
    let chosen = choice.chosen();
    let told =
        targets.iter().map(|&target| dot(&chosen.law.row(f64::from(target)), &chosen.fit.coefficients));
    told.zip(drawn)
        .map(|(time, mut drawn)| {
            drawn.arrange_by(f64::total_cmp);
            // The law that is told may be far from the others: the interval always holds what is told.
            Interval { time, low: quantile(&drawn, 0.025).min(time), high: quantile(&drawn, 0.975).max(time) }
        })
        .collect()
}

/// Adds `draws` predictions of one law to those for each target.
fn draw(
    candidate: &Candidate,
    points: &[Point],
    targets: &[u32],
    draws: usize,
    random: &mut ChaCha8Rng,
    drawn: &mut [Vec<f64>],
) {
    let law = &candidate.law;
    let rows: Vec<Row> = points
        .iter()
        .map(|point| {
            let row = law.row(point.threads);
            let time = dot(&row, &candidate.fit.coefficients);
            row.map(|value| value / time)
        })
        .collect();
    let Ok(spread) = ChiSquared::new(candidate.noise.weight) else { return };
    if rows.iter().flatten().any(|value| !value.is_finite()) {
        return;
    }
    let solver = Solver::new(rows, law.terms.len());
    let targets: Vec<Row> = targets.iter().map(|&target| law.row(f64::from(target))).collect();
    let mut times = vec![0.0; points.len()];
    for _ in 0..draws {
        let noise = (candidate.noise.variance * candidate.noise.weight / spread.sample(random)).sqrt();
        let mut factor = || (1.0 + noise * normal(random)).max(LEAST_FACTOR);
        times.fill_with(&mut factor);
        let fit = solver.solve(&times);
        for (target, drawn) in targets.iter().zip(&mut *drawn) {
            drawn.push(dot(target, &fit.coefficients) * factor());
        }
    }
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(random)
}

/// The value below which this share of the sorted numbers lies, between two of them in a straight line; 0 of none.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let below = place as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}
