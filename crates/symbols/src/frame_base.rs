//! The frame pointer of a frame, found on the stack.
//!
//! The kernel tells instruction and stack pointer of a blocked thread for next to nothing, and no other register. That is
//! enough for optimised code, whose frames are found from the stack pointer; code that keeps a frame pointer needs it,
//! unless a function that it called saved it. Then the pair that such code leaves on the stack, the caller's frame
//! pointer and the return address above it, is searched upwards from the frame's stack pointer.
//!
//! Words that look like a pair are common: what former calls left behind is real pairs. So a candidate counts only if
//!
//! - with it, call frame information leads out of the frame to an address with a call before it,
//! - this call, if it is a direct one, leads to the frame's function, or to one that jumps there in its stead, and
//! - the same holds for the frames above it, to the outermost one, to the end of the copy, or as far as is looked.
//!
//! Among those that count, one is preferred to which the function's first instructions lead (they say how large the frame
//! is), then one with a direct call. If neither is there, and several are left of which none is the caller of another,
//! there is no telling, and nothing is returned.

use crate::climb::{Caller, Climber, Origin, Stop, called_directly, find};
use crate::modules::Modules;
use crate::step::{Memory, Registers};

/// Bytes of a word on the stack, and of the alignment of frames.
const WORD: u64 = 8;

/// Frames above a candidate that must be in order.
const MAX_VERIFIED: usize = 24;

/// Candidates that are followed. What is passed over costs a look at two words each.
const MAX_CANDIDATES: usize = 48;

/// Bytes of a function's beginning that are looked at.
const PROLOGUE_BYTES: u64 = 48;

/// Bytes of a function that are searched for a jump to another one.
const MAX_FUNCTION_BYTES: u64 = 16 << 10;

/// Farther above the end of the copy than this no frame of the same stack begins, in bytes: the usual largest stack.
const MAX_STACK: u64 = 8 << 20;

/// A frame pointer that would do.
struct Candidate {
    base: u64,
    is_direct: bool,
    /// Stack pointers of the frames that it leads to.
    chain: Vec<u64>,
}

/// What the call before a return address says of the frame inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// It calls this function.
    Calls,
    /// It calls through a pointer or a table.
    Silent,
    /// It calls another function.
    Denies,
}

/// The value of `rbp` in the frame with these registers, which executes the instruction at `executed`.
pub(crate) fn frame_base(
    climber: &mut Climber,
    modules: &Modules,
    executed: u64,
    registers: &Registers,
    memory: &Memory<'_>,
) -> Option<u64> {
    let mut search = Search { climber, modules, memory };
    let sp = registers.sp()?;
    if let Some(base) = size_of_frame(modules, executed).and_then(|size| sp.checked_add(size))
        && search.candidate(executed, registers, base).is_some()
    {
        return Some(base);
    }
    let mut indirect: Vec<Candidate> = Vec::new();
    let mut followed = 0;
    let mut base = sp.checked_next_multiple_of(WORD)?;
    while followed < MAX_CANDIDATES {
        let Ok(return_address) = memory.word(base.checked_add(WORD)?) else { break };
        if modules.at(return_address).is_some() {
            followed += 1;
            if let Some(candidate) = search.candidate(executed, registers, base) {
                let is_caller_of_another =
                    indirect.iter().any(|below| below.chain.contains(&(candidate.base + 2 * WORD)));
                if candidate.is_direct && !is_caller_of_another {
                    return Some(base);
                }
                if !is_caller_of_another {
                    indirect.push(candidate);
                }
            }
        }
        base += WORD;
    }
    match indirect.as_slice() {
        [only] => Some(only.base),
        _ => None,
    }
}

struct Search<'a> {
    climber: &'a mut Climber,
    modules: &'a Modules,
    memory: &'a Memory<'a>,
}

impl Search<'_> {
    /// Whether all that follows from this value of `rbp` is in order.
    fn candidate(&mut self, executed: u64, registers: &Registers, base: u64) -> Option<Candidate> {
        let mut chain = Vec::new();
        let mut is_direct = false;
        let mut inner = executed;
        let mut registers = registers.with_bp(base);
        for depth in 0..MAX_VERIFIED {
            let caller = match self.climber.caller(self.modules, inner, &registers, self.memory) {
                Ok(caller) => caller,
                Err(Stop::Root) if depth > 0 => break,
                Err(Stop::AboveCopy) if depth > 0 && self.is_near(registers.bp()) => break,
                Err(_) => return None,
            };
            match self.evidence(inner, &caller)? {
                Evidence::Calls => is_direct |= depth == 0,
                Evidence::Silent => {}
                Evidence::Denies => return None,
            }
            chain.push(caller.registers.sp()?);
            inner = caller.executed();
            registers = caller.registers;
        }
        Some(Candidate { base, is_direct, chain })
    }

    /// Whether a frame pointer that leads out of the copy can be one.
    fn is_near(&self, base: Option<u64>) -> bool {
        base.is_some_and(|base| {
            base >= self.memory.start && base - self.memory.start < self.memory.bytes.len() as u64 + MAX_STACK
        })
    }

    /// How the caller speaks for the frame at `inner`; nothing if it cannot be a caller.
    fn evidence(&self, inner: u64, caller: &Caller) -> Option<Evidence> {
        match caller.origin {
            Origin::Call => {}
            Origin::Interruption | Origin::Entry => return Some(Evidence::Silent),
            Origin::Foreign | Origin::None => return None,
        }
        let Some(target) = called_directly(self.modules, caller.address) else {
            return Some(Evidence::Silent);
        };
        let (Some(own), Some(called)) = (find(self.modules, inner), find(self.modules, target)) else {
            return Some(Evidence::Silent);
        };
        let own_start = inner.wrapping_sub(own.stated().wrapping_sub(own.covered.start));
        if target == own_start {
            return Some(Evidence::Calls);
        }
        let called_start = target.wrapping_sub(called.stated().wrapping_sub(called.covered.start));
        // An entry of the linkage table, which is covered as a whole, is no function's beginning, or leads elsewhere by
        // an indirect jump.
        if target != called_start || self.is_linkage(target) {
            return Some(Evidence::Silent);
        }
        let size = called.covered.size().min(MAX_FUNCTION_BYTES);
        Some(if self.jumps(target, size, own_start) { Evidence::Calls } else { Evidence::Denies })
    }

    /// Whether a function begins with an indirect jump: `[endbr64] [bnd] jmp [rip + x]`.
    fn is_linkage(&self, start: u64) -> bool {
        let Some(code) = code_from(self.modules, start, 16) else { return false };
        let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
        let code = code.strip_prefix(&[0xf2]).unwrap_or(code);
        code.starts_with(&[0xff, 0x25])
    }

    /// Whether a function has a direct jump to another one: its last call, which needs no frame of its own.
    fn jumps(&self, start: u64, size: u64, to: u64) -> bool {
        let Some(code) = code_from(self.modules, start, size) else { return false };
        code.windows(5).enumerate().any(|(at, bytes)| {
            let is_jump = bytes[0] == 0xe9 || (bytes[0] & 0xf0 == 0x80 && at > 0 && code[at - 1] == 0x0f);
            let distance = i32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
            is_jump && start.wrapping_add(at as u64 + 5).wrapping_add_signed(distance.into()) == to
        })
    }
}

fn code_from(modules: &Modules, start: u64, size: u64) -> Option<&[u8]> {
    let loaded = modules.at(start)?;
    let stated = loaded.module.stated(start);
    Some(loaded.file.as_ref()?.elf.code(stated, stated, stated.checked_add(size)?)?.1)
}

/// The distance from the stack pointer to the frame pointer in the body of a function, where its first instructions tell:
/// `push rbp; mov rbp, rsp`, registers pushed, `sub rsp, n`.
fn size_of_frame(modules: &Modules, executed: u64) -> Option<u64> {
    let found = find(modules, executed)?;
    let start = executed.wrapping_sub(found.stated().wrapping_sub(found.covered.start));
    let code = code_from(modules, start, PROLOGUE_BYTES.min(found.covered.size()))?;
    let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
    let mut code = code.strip_prefix(&[0x55, 0x48, 0x89, 0xe5])?;
    let mut pushed = 0;
    loop {
        code = match code {
            [0x50..=0x57, rest @ ..] | [0x41, 0x50..=0x57, rest @ ..] => rest,
            [0x48, 0x83, 0xec, size, ..] => return Some(pushed + u64::from(*size)),
            [0x48, 0x81, 0xec, a, b, c, d, ..] => {
                return Some(pushed + u64::from(u32::from_le_bytes([*a, *b, *c, *d])));
            }
            _ => return Some(pushed),
        };
        pushed += WORD;
    }
}
