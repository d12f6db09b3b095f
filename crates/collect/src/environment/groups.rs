//! What the control groups of the recorded processes limit, and how often the limits were felt.

use std::collections::BTreeMap;

use holdup_model::{CpuSet, Nanos, Quota, Throttling};

use crate::cgroups::{Cgroups, Hierarchy, Version};
use crate::files::{Files, count};

/// More groups than this are not looked at.
const MOST_GROUPS: usize = 64;

/// The groups that any recorded process was in, by what `/proc/PID/cgroup` said.
pub(super) struct Groups {
    /// `/proc/self/mountinfo`.
    mounts: String,
    known: BTreeMap<String, Known>,
    cpu: BTreeMap<String, CpuGroup>,
    memory: BTreeMap<String, MemoryGroup>,
}

struct Known {
    cgroups: Cgroups,
    cpuset: String,
}

/// A group that has a quota: as it was first and last seen.
struct CpuGroup {
    quota: Quota,
    first: Option<Throttling>,
    last: Option<Throttling>,
}

struct MemoryGroup {
    version: Version,
    first: Option<u64>,
    last: Option<u64>,
}

impl Groups {
    pub(super) fn new(files: &Files<'_>) -> Groups {
        Groups {
            mounts: files.text("proc/self/mountinfo").unwrap_or_default(),
            known: BTreeMap::new(),
            cpu: BTreeMap::new(),
            memory: BTreeMap::new(),
        }
    }

    /// Takes note of the groups that a process is in.
    pub(super) fn add(&mut self, files: &Files<'_>, told: &str) {
        if self.known.contains_key(told) || self.known.len() == MOST_GROUPS {
            return;
        }
        let cgroups = Cgroups::told_by(told, &self.mounts);
        for folder in cgroups.cpu.iter().flat_map(|cpu| &cpu.folders) {
            if let Some(hierarchy) = &cgroups.cpu
                && !self.cpu.contains_key(folder)
                && let Some(quota) = quota(files, hierarchy, folder)
            {
                let first = throttling(files, hierarchy.version, folder);
                self.cpu.insert(folder.clone(), CpuGroup { quota, first, last: first });
            }
        }
        if let Some(memory) = &cgroups.memory {
            for folder in &memory.folders {
                let version = memory.version;
                let first = limit_hits(files, version, folder);
                self.memory.entry(folder.clone()).or_insert(MemoryGroup { version, first, last: first });
            }
        }
        let cpuset = cgroups.cpuset.as_ref().and_then(|cpuset| cpuset_of(files, cpuset)).unwrap_or_default();
        self.known.insert(told.to_owned(), Known { cgroups, cpuset });
    }

    /// Counts from now on.
    pub(super) fn begin_again(&mut self, files: &Files<'_>) {
        self.read(files);
        self.cpu.values_mut().for_each(|group| group.first = group.last);
        self.memory.values_mut().for_each(|group| group.first = group.last);
    }

    /// Reads what grows. A group that is no longer there keeps what was last read.
    pub(super) fn read(&mut self, files: &Files<'_>) {
        for known in self.known.values() {
            let Some(hierarchy) = &known.cgroups.cpu else { continue };
            for folder in &hierarchy.folders {
                let Some(group) = self.cpu.get_mut(folder) else { continue };
                if let Some(quota) = quota(files, hierarchy, folder) {
                    group.quota = quota;
                }
                group.last = throttling(files, hierarchy.version, folder).or(group.last);
            }
        }
        for (folder, group) in &mut self.memory {
            group.last = limit_hits(files, group.version, folder).or(group.last);
        }
    }

    /// The quotas of a process that was told to be in these groups, innermost first.
    pub(super) fn quotas(&self, told: &str) -> Vec<Quota> {
        let Some(cpu) = self.known.get(told).and_then(|known| known.cgroups.cpu.as_ref()) else {
            return Vec::new();
        };
        cpu.folders
            .iter()
            .filter_map(|folder| self.cpu.get(folder))
            .map(|group| Quota {
                throttling: group.first.zip(group.last).map(|(first, last)| Throttling {
                    periods: last.periods.saturating_sub(first.periods),
                    throttled: last.throttled.saturating_sub(first.throttled),
                    time: last.time.saturating_sub(first.time),
                }),
                ..group.quota.clone()
            })
            .collect()
    }

    /// How often a memory limit of these groups was reached.
    pub(super) fn memory_limit_hits(&self, told: &str) -> Option<u64> {
        let memory = self.known.get(told)?.cgroups.memory.as_ref()?;
        let grown = memory.folders.iter().filter_map(|folder| {
            let group = self.memory.get(folder)?;
            Some(group.last?.saturating_sub(group.first?))
        });
        grown.reduce(|a, b| a.saturating_add(b))
    }

    /// The CPUs of the innermost cpuset of these groups, as the kernel lists them.
    pub(super) fn cpuset(&self, told: &str, online: &CpuSet) -> CpuSet {
        self.known.get(told).and_then(|known| super::usable(&known.cpuset, online)).unwrap_or_default()
    }
}

fn quota(files: &Files<'_>, hierarchy: &Hierarchy, folder: &str) -> Option<Quota> {
    let quota = hierarchy.quota(files, folder)?;
    let nanos = |micros: u64| Nanos::new(micros.saturating_mul(1_000));
    Some(Quota {
        time: nanos(quota.micros),
        period: nanos(quota.period_micros),
        group: folder.to_owned(),
        throttling: None,
    })
}

/// The sums since the group was made. Time is in µs in version 2, in ns in version 1.
fn throttling(files: &Files<'_>, version: Version, folder: &str) -> Option<Throttling> {
    let text = files.text(&format!("{folder}/cpu.stat"))?;
    let time = match version {
        Version::One => count(&text, "throttled_time")?,
        Version::Two => count(&text, "throttled_usec")?.saturating_mul(1_000),
    };
    Some(Throttling {
        periods: count(&text, "nr_periods")?,
        throttled: count(&text, "nr_throttled")?,
        time: Nanos::new(time),
    })
}

/// How often a limit of this very group was reached: version 2 counts `high` (threads are slowed down) and `max`
/// (memory must be given back first), of the group alone in `memory.events.local`.
fn limit_hits(files: &Files<'_>, version: Version, folder: &str) -> Option<u64> {
    if version == Version::One {
        return files.number(&format!("{folder}/memory.failcnt"))?.try_into().ok();
    }
    let text = files
        .text(&format!("{folder}/memory.events.local"))
        .or_else(|| files.text(&format!("{folder}/memory.events")))?;
    Some(count(&text, "high")?.saturating_add(count(&text, "max")?))
}

fn cpuset_of(files: &Files<'_>, hierarchy: &Hierarchy) -> Option<String> {
    let names = match hierarchy.version {
        Version::One => ["cpuset.effective_cpus", "cpuset.cpus"],
        Version::Two => ["cpuset.cpus.effective", "cpuset.cpus"],
    };
    let lists = hierarchy.folders.iter().flat_map(|folder| names.map(|name| format!("{folder}/{name}")));
    lists.filter_map(|path| files.text(&path)).find(|list| !list.is_empty())
}
