//! The dendrogram laid out: a row for each leaf, and where its branches meet. All faces draw this.

use super::CharacterizeTold;
use holdup_model::Arrange;

/// A branch: two nodes that meet.
pub(crate) struct Branch {
    /// The rows at which the two come in, the upper one first, and where each of them begins (a linkage distance).
    pub(crate) from: [(f64, f64); 2],
    /// The linkage distance at which they meet.
    pub(crate) at: f64,
}

/// A leaf that is drawn: a run, or runs that are not told apart any more.
pub(crate) struct Leaf {
    /// The row that stands for it.
    pub(crate) row: usize,
    /// How many rows it has.
    pub(crate) rows: usize,
    /// Its cluster.
    pub(crate) cluster: usize,
}

/// The dendrogram of at most so many leaves.
pub(crate) struct Dendrogram {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) branches: Vec<Branch>,
    /// The largest linkage distance.
    pub(crate) most: f64,
}

impl Dendrogram {
    /// The last merges are drawn whole; what would be leaves beyond `most_leaves` is drawn as one with its nearest.
    pub(crate) fn of(told: &CharacterizeTold, most_leaves: usize) -> Dendrogram {
        let found = &told.found;
        let tree = &found.tree;
        let n = tree.leaves.len();
        // Merges before this one are inside of a leaf that is drawn.
        let first = tree.merges.len().saturating_sub(most_leaves.max(2) - 1);
        let cluster_of = |node: usize| found.cluster_of[tree.leaves[tree.below(node)[0]][0]];
        let mut leaves: Vec<Leaf> = Vec::new();
        let mut at: Vec<(f64, f64)> = vec![(0.0, 0.0); n + tree.merges.len()];
        let mut ahead = vec![tree.root()];
        while let Some(node) = ahead.pop() {
            let merge = node.checked_sub(n);
            if let Some(merge) = merge.filter(|merge| *merge >= first) {
                ahead.extend([tree.merges[merge].b, tree.merges[merge].a]);
                continue;
            }
            let below = tree.below(node);
            let rows = below.iter().map(|leaf| tree.leaves[*leaf].len()).sum();
            let height = merge.map_or(0.0, |merge| tree.merges[merge].distance);
            // The leaf with the least sum of distances stands for all of it.
            let sum = |leaf: usize| below.iter().map(|other| tree.distance(leaf, *other)).sum::<f64>();
            let best = below.iter().map(|leaf| (sum(*leaf), *leaf)).min_by(|a, b| a.0.total_cmp(&b.0));
            let row = best.map_or(0, |(_, leaf)| tree.leaves[leaf][0]);
            at[node] = (leaves.len() as f64, height);
            leaves.push(Leaf { row, rows, cluster: cluster_of(node) });
        }
        let branches = tree.merges.iter().enumerate().skip(first).map(|(number, merge)| {
            let mut from = [at[merge.a], at[merge.b]];
            from.arrange_by(|a, b| a.0.total_cmp(&b.0));
            at[n + number] = ((from[0].0 + from[1].0) / 2.0, merge.distance);
            Branch { from, at: merge.distance }
        });
        let branches = branches.collect();
        let most = tree.merges.last().map_or(0.0, |merge| merge.distance);
        Dendrogram { leaves, branches, most }
    }
}
