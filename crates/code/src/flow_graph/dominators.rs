//! Dominators, by semidominators and nearest common ancestors (Georgiadis, Tarjan and Werneck, *Finding dominators in
//! practice*, 2006: SNCA). In the worst case it takes quadratic time; on graphs of programs it is linear, nearly.

use holdup_model::counts::BlockId;

use super::adjacency::Adjacency;

/// Who dominates whom. Vertices are numbered in the order in which a depth-first search from the virtual root, which is
/// number 0, meets them.
#[derive(Clone, Debug)]
pub(super) struct Dominators {
    number: Vec<u32>,
    vertex: Vec<BlockId>,
    /// The immediate dominator of each number.
    immediate: Vec<u32>,
    /// When a walk over the tree of dominators enters and leaves each number.
    enters: Vec<u32>,
    leaves: Vec<u32>,
}

const UNSEEN: u32 = u32::MAX;
const ROOT: u32 = 0;

impl Dominators {
    pub(super) fn of(out: &Adjacency, into: &Adjacency, roots: &[BlockId]) -> Self {
        let (number, vertex, parent) = search(out, roots);
        let mut is_root = vec![false; vertex.len()];
        for root in roots {
            is_root[number[root.index()] as usize] = true;
        }
        let mut semi: Vec<u32> = (0..vertex.len() as u32).collect();
        let mut forest = Forest::new(&parent);
        for at in (1..vertex.len()).rev() {
            let mut least = if is_root[at] { ROOT } else { parent[at] };
            for before in into.of(vertex[at]) {
                let before = number[before.index()];
                least = least.min(semi[forest.least(before, at as u32, &semi) as usize]);
            }
            semi[at] = least;
        }
        let mut immediate = parent;
        for at in 1..vertex.len() {
            let mut up = immediate[at];
            while up > semi[at] {
                up = immediate[up as usize];
            }
            immediate[at] = up;
        }
        let (enters, leaves) = walk(&immediate);
        Self { number, vertex, immediate, enters, leaves }
    }

    pub(super) fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (Some(a), Some(b)) = (self.number.get(a.index()), self.number.get(b.index())) else {
            return false;
        };
        let (a, b) = (*a as usize, *b as usize);
        self.enters[a] <= self.enters[b] && self.leaves[b] <= self.leaves[a]
    }

    pub(super) fn immediate(&self, vertex: BlockId) -> Option<BlockId> {
        let number = *self.number.get(vertex.index())?;
        let above = self.immediate[number as usize];
        (above != ROOT).then(|| self.vertex[above as usize])
    }
}

/// Numbers of vertices, vertices of numbers, and the parent of each number in the tree of the search.
fn search(out: &Adjacency, roots: &[BlockId]) -> (Vec<u32>, Vec<BlockId>, Vec<u32>) {
    let mut number = vec![UNSEEN; out.vertices()];
    // The virtual root is no vertex; what stands in its place is never asked for.
    let mut vertex = vec![BlockId(u32::MAX)];
    let mut parent = vec![ROOT];
    for root in roots {
        let mut open = vec![(*root, ROOT)];
        while let Some((next, from)) = open.pop() {
            if number[next.index()] != UNSEEN {
                continue;
            }
            let at = vertex.len() as u32;
            number[next.index()] = at;
            vertex.push(next);
            parent.push(from);
            open.extend(out.of(next).iter().rev().map(|after| (*after, at)));
        }
    }
    (number, vertex, parent)
}

/// The part of the search's tree whose semidominators are known, with compressed paths.
struct Forest {
    above: Vec<u32>,
    label: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    fn new(parent: &[u32]) -> Self {
        Self { above: parent.to_vec(), label: (0..parent.len() as u32).collect(), path: Vec::new() }
    }

    /// The number with the least semidominator on the way from `number` up to the last one that is known: those from
    /// `unknown` down are not.
    fn least(&mut self, number: u32, unknown: u32, semi: &[u32]) -> u32 {
        let mut at = number;
        while self.above[at as usize] > unknown {
            self.path.push(at);
            at = self.above[at as usize];
        }
        while let Some(below) = self.path.pop() {
            let (top, below) = (self.label[at as usize], below as usize);
            if semi[top as usize] < semi[self.label[below] as usize] {
                self.label[below] = top;
            }
            self.above[below] = self.above[at as usize];
            at = below as u32;
        }
        self.label[number as usize]
    }
}

fn walk(immediate: &[u32]) -> (Vec<u32>, Vec<u32>) {
    // A dominator has a lower number than what it dominates, so sizes of subtrees add up from the end; each subtree takes
    // the places behind those of its elder siblings.
    let mut size = vec![1u32; immediate.len()];
    for at in (1..immediate.len()).rev() {
        size[immediate[at] as usize] += size[at];
    }
    let mut enters = vec![0; immediate.len()];
    let mut free = vec![1; immediate.len()];
    for at in 1..immediate.len() {
        let above = immediate[at] as usize;
        enters[at] = free[above];
        free[above] += size[at];
        free[at] = enters[at] + 1;
    }
    let leaves = enters.iter().zip(&size).map(|(enters, size)| enters + size).collect();
    (enters, leaves)
}
