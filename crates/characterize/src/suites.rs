//! Where collections of programs lie, and which programs lie furthest out (paper 3, tables 3 and 4).

use crate::{Pca, Table};

/// A collection of programs, by the values of its rows in each component.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// How many rows it has.
    pub rows: usize,
    /// The mean in each component.
    pub means: Vec<f64>,
    /// The deviation in each component (with rows less one); `None` for a single row.
    pub deviations: Vec<Option<f64>>,
}

/// The suites in the order of their names; rows without one are in none.
pub(crate) fn suites(table: &Table, pca: &Pca) -> Vec<Suite> {
    let mut names: Vec<&str> = table.rows.iter().filter_map(|row| row.suite.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    let of = |name: &str| {
        let rows: Vec<&[f64]> = (0..table.rows.len())
            .filter(|row| table.rows[*row].suite.as_deref() == Some(name))
            .map(|row| pca.scores(row))
            .collect();
        let count = rows.len() as f64;
        let mean = |at: usize| rows.iter().map(|row| row[at]).sum::<f64>() / count;
        let means: Vec<f64> = (0..pca.components()).map(mean).collect();
        let deviation = |(at, mean): (usize, &f64)| {
            let squares: f64 = rows.iter().map(|row| (row[at] - mean).powi(2)).sum();
            (rows.len() > 1).then(|| (squares / (count - 1.0)).sqrt())
        };
        let deviations = means.iter().enumerate().map(deviation).collect();
        Suite { name: name.to_owned(), rows: rows.len(), means, deviations }
    };
    names.into_iter().map(of).collect()
}

/// The rows that lie furthest out in a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extremes {
    /// From the highest value down.
    pub highest: Vec<usize>,
    /// Down to the lowest value. No row is in both.
    pub lowest: Vec<usize>,
}

/// The `count` rows with the highest and those with the lowest values in a component, of equals the first; with fewer than
/// twice as many rows, no row twice.
pub fn extremes(pca: &Pca, rows: usize, component: usize, count: usize) -> Extremes {
    let mut order: Vec<usize> = (0..rows).collect();
    let value = |row: &usize| pca.scores(*row)[component];
    order.sort_by(|a, b| value(b).total_cmp(&value(a)));
    let highest = order[..count.min(rows.div_ceil(2))].to_vec();
    let lowest = order[rows - count.min(rows / 2)..].to_vec();
    Extremes { highest, lowest }
}
