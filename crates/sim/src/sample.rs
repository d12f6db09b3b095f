//! Long programs by a sample of their sections.
//!
//! A section is what threads execute between two barriers at which all of them meet. One pass over the program tells what
//! each section executes and which lines of memory it uses (`sections`). Sections are grouped by what they execute: which
//! blocks, and how much each thread; of each group a few are simulated, spread over the run, which stand for the others in
//! proportion to their instructions (`plan`). What lies between is not even decoded: threads go to where they are at its
//! end, and caches, directories and translation buffers get what was used last meanwhile (`skipped`). How far those of a
//! group differ from each other gives the error (`error`).

mod error;
mod plan;
mod sections;
mod skipped;

use holdup_model::cycles::{CycleComponent, CycleStack, SampledError, Simulated, SimulatedThread};

use crate::machine::Machine;
use crate::program::{Act, Bookmark, Feed, Item, Program};
use crate::system::{Options, Progress, simulate};

pub use self::plan::Plan;

/// A feed without the sections that are not simulated. A piece ends where a section does.
struct Sampled<'a, F> {
    inner: F,
    program: &'a Program,
    plan: &'a Plan,
    at: Vec<Place>,
    /// By section, whether what was left out before it is made up for.
    is_replayed: Vec<bool>,
}

#[derive(Clone, Copy, Default)]
struct Place {
    section: usize,
    /// The section has just ended.
    cuts: bool,
}

impl<F: Feed> Feed for Sampled<'_, F> {
    fn next(&mut self, thread: usize) -> Item<'_> {
        let place = &mut self.at[thread];
        if std::mem::take(&mut place.cuts) {
            return Item::Act(Act::Cut);
        }
        if let Some((next, skipped)) = self.plan.skipped_at(place.section) {
            place.section = next;
            if let Some(end) = skipped.end_of(thread) {
                self.inner.go_to(thread, end);
            }
            // All threads have met: who goes on first does it for all.
            if !std::mem::replace(&mut self.is_replayed[next], true) {
                return Item::Skipped(skipped);
            }
        }
        let item = self.inner.next(thread);
        match item {
            Item::Act(Act::Arrive(barrier))
                if self.program.barriers[barrier as usize] == self.plan.parties() =>
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

    fn bookmark(&self, thread: usize, executed: &[u32]) -> Bookmark {
        self.inner.bookmark(thread, executed)
    }

    fn go_to(&mut self, thread: usize, bookmark: &Bookmark) {
        self.inner.go_to(thread, bookmark);
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
    let feed = Sampled {
        inner: feed,
        program,
        plan,
        at: vec![Place::default(); program.threads.len()],
        is_replayed: vec![false; plan.sections()],
    };
    let mut result = simulate(program, feed, machine, options, progress);
    let simulated: Vec<usize> = plan.simulated().collect();
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
    let mut cycles = vec![0; plan.sections()];
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
