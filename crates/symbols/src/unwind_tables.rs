//! The call frame information of one module: which addresses it covers, and with which entry (FDE).

use std::ops::Range;

use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EndianSlice, LittleEndian, UnwindContext, UnwindSection,
};

use crate::bytes::Bytes;
use crate::elf::Elf;
use crate::step::{Memory, Registers, StepError, caller_of};

/// Bytes of an address: call frame information is read for 64-bit programs only.
const ADDRESS_BYTES: u8 = 8;

/// One section with call frame information.
///
/// The linker's search table (`.eh_frame_hdr`) is not used: reading all entries once costs a tenth of a microsecond
/// each, and a search table that is damaged, or absent, then needs no second way.
#[derive(Debug)]
pub(crate) struct UnwindTable {
    bytes: Bytes,
    kind: Kind,
    bases: BaseAddresses,
    /// Sorted by start, as the file states addresses.
    entries: Vec<Covered>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    EhFrame,
    DebugFrame,
}

/// What one entry covers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Covered {
    pub(crate) start: u64,
    end: u64,
    /// The return path of a signal handler: its caller was interrupted, and did not call.
    pub(crate) is_signal_return: bool,
    /// Where the entry stands in the section.
    offset: usize,
}

impl Covered {
    /// A function that other information than an entry tells of.
    pub(crate) fn of(range: Range<u64>) -> Self {
        Self { start: range.start, end: range.end, is_signal_return: false, offset: 0 }
    }

    /// Bytes of code.
    pub(crate) fn size(&self) -> u64 {
        self.end - self.start
    }
}

type Slice<'a> = EndianSlice<'a, LittleEndian>;

impl UnwindTable {
    /// From `.eh_frame`, which is mapped with the program and nearly always there.
    pub(crate) fn eh_frame(elf: &Elf) -> Option<Self> {
        Self::read(elf, Kind::EhFrame, ".eh_frame")
    }

    /// From `.debug_frame`, which programs built without `.eh_frame` have beside their debug information.
    pub(crate) fn debug_frame(elf: &Elf) -> Option<Self> {
        Self::read(elf, Kind::DebugFrame, ".debug_frame")
    }

    fn read(elf: &Elf, kind: Kind, name: &str) -> Option<Self> {
        if !elf.is_64_bit() || !elf.is_little_endian() {
            return None;
        }
        let bytes = elf.section(name)?;
        let start = |name| elf.section_addresses(name).map_or(0, |range| range.start);
        let bases = BaseAddresses::default()
            .set_eh_frame(start(".eh_frame"))
            .set_eh_frame_hdr(start(".eh_frame_hdr"))
            .set_text(start(".text"))
            .set_got(start(".got"));
        let mut entries = match kind {
            Kind::EhFrame => entries_of(&eh_frame(&bytes), &bases),
            Kind::DebugFrame => entries_of(&debug_frame(&bytes), &bases),
        };
        entries.sort_by_key(|entry| entry.start);
        Some(Self { bytes, kind, bases, entries })
    }

    /// The entry for an address (as the file states it).
    pub(crate) fn at(&self, address: u64) -> Option<Covered> {
        let after = self.entries.partition_point(|entry| entry.start <= address);
        self.entries[..after].last().copied().filter(|entry| address < entry.end)
    }

    /// The registers of the caller; nothing in the outermost frame.
    ///
    /// `address`, as the file states it, is the instruction that is being executed.
    pub(crate) fn caller(
        &self,
        covered: Covered,
        address: u64,
        registers: &Registers,
        memory: &Memory<'_>,
        context: &mut UnwindContext<usize>,
    ) -> Result<Option<Registers>, StepError> {
        match self.kind {
            Kind::EhFrame => {
                let section = eh_frame(&self.bytes);
                self.caller_in(&section, covered.offset.into(), address, registers, memory, context)
            }
            Kind::DebugFrame => {
                let section = debug_frame(&self.bytes);
                self.caller_in(&section, covered.offset.into(), address, registers, memory, context)
            }
        }
    }

    fn caller_in<'a, S>(
        &self,
        section: &S,
        offset: S::Offset,
        address: u64,
        registers: &Registers,
        memory: &Memory<'_>,
        context: &mut UnwindContext<usize>,
    ) -> Result<Option<Registers>, StepError>
    where
        S: UnwindSection<Slice<'a>>,
    {
        let entry = section
            .fde_from_offset(&self.bases, offset, S::cie_from_offset)
            .map_err(|_| StepError::NoInformation)?;
        let row = entry
            .unwind_info_for_address(section, &self.bases, context, address)
            .map_err(|_| StepError::NoInformation)?;
        caller_of(section, row, entry.cie().encoding(), registers, memory)
    }
}

fn eh_frame(bytes: &[u8]) -> EhFrame<Slice<'_>> {
    let mut section = EhFrame::new(bytes, LittleEndian);
    section.set_address_size(ADDRESS_BYTES);
    section
}

fn debug_frame(bytes: &[u8]) -> DebugFrame<Slice<'_>> {
    let mut section = DebugFrame::new(bytes, LittleEndian);
    section.set_address_size(ADDRESS_BYTES);
    section
}

fn entries_of<'a, S>(section: &S, bases: &BaseAddresses) -> Vec<Covered>
where
    S: UnwindSection<Slice<'a>>,
{
    let mut found = Vec::new();
    let mut entries = section.entries(bases);
    // A damaged length ends the reading: what follows it cannot be found.
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(entry) = partial.parse(S::cie_from_offset) else { continue };
        let (start, end) = (entry.initial_address(), entry.end_address());
        // Functions that the linker dropped stay as entries at address 0.
        if start != 0 && start < end {
            let is_signal_return = entry.is_signal_trampoline();
            found.push(Covered { start, end, is_signal_return, offset: entry.offset() });
        }
    }
    found
}
