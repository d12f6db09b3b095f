//! What of a function says whether it may wait, found in one pass over its instructions: many functions are looked at, few do.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, Register,
};

use crate::effect::{reads, writes};
use crate::graph::Loop;

/// Longer loops do not wait ([`waiting_loop`](crate::waiting_loop)), with what lies between their instructions.
const MOST_INSTRUCTIONS: usize = 40;

/// A loop that is short, reads memory or has a PAUSE, and stores nothing but into the own stack and by atomic operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietLoop {
    /// The address of the jump that goes back.
    pub jump: u64,
    /// It calls something.
    pub calls: bool,
}

/// What of a function says whether it may wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The loops that may: whether one does, [`waiting_loop`](crate::waiting_loop) says.
    pub loops: Vec<QuietLoop>,
    /// Its calls and jumps that leave it, as far as their targets stand in it, and where these go.
    pub leads_to: Vec<(Loop, u64)>,
}

/// Looks at a function.
pub fn may_wait(bytes: &[u8], address: u64) -> Waits {
    let all: Vec<Instruction> =
        Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter().collect();
    let mut facts = InstructionInfoFactory::new();
    let code = address..address + bytes.len() as u64;
    let mut found = Waits::default();
    for (at, jump) in all.iter().enumerate() {
        let flow = jump.flow_control();
        let is_jump = matches!(flow, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch);
        let target = jump.near_branch_target();
        if target != 0 && !code.contains(&target) {
            found.leads_to.push((Loop { start: jump.ip(), end: jump.next_ip() }, target));
        }
        if !is_jump || target > jump.ip() || target < address {
            continue;
        }
        let first = all[..=at].partition_point(|instruction| instruction.ip() < target);
        let inside = &all[first..=at];
        if inside.len() > MOST_INSTRUCTIONS {
            continue;
        }
        let (mut looks, mut stores) = (false, false);
        for instruction in inside {
            looks |= matches!(instruction.mnemonic(), Mnemonic::Pause | Mnemonic::Rdtsc | Mnemonic::Rdtscp);
            let is_atomic = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
            for used in facts.info(instruction).used_memory() {
                let is_own = matches!(used.base(), Register::RSP | Register::RBP);
                looks |= reads(used.access());
                stores |= writes(used.access()) && !is_own && !is_atomic;
            }
        }
        let is_call = |instruction: &Instruction| {
            matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
        };
        let calls = inside.iter().any(is_call);
        if (looks || calls) && !stores {
            found.loops.push(QuietLoop { jump: jump.ip(), calls });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jumps(bytes: &[u8]) -> Vec<u64> {
        may_wait(bytes, 0x1000).loops.into_iter().map(|found| found.jump).collect()
    }

    #[test]
    fn loops_that_look_and_store_nothing_are_found() {
        // mov eax, [rip + x]; test eax, eax; je
        assert_eq!(jumps(&[0x8b, 0x05, 0, 1, 0, 0, 0x85, 0xc0, 0x74, 0xf6, 0xc3]), [0x1008]);
        // pause; jmp
        assert_eq!(jumps(&[0xf3, 0x90, 0xeb, 0xfc]), [0x1002]);
        // inc [rip + x]; jne
        assert_eq!(jumps(&[0xff, 0x05, 0, 1, 0, 0, 0x75, 0xf8]), [0; 0]);
        // lock xadd [rip + x], edx; jne
        assert_eq!(jumps(&[0xf0, 0x0f, 0xc1, 0x15, 0, 1, 0, 0, 0x75, 0xf6]), [0x1008]);
        // dec eax; jne: it looks at nothing
        assert_eq!(jumps(&[0xff, 0xc8, 0x75, 0xfc]), [0; 0]);
        // A jump forward is no loop.
        assert_eq!(jumps(&[0x8b, 0x05, 0, 1, 0, 0, 0x74, 0x00, 0xc3]), [0; 0]);
        // call; jmp
        let calls = may_wait(&[0xe8, 0, 1, 0, 0, 0xeb, 0xf9], 0x1000);
        assert_eq!(calls.loops, [QuietLoop { jump: 0x1005, calls: true }]);
        assert_eq!(calls.leads_to, [(Loop { start: 0x1000, end: 0x1005 }, 0x1105)]);
    }
}
