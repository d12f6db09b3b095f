//! The control-flow graph of what ran: who dominates whom, what goes back, what is cyclic.

use holdup_model::counts::BlockId;

mod adjacency;

mod components;

mod dominators;

mod retreats;

use adjacency::Adjacency;
use components::Components;
use dominators::Dominators;

/// The control-flow graph of what ran, of the whole program.
///
/// A virtual root leads to every vertex without predecessors (where threads begin, where counting began), and to the
/// lowest vertex of each cycle that nothing leads to. So every vertex is reached from the root, and has dominators.
///
/// ```
/// use holdup_code::FlowGraph;
/// use holdup_model::counts::BlockId;
///
/// // A loop: 0 → 1 → 2 → 1, and 1 → 3.
/// let edge = |from, to| (BlockId(from), BlockId(to));
/// let graph = FlowGraph::new(4, &[edge(0, 1), edge(1, 2), edge(2, 1), edge(1, 3)]);
/// assert!(graph.dominates(BlockId(1), BlockId(3)));
/// assert!(graph.is_back_edge(BlockId(2), BlockId(1)));
/// assert!(!graph.is_back_edge(BlockId(0), BlockId(1)));
/// assert!(graph.is_cyclic(BlockId(2)) && !graph.is_cyclic(BlockId(3)));
/// ```
#[derive(Clone, Debug)]
pub struct FlowGraph {
    out: Adjacency,
    into: Adjacency,
    components: Components,
    dominators: Dominators,
    /// For each edge of `out` whether it goes back.
    goes_back: Vec<bool>,
}

impl FlowGraph {
    /// The graph with so many vertices and these edges, in any order. Edges that occur twice count once, edges of vertices
    /// that there are not are left out.
    pub fn new(vertices: usize, edges: &[(BlockId, BlockId)]) -> Self {
        let out = Adjacency::new(vertices, edges.iter().copied());
        let into = Adjacency::new(vertices, edges.iter().map(|(from, to)| (*to, *from)));
        let components = Components::of(&out);
        let roots = components.roots(&out);
        let dominators = Dominators::of(&out, &into, &roots);
        let goes_back = retreats::of(&out, &roots, &dominators);
        Self { out, into, components, dominators, goes_back }
    }

    /// Whether an edge goes back: its target dominates its source. Cycles with several entries have no such edge; of what
    /// is cyclic without the edges that have one, those go back that a depth-first search from the root, in the order of
    /// vertices, takes to a vertex that it is still in. False where there is no such edge.
    pub fn is_back_edge(&self, from: BlockId, to: BlockId) -> bool {
        self.out.position(from, to).is_some_and(|edge| self.goes_back[edge])
    }

    /// Whether each way from the root to `b` leads through `a`. A vertex dominates itself. False for vertices that there
    /// are not.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        self.dominators.dominates(a, b)
    }

    /// The nearest other vertex that dominates this one; `None` where only the virtual root does.
    pub fn immediate_dominator(&self, vertex: BlockId) -> Option<BlockId> {
        self.dominators.immediate(vertex)
    }

    /// The strongly connected component of a vertex. Components are numbered from 0 on so that edges between them lead from
    /// lower to higher numbers. `u32::MAX` for vertices that there are not.
    pub fn component(&self, vertex: BlockId) -> u32 {
        self.components.of_vertex(vertex)
    }

    /// Whether a vertex can be reached from itself.
    pub fn is_cyclic(&self, vertex: BlockId) -> bool {
        self.components.is_large(vertex) || self.out.position(vertex, vertex).is_some()
    }

    /// Where control went from a vertex, in order; empty for vertices that there are not.
    pub fn successors(&self, vertex: BlockId) -> &[BlockId] {
        self.out.of(vertex)
    }

    /// Where control came from, in order; empty for vertices that there are not.
    pub fn predecessors(&self, vertex: BlockId) -> &[BlockId] {
        self.into.of(vertex)
    }
}
