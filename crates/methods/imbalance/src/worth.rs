//! What a block is worth: how many instructions follow, on average, once a thread is there.
//!
//! W(v) = d(v) + Σ p(v→w) · W(w)
//!
//! where d(v) are the block's instructions and those of libraries that it calls, and p(v→w) is how often the edge was taken
//! for each execution of v, over all threads and instances of the section. A call leads to the callee *and* to the block
//! behind it, and nothing leads out of a return, so that what is behind a call is counted once.
//!
//! These equations are solved exactly, one strongly connected component after the other, the last ones first. Components are
//! the loops of one function or the functions of one recursion, so they are small: Gaussian elimination on sparse rows, the
//! block with the fewest neighbours first.

use holdup_model::Arrange;
use std::collections::{BTreeMap, BTreeSet};

/// A section's control flow, as blocks with edges, both by numbers of its own.
pub(super) struct Flow {
    /// How often each block was executed.
    pub(super) executions: Vec<f64>,
    /// Instructions of an execution of each block.
    pub(super) instructions: Vec<f64>,
    /// The edges out of each block: (to, how often).
    pub(super) out: Vec<Vec<(u32, f64)>>,
    /// The component of each block; an edge between two components leads to the larger number.
    pub(super) components: Vec<u32>,
}

/// A loop that is left less than once in so many turns is not left at all, but for rounding: a section that begins and ends
/// within, or a thread that was cut off. It is cut open, since its blocks would be worth infinitely much.
const MOST_TURNS: f64 = 1e11;

/// How often a block is left for good, of so many executions.
fn left_for_good(left: f64, executions: f64) -> f64 {
    if left > executions / MOST_TURNS { left } else { executions }
}

/// What each block is worth, in instructions.
pub(super) fn worths(flow: &Flow) -> Vec<f64> {
    let mut order: Vec<usize> = (0..flow.executions.len()).collect();
    order.arrange_by_key(|at| (std::cmp::Reverse(flow.components[*at]), *at));
    let mut worth = vec![0.0; order.len()];
    for component in order.chunk_by(|a, b| flow.components[*a] == flow.components[*b]) {
        solve(flow, component, &mut worth);
    }
    worth
}

/// Solves the equations of one component, times the blocks' executions.
fn solve(flow: &Flow, blocks: &[usize], worth: &mut [f64]) {
    if let &[block] = blocks {
        let executions = flow.executions[block];
        let (itself, others): (Vec<_>, Vec<_>) =
            flow.out[block].iter().partition(|(to, _)| *to as usize == block);
        let behind: f64 = others.iter().map(|(to, count)| count * worth[*to as usize]).sum();
        let left = executions - itself.iter().map(|(_, count)| count).sum::<f64>();
        let all = executions * flow.instructions[block] + behind;
        worth[block] = if executions > 0.0 { all / left_for_good(left, executions) } else { 0.0 };
        return;
    }
    let place: BTreeMap<usize, usize> = blocks.iter().enumerate().map(|(at, block)| (*block, at)).collect();
    let mut known = Vec::with_capacity(blocks.len());
    let mut own = Vec::with_capacity(blocks.len());
    let mut rows: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); blocks.len()];
    let mut columns: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); blocks.len()];
    for (at, block) in blocks.iter().enumerate() {
        let executions = flow.executions[*block];
        let mut outside = executions * flow.instructions[*block];
        let mut itself = executions;
        for (to, count) in &flow.out[*block] {
            match place.get(&(*to as usize)) {
                Some(to) if *to == at => itself -= count,
                Some(to) => {
                    *rows[at].entry(*to).or_insert(0.0) += count;
                    columns[*to].insert(at);
                }
                None => outside += count * worth[*to as usize],
            }
        }
        known.push(outside);
        own.push(itself);
    }
    let degree = |rows: &[BTreeMap<usize, f64>], columns: &[BTreeSet<usize>], at: usize| {
        rows[at].len() * columns[at].len()
    };
    let mut queue: BTreeSet<(usize, usize)> =
        (0..blocks.len()).map(|at| (degree(&rows, &columns, at), at)).collect();
    let mut order = Vec::with_capacity(blocks.len());
    while let Some((_, at)) = queue.pop_first() {
        order.push(at);
        own[at] = left_for_good(own[at], flow.executions[blocks[at]]);
        let row: Vec<(usize, f64)> = rows[at].iter().map(|(to, count)| (*to, *count)).collect();
        let from: Vec<usize> = std::mem::take(&mut columns[at]).into_iter().collect();
        let touched: BTreeSet<usize> = row.iter().map(|(to, _)| *to).chain(from.iter().copied()).collect();
        for other in &touched {
            queue.remove(&(degree(&rows, &columns, *other), *other));
        }
        for (to, _) in &row {
            columns[*to].remove(&at);
        }
        for &from in &from {
            let Some(count) = rows[from].remove(&at) else { continue };
            if own[at] <= 0.0 {
                continue;
            }
            let share = count / own[at];
            known[from] += share * known[at];
            for (to, more) in &row {
                if *to == from {
                    own[from] -= share * more;
                } else {
                    *rows[from].entry(*to).or_insert(0.0) += share * more;
                    columns[*to].insert(from);
                }
            }
        }
        for other in touched {
            queue.insert((degree(&rows, &columns, other), other));
        }
    }
    for at in order.into_iter().rev() {
        let behind: f64 = rows[at].iter().map(|(to, count)| count * worth[blocks[*to]]).sum();
        worth[blocks[at]] = if own[at] > 0.0 { (known[at] + behind) / own[at] } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_worth_its_turns() {
        // 0 → 1; 1 → 1 nine times of ten; 1 → 2.
        let flow = Flow {
            executions: vec![1.0, 10.0, 1.0],
            instructions: vec![2.0, 3.0, 5.0],
            out: vec![vec![(1, 1.0)], vec![(1, 9.0), (2, 1.0)], vec![]],
            components: vec![0, 1, 2],
        };
        assert_eq!(worths(&flow), [37.0, 35.0, 5.0]);
    }

    #[test]
    fn a_call_is_worth_the_callee_and_what_follows() {
        let flow = Flow {
            executions: vec![4.0, 4.0, 4.0],
            instructions: vec![1.0, 10.0, 100.0],
            out: vec![vec![(1, 4.0), (2, 4.0)], vec![], vec![]],
            components: vec![0, 1, 2],
        };
        assert_eq!(worths(&flow), [111.0, 10.0, 100.0]);
    }

    #[test]
    fn recursion_is_worth_the_whole_tree() {
        // A binary tree of seven nodes: test 0, left call 1, right call 2, return 3, leaf 4.
        let flow = Flow {
            executions: vec![7.0, 3.0, 3.0, 3.0, 4.0],
            instructions: vec![1.0, 1.0, 1.0, 1.0, 1.0],
            out: vec![
                vec![(1, 3.0), (4, 4.0)],
                vec![(0, 3.0), (2, 3.0)],
                vec![(0, 3.0), (3, 3.0)],
                vec![],
                vec![],
            ],
            components: vec![0, 0, 0, 1, 1],
        };
        // All 20 instructions, entered once.
        assert!((worths(&flow)[0] - 20.0).abs() < 1e-9);
    }

    #[test]
    fn nested_loops_keep_their_precision() {
        // Three loops around each other, 1000 turns each; only the innermost block has instructions.
        let flow = Flow {
            executions: vec![1e3, 1e6, 1e9],
            instructions: vec![0.0, 0.0, 1.0],
            out: vec![vec![(1, 1e3)], vec![(2, 1e6), (0, 999.0)], vec![(2, 999e6), (1, 999e3)]],
            components: vec![0, 0, 0],
        };
        assert!((worths(&flow)[0] / 1e9 - 1.0).abs() < 1e-6, "{:?}", worths(&flow));
    }

    #[test]
    fn a_loop_that_is_never_left_is_no_division_by_zero() {
        let flow = Flow {
            executions: vec![5.0, 5.0],
            instructions: vec![1.0, 1.0],
            out: vec![vec![(1, 5.0)], vec![(0, 5.0)]],
            components: vec![0, 0],
        };
        assert!(worths(&flow).iter().all(|worth| worth.is_finite()));
    }
}
