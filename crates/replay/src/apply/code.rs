//! Code that is faster: which part of a thread's work it is, by samples.

use std::collections::BTreeMap;

use holdup_model::{Doing, SiteId, ThreadId};

use super::Recorded;
use crate::program::{Op, Program};

/// So many samples in a piece of work tell which part of it the code is; with fewer all pieces of the thread that end at the
/// same place are looked at together, else those of threads with the same start function.
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

/// What ends a piece of work: the sort of act, and its place.
type End = (u8, u32);

fn end(program: &Program, step: usize) -> End {
    let sort = match program.steps[step].op {
        Op::Acquire(_) | Op::AcquireShared(_) => 1,
        Op::Release(_) => 2,
        Op::Arrive(_) | Op::Pass(_) | Op::Take(_) => 3,
        Op::Open(_) | Op::Give(_) | Op::Close(_) => 4,
        Op::Pause(_) => 5,
        Op::Start(_) | Op::Deal(_) | Op::EndOfPiece(_) | Op::Nothing | Op::End => 6,
    };
    (sort, program.sites[step])
}

/// Samples of pieces that are alike.
#[derive(Default)]
struct Alike {
    by_thread: BTreeMap<(usize, End), Seen>,
    by_entry: BTreeMap<(Option<SiteId>, End), Seen>,
    of_thread: BTreeMap<usize, Seen>,
}

impl Alike {
    fn add(&mut self, thread: usize, entry: Option<SiteId>, end: End, seen: Seen) {
        self.by_thread.entry((thread, end)).or_default().add(seen);
        self.by_entry.entry((entry, end)).or_default().add(seen);
        self.of_thread.entry(thread).or_default().add(seen);
    }

    fn share(&self, thread: usize, entry: Option<SiteId>, end: End) -> f64 {
        let own = self.by_thread.get(&(thread, end)).copied().unwrap_or_default();
        let like = self.by_entry.get(&(entry, end)).copied().unwrap_or_default();
        let all = self.of_thread.get(&thread).copied().unwrap_or_default();
        [own, like, all].into_iter().find(|seen| seen.all >= ENOUGH).unwrap_or(all).share()
    }
}

/// Divides the part of all work that was done at these sites.
pub(super) fn faster(program: &mut Program, recorded: &Recorded<'_>, sites: &[SiteId], times: f64) {
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
    let mut alike = Alike::default();
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
            alike.add(thread, entry(thread), end(program, last - 1), seen);
            pieces.push((thread, first..last, seen));
            first = last;
        }
    }
    for (thread, steps, seen) in pieces {
        let share = if seen.all >= ENOUGH {
            seen.share()
        } else {
            alike.share(thread, entry(thread), end(program, steps.end - 1))
        };
        for step in &mut program.steps[steps] {
            step.work = (step.work as f64 * (1.0 - share + share / times)).round() as u64;
        }
    }
}
