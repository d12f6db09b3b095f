//! What components, groups, threads and resources of a simulation are called.

use std::collections::BTreeSet;

use holdup_cycles::{GroupKind, SharedBytes, ThreadGroup, Variable};
use holdup_model::cycles::{CycleComponent, Level, Simulated};
use holdup_speedup::SpeedupLoss;

use crate::why::words as why;
use crate::{Look, escape};

/// Kinds of components, from the bottom of a stack to its top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// The core itself.
    Core,
    /// Waiting for data.
    Memory,
    /// Waiting for other threads.
    Sync,
    /// Without a core, or not there.
    Away,
}

impl Family {
    /// All, in that order.
    pub(crate) const ALL: [Family; 4] = [Family::Core, Family::Memory, Family::Sync, Family::Away];

    /// What it is called beside its components.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Family::Core => "core",
            Family::Memory => "memory",
            Family::Sync => "sync",
            Family::Away => "away",
        }
    }
}

/// The kind that a component is of.
pub(crate) fn family(component: CycleComponent) -> Family {
    match component {
        CycleComponent::DispatchWidth
        | CycleComponent::DependInt
        | CycleComponent::DependFp
        | CycleComponent::Branch
        | CycleComponent::Ifetch => Family::Core,
        CycleComponent::Tlb
        | CycleComponent::MemL1d
        | CycleComponent::MemL1Neighbor
        | CycleComponent::MemL2
        | CycleComponent::MemL2Neighbor
        | CycleComponent::MemL3
        | CycleComponent::MemOffSocket
        | CycleComponent::MemDram => Family::Memory,
        CycleComponent::SyncCritSect
        | CycleComponent::SyncBarrier
        | CycleComponent::SyncCond
        | CycleComponent::SyncJoin => Family::Sync,
        CycleComponent::Io | CycleComponent::NoCore | CycleComponent::Imbalance => Family::Away,
    }
}

/// A component in a letter, which begins its piece of a bar.
pub(crate) fn letter(component: CycleComponent) -> char {
    match component {
        CycleComponent::DispatchWidth => 'w',
        CycleComponent::DependInt => 'i',
        CycleComponent::DependFp => 'f',
        CycleComponent::Branch => 'b',
        CycleComponent::Ifetch => 'F',
        CycleComponent::Tlb => 't',
        CycleComponent::MemL1d => '1',
        CycleComponent::MemL1Neighbor => 'n',
        CycleComponent::MemL2 => '2',
        CycleComponent::MemL2Neighbor => 'N',
        CycleComponent::MemL3 => '3',
        CycleComponent::MemOffSocket => 'o',
        CycleComponent::MemDram => 'm',
        CycleComponent::SyncCritSect => 'L',
        CycleComponent::SyncBarrier => 'B',
        CycleComponent::SyncCond => 'C',
        CycleComponent::SyncJoin => 'J',
        CycleComponent::Io => 'I',
        CycleComponent::NoCore => 'R',
        CycleComponent::Imbalance => '-',
    }
}

/// What a component's cycles are spent on, for a sentence: `41 % of the cycles are mem-dram (waiting for memory)`.
pub(crate) fn meaning(component: CycleComponent) -> &'static str {
    match component {
        CycleComponent::DispatchWidth => "as many instructions as the core can take",
        CycleComponent::DependInt => "integer operations that wait for each other",
        CycleComponent::DependFp => "floating-point or vector operations that wait for each other",
        CycleComponent::Branch => "mispredicted branches",
        CycleComponent::Ifetch => "instructions that are not in the cache",
        CycleComponent::Tlb => "translations of addresses",
        CycleComponent::MemL1d => "data from the first-level cache",
        CycleComponent::MemL1Neighbor => "data from the first level of another core of the socket",
        CycleComponent::MemL2 => "data from the second-level cache",
        CycleComponent::MemL2Neighbor => "data from another second-level cache of the socket",
        CycleComponent::MemL3 => "data from the third-level cache",
        CycleComponent::MemOffSocket => "data from the caches of another socket",
        CycleComponent::MemDram => "data from memory",
        CycleComponent::SyncCritSect => "waiting for locks",
        CycleComponent::SyncBarrier => "waiting at barriers",
        CycleComponent::SyncCond => "waiting for conditions, semaphores or work",
        CycleComponent::SyncJoin => "waiting for the end of threads",
        CycleComponent::Io => "calls that block",
        CycleComponent::NoCore => "waiting for a core",
        CycleComponent::Imbalance => "threads that have not begun or have ended",
    }
}

/// What idle cores are for in a speedup stack, and the other parts of it.
pub(crate) fn loss(loss: SpeedupLoss) -> &'static str {
    match loss {
        SpeedupLoss::Idle(component) => component.name(),
        SpeedupLoss::ExtraWork => "extra work",
        SpeedupLoss::Step(step) => step.name(),
    }
}

/// What a part of a speedup stack means.
pub(crate) fn loss_meaning(loss: SpeedupLoss) -> &'static str {
    use holdup_speedup::SpeedupStep;
    match loss {
        SpeedupLoss::Idle(CycleComponent::Imbalance) => {
            "cores without a thread, even so: serial parts, late starts, early ends"
        }
        SpeedupLoss::Idle(CycleComponent::SyncBarrier) => "waiting at barriers, even if nothing is shared",
        SpeedupLoss::Idle(_) => "waiting, even if nothing is shared",
        SpeedupLoss::ExtraWork => "cycles of all cores beyond those of one, even if nothing is shared",
        SpeedupLoss::Step(SpeedupStep::Caches) => "cores that take cache from each other",
        SpeedupLoss::Step(SpeedupStep::Links) => "cores that share an interconnect",
        SpeedupLoss::Step(SpeedupStep::Memory) => "cores that share memory controllers and channels",
        SpeedupLoss::Step(SpeedupStep::Coherence) => {
            "cache lines that go from core to core because of writes"
        }
        SpeedupLoss::Step(SpeedupStep::Locks) => "threads that wait for locks",
    }
}

/// A level of the memory hierarchy as JSON has it: its component without `mem-`.
pub(crate) fn level(level: Level) -> &'static str {
    let name = level.component().name();
    name.strip_prefix("mem-").unwrap_or(name)
}

/// What a group of threads is called.
pub(crate) fn group(group: &ThreadGroup, look: Look) -> String {
    match (&group.kind, &group.entry) {
        (GroupKind::Main, _) => "main".to_owned(),
        (GroupKind::Team, _) => "OpenMP team".to_owned(),
        (GroupKind::Function, Some(entry)) => match entry.function.as_deref() {
            Some(function) => escape::name(function, look),
            None => why::frames(std::slice::from_ref(entry), look),
        },
        (GroupKind::Function | GroupKind::Unknown, _) => "threads".to_owned(),
    }
}

/// What a group of threads is, for JSON.
pub(crate) fn group_kind(kind: GroupKind) -> &'static str {
    match kind {
        GroupKind::Main => "main",
        GroupKind::Team => "team",
        GroupKind::Function => "function",
        GroupKind::Unknown => "unknown",
    }
}

/// What each thread of a run is called: its number, and its name where not all have the same.
pub(crate) fn threads(run: &Simulated, look: Look) -> Vec<String> {
    let name = |name: &Option<String>| name.as_deref().filter(|name| !name.is_empty()).map(str::to_owned);
    let names: BTreeSet<Option<String>> = run.threads.iter().map(|thread| name(&thread.name)).collect();
    let told = |thread: &holdup_model::cycles::SimulatedThread| match name(&thread.name) {
        Some(name) if names.len() > 1 => format!("{} {}", thread.number, escape::short_name(&name, look)),
        _ => thread.number.to_string(),
    };
    run.threads.iter().map(told).collect()
}

/// A variable: `table[2].lock`.
pub(crate) fn variable(variable: &Variable, look: Look) -> String {
    escape::name(&format!("{}{}", variable.name, variable.part), look)
}

/// Bytes of a shared line: their variable, or where they are.
pub(crate) fn bytes(bytes: &SharedBytes, look: Look) -> String {
    let (from, to) = bytes.range;
    match &bytes.variable {
        Some(known) => variable(known, look),
        None if to == from + 1 => format!("byte {from}"),
        None => format!("bytes {from} to {}", to - 1),
    }
}

/// Threads of a run in a few words: `thread 3`, `threads 0 to 3, 7`. `threads` are indices, numbers are told.
pub(crate) fn some_threads(run: &Simulated, threads: &[u32]) -> String {
    const MOST: usize = 4;
    let number = |index: &u32| run.threads.get(*index as usize).map_or(*index, |thread| thread.number);
    let mut numbers: Vec<u32> = threads.iter().map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let noun = if numbers.len() == 1 { "thread" } else { "threads" };
    let parts = ranges(&numbers);
    match parts.len() > MOST {
        true => format!("{} threads", numbers.len()),
        false => format!("{noun} {}", parts.join(", ")),
    }
}

/// Numbers in order as ranges: `0 to 3`, `7`.
pub(crate) fn ranges(numbers: &[u32]) -> Vec<String> {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let told = |(first, last): (u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    parts.into_iter().map(told).collect()
}

/// A ratio of speeds: `2.9`, `0.97`, `12.4`.
pub(crate) fn factor(value: f64) -> String {
    match value {
        value if !value.is_finite() => "-".to_owned(),
        value if value.abs() < 9.995 => format!("{value:.2}"),
        value => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_component_has_a_letter_of_its_own() {
        let letters: BTreeSet<char> =
            CycleComponent::ALL.iter().map(|component| letter(*component)).collect();
        assert_eq!(letters.len(), CycleComponent::ALL.len());
    }

    #[test]
    fn components_stand_by_family() {
        let families: Vec<Family> = CycleComponent::ALL.iter().map(|component| family(*component)).collect();
        let mut seen = families.clone();
        seen.dedup();
        assert_eq!(seen, Family::ALL);
    }

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), ["0 to 3", "7", "9, 10"]);
        assert!(ranges(&[]).is_empty());
        assert_eq!(ranges(&[u32::MAX]), [u32::MAX.to_string()]);
    }
}
