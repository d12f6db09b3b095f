//! Images of processes: what each has mapped, and the stacks that were seen in it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use holdup_code::{Accessed, Code, accessed_before};
use holdup_model::AccessKind;
use holdup_symbols::{Files, Mapping, Options, StackCopy, Symbolizer, UnwindEnd};
use holdup_trace::kernel::{self, Access, AccessCode, NO_STACK};

/// The most distinct stacks that are kept of one image: beyond, samples have none.
const MOST_STACKS: usize = 1 << 20;

/// The most instructions of one image of which it is kept what the one before accesses.
const MOST_INSTRUCTIONS: usize = 1 << 16;
/// Functions are read up to an instruction that is not further away from their beginning (bytes),
const MOST_BYTES: u64 = 64 << 10;
/// and this far behind it, for jumps that lead back.
const BYTES_BEHIND: u64 = 4 << 10;

/// A program that a process runs.
pub(super) struct Image {
    pub(super) number: u32,
    symbolizer: Symbolizer,
    mappings: Vec<(u64, Mapping)>,
    /// How many of `mappings` are in the recording: none before the first stack.
    recorded: usize,
    stacks: BTreeMap<Box<[u64]>, u32>,
    /// By the address of an instruction: what the one before it accesses.
    accesses: BTreeMap<u64, Option<Accessed>>,
}

impl Image {
    /// An image of process `pid`.
    pub(super) fn new(number: u32, pid: u32, files: Files) -> Image {
        let process = Some(PathBuf::from(format!("/proc/{pid}")));
        let symbolizer = Symbolizer::live(process, Options::default(), files);
        Image {
            number,
            symbolizer,
            mappings: Vec::new(),
            recorded: 0,
            stacks: BTreeMap::new(),
            accesses: BTreeMap::new(),
        }
    }

    /// What a fork of it, process `pid`, begins with.
    pub(super) fn forked(&self, number: u32, pid: u32) -> Image {
        let symbolizer = self.symbolizer.forked(Some(PathBuf::from(format!("/proc/{pid}"))));
        Image {
            number,
            symbolizer,
            mappings: self.mappings.clone(),
            recorded: 0,
            stacks: BTreeMap::new(),
            accesses: BTreeMap::new(),
        }
    }

    pub(super) fn map(&mut self, time: u64, start: u64, len: u64, offset: u64, path: &[u8]) {
        let path = PathBuf::from(OsStr::from_bytes(path));
        let mapping = Mapping { path, start, end: start.saturating_add(len), offset, build_id: None };
        // Further parts of a file that is mapped, and what is mapped already, tell nothing.
        if self.symbolizer.add(&mapping).module.is_some() {
            self.mappings.push((time, mapping));
            // What was nowhere may be there now, or something else.
            self.accesses.clear();
        }
    }

    /// The number of this stack, which is put into `out` when it is seen for the first time. `accesses` is the instruction that took the
    /// time, where it is known: the one before, see [`Image::accessed`].
    pub(super) fn stack(&mut self, copy: &StackCopy<'_>, accesses: Option<u64>, out: &mut Vec<u64>) -> u32 {
        let mut unwound = self.symbolizer.unwind(copy);
        if let (Some(address), Some(innermost)) = (accesses, unwound.addresses.first_mut()) {
            *innermost = address;
        }
        if let Some(known) = self.stacks.get(unwound.addresses.as_slice()) {
            return *known;
        }
        if self.stacks.len() >= MOST_STACKS {
            return NO_STACK;
        }
        for (time, mapping) in &self.mappings[self.recorded..] {
            let path = mapping.path.as_os_str().as_bytes();
            kernel::mapping(out, *time, self.number, (mapping.start, mapping.end), mapping.offset, path);
        }
        self.recorded = self.mappings.len();
        let id = self.stacks.len() as u32 + 1;
        let broken = unwound.end != UnwindEnd::Root;
        kernel::stack(out, id, self.number, broken, &unwound.addresses);
        self.stacks.insert(unwound.addresses.into_boxed_slice(), id);
        id
    }

    /// What a thread with these registers at `ip` had just accessed ([`Accessed::address`]), and by which instruction, if its code says so.
    pub(super) fn accessed(&mut self, ip: u64, registers: &[u64; 16]) -> Option<(Access, u64)> {
        let known = self.accesses.get(&ip).copied();
        let accessed = known.unwrap_or_else(|| {
            let found = self.accessed_before(ip);
            if self.accesses.len() < MOST_INSTRUCTIONS {
                self.accesses.insert(ip, found);
            }
            found
        })?;
        let code = match accessed.kind {
            AccessKind::Read => AccessCode::Read,
            AccessKind::Write => AccessCode::Write,
            AccessKind::Update => AccessCode::Update,
            AccessKind::Atomic => AccessCode::Atomic,
        };
        let access = Access { address: accessed.address(registers), bytes: accessed.bytes, code };
        Some((access, accessed.at))
    }

    fn accessed_before(&self, ip: u64) -> Option<Accessed> {
        let start = self.symbolizer.function_range(ip)?.start;
        let before = ip.checked_sub(start).filter(|before| (1..=MOST_BYTES).contains(before))?;
        let code = self.symbolizer.code_bytes(ip, before, BYTES_BEHIND)?;
        // Only from the beginning of a function on it is known where instructions begin.
        (code.start == start).then(|| accessed_before(&Code { start, bytes: code.bytes }, ip)).flatten()
    }
}
