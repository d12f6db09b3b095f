//! Functions that call themselves, and the copies of them that compilers have inlined.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::Frame;
use holdup_model::counts::{BlockId, Counts};

/// A recursion: the blocks from which calls lead back to themselves, and what was inlined of the functions that are called
/// so, into themselves or into others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Recursion {
    pub(super) blocks: Vec<BlockId>,
    /// The edges of calls, and those that lead into an inlined copy from code of the recursion, in order.
    pub(super) calls: Vec<u32>,
}

/// All recursions of a program, and for each block the number of that which it is part of. `component` is that of a block,
/// `is_call` tells edges to what is called.
pub(super) fn recursions(
    counts: &Counts,
    component: impl Fn(BlockId) -> u32,
    is_call: impl Fn(u32) -> bool,
) -> (Vec<Recursion>, Vec<Option<u32>>) {
    let blocks = counts.blocks.len();
    let edges = (0..).zip(&counts.edges).filter(|(_, (from, to))| from.index().max(to.index()) < blocks);
    let is_recursive = |(edge, (from, to)): &(u32, &(BlockId, BlockId))| {
        component(*from) == component(*to) && is_call(*edge)
    };
    let mut components: BTreeSet<u32> = BTreeSet::new();
    let mut functions: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for (_, (_, to)) in edges.clone().filter(is_recursive) {
        components.insert(component(*to));
        let called = counts.blocks[to.index()].begin.last();
        functions.extend(called.and_then(source_function).map(|function| (function, component(*to))));
    }
    let numbers: BTreeMap<u32, u32> = components.into_iter().zip(0..).collect();
    let number = |frame: &Frame| numbers.get(functions.get(&source_function(frame)?)?).copied();
    let ends = |block: &BlockId| {
        let block = &counts.blocks[block.index()];
        if block.end.is_empty() { &block.begin } else { &block.end }
    };
    let of_block = |block: BlockId| {
        numbers.get(&component(block)).copied().or_else(|| ends(&block).iter().find_map(number))
    };
    let of: Vec<Option<u32>> = (0..blocks as u32).map(|block| of_block(BlockId(block))).collect();
    let mut found = vec![Recursion::default(); numbers.len()];
    for (block, recursion) in (0..).zip(&of) {
        if let Some(recursion) = recursion {
            found[*recursion as usize].blocks.push(BlockId(block));
        }
    }
    for (edge, (from, to)) in edges {
        let Some(recursion) = of[from.index()] else { continue };
        let depth = |frames: &[Frame]| frames.iter().filter(|frame| number(frame) == Some(recursion)).count();
        let from = depth(ends(from));
        let is_inlined = || from > 0 && depth(&counts.blocks[to.index()].begin) > from;
        let calls_back = is_call(edge) && numbers.get(&component(*to)) == Some(&recursion);
        if calls_back || of[to.index()] == Some(recursion) && !is_call(edge) && is_inlined() {
            found[recursion as usize].calls.push(edge);
        }
    }
    (found, of)
}

fn source_function(frame: &Frame) -> Option<(&str, &str)> {
    Some((frame.file.as_deref()?, frame.function.as_deref()?))
}

#[cfg(test)]
mod tests {
    use holdup_model::counts::BasicBlock;

    use super::*;

    fn frames(functions: &[&str]) -> Vec<Frame> {
        let frames = functions.iter().map(|function| Frame {
            function: Some((*function).to_owned()),
            file: Some("tree.c".to_owned()),
            ..Frame::default()
        });
        frames.collect()
    }

    #[test]
    fn inlined_copies_of_a_recursive_function_are_of_its_recursion() {
        let block = |functions| BasicBlock { begin: frames(functions), ..BasicBlock::default() };
        let counts = Counts {
            blocks: vec![
                block(&["work"]),
                // Inlined into the caller, and once into itself there.
                block(&["walk", "work"]),
                block(&["walk", "walk", "work"]),
                // The function itself, with what is inlined of another one.
                block(&["walk"]),
                block(&["is_near", "walk"]),
                block(&["is_near", "other"]),
            ],
            edges: [(0, 1), (1, 2), (2, 3), (3, 4), (4, 3), (2, 0), (5, 0)]
                .map(|(from, to)| (BlockId(from), BlockId(to)))
                .into(),
            ..Counts::default()
        };
        // Blocks 3 and 4 reach each other; the calls are 2 → 3 and 4 → 3.
        let component = |block: BlockId| [1, 2, 3, 4, 4, 0][block.index()];
        let (found, of) = recursions(&counts, component, |edge| [2, 4].contains(&edge));
        assert_eq!(of, [None, Some(0), Some(0), Some(0), Some(0), None]);
        let blocks = [1, 2, 3, 4].map(BlockId).into();
        assert_eq!(found, [Recursion { blocks, calls: vec![1, 2, 4] }]);
        let (found, of) = recursions(&counts, component, |_| false);
        assert!(found.is_empty() && of.iter().all(Option::is_none));
    }
}
