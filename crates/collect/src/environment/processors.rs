//! The machine's cores: which there are, of what kind, what they share, how fast they may be.

use holdup_model::{CoreKind, CpuSet, Environment, FrequencyRange, MemoryNode};

use crate::files::Files;

const CPUS: &str = "sys/devices/system/cpu";

/// More memory nodes than this are not looked at.
const MOST_NODES: usize = 64;

/// Cores are of different kinds if the capacity of one is below this share of the largest: cores of one kind differ
/// by some percent on processors that let single cores run faster.
const SAME_CAPACITY: f64 = 0.8;

/// What does not change while a program runs.
pub(super) fn fixed(files: &Files<'_>) -> Environment {
    let online = files.list(&format!("{CPUS}/online")).unwrap_or_default();
    Environment {
        kinds: kinds(files, &online),
        shared_cores: shared_cores(files, &online),
        frequencies: frequencies(files, &online),
        turbo_off: turbo_off(files),
        nodes: nodes(files, &online),
        online,
        ..Environment::default()
    }
}

/// Intel's processors have a folder for each kind of core; where there is none, capacities (1024 is the fastest
/// core) tell.
fn kinds(files: &Files<'_>, online: &CpuSet) -> Vec<CoreKind> {
    let named = [("performance", "cpu_core"), ("efficiency", "cpu_atom"), ("low power", "cpu_lowpower")];
    let kinds: Vec<CoreKind> = named
        .into_iter()
        .filter_map(|(name, folder)| {
            let cpus = files.list(&format!("sys/devices/{folder}/cpus"))?.intersection(online);
            (!cpus.is_empty()).then(|| CoreKind { name: name.to_owned(), cpus })
        })
        .collect();
    if kinds.len() > 1 {
        return kinds;
    }
    let mut capacities: Vec<(i64, u32)> = online
        .iter()
        .filter_map(|cpu| Some((files.number(&format!("{CPUS}/cpu{cpu}/cpu_capacity"))?, cpu)))
        .collect();
    capacities.sort_unstable_by(|a, b| b.cmp(a));
    let mut kinds: Vec<(i64, Vec<u32>)> = Vec::new();
    for (capacity, cpu) in capacities {
        match kinds.last_mut() {
            Some((largest, cpus)) if capacity as f64 >= SAME_CAPACITY * *largest as f64 => cpus.push(cpu),
            _ => kinds.push((capacity, vec![cpu])),
        }
    }
    if kinds.len() < 2 {
        return Vec::new();
    }
    kinds
        .into_iter()
        .map(|(capacity, cpus)| CoreKind {
            name: format!("capacity {capacity}"),
            cpus: cpus.into_iter().collect(),
        })
        .collect()
}

fn shared_cores(files: &Files<'_>, online: &CpuSet) -> Vec<CpuSet> {
    online
        .iter()
        .filter_map(|cpu| {
            let list = files.list(&format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list"))?;
            let siblings = list.intersection(online);
            (siblings.len() > 1 && siblings.first() == Some(cpu)).then_some(siblings)
        })
        .collect()
}

fn frequencies(files: &Files<'_>, online: &CpuSet) -> Vec<FrequencyRange> {
    let mut ranges: Vec<(FrequencyRange, Vec<u32>)> = Vec::new();
    for cpu in online.iter() {
        let number = |name: &str| -> Option<u64> {
            files.number(&format!("{CPUS}/cpu{cpu}/cpufreq/{name}"))?.try_into().ok()
        };
        let text = |name: &str| files.text(&format!("{CPUS}/cpu{cpu}/cpufreq/{name}")).unwrap_or_default();
        let (Some(limit_khz), Some(highest_khz)) = (number("scaling_max_freq"), number("cpuinfo_max_freq"))
        else {
            continue;
        };
        let range = FrequencyRange {
            cpus: CpuSet::default(),
            governor: text("scaling_governor"),
            driver: text("scaling_driver"),
            limit_khz,
            highest_khz,
        };
        match ranges.iter_mut().find(|(known, _)| *known == range) {
            Some((_, cpus)) => cpus.push(cpu),
            None => ranges.push((range, vec![cpu])),
        }
    }
    ranges
        .into_iter()
        .map(|(range, cpus)| FrequencyRange { cpus: cpus.into_iter().collect(), ..range })
        .collect()
}

fn turbo_off(files: &Files<'_>) -> Option<bool> {
    let off = files.number(&format!("{CPUS}/intel_pstate/no_turbo")).map(|off| off == 1);
    off.or_else(|| files.number(&format!("{CPUS}/cpufreq/boost")).map(|on| on == 0))
}

fn nodes(files: &Files<'_>, online: &CpuSet) -> Vec<MemoryNode> {
    // Nodes are listed as CPUs are.
    let numbers = files.list("sys/devices/system/node/online").unwrap_or_default();
    numbers
        .iter()
        .take(MOST_NODES)
        .filter_map(|node| {
            let cpus =
                files.list(&format!("sys/devices/system/node/node{node}/cpulist"))?.intersection(online);
            (!cpus.is_empty()).then_some(MemoryNode { node, cpus })
        })
        .collect()
}
