//! Which slices are simulated, and what each of them stands for.

use std::cmp::Reverse;

use super::skipped::{New, new_of, skipped};
use crate::collector::Part;
use crate::machine::Machine;
use crate::program::{Bookmark, Feed, Program, Skipped};
use crate::system::{Course, Leap, Moment, Options, Route, ThreadMoment, surveyed};

/// Slices are alike whose distance is below this: the sum of the differences of their shares. Where that makes too many groups
/// it is made larger, until all are alike.
const ALIKE: f64 = 0.15;
const ALL_ALIKE: f64 = 2.0;
/// Of the slices of a group one in so many stands for the others, but at least and at most these.
const ONE_IN: usize = 32;
const FEWEST: usize = 6;
const MOST: usize = 32;
/// Slices at the beginning of each group that stand for themselves: they meet what was not used before.
const COLD: usize = 2;
/// A line that is used for the first time counts as so many instructions when slices are compared: about the time of an
/// access to memory. The second is of lines that another thread has used.
const NEW_LINE: u64 = 100;
const SHARED_LINE: u64 = 30;
/// Groups of slices, at most: what is left is one more.
const GROUPS: usize = 128;
/// Slices of a program, about, and the fewest instructions that each working thread executes in one. The one before a slice that
/// stands for others is simulated too: what is in cores, prefetchers and memory's queues is not made up for.
const SLICES: u64 = 2000;
const SHORTEST: u64 = 10_000;
/// With fewer instructions it takes a second at most to simulate all of it.
const LEAST: u64 = 10_000_000;
/// How many instructions may be simulated without a sample being coarser than [`ALIKE`], but at least and at most these shares of
/// all. A sample of more than the last share of all is worth nothing.
const CHEAP: f64 = 2e7;
const GOOD: [f64; 2] = [0.15, 0.45];
const WORTH: f64 = 0.5;

/// Which slices are simulated, and what each of them stands for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By slice.
    pub(super) slices: Vec<Planned>,
    /// By group, the slices that stand for those which are not simulated.
    pub(super) samples: Vec<Vec<usize>>,
    pub(super) course: Course,
    /// What is left out, by the slice before it.
    left_out: Vec<LeftOut>,
}

#[derive(Clone, Debug)]
struct LeftOut {
    behind: usize,
    next: usize,
    skipped: Skipped,
    /// By thread.
    ends: Vec<Bookmark>,
}

/// A slice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Planned {
    pub instructions: u64,
    pub group: usize,
    pub is_simulated: bool,
    /// It stands for itself, at least. Else it is only simulated for the one behind it.
    pub counts: bool,
}

/// What a slice executes.
struct Slice {
    /// Instructions by cell, then of each thread, the most first, then acts and what is used for the first time.
    counts: Vec<u64>,
    /// Half of their sum.
    size: u64,
    instructions: u64,
}

impl Route for Plan {
    fn slices(&self) -> usize {
        self.slices.len()
    }

    fn instructions(&self, slice: usize) -> u64 {
        self.slices[slice].instructions
    }

    fn leap(&self, slice: usize) -> Option<Leap<'_>> {
        let at = self.left_out.binary_search_by_key(&slice, |left| left.behind).ok()?;
        let LeftOut { next, skipped, ends, .. } = &self.left_out[at];
        Some(Leap { slice: *next, skipped, ends })
    }

    fn course(&self) -> &Course {
        &self.course
    }
}

impl Plan {
    /// Goes through a program on so many `cores` without simulating it; `executed` are the instructions of each thread. `None`
    /// where too little could be left out.
    pub fn of<F: Feed>(
        program: &Program,
        feed: F,
        machine: &Machine,
        cores: u32,
        executed: &[u64],
    ) -> Option<Plan> {
        let all: u64 = executed.iter().sum();
        let working = executed.iter().filter(|of| 20 * **of >= all / executed.len().max(1) as u64).count();
        let size = (all / SLICES).max(SHORTEST * u64::from(cores.min(working as u32)));
        if all < LEAST {
            return None;
        }
        let options = Options { cores, ..Options::default() };
        let (course, collector) = surveyed(program, feed, machine, &options, size);
        let found = collector?.parts;
        let count = found.first()?.len();
        let new = new_of(&found, count);
        let slices: Vec<Slice> =
            new.iter().enumerate().map(|(index, new)| joined(&found, index, new)).collect();
        let good = (CHEAP / all.max(1) as f64).clamp(GOOD[0], GOOD[1]);
        let mut alike = ALIKE;
        let mut plan = loop {
            let (planned, samples) = chosen(&slices, alike);
            let plan = Plan { slices: planned, samples, course: Course::default(), left_out: Vec::new() };
            if plan.share() <= good || alike >= ALL_ALIKE {
                break plan;
            }
            alike *= 1.2;
        };
        if plan.share() > WORTH {
            return None;
        }
        plan.course = course;
        plan.leave_out(&found, &new);
        Some(plan)
    }

    /// The share of instructions that is simulated.
    pub fn share(&self) -> f64 {
        let all: u64 = self.slices.iter().map(|slice| slice.instructions).sum();
        let simulated = self.slices.iter().filter(|slice| slice.is_simulated);
        simulated.map(|slice| slice.instructions).sum::<u64>() as f64 / all.max(1) as f64
    }

    /// Those that are simulated.
    pub(super) fn simulated(&self) -> impl Iterator<Item = usize> {
        (0..self.slices.len()).filter(|&index| self.slices[index].is_simulated)
    }

    /// The instructions of a group's slices that others stand for.
    pub(super) fn left_out(&self, group: usize) -> u64 {
        let left = self.slices.iter().filter(|slice| slice.group == group && !slice.counts);
        left.map(|slice| slice.instructions).sum()
    }

    /// For how many slices' cycles those of a simulated one stand, itself included; `took` is what was executed in each of them.
    pub(super) fn weights(&self, took: &[(u64, u64)]) -> Vec<f64> {
        let mut weights: Vec<f64> =
            self.slices.iter().map(|slice| f64::from(u8::from(slice.counts))).collect();
        for (group, chosen) in self.samples.iter().enumerate() {
            let left = self.left_out(group);
            let sampled: u64 = chosen.iter().map(|&index| took[index].1).sum();
            for &index in chosen {
                weights[index] += left as f64 / sampled.max(1) as f64;
            }
        }
        weights
    }

    /// When each slice begins, and when the last one ends, as far as those that were simulated tell.
    pub(super) fn times(&self, took: &[(u64, u64)]) -> Vec<u64> {
        let ratio = |of: &mut dyn Iterator<Item = usize>| {
            let (cycles, work) =
                of.fold((0, 0), |(cycles, work), index| (cycles + took[index].0, work + took[index].1));
            cycles as f64 / (work as f64).max(1.0)
        };
        let of_all = ratio(&mut self.simulated());
        let of_groups: Vec<f64> =
            self.samples.iter().map(|chosen| ratio(&mut chosen.iter().copied())).collect();
        let mut times = vec![0.0];
        for (slice, took) in self.slices.iter().zip(took) {
            let ratio = of_groups.get(slice.group).copied().filter(|ratio| *ratio > 0.0).unwrap_or(of_all);
            let takes = if slice.is_simulated { took.0 as f64 } else { ratio * slice.instructions as f64 };
            times.push(times.last().copied().unwrap_or(0.0) + takes);
        }
        times.into_iter().map(|time| time.round() as u64).collect()
    }

    /// The slices in which a thread is there: the first one at the end of which it was created, and the last one at the
    /// beginning of which it had not ended.
    pub(super) fn lives(&self, thread: usize) -> (usize, usize) {
        let at = |moment: &Moment| moment.threads[thread];
        let moments = &self.course.moments;
        let begin = moments.iter().position(|moment| at(moment) != ThreadMoment::Unborn);
        let end = moments.iter().position(|moment| at(moment) == ThreadMoment::Ended);
        (begin.unwrap_or(moments.len()), end.unwrap_or(moments.len()))
    }

    /// Sums up what is left out.
    fn leave_out(&mut self, found: &[Vec<Part>], new: &[New]) {
        // Where the run came from that leaps next: bookmarks go on from there.
        let mut came = 0;
        let mut behind = 0;
        for index in self.simulated().collect::<Vec<_>>() {
            if index > behind + 1 {
                let left = behind + 1..index;
                let ends = found
                    .iter()
                    .map(|parts| Bookmark::merged(parts[came..index].iter().map(|part| &part.end)));
                self.left_out.push(LeftOut {
                    behind,
                    next: index,
                    skipped: skipped(found, left, new),
                    ends: ends.collect(),
                });
                came = index;
            }
            behind = index;
        }
        let left_out = &self.left_out;
        self.course.keep_moments(|moment| left_out.iter().any(|left| left.next == moment + 1));
    }
}

/// The slices with their groups, and the samples by group.
fn chosen(slices: &[Slice], alike: f64) -> (Vec<Planned>, Vec<Vec<usize>>) {
    let groups = grouped(slices, alike);
    let last = slices.len() - 1;
    let mut counts = vec![false; slices.len()];
    // Where all begins and where all ends is no slice of its kind.
    (counts[0], counts[last]) = (true, true);
    let count = groups.iter().max().map_or(0, |most| most + 1);
    let mut samples: Vec<Vec<usize>> = Vec::with_capacity(count);
    for group in 0..count {
        let members: Vec<usize> = (1..last).filter(|&index| groups[index] == group).collect();
        let (cold, rest) = members.split_at(members.len().min(COLD));
        cold.iter().for_each(|&index| counts[index] = true);
        let wanted = (rest.len() / ONE_IN).clamp(FEWEST, MOST);
        if rest.len() <= 2 * wanted {
            rest.iter().for_each(|&index| counts[index] = true);
            samples.push(Vec::new());
        } else {
            samples.push(spread(rest, wanted, group));
        }
    }
    samples.iter().flatten().for_each(|&index| counts[index] = true);
    let planned = (0..slices.len()).map(|index| Planned {
        instructions: slices[index].instructions,
        group: groups[index],
        is_simulated: counts[index] || counts.get(index + 1) == Some(&true),
        counts: counts[index],
    });
    (planned.collect(), samples)
}

/// So many slices of a group, one from each of equal parts of its course, so that what drifts is seen whole: any of a part, so that
/// what comes again and again is not always met in the same place.
fn spread(members: &[usize], parts: usize, group: usize) -> Vec<usize> {
    let of_part = |part: usize| {
        let (begin, end) = (part * members.len() / parts, (part + 1) * members.len() / parts);
        members[begin + scattered((group * MOST + part) as u64) as usize % (end - begin)]
    };
    (0..parts).map(of_part).collect()
}

/// A number that looks random (the finalizer of SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// The slice with this index, of all threads.
fn joined(found: &[Vec<Part>], index: usize, new: &New) -> Slice {
    let parts = || found.iter().map(|parts| &parts[index]);
    let mut counts: Vec<u64> = Vec::new();
    for part in parts() {
        counts.resize(part.counts.len(), 0);
        counts.iter_mut().zip(&part.counts).for_each(|(all, more)| *all += more);
    }
    // It matters how much each thread does, not which one does it: they may be made anew all the time.
    let mut by_thread: Vec<u64> = parts().map(|part| part.instructions).collect();
    by_thread.sort_unstable_by_key(|instructions| Reverse(*instructions));
    counts.extend(by_thread);
    counts.push(2 * parts().map(|part| part.acts).sum::<u64>());
    counts.extend([2 * NEW_LINE * new.lines, 2 * SHARED_LINE * new.shared]);
    Slice {
        size: counts.iter().sum::<u64>() / 2,
        counts,
        instructions: parts().map(|part| part.instructions).sum(),
    }
}

/// The group of each slice: that of the first slice that it is like.
fn grouped(slices: &[Slice], alike: f64) -> Vec<usize> {
    let mut leaders: Vec<&Slice> = Vec::new();
    let mut of = Vec::with_capacity(slices.len());
    for slice in slices {
        let known = leaders.iter().position(|leader| distance(leader, slice) < alike);
        of.push(known.unwrap_or_else(|| {
            if leaders.len() < GROUPS {
                leaders.push(slice);
            }
            leaders.len() - 1
        }));
    }
    of
}

/// How different two slices are: differences in their counts, as shares of the larger one.
fn distance(a: &Slice, b: &Slice) -> f64 {
    let difference: u64 = a.counts.iter().zip(&b.counts).map(|(a, b)| a.abs_diff(*b)).sum();
    difference as f64 / (2 * a.size.max(b.size)).max(1) as f64
}
