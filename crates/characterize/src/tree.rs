//! The dendrogram: which rows are alike, and how much (paper 3, section 2.5).

use kodama::Method;

use crate::{Pca, Table};

/// So many leaves are clustered at most: the distances of all pairs are in memory, twice 16 MB.
pub const MOST_LEAVES: usize = 2_000;

/// How often the width of cells is halved while the finest is looked for that fits.
const STEPS: u32 = 12;

/// Two clusters that became one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merge {
    /// A leaf, or, from the number of leaves on, the cluster that an earlier merge made.
    pub a: usize,
    /// The same for the other one, which has the larger number.
    pub b: usize,
    /// The linkage distance: the mean distance of their leaves.
    pub distance: f64,
    /// How many rows are in it.
    pub rows: usize,
}

/// What was done so that the distances of all pairs fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reduced {
    /// Nothing: each row is a leaf.
    No,
    /// Rows with the same values are one leaf.
    Equal,
    /// Rows in the same cell of a grid of this width are one leaf, in units of the components.
    Cells(f64),
}

/// Rows merged by average linkage, on their Euclidean distances in the components that are kept.
///
/// With more than [`MOST_LEAVES`] rows equal ones, or those in one cell of a grid, are one leaf, which then counts once in the
/// mean distances; the cells are as small as the limit allows, to within one part in two thousand of the longest side.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The rows of each leaf, and the one that stands for it first: the nearest to their mean.
    pub leaves: Vec<Vec<usize>>,
    /// In the order of their distance; one fewer than leaves.
    pub merges: Vec<Merge>,
    /// How well the linkage distances tell the true distances of pairs of leaves: Pearson's correlation (the cophenetic
    /// correlation). `None` where there are too few pairs, or no differences.
    pub cophenetic: Option<f64>,
    /// Whether each row is a leaf.
    pub reduced: Reduced,
    /// The distances of all pairs of leaves: (0, 1), (0, 2)… (1, 2)…
    pub(crate) distances: Vec<f64>,
}

impl Tree {
    /// Clusters the rows in the first `kept` components.
    pub fn of(table: &Table, pca: &Pca, kept: usize) -> Tree {
        let point = |row: usize| &pca.scores(row)[..kept];
        let (leaves, reduced) = leaves(table.rows.len(), kept, &point);
        let n = leaves.len();
        let mut distances = Vec::with_capacity(n * n.saturating_sub(1) / 2);
        for (at, a) in leaves.iter().enumerate() {
            distances.extend(leaves[at + 1..].iter().map(|b| distance(point(a[0]), point(b[0]))));
        }
        let mut used = distances.clone();
        let dendrogram = kodama::linkage(&mut used, n, Method::Average);
        drop(used);
        let mut merges: Vec<Merge> = Vec::with_capacity(n.saturating_sub(1));
        for step in dendrogram.steps() {
            let rows = |node: usize| match node.checked_sub(n) {
                None => leaves[node].len(),
                Some(merge) => merges[merge].rows,
            };
            let rows = rows(step.cluster1) + rows(step.cluster2);
            let (a, b) = (step.cluster1.min(step.cluster2), step.cluster1.max(step.cluster2));
            merges.push(Merge { a, b, distance: step.dissimilarity, rows });
        }
        let mut tree = Tree { leaves, merges, cophenetic: None, reduced, distances };
        tree.cophenetic = tree.correlation();
        tree
    }

    /// The distance of two leaves.
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        let (a, b, n) = (a.min(b), a.max(b), self.leaves.len());
        if a == b { 0.0 } else { self.distances[a * n - a * (a + 1) / 2 + b - a - 1] }
    }

    /// The leaves below a node, in the order of the dendrogram.
    pub fn below(&self, node: usize) -> Vec<usize> {
        let (mut found, mut ahead) = (Vec::new(), vec![node]);
        while let Some(node) = ahead.pop() {
            match node.checked_sub(self.leaves.len()) {
                None => found.push(node),
                Some(merge) => ahead.extend([self.merges[merge].b, self.merges[merge].a]),
            }
        }
        found
    }

    /// The node that holds all leaves.
    pub fn root(&self) -> usize {
        self.leaves.len() + self.merges.len() - 1
    }

    fn correlation(&self) -> Option<f64> {
        if self.leaves.len() < 3 {
            return None;
        }
        let pairs = self.distances.len() as f64;
        let mean = self.distances.iter().sum::<f64>() / pairs;
        // Both leaves of a pair are in the two halves of exactly one merge.
        let mut leaves = vec![0usize; self.leaves.len() + self.merges.len()];
        leaves[..self.leaves.len()].fill(1);
        let mut told = 0.0;
        for (at, merge) in self.merges.iter().enumerate() {
            let (a, b) = (leaves[merge.a], leaves[merge.b]);
            leaves[self.leaves.len() + at] = a + b;
            told += (a * b) as f64 * merge.distance;
        }
        let told = told / pairs;
        let (mut both, mut of_told, mut of_true) = (0.0, 0.0, 0.0);
        for merge in &self.merges {
            let right = self.below(merge.b);
            let height = merge.distance - told;
            for a in self.below(merge.a) {
                for b in &right {
                    let far = self.distance(a, *b) - mean;
                    both += height * far;
                    of_told += height * height;
                    of_true += far * far;
                }
            }
        }
        let scale = (of_told * of_true).sqrt();
        (scale > 0.0).then(|| both / scale)
    }
}

/// Euclid's.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The rows that are told from each other.
fn leaves<'a>(rows: usize, kept: usize, point: &impl Fn(usize) -> &'a [f64]) -> (Vec<Vec<usize>>, Reduced) {
    if rows <= MOST_LEAVES {
        return ((0..rows).map(|row| vec![row]).collect(), Reduced::No);
    }
    let equal = grouped(rows, |row| point(row).iter().map(|value| value.to_bits() as i64).collect());
    if equal.len() <= MOST_LEAVES {
        return (equal, Reduced::Equal);
    }
    let side = |at: usize| {
        let values = (0..rows).map(|row| point(row)[at]);
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        high - low
    };
    let longest = (0..kept).map(side).fold(0.0, f64::max);
    let cells = |width: f64| {
        grouped(rows, |row| point(row).iter().map(|value| (value / width).floor() as i64).collect())
    };
    // One cell that is twice as wide as the longest side has all rows, or a few if they lie on both sides of zero.
    let (mut fits, mut width) = (cells(2.0 * longest), 2.0 * longest);
    let (mut low, mut high) = (0.0, width);
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        let tried = cells(middle);
        if tried.len() <= MOST_LEAVES {
            (fits, width, high) = (tried, middle, middle);
        } else {
            low = middle;
        }
    }
    for cell in &mut fits {
        let mean: Vec<f64> = (0..kept)
            .map(|at| cell.iter().map(|row| point(*row)[at]).sum::<f64>() / cell.len() as f64)
            .collect();
        let off = |row: &usize| distance(point(*row), &mean);
        let nearest = (0..cell.len()).reduce(|a, b| if off(&cell[b]) < off(&cell[a]) { b } else { a });
        cell.swap(0, nearest.unwrap_or(0));
    }
    (fits, Reduced::Cells(width))
}

/// Rows with the same key, in the order of their first ones.
fn grouped(rows: usize, key: impl Fn(usize) -> Vec<i64>) -> Vec<Vec<usize>> {
    let mut keyed: Vec<(Vec<i64>, usize)> = (0..rows).map(|row| (key(row), row)).collect();
    keyed.sort_unstable();
    let mut groups: Vec<Vec<usize>> =
        keyed.chunk_by(|a, b| a.0 == b.0).map(|group| group.iter().map(|(_, row)| *row).collect()).collect();
    groups.sort_unstable();
    groups
}
