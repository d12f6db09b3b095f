//! One frame up, by whatever information there is for it, and how control can have come from there.

use gimli::UnwindContext;

use crate::calls::{MAX_CALL_BYTES, direct_target, ends_in_call, pointer_target};
use crate::go_table::GoFunction;
use crate::modules::Modules;
use crate::step::{Memory, Registers, StepError};
use crate::unwind_tables::{Covered, UnwindTable};

const NOP: u8 = 0x90;

/// Goes from frames to their callers.
pub(crate) struct Climber {
    context: UnwindContext<usize>,
}

/// The frame that called, or was interrupted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) registers: Registers,
    /// Where it will go on.
    pub(crate) address: u64,
    pub(crate) origin: Origin,
}

/// How control left an address that was found on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// By the call before it.
    Call,
    /// By a signal: its own instruction is the one to look up.
    Interruption,
    /// Not yet: it is the first instruction of a function, where the stack was prepared to return to.
    Entry,
    /// It is outside of all files: code made at run time, or rubbish.
    Foreign,
    /// It cannot have: rubbish.
    None,
}

/// Why there is no caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// This is the outermost frame.
    Root,
    /// What is needed lies above the copied bytes.
    AboveCopy,
    /// There is no information, or it led nowhere.
    NoInformation,
    /// It takes `rbp`, which is not known.
    UnknownBase,
}

/// The call frame information for an address.
pub(crate) struct Found<'a> {
    source: Source<'a>,
    pub(crate) covered: Covered,
    /// The address as the module's file states it.
    stated: u64,
}

/// Where it comes from.
enum Source<'a> {
    Dwarf(&'a UnwindTable),
    Go(GoFunction<'a>),
}

impl Found<'_> {
    /// The address that was asked for, as the module's file states it.
    pub(crate) fn stated(&self) -> u64 {
        self.stated
    }
}

impl Caller {
    /// The instruction that it is executing. A return address stands after the call, which may be the last instruction
    /// of its function.
    pub(crate) fn executed(&self) -> u64 {
        match self.origin {
            Origin::Call | Origin::Foreign => self.address.wrapping_sub(1),
            Origin::Interruption | Origin::Entry | Origin::None => self.address,
        }
    }
}

impl Climber {
    pub(crate) fn new() -> Self {
        Self { context: UnwindContext::new() }
    }

    /// The caller of the frame with these registers, which executes the instruction at `executed`.
    pub(crate) fn caller(
        &mut self,
        modules: &Modules,
        executed: u64,
        registers: &Registers,
        memory: &Memory<'_>,
    ) -> Result<Caller, Stop> {
        if goes_on_elsewhere(modules, executed) {
            return Err(Stop::Root);
        }
        let found = find(modules, executed);
        let caller = match &found {
            Some(Found { source: Source::Dwarf(table), covered, stated }) => {
                table.caller(*covered, *stated, registers, memory, &mut self.context)
            }
            Some(Found { source: Source::Go(function), stated, .. }) => {
                go_step(function, *stated, registers, memory).map(Some)
            }
            None => frame_pointer_step(registers, memory).map(Some),
        };
        let caller = match caller {
            Ok(Some(caller)) => caller,
            Ok(None) => return Err(Stop::Root),
            Err(StepError::AboveCopy) => return Err(Stop::AboveCopy),
            Err(StepError::NoInformation) => return Err(Stop::NoInformation),
            Err(StepError::UnknownBase) => return Err(Stop::UnknownBase),
        };
        let address = caller.ip().filter(|_| caller.sp() > registers.sp()).ok_or(Stop::NoInformation)?;
        let from_signal = found.is_some_and(|found| found.covered.is_signal_return);
        Ok(Caller { registers: caller, address, origin: origin(modules, address, from_signal) })
    }
}

/// The call frame information for an address.
pub(crate) fn find(modules: &Modules, address: u64) -> Option<Found<'_>> {
    let loaded = modules.at(address)?;
    let file = loaded.file.as_ref()?;
    let stated = loaded.module.stated(address);
    let dwarf = |table: &'_ UnwindTable| Some((table.at(stated)?, stated));
    if let Some(table) = file.eh_frame()
        && let Some((covered, stated)) = dwarf(table)
    {
        return Some(Found { source: Source::Dwarf(table), covered, stated });
    }
    if let Some(table) = file.debug_frame(modules.options())
        && let Some((covered, stated)) = dwarf(table)
    {
        return Some(Found { source: Source::Dwarf(table), covered, stated });
    }
    let function = file.go_table()?.at(stated)?;
    let covered = Covered::of(function.range.clone());
    Some(Found { source: Source::Go(function), covered, stated })
}

/// Whether this is a Go function above which the stack ends, or is another one.
fn goes_on_elsewhere(modules: &Modules, executed: u64) -> bool {
    let function = || {
        let loaded = modules.at(executed)?;
        loaded.file.as_ref()?.go_table()?.at(loaded.module.stated(executed))
    };
    function().is_some_and(|function| function.is_outermost())
}

/// Where the call before this return address leads, if it is a direct one.
pub(crate) fn called_directly(modules: &Modules, return_address: u64) -> Option<u64> {
    let loaded = modules.at(return_address.checked_sub(1)?)?;
    let stated = loaded.module.stated(return_address);
    let (_, code) = loaded.file.as_ref()?.elf.code(stated.wrapping_sub(5), stated.wrapping_sub(1), stated)?;
    direct_target(code, return_address)
}

/// The pointer by which the call before this return address goes, if it is one of its module's linkage table.
pub(crate) fn called_by_pointer(modules: &Modules, return_address: u64) -> Option<u64> {
    let loaded = modules.at(return_address.checked_sub(1)?)?;
    let stated = loaded.module.stated(return_address);
    let (_, code) = loaded.file.as_ref()?.elf.code(stated.wrapping_sub(6), stated.wrapping_sub(1), stated)?;
    pointer_target(code, return_address)
}

/// How control can have left this address for the frame inside it.
fn origin(modules: &Modules, address: u64, from_signal: bool) -> Origin {
    let inside = address.checked_sub(1).and_then(|inside| modules.at(inside));
    let Some(loaded) = inside.filter(|loaded| !loaded.is_memory) else { return Origin::Foreign };
    if from_signal {
        return Origin::Interruption;
    }
    let stated = loaded.module.stated(address);
    let Some(file) = &loaded.file else { return Origin::Call };
    let before = file.elf.code(stated.saturating_sub(MAX_CALL_BYTES), stated.wrapping_sub(1), stated);
    if before.is_some_and(|(_, code)| ends_in_call(code)) {
        return Origin::Call;
    }
    // Not after a call, but right: the way out of a signal handler, which the kernel put there, and the first
    // instruction of a function that a context switch put there (`makecontext`). Go returns from a goroutine to the second
    // byte of a function that begins with a NOP for that purpose.
    let is_second = before.is_some_and(|(_, code)| code.last() == Some(&NOP));
    match find(modules, address) {
        Some(found) if found.covered.is_signal_return => Origin::Interruption,
        Some(found) if found.covered.start == stated => Origin::Entry,
        Some(found) if is_second && found.covered.start + 1 == stated => Origin::Entry,
        _ => Origin::None,
    }
}

/// The caller of a Go function: the return address stands above its frame, and below that the caller's frame pointer.
fn go_step(
    function: &GoFunction<'_>,
    stated: u64,
    registers: &Registers,
    memory: &Memory<'_>,
) -> Result<Registers, StepError> {
    let (size, sp) = function.frame_size(stated).zip(registers.sp()).ok_or(StepError::NoInformation)?;
    let place = sp.checked_add(size).ok_or(StepError::NoInformation)?;
    let above = place.checked_add(8).ok_or(StepError::NoInformation)?;
    let base = if size == 0 { registers.bp() } else { memory.word(place.wrapping_sub(8)).ok() };
    Ok(Registers::new(memory.word(place)?, above, base))
}

/// The caller by way of the frame pointer: `[rbp]` is the caller's, `[rbp + 8]` the return address.
fn frame_pointer_step(registers: &Registers, memory: &Memory<'_>) -> Result<Registers, StepError> {
    let (Some(frame), Some(sp)) = (registers.bp(), registers.sp()) else {
        return Err(StepError::UnknownBase);
    };
    if frame < sp || !frame.is_multiple_of(8) {
        return Err(StepError::NoInformation);
    }
    // Only a guess led here: a frame outside of the copy is more likely no frame at all.
    let word = |at| memory.word(at).map_err(|_| StepError::NoInformation);
    let above = frame.checked_add(16).ok_or(StepError::NoInformation)?;
    Ok(Registers::new(word(frame + 8)?, above, Some(word(frame)?)))
}
