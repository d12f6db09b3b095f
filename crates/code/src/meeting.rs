//! Pieces of functions in which threads may meet: barriers of the program's own that are inlined where they are used, or are a macro.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::counts::BlockId;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, Register,
};

use crate::effect::writes;
use crate::flow_graph::FlowGraph;
use crate::graph::{Loop, successors};

/// So many instructions before a loop that waits are looked at.
const MOST_BEFORE: usize = 128;
/// Threads may say so often that they have come, before they wait: the last of these are tried.
const MOST_TRIED: usize = 3;

/// A piece of a function, in which a thread waits for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeetingPlace {
    /// The address of an instruction behind the piece.
    pub behind: u64,
    /// The addresses of the instructions with which a thread comes.
    pub comes: Vec<u64>,
    /// Those of the instructions behind the piece to which it is left.
    pub leaves: Vec<u64>,
}

/// Pieces of the function with these bytes at `address` in which threads may meet, around each of these loops, which wait.
///
/// Who comes to a barrier says so before it waits: by an atomic operation or a store that others see, or in a function (a lock's). These
/// are searched from the loop back, on each way to it the last of them, then the last before these, and so on. The barrier is left where
/// nobody comes to the loop any more without having come anew; or, where a thread that waited long goes on to wait in another way, where
/// all ways from there come together (the nearest common post-dominator). Which of all these it is, if any, only a run can say. The
/// call of a function that waits counts as a loop of one instruction.
pub fn meeting_places(bytes: &[u8], address: u64, loops: &[Loop]) -> Vec<MeetingPlace> {
    if loops.is_empty() {
        return Vec::new();
    }
    let ways = Ways::of(bytes, address);
    let mut found: Vec<MeetingPlace> = Vec::new();
    for place in loops.iter().flat_map(|waits| ways.around(*waits)) {
        if !found.contains(&place) {
            found.push(place);
        }
    }
    found
}

/// The instructions of a function, and where control goes between them.
struct Ways {
    all: Vec<Instruction>,
    /// Whether others may see by an instruction that the thread has come.
    others_see: Vec<bool>,
    before: FlowGraph,
    after: FlowGraph,
}

impl Ways {
    fn of(bytes: &[u8], address: u64) -> Self {
        let all: Vec<Instruction> =
            Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter().collect();
        let number: BTreeMap<u64, BlockId> =
            (0..).zip(&all).map(|(number, instruction)| (instruction.ip(), BlockId(number))).collect();
        let mut ways: Vec<(BlockId, BlockId)> = Vec::new();
        let mut reached: BTreeSet<u64> = all.iter().map(Instruction::near_branch_target).collect();
        reached.insert(address);
        for (from, instruction) in (0..).zip(&all) {
            // What fills the space before a loop's beginning is not executed.
            if instruction.mnemonic() == Mnemonic::Nop && !reached.contains(&instruction.ip()) {
                continue;
            }
            reached.extend(successors(instruction));
            let to = successors(instruction).filter_map(|next| number.get(&next).copied());
            ways.extend(to.map(|to| (BlockId(from), to)));
        }
        let back: Vec<(BlockId, BlockId)> = ways.iter().map(|(from, to)| (*to, *from)).collect();
        let (before, after) = (FlowGraph::new(all.len(), &ways), FlowGraph::new(all.len(), &back));
        let mut facts = InstructionInfoFactory::new();
        let others_see = all.iter().map(|instruction| others_see(instruction, &mut facts)).collect();
        Self { all, others_see, before, after }
    }

    fn ip(&self, number: BlockId) -> u64 {
        self.all[number.index()].ip()
    }

    fn around(&self, waits: Loop) -> Vec<MeetingPlace> {
        let inside = |number: &BlockId| (waits.start..waits.end).contains(&self.ip(*number));
        let numbers = (0..self.all.len() as u32).map(BlockId);
        let mut piece: BTreeSet<BlockId> = numbers.filter(inside).collect();
        let Some(&first) = piece.first() else { return Vec::new() };
        let to = |from: &BlockId| self.before.successors(*from).iter().copied();
        let out = |from: &BTreeSet<BlockId>| -> BTreeSet<BlockId> {
            from.iter().flat_map(to).filter(|next| !from.contains(next)).collect()
        };
        let behind_loop = out(&piece);
        let mut open: Vec<BlockId> = piece.iter().copied().collect();
        let mut found = Vec::new();
        for _ in 0..MOST_TRIED {
            let Some(comes) = self.go_back(open, &mut piece) else { break };
            // What is behind the loop leads to it again only in another round.
            if comes.is_empty() || !piece.is_disjoint(&behind_loop) {
                break;
            }
            let is_behind = |next: &BlockId| {
                let comes_after = |one: &BlockId| self.after.dominates(*next, *one);
                !piece.contains(next) && comes_after(&first) && comes.iter().all(comes_after)
            };
            let immediate = |next: &BlockId| self.after.immediate_dominator(*next);
            if let Some(behind) = std::iter::successors(immediate(&first), immediate).find(is_behind) {
                found.push(self.place(behind, &comes, BTreeSet::from([behind])));
            }
            if let Some(behind) = behind_loop.first() {
                found.push(self.place(*behind, &comes, out(&piece)));
            }
            open = comes.into_iter().collect();
        }
        found
    }

    /// Goes back from these instructions, to those on each way that others see: the ones found. Adds what is on the way, and these, to the
    /// piece. `None` where the function begins without one, or that is too far.
    fn go_back(&self, mut open: Vec<BlockId>, piece: &mut BTreeSet<BlockId>) -> Option<BTreeSet<BlockId>> {
        let mut found = BTreeSet::new();
        let most = piece.len() + MOST_BEFORE;
        while let Some(next) = open.pop() {
            let before = self.before.predecessors(next);
            if before.is_empty() || piece.len() > most {
                return None;
            }
            for &one in before {
                if !piece.insert(one) {
                    continue;
                }
                if self.others_see[one.index()] {
                    found.insert(one);
                } else {
                    open.push(one);
                }
            }
        }
        Some(found)
    }

    fn place(&self, behind: BlockId, comes: &BTreeSet<BlockId>, leaves: BTreeSet<BlockId>) -> MeetingPlace {
        MeetingPlace {
            behind: self.ip(behind),
            comes: comes.iter().map(|one| self.ip(*one)).collect(),
            leaves: leaves.iter().map(|one| self.ip(*one)).collect(),
        }
    }
}

fn others_see(instruction: &Instruction, facts: &mut InstructionInfoFactory) -> bool {
    let is_own = |base| matches!(base, Register::RSP | Register::RBP);
    let is_call = matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
    let used = facts.info(instruction).used_memory();
    is_call || used.iter().any(|used| writes(used.access()) && !is_own(used.base()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comes, looks whether it is the last, opens the barrier or waits until it is open; then does something.
    const BARRIER: [u8; 40] = [
        0x8b, 0x07, // 00 mov eax, [rdi]
        0xb8, 1, 0, 0, 0, // 02 mov eax, 1
        0xf0, 0x0f, 0xc1, 0x06, // 07 lock xadd [rsi], eax
        0x39, 0xc8, // 0b cmp eax, ecx
        0x75, 0x0a, // 0d jne 19
        0xc7, 0x07, 0, 0, 0, 0, // 0f mov [rdi], 0
        0xeb, 0x08, // 15 jmp 1f
        0x66, 0x90, // 17 nop, which fills space
        0xf3, 0x90, // 19 pause
        0x39, 0x17, // 1b cmp [rdi], edx
        0x75, 0xfa, // 1d jne 19
        0x01, 0x02, // 1f add [rdx], eax
        0x83, 0xeb, 0x01, // 21 sub ebx, 1
        0x75, 0xda, // 24 jne 00
        0xc3, 0x90, // 26 ret
    ];

    fn place(behind: u64, comes: &[u64], leaves: &[u64]) -> MeetingPlace {
        MeetingPlace { behind, comes: comes.to_vec(), leaves: leaves.to_vec() }
    }

    #[test]
    fn the_piece_is_from_the_atomic_operation_to_where_nobody_waits_any_more() {
        let waits = Loop { start: 0x1019, end: 0x101f };
        let found = meeting_places(&BARRIER, 0x1000, &[waits]);
        // Who is last leaves where it is known that it is.
        let narrow = place(0x101f, &[0x1007], &[0x100f, 0x101f]);
        let wide = place(0x101f, &[0x1007], &[0x101f]);
        assert_eq!(found, [wide, narrow]);
        assert_eq!(meeting_places(&BARRIER, 0x1000, &[]), []);
    }

    #[test]
    fn threads_may_come_on_several_ways() {
        let code = [
            0x85, 0xc0, // 00 test eax, eax
            0x75, 0x05, // 02 jne 09
            0xf0, 0xff, 0x0e, // 04 lock dec [rsi]
            0xeb, 0x03, // 07 jmp 0c
            0xf0, 0xff, 0x0e, // 09 lock dec [rsi]
            0x39, 0x17, // 0c cmp [rdi], edx
            0x75, 0xfc, // 0e jne 0c
            0xc3, // 10 ret
        ];
        let found = meeting_places(&code, 0x1000, &[Loop { start: 0x100c, end: 0x1010 }]);
        let comes = vec![0x1004, 0x1009];
        let both = MeetingPlace { behind: 0x1010, comes, leaves: vec![0x1010] };
        assert_eq!(found, [both]);
    }

    #[test]
    fn a_loop_before_which_nobody_says_anything_is_none() {
        // mov [rdi], eax; cmp [rsi], edx; jne back to the cmp; ret
        let code = [0x89, 0x07, 0x39, 0x16, 0x75, 0xfc, 0xc3];
        let found = meeting_places(&code, 0x1000, &[Loop { start: 0x1002, end: 0x1006 }]);
        assert_eq!(found.iter().map(|place| &place.comes[..]).collect::<Vec<_>>(), [&[0x1000]]);
        // The own stack is not seen by others.
        let own = [0x89, 0x04, 0x24, 0x39, 0x16, 0x75, 0xfc, 0xc3];
        assert_eq!(meeting_places(&own, 0x1000, &[Loop { start: 0x1003, end: 0x1007 }]), []);
    }
}
