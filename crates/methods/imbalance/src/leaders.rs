//! Sections 3.3 and 3.4: what kind of cluster it is, and which of its blocks steer execution into it.

use super::Method;
use super::charge::Charges;
use super::deal::Column;
use super::events::Events;
use super::program::Program;
use holdup_model::counts::BlockId;

/// Events that behave alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cluster {
    /// Its distinct columns, in order.
    pub(super) distinct: Vec<usize>,
}

/// Kinds of clusters (section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClusterKind {
    /// With control-flow events: its leaders are the causes.
    ControlFlow,
    /// Only with events of hardware or libraries: each of them is a cause, since threads execute the same code.
    Hardware,
}

/// A block that steers execution into a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Leader {
    /// The block.
    pub(super) block: BlockId,
    /// Of its edges into the cluster that which goes most with time.
    pub(super) edge: Column,
    /// By how much more that goes with time than what leads into the block (Eq. 1).
    pub(super) score: f64,
}

impl Cluster {
    /// All its events, in order.
    pub(super) fn members(&self, events: &Events) -> Vec<Column> {
        let mut members: Vec<Column> =
            self.distinct.iter().flat_map(|at| events.members[*at].iter().copied()).collect();
        members.sort_unstable();
        members
    }

    /// Control flow, or only hardware.
    pub(super) fn kind(program: &Program<'_>, members: &[Column]) -> ClusterKind {
        // Edges come first among events.
        match members.first().and_then(|first| program.edge(*first)) {
            Some(_) => ClusterKind::ControlFlow,
            None => ClusterKind::Hardware,
        }
    }
}

/// The leaders of a control-flow cluster with these members, in the order of blocks: blocks with an edge into the cluster and
/// none from it, except back edges.
///
/// Eq. 1: s = max over out edges of corr(out, T) − max over in edges that are no back edges of corr(in, T). As the paper has
/// it, the maximum is over all out edges that are no back edges. Corrected, it is over those in the cluster, back edges among
/// them, so that the other direction of a branch does not count, and a block that loops to itself does; and where what
/// leads in goes against time it counts as unrelated.
pub(super) fn leaders(
    program: &Program<'_>,
    charges: &Charges,
    events: &Events,
    members: &[Column],
    method: Method,
) -> Vec<Leader> {
    let inside = |column: Column| members.binary_search(&column).is_ok();
    let mut blocks: Vec<BlockId> =
        members.iter().filter_map(|member| program.edge(*member)).map(|(from, _)| from).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let mut found = Vec::new();
    for block in blocks {
        if leading_in(program, block).any(inside) {
            continue;
        }
        // What is shown is an edge of the cluster, whichever makes the score.
        let Some(edge) = most(events, program.out(block).iter().copied().filter(|edge| inside(*edge))) else {
            continue;
        };
        let score = match method {
            Method::Stacked => score(program, charges, events, block, edge),
            Method::Paper => literal_score(program, events, block),
        };
        found.push(Leader { block, edge, score });
    }
    found
}

/// By how much more an edge goes with time than what leads into its source.
pub(super) fn score(
    program: &Program<'_>,
    charges: &Charges,
    events: &Events,
    block: BlockId,
    edge: Column,
) -> f64 {
    let entering = entering(program, charges, events, block, edge);
    let before =
        entering.into_iter().map(|(column, weight)| weight * events.correlation(column)).fold(0.0, f64::max);
    events.correlation(edge) - before
}

/// What leads into a block, each with the share of its correlation that counts against an edge out of it. What varies by one
/// in a hundred cannot explain what varies by half, however well it goes with time: the correlation counts in proportion to
/// how much the counts vary relative to their mean, compared with the edge's.
pub(super) fn entering(
    program: &Program<'_>,
    charges: &Charges,
    events: &Events,
    block: BlockId,
    edge: Column,
) -> Vec<(Column, f64)> {
    // corr · sd / mean, but for a factor that is the same for all columns.
    let relative = |column: Column| charges.with_time(column) / charges.total(column).max(1) as f64;
    leading_in(program, block)
        .map(|column| {
            let (before, after) = (relative(column), relative(edge));
            let (with_before, with_after) = (events.correlation(column), events.correlation(edge));
            let known = with_before > 0.0 && after > 0.0 && before > 0.0;
            let weight = if known { (before / with_before) / (after / with_after) } else { 1.0 };
            (column, if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 1.0 })
        })
        .collect()
}

/// Eq. 1, to the letter.
fn literal_score(program: &Program<'_>, events: &Events, block: BlockId) -> f64 {
    let largest = |edges: &mut dyn Iterator<Item = Column>| {
        edges.map(|edge| events.correlation(edge)).reduce(f64::max).unwrap_or(0.0)
    };
    let mut out = program.out(block).iter().copied().filter(|edge| !program.is_back(*edge));
    largest(&mut out) - largest(&mut leading_in(program, block))
}

/// The edges into a block that are no back edges.
fn leading_in(program: &Program<'_>, block: BlockId) -> impl Iterator<Item = Column> {
    program.into(block).iter().copied().filter(|edge| !program.is_back(*edge))
}

/// The edge that goes most with time; the first of several.
fn most(events: &Events, edges: impl Iterator<Item = Column>) -> Option<Column> {
    let mut best: Option<(Column, f64)> = None;
    for edge in edges {
        let correlation = events.correlation(edge);
        if best.is_none_or(|(_, most)| correlation > most) {
            best = Some((edge, correlation));
        }
    }
    best.map(|(edge, _)| edge)
}

#[cfg(test)]
mod tests {
    use holdup_model::counts::{BasicBlock, Counts};

    use super::*;

    const S: u32 = 0;
    const A: u32 = 1;
    const B: u32 = 2;
    const C: u32 = 3;
    const D: u32 = 4;

    fn graph(mut edges: Vec<(u32, u32)>) -> Counts {
        edges.sort_unstable();
        let blocks = edges.iter().map(|(from, to)| from.max(to) + 1).max().unwrap_or(0);
        Counts {
            blocks: vec![BasicBlock::default(); blocks as usize],
            edges: edges.into_iter().map(|(from, to)| (BlockId(from), BlockId(to))).collect(),
            ..Counts::default()
        }
    }

    /// The leaders of a cluster of these edges, with correlations with time for some edges.
    fn found(
        counts: &Counts,
        cluster: &[(u32, u32)],
        with_time: &[((u32, u32), f64)],
        method: Method,
    ) -> Vec<(u32, f64)> {
        let column = |(from, to): (u32, u32)| {
            let at = counts.edges.binary_search(&(BlockId(from), BlockId(to)));
            at.expect("the edge is in the graph") as Column
        };
        let events = Events::with_correlations(with_time.iter().map(|(edge, value)| (column(*edge), *value)));
        let mut members: Vec<Column> = cluster.iter().map(|edge| column(*edge)).collect();
        members.sort_unstable();
        let found = leaders(&Program::new(counts), &Charges::default(), &events, &members, method);
        found.into_iter().map(|leader| (leader.block.0, leader.score)).collect()
    }

    fn blocks(counts: &Counts, cluster: &[(u32, u32)]) -> Vec<u32> {
        let blocks =
            |method| found(counts, cluster, &[], method).into_iter().map(|leader| leader.0).collect();
        let literal: Vec<u32> = blocks(Method::Paper);
        assert_eq!(literal, blocks(Method::Stacked));
        literal
    }

    #[test]
    fn figure_3_a_branch() {
        let counts = graph(vec![(S, A), (A, B), (A, C), (B, D), (C, D)]);
        assert_eq!(blocks(&counts, &[(A, B), (B, D)]), [A]);
    }

    #[test]
    fn figure_3_a_loop() {
        let counts = graph(vec![(S, A), (A, B), (B, A), (A, C)]);
        assert_eq!(blocks(&counts, &[(A, B), (B, A)]), [A]);
        // Without the rule for back edges nobody leads: here B is entered from outside, so that B → A is none.
        let counts = graph(vec![(S, A), (S, B), (A, B), (B, A), (A, C)]);
        let leads = blocks(&counts, &[(A, B), (B, A)]);
        assert!(leads.len() < 2, "{leads:?}");
    }

    #[test]
    fn figure_3_the_same_decision_twice() {
        const E: u32 = 5;
        const G: u32 = 6;
        const H: u32 = 7;
        const I: u32 = 8;
        let counts =
            graph(vec![(S, A), (A, B), (A, C), (B, D), (C, D), (D, G), (G, E), (G, H), (E, I), (H, I)]);
        assert_eq!(blocks(&counts, &[(A, B), (B, D), (G, H), (H, I)]), [A, G]);
    }

    #[test]
    fn what_leads_in_is_taken_from_the_score() {
        let counts = graph(vec![(S, A), (A, B), (A, C), (B, D), (C, D)]);
        let with_time = [((S, A), 0.1), ((A, B), 0.92), ((A, C), -0.3)];
        let scores = found(&counts, &[(A, B), (B, D)], &with_time, Method::Paper);
        assert!(scores[0].0 == A && (scores[0].1 - 0.82).abs() < 1e-12, "{scores:?}");
    }

    #[test]
    fn the_other_way_of_a_branch_makes_no_score() {
        // Cluster: the way that shrinks as time grows. To the letter, the other way makes its score.
        let counts = graph(vec![(S, A), (A, B), (A, C), (B, D), (C, D)]);
        let with_time = [((A, B), 0.99), ((A, C), -0.99), ((C, D), -0.99)];
        let cluster = [(A, C), (C, D)];
        assert_eq!(found(&counts, &cluster, &with_time, Method::Paper), [(A, 0.99)]);
        assert_eq!(found(&counts, &cluster, &with_time, Method::Stacked), [(A, -0.99)]);
    }

    #[test]
    fn a_block_that_loops_to_itself_leads() {
        // To the letter, its only edge that varies is a back edge and does not count.
        let counts = graph(vec![(S, A), (A, A), (A, B)]);
        let with_time = [((A, A), 0.97)];
        assert_eq!(found(&counts, &[(A, A)], &with_time, Method::Paper), [(A, 0.0)]);
        assert_eq!(found(&counts, &[(A, A)], &with_time, Method::Stacked), [(A, 0.97)]);
    }

    #[test]
    fn what_leads_in_against_time_is_unrelated() {
        let counts = graph(vec![(S, A), (A, B), (A, C)]);
        let with_time = [((S, A), -0.5), ((A, B), 0.9)];
        let score = |method| found(&counts, &[(A, B)], &with_time, method)[0].1;
        assert_eq!((score(Method::Paper), score(Method::Stacked)), (1.4, 0.9));
    }

    #[test]
    fn kinds_of_clusters() {
        let counts = graph(vec![(S, A), (A, B)]);
        let program = Program::new(&counts);
        assert_eq!(Cluster::kind(&program, &[1, 5]), ClusterKind::ControlFlow);
        assert_eq!(Cluster::kind(&program, &[2, 5]), ClusterKind::Hardware);
    }
}
