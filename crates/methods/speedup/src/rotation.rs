//! Which threads of a program are worth being run by themselves, and in which order.

use std::collections::BTreeSet;

use holdup_model::{Arrange, Run, ThreadId};
use holdup_sections::{main_of, real_teams};

use super::groups::groups;
use super::phases::Phased;

/// A phase with less than this share of the CPU time of all phases asks for no rounds of its own.
const LEAST_PHASE: f64 = 0.05;

/// The threads that do the work of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rotation {
    /// Their numbers: in each phase one of each group of threads that do the same, then a second one of each, and so on;
    /// groups and phases by falling CPU time. Threads that do next to nothing are not among them.
    pub order: Vec<u32>,
    /// So many of each phase, in this order, have to be run by themselves until there was one of each group.
    pub rounds: u32,
}

/// The threads that do the work of `run`, a run in which all ran together. Empty where nothing is known.
pub fn worth_profiling(run: &Run) -> Rotation {
    let Some(main) = main_of(run) else { return Rotation::default() };
    let process = main.process;
    let phased = Phased::of(main, &real_teams([process].into_iter()));
    let mut phases: Vec<_> = phased
        .phases
        .iter()
        .map(|(key, phase)| (phase.sum().cpu, groups(process, key.kind, phase)))
        .collect();
    phases.arrange_by_key(|(cpu, _)| std::cmp::Reverse(*cpu));
    let mut seen: BTreeSet<ThreadId> = BTreeSet::new();
    let mut order: Vec<ThreadId> = Vec::new();
    for (_, groups) in &mut phases {
        // In a group, in the order of creation.
        groups.iter_mut().for_each(|group| group.threads.sort_unstable());
        let most = groups.iter().map(|group| group.threads.len()).max().unwrap_or(0);
        let turns =
            (0..most).flat_map(|place| groups.iter().filter_map(move |group| group.threads.get(place)));
        order.extend(turns.copied().filter(|thread| seen.insert(*thread)));
    }
    let all: u64 = phases.iter().map(|(cpu, _)| cpu).sum();
    let rounds =
        phases.iter().filter(|(cpu, _)| *cpu as f64 >= LEAST_PHASE * all as f64).map(|(_, groups)| {
            // A phase counts its own threads only, in the order that an earlier phase may have given to them.
            let is_there = |thread: &&ThreadId| groups.iter().any(|group| group.threads.contains(thread));
            let here: Vec<&ThreadId> = order.iter().filter(is_there).collect();
            let first = |threads: &[ThreadId]| here.iter().position(|thread| threads.contains(thread));
            groups.iter().filter_map(|group| first(&group.threads)).max().map_or(0, |last| last + 1)
        });
    let rounds = rounds.max().unwrap_or(0) as u32;
    Rotation { order: order.into_iter().map(|thread| thread.index() as u32).collect(), rounds }
}
