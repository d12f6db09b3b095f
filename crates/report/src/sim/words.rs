//! What components, groups, threads and resources of a simulation are called.

use std::collections::BTreeSet;

use holdup_cycles::{GroupKind, SharedBytes, ThreadGroup, Variable};
use holdup_model::cycles::{Level, Simulated};

use crate::why::words as why;
use crate::{Look, escape};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), ["0 to 3", "7", "9, 10"]);
        assert!(ranges(&[]).is_empty());
        assert_eq!(ranges(&[u32::MAX]), [u32::MAX.to_string()]);
    }
}
