//! Long programs by a sample.
//!
//! A program's run is cut into slices, in each of which all threads together execute as many instructions. One pass over the
//! program, in which all accesses hit, tells what each slice executes, which lines of memory it uses
//! (`crate::collector`), and where all threads and what they synchronise by are at its end (`crate::system`). Slices are grouped by what
//! they execute: which blocks, and how much each thread; of each group a few are simulated, spread over the run, which stand for the
//! others in proportion to their instructions (`plan`). What lies between is not even decoded: threads go to where they were at its
//! end, locks, gates, barriers and tokens are as they were then, and caches, directories and translation buffers get
//! what was used last meanwhile (`skipped`). How far those of a group differ from each other gives the error (`error`).

mod error;
mod plan;
mod skipped;

use holdup_model::cycles::{CycleComponent, CycleStack, SampledError, Simulated, SimulatedThread};

use crate::machine::Machine;
use crate::program::{Feed, Program};
use crate::system::{Options, Progress, followed};

pub use self::plan::Plan;

/// Simulates the slices of a plan, and says what all of them would take.
pub fn simulate_sampled<F: Feed>(
    program: &Program,
    feed: F,
    machine: &Machine,
    options: &Options,
    plan: &Plan,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Simulated {
    let (mut result, slices) = followed(program, feed, machine, options, plan, progress);
    if slices.len() != plan.simulated().count() {
        // It was stopped: what there is, is not enough to say what all would take.
        return result;
    }
    let mut took = vec![(0, 0); plan.slices.len()];
    for one in &slices {
        took[one.slice] = (one.end.saturating_sub(one.begin), one.instructions);
    }
    let weights = plan.weights(&took);
    let (whole, executed) = (result.cycles, result.instructions);
    let weighted = slices.iter().map(|one| weights[one.slice] * took[one.slice].0 as f64);
    result.cycles = weighted.sum::<f64>().round() as u64;
    let simulated: Vec<usize> = slices.iter().map(|one| one.slice).collect();
    let times = plan.times(&took);
    let last = times.last().copied().unwrap_or(0).max(1);
    let scaled = |time: u64| (time as f64 * result.cycles as f64 / last as f64).round() as u64;
    for (index, thread) in result.threads.iter_mut().enumerate() {
        let lives = plan.lives(index);
        weigh(thread, &simulated, &weights, result.cycles);
        thread.begin = scaled(times[lives.0]);
        thread.end = scaled(times[lives.1 + 1]).max(thread.begin);
    }
    result.instructions = result.threads.iter().map(|thread| thread.instructions).sum();
    let ratio = result.cycles as f64 / whole.max(1) as f64;
    enlarge(&mut result, ratio);
    result.sampled =
        Some(SampledError { error: plan.error(&took) / result.cycles.max(1) as f64, simulated: executed });
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
    let mut stack = CycleStack::default();
    for (&component, sum) in CycleComponent::ALL.iter().zip(sums) {
        stack.book(component, sum.round() as u64);
    }
    thread.stack = stack.scaled(stack.total().min(cycles));
    thread.stack.book(CycleComponent::Imbalance, cycles - thread.stack.total());
    thread.instructions = instructions.round() as u64;
}

/// What was counted for the whole program is taken to be as in the slices that were simulated.
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
        "Only a sample of the run was simulated: instructions, lines and resources are those of the sample, \
         enlarged to the whole."
            .to_owned(),
    );
}
