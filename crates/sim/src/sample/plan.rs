//! Which sections are simulated, and what each of them stands for.

use super::sections::{Part, sections_of};
use super::skipped::{New, new_of, skipped};
use crate::program::{Feed, Program, Skipped};

/// Sections are alike whose distance is below this: the sum of the differences of their shares.
const ALIKE: f64 = 0.15;
/// Of the sections of a group one in so many stands for the others, but at least and at most these.
const ONE_IN: usize = 32;
const FEWEST: usize = 6;
const MOST: usize = 16;
/// Sections at the beginning of each group that stand for themselves: they meet what was not used before.
const COLD: usize = 2;
/// A line that is used for the first time counts as so many instructions when sections are compared: about the time of an
/// access to memory. The second is of lines that another thread has used.
const NEW_LINE: u64 = 100;
const SHARED_LINE: u64 = 30;
/// Groups of sections, at most: what is left is one more.
const GROUPS: usize = 64;
/// A sample is worth its error if it leaves out more than this share of the instructions.
const WORTH: f64 = 0.5;

/// Which sections are simulated, and what each of them stands for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// For how many threads the barriers are that end sections.
    parties: u32,
    /// By section.
    pub(super) sections: Vec<Planned>,
    /// By group, the sections that stand for those which are not simulated.
    pub(super) samples: Vec<Vec<usize>>,
    /// What is left out, by where it begins and the section that it ends before.
    skipped: Vec<(usize, usize, Skipped)>,
}

/// A section.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Planned {
    pub instructions: u64,
    pub group: usize,
    pub is_simulated: bool,
}

/// What a section executes.
struct Section {
    /// Instructions by cell, then by participant, then what is used for the first time.
    counts: Vec<u64>,
    /// Half of their sum.
    size: u64,
    instructions: u64,
    is_needed: bool,
}

impl Plan {
    /// Goes through a program without simulating it. `None` where too little could be left out, or threads do not all
    /// meet. Units of work that are dealt out at run time belong in the feed to the threads that executed them when they were
    /// recorded.
    pub fn of<F: Feed>(program: &Program, mut feed: F) -> Option<Plan> {
        let parties = program.barriers.iter().copied().max().filter(|&parties| parties > 1)?;
        let mut found: Vec<(u32, Vec<Part>)> = Vec::new();
        for thread in 0..program.threads.len() {
            let parts = sections_of(program, &mut feed, thread, parties);
            if parts.len() > 1 {
                found.push((thread as u32, parts));
            }
        }
        let count = found.first()?.1.len();
        if found.len() != parties as usize || found.iter().any(|(_, parts)| parts.len() != count) {
            return None;
        }
        let new = new_of(&found, count);
        let sections: Vec<Section> =
            new.iter().enumerate().map(|(index, new)| joined(&found, index, new)).collect();
        let (planned, samples) = chosen(&sections);
        let mut plan = Plan { parties, sections: planned, samples, skipped: Vec::new() };
        if plan.share() > WORTH {
            return None;
        }
        plan.skip(program, &found, &new);
        Some(plan)
    }

    /// The share of instructions that is simulated.
    pub fn share(&self) -> f64 {
        let all: u64 = self.sections.iter().map(|section| section.instructions).sum();
        let simulated = self.sections.iter().filter(|section| section.is_simulated);
        simulated.map(|section| section.instructions).sum::<u64>() as f64 / all.max(1) as f64
    }

    pub(super) fn parties(&self) -> u32 {
        self.parties
    }

    /// How many there are.
    pub(super) fn sections(&self) -> usize {
        self.sections.len()
    }

    /// Those that are simulated.
    pub(super) fn simulated(&self) -> impl Iterator<Item = usize> {
        (0..self.sections.len()).filter(|&index| self.sections[index].is_simulated)
    }

    /// What is left out from this section on, and the next one that is simulated.
    pub(super) fn skipped_at(&self, section: usize) -> Option<(usize, &Skipped)> {
        if self.sections[section].is_simulated {
            return None;
        }
        let at = self.skipped.binary_search_by_key(&section, |(begin, ..)| *begin).ok()?;
        let (_, next, skipped) = &self.skipped[at];
        Some((*next, skipped))
    }

    /// The instructions of a group's sections that are not simulated.
    pub(super) fn left_out(&self, group: usize) -> u64 {
        let left = self.sections.iter().filter(|section| section.group == group && !section.is_simulated);
        left.map(|section| section.instructions).sum()
    }

    /// For how many sections' cycles those of a simulated one stand, itself included.
    pub(super) fn weights(&self) -> Vec<f64> {
        let mut weights: Vec<f64> =
            self.sections.iter().map(|section| f64::from(u8::from(section.is_simulated))).collect();
        for (group, chosen) in self.samples.iter().enumerate() {
            let left = self.left_out(group);
            let sampled: u64 = chosen.iter().map(|&index| self.sections[index].instructions).sum();
            for &index in chosen {
                weights[index] += left as f64 / sampled.max(1) as f64;
            }
        }
        weights
    }

    /// Sums up what is left out.
    fn skip(&mut self, program: &Program, found: &[(u32, Vec<Part>)], new: &[New]) {
        let mut begin = 0;
        for index in 0..self.sections.len() {
            if self.sections[index].is_simulated {
                if begin < index {
                    self.skipped.push((begin, index, skipped(program, found, begin..index, new)));
                }
                begin = index + 1;
            }
        }
    }
}

/// The sections with their groups, and the samples by group.
fn chosen(sections: &[Section]) -> (Vec<Planned>, Vec<Vec<usize>>) {
    let groups = grouped(sections);
    let last = sections.len() - 1;
    let mut is_simulated: Vec<bool> = sections.iter().map(|section| section.is_needed).collect();
    // What comes before the first meeting and after the last one is no section of its kind.
    (is_simulated[0], is_simulated[last]) = (true, true);
    let count = groups.iter().max().map_or(0, |most| most + 1);
    let mut strata: Vec<Strata> = Vec::with_capacity(count);
    for group in 0..count {
        let members: Vec<usize> = (1..last).filter(|&index| groups[index] == group).collect();
        let (cold, rest) = members.split_at(members.len().min(COLD));
        cold.iter().for_each(|&index| is_simulated[index] = true);
        let wanted = (rest.len() / ONE_IN).clamp(FEWEST, MOST);
        if rest.len() <= 2 * wanted {
            rest.iter().for_each(|&index| is_simulated[index] = true);
            strata.push(Strata::default());
        } else {
            strata.push(Strata { members: rest.to_vec(), chosen: vec![None; wanted] });
        }
    }
    let of = |index: usize| groups.get(index).copied().unwrap_or(0);
    for part in 0..MOST {
        for group in 0..count {
            let Some(first) = strata[group].choose(part, group) else { continue };
            // Those behind it are samples too where their groups still need some there: they need nothing before them.
            let mut next = first + 1;
            while strata[of(next)].take(next) {
                next += 1;
            }
        }
    }
    let samples: Vec<Vec<usize>> =
        strata.into_iter().map(|strata| strata.chosen.into_iter().flatten().collect()).collect();
    samples.iter().flatten().for_each(|&index| is_simulated[index] = true);
    let planned = sections.iter().zip(is_simulated).zip(groups);
    let planned = planned.map(|((section, is_simulated), group)| Planned {
        instructions: section.instructions,
        group,
        is_simulated,
    });
    (planned.collect(), samples)
}

/// The sections of a group in equal parts of its course, so that what drifts is seen whole.
#[derive(Default)]
struct Strata {
    members: Vec<usize>,
    /// By part, its sample.
    chosen: Vec<Option<usize>>,
}

impl Strata {
    /// Chooses one of a part that has none: any, so that what comes again and again is not always met in the same place.
    fn choose(&mut self, part: usize, group: usize) -> Option<usize> {
        if self.chosen.get(part)?.is_some() {
            return None;
        }
        let (count, parts) = (self.members.len(), self.chosen.len());
        let (begin, end) = (part * count / parts, (part + 1) * count / parts);
        let index = self.members[begin + scattered((group * MOST + part) as u64) as usize % (end - begin)];
        self.chosen[part] = Some(index);
        Some(index)
    }

    /// Takes this one as the sample of its part, if that has none.
    fn take(&mut self, section: usize) -> bool {
        let Ok(at) = self.members.binary_search(&section) else { return false };
        let (count, parts) = (self.members.len(), self.chosen.len());
        let Some(part) = (0..parts).find(|part| at < (part + 1) * count / parts) else { return false };
        let is_free = self.chosen[part].is_none();
        if is_free {
            self.chosen[part] = Some(section);
        }
        is_free
    }
}

/// A number that looks random (the finalizer of SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// The section with this index, of all threads.
fn joined(found: &[(u32, Vec<Part>)], index: usize, new: &New) -> Section {
    let parts = || found.iter().map(|(_, parts)| &parts[index]);
    let mut counts: Vec<u64> = Vec::new();
    for part in parts() {
        counts.resize(part.counts.len(), 0);
        counts.iter_mut().zip(&part.counts).for_each(|(all, more)| *all += more);
    }
    counts.extend(parts().map(|part| part.instructions));
    counts.extend([2 * NEW_LINE * new.lines, 2 * SHARED_LINE * new.shared]);
    Section {
        size: counts.iter().sum::<u64>() / 2,
        counts,
        instructions: parts().map(|part| part.instructions).sum(),
        is_needed: parts().any(|part| part.manages_threads),
    }
}

/// The group of each section: that of the first section that it is like.
fn grouped(sections: &[Section]) -> Vec<usize> {
    let mut leaders: Vec<&Section> = Vec::new();
    let mut of = Vec::with_capacity(sections.len());
    for section in sections {
        let known = leaders.iter().position(|leader| distance(leader, section) < ALIKE);
        of.push(known.unwrap_or_else(|| {
            if leaders.len() < GROUPS {
                leaders.push(section);
            }
            leaders.len() - 1
        }));
    }
    of
}

/// How different two sections are: differences in their counts, as shares of the larger one.
fn distance(a: &Section, b: &Section) -> f64 {
    let difference: u64 = a.counts.iter().zip(&b.counts).map(|(a, b)| a.abs_diff(*b)).sum();
    difference as f64 / (2 * a.size.max(b.size)).max(1) as f64
}
