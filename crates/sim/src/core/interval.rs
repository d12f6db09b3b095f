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

use super::compiled::{CompiledCode, Op, Step};
use super::misses::Misses;
use super::piece::{Booked, Piece};
use super::stores::{Pairs, RecentStores, StoreBuffer};
use super::{Fates, Lost};
use crate::machine::CoreFacts;
use crate::program::Access;
use crate::served::Served;

/// Bytes that the microcode of a string instruction moves at once: those of a vector register of SSE (Intel 64 and IA-32
/// Architectures Optimization Reference Manual, fast-string operation).
const STRING_BYTES: u32 = 16;

/// What changes with every micro-op: small enough for the host's registers.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// The cycle of dispatch, and how many more micro-ops it has room for.
    cycle: u64,
    room: u32,
    /// The number of the next micro-op. The first has that of the window's size.
    sequence: u64,
    /// Where its piece comes, which is where that of the window's head is.
    slot: usize,
    /// When all micro-ops so far are done.
    end: u64,
    /// When the last one is done.
    last: u64,
}

#[derive(Debug)]
pub(super) struct Interval {
    width: u32,
    window: u64,
    front_end: u64,
    at: Position,
    /// The pieces of the micro-ops in the window, a ring.
    pieces: Box<[Piece]>,
    /// When each register has its value. There are 64, and room for all that a byte can name, which spares a check. The last
    /// is that of operands that there are none of, and always 0.
    ready: [u64; 256],
    /// Loads do not begin before this, nor do stores fetch their lines.
    ordered: u64,
    /// When each divider is free.
    dividers: [u64; 2],
    atomics_wait: bool,
    stores: RecentStores,
    pairs: Option<Pairs>,
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
            at: Position { cycle: 0, room: facts.width.max(1), sequence: window, slot: 0, end: 0, last: 0 },
            pieces: vec![Piece::default(); window as usize].into_boxed_slice(),
            ready: [0; 256],
            ordered: 0,
            dividers: [0; 2],
            atomics_wait: facts.atomics_wait,
            stores: RecentStores::new(),
            pairs: Pairs::new(facts),
            buffer: StoreBuffer::new(facts.store_buffer),
            misses: Misses::new(facts.outstanding_misses),
            string_bytes: [0; 2],
            lost: Lost::default(),
        }
    }

    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.at.cycle
    }

    pub(super) fn stack(&self) -> CycleStack {
        self.lost.stack(self.at.cycle - self.lost.all)
    }

    pub(super) fn settle(&mut self, code: &CompiledCode) {
        if self.at.end <= self.at.cycle {
            return;
        }
        for slot in (self.at.slot..self.pieces.len()).chain(0..self.at.slot) {
            self.at = self.wait_for(code, self.at, self.pieces[slot]);
        }
    }

    pub(super) fn idle_until(&mut self, cycle: u64, component: CycleComponent) {
        if cycle > self.at.cycle {
            self.lost.book(component as usize, cycle - self.at.cycle);
            self.at.cycle = cycle;
            self.at.room = self.width;
        }
    }

    #[inline]
    pub(super) fn execute(
        &mut self,
        code: &CompiledCode,
        block: u32,
        count: u32,
        served: &mut impl Fates,
        addresses: &[u64],
    ) {
        let before = self.at.cycle - self.lost.all;
        let mut at = self.at;
        for op in code.ops_of(block, count) {
            at = match op.step {
                Step::Plain | Step::Load | Step::Store => self.step(code, at, op, served, addresses),
                Step::Join => self.join(at, op),
                _ => {
                    self.at = at;
                    self.special(code, op, served, addresses);
                    self.at
                }
            };
        }
        self.at = at;
        let full = at.cycle - self.lost.all;
        code.book(code.blocks[block as usize].dispatch_cell(), full - before);
    }

    #[inline]
    fn operands(&self, op: &Op) -> u64 {
        let ready = |register: u8| self.ready[usize::from(register)];
        ready(op.sources[0]).max(ready(op.sources[1])).max(ready(op.sources[2]))
    }

    #[inline]
    fn join(&mut self, at: Position, op: &Op) -> Position {
        self.set(op, self.operands(op));
        at
    }

    /// A micro-op that has only operands to wait for, loads or stores: nearly all are such.
    #[inline(always)]
    fn step(
        &mut self,
        code: &CompiledCode,
        mut at: Position,
        op: &Op,
        served: &mut impl Fates,
        addresses: &[u64],
    ) -> Position {
        let operands = self.operands(op);
        at = self.wait_for(code, at, self.pieces[at.slot]);
        let mut booked = op.booked;
        let done = match op.step {
            Step::Load => {
                let done;
                (done, booked) = self.load(code, at, op, at.cycle.max(operands), served, addresses);
                done
            }
            Step::Store => {
                let oldest = self.buffer.oldest();
                if oldest.end > at.cycle {
                    at = self.front_end_stall(code, at, oldest.booked, oldest.end - at.cycle);
                }
                self.store(code, at, op, at.cycle.max(operands), Some(served), addresses)
            }
            _ => at.cycle.max(operands) + u64::from(op.latency),
        };
        self.dispatched(at, op, done, booked)
    }

    /// The micro-op was dispatched, and is done at that time.
    #[inline(always)]
    fn dispatched(&mut self, mut at: Position, op: &Op, done: u64, booked: Booked) -> Position {
        self.set(op, done);
        at.last = done;
        at.end = at.end.max(done);
        self.pieces[at.slot] = Piece { end: at.end, booked };
        at.slot += 1;
        at.slot = if at.slot == self.pieces.len() { 0 } else { at.slot };
        at.sequence += 1;
        let is_full = at.room == 1;
        at.room = if is_full { self.width } else { at.room - 1 };
        at.cycle += u64::from(is_full);
        at
    }

    #[inline]
    fn set(&mut self, op: &Op, done: u64) {
        self.ready[usize::from(op.destinations[0])] = done;
        self.ready[usize::from(op.destinations[1])] = done;
    }

    /// Dispatch waits for the head of the window.
    #[inline]
    fn wait_for(&mut self, code: &CompiledCode, mut at: Position, piece: Piece) -> Position {
        if piece.end > at.cycle {
            self.book(code, piece.booked, piece.end - at.cycle);
            at.cycle = piece.end;
            at.room = self.width;
        }
        at
    }

    #[inline]
    fn book(&mut self, code: &CompiledCode, booked: Booked, cycles: u64) {
        let data = booked.data_of(cycles);
        self.lost.book(booked.component(), data);
        code.book(booked.cell(), data);
        if data < cycles {
            self.lost.book(CycleComponent::Tlb as usize, cycles - data);
            code.book(CompiledCode::translation_cell(booked.cell(), booked.component()), cycles - data);
        }
    }

    #[inline]
    fn load(
        &mut self,
        code: &CompiledCode,
        at: Position,
        op: &Op,
        begin: u64,
        served: &mut impl Fates,
        addresses: &[u64],
    ) -> (u64, Booked) {
        let begin = begin.max(self.ordered);
        let hit = op.booked;
        let Some(&address) = addresses.get(usize::from(op.slot)) else {
            return (begin + u64::from(op.latency), hit);
        };
        let (stored, ago) = self.stores.ready(address);
        let ready = begin.max(stored);
        let Some(found) = served.of(op.slot, self.misses.begins(address >> code.line, ready)) else {
            return (begin + u64::from(op.latency), hit);
        };
        let begin = ready;
        if found.by == Level::L1 && found.tlb == 0 {
            let latency = match &mut self.pairs {
                Some(pairs) if stored != 0 => pairs.latency(hit.cell(), ago),
                _ => None,
            };
            let done = begin + latency.unwrap_or(u64::from(found.latency));
            let line = address >> code.line;
            if !self.misses.any_after(begin) || self.misses.arrival(line).is_none_or(|(at, _)| at <= done) {
                return (done, hit);
            }
        }
        self.load_slowly(at.sequence, hit, begin, &found, address >> code.line)
    }

    /// A load that misses, or whose line is on its way, or whose address has to be translated first.
    #[inline(never)]
    fn load_slowly(
        &mut self,
        sequence: u64,
        booked: Booked,
        begin: u64,
        found: &Served,
        line: u64,
    ) -> (u64, Booked) {
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
        let booked = match found.tlb {
            0 => booked.by(by),
            _ => booked.by(by).translated(done - translated),
        };
        if by != Level::L1 {
            self.misses.remember(sequence, Piece { end: done, booked });
        }
        (done, booked)
    }

    /// A store is done when its address and data are there; it is written later.
    #[inline]
    fn store(
        &mut self,
        code: &CompiledCode,
        at: Position,
        op: &Op,
        begin: u64,
        served: Option<&mut impl Fates>,
        addresses: &[u64],
    ) -> u64 {
        let done = begin + u64::from(op.latency);
        let (mut end, mut booked) = (done.max(at.end), op.booked);
        if let Some(&address) = addresses.get(usize::from(op.slot)) {
            self.stores.store(address, done);
            let begin = self.misses.begins(address >> code.line, done.max(self.ordered));
            if let Some(found) = served.and_then(|served| served.of(op.slot, begin))
                && (found.by != Level::L1 || found.tlb != 0)
            {
                let there;
                (there, booked) = self.store_slowly(booked, done, &found, address >> code.line);
                end = end.max(there);
            }
        }
        self.buffer.store(end, booked);
        done
    }

    /// When the line is there of a store that misses or whose address has to be translated first.
    #[inline(never)]
    fn store_slowly(&mut self, booked: Booked, done: u64, found: &Served, line: u64) -> (u64, Booked) {
        let begin = done.max(self.ordered) + u64::from(found.tlb);
        let there = match found.by {
            Level::L1 => begin,
            by => self.misses.fetch(line, begin, u64::from(found.latency), by),
        };
        (there, booked.by(found.by))
    }

    /// A micro-op that does more than to wait for its operands.
    #[inline(never)]
    fn special(&mut self, code: &CompiledCode, op: &Op, served: &mut impl Fates, addresses: &[u64]) {
        let operands = self.operands(op);
        self.at = self.wait_for(code, self.at, self.pieces[self.at.slot]);
        let latency = u64::from(op.latency);
        let booked = op.booked;
        let begin = self.at.cycle.max(operands);
        let (done, booked) = match op.step {
            Step::Divide => {
                let free = &mut self.dividers[usize::from(op.unit)];
                let begin = begin.max(*free);
                *free = begin + u64::from(op.slot);
                (begin + latency, booked)
            }
            Step::AtomicLoad => {
                let stored = self.buffer.written();
                let before = if self.atomics_wait { self.at.end } else { 0 };
                let begin = begin.max(before).max(stored.end);
                let (done, booked) = self.load(code, self.at, op, begin, served, addresses);
                (done, self.longer_wait(stored, done, booked))
            }
            Step::Atomic => {
                let done = begin + latency;
                self.ordered = if self.atomics_wait { done } else { self.ordered };
                (done, booked)
            }
            Step::AtomicStore => {
                (self.store(code, self.at, op, begin, None::<&mut &[Served]>, addresses), booked)
            }
            Step::Fence => {
                let stored = self.buffer.written();
                self.ordered = begin.max(self.at.end).max(stored.end) + latency;
                (self.ordered, self.longer_wait(stored, self.ordered, booked))
            }
            Step::Serial => {
                self.settle(code);
                self.at = self.front_end_stall(code, self.at, booked, latency);
                (self.at.cycle, booked)
            }
            Step::Microcode => {
                self.at = self.front_end_stall(code, self.at, booked, latency);
                (self.at.cycle.max(operands), booked)
            }
            Step::Plain | Step::Load | Step::Store | Step::Join => (begin + latency, booked),
        };
        self.at = self.dispatched(self.at, op, done, booked);
    }

    /// What waits for stores to be written waits for their lines, if that is most of its time.
    fn longer_wait(&self, stored: Piece, done: u64, own: Booked) -> Booked {
        let waited = stored.end.saturating_sub(self.at.end.max(self.at.cycle));
        if waited > done - stored.end { stored.booked } else { own }
    }

    pub(super) fn extra_access(&mut self, code: &CompiledCode, block: u32, access: Access, served: Served) {
        let Some(op) = code.op_of_access(block, access) else { return };
        let bytes = &mut self.string_bytes[usize::from(access.stores)];
        *bytes += access.size;
        // Those that follow in a line that is on its way are served from where the line comes, too.
        if *bytes < STRING_BYTES {
            return;
        }
        *bytes = 0;
        let step = if access.stores { Step::Store } else { Step::Load };
        let none = [63; 3];
        let op = Op { step, slot: 0, sources: none, destinations: [62; 2], ..*op };
        // Addresses that are nowhere else, as these rounds depend on nothing.
        self.at = self.step(code, self.at, &op, &mut &[served][..], &[!(self.at.sequence << code.line)]);
    }

    pub(super) fn fetch_stall(&mut self, code: &CompiledCode, block: u32, cycles: u32) {
        let cell = code.blocks[block as usize].fetch_cell();
        let booked = Booked::new(cell, CycleComponent::Ifetch as u8);
        self.at = self.front_end_stall(code, self.at, booked, u64::from(cycles));
    }

    pub(super) fn mispredicted(&mut self, code: &CompiledCode, block: u32) {
        let cell = code.blocks[block as usize].branch_cell();
        let booked = Booked::new(cell, CycleComponent::Branch as u8);
        let refilled = self.at.last + self.front_end;
        self.at = self.front_end_stall(code, self.at, booked, refilled.saturating_sub(self.at.cycle));
    }

    /// No dispatch for so many cycles. As far as a load under way hides them, they are booked to that.
    #[inline(always)]
    fn front_end_stall(
        &mut self,
        code: &CompiledCode,
        mut at: Position,
        why: Booked,
        cycles: u64,
    ) -> Position {
        self.book_stall(code, [at.cycle, at.sequence, at.end], why, cycles);
        at.cycle += cycles;
        if cycles > 0 {
            at.room = self.width;
        }
        at
    }

    #[inline(never)]
    fn book_stall(&mut self, code: &CompiledCode, at: [u64; 3], why: Booked, cycles: u64) {
        let [cycle, sequence, end] = at;
        let mut rest = cycles;
        if end > cycle
            && let Some((hidden, load)) =
                self.misses.hidden(cycle, sequence, self.window, u64::from(self.width))
        {
            let hidden = hidden.min(cycles);
            self.lost.book(load.booked.component(), hidden);
            code.book(load.booked.cell(), hidden);
            rest -= hidden;
        }
        self.lost.book(why.component(), rest);
        code.book(why.cell(), rest);
    }
}
