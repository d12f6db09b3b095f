//! Who asks a policy when: it keeps the slices, the criticality unit and the table of waits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use holdup_model::Fixed;

use crate::criticality::{CriticalityUnit, UnitWork};
use crate::policy::{Moment, Policy, Slice, ThreadSlice};
use crate::prospects::{Prospect, Prospects};
use crate::waiting::{Bottleneck, WaitTable};

/// What a thread does that policies are told of. The order is that of changes at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// So many ticks since it became active were stalls that no faster clock makes shorter.
    Stalled(u64),
    /// It is no longer on a core, or no longer does useful work.
    Inactive,
    /// What it waited for is there: it will go on once it is awake, which is not yet useful work.
    Released,
    /// It begins to wait for others at a bottleneck.
    Waits(Bottleneck),
    /// It waits for the end of another thread.
    Joins,
    /// It has the lock, or is on its way to the barrier.
    Enters(Bottleneck),
    /// It no longer is.
    Leaves(Bottleneck),
    /// It no longer waits at a bottleneck.
    GoesOn(Bottleneck),
    /// It does useful work on a core.
    Active,
    /// It has ended.
    Ends,
}

/// A time for which a thread was fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which.
    pub thread: u32,
    /// From then.
    pub begin: u64,
    /// To then.
    pub end: u64,
}

/// What a slice had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceRecord {
    /// When it ended.
    pub end: u64,
    /// The criticality of each thread in it.
    pub criticality: Vec<Fixed>,
    /// Ticks in which nobody was active.
    pub nobody: u64,
    /// What the unit did.
    pub work: UnitWork,
}

/// What happened in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// All slices; the last may be shorter.
    pub slices: Vec<SliceRecord>,
    /// When which active threads were fast, by their begin.
    pub spans: Vec<Span>,
    /// What making each thread faster would give; empty unless that was asked for.
    pub prospects: Vec<Prospect>,
}

impl Record {
    /// The criticality of each thread in the whole run.
    pub fn criticality(&self) -> Vec<Fixed> {
        let threads = self.slices.iter().map(|slice| slice.criticality.len()).max().unwrap_or(0);
        let of = |thread: usize| self.slices.iter().filter_map(|slice| slice.criticality.get(thread)).sum();
        (0..threads).map(of).collect()
    }

    /// What the unit did in the whole run.
    pub fn work(&self) -> UnitWork {
        self.slices.iter().fold(UnitWork::default(), |all, slice| all.and(slice.work))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    has_begun: bool,
    has_ended: bool,
    joins: bool,
    misses: [u64; 3],
    fast_since: Option<u64>,
}

/// Asks a policy at the end of each slice and after each change, and remembers what came of it.
///
/// Changes may be told in any order, as long as none is told for a time up to which [`Governor::advance`] has gone: a simulator
/// may be a little ahead with some cores.
pub struct Governor {
    policy: Box<dyn Policy>,
    slice: u64,
    slice_end: u64,
    unit: CriticalityUnit,
    prospects: Option<Prospects>,
    table: WaitTable,
    threads: Vec<Thread>,
    active: Vec<bool>,
    told: BinaryHeap<Reverse<(u64, u64, Change, u32)>>,
    number: u64,
    now: u64,
    record: Record,
}

impl std::fmt::Debug for Governor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Governor")
            .field("policy", &self.policy.name())
            .field("now", &self.now)
            .finish()
    }
}

impl Governor {
    /// For a run of so many threads that begins at 0, with slices of so many ticks.
    pub fn new(policy: Box<dyn Policy>, slice: u64, table: WaitTable, threads: usize) -> Self {
        let slice = slice.max(1);
        Self {
            policy,
            slice,
            slice_end: slice,
            unit: CriticalityUnit::new(0),
            prospects: None,
            table,
            threads: vec![Thread::default(); threads],
            active: vec![false; threads],
            told: BinaryHeap::new(),
            number: 0,
            now: 0,
            record: Record::default(),
        }
    }

    /// Foresees too what a clock that is so many times as fast would give each thread.
    #[must_use]
    pub fn foreseeing(self, ratio: f64) -> Self {
        Self { prospects: Some(Prospects::new(ratio)), ..self }
    }

    /// The policy's name.
    pub fn name(&self) -> &'static str {
        self.policy.name()
    }

    /// Something changes at a time.
    pub fn tell(&mut self, now: u64, thread: u32, change: Change) {
        let now = now.max(self.now);
        self.told.push(Reverse((now, self.number, change, thread)));
        self.number += 1;
    }

    /// A thread missed caches; the second level, the third or memory gave the data.
    pub fn missed(&mut self, thread: u32, misses: [u64; 3]) {
        let own = &mut self.threads[thread as usize].misses;
        own.iter_mut().zip(misses).for_each(|(sum, more)| *sum += more);
    }

    /// When the current slice ends.
    pub fn slice_end(&self) -> u64 {
        self.slice_end
    }

    /// All that was told for before `until` happens, and slices that end by then end. True if who is fast may have changed.
    pub fn advance(&mut self, until: u64) -> bool {
        let mut changed = false;
        loop {
            let next = self.told.peek().map(|Reverse((at, ..))| *at).filter(|&at| at < until);
            if self.slice_end <= next.unwrap_or(until) {
                self.end_slice(self.slice_end);
                self.slice_end += self.slice;
                changed = true;
            } else if let Some(at) = next {
                self.happen(at);
                changed = true;
            } else {
                self.now = self.now.max(until);
                return changed;
            }
        }
    }

    /// Whether the core of a thread is fast.
    pub fn is_fast(&self, thread: u32) -> bool {
        self.policy.is_fast(thread)
    }

    /// The run ends; gives what happened.
    pub fn finish(mut self, end: u64) -> Record {
        self.advance(end);
        if end > self.slice_end - self.slice {
            self.end_slice(end);
        }
        for index in 0..self.threads.len() {
            self.set_fast(index, false, end);
        }
        let threads = self.threads.len();
        self.record.prospects =
            self.prospects.take().map(|prospects| prospects.finish(end, threads)).unwrap_or_default();
        self.record.spans.sort_by_key(|span| (span.begin, span.thread, span.end));
        self.record
    }

    /// All that is told for this time.
    fn happen(&mut self, at: u64) {
        self.now = at;
        while let Some(&Reverse((_, _, change, thread))) = self.told.peek().filter(|found| found.0.0 == at) {
            self.told.pop();
            self.change(at, thread, change);
        }
        self.policy.react(&Moment { now: at, active: &self.active, bottlenecks: &self.table });
        self.note_fast(at);
    }

    fn change(&mut self, at: u64, index: u32, change: Change) {
        let thread = &mut self.threads[index as usize];
        match change {
            Change::Active | Change::Inactive => {
                let is_active = change == Change::Active;
                thread.has_begun |= is_active;
                thread.joins &= !is_active;
                if let Some(prospects) = &mut self.prospects {
                    prospects.set_active(index, at, is_active);
                }
                if self.active[index as usize] != is_active {
                    self.active[index as usize] = is_active;
                    self.unit.set_active(index, at, is_active);
                }
            }
            Change::Released => {
                if let Some(prospects) = &mut self.prospects {
                    prospects.set_active(index, at, true);
                }
            }
            Change::Stalled(ticks) => {
                if let Some(prospects) = &mut self.prospects {
                    prospects.stalled(index, ticks);
                }
            }
            Change::Waits(bottleneck) => self.table.waits(bottleneck, at),
            Change::GoesOn(bottleneck) => self.table.goes_on(bottleneck, at),
            Change::Enters(bottleneck) => self.table.enters(bottleneck, index, at),
            Change::Leaves(bottleneck) => self.table.leaves(bottleneck, index, at),
            Change::Joins => thread.joins = true,
            Change::Ends => {
                thread.has_ended = true;
                self.table.leaves_all(index);
            }
        }
    }

    fn end_slice(&mut self, at: u64) {
        self.now = at;
        self.table.pass(at);
        let counters = self.unit.take(at, self.threads.len());
        let shown: Vec<ThreadSlice> = self
            .threads
            .iter()
            .zip(&counters.threads)
            .map(|(thread, &criticality)| ThreadSlice {
                criticality,
                lives: thread.has_begun && !thread.has_ended,
                joins: thread.joins,
                misses: thread.misses,
            })
            .collect();
        self.threads.iter_mut().for_each(|thread| thread.misses = [0; 3]);
        self.policy.decide(&Slice { length: counters.length, threads: &shown, bottlenecks: &self.table });
        self.policy.react(&Moment { now: at, active: &self.active, bottlenecks: &self.table });
        self.note_fast(at);
        self.record.slices.push(SliceRecord {
            end: at,
            criticality: counters.threads,
            nobody: counters.nobody,
            work: counters.work,
        });
    }

    fn note_fast(&mut self, at: u64) {
        for index in 0..self.threads.len() {
            self.set_fast(index, self.active[index] && self.policy.is_fast(index as u32), at);
        }
    }

    fn set_fast(&mut self, index: usize, is_fast: bool, at: u64) {
        let since = &mut self.threads[index].fast_since;
        match (*since, is_fast) {
            (None, true) => *since = Some(at),
            (Some(begin), false) => {
                *since = None;
                if begin < at {
                    self.record.spans.push(Span { thread: index as u32, begin, end: at });
                }
            }
            _ => {}
        }
    }
}
