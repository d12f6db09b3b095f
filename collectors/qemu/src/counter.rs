//! The fast mode: what one thread executed, as edges between blocks of the program.
//!
//! The hot path is [`Counter::own`]: one comparison and one addition for a block that follows its predecessor as it did
//! before. Everything else that can happen between two blocks of the program makes [`Counter::row`] that of nowhere, which
//! no block follows, and so leads to the slow path, where [`Zone`] says what it was.

use crate::calls::{Calls, Zone};
use crate::code::{Code, Codes, Role};
use crate::edges::{Edges, Key, NOWHERE, Row, block_of};
use crate::ending::Ending;
use crate::reserved::Reserved;
use crate::sums::Sums;

/// What a thread executes, and executed since the last cut.
#[repr(C)]
pub(crate) struct Counter {
    /// The row of the block executed last; that of nowhere outside of counted code.
    row: *mut Row,
    rows: *mut Row,
    /// Instructions of libraries for the innermost caller.
    charge: u64,
    /// Instructions that are not counted.
    other: u64,
    zone: Zone,
    waiting: bool,
    /// The program's block executed last, where `row` does not say it.
    last: Key,
    /// The foreign block executed last.
    foreign: *const Code,
    /// In [`Zone::Runtime`]: what counted before, and where control returns to it.
    outer: (Zone, u64),
    /// Where foreign code goes on that a callback left by a jump to other foreign code; 0 if that is not so.
    watch: u64,
    /// Behind the library's call that led to the last linkage stub.
    stub_from: u64,
    /// Whether tasks were begun inside a wait: a bit for each that is open.
    tasks: u64,
    calls: Calls,
    edges: Edges,
    charges: Reserved<u64>,
    charged: Vec<Key>,
    codes: Codes,
}

// SAFETY: the pointers are into tables of its own and into those of all blocks, which stay.
unsafe impl Send for Counter {}

impl Counter {
    /// Nothing yet, and room for so many blocks; `None` without address space.
    pub(crate) fn new(codes: Codes, blocks: u32) -> Option<Self> {
        let edges = Edges::new(blocks)?;
        Some(Self {
            row: edges.rows(),
            rows: edges.rows(),
            charge: 0,
            other: 0,
            zone: Zone::Own,
            waiting: false,
            last: NOWHERE,
            foreign: std::ptr::null(),
            outer: (Zone::Own, 0),
            watch: 0,
            stub_from: 0,
            tasks: 0,
            calls: Calls::default(),
            edges,
            charges: Reserved::new(blocks as usize + 1)?,
            charged: Vec::new(),
            codes,
        })
    }

    /// A block of the program begins.
    ///
    /// # Safety
    /// `key` is that of a block.
    #[inline(always)]
    pub(crate) unsafe fn own(&mut self, key: Key) {
        let row = self.row;
        // SAFETY: there is a row for each block.
        self.row = unsafe { self.rows.byte_add(key as usize) };
        // SAFETY: `row` is always one of this table.
        let seen = unsafe { &mut *row };
        if seen.to[0] == key {
            seen.times[0] += 1;
        } else if seen.to[1] == key {
            seen.times[1] += 1;
        } else {
            self.own_slow(row, key);
        }
    }

    /// A block of the program begins that is a repeating string instruction: the next round of one, if the last block ended
    /// with it.
    ///
    /// # Safety
    /// As [`Counter::own`].
    pub(crate) unsafe fn own_repeating(&mut self, key: Key) {
        let before = self.codes.of(self.last_own());
        let goes_on = self.zone == Zone::Own
            && before
                .zip(self.codes.of(key))
                .is_some_and(|(before, code)| before.ending == Ending::Repeats && before.last == code.start);
        if !goes_on {
            // SAFETY: the caller's promise.
            unsafe { self.own(key) };
        }
    }

    /// A block of a library begins.
    #[inline(always)]
    pub(crate) fn library(&mut self, code: &Code) {
        if self.zone != Zone::Library || code.start == self.watch {
            self.library_slow(code);
            return;
        }
        if code.ending == Ending::Repeats && self.is_next_round(code) {
            return;
        }
        self.charge += u64::from(code.instructions);
        self.foreign = code;
    }

    /// A block that is neither the program's nor a library's begins.
    pub(crate) fn foreign(&mut self, code: &Code) {
        if self.zone != Zone::Own && self.is_next_round(code) {
            return;
        }
        let instructions = u64::from(code.instructions);
        match code.role {
            Role::Linkage => {
                match self.zone {
                    Zone::Own => self.leave_own(code, Zone::Linkage),
                    _ => self.stub_from = self.foreign_code().map_or(0, |from| from.end),
                }
                if self.zone == Zone::Runtime {
                    self.other += instructions
                } else {
                    self.charge += instructions
                }
            }
            Role::Linker => {
                if self.zone == Zone::Own {
                    self.leave_own(code, Zone::Linkage);
                }
                self.other += instructions;
            }
            _ => {
                if self.zone == Zone::Own {
                    self.leave_own(code, Zone::Runtime);
                }
                if self.zone == Zone::Linkage {
                    // The stubs were on the way to what is not counted.
                    self.other += std::mem::take(&mut self.charge);
                }
                if self.zone != Zone::Runtime {
                    let returns = match self.foreign_code() {
                        Some(from) if from.ending == Ending::Call => from.end,
                        _ => self.stub_from,
                    };
                    self.outer = (std::mem::replace(&mut self.zone, Zone::Runtime), returns);
                }
                self.other += instructions;
            }
        }
        self.foreign = code;
    }

    #[cold]
    fn library_slow(&mut self, code: &Code) {
        match self.zone {
            _ if code.start == self.watch => {
                self.settle();
                self.watch = 0;
                self.zone = self.calls.resume(code.start).unwrap_or(Zone::Library);
            }
            Zone::Own => self.leave_own(code, Zone::Library),
            Zone::Linkage => self.zone = Zone::Library,
            Zone::Runtime if code.start == self.outer.1 => self.zone = self.outer.0,
            _ => {}
        }
        if !self.is_next_round(code) {
            let to = if self.zone == Zone::Runtime { &mut self.other } else { &mut self.charge };
            *to += u64::from(code.instructions);
        }
        self.foreign = code;
    }

    fn foreign_code(&self) -> Option<&'static Code> {
        // SAFETY: null, or an entry of the table of all blocks.
        unsafe { self.foreign.as_ref() }
    }

    fn is_next_round(&self, code: &Code) -> bool {
        code.start == code.last
            && self
                .foreign_code()
                .is_some_and(|before| before.ending == Ending::Repeats && before.last == code.start)
    }

    /// The program's block executed last.
    fn last_own(&self) -> Key {
        let offset = self.row as usize - self.rows as usize;
        if offset == 0 { self.last } else { offset as Key }
    }

    #[cold]
    fn own_slow(&mut self, before: *mut Row, key: Key) {
        let from = (before as usize - self.rows as usize) as Key;
        if from != NOWHERE {
            self.edges.add(from, key);
            return;
        }
        let from = if self.zone == Zone::Own { Some(NOWHERE) } else { self.enter_own(key) };
        if self.waiting {
            self.other += self.codes.of(key).map_or(0, |code| u64::from(code.instructions));
            self.last = key;
            self.row = self.rows;
        } else {
            self.edges.add(from.unwrap_or(NOWHERE), key);
        }
    }

    /// From foreign code to the program: gives the block that the edge comes from.
    fn enter_own(&mut self, key: Key) -> Option<Key> {
        let address = self.codes.of(key)?.start;
        self.settle();
        self.watch = 0;
        let zone = std::mem::replace(&mut self.zone, Zone::Own);
        let by = self.foreign_code().map_or((Ending::Falls, 0), |code| (code.ending, code.end));
        match by {
            (Ending::Call, next) => {
                let caller = self.calls.caller();
                self.calls.suspend(next, zone);
                (zone != Zone::Runtime).then_some(caller)
            }
            (Ending::Return, _) => self.calls.end_at(address).or_else(|| self.calls.end_innermost()),
            _ if zone == Zone::Linkage => self.calls.end_innermost(),
            _ => self.calls.end_at(address).or_else(|| {
                let caller = self.calls.caller();
                self.calls.suspend(0, zone);
                (zone != Zone::Runtime).then_some(caller)
            }),
        }
    }

    /// From the program to foreign code.
    fn leave_own(&mut self, code: &Code, zone: Zone) {
        self.last = self.last_own();
        self.row = self.rows;
        self.zone = zone;
        self.stub_from = 0;
        let Some(from) = self.codes.of(self.last) else { return };
        match from.ending {
            Ending::Call => self.calls.begin(self.last, from.end, zone),
            Ending::Return => {
                let resumed = self.calls.resume(code.start).unwrap_or(zone);
                self.zone = if zone == Zone::Runtime { zone } else { resumed };
            }
            _ => {
                self.watch = self.calls.suspended_at();
                self.calls.begin(self.last, 0, zone);
            }
        }
        if self.zone == Zone::Runtime {
            self.outer = (Zone::Runtime, 0);
        }
    }

    /// Charges the calling block with what libraries executed for it.
    fn settle(&mut self) {
        let charge = std::mem::take(&mut self.charge);
        if self.waiting {
            self.other += charge;
        } else if charge > 0 {
            let caller = self.calls.caller();
            // SAFETY: the table has an element for each key, and one for nowhere.
            let sum = unsafe { &mut *self.charges.base().add((caller / crate::edges::STRIDE) as usize) };
            if *sum == 0 {
                self.charged.push(caller);
            }
            *sum += charge;
        }
    }

    /// Where the program's block executed last ends: its last instruction; 0 where there is none.
    pub(crate) fn came_from(&self) -> u64 {
        self.codes.of(self.last_own()).map_or(0, |code| code.last)
    }

    /// A wait begins: nothing counts until it ends.
    pub(crate) fn wait_begins(&mut self) {
        self.settle();
        self.last = self.last_own();
        self.row = self.rows;
        self.waiting = true;
    }

    /// A wait has ended.
    pub(crate) fn wait_ends(&mut self) {
        self.settle();
        self.waiting = false;
    }

    /// A task begins, maybe inside a wait: it counts.
    pub(crate) fn task_begins(&mut self) {
        self.settle();
        self.tasks = self.tasks << 1 | u64::from(self.waiting);
        self.waiting = false;
    }

    /// The task is left: what counted before it, counts again.
    pub(crate) fn task_ends(&mut self) {
        if self.tasks & 1 == 1 {
            self.wait_begins();
        }
        self.tasks >>= 1;
    }

    /// Control goes where no instruction of this thread says: a signal handler returns.
    pub(crate) fn jumps(&mut self) {
        self.settle();
        self.row = self.rows;
        self.last = NOWHERE;
        self.zone = Zone::Own;
    }

    /// Another thread begins: nothing is left of the one before but what its rows have learnt.
    pub(crate) fn begin_anew(&mut self) {
        self.edges.drain(|_, _, _| {});
        self.discard_charges();
        self.calls.clear();
        (self.charge, self.other, self.tasks) = (0, 0, 0);
        self.waiting = false;
        self.foreign = std::ptr::null();
        self.row = self.rows;
        self.last = NOWHERE;
        self.zone = Zone::Own;
        (self.watch, self.stub_from) = (0, 0);
    }

    fn discard_charges(&mut self) {
        for key in self.charged.drain(..) {
            // SAFETY: as in `settle`.
            unsafe { *self.charges.base().add((key / crate::edges::STRIDE) as usize) = 0 };
        }
    }

    /// Throws away what was counted since the last cut.
    pub(crate) fn discard(&mut self) {
        self.settle();
        self.edges.drain(|_, _, _| {});
        self.discard_charges();
        self.other = 0;
    }

    /// Moves what was counted since the last cut to `sums`.
    pub(crate) fn drain(&mut self, sums: &mut Sums) {
        self.settle();
        sums.clear();
        self.edges.drain(|from, to, times| {
            if from != NOWHERE {
                sums.edges.push((block_of(from), block_of(to), times));
            }
            sums.executed.push((block_of(to), times));
        });
        for key in self.charged.drain(..) {
            // SAFETY: as in `settle`.
            let sum = unsafe { &mut *self.charges.base().add((key / crate::edges::STRIDE) as usize) };
            let charge = std::mem::take(sum);
            sums.library_instructions += charge;
            if key != NOWHERE {
                sums.library.push((block_of(key), charge));
            }
        }
        sums.other_instructions = std::mem::take(&mut self.other);
        sums.order();
        sums.own_instructions = sums
            .executed
            .iter()
            .map(|(block, times)| {
                let code = self.codes.of(crate::edges::key_of(*block));
                times * code.map_or(0, |code| u64::from(code.instructions))
            })
            .sum();
    }
}
