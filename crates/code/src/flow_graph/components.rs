//! Strongly connected components (Tarjan, *Depth-first search and linear graph algorithms*, 1972), without recursion: the
//! longest chain of blocks of a program is longer than a stack is deep.

use holdup_model::counts::BlockId;

use super::adjacency::Adjacency;

/// What component each vertex is in.
#[derive(Clone, Debug)]
pub(super) struct Components {
    of: Vec<u32>,
    sizes: Vec<u32>,
}

const UNSEEN: u32 = u32::MAX;

impl Components {
    pub(super) fn of(graph: &Adjacency) -> Self {
        let vertices = graph.vertices();
        let mut search = Search {
            order: vec![UNSEEN; vertices],
            low: vec![0; vertices],
            component: vec![UNSEEN; vertices],
            stack: Vec::new(),
            seen: 0,
            sizes: Vec::new(),
        };
        for vertex in 0..vertices {
            search.from(BlockId(vertex as u32), graph);
        }
        // The search completes a component after all that it leads to.
        let last = search.sizes.len() as u32;
        let of = search.component.iter().map(|component| last - 1 - component).collect();
        search.sizes.reverse();
        Self { of, sizes: search.sizes }
    }

    pub(super) fn of_vertex(&self, vertex: BlockId) -> u32 {
        self.of.get(vertex.index()).copied().unwrap_or(u32::MAX)
    }

    pub(super) fn is_large(&self, vertex: BlockId) -> bool {
        self.of.get(vertex.index()).is_some_and(|component| self.sizes[*component as usize] > 1)
    }

    /// The lowest vertex of each component that no other leads to, in order.
    pub(super) fn roots(&self, graph: &Adjacency) -> Vec<BlockId> {
        let mut has_entry = vec![false; self.sizes.len()];
        for vertex in (0..graph.vertices() as u32).map(BlockId) {
            for next in graph.of(vertex) {
                has_entry[self.of[next.index()] as usize] |= self.of[next.index()] != self.of[vertex.index()];
            }
        }
        let mut roots = Vec::new();
        for vertex in (0..graph.vertices() as u32).map(BlockId) {
            let has_entry = &mut has_entry[self.of[vertex.index()] as usize];
            if !std::mem::replace(has_entry, true) {
                roots.push(vertex);
            }
        }
        roots
    }
}

struct Search {
    order: Vec<u32>,
    low: Vec<u32>,
    component: Vec<u32>,
    stack: Vec<BlockId>,
    seen: u32,
    sizes: Vec<u32>,
}

impl Search {
    fn from(&mut self, start: BlockId, graph: &Adjacency) {
        if self.order[start.index()] != UNSEEN {
            return;
        }
        // A vertex, and which of its edges comes next.
        let mut open = vec![(start, graph.range(start).start)];
        self.enter(start);
        while let Some((vertex, edge)) = open.last_mut() {
            let vertex = *vertex;
            if *edge < graph.range(vertex).end {
                let next = graph.end(*edge);
                *edge += 1;
                if self.order[next.index()] == UNSEEN {
                    self.enter(next);
                    open.push((next, graph.range(next).start));
                } else if self.component[next.index()] == UNSEEN {
                    self.low[vertex.index()] = self.low[vertex.index()].min(self.order[next.index()]);
                }
                continue;
            }
            open.pop();
            if let Some((before, _)) = open.last() {
                self.low[before.index()] = self.low[before.index()].min(self.low[vertex.index()]);
            }
            if self.low[vertex.index()] == self.order[vertex.index()] {
                self.complete(vertex);
            }
        }
    }

    fn enter(&mut self, vertex: BlockId) {
        self.order[vertex.index()] = self.seen;
        self.low[vertex.index()] = self.seen;
        self.seen += 1;
        self.stack.push(vertex);
    }

    fn complete(&mut self, head: BlockId) {
        let number = self.sizes.len() as u32;
        let mut size = 0;
        while let Some(vertex) = self.stack.pop() {
            self.component[vertex.index()] = number;
            size += 1;
            if vertex == head {
                break;
            }
        }
        self.sizes.push(size);
    }
}
