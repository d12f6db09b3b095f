//! A matrix that is kept column by column, and what orthogonal decompositions do with it.

use std::slice::ChunksExact;

/// A matrix; columns are contiguous.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Columns {
    rows: usize,
    values: Vec<f64>,
}

impl Columns {
    /// All zero.
    pub(crate) fn zeros(rows: usize, columns: usize) -> Columns {
        Columns { rows, values: vec![0.0; rows * columns] }
    }

    /// Of values that are kept row by row.
    pub(crate) fn of_rows(rows: usize, columns: usize, values: &[f64]) -> Columns {
        let mut matrix = Columns::zeros(rows, columns);
        for row in 0..rows {
            for column in 0..columns {
                matrix.values[column * rows + row] = values[row * columns + column];
            }
        }
        matrix
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub(crate) fn count(&self) -> usize {
        self.values.len().checked_div(self.rows).unwrap_or(0)
    }

    pub(crate) fn column(&self, at: usize) -> &[f64] {
        &self.values[at * self.rows..][..self.rows]
    }

    pub(crate) fn iter(&self) -> ChunksExact<'_, f64> {
        self.values.chunks_exact(self.rows.max(1))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut [f64]> {
        self.values.chunks_exact_mut(self.rows.max(1))
    }

    /// The two columns, of which `a` is before `b`.
    pub(crate) fn pair_mut(&mut self, a: usize, b: usize) -> (&mut [f64], &mut [f64]) {
        let (before, after) = self.values.split_at_mut(b * self.rows);
        (&mut before[a * self.rows..][..self.rows], &mut after[..self.rows])
    }

    pub(crate) fn transposed(&self) -> Columns {
        Columns::of_rows(self.count(), self.rows, &self.values)
    }

    /// The largest absolute value.
    pub(crate) fn largest(&self) -> f64 {
        self.values.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
    }

    pub(crate) fn divide(&mut self, by: f64) {
        divide(&mut self.values, by);
    }
}

/// The sum of products. Eight sums side by side: a processor adds them at once, and rounding grows less than in one.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (left, right) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = left.remainder().iter().zip(right.remainder());
    let mut sums = [0.0; 8];
    for (a, b) in left.zip(right) {
        for at in 0..8 {
            sums[at] += a[at] * b[at];
        }
    }
    let whole = (0..4).map(|at| sums[at] + sums[at + 4]).fold(0.0, |sum, pair| sum + pair);
    rest.fold(whole, |sum, (a, b)| sum + a * b)
}

/// The Euclidean length.
pub(crate) fn length(column: &[f64]) -> f64 {
    dot(column, column).sqrt()
}

pub(crate) fn divide(column: &mut [f64], by: f64) {
    column.iter_mut().for_each(|value| *value /= by);
}

/// A matrix with no fewer rows than columns, as an orthogonal one times an upper triangular one, by Householder's reflections
/// (Golub and Van Loan, *Matrix Computations*, 4th edition, section 5.2).
pub(crate) struct Qr {
    /// In each column, from the diagonal on, the unit vector that its reflection goes along; above, the triangle.
    packed: Columns,
    /// What each column's reflection makes of its first value. Its sign is taken out of all rows that are left.
    diagonal: Vec<f64>,
}

impl Qr {
    pub(crate) fn of(mut packed: Columns) -> Qr {
        let (rows, count) = (packed.rows(), packed.count());
        let mut diagonal = Vec::with_capacity(count);
        for at in 0..count {
            let (done, left) = packed.values.split_at_mut((at + 1) * rows);
            let axis = &mut done[at * rows + at..];
            let (value, reflects) = make_axis(axis);
            if reflects {
                left.chunks_exact_mut(rows)
                    .for_each(|column| reflect(&mut column[at..], axis, value.signum()));
            }
            diagonal.push(value);
        }
        Qr { packed, diagonal }
    }

    /// The triangle, with no negative value on its diagonal.
    pub(crate) fn triangle(&self) -> Columns {
        let count = self.diagonal.len();
        let mut triangle = Columns::zeros(count, count);
        for (at, column) in triangle.iter_mut().enumerate() {
            column[..at].copy_from_slice(&self.packed.column(at)[..at]);
            column[at] = self.diagonal[at].abs();
        }
        triangle
    }

    /// The orthogonal matrix times another.
    pub(crate) fn times(&self, other: &Columns) -> Columns {
        let mut product = Columns::zeros(self.packed.rows(), other.count());
        for (column, given) in product.iter_mut().zip(other.iter()) {
            column[..given.len()].copy_from_slice(given);
            for (at, value) in self.diagonal.iter().enumerate().rev() {
                reflect(&mut column[at..], &self.packed.column(at)[at..], value.signum());
            }
        }
        product
    }
}

/// Makes of a column the unit vector along which it is reflected onto its first place. Gives what comes to be there, and whether
/// there is anything to reflect.
fn make_axis(column: &mut [f64]) -> (f64, bool) {
    let square = dot(column, column);
    let norm = square.sqrt();
    let first = column[0].abs();
    let signed = if column[0] >= 0.0 { norm } else { -norm };
    let factor = (square + first * norm) * 2.0;
    // Away from the origin, so that nothing cancels.
    column[0] += signed;
    if factor == 0.0 {
        return (signed, false);
    }
    divide(column, factor.sqrt());
    // Again: the first division leaves rounding in the length, which every later reflection would multiply.
    divide(column, length(column));
    (-signed, true)
}

/// Reflects a column along a unit vector, and gives it a sign.
fn reflect(column: &mut [f64], axis: &[f64], sign: f64) {
    let factor = dot(axis, column) * (sign * -2.0);
    column.iter_mut().zip(axis).for_each(|(value, axis)| *value = factor * axis + sign * *value);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the first column has length 5, the second 23/5 along it, and of its square 30 the rest across.
    #[test]
    fn a_triangle_that_is_known() {
        let matrix = Columns::of_rows(3, 2, &[3.0, 1.0, 0.0, 2.0, 4.0, 5.0]);
        let qr = Qr::of(matrix.clone());
        let expected = [5.0, 0.0, 4.6, (30.0_f64 - 4.6 * 4.6).sqrt()];
        for (found, expected) in qr.triangle().values.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{:?}", qr.triangle());
        }
        let again = qr.times(&qr.triangle());
        for (found, given) in again.values.iter().zip(&matrix.values) {
            assert!((found - given).abs() < 1e-12, "{again:?}");
        }
    }

    #[test]
    fn columns_of_zeros_stay() {
        let qr = Qr::of(Columns::zeros(3, 2));
        assert_eq!(qr.triangle(), Columns::zeros(2, 2));
    }

    #[test]
    fn long_sums_have_all_products() {
        let a: Vec<f64> = (0..21).map(f64::from).collect();
        assert_eq!(dot(&a, &a), 2870.0);
    }
}
