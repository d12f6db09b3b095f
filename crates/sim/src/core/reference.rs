//! The interval core once more, simulated cycle by cycle and with searches instead of tables: slow, and simple enough to be
//! seen to be right. [`Interval`](super::interval::Interval) has to give the same cycles and the same stack.
//!
//! It has neither limits of buffers nor operations that order others.

use holdup_model::cycles::{CycleComponent, CycleStack, Level};

use super::compiled::{CompiledCode, Op, Step};
use super::tests::{Act, served};
use crate::machine::Machine;
use crate::served::Served;

/// A micro-op that was dispatched.
struct Done {
    op: Op,
    /// Its number among those that take a place in the window; none for those that only join dependences.
    number: Option<usize>,
    done: u64,
    address: u64,
    /// Who gave its data, and how many cycles that took without translation.
    by: Level,
    data: u64,
    /// For accesses that missed, when the line is there.
    arrival: Option<u64>,
}

pub(super) struct Reference<'a> {
    code: &'a CompiledCode,
    width: u32,
    window: usize,
    front_end: u64,
    cycle: u64,
    used: u32,
    stack: CycleStack,
    past: Vec<Done>,
    /// Of `past`, those that take a place in the window.
    numbered: Vec<usize>,
    retired: usize,
    dividers: [u64; 2],
}

impl<'a> Reference<'a> {
    pub(super) fn new(machine: &Machine, code: &'a CompiledCode) -> Self {
        Self {
            code,
            width: machine.core.width,
            window: machine.core.window as usize,
            front_end: u64::from(machine.core.front_end),
            cycle: 0,
            used: 0,
            stack: CycleStack::default(),
            past: Vec::new(),
            numbered: Vec::new(),
            retired: 0,
            dividers: [0; 2],
        }
    }

    pub(super) fn run(mut self, acts: &[Act]) -> (u64, CycleStack) {
        let mut is_any = false;
        for act in acts {
            match act {
                Act::Execute(block, accesses) => {
                    is_any = true;
                    for op in self.code.ops_of(*block, u32::MAX) {
                        let access = accesses.get(usize::from(op.slot)).filter(|_| op.is_access());
                        self.execute(*op, access.map(|&(kind, address)| served(kind, address)));
                    }
                }
                Act::Mispredicted if is_any => {
                    let resolved = self.numbered.last().map_or(0, |&last| self.past[last].done);
                    let cycles = (resolved + self.front_end).saturating_sub(self.cycle);
                    self.front_end_stall(CycleComponent::Branch, cycles);
                }
                Act::Mispredicted => {}
                Act::Fetch(cycles) => self.front_end_stall(CycleComponent::Ifetch, u64::from(*cycles)),
                Act::Idle(cycles) => {
                    self.settle();
                    (0..*cycles).for_each(|_| self.pass(CycleComponent::SyncBarrier));
                }
            }
        }
        self.settle();
        (self.cycle, self.stack)
    }

    fn pass(&mut self, component: CycleComponent) {
        self.stack.book(component, 1);
        self.cycle += 1;
        self.used = 0;
    }

    /// The first micro-op of the window that is not done, after those that are have left.
    fn head(&mut self) -> Option<&Done> {
        while self.numbered.get(self.retired).is_some_and(|&at| self.past[at].done <= self.cycle) {
            self.retired += 1;
        }
        self.numbered.get(self.retired).map(|&at| &self.past[at])
    }

    fn wait_for_head(&mut self) {
        let cycle = self.cycle;
        let component = self.head().map(|head| match head.op.is_access() {
            // What a store waits for besides its operands goes on in the store buffer.
            true if head.op.step == Step::Store => CycleComponent::MemL1d,
            true if head.done - cycle > head.data => CycleComponent::Tlb,
            true => head.by.component(),
            false => CycleComponent::ALL[head.op.booked.component()],
        });
        self.pass(component.expect("somebody to wait for"));
    }

    fn settle(&mut self) {
        while self.head().is_some() {
            self.wait_for_head();
        }
    }

    fn execute(&mut self, op: Op, access: Option<(Served, u64)>) {
        if op.step == Step::Join {
            let done = self.operands(&op);
            let nothing = Done { op, number: None, done, address: 0, by: Level::L1, data: 0, arrival: None };
            self.past.push(nothing);
            return;
        }
        while self.head().is_some() && self.numbered.len() - self.retired >= self.window {
            self.wait_for_head();
        }
        let mut begin = self.operands(&op).max(self.cycle);
        let (found, address) = access.unwrap_or_default();
        let data = u64::from(found.latency);
        let mut made = Done {
            op,
            number: Some(self.numbered.len()),
            done: 0,
            address,
            by: found.by,
            data: u64::MAX,
            arrival: None,
        };
        match op.step {
            Step::Load => {
                let stored = self.last(|past| past.op.step == Step::Store && past.address == address);
                begin = begin.max(stored.map_or(0, |past| past.done)) + u64::from(found.tlb);
                made.done = begin + data;
                let line = self.last(|past| past.arrival.is_some() && past.address / 64 == address / 64);
                if found.by != Level::L1 {
                    made.arrival = Some(made.done);
                } else if let Some((at, by)) = line.and_then(|past| Some((past.arrival?, past.by)))
                    && at > made.done
                {
                    (made.done, made.by) = (at, by);
                }
                if found.tlb > 0 {
                    made.data = made.done - begin;
                }
            }
            Step::Store => {
                made.done = begin + u64::from(op.latency);
                if found.by != Level::L1 {
                    made.arrival = Some(made.done + u64::from(found.tlb) + data);
                }
            }
            Step::Divide => {
                begin = begin.max(self.dividers[usize::from(op.unit)]);
                self.dividers[usize::from(op.unit)] = begin + u64::from(op.slot);
                made.done = begin + u64::from(op.latency);
            }
            _ => made.done = begin + u64::from(op.latency),
        }
        self.numbered.push(self.past.len());
        self.past.push(made);
        self.used += 1;
        if self.used == self.width {
            self.pass(CycleComponent::DispatchWidth);
        }
    }

    fn last(&self, is: impl Fn(&Done) -> bool) -> Option<&Done> {
        self.past.iter().rev().find(|past| is(past))
    }

    fn operands(&self, op: &Op) -> u64 {
        let ready =
            |source: &u8| self.last(|past| past.op.destinations.contains(source)).map_or(0, |past| past.done);
        op.sources.iter().filter(|source| **source != 63).map(ready).max().unwrap_or(0)
    }

    /// The cycles that a load under way would have cost after the window had filled up are that load's.
    fn front_end_stall(&mut self, component: CycleComponent, cycles: u64) {
        let mut hidden: Option<(u64, CycleComponent)> = None;
        for past in self.past.iter().rev() {
            let Some(number) = past.number else { continue };
            let room = (number + self.window).saturating_sub(self.numbered.len());
            if past.op.step != Step::Load || past.by == Level::L1 || room == 0 {
                continue;
            }
            let full = self.cycle + room.div_ceil(self.width as usize) as u64;
            let waits = past.done.saturating_sub(full);
            if waits > hidden.map_or(0, |(most, _)| most) {
                hidden = Some((waits, past.by.component()));
            }
        }
        let (waits, load) = hidden.unwrap_or((0, component));
        let waits = waits.min(cycles);
        (0..waits).for_each(|_| self.pass(load));
        (waits..cycles).for_each(|_| self.pass(component));
    }
}
