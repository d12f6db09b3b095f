//! How unequal threads are, before anybody asks why.

use holdup_model::Nanos;
use holdup_model::counts::{CountedThread, Counts, NativeMatch};

use super::deal::{Column, Dealt};
use super::rows::{Rows, dot, to_unit};
use super::{NativeImbalance, WorstInstance};

/// What a section's instances have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    /// Σ idle / Σ (threads × longest).
    pub(super) imbalance: f64,
    /// (longest − shortest) / longest, weighted by idle time.
    pub(super) spread: f64,
    /// Σ (longest − t).
    pub(super) idle: u64,
    /// The instance with the most of it.
    pub(super) worst: Option<WorstInstance>,
    /// Σ (threads × longest).
    pub(super) capacity: u64,
    /// The threads that took part, in order.
    pub(super) threads: Vec<CountedThread>,
    /// The time of each.
    pub(super) time: Vec<u64>,
}

/// Measures a section.
pub(super) fn measure(instances: &[&Dealt<'_>]) -> Measured {
    let mut threads: Vec<CountedThread> =
        instances.iter().flat_map(|instance| instance.threads).copied().collect();
    threads.sort_unstable();
    threads.dedup();
    let mut time = vec![0_u64; threads.len()];
    for instance in instances {
        for (thread, taken) in instance.threads.iter().zip(&instance.time) {
            if let Ok(at) = threads.binary_search(thread) {
                time[at] = time[at].saturating_add(*taken);
            }
        }
    }
    let rows = instances.iter().map(|instance| (instance.time.as_slice(), instance.idle()));
    let (imbalance, spread) = unequal(rows);
    let idle = instances.iter().fold(0_u64, |sum, instance| sum.saturating_add(instance.idle()));
    let capacity = instances.iter().fold(0_u64, |sum, instance| {
        sum.saturating_add(instance.longest().saturating_mul(instance.threads.len() as u64))
    });
    // Of equals the first.
    let worst =
        (1..).zip(instances).map(|(number, instance)| (instance.idle(), std::cmp::Reverse(number))).max();
    let worst = worst.filter(|_| idle > 0).map(|(most, std::cmp::Reverse(number))| {
        let instance = instances[number as usize - 1];
        let of_thread = |thread: &CountedThread| {
            let row = instance.threads.iter().position(|other| other == thread)?;
            instance.time.get(row).copied()
        };
        WorstInstance {
            number,
            share: most as f64 / idle as f64,
            time: threads.iter().map(|thread| of_thread(thread).unwrap_or(0)).collect(),
        }
    });
    Measured { imbalance, spread, idle, worst, capacity, threads, time }
}

/// Both measures over instances, given as times with their idle time.
fn unequal<'a>(instances: impl Iterator<Item = (&'a [u64], u64)>) -> (f64, f64) {
    let (mut idle_sum, mut whole, mut spreads) = (0.0, 0.0, 0.0);
    for (times, idle) in instances {
        let Some(longest) = times.iter().copied().max() else { continue };
        let shortest = times.iter().copied().min().unwrap_or(0);
        whole += longest as f64 * times.len() as f64;
        idle_sum += idle as f64;
        if longest > 0 {
            spreads += idle as f64 * ((longest - shortest) as f64 / longest as f64);
        }
    }
    let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
    (share(idle_sum, whole), share(spreads, idle_sum))
}

/// The same of native times, over those instances that have any.
pub(super) fn native(
    instances: &[&Dealt<'_>],
    threads: &[CountedThread],
    matched: NativeMatch,
) -> Option<NativeImbalance> {
    let found: Vec<(&Dealt<'_>, Vec<u64>)> = instances
        .iter()
        .filter_map(|instance| Some((*instance, instance.native?.iter().map(|time| time.get()).collect())))
        .collect();
    if found.is_empty() {
        return None;
    }
    // What threads take before they meet for the first time has their own start in it.
    let usual = found.iter().filter(|(instance, _)| instance.begin.is_none()).count();
    let compared: Vec<&(&Dealt<'_>, Vec<u64>)> =
        found.iter().filter(|(instance, _)| usual < 2 || instance.begin.is_none()).collect();
    let idle = |times: &[u64]| {
        let longest = times.iter().copied().max().unwrap_or(0);
        times.iter().fold(0_u64, |sum, time| sum.saturating_add(longest - time))
    };
    let (imbalance, spread) = unequal(compared.iter().map(|(_, times)| (times.as_slice(), idle(times))));
    let mut time = vec![0_u64; threads.len()];
    for (instance, times) in &found {
        for (thread, taken) in instance.threads.iter().zip(times) {
            if let Ok(at) = threads.binary_search(thread) {
                time[at] = time[at].saturating_add(*taken);
            }
        }
    }
    let rows = Rows::new(compared.iter().map(|(_, times)| times.len()));
    let native = column(&rows, compared.iter().flat_map(|(_, times)| times.iter().copied()));
    let executed = column(&rows, compared.iter().flat_map(|(instance, _)| instance.time.iter().copied()));
    let by_instructions = native.zip(executed).map(|(native, executed)| dot(&native, &executed).powi(2));
    let differences = compared.iter().map(|(_, times)| {
        let longest = times.iter().copied().max().unwrap_or(0);
        longest - times.iter().copied().min().unwrap_or(0)
    });
    let difference = differences.fold(0_u64, u64::saturating_add) / compared.len() as u64;
    let is_known = matched != NativeMatch::Unknown;
    let native = NativeImbalance {
        imbalance,
        spread,
        difference: Nanos::new(difference),
        matched,
        time: if is_known { time.into_iter().map(Nanos::new).collect() } else { Vec::new() },
        by_instructions: None,
    };
    let by_instructions = by_instructions.filter(|_| is_known && !native.is_little());
    Some(NativeImbalance { by_instructions, ..native })
}

fn column(rows: &Rows, values: impl Iterator<Item = u64>) -> Option<Vec<f64>> {
    let mut values: Vec<f64> = values.map(|value| value as f64).collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    rows.centre(&mut values);
    to_unit(&mut values, largest).map(|_| values)
}

/// What each thread has of a column, over all instances.
pub(super) fn per_thread(instances: &[&Dealt<'_>], threads: &[CountedThread], wanted: Column) -> Vec<u64> {
    let mut sums = vec![0_u64; threads.len()];
    for instance in instances {
        let first = instance.entries.partition_point(|(column, _, _)| *column < wanted);
        for (_, row, count) in instance.entries[first..].iter().take_while(|(column, _, _)| *column == wanted)
        {
            if let Ok(at) = threads.binary_search(&instance.threads[*row as usize]) {
                sums[at] = sums[at].saturating_add(*count);
            }
        }
    }
    sums
}

/// The numbers that threads are known by.
pub(super) fn numbers(counts: &Counts, threads: &[CountedThread]) -> Vec<u32> {
    threads
        .iter()
        .map(|thread| counts.threads.get(thread.index()).map_or(thread.0, |label| label.number))
        .collect()
}
