//! Threads that do the same: of the same start function, and with about as much work.

use holdup_model::{Arrange, Process, ThreadId, sort_of_thread};

use super::PhaseKind;
use super::phases::PhaseRun;

/// Threads of one start function are two groups where the CPU times of neighbours, in order, differ by more than this
/// factor.
const LARGEST_STEP: f64 = 1.5;

/// A group that has less than this share of the CPU time of its phase is put to the nearest one of its kind.
const LEAST_GROUP: f64 = 0.1;

/// A thread with less than this share of the mean thread's CPU time does nothing that counts.
const LEAST_THREAD: f64 = 0.05;

/// Threads that do the same.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Group {
    /// Hostile.
    pub(super) name: String,
    pub(super) threads: Vec<ThreadId>,
    /// Their CPU time together (ns).
    pub(super) cpu: u64,
}

/// The groups of a phase, by falling CPU time. Threads that do next to nothing are in none.
pub(super) fn groups(process: &Process, kind: PhaseKind, phase: &PhaseRun) -> Vec<Group> {
    let all: u64 = phase.threads.values().map(|spent| spent.cpu).sum();
    let mean = all as f64 / phase.threads.len().max(1) as f64;
    let mut kinds: Vec<(String, Vec<(u64, ThreadId)>)> = Vec::new();
    for (&thread, spent) in &phase.threads {
        if (spent.cpu as f64) < LEAST_THREAD * mean || spent.cpu == 0 {
            continue;
        }
        let name = match kind {
            PhaseKind::Region => "team".to_owned(),
            _ if thread.index() == 0 => "main".to_owned(),
            _ => sort_of_thread(process, thread).unwrap_or_else(|| "thread".to_owned()),
        };
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push((spent.cpu, thread)),
            None => kinds.push((name, vec![(spent.cpu, thread)])),
        }
    }
    let mut groups: Vec<Group> = kinds
        .into_iter()
        .flat_map(|(name, mut members)| {
            members.sort_unstable();
            let parts = apart(&members, all);
            let count = parts.len();
            parts.into_iter().enumerate().map(move |(index, part)| Group {
                name: match (count, index) {
                    (1, _) => name.clone(),
                    (_, 0) => format!("{name}, least work"),
                    (_, index) if index + 1 == count => format!("{name}, most work"),
                    (_, index) => format!("{name}, more work ({index})"),
                },
                cpu: part.iter().map(|(cpu, _)| cpu).sum(),
                threads: part.into_iter().map(|(_, thread)| thread).collect(),
            })
        })
        .collect();
    groups.arrange_by(|a, b| b.cpu.cmp(&a.cpu).then_with(|| a.threads.cmp(&b.threads)));
    groups
}

/// Cuts sorted CPU times where neighbours differ much and both sides count.
fn apart(members: &[(u64, ThreadId)], all: u64) -> Vec<Vec<(u64, ThreadId)>> {
    let least = LEAST_GROUP * all as f64;
    let sum = |part: &[(u64, ThreadId)]| part.iter().map(|(cpu, _)| *cpu as f64).sum::<f64>();
    let mut parts = Vec::new();
    let mut from = 0;
    for index in 1..members.len() {
        let steep = members[index].0 as f64 > LARGEST_STEP * members[index - 1].0 as f64;
        if steep && sum(&members[from..index]) >= least && sum(&members[index..]) >= least {
            parts.push(members[from..index].to_vec());
            from = index;
        }
    }
    parts.push(members[from..].to_vec());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_with_much_more_work_are_a_group_of_their_own() {
        let times = |cpu: &[u64]| -> Vec<Vec<u64>> {
            let members: Vec<(u64, ThreadId)> =
                cpu.iter().enumerate().map(|(index, &cpu)| (cpu, ThreadId::new(index as u32))).collect();
            let all = cpu.iter().sum();
            apart(&members, all).iter().map(|part| part.iter().map(|(cpu, _)| *cpu).collect()).collect()
        };
        assert_eq!(times(&[90, 100, 110]), [vec![90, 100, 110]]);
        assert_eq!(times(&[50, 55, 100, 110]), [vec![50, 55], vec![100, 110]]);
        // Too little to count.
        assert_eq!(times(&[1, 100, 110]), [vec![1, 100, 110]]);
    }
}
