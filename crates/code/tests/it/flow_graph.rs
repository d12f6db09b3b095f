//! Graphs with known answers, and random ones against the definitions.

use holdup_code::FlowGraph;
use holdup_model::counts::BlockId;
use proptest::prelude::*;

fn graph(vertices: usize, edges: &[(u32, u32)]) -> FlowGraph {
    let edges: Vec<_> = edges.iter().map(|(from, to)| (BlockId(*from), BlockId(*to))).collect();
    FlowGraph::new(vertices, &edges)
}

fn back_edges(graph: &FlowGraph, edges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let goes_back = |(from, to): &&(u32, u32)| graph.is_back_edge(BlockId(*from), BlockId(*to));
    edges.iter().filter(goes_back).copied().collect()
}

// Figure 3 of paper 2, with s = 0, A = 1, and so on.

#[test]
fn the_if_of_figure_3_has_no_back_edge() {
    let edges = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)];
    let graph = graph(5, &edges);
    assert_eq!(back_edges(&graph, &edges), []);
    assert_eq!(graph.immediate_dominator(BlockId(4)), Some(BlockId(1)));
    assert!(graph.dominates(BlockId(0), BlockId(4)));
    assert!(!graph.dominates(BlockId(2), BlockId(4)));
}

#[test]
fn the_loop_of_figure_3_has_one_back_edge() {
    let edges = [(0, 1), (1, 2), (2, 1), (1, 3)];
    let graph = graph(4, &edges);
    assert_eq!(back_edges(&graph, &edges), [(2, 1)]);
    assert!(graph.is_cyclic(BlockId(1)) && graph.is_cyclic(BlockId(2)));
    assert!(!graph.is_cyclic(BlockId(0)) && !graph.is_cyclic(BlockId(3)));
    assert_eq!(graph.component(BlockId(1)), graph.component(BlockId(2)));
    assert!(graph.component(BlockId(0)) < graph.component(BlockId(1)));
    assert!(graph.component(BlockId(2)) < graph.component(BlockId(3)));
}

#[test]
fn the_two_ifs_of_figure_3_follow_one_another() {
    // A → B, C → D → G → H, I → J.
    let edges = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6), (5, 7), (6, 8), (7, 8)];
    let graph = graph(9, &edges);
    assert_eq!(back_edges(&graph, &edges), []);
    assert!(graph.dominates(BlockId(1), BlockId(5)));
    assert!(!graph.dominates(BlockId(2), BlockId(5)));
    assert_eq!(graph.predecessors(BlockId(8)), [BlockId(6), BlockId(7)]);
    assert_eq!(graph.successors(BlockId(1)), [BlockId(2), BlockId(3)]);
}

#[test]
fn a_block_that_jumps_to_itself_goes_back() {
    let edges = [(0, 1), (1, 1), (1, 2)];
    let graph = graph(3, &edges);
    assert_eq!(back_edges(&graph, &edges), [(1, 1)]);
    assert!(graph.is_cyclic(BlockId(1)));
}

#[test]
fn a_cycle_with_two_entries_goes_back_once() {
    let edges = [(0, 1), (0, 2), (1, 2), (2, 1)];
    let graph = graph(3, &edges);
    assert_eq!(back_edges(&graph, &edges), [(2, 1)]);
    assert_eq!(graph.immediate_dominator(BlockId(1)), Some(BlockId(0)));
    assert_eq!(graph.immediate_dominator(BlockId(2)), Some(BlockId(0)));
}

#[test]
fn a_cycle_that_nothing_leads_to_is_entered_at_its_lowest_vertex() {
    let edges = [(1, 2), (2, 3), (3, 1), (3, 4)];
    let graph = graph(5, &edges);
    assert_eq!(back_edges(&graph, &edges), [(3, 1)]);
    assert_eq!(graph.immediate_dominator(BlockId(1)), None);
    assert_eq!(graph.immediate_dominator(BlockId(0)), None);
    assert!(graph.dominates(BlockId(1), BlockId(4)));
}

#[test]
fn vertices_that_there_are_not_are_nowhere() {
    let graph = graph(2, &[(0, 1), (0, 7), (9, 1), (0, 1)]);
    assert_eq!(graph.successors(BlockId(0)), [BlockId(1)]);
    assert!(graph.successors(BlockId(9)).is_empty() && graph.predecessors(BlockId(7)).is_empty());
    assert!(!graph.is_back_edge(BlockId(9), BlockId(1)) && !graph.is_back_edge(BlockId(1), BlockId(0)));
    assert!(!graph.dominates(BlockId(0), BlockId(7)) && !graph.dominates(BlockId(7), BlockId(7)));
    assert_eq!(graph.immediate_dominator(BlockId(7)), None);
    assert_eq!(graph.component(BlockId(7)), u32::MAX);
    assert!(!graph.is_cyclic(BlockId(7)));
    assert!(FlowGraph::new(0, &[]).successors(BlockId(0)).is_empty());
}

#[test]
fn long_chains_and_deep_nests_need_no_deep_stack() {
    // 100,000 loops, each inside the one before.
    let depth = 100_000;
    let mut edges: Vec<_> = (0..depth).map(|at| (at, at + 1)).collect();
    edges.extend((depth..2 * depth).map(|at| (at, at + 1)));
    edges.extend((1..depth).map(|at| (2 * depth + 1 - at, at)));
    let graph = graph(2 * depth as usize + 2, &edges);
    assert_eq!(back_edges(&graph, &edges).len(), depth as usize - 1);
    assert!(graph.dominates(BlockId(0), BlockId(depth)));
}

/// What the virtual root leads to, by the definition.
fn roots(vertices: u32, reaches: &[Vec<bool>]) -> Vec<u32> {
    // A vertex is a root if all that reaches it is reached by it, and has no lower number.
    let is_root = |vertex: &u32| {
        (0..vertices)
            .filter(|other| reaches[*other as usize][*vertex as usize])
            .all(|other| other >= *vertex && (other == *vertex || reaches[*vertex as usize][other as usize]))
    };
    (0..vertices).filter(is_root).collect()
}

/// For each vertex what can be reached from it by at least no edge, without passing `without`.
fn reach(vertices: u32, edges: &[(u32, u32)], without: Option<u32>) -> Vec<Vec<bool>> {
    (0..vertices)
        .map(|start| {
            let mut seen = vec![false; vertices as usize];
            let mut open = vec![start];
            while let Some(at) = open.pop() {
                if Some(at) == without || std::mem::replace(&mut seen[at as usize], true) {
                    continue;
                }
                open.extend(edges.iter().filter(|(from, _)| *from == at).map(|(_, to)| *to));
            }
            seen
        })
        .collect()
}

fn graphs() -> impl Strategy<Value = (u32, Vec<(u32, u32)>)> {
    (1u32..14).prop_flat_map(|vertices| {
        let edges = prop::collection::vec((0..vertices, 0..vertices), 0..3 * vertices as usize);
        (Just(vertices), edges)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_graphs_are_as_the_definitions_say((vertices, edges) in graphs()) {
        let graph = graph(vertices as usize, &edges);
        let all = reach(vertices, &edges, None);
        let roots = roots(vertices, &all);
        let id = BlockId;
        let dominates = |a: u32, without_a: &[Vec<bool>], b: u32| {
            a == b || !roots.iter().any(|root| *root != a && without_a[*root as usize][b as usize])
        };
        let table: Vec<Vec<bool>> = (0..vertices)
            .map(|a| {
                let without_a = reach(vertices, &edges, Some(a));
                (0..vertices).map(|b| dominates(a, &without_a, b)).collect()
            })
            .collect();
        for a in 0..vertices {
            for b in 0..vertices {
                let expected = table[a as usize][b as usize];
                prop_assert_eq!(graph.dominates(id(a), id(b)), expected, "{} dominates {}", a, b);
                let together = all[a as usize][b as usize] && all[b as usize][a as usize];
                prop_assert_eq!(graph.component(id(a)) == graph.component(id(b)), together);
            }
            // The immediate dominator is the one that all other strict dominators dominate.
            let strict: Vec<_> = (0..vertices).filter(|d| *d != a && table[*d as usize][a as usize]).collect();
            let nearest = strict.iter().find(|d| strict.iter().all(|e| table[*e as usize][**d as usize]));
            prop_assert_eq!(graph.immediate_dominator(id(a)), nearest.copied().map(id));
            let in_cycle = edges.iter().any(|(from, to)| *from == a && all[*to as usize][a as usize]);
            prop_assert_eq!(graph.is_cyclic(id(a)), in_cycle);
        }
        for (from, to) in &edges {
            prop_assert!(graph.component(id(*from)) <= graph.component(id(*to)));
            if table[*to as usize][*from as usize] {
                prop_assert!(graph.is_back_edge(id(*from), id(*to)));
            }
            if graph.component(id(*from)) != graph.component(id(*to)) {
                prop_assert!(!graph.is_back_edge(id(*from), id(*to)));
            }
        }
        // Without the edges that go back nothing is cyclic.
        let forward: Vec<_> =
            edges.iter().copied().filter(|(from, to)| !graph.is_back_edge(id(*from), id(*to))).collect();
        let ways = reach(vertices, &forward, None);
        prop_assert!(forward.iter().all(|(from, to)| !ways[*to as usize][*from as usize]));
    }

    #[test]
    fn the_order_of_edges_does_not_matter((vertices, edges) in graphs()) {
        let one = graph(vertices as usize, &edges);
        let reversed: Vec<_> = edges.iter().rev().chain(&edges).copied().collect();
        let other = graph(vertices as usize, &reversed);
        prop_assert_eq!(back_edges(&one, &edges), back_edges(&other, &edges));
    }
}
