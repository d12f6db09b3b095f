//! The full mode: every block that one thread executes, and where it accesses memory.
//!
//! Accesses are collected until the next block begins: only then is known whether the block was executed whole.

use std::sync::atomic::Ordering;

use holdup_trace::instructions::{Entry, LONGEST_NUMBER, put, zigzag};

use crate::accesses::{GOES_ON, Seen, Table, Watched, instruction_of, learn, packed};
use crate::channel::Outlet;
use crate::code::{Code, Role};
use crate::ending::Ending;
use crate::numbers::{number, put_at};
use crate::reserved::Reserved;
use crate::warm::Warm;
use crate::watch::{MOST_ACCESSES, Watch};

/// The most accesses that are collected before they are written.
const MOST: usize = 1024;
/// The most bytes that the entry of a block takes.
const LONGEST_ENTRY: usize = (MOST + 1) * 2 * LONGEST_NUMBER + 2 * LONGEST_NUMBER;

/// What a thread executes.
#[repr(C)]
pub(crate) struct Tracer {
    /// The block that is executed; none where nothing is written.
    block: Option<&'static Watched>,
    watch: &'static Watch,
    count: usize,
    /// Something of the block was written already.
    spilled: bool,
    waiting: bool,
    /// The thread is in a runtime, or in what it calls.
    in_runtime: bool,
    /// What is executed now is of interest.
    pub(crate) interest: bool,
    /// What is executed now is of no interest yet.
    pub(crate) is_before: bool,
    /// What was touched meanwhile; none where that is not wanted.
    pub(crate) warm: Option<Warm>,
    /// Behind the last call.
    called_from: u64,
    /// Where control returns to out of the runtime.
    returns_to: u64,
    /// Instructions written, not yet added to those of all.
    instructions: u64,
    /// Whether tasks were begun inside a wait: a bit for each that is open.
    tasks: u64,
    /// The last address of each access of each block.
    last: Reserved<u64>,
    seen: Box<[Seen; MOST]>,
    /// Where partial entries are made.
    body: Vec<u8>,
}

impl Tracer {
    /// Nothing yet; `None` without address space.
    pub(crate) fn new(watch: &'static Watch, accesses: u32) -> Option<Self> {
        Some(Self {
            block: None,
            watch,
            count: 0,
            spilled: false,
            waiting: false,
            in_runtime: false,
            interest: false,
            is_before: false,
            warm: watch.pages.as_ref().and_then(|_| Warm::new()),
            called_from: 0,
            returns_to: 0,
            instructions: 0,
            tasks: 0,
            last: Reserved::new(accesses as usize + 1)?,
            seen: Box::new([Seen::default(); MOST]),
            body: Vec::new(),
        })
    }

    /// Another thread begins.
    pub(crate) fn begin_anew(&mut self) {
        self.block = None;
        (self.count, self.instructions, self.tasks) = (0, 0, 0);
        (self.waiting, self.in_runtime) = (false, false);
        (self.called_from, self.returns_to) = (0, 0);
        self.last.clear();
        if let Some(warm) = &mut self.warm {
            warm.begin_anew();
        }
    }

    /// A block of the program or of a library begins.
    #[inline(always)]
    pub(crate) fn begin(&mut self, outlet: &mut Outlet, next: &'static Watched) {
        if let Some(block) = self.block {
            if block.ending == Ending::Repeats && is_next_round(block.code, next.code) {
                return;
            }
            self.finish(outlet);
        } else if self.is_before {
            self.touches();
        }
        self.count = 0;
        if self.waiting || self.in_runtime || !self.interest {
            self.begin_quietly(next);
        } else {
            self.block = Some(next);
        }
    }

    /// Remembers what the last block of no interest touched.
    fn touches(&mut self) {
        let count = std::mem::take(&mut self.count);
        if let (Some(warm), Some(pages)) = (&mut self.warm, &self.watch.pages) {
            for seen in &self.seen[..count] {
                warm.touch(seen.address, self.watch.nature(seen.kind).stores, pages);
            }
        }
    }

    #[cold]
    fn begin_quietly(&mut self, next: &'static Watched) {
        if self.in_runtime && (next.code.role == Role::Own || next.code.start == self.returns_to) {
            self.in_runtime = false;
        }
        let counts = !self.waiting && !self.in_runtime && self.interest;
        self.block = counts.then_some(next);
    }

    /// A block of a runtime or of the dynamic linker begins: it is not written.
    pub(crate) fn begin_foreign(&mut self, outlet: &mut Outlet, code: &Code) {
        self.finish(outlet);
        if code.role == Role::Runtime && !self.in_runtime {
            self.in_runtime = true;
            self.returns_to = self.called_from;
        }
    }

    /// The block that is executed accesses memory.
    #[inline(always)]
    pub(crate) fn access(&mut self, outlet: &mut Outlet, seen: Seen) {
        if self.count == MOST {
            self.spill(outlet);
        }
        self.seen[self.count] = seen;
        self.count += 1;
    }

    /// Writes what was collected of a block that goes on.
    #[cold]
    fn spill(&mut self, outlet: &mut Outlet) {
        if let Some(block) = self.block {
            if let Some(table) = block.table().or_else(|| self.define(block)) {
                self.write_partial(outlet, block, table, true);
            }
            self.spilled = true;
        } else if self.is_before {
            self.touches();
        }
        self.count = 0;
    }

    /// The block that was executed is left: writes it.
    #[inline(always)]
    pub(crate) fn finish(&mut self, outlet: &mut Outlet) {
        let Some(block) = self.block.take() else { return };
        if block.ending == Ending::Call {
            self.called_from = block.end;
        }
        let Some(table) = block.table().or_else(|| self.define(block)) else { return };
        if self.spilled && self.count == 0 {
            self.spilled = false;
            return;
        }
        if self.spilled || self.count != table.parts.len() || !self.write_whole(outlet, block, table) {
            self.write_partial(outlet, block, table, false);
        }
        self.spilled = false;
        self.count = 0;
    }

    /// Writes a block with the accesses of its table; false if it has others.
    #[inline(always)]
    fn write_whole(&mut self, outlet: &mut Outlet, block: &'static Watched, table: &'static Table) -> bool {
        let longest = (table.parts.len() + 2) * LONGEST_NUMBER;
        if outlet.room(longest).is_none() && self.no_room(outlet) {
            return true;
        }
        let Some(room) = outlet.room(longest) else { return true };
        let pairs = || table.parts.iter().zip(&self.seen[..]);
        if pairs().fold(0, |differences, (part, seen)| differences | (part.kind ^ seen.kind)) != 0 {
            return false;
        }
        let begin = room.as_mut_ptr();
        // SAFETY: there is room for a number more than there are accesses. The table of last addresses has elements for all
        // accesses that were ever defined.
        let length = unsafe {
            let last = self.last.base().add(table.first as usize);
            let mut to = put_at(begin, u64::from(table.number) << 2 | Entry::Block as u64);
            for (part, seen) in pairs() {
                if part.place != GOES_ON {
                    let last = &mut *last.add(part.place as usize);
                    to = put_at(to, zigzag(seen.address.wrapping_sub(*last) as i64));
                    *last = seen.address;
                }
            }
            to.offset_from_unsigned(begin)
        };
        outlet.advance(length);
        self.instructions += u64::from(block.instructions);
        true
    }

    /// The buffer is full, or nothing can be written any more. Gives true, since then there is nothing more to do.
    #[cold]
    fn no_room(&mut self, outlet: &mut Outlet) -> bool {
        self.publish();
        outlet.hand_over();
        // Neither goes on before the next cut looks again.
        self.interest = self.watch.limited().is_none();
        if self.interest && !outlet.take() {
            self.watch.lacks_room();
            self.interest = false;
        }
        !self.interest
    }

    /// Adds the instructions so far to those of all threads.
    pub(crate) fn publish(&mut self) {
        self.watch.executed(std::mem::take(&mut self.instructions));
    }

    /// Writes a block with the accesses that it really made.
    #[cold]
    fn write_partial(
        &mut self,
        outlet: &mut Outlet,
        block: &'static Watched,
        table: &'static Table,
        goes_on: bool,
    ) {
        if outlet.room(LONGEST_ENTRY).is_none() && self.no_room(outlet) {
            return;
        }
        let Some(room) = outlet.room(LONGEST_ENTRY) else { return };
        let code = block.code;
        let seen = &self.seen[..self.count];
        let cut_off = !goes_on
            && !self.spilled
            && seen.len() < table.parts.len()
            && seen.iter().zip(&table.parts).all(|(seen, part)| seen.kind == part.kind);
        let instructions = if self.spilled {
            0
        } else if cut_off {
            let missing = instruction_of(table.parts[seen.len()].kind, code);
            if code.ending == Ending::Repeats && missing + 1 == code.instructions {
                code.instructions
            } else {
                missing
            }
        } else {
            code.instructions
        };
        // The number of accesses is known only when parts were put together: it is written last.
        self.body.clear();
        let (mut count, mut at) = (0u64, 0);
        for seen in seen {
            let next = table.parts.get(at).filter(|part| part.kind == seen.kind);
            let part = next.or_else(|| {
                at = table.parts.iter().position(|part| part.kind == seen.kind && part.place != GOES_ON)?;
                table.parts.get(at)
            });
            let Some(part) = part else {
                let unusual = u64::from(table.length) + packed(seen.kind, self.watch.nature(seen.kind), code);
                number(&mut self.body, unusual);
                number(&mut self.body, zigzag(seen.address as i64));
                count += 1;
                continue;
            };
            at += 1;
            if part.place != GOES_ON {
                // SAFETY: as in `write_whole`.
                let last = unsafe { &mut *self.last.base().add((table.first + part.place) as usize) };
                number(&mut self.body, u64::from(part.place));
                number(&mut self.body, zigzag(seen.address.wrapping_sub(*last) as i64));
                *last = seen.address;
                count += 1;
            }
        }
        let mut length = put(room, u64::from(table.number) << 2 | Entry::Partial as u64);
        length += put(&mut room[length..], u64::from(instructions));
        length += put(&mut room[length..], count);
        room[length..length + self.body.len()].copy_from_slice(&self.body);
        outlet.advance(length + self.body.len());
        self.instructions += u64::from(instructions);
    }

    /// A block was executed for the first time by anyone: defines it. `None` if there are too many.
    #[cold]
    fn define(&self, block: &'static Watched) -> Option<&'static Table> {
        let mut blocks = self.watch.blocks()?;
        // Another thread may have been faster.
        if let Some(table) = block.table() {
            return Some(table);
        }
        let code = block.code;
        let gathers = |instruction: u32| block.gathers.contains(&instruction);
        let (parts, accesses) =
            learn(&self.seen[..self.count], code, |kind| self.watch.nature(kind), gathers);
        let first = self.watch.accesses.fetch_add(accesses.len() as u32, Ordering::Relaxed);
        if first + accesses.len() as u32 > MOST_ACCESSES {
            self.watch.accesses.store(MOST_ACCESSES, Ordering::Relaxed);
            self.watch.lacks_room();
            return None;
        }
        let number = blocks.define(code, &accesses);
        let length = accesses.len() as u32;
        Some(block.learn(Table { number, first, length, parts: parts.into_boxed_slice() }))
    }

    /// A wait begins: nothing is written until it ends.
    pub(crate) fn wait_begins(&mut self) {
        self.waiting = true;
    }

    /// A wait has ended.
    pub(crate) fn wait_ends(&mut self) {
        self.waiting = false;
    }

    /// A task begins, maybe inside a wait: it counts.
    pub(crate) fn task_begins(&mut self) {
        self.tasks = self.tasks << 1 | u64::from(self.waiting);
        self.waiting = false;
    }

    /// The task is left: what counted before it, counts again.
    pub(crate) fn task_ends(&mut self) {
        self.waiting |= self.tasks & 1 == 1;
        self.tasks >>= 1;
    }
}

/// True if a block is the next round of the repeating instruction that the other ends with.
fn is_next_round(before: &Code, next: &Code) -> bool {
    next.start == next.last && next.ending == Ending::Repeats && before.last == next.start
}
