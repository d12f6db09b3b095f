//! Long programs by a sample of their sections.
//!
//! A section is what threads execute between two barriers at which all of them meet. Sections are grouped by what they
//! execute: which blocks, and how much each thread. The beginning of the run is simulated whole, for itself alone, which fills
//! the caches. Then of each group a few are simulated, spread over the run and each behind the section before it; they
//! stand for the others in proportion to their instructions. How far those of a group differ from each other, and from the last
//! ones of the beginning, gives the error: if what is skipped had left other data in caches, the latter would show.

use holdup_model::cycles::{CycleComponent, CycleStack, SampledError, Simulated, SimulatedThread};

use crate::machine::Machine;
use crate::program::{Act, Feed, Item, Program};
use crate::system::{Options, Progress, simulate};

/// Counts of blocks are summed in so many cells, by a hash of the block.
const CELLS: usize = 64;
/// Sections are alike whose distance is below this: the sum of the differences of their shares.
const ALIKE: f64 = 0.15;
/// Sections of a group that stand for those that are not simulated, at least and at most.
const FEWEST: usize = 8;
const MOST: usize = 12;
/// The beginning is one in so many of the sections, and at least so many.
const BEGINNING: (usize, usize) = (20, 40);
/// Sections at the beginning of each group that stand for themselves, wherever they are.
const COLD: usize = 2;
/// A sample is worth its error from so many sections on.
const WORTH: usize = 3 * BEGINNING.1;
/// Groups of sections, at most: what is left is one more.
const GROUPS: usize = 64;
/// The 97.5 % quantiles of Student's t with 1, 2, … degrees of freedom (any table of it).
const STUDENT: [f64; 12] =
    [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179];

/// What a section executes.
#[derive(Clone, Debug)]
struct Section {
    /// Instructions by cell, then by participant.
    counts: Vec<u64>,
    instructions: u64,
}

/// Which sections are simulated, and what each of them stands for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// For how many threads the barriers are that end sections.
    parties: u32,
    /// By section, whether it is simulated.
    is_simulated: Vec<bool>,
    /// By section, its instructions and its group.
    sections: Vec<(u64, usize)>,
    /// By group, the sections that stand for those which are not simulated.
    samples: Vec<Vec<usize>>,
    /// By group, those of the second half of the beginning, for comparison.
    steady: Vec<Vec<usize>>,
    instructions: u64,
    simulated: u64,
}

impl Plan {
    /// The share of instructions that is simulated.
    pub fn share(&self) -> f64 {
        self.simulated as f64 / self.instructions.max(1) as f64
    }

    /// Goes through a program without simulating it. `None` where it has too few sections, or threads do not all meet.
    pub fn of<F: Feed>(program: &Program, mut feed: F) -> Option<Plan> {
        let parties = program.barriers.iter().copied().max().filter(|&parties| parties > 1)?;
        let weights: Vec<u32> =
            program.code.blocks.iter().map(|block| block.instructions.len() as u32).collect();
        let mut found: Vec<Vec<Section>> = Vec::new();
        for thread in 0..program.threads.len() {
            let sections = sections_of(program, &mut feed, thread, parties, &weights);
            if sections.len() > 1 {
                found.push(sections);
            }
        }
        let count = found.first()?.len();
        if found.len() != parties as usize || found.iter().any(|other| other.len() != count) || count < WORTH
        {
            return None;
        }
        let sections: Vec<Section> = (0..count).map(|index| joined(&found, index)).collect();
        Some(Plan::chosen(parties, &sections))
    }

    fn chosen(parties: u32, sections: &[Section]) -> Plan {
        let groups = grouped(sections);
        let last = sections.len() - 1;
        let mut is_simulated = vec![false; sections.len()];
        // What comes before the first meeting and after the last one is no section of its kind.
        (is_simulated[0], is_simulated[last]) = (true, true);
        let count = groups.iter().max().map_or(0, |most| most + 1);
        let beginning = (last / BEGINNING.0).max(BEGINNING.1).min(last);
        is_simulated[..beginning].fill(true);
        let mut steady = vec![Vec::new(); count];
        (beginning / 2..beginning).for_each(|index| steady[groups[index]].push(index));
        let mut samples = vec![Vec::new(); count];
        for (group, chosen) in samples.iter_mut().enumerate() {
            let members: Vec<usize> = (1..last).filter(|&index| groups[index] == group).collect();
            let before = members.partition_point(|&index| index < beginning);
            let (cold, rest) = members.split_at(members.len().min(before.max(COLD)));
            cold.iter().for_each(|&index| is_simulated[index] = true);
            let wanted = (rest.len() / 40).clamp(FEWEST, MOST);
            if rest.len() <= 2 * wanted {
                rest.iter().for_each(|&index| is_simulated[index] = true);
                continue;
            }
            // In the middle of equal parts of the group's course, so that what drifts is seen at its mean.
            *chosen = (0..wanted).map(|part| rest[(2 * part + 1) * rest.len() / (2 * wanted)]).collect();
            for &index in chosen.iter() {
                (is_simulated[index - 1], is_simulated[index]) = (true, true);
            }
        }
        let instructions = sections.iter().map(|section| section.instructions).sum();
        let simulated = sections
            .iter()
            .zip(&is_simulated)
            .filter(|(_, is)| **is)
            .map(|(section, _)| section.instructions);
        Plan {
            parties,
            simulated: simulated.sum(),
            instructions,
            sections: sections.iter().map(|section| section.instructions).zip(groups).collect(),
            is_simulated,
            samples,
            steady,
        }
    }

    /// For how many sections' cycles those of a simulated one stand, itself included.
    fn weights(&self) -> Vec<f64> {
        let mut weights: Vec<f64> = self.is_simulated.iter().map(|is| f64::from(u8::from(*is))).collect();
        for (group, chosen) in self.samples.iter().enumerate() {
            let left: u64 = (0..self.sections.len())
                .filter(|&index| self.sections[index].1 == group && !self.is_simulated[index])
                .map(|index| self.sections[index].0)
                .sum();
            let sampled: u64 = chosen.iter().map(|&index| self.sections[index].0).sum();
            for &index in chosen {
                weights[index] += left as f64 / sampled.max(1) as f64;
            }
        }
        weights
    }

    /// Half the width of the 95 % interval of the estimated cycles, from how those differ that stand for others (ratio
    /// estimator: Cochran, Sampling Techniques, 3rd edition, section 6.4; the unknown ones vary as those do).
    fn error(&self, cycles: &[u64]) -> f64 {
        let mut variance = 0.0;
        for (group, chosen) in self.samples.iter().enumerate().filter(|(_, chosen)| !chosen.is_empty()) {
            let of = |index: &usize| (cycles[*index] as f64, self.sections[*index].0 as f64);
            let (time, work) =
                chosen.iter().map(of).fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
            let ratio = time / work.max(1.0);
            let squares: f64 = chosen.iter().map(of).map(|(time, work)| (time - ratio * work).powi(2)).sum();
            let samples = chosen.len() as f64;
            let spread = squares / (samples - 1.0).max(1.0);
            let left = (0..self.sections.len())
                .filter(|&index| self.sections[index].1 == group && !self.is_simulated[index])
                .count() as f64;
            let student = STUDENT[(chosen.len() - 1).clamp(1, STUDENT.len()) - 1];
            variance += student.powi(2) * spread * (left.powi(2) / samples + left);
            let (before, work) =
                self.steady[group].iter().map(of).fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
            if work > 0.0 {
                let all = self.sections.iter().zip(&self.is_simulated);
                let skipped: u64 = all
                    .filter(|((_, of), is)| *of == group && !**is)
                    .map(|((instructions, _), _)| *instructions)
                    .sum();
                variance += ((before / work - ratio) * skipped as f64).powi(2);
            }
        }
        variance.sqrt()
    }
}

/// The sections of one thread.
fn sections_of<F: Feed>(
    program: &Program,
    feed: &mut F,
    thread: usize,
    parties: u32,
    weights: &[u32],
) -> Vec<Section> {
    let new = || Section { counts: vec![0; CELLS], instructions: 0 };
    let mut sections = vec![new()];
    loop {
        let now = sections.last_mut().expect("there is always one");
        let act = feed.skip(thread, &mut |block, count| {
            let count = u64::from(count.min(weights[block as usize]));
            let cell = (block.wrapping_mul(0x9E37_79B9) >> 26) as usize % CELLS;
            now.counts[cell] += count;
            now.instructions += count;
        });
        match act {
            Some(Act::Arrive(barrier)) if program.barriers[barrier as usize] == parties => {
                sections.push(new())
            }
            Some(_) => {}
            None => return sections,
        }
    }
}

/// The section with this index, of all threads.
fn joined(found: &[Vec<Section>], index: usize) -> Section {
    let mut counts = vec![0; CELLS];
    for of_thread in found {
        counts.iter_mut().zip(&of_thread[index].counts).for_each(|(all, more)| *all += more);
    }
    counts.extend(found.iter().map(|of_thread| of_thread[index].instructions));
    Section { instructions: found.iter().map(|of_thread| of_thread[index].instructions).sum(), counts }
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
    difference as f64 / (2 * a.instructions.max(b.instructions)).max(1) as f64
}

/// A feed without the sections that are not simulated. A piece ends where a section does.
struct Sampled<'a, F> {
    inner: F,
    program: &'a Program,
    plan: &'a Plan,
    at: Vec<Place>,
}

#[derive(Clone, Copy, Default)]
struct Place {
    section: usize,
    /// The section has just ended.
    cuts: bool,
    skips: bool,
}

impl<F: Feed> Feed for Sampled<'_, F> {
    fn next(&mut self, thread: usize) -> Item<'_> {
        let place = &mut self.at[thread];
        if std::mem::take(&mut place.cuts) {
            place.skips = !self.plan.is_simulated[place.section];
            return Item::Act(Act::Cut);
        }
        while place.skips {
            match self.inner.skip(thread, &mut |_, _| {}) {
                Some(Act::Arrive(barrier))
                    if self.program.barriers[barrier as usize] == self.plan.parties =>
                {
                    place.section += 1;
                    place.skips = !self.plan.is_simulated[place.section];
                }
                Some(_) => {}
                None => return Item::End,
            }
        }
        let item = self.inner.next(thread);
        match item {
            Item::Act(Act::Arrive(barrier))
                if self.program.barriers[barrier as usize] == self.plan.parties =>
            {
                place.section += 1;
                place.cuts = true;
                Item::Act(Act::Arrive(barrier))
            }
            // Only sections are pieces; an act that does nothing takes the place of others.
            Item::Act(Act::Cut) => Item::Act(Act::Call { nanos: 0 }),
            item => item,
        }
    }

    fn take_unit(&mut self, thread: usize, unit: u32) {
        self.inner.take_unit(thread, unit);
    }
}

/// Simulates the sections of a plan, and says what all of them would take.
pub fn simulate_sampled<F: Feed>(
    program: &Program,
    feed: F,
    machine: &Machine,
    options: &Options,
    plan: &Plan,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Simulated {
    let feed = Sampled { inner: feed, program, plan, at: vec![Place::default(); program.threads.len()] };
    let mut result = simulate(program, feed, machine, options, progress);
    let simulated: Vec<usize> = (0..plan.sections.len()).filter(|&index| plan.is_simulated[index]).collect();
    let weights = plan.weights();
    let (whole, simulated_instructions) = (result.cycles, result.instructions);
    let takes_part = |thread: &SimulatedThread| thread.pieces.len() == simulated.len();
    // Who comes last to a barrier goes on at once, so the first that begins a section tells when the one before ended.
    let begins = |place: usize| {
        let of = result.threads.iter().filter(|thread| takes_part(thread));
        of.map(|thread| thread.pieces[place].begin).min().unwrap_or(0)
    };
    let mut bounds: Vec<u64> = (1..simulated.len()).map(begins).collect();
    bounds.insert(0, 0);
    bounds.push(whole);
    let mut cycles = vec![0; plan.sections.len()];
    let mut all = 0.0;
    for (&index, bound) in simulated.iter().zip(bounds.windows(2)) {
        cycles[index] = bound[1].saturating_sub(bound[0]);
        all += weights[index] * cycles[index] as f64;
    }
    result.cycles = all.round() as u64;
    for thread in &mut result.threads {
        if takes_part(thread) {
            weigh(thread, &simulated, &weights, result.cycles);
        } else {
            // Who is in no section waits for those that are.
            let sync = CycleComponent::ALL.iter().copied().filter(|component| component.is_sync());
            let waits = sync.max_by_key(|component| thread.stack.get(*component));
            thread.stack = thread.stack.scaled(thread.stack.total().min(result.cycles));
            let missing = result.cycles - thread.stack.total();
            thread.stack.book(waits.unwrap_or(CycleComponent::Imbalance), missing);
        }
        thread.end = (thread.end + result.cycles).saturating_sub(whole);
    }
    result.instructions = result.threads.iter().map(|thread| thread.instructions).sum();
    let ratio = result.cycles as f64 / whole.max(1) as f64;
    enlarge(&mut result, ratio);
    result.sampled = Some(SampledError {
        error: plan.error(&cycles) / result.cycles.max(1) as f64,
        simulated: simulated_instructions,
    });
    result
}

/// The thread's pieces times what they stand for, in so many cycles.
fn weigh(thread: &mut SimulatedThread, simulated: &[usize], weights: &[f64], cycles: u64) {
    let mut sums = vec![0.0; CycleComponent::ALL.len()];
    let mut instructions = 0.0;
    for (&index, piece) in simulated.iter().zip(&thread.pieces) {
        for (component, cycles) in piece.stack.parts() {
            sums[component as usize] += weights[index] * cycles as f64;
        }
        instructions += weights[index] * piece.instructions as f64;
    }
    let in_pieces: u64 = thread.pieces.iter().map(|piece| piece.stack.total()).sum();
    let outside = thread.stack.total().saturating_sub(in_pieces).min(cycles);
    let mut stack = CycleStack::default();
    for (&component, sum) in CycleComponent::ALL.iter().zip(sums) {
        stack.book(component, sum.round() as u64);
    }
    thread.stack = stack.scaled(cycles - outside);
    thread.stack.book(CycleComponent::Imbalance, cycles - thread.stack.total());
    thread.instructions = instructions.round() as u64;
}

/// What was counted for the whole program is taken to be as in the sections that were simulated.
fn enlarge(result: &mut Simulated, ratio: f64) {
    let more = |value: &mut u64| *value = (*value as f64 * ratio).round() as u64;
    for place in &mut result.places {
        let mut stack = CycleStack::default();
        place.stack.parts().for_each(|(component, cycles)| {
            stack.book(component, (cycles as f64 * ratio).round() as u64);
        });
        place.stack = stack;
        more(&mut place.executions);
        place.served.iter_mut().for_each(more);
    }
    for line in &mut result.shared_lines {
        [&mut line.transfers, &mut line.cycles, &mut line.false_cycles].into_iter().for_each(more);
    }
    for resource in &mut result.resources {
        let all = [&mut resource.requests, &mut resource.bytes, &mut resource.busy, &mut resource.queueing];
        all.into_iter().for_each(more);
    }
    result.warnings.push(
        "Only a sample of the sections was simulated: instructions, lines and resources are those of the sample, \
         enlarged to the whole."
            .to_owned(),
    );
}
