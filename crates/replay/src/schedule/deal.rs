//! The iterations of recorded loops, dealt out under another schedule.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use holdup_model::Nanos;
use holdup_model::openmp::Vendor;

use super::loops::{LoopChunk, RecordedLoop};
use super::redone::{Instance, Redone};

/// At most so many chunks are dealt out in virtual time; of more, several are taken for one.
const MOST_CHUNKS: u64 = 1 << 22;

/// How a loop's iterations are given to the threads of the team.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Schedule {
    /// One block for each thread, all of the same size up to one iteration.
    Static,
    /// Blocks of this size, to one thread after the other.
    StaticChunks(u64),
    /// Blocks of this size, to whoever is free.
    Dynamic(u64),
    /// Ever smaller blocks to whoever is free, down to this size.
    Guided(u64),
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Static => f.write_str("schedule(static)"),
            Schedule::StaticChunks(chunk) => write!(f, "schedule(static, {chunk})"),
            Schedule::Dynamic(chunk) => write!(f, "schedule(dynamic, {chunk})"),
            Schedule::Guided(chunk) => write!(f, "schedule(guided, {chunk})"),
        }
    }
}

/// These loops under another schedule, on as many threads as they had or on `threads`. They should be instances of one
/// place with one number of threads. Loops without recorded chunks are left out; where no other are, they are
/// [`balanced`], since the costs of their single iterations are not known. `None` if nothing is left.
///
/// Threads that the recording did not have enter when those that it had did, in turns. Only chunks that are dealt out to
/// whoever is free cost dealing: what it cost in the instance where that was least. What it cost elsewhere beyond that
/// counts as work, since it need not come again with each chunk.
pub fn redeal(loops: &[RecordedLoop], schedule: Schedule, threads: Option<u32>) -> Option<Redone> {
    let dealt = || loops.iter().filter(|recorded| !recorded.chunks.is_empty());
    let dealing = dealt().map(|recorded| recorded.dealing).fold(f64::INFINITY, f64::min);
    let instances: Vec<Instance> = dealt()
        .map(|recorded| {
            let prices = Prices::of(recorded, dealing);
            Instance {
                recorded: recorded.time.get() as f64,
                unchanged: unchanged(recorded, prices),
                changed: changed(recorded, prices, schedule, threads.unwrap_or(recorded.threads())),
                unseen: recorded.unseen,
            }
        })
        .collect();
    if instances.is_empty() { balanced(loops, threads) } else { Redone::of(&instances) }
}

/// These loops if all threads ended at once: work / threads. No chunk is taken apart, but of a static loop, whose
/// iterations are not known one by one, it may be that none could do so well. A bound.
pub fn balanced(loops: &[RecordedLoop], threads: Option<u32>) -> Option<Redone> {
    let instances: Vec<Instance> = loops
        .iter()
        .map(|recorded| Instance {
            recorded: recorded.time.get() as f64,
            unchanged: unchanged(recorded, Prices::of(recorded, recorded.dealing)),
            changed: least(recorded, threads.unwrap_or(recorded.threads())),
            unseen: 0.0,
        })
        .collect();
    Redone::of(&instances).map(Redone::bound)
}

/// What is charged for the iterations of one instance.
#[derive(Clone, Copy)]
struct Prices {
    /// Getting a chunk (ns).
    dealing: f64,
    /// The times of chunks are multiplied by this.
    scale: f64,
}

impl Prices {
    fn of(recorded: &RecordedLoop, dealing: f64) -> Prices {
        let beyond = (recorded.dealing - dealing).max(0.0) * recorded.dealt as f64;
        let work = recorded.work();
        let scale = if work > 0.0 { recorded.scale * (1.0 + beyond / work) } else { recorded.scale };
        Prices { dealing, scale }
    }
}

/// The least time in which the loop can be done: all threads work from their entry until all end at once.
fn least(recorded: &RecordedLoop, threads: u32) -> f64 {
    let entries = entries(recorded, threads);
    let mut sorted = entries;
    sorted.sort_by(f64::total_cmp);
    // The level to which the work fills up the threads from their entries on: those that come later take no part.
    let mut level = 0.0;
    let mut filled = recorded.work();
    for (count, &entry) in sorted.iter().enumerate() {
        filled += entry;
        level = filled / (count + 1) as f64;
        if sorted.get(count + 1).is_none_or(|&next| next >= level) {
            break;
        }
    }
    level.max(longest(recorded)).max(sorted.last().copied().unwrap_or(0.0))
}

/// What one iteration takes at least in the chunk where iterations take longest: chunks can be cut between iterations.
fn longest(recorded: &RecordedLoop) -> f64 {
    let each = |chunk: &LoopChunk| chunk.time.get() as f64 / chunk.count.max(1) as f64;
    let longest = recorded.chunks.iter().map(each).fold(0.0, f64::max);
    longest * recorded.scale / stretch(recorded)
}

/// When each of so many threads enters (ns).
fn entries(recorded: &RecordedLoop, threads: u32) -> Vec<f64> {
    let known = recorded.entries.iter().map(|entry| entry.get() as f64);
    let entries = known.cycle().take(threads.max(1) as usize);
    let entries: Vec<f64> = entries.collect();
    if entries.is_empty() { vec![0.0; threads.max(1) as usize] } else { entries }
}

/// How many iterations each recorded one stands for, at least 1.
fn stretch(recorded: &RecordedLoop) -> f64 {
    let seen: f64 = recorded.chunks.iter().map(|chunk| chunk.count as f64).sum();
    if seen > 0.0 { (recorded.iterations as f64 / seen).max(1.0) } else { 1.0 }
}

/// What the loop takes in virtual time as it was dealt out (ns).
fn unchanged(recorded: &RecordedLoop, prices: Prices) -> f64 {
    if recorded.chunks.is_empty() {
        let ends = recorded.entries.iter().zip(&recorded.parts).map(|(entry, part)| *entry + *part);
        return ends.max().unwrap_or(Nanos::ZERO).get() as f64;
    }
    // Where only some chunks are known, each stands for as many as all of them do.
    let known = recorded.chunks.iter().map(|chunk| chunk.chunks).fold(0, u64::saturating_add);
    let dealing = prices.dealing * (recorded.dealt as f64 / known as f64).max(1.0);
    let mut team = Team::new(&entries(recorded, recorded.threads()));
    for chunk in &recorded.chunks {
        let pieces =
            chunk.chunks.min((chunk.chunks as f64 / known as f64 * MOST_CHUNKS as f64) as u64).max(1);
        let times = chunk.chunks as f64 / pieces as f64;
        let each = chunk.time.get() as f64 * prices.scale / pieces as f64;
        for _ in 0..pieces {
            team.give(dealing * times + each);
        }
    }
    team.end()
}

/// What it takes under another schedule (ns).
fn changed(recorded: &RecordedLoop, prices: Prices, schedule: Schedule, threads: u32) -> f64 {
    let entries = entries(recorded, threads);
    let threads = entries.len() as u64;
    let iterations = recorded.iterations;
    let mut costs = Costs::new(recorded, prices);
    match schedule {
        Schedule::Static => {
            let (each, more) = (iterations / threads, iterations % threads);
            let parts = entries.iter().zip(0u64..);
            let ends = parts.map(|(entry, thread)| entry + costs.next(each + u64::from(thread < more)));
            ends.fold(0.0, f64::max)
        }
        Schedule::StaticChunks(chunk) => {
            let chunk = chunk.max(1).max(iterations.div_ceil(MOST_CHUNKS));
            let mut ends = entries;
            let mut left = iterations;
            let mut thread = 0;
            while left > 0 {
                let count = chunk.min(left);
                ends[thread] += costs.next(count);
                left -= count;
                thread = (thread + 1) % ends.len();
            }
            ends.into_iter().fold(0.0, f64::max)
        }
        Schedule::Dynamic(chunk) => dealt(&mut costs, &entries, iterations, chunk, |_| 0),
        Schedule::Guided(chunk) => {
            // gcc's runtime gives a share of what is left to each thread, LLVM's half of that.
            let shares = threads * if recorded.vendor == Vendor::Llvm { 2 } else { 1 };
            dealt(&mut costs, &entries, iterations, chunk, |left| left.div_ceil(shares))
        }
    }
}

/// What it takes if chunks go to whoever is free: of at least `chunk` iterations, and as many as `share` says of what is left.
fn dealt(
    costs: &mut Costs<'_>,
    entries: &[f64],
    iterations: u64,
    chunk: u64,
    share: impl Fn(u64) -> u64,
) -> f64 {
    let asked = chunk.max(1);
    let least = asked.max(iterations.div_ceil(MOST_CHUNKS));
    let mut team = Team::new(entries);
    let mut left = iterations;
    while left > 0 {
        let wanted = share(left).max(asked);
        let count = wanted.max(least).min(left);
        // A chunk that stands for several is dealt out as often as they are.
        let times = (count as f64 / wanted.min(left) as f64).max(1.0);
        team.give(costs.prices.dealing * times + costs.next(count));
        left -= count;
    }
    team.end()
}

/// Threads that take one piece of work after the other, whoever is free first.
struct Team {
    /// When each thread is free: times are not negative, so that their bits are in their order.
    free: BinaryHeap<Reverse<u64>>,
    end: f64,
}

impl Team {
    fn new(entries: &[f64]) -> Team {
        let free = entries.iter().map(|entry| Reverse(entry.max(0.0).to_bits())).collect();
        // The loop is not done before all have come to it, whatever is left for them.
        Team { free, end: entries.iter().copied().fold(0.0, f64::max) }
    }

    fn give(&mut self, time: f64) {
        if let Some(mut first) = self.free.peek_mut() {
            let end = f64::from_bits(first.0) + time.max(0.0);
            *first = Reverse(end.to_bits());
            self.end = self.end.max(end);
        }
    }

    fn end(&self) -> f64 {
        self.end
    }
}

/// What iterations cost, from the first to the last.
struct Costs<'a> {
    chunks: std::slice::Iter<'a, LoopChunk>,
    /// Iterations left of the chunk that is being read, and what each costs (ns).
    left: f64,
    each: f64,
    stretch: f64,
    prices: Prices,
}

impl<'a> Costs<'a> {
    /// Chunks that were not recorded cost as those before and behind them: the recorded ones are stretched over all
    /// iterations.
    fn new(recorded: &'a RecordedLoop, prices: Prices) -> Costs<'a> {
        Costs { chunks: recorded.chunks.iter(), left: 0.0, each: 0.0, stretch: stretch(recorded), prices }
    }

    /// The cost of the next `count` iterations together.
    fn next(&mut self, count: u64) -> f64 {
        let mut wanted = count as f64;
        let mut cost = 0.0;
        while wanted > 0.0 {
            if self.left <= 0.0 {
                let Some(chunk) = self.chunks.next() else { break };
                self.left = chunk.count as f64 * self.stretch;
                self.each = chunk.time.get() as f64 * self.prices.scale / self.left;
            }
            let taken = self.left.min(wanted);
            cost += taken * self.each;
            self.left -= taken;
            wanted -= taken;
        }
        cost
    }
}
