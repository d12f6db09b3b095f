//! How a program moves with its threads (paper 3, section 4.3) and with its input (section 4.4).

use std::collections::BTreeMap;

use crate::tree::distance;
use crate::{Labels, Pca, Table, Tree};

/// What differs between the ends of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveKind {
    /// The number of threads, from the fewest to the most.
    Threads,
    /// The input, from the smallest to the largest.
    Input,
}

/// Runs of one program that differ in one thing only.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// In what.
    pub kind: MoveKind,
    /// Its rows, in order.
    pub rows: Vec<usize>,
    /// The distance of the first and the last one, in the components that are kept.
    pub length: f64,
    /// What each column grew by between them.
    pub grew: Vec<f64>,
    /// Whether both are in one cluster.
    pub stays: bool,
    /// The square of `length` by the mean squared distance of runs of different programs; `None` where there are none.
    pub of_apart: Option<f64>,
}

/// A run stands for another one if its squared distance is at most such a share of that of different programs: as
/// representatives of clusters do for nine tenths of the spread.
const NEAR: f64 = 0.1;

impl Move {
    /// Whether the first run behaves as the last one does: of the squared distance that programs have, no more than a tenth is
    /// between them.
    pub fn stands_for(&self) -> bool {
        self.of_apart.is_some_and(|share| share <= NEAR)
    }
}

/// The moves of a kind, in the order of their programs; `order` has names of inputs from the smallest to the largest.
pub(crate) fn moves(
    kind: MoveKind,
    (table, pca, tree): (&Table, &Pca, &Tree),
    kept: usize,
    cluster_of: &[usize],
    order: &[String],
) -> Vec<Move> {
    let mut groups: BTreeMap<Labels, Vec<usize>> = BTreeMap::new();
    for (row, labels) in table.rows.iter().enumerate() {
        let (has, fixed) = match kind {
            MoveKind::Threads => (labels.threads.is_some(), Labels { threads: None, ..labels.clone() }),
            MoveKind::Input => (labels.input.is_some(), Labels { input: None, ..labels.clone() }),
        };
        if has {
            groups.entry(fixed).or_default().push(row);
        }
    }
    groups.retain(|_, rows| rows.len() > 1);
    if groups.is_empty() {
        return Vec::new();
    }
    let apart = apart(table, tree);
    let one = |mut rows: Vec<usize>| {
        match kind {
            MoveKind::Threads => rows.sort_by_key(|row| table.rows[*row].threads),
            MoveKind::Input => {
                rows.sort_by_cached_key(|row| {
                    size(table.rows[*row].input.as_deref().unwrap_or_default(), order)
                });
            }
        }
        // The same thing twice is no move.
        let ends = |row: usize| (&table.rows[row].threads, &table.rows[row].input);
        rows.dedup_by(|a, b| ends(*a) == ends(*b));
        let (first, last) = (*rows.first()?, *rows.last()?);
        if first == last {
            return None;
        }
        let length = distance(&pca.scores(first)[..kept], &pca.scores(last)[..kept]);
        Some(Move {
            kind,
            length,
            grew: table.row(last).iter().zip(table.row(first)).map(|(to, from)| to - from).collect(),
            stays: cluster_of[first] == cluster_of[last],
            of_apart: apart.filter(|apart| *apart > 0.0).map(|apart| length * length / apart),
            rows,
        })
    };
    groups.into_values().filter_map(one).collect()
}

/// The mean squared distance of leaves of different programs.
fn apart(table: &Table, tree: &Tree) -> Option<f64> {
    let program = |leaf: usize| {
        let labels = &table.rows[tree.leaves[leaf][0]];
        (&labels.suite, &labels.program)
    };
    let (mut sum, mut pairs) = (0.0, 0usize);
    for a in 0..tree.leaves.len() {
        for b in a + 1..tree.leaves.len() {
            if program(a) != program(b) {
                sum += tree.distance(a, b).powi(2);
                pairs += 1;
            }
        }
    }
    (pairs > 0).then(|| sum / pairs as f64)
}

/// What names of inputs mean, as benchmark suites use them.
const SIZES: [&[&str]; 9] = [
    &["test", "tiny", "mini", "s"],
    &["simdev", "simtest"],
    &["small", "simsmall", "w"],
    &["medium", "simmedium", "a"],
    &["train", "default", "b"],
    &["large", "simlarge", "c"],
    &["ref", "reference", "huge", "d"],
    &["native", "e"],
    &["extralarge", "f"],
];

/// The place of an input: by the order that was given, by what its name means, by the numbers in it, by its letters.
fn size(input: &str, order: &[String]) -> (usize, usize, Vec<u64>, String) {
    let asked = order.iter().position(|name| name == input).unwrap_or(order.len());
    let lower = input.to_lowercase();
    let known = SIZES.iter().position(|names| names.contains(&lower.as_str())).unwrap_or(SIZES.len());
    let numbers = lower.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let numbers = numbers.map(|digits| digits.parse().unwrap_or(u64::MAX)).collect();
    (asked, known, numbers, lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_ordered_by_size() {
        let mut inputs = ["native", "simsmall", "large", "n=900", "n=1000", "small"];
        inputs.sort_by_cached_key(|input| size(input, &[]));
        assert_eq!(inputs, ["simsmall", "small", "large", "native", "n=900", "n=1000"]);
        let order = ["large".to_owned(), "small".to_owned()];
        inputs.sort_by_cached_key(|input| size(input, &order));
        assert_eq!(inputs[..2], ["large", "small"]);
    }
}
