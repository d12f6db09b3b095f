//! Where the program and the thief run: two cores that share the last level of cache and nothing below it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::refusal::Refusal;

/// A cache that cores share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// 3 for a third level.
    pub number: u32,
    /// Its size as the kernel tells it. Guests of a virtual machine are told the whole of the host's, of which they may
    /// have little: see [`calibrate`](crate::calibrate).
    pub bytes: u64,
    /// Bytes of a line.
    pub line: u64,
    /// Its ways.
    pub ways: Option<u32>,
    /// Its number in resctrl's schemata.
    pub id: Option<u32>,
    /// The CPUs that share it, in order.
    pub cpus: Vec<u32>,
}

/// Two CPUs on different cores, and the cache that they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// For the profiled thread.
    pub program: u32,
    /// For who takes cache from it.
    pub pirate: u32,
    /// What they share.
    pub level: Level,
    /// Bytes of the largest cache that the pirate's core has for itself; 0 where there is none.
    pub private_bytes: u64,
}

/// The sizes of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    /// Of an ordinary page, in bytes.
    pub small: u64,
    /// Of a huge page, where programs may ask for them.
    pub huge: Option<u64>,
}

/// The CPUs that this thread may use, in order.
pub fn allowed_cpus() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect()
}

impl Place {
    /// Chooses two of the `allowed` CPUs. `root` is `/` outside of tests.
    ///
    /// Of several caches the one is taken that most of the allowed CPUs share; the program gets its first CPU, the pirate
    /// the last that is on another core.
    ///
    /// # Errors
    /// The reason why there are no such two.
    pub fn choose(root: &Path, allowed: &[u32]) -> Result<Place, Refusal> {
        let system = root.join("sys/devices/system/cpu");
        let online = read(&system.join("online")).map_or_else(|| allowed.to_vec(), |text| cpu_list(&text));
        let (&first, online_count) = (allowed.first().ok_or(Refusal::OneCore)?, online.len());
        if online_count == 1 {
            return Err(Refusal::OneCore);
        }
        if allowed.len() == 1 {
            return Err(Refusal::CpusetTooSmall { allowed: first, online: online_count });
        }
        let mut last_levels: Vec<Level> = Vec::new();
        for cpu in allowed {
            let last = caches(&system, *cpu).pop().ok_or(Refusal::NoCacheFacts { cpu: *cpu })?;
            if !last_levels.contains(&last) {
                last_levels.push(last);
            }
        }
        let usable = |level: &Level| -> Vec<u32> {
            level.cpus.iter().copied().filter(|cpu| allowed.contains(cpu)).collect()
        };
        let cores =
            |cpus: &[u32]| cpus.iter().map(|cpu| siblings(&system, *cpu)).collect::<BTreeSet<_>>().len();
        // The first of those with most cores, so that the choice does not change from run to run.
        let level = last_levels.into_iter().rev().max_by_key(|level| cores(&usable(level)));
        let level = level.ok_or(Refusal::NoCacheFacts { cpu: first })?;
        let ours = usable(&level);
        let program = *ours.first().ok_or(Refusal::NoCacheFacts { cpu: first })?;
        if cores(&level.cpus) == 1 && cores(&online) > 1 {
            return Err(Refusal::NoSharedLevel);
        }
        if ours.len() == 1 {
            return Err(Refusal::NoOtherCore { cpu: program, level: level.number, shared: level.cpus });
        }
        let not_beside = siblings(&system, program);
        let Some(&pirate) = ours.iter().rev().find(|cpu| !not_beside.contains(cpu)) else {
            return Err(Refusal::OnlySiblings { cpus: ours });
        };
        let private = caches(&system, pirate).into_iter().filter(|cache| !cache.cpus.contains(&program));
        let private_bytes = private.map(|cache| cache.bytes).max().unwrap_or(0);
        Ok(Place { program, pirate, level, private_bytes })
    }
}

impl Pages {
    /// Asks the kernel. `root` is `/` outside of tests.
    pub fn of(root: &Path) -> Pages {
        let small = rustix::param::page_size() as u64;
        let setting = root.join("sys/kernel/mm/transparent_hugepage");
        let mode = read(&setting.join("enabled")).unwrap_or_default();
        let allowed = mode.contains("[always]") || mode.contains("[madvise]");
        let huge = read(&setting.join("hpage_pmd_size")).and_then(|text| text.parse().ok());
        Pages { small, huge: huge.filter(|_| allowed) }
    }
}

/// The caches for data of a CPU, from the first level to the last.
fn caches(system: &Path, cpu: u32) -> Vec<Level> {
    let directory = system.join(format!("cpu{cpu}/cache"));
    let mut levels: Vec<Level> = (0..)
        .map(|index| directory.join(format!("index{index}")))
        .take_while(|index| index.is_dir())
        .filter(|index| read(&index.join("type")).is_some_and(|kind| kind != "Instruction"))
        .filter_map(|index| cache(&index, cpu))
        .collect();
    levels.sort_by_key(|level| level.number);
    levels
}

fn cache(index: &Path, cpu: u32) -> Option<Level> {
    let number = |name: &str| read(&index.join(name))?.parse::<u32>().ok();
    Some(Level {
        number: number("level")?,
        bytes: size(&read(&index.join("size"))?)?,
        line: number("coherency_line_size").map_or(64, u64::from),
        ways: number("ways_of_associativity").filter(|ways| *ways > 0),
        id: number("id"),
        cpus: read(&index.join("shared_cpu_list")).map_or_else(|| vec![cpu], |text| cpu_list(&text)),
    })
}

/// The hardware threads of a CPU's core, itself among them.
fn siblings(system: &Path, cpu: u32) -> BTreeSet<u32> {
    let topology = system.join(format!("cpu{cpu}/topology"));
    let list = ["core_cpus_list", "thread_siblings_list"].iter().find_map(|name| read(&topology.join(name)));
    let mut cpus: BTreeSet<u32> =
        list.map_or_else(BTreeSet::new, |text| cpu_list(&text).into_iter().collect());
    cpus.insert(cpu);
    cpus
}

/// `491520K` in bytes.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// `0-2,8` as numbers; what is not a number is left out.
fn cpu_list(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for piece in text.trim().split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            cpus.extend((first..=last).take(CpuSet::MAX_CPU));
        }
    }
    cpus
}

fn read(path: &PathBuf) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// While it lives, the thread that made it runs on one CPU.
#[derive(Debug)]
pub struct Confined {
    before: CpuSet,
}

impl Confined {
    /// Moves the calling thread to `cpu`.
    ///
    /// # Errors
    /// Where it may not run there.
    pub fn to(cpu: u32) -> Result<Confined, Refusal> {
        let refused = |what| move |error: rustix::io::Errno| Refusal::System { what, error: error.into() };
        let before = sched_getaffinity(None).map_err(refused("asking for the allowed CPUs"))?;
        let mut set = CpuSet::new();
        set.set(cpu as usize);
        sched_setaffinity(None, &set).map_err(refused("moving a thread to its CPU"))?;
        Ok(Confined { before })
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        // Allowed before, so allowed now; and where not, the kernel has chosen.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tempfile::TempDir;

    /// A machine of which each CPU is told as (its core's CPUs, those that share its last level).
    fn machine(cpus: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        let system = root.path().join("sys/devices/system/cpu");
        for (cpu, (core, shared)) in cpus.iter().enumerate() {
            let put = |name: &str, text: &str| {
                let path = system.join(format!("cpu{cpu}")).join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, format!("{text}\n")).unwrap();
            };
            put("topology/core_cpus_list", core);
            let caches = [
                ("1", "Data", "48K", *core),
                ("1", "Instruction", "64K", *core),
                ("2", "Unified", "2048K", *core),
                ("3", "Unified", "32768K", *shared),
            ];
            for (index, (level, kind, size, list)) in caches.iter().enumerate() {
                for (name, text) in [
                    ("level", *level),
                    ("type", *kind),
                    ("size", *size),
                    ("shared_cpu_list", *list),
                    ("coherency_line_size", "64"),
                    ("ways_of_associativity", "16"),
                    ("id", "0"),
                ] {
                    put(&format!("cache/index{index}/{name}"), text);
                }
            }
        }
        fs::write(system.join("online"), format!("0-{}\n", cpus.len() - 1)).unwrap();
        root
    }

    #[test]
    fn two_cores_that_share_the_third_level_are_chosen() {
        let root = machine(&[("0,4", "0-7"), ("1,5", "0-7"), ("2,6", "0-7"), ("3,7", "0-7"), ("0,4", "0-7")]);
        let place = Place::choose(root.path(), &[0, 1, 4]).unwrap();
        assert_eq!((place.program, place.pirate, place.private_bytes), (0, 1, 2 << 20));
        assert_eq!((place.level.number, place.level.bytes, place.level.line), (3, 32 << 20, 64));
        assert_eq!((place.level.ways, place.level.id), (Some(16), Some(0)));
    }

    #[test]
    fn of_two_sockets_the_one_with_more_allowed_cores_is_taken() {
        let root = machine(&[("0", "0-1"), ("1", "0-1"), ("2", "2-4"), ("3", "2-4"), ("4", "2-4")]);
        assert_eq!(Place::choose(root.path(), &[0, 2, 3]).unwrap().program, 2);
        assert_eq!(Place::choose(root.path(), &[0, 1, 2, 3]).unwrap().program, 0);
    }

    #[test]
    fn a_machine_without_a_second_core_is_refused_with_the_reason() {
        let alone = machine(&[("0", "0")]);
        assert!(matches!(Place::choose(alone.path(), &[0]), Err(Refusal::OneCore)));
        let two = machine(&[("0", "0-1"), ("1", "0-1")]);
        assert!(matches!(
            Place::choose(two.path(), &[1]),
            Err(Refusal::CpusetTooSmall { allowed: 1, online: 2 })
        ));
        let own = machine(&[("0", "0"), ("1", "1")]);
        assert!(matches!(Place::choose(own.path(), &[0, 1]), Err(Refusal::NoSharedLevel)));
        let threads = machine(&[("0-1", "0-3"), ("0-1", "0-3"), ("2-3", "0-3"), ("2-3", "0-3")]);
        assert!(matches!(Place::choose(threads.path(), &[0, 1]), Err(Refusal::OnlySiblings { .. })));
        let sockets = machine(&[("0", "0-1"), ("1", "0-1"), ("2", "2-3"), ("3", "2-3")]);
        assert!(matches!(Place::choose(sockets.path(), &[0, 2]), Err(Refusal::NoOtherCore { .. })));
        let silent = tempfile::tempdir().unwrap();
        assert!(matches!(Place::choose(silent.path(), &[0, 1]), Err(Refusal::NoCacheFacts { cpu: 0 })));
    }

    #[test]
    fn huge_pages_count_where_programs_may_ask_for_them() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(Pages::of(root.path()).huge, None);
        let setting = root.path().join("sys/kernel/mm/transparent_hugepage");
        fs::create_dir_all(&setting).unwrap();
        fs::write(setting.join("hpage_pmd_size"), "2097152\n").unwrap();
        for (mode, huge) in [
            ("always [madvise] never", Some(2 << 20)),
            ("always madvise [never]", None),
            ("[always] madvise never", Some(2 << 20)),
        ] {
            fs::write(setting.join("enabled"), mode).unwrap();
            assert_eq!(Pages::of(root.path()).huge, huge, "{mode}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("491520K"), Some(491_520 << 10));
        assert_eq!((size("32M"), size("7"), size("3Q")), (Some(32 << 20), Some(7), None));
    }

    proptest! {
        #[test]
        fn a_list_of_cpus_is_read_back(cpus in proptest::collection::btree_set(0u32..200, 0..20)) {
            let text = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            prop_assert_eq!(cpu_list(&text), cpus.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn whatever_the_kernel_says_nothing_panics(text in "[0-9,\\-KM ]{0,30}") {
            let _ = (cpu_list(&text), size(&text));
        }
    }
}
