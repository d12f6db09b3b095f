//! The accesses to memory that a block makes: learnt when it is first executed, since the emulator does not say before.

use std::sync::atomic::{AtomicPtr, Ordering};

use crate::code::Code;
use crate::ending::Ending;

/// An access as the emulator tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) address: u64,
    /// The instruction's index × 2³² + what the emulator says of the access. [`REPEATING`] stands for the index of a
    /// repeating string instruction, which is first in the block of its further rounds.
    pub(crate) kind: u64,
}

/// See [`Seen::kind`].
pub(crate) const REPEATING: u32 = u32::MAX;

/// Size and direction of an access, which only the emulator can read out of [`Seen::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nature {
    /// log2 of its bytes.
    pub(crate) size: u32,
    pub(crate) stores: bool,
}

/// A block whose accesses are watched.
#[repr(C)]
pub(crate) struct Watched {
    /// Null until the block was executed.
    table: AtomicPtr<Table>,
    /// What [`Watched::code`] says, nearer at hand.
    pub(crate) end: u64,
    pub(crate) instructions: u32,
    pub(crate) ending: Ending,
    pub(crate) code: &'static Code,
    /// The instructions that gather: whose accesses have nothing to do with each other.
    pub(crate) gathers: Vec<u32>,
}

/// What a block accesses when it is executed whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// The block's number in the stream of all threads.
    pub(crate) number: u32,
    /// Where its accesses begin among those of all blocks.
    pub(crate) first: u32,
    /// How many it has, as they are written.
    pub(crate) length: u32,
    /// As the emulator tells them.
    pub(crate) parts: Box<[Part]>,
}

/// One of the accesses that the emulator tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) kind: u64,
    /// Which of the table's accesses it is the beginning of; [`GOES_ON`] if it is a later part of the one before.
    pub(crate) place: u32,
}

/// See [`Part::place`].
pub(crate) const GOES_ON: u32 = u32::MAX;

impl Watched {
    pub(crate) fn new(code: &'static Code, gathers: Vec<u32>) -> Self {
        Self {
            table: AtomicPtr::new(std::ptr::null_mut()),
            end: code.end,
            instructions: code.instructions,
            ending: code.ending,
            code,
            gathers,
        }
    }

    /// Its table, once it is known.
    #[inline(always)]
    pub(crate) fn table(&self) -> Option<&'static Table> {
        // SAFETY: null, or a leaked box.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }

    /// Makes the table known. It stays for good.
    pub(crate) fn learn(&self, table: Table) -> &'static Table {
        let table = Box::leak(Box::new(table));
        self.table.store(table, Ordering::Release);
        table
    }
}

/// The index of an access's instruction.
pub(crate) fn instruction_of(kind: u64, code: &Code) -> u32 {
    match (kind >> 32) as u32 {
        REPEATING => code.instructions - 1,
        index => index,
    }
}

/// An access as the block's definition has it: instruction × 16 + log2 of its size × 2 + 1 if it stores.
pub(crate) fn packed(kind: u64, nature: Nature, code: &Code) -> u64 {
    u64::from(instruction_of(kind, code)) << 4 | u64::from(nature.size) << 1 | u64::from(nature.stores)
}

/// Makes a block's table out of what its first execution accessed: the parts, and the accesses for its definition.
///
/// The emulator splits what is longer than eight bytes into accesses of eight; they are put together again. A repeating
/// instruction has each kind of its accesses once. `gathers` says which instructions gather.
pub(crate) fn learn(
    seen: &[Seen],
    code: &Code,
    nature: impl Fn(u64) -> Nature,
    gathers: impl Fn(u32) -> bool,
) -> (Vec<Part>, Vec<u64>) {
    let (mut parts, mut accesses) = (Vec::<Part>::new(), Vec::new());
    let repeating = |kind: u64| code.ending == Ending::Repeats && (kind >> 32) as u32 == REPEATING;
    let mut rest = seen;
    while let Some(first) = rest.first() {
        let of = nature(first.kind);
        if repeating(first.kind) {
            if !parts.iter().any(|part| part.kind == first.kind) {
                parts.push(Part { kind: first.kind, place: accesses.len() as u32 });
                accesses.push(packed(first.kind, of, code));
            }
            rest = &rest[1..];
            continue;
        }
        let splits = of.size == 3 && !gathers(instruction_of(first.kind, code));
        // Of an aligned access the emulator says so for its first piece only, so kinds differ.
        let piece = |at: usize, next: &Seen| {
            next.kind >> 32 == first.kind >> 32
                && nature(next.kind) == of
                && next.address == first.address.wrapping_add(8 * at as u64)
        };
        let run = rest.iter().enumerate().take_while(|(at, next)| piece(*at, next)).count();
        let (length, size) = match run {
            4.. if splits => (4, 5),
            2.. if splits => (2, 4),
            _ => (1, of.size),
        };
        parts.push(Part { kind: first.kind, place: accesses.len() as u32 });
        parts.extend(rest[1..length].iter().map(|next| Part { kind: next.kind, place: GOES_ON }));
        accesses.push(packed(first.kind, Nature { size, ..of }, code));
        rest = &rest[length..];
    }
    (parts, accesses)
}

/// True for AVX2's gathers (VEX, map 0F 38, opcodes 90 to 93).
pub(crate) fn gathers(instruction: &[u8]) -> bool {
    matches!(instruction, [0xc4, map, _, 0x90..=0x93, ..] if map & 0x1f == 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Role;

    const LOAD8: u64 = 3;
    const STORE8: u64 = 3 | 0x100;
    const LOAD1: u64 = 0;

    fn nature(kind: u64) -> Nature {
        // Bits above say whether the access is aligned.
        Nature { size: kind as u32 & 7, stores: kind & 0x100 != 0 }
    }

    fn code(instructions: u32, ending: Ending) -> Code {
        Code { start: 0, end: 9, last: 5, instructions, number: 0, ending, role: Role::Own }
    }

    fn seen(instruction: u64, kind: u64, address: u64) -> Seen {
        Seen { address, kind: instruction << 32 | kind }
    }

    #[test]
    fn split_accesses_are_put_together() {
        let code = code(4, Ending::Falls);
        let mut all = vec![seen(0, LOAD8 | 0x80, 0x10), seen(0, LOAD8, 0x18), seen(1, LOAD8, 0x20)];
        all.extend((0..4).map(|at| seen(2, STORE8, 0x40 + 8 * at)));
        all.push(seen(3, LOAD1, 0x60));
        let (parts, accesses) = learn(&all, &code, nature, |_| false);
        assert_eq!(accesses, [4 << 1, 16 + (3 << 1), 32 + (5 << 1) + 1, 48]);
        let places: Vec<u32> = parts.iter().map(|part| part.place).collect();
        assert_eq!(places, [0, GOES_ON, 1, 2, GOES_ON, GOES_ON, GOES_ON, 3]);
        let (_, gathered) = learn(&all[..2], &code, nature, |_| true);
        assert_eq!(gathered, [3 << 1, 3 << 1]);
    }

    #[test]
    fn a_repeating_instruction_has_each_access_once() {
        let code = code(3, Ending::Repeats);
        let rep = u64::from(REPEATING);
        let all: Vec<Seen> =
            (0..5).flat_map(|at| [seen(rep, LOAD8, 8 * at), seen(rep, STORE8, 0x100 + 8 * at)]).collect();
        let (parts, accesses) = learn(&all, &code, nature, |_| false);
        assert_eq!(accesses, [32 + (3 << 1), 32 + (3 << 1) + 1]);
        assert_eq!(parts.len(), 2);
    }

    #[test]
    fn gathers_are_known() {
        assert!(gathers(&[0xc4, 0xe2, 0xf5, 0x92, 0x04, 0xc7]));
        assert!(!gathers(&[0xc4, 0xe2, 0x7d, 0x18, 0x07]));
        assert!(!gathers(&[0xc5, 0xfc, 0x28, 0x07]));
    }
}
