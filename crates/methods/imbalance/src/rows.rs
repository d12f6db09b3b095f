//! The rows that statistics work on: the threads of one dynamic instance, or of several, stacked.
//!
//! Stacked, every column is centred within each instance: what is the same for all threads of an instance says nothing of
//! their imbalance, and sums over instances would cancel what differs.

use std::ops::Range;

/// Which rows are whose instance's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    /// Where each instance's rows begin; behind them how many rows there are.
    starts: Vec<usize>,
}

impl Rows {
    /// Rows of instances of so many threads.
    pub(super) fn new(threads: impl Iterator<Item = usize>) -> Rows {
        let mut starts = vec![0];
        let mut end = 0;
        for count in threads {
            end += count;
            starts.push(end);
        }
        Rows { starts }
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    /// How many instances there are.
    pub(super) fn instances(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of each instance.
    pub(super) fn spans(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|pair| pair[0]..pair[1])
    }

    /// Takes from each value the mean of its instance.
    pub(super) fn centre(&self, values: &mut [f64]) {
        for span in self.spans() {
            let part = &mut values[span];
            let mean = part.iter().sum::<f64>() / part.len().max(1) as f64;
            for value in part {
                *value -= mean;
            }
        }
    }
}

/// Σ a·b, summed in eight lanes: always in the same order.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_blocks.zip(b_blocks) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// Scales centred values to length 1, so that the dot product of two is Pearson's correlation. `None`, and nothing done, if
/// they do not vary: if all are 0, but for what rounding leaves of values as large as `magnitude`.
pub(super) fn to_unit(values: &mut [f64], magnitude: f64) -> Option<f64> {
    let length = dot(values, values).sqrt();
    if length.is_nan() || length <= magnitude * 1e-12 * (values.len() as f64).sqrt() || length == 0.0 {
        return None;
    }
    for value in values {
        *value /= length;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_centred_each_by_itself() {
        let rows = Rows::new([2, 3].into_iter());
        let mut values = [1.0, 3.0, 10.0, 20.0, 60.0];
        rows.centre(&mut values);
        assert_eq!(values, [-1.0, 1.0, -20.0, -10.0, 30.0]);
        assert_eq!((rows.len(), rows.instances()), (5, 2));
    }

    #[test]
    fn a_column_that_only_rounding_makes_vary_is_constant() {
        let rows = Rows::new([3].into_iter());
        let mut values = [0.1 + 0.2, 0.3, 0.3];
        rows.centre(&mut values);
        assert_eq!(to_unit(&mut values, 0.3), None);
        let mut values = [-1.0, 0.0, 1.0];
        assert_eq!(to_unit(&mut values, 1.0), Some(2.0_f64.sqrt()));
    }

    #[test]
    fn dot_takes_what_is_left_behind_the_blocks() {
        let a: Vec<f64> = (0..19).map(f64::from).collect();
        assert_eq!(dot(&a, &a), 2109.0);
    }
}
