//! Section 3.2: events that behave alike become one cluster.
//!
//! Average linkage (UPGMA) on Pearson's correlation, until the largest correlation is below a threshold. On unit Z-scores
//! the average correlation of two clusters is the dot product of their means, so no matrix of all pairs is needed: clusters
//! are kept as sums of vectors.
//!
//! Average linkage is reducible (Bruynooghe 1977; Müllner, arXiv:1109.2378, section 2): merging others never makes a
//! cluster more similar to what comes of them than it was to one of them. Two things follow.
//!
//! - Two clusters that merge hold a pair of events whose correlation is at least the threshold. So the connected components
//!   of the graph of such pairs are clustered each by itself.
//! - Following nearest neighbours until two are each other's finds the same merges as always taking the nearest pair
//!   of all; a cluster whose nearest neighbour is farther than the threshold is complete.
//!
//! Where correlations are equal, what is found first depends on the order of events, which is fixed.

use super::rows::dot;

/// How many products are summed side by side.
const LANES: usize = 16;

/// How many numbers are multiplied before it is looked whether the rest can matter.
const STEP: usize = 64;

/// How many vectors are compared with as many others before the next ones are fetched from memory: both fit into a core's
/// caches.
const TILE: usize = 256;

/// Which clusters were merged, at which similarity.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    leaves: usize,
    /// A leaf of each of the two that were merged, and their average correlation.
    merges: Vec<(u32, u32, f64)>,
}

impl Tree {
    /// Clusters unit vectors of this length, given one after the other, down to the lowest threshold that will be asked for.
    /// Each counts as often as its weight says.
    pub(super) fn new(vectors: &[f64], length: usize, weights: &[f64], lowest: f64) -> Tree {
        let leaves = weights.len();
        if length == 0 || leaves == 0 {
            return Tree { leaves, merges: Vec::new() };
        }
        let short = Short::new(vectors, length);
        let mut merges = Vec::new();
        for component in components(&short, leaves, lowest) {
            Chains::new(vectors, length, weights, &short, &component, lowest).run(&mut merges);
        }
        Tree { leaves, merges }
    }

    /// The clusters at a threshold: lists of leaves, each in order, by their first leaf.
    pub(super) fn clusters(&self, threshold: f64) -> Vec<Vec<usize>> {
        let mut sets = Sets::new(self.leaves);
        for (a, b, similarity) in &self.merges {
            if *similarity >= threshold {
                sets.join(*a as usize, *b as usize);
            }
        }
        sets.lists()
    }
}

/// Disjoint sets of leaves; each set is known by its least leaf.
struct Sets {
    parents: Vec<u32>,
}

impl Sets {
    fn new(leaves: usize) -> Sets {
        Sets { parents: (0..leaves as u32).collect() }
    }

    fn find(&mut self, leaf: usize) -> usize {
        let mut at = leaf;
        while self.parents[at] as usize != at {
            let above = self.parents[self.parents[at] as usize];
            self.parents[at] = above;
            at = above as usize;
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b)] = a.min(b) as u32;
    }

    fn lists(&mut self) -> Vec<Vec<usize>> {
        let mut lists: Vec<Vec<usize>> = Vec::new();
        let mut place = vec![usize::MAX; self.parents.len()];
        for leaf in 0..self.parents.len() {
            let root = self.find(leaf);
            if place[root] == usize::MAX {
                place[root] = lists.len();
                lists.push(Vec::new());
            }
            lists[place[root]].push(leaf);
        }
        lists
    }
}

/// Vectors in single precision, filled up with zeros to whole lanes: to find out quickly which pairs are worth an exact look.
struct Short {
    length: usize,
    values: Vec<f32>,
    /// For each vector and step the length of what is behind it.
    tails: Vec<f32>,
    /// How far a product of two vectors no longer than 1 can be from the exact one.
    error: f32,
}

impl Short {
    fn new(vectors: &[f64], length: usize) -> Short {
        let padded = length.div_ceil(LANES) * LANES;
        let count = vectors.len() / length;
        let mut short = Short {
            length: padded,
            values: vec![0.0; padded * count],
            tails: vec![0.0; padded.div_ceil(STEP) * count],
            // Each of n products and sums is off by at most half a unit in the last place.
            error: (padded + 8) as f32 * f32::EPSILON,
        };
        for (at, vector) in vectors.chunks_exact(length).enumerate() {
            short.set(at, vector, 1.0);
        }
        short
    }

    fn steps(&self) -> usize {
        self.length.div_ceil(STEP)
    }

    /// Makes the vector at a place this one, times a factor.
    fn set(&mut self, at: usize, vector: &[f64], factor: f64) {
        let steps = self.steps();
        let values = &mut self.values[at * self.length..][..self.length];
        for (value, from) in values.iter_mut().zip(vector) {
            *value = (from * factor) as f32;
        }
        let mut tail = 0.0_f64;
        for (step, part) in values.chunks(STEP).enumerate().rev() {
            self.tails[at * steps + step] = tail.sqrt() as f32;
            tail += part.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>();
        }
    }

    /// The product of two vectors, or a number below `least` if it is surely below that.
    fn product(&self, a: usize, b: usize, least: f32) -> f32 {
        let steps = self.steps();
        let (a_tails, b_tails) = (&self.tails[a * steps..][..steps], &self.tails[b * steps..][..steps]);
        let (a, b) =
            (&self.values[a * self.length..][..self.length], &self.values[b * self.length..][..self.length]);
        let mut sum = 0.0;
        for (step, (a, b)) in a.chunks(STEP).zip(b.chunks(STEP)).enumerate() {
            let mut lanes = [0.0_f32; LANES];
            for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
                for lane in 0..LANES {
                    lanes[lane] += a[lane] * b[lane];
                }
            }
            sum += sum_of(&lanes);
            if sum + a_tails[step] * b_tails[step] < least {
                return f32::NEG_INFINITY;
            }
        }
        sum
    }
}

/// The sum of all lanes, by halves. Not inlined, since what is done to single lanes here would make the compiler use
/// registers by halves in the loop before.
#[inline(never)]
fn sum_of(lanes: &[f32; LANES]) -> f32 {
    let mut eight = [0.0; 8];
    for lane in 0..8 {
        eight[lane] = lanes[lane] + lanes[lane + 8];
    }
    let four = [eight[0] + eight[4], eight[1] + eight[5], eight[2] + eight[6], eight[3] + eight[7]];
    (four[0] + four[2]) + (four[1] + four[3])
}

/// Connected components of the graph of pairs whose correlation may be at least the threshold, each in order.
fn components(short: &Short, leaves: usize, threshold: f64) -> Vec<Vec<usize>> {
    let least = threshold as f32 - short.error;
    let mut sets = Sets::new(leaves);
    for first in (0..leaves).step_by(TILE) {
        for second in (first..leaves).step_by(TILE) {
            for a in first..leaves.min(first + TILE) {
                let mut root = sets.find(a);
                for b in second.max(a + 1)..leaves.min(second + TILE) {
                    if sets.find(b) != root && short.product(a, b, least) >= least {
                        sets.join(a, b);
                        root = sets.find(a);
                    }
                }
            }
        }
    }
    sets.lists()
}

/// Nearest-neighbour chains in one component.
struct Chains<'a> {
    component: &'a [usize],
    length: usize,
    lowest: f64,
    sums: Vec<f64>,
    weights: Vec<f64>,
    means: Short,
    /// Clusters that may still merge, in order.
    open: Vec<usize>,
}

impl<'a> Chains<'a> {
    fn new(
        vectors: &[f64],
        length: usize,
        weights: &[f64],
        short: &Short,
        component: &'a [usize],
        lowest: f64,
    ) -> Chains<'a> {
        let mut sums = Vec::with_capacity(component.len() * length);
        for leaf in component {
            sums.extend(vectors[leaf * length..][..length].iter().map(|value| value * weights[*leaf]));
        }
        let steps = short.steps();
        let means = Short {
            length: short.length,
            values: component
                .iter()
                .flat_map(|leaf| &short.values[leaf * short.length..][..short.length])
                .copied()
                .collect(),
            tails: component.iter().flat_map(|leaf| &short.tails[leaf * steps..][..steps]).copied().collect(),
            error: short.error,
        };
        let weights = component.iter().map(|leaf| weights[*leaf]).collect();
        Chains { component, length, lowest, sums, weights, means, open: (0..component.len()).collect() }
    }

    fn run(mut self, merges: &mut Vec<(u32, u32, f64)>) {
        let mut chain: Vec<usize> = Vec::new();
        while self.open.len() > 1 {
            let Some(&tip) = chain.last() else {
                chain.push(self.open[0]);
                continue;
            };
            let before = chain.len().checked_sub(2).map(|at| chain[at]);
            match self.nearest(tip, before) {
                None => {
                    self.close(tip);
                    chain.pop();
                }
                Some((next, similarity)) if Some(next) == before => {
                    chain.truncate(chain.len() - 2);
                    merges.push((self.component[tip] as u32, self.component[next] as u32, similarity));
                    self.merge(tip.min(next), tip.max(next));
                }
                Some((next, _)) => chain.push(next),
            }
        }
    }

    /// The average correlation of two clusters.
    fn similarity(&self, a: usize, b: usize) -> f64 {
        let sum = |at: usize| &self.sums[at * self.length..][..self.length];
        dot(sum(a), sum(b)) / (self.weights[a] * self.weights[b])
    }

    /// The nearest cluster, if it is near enough to merge with; of equally near ones that before in the chain, without which
    /// chains would not end, else the first.
    fn nearest(&self, tip: usize, before: Option<usize>) -> Option<(usize, f64)> {
        let mut best = before.map(|before| (before, self.similarity(tip, before)));
        let mut least = best.map_or(self.lowest, |(_, similarity)| similarity);
        for &other in &self.open {
            if other == tip || Some(other) == before {
                continue;
            }
            let enough = least as f32 - self.means.error;
            if self.means.product(tip, other, enough) < enough {
                continue;
            }
            let similarity = self.similarity(tip, other);
            if similarity > least || (best.is_none() && similarity >= least) {
                best = Some((other, similarity));
                least = similarity;
            }
        }
        best
    }

    fn close(&mut self, cluster: usize) {
        if let Ok(at) = self.open.binary_search(&cluster) {
            self.open.remove(at);
        }
    }

    fn merge(&mut self, into: usize, other: usize) {
        self.close(other);
        let (low, high) = self.sums.split_at_mut(other * self.length);
        for (sum, more) in low[into * self.length..][..self.length].iter_mut().zip(&high[..self.length]) {
            *sum += more;
        }
        self.weights[into] += self.weights[other];
        self.means.set(into, &self.sums[into * self.length..][..self.length], 1.0 / self.weights[into]);
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::super::rows::{Rows, to_unit};
    use super::*;

    fn number(random: &mut ChaCha8Rng) -> f64 {
        (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Unit vectors around a few directions, more or less noisy.
    fn cloud(seed: u64, count: usize, length: usize) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let directions: Vec<Vec<f64>> =
            (0..5).map(|_| (0..length).map(|_| number(&mut random) - 0.5).collect()).collect();
        let rows = Rows::new([length].into_iter());
        let mut vectors = Vec::new();
        for at in 0..count {
            let noise = number(&mut random);
            let mut vector: Vec<f64> =
                directions[at % 5].iter().map(|value| value + noise * (number(&mut random) - 0.5)).collect();
            rows.centre(&mut vector);
            to_unit(&mut vector, 1.0).expect("it varies");
            vectors.extend(vector);
        }
        vectors
    }

    /// kodama's clusters: an independent implementation, on the matrix of all pairs.
    fn oracle(vectors: &[f64], length: usize, threshold: f64) -> Vec<Vec<usize>> {
        let each: Vec<&[f64]> = vectors.chunks_exact(length).collect();
        let mut distances = Vec::new();
        for a in 0..each.len() {
            for b in a + 1..each.len() {
                distances.push(1.0 - each[a].iter().zip(each[b]).map(|(a, b)| a * b).sum::<f64>());
            }
        }
        let tree = kodama::linkage(&mut distances, each.len(), kodama::Method::Average);
        let mut members: Vec<Vec<usize>> = (0..each.len()).map(|leaf| vec![leaf]).collect();
        let mut sets = Sets::new(each.len());
        for step in tree.steps() {
            let both = [members[step.cluster1].clone(), members[step.cluster2].clone()].concat();
            if step.dissimilarity <= 1.0 - threshold {
                sets.join(members[step.cluster1][0], members[step.cluster2][0]);
            }
            members.push(both);
        }
        sets.lists()
    }

    #[test]
    fn clusters_are_those_of_an_independent_implementation() {
        for (seed, length) in [(1, 8), (2, 16), (3, 17), (4, 64), (5, 100)] {
            let vectors = cloud(seed, 120, length);
            let tree = Tree::new(&vectors, length, &[1.0; 120], 0.6);
            for threshold in [0.6, 0.7, 0.8, 0.9, 0.95] {
                let clusters = tree.clusters(threshold);
                assert_eq!(
                    clusters,
                    oracle(&vectors, length, threshold),
                    "seed {seed}, threshold {threshold}"
                );
            }
            let found = tree.clusters(0.6).len();
            assert!(found > 1 && found < 120, "{found} clusters make no test");
        }
    }

    #[test]
    fn an_event_counts_as_often_as_its_weight_says() {
        let vectors = cloud(9, 40, 12);
        let weights: Vec<f64> = (0..40).map(|at| f64::from(1 + at % 3)).collect();
        let mut repeated = Vec::new();
        let mut copies = Vec::new();
        for (at, vector) in vectors.chunks_exact(12).enumerate() {
            for _ in 0..weights[at] as usize {
                repeated.extend_from_slice(vector);
                copies.push(at);
            }
        }
        let weighted = Tree::new(&vectors, 12, &weights, 0.6);
        for threshold in [0.6, 0.8, 0.9] {
            let mut expected: Vec<Vec<usize>> = oracle(&repeated, 12, threshold)
                .into_iter()
                .map(|cluster| {
                    let mut leaves: Vec<usize> = cluster.into_iter().map(|at| copies[at]).collect();
                    leaves.dedup();
                    leaves
                })
                .collect();
            expected.sort_unstable();
            assert_eq!(weighted.clusters(threshold), expected);
        }
    }

    #[test]
    fn opposites_are_not_alike() {
        let up = [0.5_f64.sqrt(), -(0.5_f64.sqrt())];
        let tree = Tree::new(&[up[0], up[1], -up[0], -up[1]], 2, &[1.0, 1.0], 0.6);
        assert_eq!(tree.clusters(0.9), [vec![0], vec![1]]);
    }

    #[test]
    fn equal_correlations_end() {
        // Three directions with the same angle between each two, many times.
        let third = (1.0_f64 / 3.0).sqrt();
        let vectors: Vec<f64> = (0..30)
            .flat_map(|at| {
                let mut vector = [third; 3];
                vector[at % 3] = -third;
                vector
            })
            .collect();
        let tree = Tree::new(&vectors, 3, &[1.0; 30], 0.6);
        assert_eq!(tree.clusters(0.9).len(), 3);
    }
}
