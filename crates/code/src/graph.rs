//! Control flow around an instruction, and the loops that it is in.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, MemorySize, Mnemonic, OpAccess, Register};

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
    /// True for what is between the header of a loop that is entered behind it and the last way back.
    pub(crate) is_entered_behind: bool,
    pub(crate) instructions: BTreeMap<u64, Instruction>,
}

/// Instructions by their addresses.
pub(crate) type Graph = BTreeMap<u64, Instruction>;

impl Body {
    /// The loops around the instruction at `ip`, the one with the fewest instructions first: normally the innermost.
    ///
    /// Loops with the same header are one loop, with several ways to go on; each of these counts by itself, too: where the source
    /// has a loop that waits at the beginning of one that works, compilers often let both begin with the same instruction.
    ///
    /// A loop that is entered behind its header (`jmp` over the first PAUSE) is no natural loop; together with what enters it, it may
    /// be one. What of that is between the header and the last way back counts by itself, too: as a loop where it has a PAUSE, else
    /// as one of several ways.
    pub(crate) fn around(code: &Code<'_>, ip: u64) -> Vec<Self> {
        let window = ip.saturating_sub(WINDOW_BYTES)..=ip.saturating_add(WINDOW_BYTES);
        let graph = reachable_by(code, ip, window, usize::MAX, &mut |_| true);
        let mut loops = graph.map(|graph| Self::in_graph(&graph)).unwrap_or_default();
        loops.retain(|body| body.instructions.contains_key(&ip));
        loops
    }

    /// The loops of the instructions that are in this graph, ordered so.
    pub(crate) fn in_graph(graph: &Graph) -> Vec<Self> {
        let mut sources: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (address, instruction) in graph {
            for next in successors(instruction).filter(|next| next <= address && graph.contains_key(next)) {
                sources.entry(next).or_default().insert(*address);
            }
        }
        let predecessors = predecessors(graph);
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
            .flat_map(|(header, is_part, sources)| {
                let all = header..=sources.last().copied().unwrap_or(header);
                let within =
                    members(header, sources.clone(), &predecessors, |address| all.contains(&address));
                let whole = members(header, sources, &predecessors, |_| true);
                let is_entered_behind = !is_part && within != whole && closes(&within, header, graph);
                let pauses = within.iter().any(|address| graph[address].mnemonic() == Mnemonic::Pause);
                let within = is_entered_behind.then_some((header, !pauses, true, within));
                [(header, is_part, false, whole)].into_iter().chain(within)
            })
            .map(|(header, is_part, is_entered_behind, members)| Self {
                header,
                is_part,
                is_entered_behind,
                instructions: members.iter().map(|address| (*address, graph[address])).collect(),
            })
            .filter(|body| !body.has_unknown_ways(graph))
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

    /// Whether the loop can be left with this instruction.
    pub(crate) fn leaves(&self, instruction: &Instruction) -> bool {
        successors(instruction).any(|next| !self.instructions.contains_key(&next))
    }

    /// Without the instructions to which control cannot come from the header. Where a loop is entered behind that, what enters it may
    /// stand among them.
    pub(crate) fn cyclic(mut self) -> Self {
        let mut reached = BTreeSet::new();
        let mut open = vec![self.header];
        while let Some(address) = open.pop() {
            if let Some(instruction) = self.instructions.get(&address)
                && reached.insert(address)
            {
                open.extend(self.next_in_iteration(instruction));
            }
        }
        self.instructions.retain(|address, _| reached.contains(address));
        self
    }

    /// Whether it says by a PAUSE that it waits.
    pub(crate) fn pauses(&self) -> bool {
        self.instructions.values().any(|instruction| instruction.mnemonic() == Mnemonic::Pause)
    }

    pub(crate) fn extent(&self) -> Loop {
        let start = self.instructions.keys().next().copied().unwrap_or(self.header);
        let end = self.instructions.values().map(Instruction::next_ip).max().unwrap_or(start);
        Loop { start, end }
    }
}

/// What control can reach from an address without leaving the window, by instructions that are to be in it; nothing if these are more
/// than so many.
pub(crate) fn reachable_by(
    code: &Code<'_>,
    ip: u64,
    window: RangeInclusive<u64>,
    most: usize,
    is_in: &mut dyn FnMut(&Instruction) -> bool,
) -> Option<Graph> {
    let mut graph = Graph::new();
    let mut left_out = BTreeSet::new();
    let mut open = vec![ip];
    while let Some(address) = open.pop() {
        if graph.contains_key(&address) || left_out.contains(&address) || !window.contains(&address) {
            continue;
        }
        let Some(instruction) = code.instruction(address) else { continue };
        if !is_in(&instruction) {
            left_out.insert(address);
            continue;
        }
        graph.insert(address, instruction);
        open.extend(successors(&instruction));
        if graph.len() > most {
            return None;
        }
    }
    Some(graph)
}

/// Where control can go on. A call comes back; an indirect jump leaves.
pub(crate) fn successors(instruction: &Instruction) -> impl Iterator<Item = u64> + use<> {
    let next = instruction.next_ip();
    let (next, target) = match instruction.flow_control() {
        FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => (Some(next), None),
        FlowControl::ConditionalBranch => (Some(next), Some(instruction.near_branch_target())),
        FlowControl::UnconditionalBranch => (None, Some(instruction.near_branch_target())),
        _ => (None, None),
    };
    next.into_iter().chain(target)
}

pub(crate) fn predecessors(graph: &Graph) -> BTreeMap<u64, Vec<u64>> {
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
///
/// Only of what `may_be` one.
fn members(
    header: u64,
    sources: BTreeSet<u64>,
    predecessors: &BTreeMap<u64, Vec<u64>>,
    may_be: impl Fn(u64) -> bool,
) -> BTreeSet<u64> {
    let mut members = BTreeSet::from([header]);
    let mut open: Vec<u64> = sources.into_iter().collect();
    while let Some(address) = open.pop() {
        if may_be(address) && members.insert(address) {
            open.extend(predecessors.get(&address).into_iter().flatten());
        }
    }
    members
}

/// Whether control can go on from the header within these instructions.
fn closes(members: &BTreeSet<u64>, header: u64, graph: &Graph) -> bool {
    members.len() == 1 || successors(&graph[&header]).any(|next| next != header && members.contains(&next))
}

/// Whether a load is the copy, before a loop that waits, of the load by which the loop looks (`look`): compilers put the first look
/// before the loop. It reads the same place, or what is done with it until the next branch is the same; behind that branch
/// control may be in the loop; and nothing is written before.
///
/// Both must be addresses of instructions of this code.
pub fn looks_before(code: &Code<'_>, load: u64, look: u64, of: Loop) -> bool {
    let inside = of.start..of.end;
    let (Some(first), Some(again)) = (until_branch(code, load), until_branch(code, look)) else {
        return false;
    };
    let mnemonics = |of: &[Instruction]| -> Vec<Mnemonic> {
        of[..of.len() - 1].iter().map(Instruction::mnemonic).filter(|one| *one != Mnemonic::Nop).collect()
    };
    let is_same = place(&first[0]) == place(&again[0])
        || first[0].memory_size() == again[0].memory_size() && mnemonics(&first) == mnemonics(&again);
    let mut facts = InstructionInfoFactory::new();
    let mut writes = |one: &Instruction| {
        facts.info(one).used_memory().iter().any(|used| !matches!(used.access(), OpAccess::Read))
    };
    // Between the branch and the loop there may be what aligns it.
    let enters = |next: u64| {
        let mut next = next;
        for _ in 0..MOST_PADDING {
            match code.instruction(next) {
                Some(one) if one.mnemonic() == Mnemonic::Nop => next = one.next_ip(),
                Some(one) if one.flow_control() == FlowControl::UnconditionalBranch => {
                    next = one.near_branch_target();
                }
                _ => break,
            }
        }
        inside.contains(&next)
    };
    let branch = first[first.len() - 1];
    is_same && !inside.contains(&load) && !first.iter().any(&mut writes) && successors(&branch).any(enters)
}

/// The instructions from one to the next conditional branch, if there is one soon.
fn until_branch(code: &Code<'_>, from: u64) -> Option<Vec<Instruction>> {
    let mut found = vec![code.instruction(from)?];
    while found.len() <= MOST_TO_BRANCH {
        let last = found[found.len() - 1];
        let next = match last.flow_control() {
            FlowControl::ConditionalBranch => return Some(found),
            FlowControl::Next => last.next_ip(),
            FlowControl::UnconditionalBranch => last.near_branch_target(),
            _ => return None,
        };
        found.push(code.instruction(next)?);
    }
    None
}

/// Instructions from a look to the branch that it decides.
const MOST_TO_BRANCH: usize = 20;
/// Instructions without effect before a loop.
const MOST_PADDING: usize = 4;

/// Loads like the one at `ip` to which control may soon come from it, this one itself among them if it may come back to it: where
/// loops that wait may look. Cheaper than to find loops.
pub fn loads_again(code: &Code<'_>, ip: u64) -> Vec<u64> {
    let mut found = Vec::new();
    let Some(first) = code.instruction(ip) else { return found };
    let like = |one: &Instruction| (one.mnemonic(), one.memory_size());
    let mut seen = BTreeSet::new();
    let mut open: VecDeque<u64> = successors(&first).collect();
    while let Some(address) = open.pop_front() {
        if seen.len() < MOST_AHEAD
            && seen.insert(address)
            && let Some(instruction) = code.instruction(address)
        {
            if like(&instruction) == like(&first) {
                found.push(address);
            }
            open.extend(successors(&instruction));
        }
    }
    found
}

/// Where in memory an instruction reads or writes, as it says.
fn place(of: &Instruction) -> (Register, Register, u32, u64, MemorySize) {
    let (base, index, scale) = (of.memory_base(), of.memory_index(), of.memory_index_scale());
    (base, index, scale, of.memory_displacement64(), of.memory_size())
}

/// Instructions that are looked at behind a load.
const MOST_AHEAD: usize = 48;
