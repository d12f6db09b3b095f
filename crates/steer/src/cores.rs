//! Which CPUs are better than others.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const CPUS: &str = "sys/devices/system/cpu";
const DEVICES: &str = "sys/devices";

/// CPUs whose capacity is at least this share of the best one's count as the best: turbo bins of equal cores differ by less.
const AS_GOOD: f64 = 0.9;

/// The CPUs that a program may use, as they differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// All of them.
    pub all: Vec<u32>,
    /// Those that are better than the others; empty if all are alike.
    pub best: Vec<u32>,
    /// In what they are better.
    pub why: Option<&'static str>,
}

impl Cores {
    /// Looks below `root` (`/` outside of tests) at CPUs that may be used: at their capacity as the scheduler knows it, at
    /// Intel's two kinds of cores, at the highest performance that ACPI tells and the highest frequency, and at the size of
    /// their last cache.
    pub fn examine(root: &Path, allowed: &[u32]) -> Cores {
        let found = by_number(allowed, |cpu| number(root, cpu, "cpu_capacity"))
            .map(|best| (best, "capacity"))
            .or_else(|| hybrid(root, allowed).map(|best| (best, "kind of core")))
            .or_else(|| {
                by_number(allowed, |cpu| number(root, cpu, "acpi_cppc/highest_perf"))
                    .map(|best| (best, "performance"))
            })
            .or_else(|| {
                by_number(allowed, |cpu| number(root, cpu, "cpufreq/cpuinfo_max_freq"))
                    .map(|best| (best, "frequency"))
            })
            .or_else(|| by_number(allowed, |cpu| last_cache(root, cpu)).map(|best| (best, "cache")));
        let (best, why) = found.map_or((Vec::new(), None), |(best, why)| (best, Some(why)));
        Cores { all: allowed.to_vec(), best, why }
    }
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number(root: &Path, cpu: u32, name: &str) -> Option<u64> {
    text(&root.join(CPUS).join(format!("cpu{cpu}")).join(name))?.parse().ok()
}

/// The CPUs with the largest number, if others have much less; `None` where a number is missing.
fn by_number(allowed: &[u32], number: impl Fn(u32) -> Option<u64>) -> Option<Vec<u32>> {
    let numbers: BTreeMap<u32, u64> =
        allowed.iter().map(|cpu| Some((*cpu, number(*cpu)?))).collect::<Option<_>>()?;
    let largest = *numbers.values().max()?;
    let is_best = |value: u64| value as f64 >= AS_GOOD * largest as f64;
    let best: Vec<u32> = numbers.iter().filter(|(_, value)| is_best(**value)).map(|(cpu, _)| *cpu).collect();
    (best.len() < allowed.len()).then_some(best)
}

/// Intel's performance cores, where there are efficient ones too.
fn hybrid(root: &Path, allowed: &[u32]) -> Option<Vec<u32>> {
    let performance = list(&text(&root.join(DEVICES).join("cpu_core/cpus"))?);
    let efficient = list(&text(&root.join(DEVICES).join("cpu_atom/cpus"))?);
    let best: Vec<u32> = allowed.iter().copied().filter(|cpu| performance.contains(cpu)).collect();
    (!best.is_empty() && allowed.iter().any(|cpu| efficient.contains(cpu))).then_some(best)
}

/// Bytes of the last cache that a CPU has.
fn last_cache(root: &Path, cpu: u32) -> Option<u64> {
    let caches = (0..8).filter_map(|index| {
        let level = number(root, cpu, &format!("cache/index{index}/level"))?;
        let size = text(&root.join(CPUS).join(format!("cpu{cpu}")).join(format!("cache/index{index}/size")))?;
        Some((level, size.strip_suffix('K')?.parse::<u64>().ok()? * 1024))
    });
    caches.max().map(|(_, size)| size)
}

/// A list as the kernel writes it: `0-3,8`.
fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake(tempfile::TempDir);

    impl Fake {
        fn new(files: &[(&str, &str)]) -> Fake {
            let root = tempfile::tempdir().unwrap();
            for (path, content) in files {
                let path = root.path().join("sys/devices").join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            Fake(root)
        }

        fn examine(&self, allowed: &[u32]) -> (Vec<u32>, Option<&'static str>) {
            let cores = Cores::examine(self.0.path(), allowed);
            (cores.best, cores.why)
        }
    }

    #[test]
    fn little_cores_have_less_capacity() {
        let fake = Fake::new(&[
            ("system/cpu/cpu0/cpu_capacity", "446\n"),
            ("system/cpu/cpu1/cpu_capacity", "446\n"),
            ("system/cpu/cpu2/cpu_capacity", "1024\n"),
            ("system/cpu/cpu3/cpu_capacity", "980\n"),
        ]);
        assert_eq!(fake.examine(&[0, 1, 2, 3]), (vec![2, 3], Some("capacity")));
        assert_eq!(fake.examine(&[2, 3]), (vec![], None), "only those that may be used are compared");
    }

    #[test]
    fn intels_performance_cores_are_better_than_its_efficient_ones() {
        let fake = Fake::new(&[("cpu_core/cpus", "0-3\n"), ("cpu_atom/cpus", "4-7\n")]);
        assert_eq!(fake.examine(&[2, 3, 4, 5]), (vec![2, 3], Some("kind of core")));
        assert_eq!(fake.examine(&[0, 1]), (vec![], None));
    }

    #[test]
    fn a_larger_last_cache_is_better() {
        let cpu = |cpu: u32, size: &str| {
            [
                (format!("system/cpu/cpu{cpu}/cache/index0/level"), "1".to_owned()),
                (format!("system/cpu/cpu{cpu}/cache/index0/size"), "32K".to_owned()),
                (format!("system/cpu/cpu{cpu}/cache/index3/level"), "3".to_owned()),
                (format!("system/cpu/cpu{cpu}/cache/index3/size"), size.to_owned()),
            ]
        };
        let files: Vec<(String, String)> =
            [cpu(0, "98304K"), cpu(1, "98304K"), cpu(8, "32768K")].into_iter().flatten().collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(Fake::new(&files).examine(&[0, 1, 8]), (vec![0, 1], Some("cache")));
    }

    #[test]
    fn equal_cores_with_turbo_bins_are_alike_and_a_machine_that_tells_nothing_has_no_best() {
        let fake = Fake::new(&[
            ("system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "5700000"),
            ("system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "5500000"),
        ]);
        assert_eq!(fake.examine(&[0, 1]), (vec![], None));
        assert_eq!(Fake::new(&[]).examine(&[0, 1]), (vec![], None));
    }
}
