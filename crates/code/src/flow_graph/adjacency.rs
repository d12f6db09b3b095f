//! Edges by their source.

use holdup_model::counts::BlockId;

/// For each vertex the ends of its edges, sorted, each once.
#[derive(Clone, Debug)]
pub(super) struct Adjacency {
    first: Vec<u32>,
    ends: Vec<BlockId>,
}

impl Adjacency {
    pub(super) fn new(vertices: usize, edges: impl Iterator<Item = (BlockId, BlockId)>) -> Self {
        let mut edges: Vec<_> =
            edges.filter(|(from, to)| from.index() < vertices && to.index() < vertices).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut first = vec![0; vertices + 1];
        for (from, _) in &edges {
            first[from.index() + 1] += 1;
        }
        for vertex in 0..vertices {
            first[vertex + 1] += first[vertex];
        }
        Self { first, ends: edges.into_iter().map(|(_, to)| to).collect() }
    }

    pub(super) fn vertices(&self) -> usize {
        self.first.len() - 1
    }

    pub(super) fn edges(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn of(&self, vertex: BlockId) -> &[BlockId] {
        &self.ends[self.range(vertex)]
    }

    /// The positions of a vertex's edges among all.
    pub(super) fn range(&self, vertex: BlockId) -> std::ops::Range<usize> {
        if vertex.index() >= self.vertices() {
            return 0..0;
        }
        self.first[vertex.index()] as usize..self.first[vertex.index() + 1] as usize
    }

    /// The position of an edge among all, if there is such an edge.
    pub(super) fn position(&self, from: BlockId, to: BlockId) -> Option<usize> {
        let at = self.of(from).binary_search(&to).ok()?;
        Some(self.range(from).start + at)
    }

    pub(super) fn end(&self, edge: usize) -> BlockId {
        self.ends[edge]
    }
}
