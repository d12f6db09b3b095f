//! What may be done on this machine to help a thread.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use holdup_pirate::has_utilization_clamps;
use rustix::process::{Resource, getpriority_process, getrlimit};

use crate::cores::Cores;

/// A way to help a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// A lower nice value than the others have: a larger share where there are more threads than CPUs.
    Priority,
    /// A CPU of its own, where the same is so: the others are kept off it while the thread runs.
    OwnCore,
    /// The CPUs that are better than others.
    BestCores,
    /// The highest frequency on the CPU that it runs on, while it does.
    Frequency,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 4] = [Tool::Priority, Tool::OwnCore, Tool::BestCores, Tool::Frequency];

    /// A word for it, as in options.
    pub const fn word(self) -> &'static str {
        match self {
            Tool::Priority => "priority",
            Tool::OwnCore => "own-core",
            Tool::BestCores => "best-cores",
            Tool::Frequency => "frequency",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Tool::Priority => "priority",
            Tool::OwnCore => "a CPU of its own",
            Tool::BestCores => "the best CPUs",
            Tool::Frequency => "frequency",
        })
    }
}

/// What this process may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The nice value that it has.
    pub nice: i32,
    /// The lowest nice value that it may set, and set back from.
    pub lowest_nice: i32,
    /// Whether the kernel lets it say how busy a thread is to be taken for.
    pub clamps: bool,
}

impl Rights {
    /// As they are: those of CAP_SYS_NICE, else what RLIMIT_NICE grants (20 minus the limit, `setrlimit(2)`).
    pub fn of_this_process() -> Rights {
        const SYS_NICE: u32 = 23;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let capabilities =
            capabilities.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        let nice = getpriority_process(None).unwrap_or(0);
        let lowest = if capabilities >> SYS_NICE & 1 != 0 {
            -20
        } else {
            let limit = getrlimit(Resource::Nice).current.unwrap_or(40).min(40);
            20 - limit as i32
        };
        Rights { nice, lowest_nice: lowest, clamps: has_utilization_clamps() }
    }
}

/// What may be done, with all that is needed to do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Means {
    /// The CPUs.
    pub cores: Cores,
    /// The nice value of a thread that is helped, where that is below the others'.
    pub favoured: Option<i32>,
    /// Whether threads may be kept off a CPU: there are at least two.
    pub own_core: bool,
    /// By CPU: the file that says how low its frequency may go, and the highest it can have (kHz).
    pub floors: Vec<(u32, PathBuf, String)>,
    /// Where no such file may be written: whether the kernel chooses frequencies by how busy threads are (the governor
    /// `schedutil`), and is told so.
    pub clamps: bool,
}

/// A line of `holdup doctor`: a tool, and whether it is there or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which.
    pub tool: Tool,
    /// Whether it can be used.
    pub usable: bool,
    /// What was found, in a few words.
    pub what: String,
}

/// Looks at what there is below `root` (`/` outside of tests) for a program on these CPUs.
pub fn examine(root: &Path, allowed: &[u32], rights: Rights) -> (Means, Vec<Found>) {
    let cores = Cores::examine(root, allowed);
    let favoured = (rights.lowest_nice < rights.nice).then_some(rights.lowest_nice);
    let own_core = allowed.len() > 1;
    let floors = floors(root, allowed);
    let clamps = floors.is_empty() && rights.clamps && has_schedutil(root, allowed);
    let found = |tool, usable, what: String| Found { tool, usable, what };
    let list = |cpus: &[u32]| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let lines = vec![
        match favoured {
            Some(nice) => found(Tool::Priority, true, format!("nice {nice} for the critical thread")),
            None => found(Tool::Priority, false, "not for this user: RLIMIT_NICE, CAP_SYS_NICE".to_owned()),
        },
        match allowed {
            [_, _, ..] if favoured.is_some() => {
                found(Tool::OwnCore, true, "not needed where there is priority".to_owned())
            }
            [_, _, ..] => found(Tool::OwnCore, true, format!("one of {} CPUs", allowed.len())),
            _ => found(Tool::OwnCore, false, "there is only one CPU".to_owned()),
        },
        match cores.why {
            Some(why) => found(Tool::BestCores, true, format!("{} (by {why})", list(&cores.best))),
            None => {
                found(Tool::BestCores, false, "all CPUs are alike, as far as the kernel tells".to_owned())
            }
        },
        match floors.as_slice() {
            [] if clamps => {
                found(Tool::Frequency, true, "by utilization clamps, which schedutil goes by".to_owned())
            }
            [] => {
                let why = "no cpufreq that may be written, and no schedutil with utilization clamps";
                found(Tool::Frequency, false, why.to_owned())
            }
            floors => found(Tool::Frequency, true, format!("{} CPUs", floors.len())),
        },
    ];
    (Means { cores, favoured, own_core, floors, clamps }, lines)
}

/// Whether the frequency of one of the CPUs follows what its threads are taken for.
fn has_schedutil(root: &Path, allowed: &[u32]) -> bool {
    let governor = |cpu: &u32| {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        fs::read_to_string(root.join(file)).unwrap_or_default()
    };
    allowed.iter().any(|cpu| governor(cpu).trim() == "schedutil")
}

fn floors(root: &Path, allowed: &[u32]) -> Vec<(u32, PathBuf, String)> {
    let of = |cpu: u32| {
        let folder = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq"));
        let floor = folder.join("scaling_min_freq");
        let highest = fs::read_to_string(folder.join("cpuinfo_max_freq")).ok()?.trim().to_owned();
        rustix::fs::access(&floor, rustix::fs::Access::WRITE_OK).ok()?;
        Some((cpu, floor, highest))
    };
    allowed.iter().filter_map(|cpu| of(*cpu)).collect()
}

impl Means {
    /// Whether there is anything that could be done.
    pub fn is_any(&self) -> bool {
        self.favoured.is_some()
            || self.own_core
            || !self.cores.best.is_empty()
            || !self.floors.is_empty()
            || self.clamps
    }

    /// Without tools that are not wanted.
    #[must_use]
    pub fn only(mut self, wanted: &[Tool]) -> Means {
        if !wanted.contains(&Tool::Priority) {
            self.favoured = None;
        }
        if !wanted.contains(&Tool::BestCores) {
            self.cores.best.clear();
            self.cores.why = None;
        }
        if !wanted.contains(&Tool::Frequency) {
            self.floors.clear();
            self.clamps = false;
        }
        self.own_core &= wanted.contains(&Tool::OwnCore);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: Rights = Rights { nice: 0, lowest_nice: 20, clamps: true };

    #[test]
    fn an_ordinary_user_on_equal_cores_can_only_give_a_cpu() {
        let root = tempfile::tempdir().unwrap();
        let (means, lines) = examine(root.path(), &[0, 1], USER);
        let usable: Vec<Tool> = lines.iter().filter(|line| line.usable).map(|line| line.tool).collect();
        assert_eq!(usable, [Tool::OwnCore]);
        assert!(means.is_any() && means.own_core && means.favoured.is_none());
        let (alone, _) = examine(root.path(), &[1], USER);
        assert!(!alone.is_any(), "with one CPU nothing can be given");
    }

    #[test]
    fn a_limit_on_nice_counts_from_where_the_user_stands() {
        let root = tempfile::tempdir().unwrap();
        let of = |nice, lowest_nice| {
            examine(root.path(), &[0, 1], Rights { nice, lowest_nice, clamps: false }).0.favoured
        };
        assert_eq!(of(0, -20), Some(-20));
        assert_eq!(of(10, 0), Some(0));
        assert_eq!(of(0, 0), None, "what could not be lowered again is not raised");
    }

    #[test]
    fn frequency_is_a_file_that_may_be_written() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/devices/system/cpu/cpu1/cpufreq");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cpuinfo_max_freq"), "3600000\n").unwrap();
        fs::write(folder.join("scaling_min_freq"), "800000\n").unwrap();
        let (means, _) = examine(root.path(), &[0, 1], USER);
        assert_eq!(means.floors, [(1, folder.join("scaling_min_freq"), "3600000".to_owned())]);
        assert!(!means.only(&[Tool::Priority]).is_any());
    }

    #[test]
    fn who_may_write_no_file_says_how_busy_the_thread_is_where_that_counts() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/devices/system/cpu/cpu1/cpufreq");
        fs::create_dir_all(&folder).unwrap();
        let of = |rights| examine(root.path(), &[0, 1], rights).0;
        for (governor, counts) in [("performance\n", false), ("schedutil\n", true)] {
            fs::write(folder.join("scaling_governor"), governor).unwrap();
            assert_eq!(of(USER).clamps, counts, "{governor}");
            assert!(!of(Rights { clamps: false, ..USER }).clamps, "the kernel has none");
        }
        let means = of(USER).only(&[Tool::Frequency]);
        assert!(means.is_any() && !means.own_core);
        assert!(!of(USER).only(&[Tool::Priority]).is_any());
        fs::write(folder.join("cpuinfo_max_freq"), "3600000\n").unwrap();
        fs::write(folder.join("scaling_min_freq"), "800000\n").unwrap();
        assert!(!of(USER).clamps, "a file that may be written is surer");
    }
}
