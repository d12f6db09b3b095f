//! Phases: neighbouring parts of a run that are alike, put together from the bottom up.
//!
//! How unlike two parts are is the larger one of two numbers from 0 to 1: half the L1 distance of their criticality
//! stacks (shares of their time by sort of thread, and nobody's), which is the share of the time that would have to
//! change its owner; and the difference of their parallelisms as a share of the larger one (of one thread, where both
//! are less). Threads that do the same are one component, since which one of a pool does a piece of work is chance.
//! What costs least, unlikeness times the harmonic mean of both lengths, is put together first, so that a short
//! disturbance goes into its neighbour before two long phases meet.

use std::collections::BTreeMap;

use holdup_model::{Process, ThreadId, from_fixed, sort_of_thread};

use super::Part;

/// Parts that are less unlike than this are one phase, however long they are.
const UNLIKE: f64 = 0.3;

/// A phase has at least this share of the run.
const LEAST_SHARE: f64 = 0.05;

/// There are at most this many phases.
const MOST_PHASES: usize = 12;

/// Neighbouring parts together, with the criticality of each sort of thread (ns).
struct Stretch {
    part: Part,
    sorts: BTreeMap<usize, f64>,
}

impl Stretch {
    fn length(&self) -> f64 {
        self.part.end.since(self.part.start).get() as f64
    }

    fn unlike(&self, other: &Stretch) -> f64 {
        let (own, others) = (self.length().max(1.0), other.length().max(1.0));
        let share =
            |sorts: &BTreeMap<usize, f64>, sort, length| sorts.get(sort).copied().unwrap_or(0.0) / length;
        let mut distance = (self.part.nobody as f64 / own - other.part.nobody as f64 / others).abs();
        for sort in self.sorts.keys() {
            distance += (share(&self.sorts, sort, own) - share(&other.sorts, sort, others)).abs();
        }
        for sort in other.sorts.keys().filter(|sort| !self.sorts.contains_key(sort)) {
            distance += share(&other.sorts, sort, others);
        }
        let (p, q) = (self.part.parallelism(), other.part.parallelism());
        (distance / 2.0).max((p - q).abs() / p.max(q).max(1.0))
    }

    fn join(&mut self, next: Stretch) {
        self.part.end = next.part.end;
        self.part.busy += next.part.busy;
        self.part.nobody += next.part.nobody;
        let mut threads: BTreeMap<ThreadId, _> = std::mem::take(&mut self.part.threads).into_iter().collect();
        for (thread, critical) in next.part.threads {
            *threads.entry(thread).or_default() += critical;
        }
        self.part.threads = threads.into_iter().collect();
        for (sort, critical) in next.sorts {
            *self.sorts.entry(sort).or_default() += critical;
        }
    }
}

/// The phases of a run that was cut into `parts`.
pub(super) fn phases(process: &Process, parts: &[Part]) -> Vec<Part> {
    let sorts = sorts(process);
    let mut stretches: Vec<Stretch> = parts
        .iter()
        .map(|part| {
            let mut by_sort = BTreeMap::new();
            for &(thread, critical) in &part.threads {
                *by_sort.entry(sorts[thread.index()]).or_default() += from_fixed(critical);
            }
            Stretch { part: part.clone(), sorts: by_sort }
        })
        .collect();
    let whole: f64 = stretches.iter().map(Stretch::length).sum();
    // By the first of two neighbours.
    let mut unlike: Vec<f64> = stretches.windows(2).map(|pair| pair[0].unlike(&pair[1])).collect();
    while let Some(index) = next_to_join(&stretches, &unlike, whole) {
        let next = stretches.remove(index + 1);
        stretches[index].join(next);
        unlike.remove(index);
        for first in [index.checked_sub(1), Some(index)].into_iter().flatten() {
            if first + 1 < stretches.len() {
                unlike[first] = stretches[first].unlike(&stretches[first + 1]);
            }
        }
    }
    stretches.into_iter().map(|stretch| stretch.part).collect()
}

/// The first of the two neighbours to put together next: of those that are alike or too short, else of all while there
/// are too many, the pair that costs least.
fn next_to_join(stretches: &[Stretch], unlike: &[f64], whole: f64) -> Option<usize> {
    let cost = |index: usize| {
        let (a, b) = (stretches[index].length(), stretches[index + 1].length());
        unlike[index] * (2.0 * a * b / (a + b))
    };
    let is_due = |index: usize| {
        let shorter = stretches[index].length().min(stretches[index + 1].length());
        unlike[index] < UNLIKE || shorter < LEAST_SHARE * whole
    };
    let cheapest = |indices: &mut dyn Iterator<Item = usize>| {
        indices.min_by(|&a, &b| cost(a).total_cmp(&cost(b)).then(a.cmp(&b)))
    };
    cheapest(&mut (0..unlike.len()).filter(|&index| is_due(index)))
        .or_else(|| cheapest(&mut (0..unlike.len()).filter(|_| stretches.len() > MOST_PHASES)))
}

/// By thread: a number that threads that do the same have in common.
fn sorts(process: &Process) -> Vec<usize> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    (0..process.threads.len())
        .map(|index| match sort_of_thread(process, ThreadId::new(index as u32)) {
            Some(sort) => *numbers.entry(sort).or_insert(index),
            None => index,
        })
        .collect()
}
