//! Section 3.5: which clusters explain time, and how strongly.
//!
//! Forward selection (Efroymson 1960): of the clusters that are left, that which explains most of what is left of time
//! enters, as long as the partial F-test says that it is more than chance:
//!
//! F = ΔRSS / (RSS / f),   f = rows − instances − regressors, this one among them
//!
//! p is the probability of a larger F with 1 and f degrees of freedom. Time and clusters are centred within instances, which
//! takes one degree each. The coefficients are those of columns of the same length: standardised.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::rows::dot;

/// What a cluster must fulfil to enter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// The p-value must be below this.
    pub(super) significance: f64,
    /// The share of the variance of time that it must add.
    pub(super) least_added: f64,
    /// True if only clusters that grow with time enter.
    pub(super) only_growing: bool,
}

impl Rules {
    /// As the paper says, at the usual 5 %.
    pub(super) const PAPER: Rules = Rules { significance: 0.05, least_added: 0.0, only_growing: false };

    /// Bounded for so many candidates: the probability that any of them enters by chance is below 5 % (Bonferroni). Counts
    /// of instructions are exact, so clusters that add next to nothing are significant too; they must add 1 %.
    pub(super) fn bounded(candidates: usize) -> Rules {
        Rules { significance: 0.05 / candidates.max(1) as f64, least_added: 0.01, only_growing: true }
    }
}

/// The most clusters that may enter.
const MOST_REGRESSORS: usize = 10;

/// Two ways of a branch that is taken equally often are each other's mirror image, and add equally but for rounding: within this
/// share of what is left. Then what grows with time is taken, of several the first.
const EQUAL: f64 = 1e-9;

/// What is left of time is rounding below this.
const ROUNDING: f64 = 1e-20;

/// The share of its squared length that must be left of a cluster without those that have entered: less is rounding.
const COLLINEAR: f64 = 1e-9;

/// A regression of time on clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fit {
    /// Which candidates entered, in that order.
    pub(super) chosen: Vec<usize>,
    /// Their standardised coefficients.
    pub(super) beta: Vec<f64>,
    /// The p-value with which each entered.
    pub(super) p: Vec<f64>,
    /// The share of the variance of time that they explain together.
    pub(super) r_squared: f64,
}

/// The candidate that adds most so far.
struct Best {
    at: usize,
    added: f64,
    length: f64,
    grows: bool,
}

/// Selects among candidates, which are unit columns as time is. `freedom` is rows − instances.
pub(super) fn forward(time: &[f64], candidates: &[Vec<f64>], freedom: usize, rules: Rules) -> Fit {
    let mut fit = Fit::default();
    let mut left = time.to_vec();
    let mut left_squared = dot(&left, &left);
    let mut rests: Vec<Option<Vec<f64>>> = candidates
        .iter()
        .map(|candidate| (!rules.only_growing || dot(candidate, time) > 0.0).then(|| candidate.clone()))
        .collect();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    while basis.len() < MOST_REGRESSORS && freedom > basis.len() + 1 && left_squared > ROUNDING {
        let mut best: Option<Best> = None;
        for (at, rest) in rests.iter().enumerate() {
            let Some(rest) = rest else { continue };
            let squared = dot(rest, rest);
            let along = dot(rest, &left);
            if squared < COLLINEAR || (rules.only_growing && along <= 0.0) {
                continue;
            }
            let added = along * along / squared;
            let grows = dot(&candidates[at], time) > 0.0;
            let is_better = best.as_ref().is_none_or(|best| {
                let more = added - best.added;
                more > EQUAL * left_squared || more >= -EQUAL * left_squared && grows && !best.grows
            });
            if is_better {
                best = Some(Best { at, added, length: squared.sqrt(), grows });
            }
        }
        let Some(Best { at, added, length, .. }) = best else { break };
        let p = p_value(added, left_squared - added, freedom - basis.len() - 1);
        if !(p < rules.significance && added >= rules.least_added) {
            break;
        }
        let Some(mut direction) = rests[at].take() else { break };
        direction.iter_mut().for_each(|value| *value /= length);
        take_away(&mut left, &direction);
        left_squared = dot(&left, &left);
        for rest in rests.iter_mut().flatten() {
            take_away(rest, &direction);
        }
        basis.push(direction);
        fit.chosen.push(at);
        fit.p.push(p);
    }
    fit.beta = coefficients(time, candidates, &fit.chosen, &basis);
    fit.r_squared = 1.0 - left_squared;
    fit
}

/// Standardised coefficients of all these columns together; `None` if some are collinear.
pub(super) fn together(time: &[f64], columns: &[&[f64]]) -> Option<Vec<f64>> {
    let columns: Vec<Vec<f64>> = columns.iter().map(|column| column.to_vec()).collect();
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(columns.len());
    for column in &columns {
        let mut rest = column.clone();
        for direction in &basis {
            take_away(&mut rest, direction);
        }
        let squared = dot(&rest, &rest);
        if squared.is_nan() || squared < COLLINEAR {
            return None;
        }
        let length = squared.sqrt();
        rest.iter_mut().for_each(|value| *value /= length);
        basis.push(rest);
    }
    let chosen: Vec<usize> = (0..columns.len()).collect();
    Some(coefficients(time, &columns, &chosen, &basis))
}

/// The probability that chance explains as much with one more regressor.
fn p_value(added: f64, left: f64, freedom: usize) -> f64 {
    if left <= f64::EPSILON {
        return 0.0;
    }
    let f = added / left * freedom as f64;
    FisherSnedecor::new(1.0, freedom as f64).map_or(1.0, |distribution| distribution.sf(f))
}

fn take_away(values: &mut [f64], direction: &[f64]) {
    let along = dot(values, direction);
    for (value, part) in values.iter_mut().zip(direction) {
        *value -= along * part;
    }
}

/// β from R β = Qᵀ time, where the columns of Q are the basis and R = Qᵀ · candidates is upper triangular.
fn coefficients(time: &[f64], candidates: &[Vec<f64>], chosen: &[usize], basis: &[Vec<f64>]) -> Vec<f64> {
    let mut beta = vec![0.0; chosen.len()];
    for row in (0..chosen.len()).rev() {
        let known: f64 =
            (row + 1..chosen.len()).map(|at| dot(&basis[row], &candidates[chosen[at]]) * beta[at]).sum();
        beta[row] = (dot(&basis[row], time) - known) / dot(&basis[row], &candidates[chosen[row]]);
    }
    beta
}

#[cfg(test)]
mod tests {
    use super::super::rows::{Rows, to_unit};
    use super::*;

    fn unit(values: &[f64]) -> Vec<f64> {
        let mut values = values.to_vec();
        Rows::new([values.len()].into_iter()).centre(&mut values);
        to_unit(&mut values, 1.0).expect("it varies");
        values
    }

    #[test]
    fn a_perfect_cause_enters_alone() {
        let cause = unit(&[1.0, 2.0, 4.0, 3.0, 5.0, 9.0]);
        let fit =
            forward(&cause, &[unit(&[1.0, 0.0, 0.0, 2.0, 0.0, 1.0]), cause.clone()], 5, Rules::bounded(2));
        assert_eq!(fit.chosen, [1]);
        assert!((fit.beta[0] - 1.0).abs() < 1e-12 && (fit.r_squared - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_shrinks_as_time_grows_enters_only_as_the_paper_says() {
        let time = unit(&[1.0, 2.0, 4.0, 3.0, 5.0, 9.0]);
        let mirror: Vec<f64> = time.iter().map(|value| -value).collect();
        assert!(forward(&time, std::slice::from_ref(&mirror), 5, Rules::bounded(1)).chosen.is_empty());
        let fit = forward(&time, &[mirror], 5, Rules::PAPER);
        assert!((fit.beta[0] + 1.0).abs() < 1e-12);
    }

    #[test]
    fn collinear_clusters_enter_once() {
        let time = unit(&[1.0, 2.0, 4.0, 3.0, 5.0, 9.0, 8.0]);
        let a = unit(&[1.0, 2.0, 4.0, 3.0, 5.0, 9.0, 7.0]);
        let fit = forward(&time, &[a.clone(), a], 6, Rules::PAPER);
        assert_eq!(fit.chosen, [0]);
    }

    #[test]
    fn what_adds_next_to_nothing_enters_only_as_the_paper_says() {
        // Counts are exact, so a thousandth of the time is as significant as all of it.
        let a = unit(&[1.0, 7.0, 4.0, 3.0, 5.0, 9.0, 8.0, 2.0]);
        let b = unit(&[3.0, 1.0, 2.0, 9.0, 4.0, 6.0, 5.0, 5.0]);
        let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + 0.001 * b).collect();
        let time = unit(&sum);
        let candidates = [a, b];
        let literal = forward(&time, &candidates, 7, Rules::PAPER);
        assert!(literal.chosen == [0, 1] && literal.p[1] < 1e-12, "{literal:?}");
        assert_eq!(forward(&time, &candidates, 7, Rules::bounded(2)).chosen, [0]);
    }

    #[test]
    fn too_few_rows_give_nothing() {
        let time = unit(&[1.0, 2.0]);
        assert_eq!(forward(&time, std::slice::from_ref(&time), 1, Rules::PAPER).chosen, [0_usize; 0]);
    }
}
