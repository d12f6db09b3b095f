//! Which condition variables are barriers: the rule of the module of the same name in `holdup-counts`, and that nobody
//! signals them: a queue that is closed by a broadcast can look like a barrier with one round.

use std::collections::{BTreeMap, BTreeSet};

use crate::stream::Telling;

/// Conditions that are barriers, each with the number of its threads: all come to it equally often, and there are as many
/// broadcasts as rounds.
pub(crate) fn barriers(tellings: &[Telling]) -> BTreeMap<u64, u32> {
    let mut arrivals: BTreeMap<u64, BTreeMap<usize, u64>> = BTreeMap::new();
    let mut broadcasts: BTreeMap<u64, u64> = BTreeMap::new();
    let mut signalled: BTreeSet<u64> = BTreeSet::new();
    for (index, telling) in tellings.iter().enumerate() {
        let waits = telling.waits.iter().filter(|wait| wait.is_condition && !wait.looks_again);
        signalled.extend(telling.wakes.iter().filter(|woke| !woke.broadcasts).map(|woke| woke.object));
        let wakes = telling.wakes.iter().filter(|woke| woke.is_condition && woke.broadcasts);
        wakes.clone().for_each(|woke| *broadcasts.entry(woke.object).or_default() += 1);
        for object in waits.map(|wait| wait.object).chain(wakes.map(|woke| woke.object)) {
            *arrivals.entry(object).or_default().entry(index).or_default() += 1;
        }
    }
    let is_barrier = |object: u64, arrivals: &BTreeMap<usize, u64>| {
        let counts: BTreeSet<u64> = arrivals.values().copied().collect();
        let rounds = broadcasts.get(&object).copied().unwrap_or(0);
        arrivals.len() >= 2 && counts.len() == 1 && counts.contains(&rounds) && !signalled.contains(&object)
    };
    arrivals
        .into_iter()
        .filter(|(object, threads)| is_barrier(*object, threads))
        .map(|(object, threads)| (object, threads.len() as u32))
        .collect()
}
