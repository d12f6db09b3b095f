//! Which threads of a program are worth being run by themselves, and in which order.

use std::collections::BTreeSet;

use holdup_model::{Run, ThreadId};

use super::groups::groups;
use super::phases::Phased;
use crate::scaling::{main_of, real_teams};

/// The numbers of the threads that do the work of `run`, a run in which all ran together: in each phase one of each group of
/// threads that do the same, then a second one of each, and so on; groups and phases by falling CPU time. Threads that do
/// next to nothing are not among them. Empty where nothing is known.
pub fn worth_profiling(run: &Run) -> Vec<u32> {
    let Some(main) = main_of(run) else { return Vec::new() };
    let process = main.process;
    let phased = Phased::of(main, &real_teams([process].into_iter()));
    let mut phases: Vec<_> = phased
        .phases
        .iter()
        .map(|(key, phase)| (phase.sum().cpu, groups(process, key.kind, phase)))
        .collect();
    phases.sort_by_key(|(cpu, _)| std::cmp::Reverse(*cpu));
    let mut seen: BTreeSet<ThreadId> = BTreeSet::new();
    let mut order = Vec::new();
    for (_, mut groups) in phases {
        // In a group, in the order of creation.
        groups.iter_mut().for_each(|group| group.threads.sort_unstable());
        let most = groups.iter().map(|group| group.threads.len()).max().unwrap_or(0);
        let turns =
            (0..most).flat_map(|place| groups.iter().filter_map(move |group| group.threads.get(place)));
        order.extend(turns.filter(|thread| seen.insert(**thread)).map(|thread| thread.index() as u32));
    }
    order
}
