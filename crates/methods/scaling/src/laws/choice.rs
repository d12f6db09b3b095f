//! Which law is told, and how much each of the others counts in the intervals.
//!
//! The law that is told is chosen by cross-validation: each point is predicted from the others. Among over a hundred laws
//! one meets a few points by chance, so a simpler law wins unless it is worse by more than four standard errors: the
//! one-standard-error rule (Breiman, Friedman, Olshen, Stone: *Classification and Regression Trees*, 1984) with a margin
//! for the number of laws.
//!
//! In the intervals each law counts by how probable it is: its prior times exp(−BIC/2) (Schwarz, Annals of Statistics 6,
//! 1978; as weights: Kass and Raftery, JASA 90, 1995), with the noise that is known beforehand counted as measurements. That
//! was tried against weights from cross-validation, whose intervals held the truth in 86 of 100 cases only.

use super::super::LawKind;
use super::family::{Law, laws};
use super::least_squares::{Fit, Row, Solver, dot};
use super::{Noise, Point};

/// The fewest points that a law is fitted to.
const FEWEST_POINTS: usize = 3;

/// By how many standard errors of the mean square error a simpler law may be worse.
const MARGIN: f64 = 4.0;

/// Relative errors below this are no reason to prefer a law.
const NO_ERROR: f64 = 0.002;

/// To what power the evidence counts. Below 1 because the true law need not be among those that are tried (Grünwald and van
/// Ommen, Bayesian Analysis 12, 2017).
const EVIDENCE: f64 = 0.7;

/// A law, fitted.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) law: Law,
    /// To the times of the points, relative to these.
    pub(super) fit: Fit,
    /// The relative error of each point's prediction from the others, root mean square.
    cross_validation_error: f64,
    /// Its share of the intervals; over all candidates these add up to 1.
    pub(super) weight: f64,
    /// The noise of points, as a relative variance, with this law, and how many measurements it was found from.
    pub(super) noise: Noise,
}

impl Candidate {
    /// The root mean square relative error of predicting each point from the others.
    pub(super) fn cross_validation_error(&self) -> f64 {
        self.cross_validation_error
    }

    fn new(law: Law, points: &[Point], noise: Noise) -> Candidate {
        let fit = fitted(&law, points);
        let errors = points.iter().enumerate().map(|(left_out, point)| {
            let others: Vec<Point> = points
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != left_out)
                .map(|(_, point)| *point)
                .collect();
            dot(&law.row(point.threads), &fitted(&law, &others).coefficients) / point.time - 1.0
        });
        let mean_square = errors.map(|error| error * error).sum::<f64>() / points.len() as f64;
        let weight = noise.weight + (points.len() - law.terms.len()) as f64;
        let variance = (noise.variance * noise.weight + fit.rest) / weight;
        let noise = Noise { variance, weight };
        Candidate { law, fit, cross_validation_error: mean_square.sqrt(), weight: 0.0, noise }
    }

    /// The logarithm of what speaks for it, up to a constant that is the same for all: its prior, and −BIC/2 with the
    /// measurements from which the noise was known before.
    fn evidence(&self, points: usize, known: Noise) -> f64 {
        let points = points as f64;
        let likelihood = -0.5 * (points + known.weight) * (self.noise.variance * self.noise.weight).ln();
        let complexity = 0.5 * self.law.terms.len() as f64 * points.ln();
        self.law.prior.ln() + EVIDENCE * (likelihood - complexity)
    }

    fn mean_square(&self) -> f64 {
        self.cross_validation_error * self.cross_validation_error
    }
}

/// The values of a law's terms at the points, relative to the times there.
pub(super) fn relative_rows(law: &Law, points: &[Point]) -> Vec<Row> {
    points.iter().map(|point| law.row(point.threads).map(|value| value / point.time)).collect()
}

fn fitted(law: &Law, points: &[Point]) -> Fit {
    Solver::new(relative_rows(law, points), law.terms.len()).solve(&vec![1.0; points.len()])
}

/// All laws that were tried, and the one that is told.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// In the order of their simplicity; not empty.
    pub(super) candidates: Vec<Candidate>,
    chosen: usize,
}

impl Choice {
    /// Of all laws that these points can tell apart, ascending by threads; `None` for fewer than three points.
    pub(super) fn of(points: &[Point], noise: Noise) -> Option<Choice> {
        if points.len() < FEWEST_POINTS {
            return None;
        }
        let mut candidates: Vec<Candidate> =
            laws(points.len()).into_iter().map(|law| Candidate::new(law, points, noise)).collect();
        candidates.retain(|candidate| candidate.cross_validation_error.is_finite());
        let least = candidates.iter().map(Candidate::mean_square).min_by(f64::total_cmp)?;
        // The standard error of a mean of n squares of normal errors is √(2/n) of it.
        let margin = 1.0 + MARGIN * (2.0 / points.len() as f64).sqrt();
        let good_enough = least * margin + NO_ERROR * NO_ERROR;
        let chosen = [LawKind::Amdahl, LawKind::Usl, LawKind::NormalForm]
            .into_iter()
            .filter_map(|kind| best_of(&candidates, kind))
            .find(|&at| candidates[at].mean_square() <= good_enough)?;
        weigh(&mut candidates, points.len(), noise);
        Some(Choice { candidates, chosen })
    }

    /// The law that is told.
    pub(super) fn chosen(&self) -> &Candidate {
        &self.candidates[self.chosen]
    }
}

/// Where the candidate of this kind is that predicts points best from the others.
fn best_of(candidates: &[Candidate], kind: LawKind) -> Option<usize> {
    let of_kind = candidates.iter().enumerate().filter(|(_, candidate)| candidate.law.kind == kind);
    of_kind.min_by(|one, other| one.1.mean_square().total_cmp(&other.1.mean_square())).map(|(at, _)| at)
}

fn weigh(candidates: &mut [Candidate], points: usize, known: Noise) {
    let evidence: Vec<f64> = candidates.iter().map(|candidate| candidate.evidence(points, known)).collect();
    let most = evidence.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all: f64 = evidence.iter().map(|evidence| (evidence - most).exp()).sum();
    for (candidate, evidence) in candidates.iter_mut().zip(evidence) {
        candidate.weight = (evidence - most).exp() / all;
    }
}
