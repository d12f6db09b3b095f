//! Least squares with coefficients that are not negative.
//!
//! A law has at most three terms, so every set of terms that may be in use is tried: of those whose unconstrained solution
//! has no negative coefficient, the one that leaves the least is the solution of the constrained problem (the solution
//! of Lawson and Hanson's algorithm, *Solving Least Squares Problems*, 1974, chapter 23, which is for more terms than three).

use super::family::MOST_TERMS;

/// The values of a law's terms at one point.
pub(super) type Row = [f64; MOST_TERMS];

/// A number for each pair of terms.
pub(super) type Square = [Row; MOST_TERMS];

/// Terms nearer to each other than this (the smallest pivot of their correlations) cannot be told apart.
const LEAST_PIVOT: f64 = 1e-6;

/// What makes the sum of squares least.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Fit {
    /// One for each term.
    pub(super) coefficients: Row,
    /// The sum of squares that is left.
    pub(super) rest: f64,
}

/// A way to find coefficients for any values at the same points.
#[derive(Clone, Debug)]
pub(super) struct Solver {
    rows: Vec<Row>,
    gram: Square,
    /// The inverse of the normal equations' matrix for each usable set of terms; 0 in the places of the others.
    inverses: Vec<Square>,
}

impl Solver {
    /// For points where the first `terms` terms have these values.
    pub(super) fn new(rows: Vec<Row>, terms: usize) -> Solver {
        let mut gram = Square::default();
        for row in &rows {
            for (sums, one) in gram.iter_mut().zip(row) {
                for (sum, other) in sums.iter_mut().zip(row) {
                    *sum += one * other;
                }
            }
        }
        let sets = 1..1u8 << terms.min(MOST_TERMS);
        let inverses = sets.filter_map(|set| inverse(&gram, set)).collect();
        Solver { rows, gram, inverses }
    }

    /// The coefficients that come nearest to `values`, which are as many as the rows.
    pub(super) fn solve(&self, values: &[f64]) -> Fit {
        let mut right = Row::default();
        for (row, value) in self.rows.iter().zip(values) {
            for (sum, term) in right.iter_mut().zip(row) {
                *sum += term * value;
            }
        }
        let mut coefficients = Row::default();
        let mut explained = 0.0;
        for inverse in &self.inverses {
            let tried = inverse.map(|row| dot(&row, &right));
            let gained = dot(&tried, &right);
            if gained > explained && tried.iter().all(|&coefficient| coefficient >= 0.0) {
                (coefficients, explained) = (tried, gained);
            }
        }
        // Summed anew: the difference of two sums of squares has no digits left where the law fits well.
        let rest = self.rows.iter().zip(values).map(|(row, value)| (dot(row, &coefficients) - value).powi(2));
        Fit { coefficients, rest: rest.sum() }
    }

    /// The inverse of the normal equations' matrix for exactly the terms of `set`, a bit each: times the noise's variance
    /// it is the covariance of the coefficients. `None` if they cannot be told apart.
    pub(super) fn covariance(&self, set: u8) -> Option<Square> {
        inverse(&self.gram, set)
    }
}

/// The value of a sum of terms.
pub(super) fn dot(row: &Row, coefficients: &Row) -> f64 {
    row[0] * coefficients[0] + row[1] * coefficients[1] + row[2] * coefficients[2]
}

/// The inverse of the part of `gram` that belongs to the terms of `set`; `None` if some of these are as good as multiples
/// of the others, or zero at all points.
fn inverse(gram: &Square, set: u8) -> Option<Square> {
    let used = |term: usize| set & (1 << term) != 0;
    let scale = [0, 1, 2].map(|term| if used(term) { gram[term][term].sqrt() } else { 1.0 });
    if scale.iter().any(|scale| !scale.is_normal()) {
        return None;
    }
    let mut correlations = Square::default();
    for (row, cells) in correlations.iter_mut().enumerate() {
        for (column, cell) in cells.iter_mut().enumerate() {
            *cell = match (used(row) && used(column), row == column) {
                (true, _) => gram[row][column] / (scale[row] * scale[column]),
                (false, same) => f64::from(u8::from(same)),
            };
        }
    }
    let factor = cholesky(&correlations)?;
    let mut inverse = Square::default();
    for column in (0..MOST_TERMS).filter(|&column| used(column)) {
        let whole = unit_solution(&factor, column);
        for row in (0..MOST_TERMS).filter(|&row| used(row)) {
            inverse[row][column] = whole[row] / (scale[row] * scale[column]);
        }
    }
    Some(inverse)
}

/// The lower triangle that, times its transpose, is `matrix`; `None` if a pivot is less than [`LEAST_PIVOT`].
fn cholesky(matrix: &Square) -> Option<Square> {
    let mut factor = Square::default();
    for column in 0..MOST_TERMS {
        for row in column..MOST_TERMS {
            let known = |sum: f64, term: usize| sum - factor[column][term] * factor[row][term];
            let left = (0..column).fold(matrix[row][column], known);
            if row > column {
                factor[row][column] = left / factor[column][column];
            } else if left >= LEAST_PIVOT {
                factor[row][row] = left.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(factor)
}

/// Column `one` of the inverse of the matrix that `factor` is the Cholesky factor of.
fn unit_solution(factor: &Square, one: usize) -> Row {
    let mut solution = Row::default();
    solution[one] = 1.0;
    for row in 0..MOST_TERMS {
        let known = |sum: f64, term: usize| sum - solution[term] * factor[row][term];
        solution[row] = (0..row).fold(solution[row], known) / factor[row][row];
    }
    for row in (0..MOST_TERMS).rev() {
        let known: f64 = (row + 1..MOST_TERMS).map(|term| factor[term][row] * solution[term]).sum();
        solution[row] = (solution[row] - known) / factor[row][row];
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [Row; 4] = [[1.0, 1.0, 0.0], [0.5, 1.0, 1.0], [0.25, 1.0, 3.0], [0.125, 1.0, 7.0]];

    /// Expected: `scipy.optimize.nnls` (SciPy 1.17.1), whose second result is the root of the rest.
    #[test]
    fn coefficients_are_those_of_lawson_and_hanson() {
        let solver = Solver::new(ROWS.to_vec(), 3);
        let check = |values: [f64; 4], coefficients: Row, root: f64| {
            let fit = solver.solve(&values);
            for (found, expected) in fit.coefficients.into_iter().zip(coefficients) {
                assert!((found - expected).abs() < 1e-8, "{fit:?}");
            }
            assert!((fit.rest.sqrt() - root).abs() < 1e-8, "{fit:?}");
        };
        check([1.0, 0.62, 0.36, 0.18], [0.912_695_65, 0.112_173_91, 0.0], 0.076_123_469_499_857);
        check([1.0, 0.7, 0.9, 1.6], [0.986_163_52, 0.010_062_89, 0.210_062_89], 0.019_425_717_247_145);
        check([-1.0, -0.62, -0.36, -0.18], [0.0, 0.0, 0.0], 1.243_543_324_536_785);
    }

    #[test]
    fn multiples_of_each_other_are_not_both_used() {
        let rows = ROWS.map(|[first, ..]| [first, 2.0 * first, 0.0]).to_vec();
        let fit = Solver::new(rows, 3).solve(&[1.0, 0.5, 0.25, 0.125]);
        assert!(
            fit.rest < 1e-20 && fit.coefficients.iter().filter(|&&value| value > 0.0).count() == 1,
            "{fit:?}"
        );
    }
}
