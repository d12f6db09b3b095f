//! Principal components: the directions in which rows differ most (paper 3, section 2.4).

use crate::columns::{self, Columns, Qr};
use crate::{CharacterizeError, Table};

/// What the components are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcaOptions {
    /// Whether the mean of each column is subtracted. Without, the components tell of the distance from zero, and the first one
    /// is mostly what all rows share: that is what paper 3's tables 4 and 5 show.
    pub centred: bool,
    /// Whether each column is divided by its deviation, so that columns of different units count alike. The deviation is
    /// about the mean, or about zero if not centred. A column that does not deviate is left as it is.
    pub scaled: bool,
}

impl Default for PcaOptions {
    fn default() -> PcaOptions {
        PcaOptions { centred: true, scaled: false }
    }
}

/// How many components are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// The fewest whose shares of the variance add up to this one.
    Share(f64),
    /// So many, or all where there are fewer.
    Count(usize),
}

impl Default for Keep {
    fn default() -> Keep {
        Keep::Share(0.9)
    }
}

/// Rounding: a sum of shares that misses its mark by no more than this has reached it.
const ALMOST: f64 = 1e-12;

/// The principal components of a table.
///
/// They are ordered from the largest variance to the smallest; of each, the weight that is largest by its absolute value is
/// positive, the first one of equals. There are as many as the table has rank: directions in which nothing differs are none.
#[derive(Clone, Debug, PartialEq)]
pub struct Pca {
    /// What was done to the columns before.
    pub options: PcaOptions,
    /// What was subtracted from each column; zeros if not centred.
    pub centre: Vec<f64>,
    /// What each column was divided by; ones if not scaled.
    pub scale: Vec<f64>,
    /// The variance of each component: the sum of its squared values, divided by the rows less one, or by the rows if not
    /// centred.
    pub variances: Vec<f64>,
    /// The share that each component has of the sum of all variances, from 0 to 1.
    pub shares: Vec<f64>,
    /// For each component the weight of each column. They are orthonormal.
    weights: Vec<f64>,
    /// For each row its value in each component.
    scores: Vec<f64>,
    columns: usize,
}

impl Pca {
    /// The components of a table.
    ///
    /// # Errors
    /// [`CharacterizeError::NoDecomposition`].
    pub fn of(table: &Table, options: PcaOptions) -> Result<Pca, CharacterizeError> {
        let (n, p) = (table.rows.len(), table.columns.len());
        let mut data = Columns::of_rows(n, p, &table.values);
        let (centre, scale) = prepare(&mut data, options);
        let freedom = if options.centred { n.saturating_sub(1).max(1) } else { n } as f64;
        let (values, directions) = decompose(&data)?;
        // As numpy's matrix_rank: what is smaller is rounding.
        let largest = values.first().copied().unwrap_or(0.0);
        let noise = largest * n.max(p) as f64 * f64::EPSILON;
        let rank = values.iter().take_while(|value| **value > noise).count();
        let mut weights = Vec::with_capacity(rank * p);
        for component in 0..rank {
            let direction = directions.column(component);
            let sign = direction[leading(direction.iter().copied())].signum();
            weights.extend(direction.iter().map(|weight| weight * sign));
        }
        let mut scores = Vec::with_capacity(n * rank);
        let mut row = vec![0.0; p];
        for at in 0..n {
            row.iter_mut().zip(data.iter()).for_each(|(value, column)| *value = column[at]);
            scores.extend(weights.chunks_exact(p).map(|weights| dot(weights, &row)));
        }
        let squares: Vec<f64> = values[..rank].iter().map(|value| value * value).collect();
        let total: f64 = squares.iter().sum();
        Ok(Pca {
            options,
            centre,
            scale,
            variances: squares.iter().map(|square| square / freedom).collect(),
            shares: squares.iter().map(|square| square / total).collect(),
            weights,
            scores,
            columns: p,
        })
    }

    /// How many components there are.
    pub fn components(&self) -> usize {
        self.variances.len()
    }

    /// The weight of each column in a component.
    pub fn weights(&self, component: usize) -> &[f64] {
        &self.weights[component * self.columns..][..self.columns]
    }

    /// The value of a row in each component.
    pub fn scores(&self, row: usize) -> &[f64] {
        &self.scores[row * self.components()..][..self.components()]
    }

    /// The column with the largest weight, by its absolute value: the component's main contributor (paper 3, Table 3).
    pub fn main(&self, component: usize) -> usize {
        leading(self.weights(component).iter().copied())
    }

    /// The sum of the shares of the first components, for each number of them.
    pub fn cumulative(&self) -> Vec<f64> {
        self.shares
            .iter()
            .scan(0.0, |sum, share| {
                *sum += share;
                Some(*sum)
            })
            .collect()
    }

    /// How many components are kept.
    pub fn kept(&self, keep: Keep) -> usize {
        match keep {
            Keep::Count(count) => count.min(self.components()),
            Keep::Share(share) => {
                let short = self.cumulative().iter().take_while(|sum| **sum < share - ALMOST).count();
                (short + 1).min(self.components())
            }
        }
    }

    /// The columns' values at a place in the space of the first components; the others are zero there.
    pub fn columns_at(&self, place: &[f64]) -> Vec<f64> {
        (0..self.columns)
            .map(|column| {
                let value: f64 =
                    place.iter().enumerate().map(|(at, score)| score * self.weights(at)[column]).sum();
                value * self.scale[column] + self.centre[column]
            })
            .collect()
    }
}

/// The first of those weights that are as large as the largest, by its absolute value, but for rounding.
fn leading(weights: impl Iterator<Item = f64> + Clone) -> usize {
    let most = weights.clone().fold(0.0, |most: f64, weight| most.max(weight.abs()));
    weights.enumerate().find(|(_, weight)| weight.abs() >= most * (1.0 - 1e-9)).map_or(0, |(at, _)| at)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Centres and scales the columns. Gives what was subtracted and what was divided by.
fn prepare(data: &mut Columns, options: PcaOptions) -> (Vec<f64>, Vec<f64>) {
    let rows = data.rows() as f64;
    let (mut centre, mut scale) = (Vec::new(), Vec::new());
    for column in data.iter_mut() {
        let constant = column.iter().all(|value| *value == column[0]);
        // The sum of many equal numbers is not always a multiple of them.
        let mean = if constant { column[0] } else { column.iter().sum::<f64>() / rows };
        let mean = if options.centred { mean } else { 0.0 };
        column.iter_mut().for_each(|value| *value -= mean);
        let deviation = (columns::dot(column, column) / rows).sqrt();
        let divisor = if options.scaled && deviation > 0.0 { deviation } else { 1.0 };
        columns::divide(column, divisor);
        centre.push(mean);
        scale.push(divisor);
    }
    (centre, scale)
}

/// After so many rounds over all pairs of columns it is given up; ten are many.
const MOST_ROUNDS: usize = 100;

/// Singular values, falling, and for each a direction in the space of columns.
///
/// The longer side is first rotated away (QR), so that no more than the smaller side squared is decomposed. The rest is done
/// by rotating pairs of columns until all are at right angles (Hestenes 1958, one-sided Jacobi), which keeps small values
/// right beside large ones. Libraries that were looked at: nalgebra's own decomposition gives a wrong largest value for some
/// tables of shares, whose columns add up to a constant; eigenvalues of the covariance square what small values are beside
/// large ones; faer brings 33 more packages for these sixty lines, and chooses its kernels by the processor it runs on.
fn decompose(data: &Columns) -> Result<(Vec<f64>, Columns), CharacterizeError> {
    let tall = data.rows() >= data.count();
    let qr = Qr::of(if tall { data.clone() } else { data.transposed() });
    let triangle = qr.triangle();
    let mut rotated = if tall { triangle.transposed() } else { triangle };
    let largest = rotated.largest();
    if largest == 0.0 {
        return Ok((Vec::new(), Columns::zeros(data.count(), 0)));
    }
    // Of a size at which nothing underflows.
    rotated.divide(largest);
    if !(0..MOST_ROUNDS).any(|_| !rotate(&mut rotated)) {
        return Err(CharacterizeError::NoDecomposition);
    }
    let lengths: Vec<f64> = rotated.iter().map(columns::length).collect();
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by(|a, b| lengths[*b].total_cmp(&lengths[*a]));
    let values = order.iter().map(|at| lengths[*at] * largest).collect();
    let mut directions = Columns::zeros(rotated.rows(), order.len());
    for (direction, &at) in directions.iter_mut().zip(&order) {
        direction.copy_from_slice(rotated.column(at));
        if lengths[at] > 0.0 {
            columns::divide(direction, lengths[at]);
        }
    }
    Ok((values, if tall { directions } else { qr.times(&directions) }))
}

/// One round over all pairs of columns. True if any had to be rotated.
fn rotate(matrix: &mut Columns) -> bool {
    let longest = matrix.iter().map(|column| columns::dot(column, column)).fold(0.0, f64::max);
    // Two columns are at right angles if their cosine is no more than what rounding makes of it.
    let rounding = f64::EPSILON * matrix.rows().max(4) as f64;
    let mut any = false;
    for a in 0..matrix.count() {
        for b in a + 1..matrix.count() {
            let (left, right) = matrix.pair_mut(a, b);
            let (x, y) = (columns::dot(left, left), columns::dot(right, right));
            let both = columns::dot(left, right);
            // What is left of a column that has no part of its own is rounding, and at no angle.
            let is_nothing = x.min(y).sqrt() <= longest.sqrt() * f64::EPSILON * f64::EPSILON;
            if is_nothing || both.abs() <= rounding * (x * y).sqrt() {
                continue;
            }
            any = true;
            let zeta = (y - x) / (2.0 * both);
            let tangent = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
            let cosine = 1.0 / tangent.hypot(1.0);
            let sine = cosine * tangent;
            for (p, q) in left.iter_mut().zip(right) {
                (*p, *q) = (cosine * *p - sine * *q, sine * *p + cosine * *q);
            }
        }
    }
    any
}
