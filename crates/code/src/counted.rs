//! Blocks of programs that count by themselves.

use iced_x86::{FlowControl, Instruction};

use crate::code::Code;

/// What is not followed further: longer blocks count as cut off.
const MOST_INSTRUCTIONS: usize = 4096;
/// Instructions behind a branch that still count as its block's end: copies for the block that follows.
const BEHIND_BRANCH: usize = 4;

/// Where a block ends that begins at `start`, behind the call by which the compiler makes it count; `None` where there is no
/// such call, or no code.
///
/// The block goes up to the next such call, or up to a jump or return. It is the compiler's block: calls in it do not end
/// it. If a branch decides at its end where to go, it ends behind that, without what may stand there before the next call.
pub fn counted_block(code: &Code<'_>, start: u64) -> Option<u64> {
    let counter = [5, 6].into_iter().find_map(|length| {
        let call = code.instruction(start.checked_sub(length)?)?;
        (call.next_ip() == start).then(|| callee(&call)).flatten()
    })?;
    let mut at = start;
    // The end of the last branch, and how many instructions follow it.
    let mut branch: Option<(u64, usize)> = None;
    for _ in 0..MOST_INSTRUCTIONS {
        let Some(instruction) = code.instruction(at) else { break };
        if callee(&instruction) == Some(counter) {
            break;
        }
        at = instruction.next_ip();
        match instruction.flow_control() {
            FlowControl::UnconditionalBranch
            | FlowControl::IndirectBranch
            | FlowControl::Return
            | FlowControl::Exception => return Some(at),
            FlowControl::ConditionalBranch => branch = Some((at, 0)),
            FlowControl::Next => branch = branch.map(|(end, behind)| (end, behind + 1)),
            _ => branch = None,
        }
    }
    Some(branch.filter(|(_, behind)| *behind <= BEHIND_BRANCH).map_or(at, |(end, _)| end))
}

/// What a call calls: an address, or what a pointer at an address points to.
fn callee(call: &Instruction) -> Option<(bool, u64)> {
    if call.is_call_near() {
        return Some((false, call.near_branch_target()));
    }
    (call.is_call_near_indirect() && call.is_ip_rel_memory_operand())
        .then(|| (true, call.ip_rel_memory_address()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000: call 2000; then `bytes` from 1005 on.
    fn end(bytes: &[u8]) -> Option<u64> {
        let all = [&[0xe8, 0xfb, 0x0f, 0, 0], bytes].concat();
        counted_block(&Code { start: 0x1000, bytes: &all }, 0x1005)
    }

    #[test]
    fn blocks_end_at_the_next_counter_or_jump() {
        // nop; call 2000
        assert_eq!(end(&[0x90, 0xe8, 0xf5, 0x0f, 0, 0, 0x90]), Some(0x1006));
        // call 3000; nop; ret; nop
        assert_eq!(end(&[0xe8, 0xf6, 0x1f, 0, 0, 0x90, 0xc3, 0x90]), Some(0x100c));
        // jmp
        assert_eq!(end(&[0xeb, 0x10, 0x90]), Some(0x1007));
        // The code ends.
        assert_eq!(end(&[0x90, 0x90]), Some(0x1007));
        assert_eq!(end(&[]), Some(0x1005));
    }

    #[test]
    fn a_branch_ends_its_block() {
        // test eax, eax; je; mov ebx, eax; call 2000
        assert_eq!(end(&[0x85, 0xc0, 0x74, 0x10, 0x89, 0xc3, 0xe8, 0xf0, 0x0f, 0, 0]), Some(0x1009));
        // A branch, and then much that both ways share: the branch is no end.
        let mut long = vec![0x74, 0x01];
        long.extend([0x90; 6]);
        long.push(0xc3);
        assert_eq!(end(&long), Some(0x1005 + long.len() as u64));
    }

    #[test]
    fn calls_through_a_pointer_count_too() {
        // 1000: call [2000]; nop; call [2000]
        let bytes = [0xff, 0x15, 0xfa, 0x0f, 0, 0, 0x90, 0xff, 0x15, 0xf3, 0x0f, 0, 0];
        assert_eq!(counted_block(&Code { start: 0x1000, bytes: &bytes }, 0x1006), Some(0x1007));
    }

    #[test]
    fn what_no_counter_precedes_is_no_block() {
        let code = Code { start: 0x1000, bytes: &[0x90; 16] };
        assert_eq!(counted_block(&code, 0x1008), None);
        assert_eq!(counted_block(&code, 0x9000), None);
        assert_eq!(counted_block(&code, 3), None);
    }
}
