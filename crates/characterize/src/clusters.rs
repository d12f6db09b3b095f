//! Where the dendrogram is cut, and which row stands for each cluster.

use crate::Tree;

/// No more clusters than this are looked at: more of them are no summary.
pub const MOST_CLUSTERS: usize = 64;

/// How many clusters there are to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// The fewest whose representatives stand for this share of the spread: of the rows' squared distances from their mean, at
    /// most the rest is left as squared distances from the representatives.
    Share(f64),
    /// So many, or as many as there are leaves.
    Count(usize),
}

impl Default for Choice {
    fn default() -> Choice {
        Choice::Share(0.9)
    }
}

/// Rows that behave alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The node of the tree that holds it.
    pub node: usize,
    /// Its leaves, in the order of the dendrogram.
    pub leaves: Vec<usize>,
    /// How many rows it has.
    pub rows: usize,
    /// The leaf that stands for it: the one with the smallest sum of distances to the rows, the first of equals.
    pub representative: usize,
    /// The largest distance of a leaf from it.
    pub radius: f64,
}

/// The tree, cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// From the one with the most rows.
    pub clusters: Vec<Cluster>,
    /// Merges at this distance and above were undone; infinite where none was.
    pub cut: f64,
    /// The share of the spread that the representatives stand for, with one cluster, with two, and so on, up to the number
    /// that was chosen.
    pub covered: Vec<f64>,
    /// How much nearer rows are to their own cluster than to the next one, on the mean, from −1 to 1 (the silhouette; Rousseeuw
    /// 1987). `None` with one cluster.
    pub silhouette: Option<f64>,
    /// False where no number of clusters that was looked at covers what was asked for.
    pub is_enough: bool,
}

impl Clusters {
    /// Cuts the tree. `point` gives the place of a row.
    pub fn of<'a>(tree: &Tree, choice: Choice, point: impl Fn(usize) -> &'a [f64]) -> Clusters {
        let spread = spread(tree, &point);
        let most = match choice {
            Choice::Count(count) => count.max(1),
            Choice::Share(_) => MOST_CLUSTERS,
        }
        .min(tree.leaves.len());
        let mut clusters = vec![Cluster::of(tree, tree.root())];
        let mut covered = vec![share(tree, &clusters, spread)];
        let enough = |covered: &[f64], count: usize| match choice {
            Choice::Count(wanted) => count >= wanted,
            Choice::Share(share) => covered[count - 1] >= share - 1e-12,
        };
        let mut cut = f64::INFINITY;
        while clusters.len() < most && !enough(&covered, clusters.len()) {
            // The last merge that is still done has the highest number of all.
            let at = (0..clusters.len()).max_by_key(|at| clusters[*at].node).unwrap_or(0);
            let Some(merge) = clusters[at].node.checked_sub(tree.leaves.len()) else { break };
            let merge = tree.merges[merge];
            cut = merge.distance;
            clusters[at] = Cluster::of(tree, merge.a);
            clusters.push(Cluster::of(tree, merge.b));
            covered.push(share(tree, &clusters, spread));
        }
        let is_enough = enough(&covered, clusters.len()) || clusters.len() == tree.leaves.len();
        clusters
            .sort_by_key(|cluster| (std::cmp::Reverse(cluster.rows), cluster.leaves.iter().min().copied()));
        let silhouette = silhouette(tree, &clusters);
        Clusters { clusters, cut, covered, silhouette, is_enough }
    }

    /// The number of the cluster of each row.
    pub fn of_rows(&self, tree: &Tree) -> Vec<usize> {
        let mut of = vec![0; tree.leaves.iter().map(Vec::len).sum()];
        for (number, cluster) in self.clusters.iter().enumerate() {
            for leaf in &cluster.leaves {
                tree.leaves[*leaf].iter().for_each(|row| of[*row] = number);
            }
        }
        of
    }
}

impl Cluster {
    fn of(tree: &Tree, node: usize) -> Cluster {
        let leaves = tree.below(node);
        let sum = |leaf: &usize| -> f64 {
            leaves.iter().map(|other| tree.distance(*leaf, *other) * weight(tree, *other)).sum()
        };
        let mut sorted = leaves.clone();
        sorted.sort_unstable();
        let sums: Vec<f64> = sorted.iter().map(sum).collect();
        let best = (0..sorted.len()).reduce(|a, b| if sums[b] < sums[a] { b } else { a });
        let representative = sorted[best.unwrap_or(0)];
        let radius = leaves.iter().map(|leaf| tree.distance(representative, *leaf)).fold(0.0, f64::max);
        let rows = leaves.iter().map(|leaf| tree.leaves[*leaf].len()).sum();
        Cluster { node, leaves, rows, representative, radius }
    }
}

fn weight(tree: &Tree, leaf: usize) -> f64 {
    tree.leaves[leaf].len() as f64
}

/// The sum of the rows' squared distances from their mean, each row where its leaf is.
fn spread<'a>(tree: &Tree, point: &impl Fn(usize) -> &'a [f64]) -> f64 {
    let rows: f64 = (0..tree.leaves.len()).map(|leaf| weight(tree, leaf)).sum();
    let of = |leaf: usize| point(tree.leaves[leaf][0]);
    let kept = of(0).len();
    let mean: Vec<f64> = (0..kept)
        .map(|at| (0..tree.leaves.len()).map(|leaf| of(leaf)[at] * weight(tree, leaf)).sum::<f64>() / rows)
        .collect();
    let off = |leaf: usize| of(leaf).iter().zip(&mean).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    (0..tree.leaves.len()).map(|leaf| off(leaf) * weight(tree, leaf)).sum()
}

/// The share of the spread that the representatives stand for. One of a single cluster may be worse than the mean: then 0.
fn share(tree: &Tree, clusters: &[Cluster], spread: f64) -> f64 {
    if spread <= 0.0 {
        return 1.0;
    }
    let left: f64 = clusters
        .iter()
        .flat_map(|cluster| cluster.leaves.iter().map(|leaf| (cluster.representative, *leaf)))
        .map(|(representative, leaf)| tree.distance(representative, leaf).powi(2) * weight(tree, leaf))
        .sum();
    (1.0 - left / spread).max(0.0)
}

/// The mean of the rows' silhouettes; 0 for a row that is alone in its cluster, as scikit-learn has it.
fn silhouette(tree: &Tree, clusters: &[Cluster]) -> Option<f64> {
    if clusters.len() < 2 {
        return None;
    }
    let (mut sum, mut rows) = (0.0, 0.0);
    for (own, cluster) in clusters.iter().enumerate() {
        for leaf in &cluster.leaves {
            rows += weight(tree, *leaf);
            if cluster.rows < 2 {
                continue;
            }
            let total = |cluster: &Cluster| -> f64 {
                cluster.leaves.iter().map(|other| tree.distance(*leaf, *other) * weight(tree, *other)).sum()
            };
            let inside = total(cluster) / (cluster.rows - 1) as f64;
            let others = clusters.iter().enumerate().filter(|(other, _)| *other != own);
            let next =
                others.map(|(_, other)| total(other) / other.rows as f64).fold(f64::INFINITY, f64::min);
            let larger = inside.max(next);
            let value = if larger > 0.0 { (next - inside) / larger } else { 0.0 };
            sum += value * weight(tree, *leaf);
        }
    }
    Some(sum / rows)
}
