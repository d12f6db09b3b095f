//! From a copied stack to return addresses.
//!
//! Only call frame information is trusted. Where there is none, the frame pointer is followed: right for code that
//! keeps one (interpreters' compiled code, some assembly), a guess elsewhere. So every address that is found must be
//! one that control can have come from: in a module, with a call before it. Others are not reported.

use std::collections::BTreeMap;

use gimli::UnwindContext;

use crate::modules::Modules;
use crate::step::{Memory, Registers, StepError};
use crate::unwind_tables::{Covered, UnwindTable};

/// No stack is followed further than this many frames.
pub const MAX_FRAMES: usize = 256;

/// Longest call instruction that is looked for before a return address, in bytes.
const MAX_CALL_BYTES: u64 = 7;

/// A copied stack of an x86-64 thread: registers at the moment of the copy, and the bytes from `sp` upwards.
#[derive(Debug, Clone, Copy)]
pub struct StackCopy<'a> {
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer: the address of the first byte in `bytes`.
    pub sp: u64,
    /// The register `rbp`, whatever the code uses it for.
    pub bp: u64,
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
    /// There is no call frame information for the last address, or it led nowhere.
    Broken,
    /// There are more than [`MAX_FRAMES`] frames.
    FrameLimit,
}

/// The call frame information of the modules that were met so far, by index of the module.
pub(crate) struct Unwinder {
    eh_frames: BTreeMap<usize, Option<UnwindTable>>,
    debug_frames: BTreeMap<usize, Option<UnwindTable>>,
    context: UnwindContext<usize>,
}

/// Which section an address's call frame information is in.
#[derive(Debug, Clone, Copy)]
enum Section {
    EhFrame,
    DebugFrame,
}

/// The call frame information for an address.
#[derive(Debug, Clone, Copy)]
struct Found {
    module: usize,
    section: Section,
    covered: Covered,
    /// The address as the module's file states it.
    stated: u64,
}

impl Unwinder {
    pub(crate) fn new() -> Self {
        Self { eh_frames: BTreeMap::new(), debug_frames: BTreeMap::new(), context: UnwindContext::new() }
    }

    pub(crate) fn walk(&mut self, modules: &mut Modules, copy: &StackCopy<'_>) -> Unwound {
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
            let found = self.find(modules, executed);
            let caller = match found {
                Some(found) => self.step(found, &registers, &memory),
                None => frame_pointer_step(&registers, &memory).map(Some),
            };
            let caller = match caller {
                Ok(Some(caller)) => caller,
                Ok(None) => break UnwindEnd::Root,
                Err(StepError::AboveCopy) => break UnwindEnd::Truncated,
                Err(StepError::NoInformation) => break not_called,
            };
            let Some(address) = caller.ip().filter(|_| caller.sp() > registers.sp()) else {
                break not_called;
            };
            let from_signal = found.is_some_and(|found| found.covered.is_signal_return);
            let origin = self.origin(modules, address, from_signal);
            addresses.push(address);
            match origin {
                Origin::Call | Origin::Interruption | Origin::Entry => sure = addresses.len(),
                Origin::Foreign => {}
                Origin::None => break not_called,
            }
            not_called = if matches!(origin, Origin::Entry) { UnwindEnd::Root } else { UnwindEnd::Broken };
            // A return address stands after the call, which may be the last instruction of its function.
            let is_after = matches!(origin, Origin::Call | Origin::Foreign);
            executed = if is_after { address.wrapping_sub(1) } else { address };
            registers = caller;
        };
        addresses.truncate(sure);
        Unwound { addresses, end }
    }

    fn step(
        &mut self,
        found: Found,
        registers: &Registers,
        memory: &Memory<'_>,
    ) -> Result<Option<Registers>, StepError> {
        let tables = match found.section {
            Section::EhFrame => &self.eh_frames,
            Section::DebugFrame => &self.debug_frames,
        };
        let table = tables.get(&found.module).and_then(Option::as_ref).ok_or(StepError::NoInformation)?;
        table.caller(found.covered, found.stated, registers, memory, &mut self.context)
    }

    fn find(&mut self, modules: &mut Modules, address: u64) -> Option<Found> {
        let module = modules.index_of(address)?;
        let stated = modules.at(module).module.stated(address);
        let found = |section, covered| Found { module, section, covered, stated };
        let in_eh_frame = self
            .eh_frames
            .entry(module)
            .or_insert_with(|| UnwindTable::eh_frame(modules.at(module).elf.as_ref()?))
            .as_ref()
            .and_then(|table| table.at(stated));
        if let Some(covered) = in_eh_frame {
            return Some(found(Section::EhFrame, covered));
        }
        let in_debug_frame = self
            .debug_frames
            .entry(module)
            .or_insert_with(|| match UnwindTable::debug_frame(modules.at(module).elf.as_ref()?) {
                Some(own) => Some(own),
                None => UnwindTable::debug_frame(modules.image(module)?.separate.as_ref()?),
            })
            .as_ref()
            .and_then(|table| table.at(stated));
        Some(found(Section::DebugFrame, in_debug_frame?))
    }

    /// How control can have left this address for the frame inside it.
    fn origin(&mut self, modules: &mut Modules, address: u64, from_signal: bool) -> Origin {
        let Some(index) = address.checked_sub(1).and_then(|inside| modules.index_of(inside)) else {
            return Origin::Foreign;
        };
        if from_signal {
            return Origin::Interruption;
        }
        let loaded = modules.at(index);
        let stated = loaded.module.stated(address);
        let Some(elf) = &loaded.elf else { return Origin::Call };
        if elf.code_before(stated, MAX_CALL_BYTES).is_some_and(ends_in_call) {
            return Origin::Call;
        }
        // Not after a call, but right: the way out of a signal handler, which the kernel put there, and the first
        // instruction of a function that a context switch put there (`makecontext`).
        match self.find(modules, address) {
            Some(found) if found.covered.is_signal_return => Origin::Interruption,
            Some(found) if found.covered.start == stated => Origin::Entry,
            _ => Origin::None,
        }
    }
}

/// How control left an address that was found on the stack.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// By the call before it.
    Call,
    /// By a signal: its own instruction is the one to look up.
    Interruption,
    /// Not yet: it is the first instruction of a function, where the stack was prepared to return to.
    Entry,
    /// It is outside of all modules: code made at run time, or rubbish.
    Foreign,
    /// It cannot have: rubbish.
    None,
}

/// The caller by way of the frame pointer: `[rbp]` is the caller's, `[rbp + 8]` the return address.
fn frame_pointer_step(registers: &Registers, memory: &Memory<'_>) -> Result<Registers, StepError> {
    let (Some(frame), Some(sp)) = (registers.bp(), registers.sp()) else {
        return Err(StepError::NoInformation);
    };
    if frame < sp || !frame.is_multiple_of(8) {
        return Err(StepError::NoInformation);
    }
    // Only a guess led here: a frame outside of the copy is more likely no frame at all.
    let word = |at| memory.word(at).map_err(|_| StepError::NoInformation);
    let above = frame.checked_add(16).ok_or(StepError::NoInformation)?;
    Ok(Registers::new(word(frame + 8)?, above, word(frame)?))
}

/// Whether the last instruction in `code` can be a near call.
///
/// `E8` with a 32-bit distance, or `FF /2` with any operand (Intel's manual, volume 2A, CALL).
fn ends_in_call(code: &[u8]) -> bool {
    let from_end = |count: usize| code.len().checked_sub(count).map(|at| &code[at..]);
    let direct = from_end(5).is_some_and(|code| code[0] == 0xe8);
    direct
        || (2..=7).any(|size| {
            from_end(size)
                .is_some_and(|code| code[0] == 0xff && (code[1] >> 3) & 7 == 2 && indirect_size(code) == size)
        })
}

/// The size of an `FF /2` instruction: opcode, ModRM, and what ModRM asks for.
fn indirect_size(code: &[u8]) -> usize {
    let (mode, register) = (code[1] >> 6, code[1] & 7);
    let has_scale = mode != 3 && register == 4;
    let base_is_distance = has_scale && code.get(2).is_some_and(|scale| scale & 7 == 5);
    let distance = match mode {
        0 if register == 5 || base_is_distance => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    2 + usize::from(has_scale) + distance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_their_bytes() {
        for call in [
            &[0xe8, 1, 2, 3, 4][..],
            &[0xff, 0xd0],                         // call rax
            &[0x41, 0xff, 0xd4],                   // call r12
            &[0xff, 0x15, 1, 2, 3, 4],             // call [rip + x]
            &[0xff, 0x50, 0x18],                   // call [rax + 24]
            &[0xff, 0x54, 0x24, 8],                // call [rsp + 8]
            &[0xff, 0x14, 0xc3],                   // call [rbx + rax * 8]
            &[0xff, 0x14, 0xc5, 1, 2, 3, 4],       // call [rax * 8 + x]
            &[0xff, 0x94, 0x24, 1, 2, 3, 4],       // call [rsp + x]
            &[0x90, 0x90, 0xff, 0x90, 1, 2, 3, 4], // call [rax + x]
        ] {
            assert!(ends_in_call(call), "{call:x?}");
        }
        for other in [
            &[][..],
            &[0xff],
            &[0x90; 7],
            &[0xe9, 1, 2, 3, 4],       // jmp
            &[0xff, 0xe0],             // jmp rax
            &[0xff, 0x15, 1, 2],       // cut off
            &[0xff, 0x75, 0x18],       // push [rbp + 24]
            &[0xe8, 1, 2, 3, 4, 0x90], // something follows
        ] {
            assert!(!ends_in_call(other), "{other:x?}");
        }
    }
}
