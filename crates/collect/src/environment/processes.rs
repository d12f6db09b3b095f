//! Where each recorded process, and each of its threads, may run, and where its memory lies.

use std::collections::BTreeMap;

use holdup_model::{CpuSet, Pin, Placement};

use super::groups::Groups;
use super::load::{Live, ProcessTicks, kib};
use super::usable;
use crate::files::{Files, field};

/// At most so many threads of a process are looked at in one look, and so many are remembered.
const MOST_THREADS: usize = 256;
const MOST_REMEMBERED: usize = 4096;

/// The text of `numa_maps` that is read, in bytes: some tens of thousands of mappings.
const MOST_MAPS: u64 = 4 << 20;
/// Where a process has more memory than this, it is not looked where it lies: the kernel walks through all of its
/// pages, and the process cannot map memory meanwhile.
const MOST_MEMORY: u64 = 4 << 30;

/// A recorded process.
pub(super) struct Seen {
    pub(super) pid: u32,
    /// What `/proc/PID/cgroup` said last.
    groups: String,
    /// As it was first seen.
    given: Option<CpuSet>,
    /// By thread, as it was last seen.
    cpus: BTreeMap<u32, CpuSet>,
    memory: Vec<(u32, u64)>,
    in_swap: Option<u64>,
    most_memory: Option<u64>,
    /// True if it ran before, and is not ours to wait for.
    is_attached: bool,
    /// Its CPU time before the time that is told of.
    before: ProcessTicks,
    last: Option<ProcessTicks>,
}

impl Seen {
    /// A process that is seen for the first time: it has just started, unless it `is_first` and not ours.
    pub(super) fn new(pid: u32, is_first: bool, files: &Files<'_>) -> Seen {
        let now = ProcessTicks::read(files, &pid.to_string());
        let own = files.text("proc/self/stat").and_then(|text| text.split(' ').next()?.parse::<u32>().ok());
        let is_attached = is_first && now.is_some_and(|now| Some(now.parent) != own);
        Seen {
            pid,
            groups: String::new(),
            given: None,
            cpus: BTreeMap::new(),
            memory: Vec::new(),
            in_swap: None,
            most_memory: None,
            is_attached,
            before: now.filter(|_| is_attached).unwrap_or_default(),
            last: now,
        }
    }

    /// Its CPU time counts from now on.
    pub(super) fn begin_again(&mut self, files: &Files<'_>) {
        self.last = ProcessTicks::read(files, &self.pid.to_string()).or(self.last);
        self.before = self.last.unwrap_or_default();
    }

    pub(super) fn look(
        &mut self,
        files: &Files<'_>,
        online: &CpuSet,
        groups: &mut Groups,
        reads_memory: bool,
    ) {
        let pid = self.pid;
        let told = files.text(&format!("proc/{pid}/cgroup")).filter(|told| !told.is_empty());
        let now = ProcessTicks::read(files, &pid.to_string());
        // In version 1 a process that ends is told to be in the root group from the beginning of its end on. That can
        // take long, just where a quota stops it, so whether it has begun is asked after the groups were read.
        if let Some(told) = told
            && (now.is_some_and(|now| !now.is_ending) || self.groups.is_empty())
        {
            groups.add(files, &told);
            self.groups = told;
        }
        self.last = now.or(self.last);
        let mut resident = None;
        for tid in files.numbers_in(&format!("proc/{pid}/task"), MOST_THREADS) {
            let Some(status) = files.text(&format!("proc/{pid}/task/{tid}/status")) else { continue };
            resident = resident.or_else(|| kib(&status, "VmRSS"));
            self.in_swap = self.in_swap.max(kib(&status, "VmSwap"));
            self.most_memory = self.most_memory.max(kib(&status, "VmHWM"));
            let cpus = field(&status, "Cpus_allowed_list").and_then(|list| usable(list, online));
            if let Some(cpus) = cpus
                && (self.cpus.len() < MOST_REMEMBERED || self.cpus.contains_key(&tid))
            {
                self.given.get_or_insert_with(|| cpus.clone());
                self.cpus.insert(tid, cpus);
            }
        }
        if reads_memory && resident.is_some_and(|bytes| bytes <= MOST_MEMORY) {
            let maps = files.beginning(&format!("proc/{pid}/numa_maps"), MOST_MAPS);
            if let Some(memory) = maps.map(|maps| memory_by_node(&maps)).filter(|memory| !memory.is_empty()) {
                self.memory = memory;
            }
        }
    }

    pub(super) fn placement(&self, groups: &Groups, online: &CpuSet) -> Placement {
        let mut allowed = CpuSet::default();
        let mut pins: BTreeMap<&CpuSet, Vec<u32>> = BTreeMap::new();
        for (&tid, cpus) in &self.cpus {
            allowed.extend(cpus);
            pins.entry(cpus).or_default().push(tid);
        }
        Placement {
            pid: self.pid,
            cpuset: groups.cpuset(&self.groups, online),
            pins: pins.into_iter().map(|(cpus, threads)| Pin { cpus: cpus.clone(), threads }).collect(),
            given: self.given.clone().unwrap_or_default(),
            allowed,
            quotas: groups.quotas(&self.groups),
            memory_limit_hits: groups.memory_limit_hits(&self.groups),
            memory: self.memory.clone(),
            in_swap: self.in_swap,
            usage: self.last.zip(self.most_memory).map(|(last, most)| last.usage_since(self.before, most)),
        }
    }
}

/// The pages of each node: the words `N0=…`, `N1=…` of all mappings, weighted by the size of the mapping's pages.
fn memory_by_node(maps: &str) -> Vec<(u32, u64)> {
    let mut pages: BTreeMap<u32, u64> = BTreeMap::new();
    for line in maps.lines() {
        let size =
            line.rsplit_once("kernelpagesize_kB=").and_then(|(_, size)| size.trim().parse::<u64>().ok());
        for word in line.split(' ').filter_map(|word| word.strip_prefix('N')) {
            let Some((node, count)) = word.split_once('=') else { continue };
            let (Ok(node), Ok(count)) = (node.parse(), count.parse::<u64>()) else { continue };
            let small = count.saturating_mul(size.unwrap_or(4) / 4);
            let sum: &mut u64 = pages.entry(node).or_default();
            *sum = sum.saturating_add(small);
        }
    }
    pages.into_iter().collect()
}

/// CPU time of recorded processes that is not, or not to be, in the sum of those that we waited for. A process's children
/// that were waited for are in its own sum, and so, in the end, is all that we started in ours: less what they used
/// before the time that is told of.
pub(super) fn cpu_time(seen: &[Seen], files: &Files<'_>) -> Live {
    let mut sum = Live::default();
    for process in seen {
        match (ProcessTicks::read(files, &process.pid.to_string()), process.last) {
            (Some(now), _) => sum.more += now.since(process.before),
            (None, Some(last)) if process.is_attached => sum.more += last.since(process.before),
            (None, _) => sum.less += process.before.since(ProcessTicks::default()),
        }
    }
    sum
}
