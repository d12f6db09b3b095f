//! Control flow around an instruction, and the loops that it is in.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{FlowControl, Instruction};

use crate::code::Code;

/// How far from the instruction a loop may reach, in bytes, to each side. Loops that wait are short; one that is longer is
/// not looked at.
pub const WINDOW_BYTES: u64 = 256;

/// Where a loop stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loop {
    /// Address of its first instruction.
    pub start: u64,
    /// Address after its last instruction.
    pub end: u64,
}

/// The instructions of a loop, by address.
pub(crate) struct Body {
    /// Where each iteration begins.
    pub(crate) header: u64,
    /// True for one of several ways to go on with a loop.
    pub(crate) is_part: bool,
    pub(crate) instructions: BTreeMap<u64, Instruction>,
}

type Graph = BTreeMap<u64, Instruction>;

impl Body {
    /// The loops around the instruction at `ip`, the one with the fewest instructions first: normally the innermost.
    ///
    /// Loops with the same header are one loop, with several ways to go on; each of these counts by itself, too: where the source
    /// has a loop that waits at the beginning of one that works, compilers often let both begin with the same instruction.
    pub(crate) fn around(code: &Code<'_>, ip: u64) -> Vec<Self> {
        let graph = reachable(code, ip);
        let mut sources: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (address, instruction) in &graph {
            for next in successors(instruction).filter(|next| next <= address && graph.contains_key(next)) {
                sources.entry(next).or_default().insert(*address);
            }
        }
        let predecessors = predecessors(&graph);
        let ways = |sources: &BTreeSet<u64>| -> Vec<BTreeSet<u64>> {
            if sources.len() < 2 {
                return Vec::new();
            }
            sources.iter().map(|&source| BTreeSet::from([source])).collect()
        };
        let mut loops: Vec<_> = sources
            .into_iter()
            .flat_map(|(header, sources)| {
                let ways = ways(&sources).into_iter().map(move |way| (header, true, way));
                ways.chain([(header, false, sources)])
            })
            .map(|(header, is_part, sources)| (header, is_part, members(header, sources, &predecessors)))
            .filter(|(.., members)| members.contains(&ip))
            .map(|(header, is_part, members)| Self {
                header,
                is_part,
                instructions: members.iter().map(|address| (*address, graph[address])).collect(),
            })
            .filter(|body| !body.has_unknown_ways(&graph))
            .collect();
        loops.sort_by_key(|body| body.instructions.len());
        loops
    }

    /// Whether an indirect jump stands among the instructions of the loop: a switch, whose cases may go on with the loop
    /// after all sorts of work.
    fn has_unknown_ways(&self, graph: &Graph) -> bool {
        let Loop { start, end } = self.extent();
        graph.range(start..end).any(|(_, other)| other.flow_control() == FlowControl::IndirectBranch)
    }

    /// Where in the loop control can go from an instruction; going back to the header is no part of the answer.
    pub(crate) fn next_in_iteration(&self, instruction: &Instruction) -> impl Iterator<Item = u64> {
        successors(instruction).filter(|next| *next != self.header && self.instructions.contains_key(next))
    }

    /// Whether an iteration can end with this instruction.
    pub(crate) fn goes_back(&self, instruction: &Instruction) -> bool {
        successors(instruction).any(|next| next == self.header)
    }

    pub(crate) fn extent(&self) -> Loop {
        let start = self.instructions.keys().next().copied().unwrap_or(self.header);
        let end = self.instructions.values().map(Instruction::next_ip).max().unwrap_or(start);
        Loop { start, end }
    }
}

/// What control can reach from an address without leaving the window.
fn reachable(code: &Code<'_>, ip: u64) -> Graph {
    let window = ip.saturating_sub(WINDOW_BYTES)..=ip.saturating_add(WINDOW_BYTES);
    let mut graph = Graph::new();
    let mut open = vec![ip];
    while let Some(address) = open.pop() {
        if graph.contains_key(&address) || !window.contains(&address) {
            continue;
        }
        if let Some(instruction) = code.instruction(address) {
            graph.insert(address, instruction);
            open.extend(successors(&instruction));
        }
    }
    graph
}

/// Where control can go on. A call comes back; an indirect jump leaves.
fn successors(instruction: &Instruction) -> impl Iterator<Item = u64> + use<> {
    let next = instruction.next_ip();
    let (next, target) = match instruction.flow_control() {
        FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => (Some(next), None),
        FlowControl::ConditionalBranch => (Some(next), Some(instruction.near_branch_target())),
        FlowControl::UnconditionalBranch => (None, Some(instruction.near_branch_target())),
        _ => (None, None),
    };
    next.into_iter().chain(target)
}

fn predecessors(graph: &Graph) -> BTreeMap<u64, Vec<u64>> {
    let mut found: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (address, instruction) in graph {
        for next in successors(instruction) {
            found.entry(next).or_default().push(*address);
        }
    }
    found
}

/// The header, and what reaches one of the sources of its back edges without passing it (the natural loop; Aho, Lam, Sethi
/// and Ullman, *Compilers*, section 9.6.6).
fn members(header: u64, sources: BTreeSet<u64>, predecessors: &BTreeMap<u64, Vec<u64>>) -> BTreeSet<u64> {
    let mut members = BTreeSet::from([header]);
    let mut open: Vec<u64> = sources.into_iter().collect();
    while let Some(address) = open.pop() {
        if members.insert(address) {
            open.extend(predecessors.get(&address).into_iter().flatten());
        }
    }
    members
}
