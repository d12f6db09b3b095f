//! Which CPUs each run may use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use clap::ValueEnum;
use holdup_model::CpuSet;
use serde::{Deserialize, Serialize};

/// How CPUs are chosen for a number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Affinity {
    /// Every run may use all CPUs
    #[default]
    None,
    /// As many CPUs as threads, close together: both hardware threads of a core, then the next core of its processor
    Compact,
    /// As many CPUs as threads, far apart: another processor each, then another core, hardware threads of one core last
    Spread,
}

/// The CPUs that holdup may use, and where they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topology {
    cpus: Vec<Cpu>,
}

/// Ordered by processor, then by core, then by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cpu {
    processor: i64,
    core: i64,
    number: u32,
}

impl Topology {
    /// Of this machine; `root` is `/` outside of tests. What cannot be read counts as one processor with a core for
    /// each CPU.
    pub(crate) fn read(root: &Path) -> Topology {
        let status = fs::read_to_string(root.join("proc/self/status")).unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let folder = root.join("sys/devices/system/cpu");
        let online = fs::read_to_string(folder.join("online")).ok().and_then(|list| CpuSet::parse(&list));
        let allowed = allowed.and_then(CpuSet::parse).unwrap_or_default();
        let usable = online.map_or(allowed.clone(), |online| allowed.intersection(&online));
        let fact = |cpu: u32, name: &str| {
            let path = folder.join(format!("cpu{cpu}/topology/{name}"));
            fs::read_to_string(path).ok()?.trim().parse::<i64>().ok()
        };
        let mut cpus: Vec<Cpu> = usable
            .iter()
            .map(|number| Cpu {
                processor: fact(number, "physical_package_id").unwrap_or(0),
                core: fact(number, "core_id").unwrap_or(i64::from(number)),
                number,
            })
            .collect();
        cpus.sort_unstable();
        Topology { cpus }
    }

    /// The CPUs for so many threads; empty for all. Where there are fewer CPUs than threads, it is all of them too.
    pub(crate) fn choose(&self, affinity: Affinity, threads: u32) -> Vec<u32> {
        let order = match affinity {
            Affinity::None => return Vec::new(),
            Affinity::Compact => self.cpus.clone(),
            Affinity::Spread => self.spread(),
        };
        let mut chosen: Vec<u32> = order.iter().take(threads as usize).map(|cpu| cpu.number).collect();
        chosen.sort_unstable();
        chosen
    }

    /// First CPUs of cores before second ones, and in each of these rounds the processors in turn.
    fn spread(&self) -> Vec<Cpu> {
        let mut used_in_core: BTreeMap<(i64, i64), usize> = BTreeMap::new();
        let mut used_in_processor: BTreeMap<(usize, i64), usize> = BTreeMap::new();
        let mut order: BTreeSet<(usize, usize, Cpu)> = BTreeSet::new();
        for &cpu in &self.cpus {
            let sibling = used_in_core.entry((cpu.processor, cpu.core)).or_default();
            let turn = used_in_processor.entry((*sibling, cpu.processor)).or_default();
            order.insert((*sibling, *turn, cpu));
            *sibling += 1;
            *turn += 1;
        }
        order.into_iter().map(|(_, _, cpu)| cpu).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processors of two cores of two hardware threads, numbered as Linux does: 0 to 3 are the first hardware
    /// threads, 4 to 7 the second ones.
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join("proc/self/status"), "Name:\tx\nCpus_allowed_list:\t0-31\n").unwrap();
        let folder = root.path().join("sys/devices/system/cpu");
        for cpu in 0..8 {
            let facts = folder.join(format!("cpu{cpu}/topology"));
            fs::create_dir_all(&facts).unwrap();
            fs::write(facts.join("physical_package_id"), format!("{}\n", cpu % 4 / 2)).unwrap();
            fs::write(facts.join("core_id"), format!("{}\n", cpu % 2)).unwrap();
        }
        fs::write(folder.join("online"), "0-7\n").unwrap();
        root
    }

    #[test]
    fn compact_fills_cores_and_spread_fills_processors() {
        let root = machine();
        let topology = Topology::read(root.path());
        for (threads, compact, spread) in [
            (1, &[0][..], &[0][..]),
            (2, &[0, 4], &[0, 2]),
            (3, &[0, 1, 4], &[0, 1, 2]),
            (4, &[0, 1, 4, 5], &[0, 1, 2, 3]),
            (5, &[0, 1, 2, 4, 5], &[0, 1, 2, 3, 4]),
            (6, &[0, 1, 2, 4, 5, 6], &[0, 1, 2, 3, 4, 6]),
            (99, &[0, 1, 2, 3, 4, 5, 6, 7], &[0, 1, 2, 3, 4, 5, 6, 7]),
        ] {
            assert_eq!(topology.choose(Affinity::Compact, threads), compact, "compact {threads}");
            assert_eq!(topology.choose(Affinity::Spread, threads), spread, "spread {threads}");
            assert_eq!(topology.choose(Affinity::None, threads), [0u32; 0]);
        }
    }

    #[test]
    fn a_machine_that_tells_nothing_of_its_cores() {
        let root = machine();
        fs::remove_dir_all(root.path().join("sys")).unwrap();
        fs::write(root.path().join("proc/self/status"), "Cpus_allowed_list:\t3,5-6\n").unwrap();
        let topology = Topology::read(root.path());
        assert_eq!(topology.choose(Affinity::Compact, 2), [3, 5]);
        assert_eq!(topology.choose(Affinity::Spread, 9), [3, 5, 6]);
        fs::remove_file(root.path().join("proc/self/status")).unwrap();
        assert_eq!(Topology::read(root.path()).choose(Affinity::Spread, 2), [0u32; 0]);
    }
}
