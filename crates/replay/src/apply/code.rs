//! Code that is faster: which part of a thread's work it is, by samples.

use std::collections::BTreeMap;

use holdup_model::{Doing, SiteId, ThreadId};

use super::Recorded;
use crate::program::Program;

/// So many samples in a piece of work tell which part of it the code is; with fewer all pieces that end at the same place
/// are looked at together.
const ENOUGH: u64 = 8;

/// Samples of threads at work: all of them, and those with the code on their stack.
#[derive(Clone, Copy, Default)]
struct Seen {
    all: u64,
    inside: u64,
}

impl Seen {
    fn add(&mut self, other: Seen) {
        self.all += other.all;
        self.inside += other.inside;
    }

    fn share(self) -> f64 {
        if self.all == 0 { 0.0 } else { self.inside as f64 / self.all as f64 }
    }
}

/// Divides the part of all work that was done at these sites.
pub(super) fn faster(program: &mut Program, recorded: Recorded<'_>, sites: &[SiteId], times: f64) {
    let process = recorded.process;
    let mut is_inside = vec![false; process.sites.len()];
    for site in sites {
        is_inside[site.index()] = true;
    }
    let mut samples: Vec<Vec<(u64, bool)>> = process.threads.iter().map(|_| Vec::new()).collect();
    for sample in process.samples.iter().filter(|sample| sample.doing == Doing::Running) {
        let inside = sample.site.is_some_and(|site| is_inside[site.index()]);
        samples[sample.thread.index()].push((sample.time.since(process.start).get(), inside));
    }
    let entry = |thread: usize| process.threads[thread].entry;
    // By start function and the place at which the work ends.
    let mut alike: BTreeMap<(Option<SiteId>, u32), Seen> = BTreeMap::new();
    let mut by_entry: BTreeMap<Option<SiteId>, Seen> = BTreeMap::new();
    let mut pieces: Vec<(usize, std::ops::Range<usize>, Seen)> = Vec::new();
    for (thread, samples) in samples.iter_mut().enumerate() {
        samples.sort_unstable();
        let mut next = 0;
        let steps = program.steps_of(ThreadId::new(thread as u32));
        let mut first = steps.start;
        while first < steps.end {
            // Steps of one moment are one piece: holds that were only counted.
            let time = program.times[first];
            let mut last = first + 1;
            while last < steps.end && program.times[last] == time {
                last += 1;
            }
            let mut seen = Seen::default();
            while let Some(&(_, inside)) = samples.get(next).filter(|sample| sample.0 <= time) {
                seen.add(Seen { all: 1, inside: u64::from(inside) });
                next += 1;
            }
            alike.entry((entry(thread), program.sites[last - 1])).or_default().add(seen);
            by_entry.entry(entry(thread)).or_default().add(seen);
            pieces.push((thread, first..last, seen));
            first = last;
        }
    }
    for (thread, steps, seen) in pieces {
        let like = alike.get(&(entry(thread), program.sites[steps.end - 1])).copied().unwrap_or_default();
        let share = if seen.all >= ENOUGH {
            seen.share()
        } else if like.all > 0 {
            like.share()
        } else {
            by_entry.get(&entry(thread)).copied().unwrap_or_default().share()
        };
        for step in &mut program.steps[steps] {
            step.work = (step.work as f64 * (1.0 - share + share / times)).round() as u64;
        }
    }
}
