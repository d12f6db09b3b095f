//! All of it, from a table.

use crate::gaps::{Gap, gaps};
use crate::moves::moves;
use crate::suites::suites;
use crate::{CharacterizeError, Choice, Clusters, Keep, Move, MoveKind, Pca, PcaOptions, Suite, Table, Tree};

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// What the components are of.
    pub pca: PcaOptions,
    /// How many components are kept.
    pub keep: Keep,
    /// How many clusters there are.
    pub clusters: Choice,
    /// Names of inputs from the smallest to the largest, where their names do not say it.
    pub inputs: Vec<String>,
}

/// Which rows behave alike, and how programs move.
#[derive(Clone, Debug, PartialEq)]
pub struct Characterization {
    /// What was compared.
    pub table: Table,
    /// Its principal components.
    pub pca: Pca,
    /// How many of them were used for all that follows.
    pub kept: usize,
    /// The dendrogram.
    pub tree: Tree,
    /// The dendrogram, cut.
    pub clusters: Clusters,
    /// The number of the cluster of each row.
    pub cluster_of: Vec<usize>,
    /// Where suites lie; empty without names of suites.
    pub suites: Vec<Suite>,
    /// How programs move with threads.
    pub scaling: Vec<Move>,
    /// How programs move with their input.
    pub inputs: Vec<Move>,
    /// Where no program lies.
    pub gaps: Vec<Gap>,
}

/// Characterizes a table.
///
/// # Errors
/// [`CharacterizeError::NoDecomposition`].
pub fn characterize(table: Table, options: &Options) -> Result<Characterization, CharacterizeError> {
    let pca = Pca::of(&table, options.pca)?;
    let kept = pca.kept(options.keep);
    let tree = Tree::of(&table, &pca, kept);
    let clusters = Clusters::of(&tree, options.clusters, |row| &pca.scores(row)[..kept]);
    let cluster_of = clusters.of_rows(&tree);
    let of = |kind| moves(kind, (&table, &pca, &tree), kept, &cluster_of, &options.inputs);
    let (scaling, inputs) = (of(MoveKind::Threads), of(MoveKind::Input));
    let (suites, gaps) = (suites(&table, &pca), gaps(&pca, &tree));
    Ok(Characterization { table, pca, kept, tree, clusters, cluster_of, suites, scaling, inputs, gaps })
}
