//! The program's control flow: which edges lead into and out of a block, which are back edges, where it calls itself.

use std::collections::BTreeSet;

use holdup_code::FlowGraph;
use holdup_model::Frame;
use holdup_model::counts::{BlockExit, BlockId, Counts};

use super::recursion::{Recursion, recursions};

/// Control flow of a whole program, all threads and sections.
pub(super) struct Program<'a> {
    /// The counts that it comes from.
    pub(super) counts: &'a Counts,
    flow: FlowGraph,
    out: Lists,
    into: Lists,
    back: Vec<bool>,
    recursions: Vec<Recursion>,
    /// The recursion that each block is part of.
    recursion: Vec<Option<u32>>,
}

/// A line of a function in a file.
pub(super) type Line = (String, u32, Option<String>);

/// The line of the innermost frame; `None` without one.
pub(super) fn line_of(frames: &[Frame]) -> Option<Line> {
    let frame = frames.first()?;
    Some((frame.file.clone()?, frame.line?, frame.function.clone()))
}

/// For each block the numbers of its edges.
struct Lists {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Lists {
    fn new(blocks: usize, ends: impl Iterator<Item = Option<usize>> + Clone) -> Lists {
        let mut starts = vec![0_u32; blocks + 1];
        for block in ends.clone().flatten() {
            starts[block + 1] += 1;
        }
        for block in 0..blocks {
            starts[block + 1] += starts[block];
        }
        let mut next = starts.clone();
        let mut edges = vec![0; starts[blocks] as usize];
        for (edge, block) in ends.enumerate() {
            if let Some(block) = block {
                edges[next[block] as usize] = edge as u32;
                next[block] += 1;
            }
        }
        Lists { starts, edges }
    }

    fn of(&self, block: BlockId) -> &[u32] {
        let at = block.index();
        if at + 1 >= self.starts.len() {
            return &[];
        }
        &self.edges[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

impl<'a> Program<'a> {
    /// Control flow of what was counted. Edges of blocks that do not exist are left out.
    pub(super) fn new(counts: &'a Counts) -> Program<'a> {
        let blocks = counts.blocks.len();
        let exists = |(from, to): &(BlockId, BlockId)| from.index() < blocks && to.index() < blocks;
        let flow = FlowGraph::new(blocks, &counts.edges);
        let out = Lists::new(blocks, counts.edges.iter().map(|edge| exists(edge).then(|| edge.0.index())));
        let into = Lists::new(blocks, counts.edges.iter().map(|edge| exists(edge).then(|| edge.1.index())));
        let back =
            counts.edges.iter().map(|edge| exists(edge) && flow.is_back_edge(edge.0, edge.1)).collect();
        let mut program =
            Program { counts, flow, out, into, back, recursions: Vec::new(), recursion: Vec::new() };
        (program.recursions, program.recursion) =
            recursions(counts, |block| program.component(block), |edge| program.is_call(edge));
        program
    }

    /// The edges out of a block.
    pub(super) fn out(&self, block: BlockId) -> &[u32] {
        self.out.of(block)
    }

    /// The edges into a block.
    pub(super) fn into(&self, block: BlockId) -> &[u32] {
        self.into.of(block)
    }

    /// The edge with this number; none for other columns.
    pub(super) fn edge(&self, column: u32) -> Option<(BlockId, BlockId)> {
        let edge = *self.counts.edges.get(column as usize)?;
        let blocks = self.counts.blocks.len();
        (edge.0.index() < blocks && edge.1.index() < blocks).then_some(edge)
    }

    /// True for a back edge: its target dominates its source.
    pub(super) fn is_back(&self, edge: u32) -> bool {
        self.back[edge as usize]
    }

    /// How a block ends.
    pub(super) fn exit(&self, block: BlockId) -> BlockExit {
        self.counts.blocks.get(block.index()).map_or(BlockExit::Falls, |block| block.exit)
    }

    /// True for code that only waits.
    pub(super) fn waits(&self, block: BlockId) -> bool {
        self.counts.blocks.get(block.index()).is_some_and(|block| block.waits)
    }

    /// The strongly connected component of a block; components are numbered in topological order.
    pub(super) fn component(&self, block: BlockId) -> u32 {
        self.flow.component(block)
    }

    /// The last block that all ways to these blocks pass.
    pub(super) fn before_all(&self, blocks: &[BlockId]) -> Option<BlockId> {
        let (first, others) = blocks.split_first()?;
        let mut above = self.flow.immediate_dominator(*first);
        while let Some(block) = above {
            if others.iter().all(|other| self.flow.dominates(block, *other)) {
                return Some(block);
            }
            above = self.flow.immediate_dominator(block);
        }
        None
    }

    /// The recursion that a block is part of.
    pub(super) fn recursion_of(&self, block: BlockId) -> Option<&Recursion> {
        self.recursions.get((*self.recursion.get(block.index())?)? as usize)
    }

    /// All recursions.
    pub(super) fn recursions(&self) -> &[Recursion] {
        &self.recursions
    }

    /// True if the edge goes from a call to what is called, not to the block behind it.
    pub(super) fn is_call(&self, edge: u32) -> bool {
        let Some((from, to)) = self.edge(edge) else { return false };
        matches!(self.exit(from), BlockExit::Call | BlockExit::IndirectCall)
            && self
                .return_edge(from)
                .is_none_or(|back| self.edge(back).is_some_and(|(_, behind)| behind != to))
    }

    /// The edge from a call to the block behind it, if the callee returned. It is told by the address: the block behind is
    /// the next one, and an instruction of x86-64 has 1 to 15 bytes.
    pub(super) fn return_edge(&self, block: BlockId) -> Option<u32> {
        let call = self.counts.blocks.get(block.index())?;
        if !matches!(call.exit, BlockExit::Call | BlockExit::IndirectCall) {
            return None;
        }
        let length = u64::from(call.instructions.max(1));
        let range = call.address.checked_add(length)?..=call.address.checked_add(15 * length)?;
        let address = |edge: u32| self.counts.blocks[self.counts.edges[edge as usize].1.index()].address;
        let behind = self.out(block).iter().copied().filter(|edge| range.contains(&address(*edge)));
        behind.min_by_key(|edge| address(*edge))
    }

    /// The blocks of the loops that the back edges into `head` close, in order: all from which such an edge is reached
    /// without passing `head`.
    pub(super) fn loop_of(&self, head: BlockId) -> BTreeSet<BlockId> {
        let mut body = BTreeSet::from([head]);
        let mut open: Vec<BlockId> = Vec::new();
        for edge in self.into(head).iter().filter(|edge| self.is_back(**edge)) {
            let from = self.counts.edges[*edge as usize].0;
            if body.insert(from) {
                open.push(from);
            }
        }
        while let Some(block) = open.pop() {
            for edge in self.into(block) {
                let from = self.counts.edges[*edge as usize].0;
                if body.insert(from) {
                    open.push(from);
                }
            }
        }
        body
    }

    /// A loop with what it calls: all blocks of the functions that are called from it.
    pub(super) fn nest_of(&self, head: BlockId) -> BTreeSet<BlockId> {
        let body = self.loop_of(head);
        let mut nest = body.clone();
        let targets =
            |block: BlockId| self.out(block).iter().filter_map(|edge| Some((*edge, self.edge(*edge)?.1)));
        let calls =
            |block: &BlockId| targets(*block).filter(|(edge, _)| self.is_call(*edge)).map(|(_, to)| to);
        let mut open: Vec<BlockId> = body.iter().flat_map(calls).filter(|to| !body.contains(to)).collect();
        while let Some(block) = open.pop() {
            if nest.insert(block) {
                open.extend(targets(block).map(|(_, to)| to));
            }
        }
        nest
    }
}
