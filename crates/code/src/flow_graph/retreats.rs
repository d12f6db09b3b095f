//! Edges that go back.

use holdup_model::counts::BlockId;

use super::adjacency::Adjacency;
use super::dominators::Dominators;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Unseen,
    Open,
    Closed,
}

/// For each edge whether it goes back.
pub(super) fn of(graph: &Adjacency, roots: &[BlockId], dominators: &Dominators) -> Vec<bool> {
    let mut goes_back = vec![false; graph.edges()];
    for vertex in (0..graph.vertices() as u32).map(BlockId) {
        for edge in graph.range(vertex) {
            goes_back[edge] = dominators.dominates(graph.end(edge), vertex);
        }
    }
    let mut visit = vec![Visit::Unseen; graph.vertices()];
    for root in roots {
        let mut open = Vec::new();
        let mut enter = Some(*root);
        loop {
            if let Some(vertex) = enter.take() {
                visit[vertex.index()] = Visit::Open;
                open.push((vertex, graph.range(vertex).start));
            }
            let Some((vertex, edge)) = open.last_mut() else { break };
            if *edge == graph.range(*vertex).end {
                visit[vertex.index()] = Visit::Closed;
                open.pop();
                continue;
            }
            let (at, next) = (*edge, graph.end(*edge));
            *edge += 1;
            if goes_back[at] {
                continue;
            }
            match visit[next.index()] {
                Visit::Unseen => enter = Some(next),
                Visit::Open => goes_back[at] = true,
                Visit::Closed => {}
            }
        }
    }
    goes_back
}
