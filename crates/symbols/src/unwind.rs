//! From a copied stack to return addresses.
//!
//! Only call frame information is trusted. Where there is none, the frame pointer is followed: right for code that
//! keeps one (interpreters' compiled code, some assembly), a guess elsewhere. So every address that is found must be
//! one that control can have come from: in a module, with a call before it. Others are not reported.

use crate::climb::{Climber, Origin, Stop};
use crate::frame_base::frame_base;
use crate::modules::Modules;
use crate::step::{Memory, Registers};

/// No stack is followed further than this many frames.
pub const MAX_FRAMES: usize = 256;

/// A copied stack of an x86-64 thread: registers at the moment of the copy, and the bytes from `sp` upwards.
#[derive(Debug, Clone, Copy)]
pub struct StackCopy<'a> {
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer: the address of the first byte in `bytes`.
    pub sp: u64,
    /// The register `rbp`, whatever the code uses it for. Where it is not known (`/proc/PID/task/TID/syscall` has no such
    /// column) and a frame cannot be left without it, it is looked for on the stack.
    pub bp: Option<u64>,
    /// The stack from `sp` upwards, as much as was copied.
    pub bytes: &'a [u8],
}

/// The return addresses of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwound {
    /// Innermost first. The first is the instruction pointer, the others are return addresses; at most
    /// [`MAX_FRAMES`]. All of them are sure: what came after the last sure one was left out.
    pub addresses: Vec<u64>,
    /// Why there are no more.
    pub end: UnwindEnd,
}

/// Why unwinding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnwindEnd {
    /// The outermost frame was reached: the whole stack is known.
    Root,
    /// The next frame lies beyond the copied bytes.
    Truncated,
    /// There is no call frame information for the last address, or it led nowhere, or it needs a register that is not
    /// known.
    Broken,
    /// There are more than [`MAX_FRAMES`] frames.
    FrameLimit,
}

/// Follows stacks. What it keeps from one stack to the next is memory only.
pub(crate) struct Unwinder {
    climber: Climber,
}

impl Unwinder {
    pub(crate) fn new() -> Self {
        Self { climber: Climber::new() }
    }

    pub(crate) fn walk(&mut self, modules: &Modules, copy: &StackCopy<'_>) -> Unwound {
        let memory = Memory { start: copy.sp, bytes: copy.bytes };
        let mut addresses = vec![copy.ip];
        // Frames outside of all modules (code made at run time) count once the walk is back in a module.
        let mut sure = 1;
        let mut registers = Registers::new(copy.ip, copy.sp, copy.bp);
        let mut executed = copy.ip;
        // Nobody called the function that a context switch put at the bottom of a new stack: where its return address
        // would be, anything may stand.
        let mut not_called = UnwindEnd::Broken;
        let end = loop {
            if addresses.len() == MAX_FRAMES {
                break UnwindEnd::FrameLimit;
            }
            let mut caller = self.climber.caller(modules, executed, &registers, &memory);
            if matches!(caller, Err(Stop::UnknownBase))
                && let Some(base) = frame_base(&mut self.climber, modules, executed, &registers, &memory)
            {
                caller = self.climber.caller(modules, executed, &registers.with_bp(base), &memory);
            }
            let caller = match caller {
                Ok(caller) => caller,
                Err(Stop::Root) => break UnwindEnd::Root,
                Err(Stop::AboveCopy) => break UnwindEnd::Truncated,
                Err(Stop::NoInformation | Stop::UnknownBase) => break not_called,
            };
            addresses.push(caller.address);
            match caller.origin {
                Origin::Call | Origin::Interruption | Origin::Entry => sure = addresses.len(),
                Origin::Foreign => {}
                Origin::None => break not_called,
            }
            not_called =
                if matches!(caller.origin, Origin::Entry) { UnwindEnd::Root } else { UnwindEnd::Broken };
            executed = caller.executed();
            registers = caller.registers;
        };
        addresses.truncate(sure);
        Unwound { addresses, end }
    }
}
