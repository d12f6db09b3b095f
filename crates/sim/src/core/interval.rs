//! The interval core. See [`crate::core`] for what it models; this is how it is computed: in one pass, micro-op by micro-op.
//!
//! For each micro-op, in program order, with `cycle` the time of dispatch:
//!
//! ```text
//! cycle = max(cycle, end[sequence − window])          the window is full until its head is done
//! done  = max(cycle, ready[operands]) + latency
//! end[sequence] = max(end[sequence − 1], done)        in order: done with all before it
//! ```
//!
//! `end` goes up by a micro-op's piece of the critical path. At the first line, `cycle` is at least `end[sequence − window − 1]`
//! already, so all that is waited for there belongs to the piece of one micro-op, the head of the window.

use holdup_model::cycles::{CycleComponent, CycleStack, Level};

use super::Lost;
use super::compiled::{CompiledCode, Op, Step};
use super::misses::Misses;
use super::stores::{RecentStores, StoreBuffer};
use crate::machine::CoreFacts;
use crate::program::Access;
use crate::served::Served;

/// Bytes that the microcode of a string instruction moves at once: those of a vector register of SSE (Intel 64 and IA-32
/// Architectures Optimization Reference Manual, fast-string operation).
const STRING_BYTES: u32 = 16;

/// A micro-op's piece of the critical path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    /// The cycle in which it is done, and all before it.
    pub end: u64,
    /// Where waiting for it is booked.
    pub cell: u32,
    /// As what: see [`Piece::component`] and [`Piece::data`].
    booked: u32,
}

impl Piece {
    const ALL_DATA: u32 = u32::MAX >> 8;

    fn new(end: u64, cell: u32, component: u8) -> Self {
        Self { end, cell, booked: Self::ALL_DATA << 8 | u32::from(component) }
    }

    /// An access of which all but the last `data` cycles are translation of its address.
    fn translated(end: u64, cell: u32, component: u8, data: u64) -> Self {
        let data = data.min(u64::from(Self::ALL_DATA) - 1) as u32;
        Self { end, cell, booked: data << 8 | u32::from(component) }
    }

    pub(super) fn component(&self) -> usize {
        (self.booked & 0xff) as usize
    }

    /// Of the end of the piece, how many cycles are not translation.
    fn data(&self) -> u64 {
        match self.booked >> 8 {
            Self::ALL_DATA => u64::MAX,
            data => u64::from(data),
        }
    }
}

#[derive(Debug)]
pub(super) struct Interval {
    width: u32,
    window: u64,
    front_end: u64,
    /// The cycle of dispatch, and how many more micro-ops it has room for.
    cycle: u64,
    room: u32,
    /// The number of the next micro-op. The first has that of the window's size.
    sequence: u64,
    /// When all micro-ops so far are done.
    end: u64,
    /// When the last one is done.
    last: u64,
    /// The pieces of the last micro-ops: a power of two, at least the window.
    pieces: Box<[Piece]>,
    /// When each register has its value. The last is that of operands that there are none of, and always 0.
    ready: [u64; 64],
    /// Loads do not begin before this, nor do stores fetch their lines.
    ordered: u64,
    /// When each divider is free.
    dividers: [u64; 2],
    stores: RecentStores,
    buffer: StoreBuffer,
    misses: Misses,
    /// Bytes of rounds of string instructions that the next micro-op moves along: loads', stores'.
    string_bytes: [u32; 2],
    lost: Lost,
}

impl Interval {
    pub(super) fn new(facts: &CoreFacts) -> Self {
        let window = u64::from(facts.window.max(1));
        Self {
            width: facts.width.max(1),
            window,
            front_end: u64::from(facts.front_end),
            cycle: 0,
            room: facts.width.max(1),
            sequence: window,
            end: 0,
            last: 0,
            pieces: vec![Piece::default(); window.next_power_of_two() as usize].into_boxed_slice(),
            ready: [0; 64],
            ordered: 0,
            dividers: [0; 2],
            stores: RecentStores::new(),
            buffer: StoreBuffer::new(facts.store_buffer),
            misses: Misses::new(facts.outstanding_misses),
            string_bytes: [0; 2],
            lost: Lost::default(),
        }
    }

    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.cycle
    }

    pub(super) fn stack(&self) -> CycleStack {
        self.lost.stack(self.cycle)
    }

    pub(super) fn settle(&mut self, code: &CompiledCode) {
        if self.end <= self.cycle {
            return;
        }
        for sequence in self.sequence - self.window..self.sequence {
            let piece = self.pieces[sequence as usize & (self.pieces.len() - 1)];
            self.wait_for(code, piece);
        }
    }

    pub(super) fn idle_until(&mut self, cycle: u64, component: CycleComponent) {
        if cycle > self.cycle {
            self.lost.book(component as usize, cycle - self.cycle);
            self.cycle = cycle;
            self.room = self.width;
        }
    }

    #[inline]
    pub(super) fn execute(
        &mut self,
        code: &CompiledCode,
        block: u32,
        count: u32,
        served: &[Served],
        addresses: &[u64],
    ) {
        let before = self.cycle - self.lost.all;
        for op in code.ops_of(block, count) {
            self.step(code, op, served, addresses);
        }
        let full = self.cycle - self.lost.all - before;
        code.book(code.blocks[block as usize].dispatch_cell(), full);
    }

    #[inline(always)]
    fn step(&mut self, code: &CompiledCode, op: &Op, served: &[Served], addresses: &[u64]) {
        let ready = |register: u8| self.ready[usize::from(register) % 64];
        let operands = ready(op.sources[0]).max(ready(op.sources[1])).max(ready(op.sources[2]));
        if op.step == Step::Join {
            return self.set(op, operands);
        }
        let mask = self.pieces.len() - 1;
        self.wait_for(code, self.pieces[(self.sequence - self.window) as usize & mask]);
        let mut piece = Piece::new(0, op.cell, op.component);
        let done = match op.step {
            Step::Plain => self.cycle.max(operands) + u64::from(op.latency),
            Step::Load => self.load(code, op, operands, served, addresses, &mut piece),
            Step::Store => {
                let slot = usize::from(op.slot);
                self.store(code, op, operands, served.get(slot), addresses.get(slot))
            }
            _ => self.special(code, op, operands, served, addresses, &mut piece),
        };
        self.set(op, done);
        self.last = done;
        self.end = self.end.max(done);
        piece.end = self.end;
        self.pieces[self.sequence as usize & mask] = piece;
        self.sequence += 1;
        self.room -= 1;
        if self.room == 0 {
            self.room = self.width;
            self.cycle += 1;
        }
    }

    #[inline]
    fn set(&mut self, op: &Op, done: u64) {
        self.ready[usize::from(op.destinations[0]) % 64] = done;
        self.ready[usize::from(op.destinations[1]) % 64] = done;
    }

    /// Dispatch waits for the head of the window.
    #[inline]
    fn wait_for(&mut self, code: &CompiledCode, piece: Piece) {
        if piece.end > self.cycle {
            let cycles = piece.end - self.cycle;
            self.cycle = piece.end;
            self.room = self.width;
            self.book(code, piece, cycles);
        }
    }

    #[inline]
    fn book(&mut self, code: &CompiledCode, piece: Piece, cycles: u64) {
        let component = piece.component();
        let data = piece.data();
        if cycles <= data {
            self.lost.book(component, cycles);
            code.book(piece.cell, cycles);
            return;
        }
        self.lost.book(component, data);
        code.book(piece.cell, data);
        self.lost.book(CycleComponent::Tlb as usize, cycles - data);
        code.book(CompiledCode::translation_cell(piece.cell, component), cycles - data);
    }

    #[inline]
    fn load(
        &mut self,
        code: &CompiledCode,
        op: &Op,
        operands: u64,
        served: &[Served],
        addresses: &[u64],
        piece: &mut Piece,
    ) -> u64 {
        let slot = usize::from(op.slot);
        let begin = self.cycle.max(operands).max(self.ordered);
        let (Some(found), Some(&address)) = (served.get(slot), addresses.get(slot)) else {
            return begin + u64::from(op.latency);
        };
        let begin = begin.max(self.stores.ready(address));
        if found.by == Level::L1 && found.tlb == 0 && !self.misses.any_after(begin) {
            return begin + u64::from(found.latency);
        }
        self.load_slowly(op, begin, *found, address >> code.line, piece)
    }

    /// A load that misses, or whose line is on its way, or whose address has to be translated first.
    #[inline(never)]
    fn load_slowly(&mut self, op: &Op, begin: u64, found: Served, line: u64, piece: &mut Piece) -> u64 {
        let translated = begin + u64::from(found.tlb);
        let (done, by) = match found.by {
            Level::L1 => {
                let hit = translated + u64::from(found.latency);
                match self.misses.arrival(line) {
                    Some((at, by)) if at > hit => (at, by),
                    _ => (hit, Level::L1),
                }
            }
            by => (self.misses.fetch(line, translated, u64::from(found.latency), by), by),
        };
        let (cell, component) = (op.cell + by as u32, by.component() as u8);
        *piece = match found.tlb {
            0 => Piece::new(done, cell, component),
            _ => Piece::translated(done, cell, component, done - translated),
        };
        if by != Level::L1 {
            self.misses.remember(self.sequence, *piece);
        }
        done
    }

    /// A store is done when its address and data are there; it is written later.
    #[inline]
    fn store(
        &mut self,
        code: &CompiledCode,
        op: &Op,
        operands: u64,
        found: Option<&Served>,
        address: Option<&u64>,
    ) -> u64 {
        if let Some(oldest) = self.buffer.oldest()
            && oldest.end > self.cycle
        {
            self.front_end_stall(code, oldest, oldest.end - self.cycle);
        }
        let done = self.cycle.max(operands) + u64::from(op.latency);
        let mut piece = Piece::new(done.max(self.end), op.cell, op.component);
        if let Some(&address) = address {
            self.stores.store(address, done);
            if let Some(found) = found.filter(|found| found.by != Level::L1 || found.tlb != 0) {
                let begin = done.max(self.ordered) + u64::from(found.tlb);
                let at = match found.by {
                    Level::L1 => begin,
                    by => self.misses.fetch(address >> code.line, begin, u64::from(found.latency), by),
                };
                let (cell, component) = (op.cell + found.by as u32, found.by.component() as u8);
                piece = Piece::new(at.max(piece.end), cell, component);
            }
        }
        self.buffer.store(piece);
        done
    }

    #[inline(never)]
    fn special(
        &mut self,
        code: &CompiledCode,
        op: &Op,
        operands: u64,
        served: &[Served],
        addresses: &[u64],
        piece: &mut Piece,
    ) -> u64 {
        let latency = u64::from(op.latency);
        match op.step {
            Step::Divide => {
                let free = &mut self.dividers[usize::from(op.unit)];
                let begin = self.cycle.max(operands).max(*free);
                *free = begin + u64::from(op.slot);
                begin + latency
            }
            Step::AtomicLoad => {
                let stored = self.buffer.written();
                let before = operands.max(self.end).max(stored.end);
                let done = self.load(code, op, before, served, addresses, piece);
                self.blame_store(stored, done, piece);
                done
            }
            Step::Atomic => {
                self.ordered = self.cycle.max(operands) + latency;
                self.ordered
            }
            Step::AtomicStore => self.store(code, op, operands, None, addresses.get(usize::from(op.slot))),
            Step::Fence => {
                let stored = self.buffer.written();
                let before = self.cycle.max(operands).max(self.end).max(stored.end);
                self.ordered = before + latency;
                self.blame_store(stored, self.ordered, piece);
                self.ordered
            }
            Step::Serial => {
                self.settle(code);
                self.front_end_stall(code, *piece, latency);
                self.cycle
            }
            Step::Microcode => {
                self.front_end_stall(code, *piece, latency);
                self.cycle.max(operands)
            }
            Step::Plain | Step::Load | Step::Store | Step::Join => self.cycle.max(operands) + latency,
        }
    }

    /// What waits for stores to be written waits for their lines, if that is most of its time.
    fn blame_store(&self, stored: Piece, done: u64, piece: &mut Piece) {
        let waited = stored.end.saturating_sub(self.end.max(self.cycle));
        if waited > done - stored.end {
            *piece = stored;
        }
    }

    pub(super) fn extra_access(&mut self, code: &CompiledCode, block: u32, access: Access, served: Served) {
        let Some(op) = code.op_of_access(block, access) else { return };
        let bytes = &mut self.string_bytes[usize::from(access.stores)];
        *bytes += access.size;
        if *bytes < STRING_BYTES && served.by == Level::L1 && served.tlb == 0 {
            return;
        }
        *bytes = 0;
        let step = if access.stores { Step::Store } else { Step::Load };
        let none = [63; 3];
        let op = Op { step, slot: 0, sources: none, destinations: [62; 2], ..*op };
        // Addresses that are nowhere else, as these rounds depend on nothing.
        self.step(code, &op, &[served], &[!(self.sequence << code.line)]);
    }

    pub(super) fn fetch_stall(&mut self, code: &CompiledCode, block: u32, cycles: u32) {
        let cell = code.blocks[block as usize].fetch_cell();
        let piece = Piece::new(0, cell, CycleComponent::Ifetch as u8);
        self.front_end_stall(code, piece, u64::from(cycles));
    }

    pub(super) fn mispredicted(&mut self, code: &CompiledCode, block: u32) {
        let cell = code.blocks[block as usize].branch_cell();
        let piece = Piece::new(0, cell, CycleComponent::Branch as u8);
        let refilled = self.last + self.front_end;
        self.front_end_stall(code, piece, refilled.saturating_sub(self.cycle));
    }

    /// No dispatch for so many cycles. As far as a load under way hides them, they are booked to that.
    fn front_end_stall(&mut self, code: &CompiledCode, why: Piece, cycles: u64) {
        if cycles == 0 {
            return;
        }
        let mut rest = cycles;
        if self.end > self.cycle
            && let Some((hidden, load)) =
                self.misses.hidden(self.cycle, self.sequence, self.window, u64::from(self.width))
        {
            let hidden = hidden.min(cycles);
            self.lost.book(load.component(), hidden);
            code.book(load.cell, hidden);
            rest -= hidden;
        }
        self.lost.book(why.component(), rest);
        code.book(why.cell, rest);
        self.cycle += cycles;
        self.room = self.width;
    }
}
