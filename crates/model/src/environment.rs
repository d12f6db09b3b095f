//! What the machine, its other users and its settings gave a recorded program: facts that no thread shows.

use std::collections::BTreeSet;

use crate::{CpuSet, Nanos};

/// What surrounded a recorded run. What is not known is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The machine's CPUs that are on; empty where that is not known.
    pub online: CpuSet,
    /// Where each recorded process was allowed to run, in the order in which they were seen.
    pub placements: Vec<Placement>,
    /// Processors that have more than one kind of core: the kinds, fastest first. Empty where all are alike.
    pub kinds: Vec<CoreKind>,
    /// CPUs that share a core with others, a set for each such core.
    pub shared_cores: Vec<CpuSet>,
    /// How fast CPUs may run, CPUs of the same limits together.
    pub frequencies: Vec<FrequencyRange>,
    /// True where speeds above the nominal one are switched off.
    pub turbo_off: Option<bool>,
    /// How often CPUs slowed down because they were too hot, while the program ran.
    pub thermal_throttles: Option<u64>,
    /// The memory nodes that have CPUs.
    pub nodes: Vec<MemoryNode>,
    /// Who used the CPUs while the program ran.
    pub load: Option<Load>,
    /// Bytes that the machine read from and wrote to swap while the program ran.
    pub swapped: Option<Swapped>,
    /// How long at least one thread of the whole machine waited for a CPU while the program ran (ns; the kernel's
    /// pressure stall information, `some` of `cpu`).
    pub pressure: Option<Nanos>,
    /// How long a page takes that the kernel gives to a thread when it touches it, and takes back: measured where it matters.
    pub page_fault: Option<Nanos>,
    /// True if the sums are those of a longer time, divided by its length: it is not known how much of them fell into
    /// the run, which is a part of it.
    pub is_estimated: bool,
}

/// Where a process was allowed to run, and what its control groups gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Its kernel process id.
    pub pid: u32,
    /// The CPUs that it was given when it was first seen.
    pub given: CpuSet,
    /// The CPUs that any of its threads was last seen to be allowed to use.
    pub allowed: CpuSet,
    /// The CPUs of its control group's cpuset; empty where that is not known.
    pub cpuset: CpuSet,
    /// Its threads by the CPUs that they were last seen to be allowed to use.
    pub pins: Vec<Pin>,
    /// The CPU quotas of its control groups, innermost first. Empty where it has none.
    pub quotas: Vec<Quota>,
    /// How often its control groups reached a memory limit, and stopped threads to give memory back.
    pub memory_limit_hits: Option<u64>,
    /// Where its memory lies: pages by memory node.
    pub memory: Vec<(u32, u64)>,
    /// The most that was seen of it in swap, in bytes.
    pub in_swap: Option<u64>,
    /// What it used from the beginning until it was last looked at.
    pub usage: Option<Usage>,
}

/// What a process used, without its children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in its own code.
    pub user: Nanos,
    /// CPU time in the kernel.
    pub system: Nanos,
    /// Page faults that were answered without a disk: the kernel gave it pages when it touched them.
    pub faults: u64,
    /// The most memory that it had at a time, in bytes.
    pub most_memory: u64,
}

/// The bytes of a page, if it is not a huge one: of those, fewer faults give more.
const PAGE: u64 = 4096;
/// Pages that come so many times over come again: what is touched for the first time comes once.
const TIMES_OVER: u64 = 2;

impl Usage {
    /// How much memory the kernel gave it by page faults (bytes).
    pub fn given(&self) -> u64 {
        self.faults.saturating_mul(PAGE)
    }

    /// True if much of that is memory that it had before.
    pub fn comes_again(&self) -> bool {
        self.given() >= self.most_memory.saturating_mul(TIMES_OVER)
    }
}

/// Threads that may run on the same CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pin {
    /// The CPUs.
    pub cpus: CpuSet,
    /// Kernel ids of the threads.
    pub threads: Vec<u32>,
}

/// How much CPU time a control group gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// CPU time (ns) in each period.
    pub time: Nanos,
    /// The period (ns).
    pub period: Nanos,
    /// The control group's folder. Hostile: escape it where it is shown.
    pub group: String,
    /// How it stopped the group while the program ran.
    pub throttling: Option<Throttling>,
}

/// How a quota stopped a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which the group had something to run.
    pub periods: u64,
    /// Those in which the quota was used up.
    pub throttled: u64,
    /// How long CPUs stood still for the group (ns), all CPUs together.
    pub time: Nanos,
}

/// Cores of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreKind {
    /// What they are called: `performance`, `efficiency`, or their capacity.
    pub name: String,
    /// The CPUs.
    pub cpus: CpuSet,
}

/// The speeds that CPUs may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrequencyRange {
    /// The CPUs.
    pub cpus: CpuSet,
    /// What chooses the speed. Empty where that is not known.
    pub governor: String,
    /// What sets it. Empty where that is not known.
    pub driver: String,
    /// The highest speed that is allowed (kHz).
    pub limit_khz: u64,
    /// The highest speed that the hardware has (kHz).
    pub highest_khz: u64,
}

/// A part of the memory, and the CPUs that are next to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryNode {
    /// Its number.
    pub node: u32,
    /// Its CPUs.
    pub cpus: CpuSet,
}

/// CPU time on the CPUs that the first process was given, while the program ran. The kernel counts in ticks of
/// 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How long was looked (ns).
    pub span: Nanos,
    /// CPU time in which they did anything (ns), all of them together.
    pub busy: Nanos,
    /// CPU time in which they did nothing (ns).
    pub idle: Nanos,
    /// CPU time that the host of a virtual machine took away (ns).
    pub stolen: Nanos,
    /// CPU time of the program and all that it started (ns).
    pub program: Nanos,
    /// CPU time of holdup itself (ns).
    pub recorder: Nanos,
}

/// Bytes that went to and fro.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swapped {
    /// Read from swap.
    pub read: u64,
    /// Written to swap.
    pub written: u64,
}

/// From this share of the time that was watched on, a part is all of it.
const ALL_OF_IT: f64 = 0.98;

impl Environment {
    /// What is known of a part of the run that is so long: of all that is known as a sum of the whole run only, as much
    /// as falls upon that length.
    pub fn part(&self, length: Nanos) -> Environment {
        let Some(span) = self.load.map(|load| load.span) else { return self.clone() };
        if length.share_of(span) >= ALL_OF_IT || span == Nanos::ZERO {
            return self.clone();
        }
        let count =
            |whole: u64| (u128::from(whole) * u128::from(length.get()) / u128::from(span.get())) as u64;
        let time = |whole: Nanos| Nanos::new(count(whole.get()));
        let mut part = self.clone();
        part.is_estimated = true;
        part.thermal_throttles = self.thermal_throttles.map(count);
        part.load = self.load.map(|load| Load {
            span: length,
            busy: time(load.busy),
            idle: time(load.idle),
            stolen: time(load.stolen),
            program: time(load.program),
            recorder: time(load.recorder),
        });
        part.swapped =
            self.swapped.map(|bytes| Swapped { read: count(bytes.read), written: count(bytes.written) });
        part.pressure = self.pressure.map(time);
        for placement in &mut part.placements {
            placement.memory_limit_hits = placement.memory_limit_hits.map(count);
            placement.usage = placement.usage.map(|usage| Usage {
                user: time(usage.user),
                system: time(usage.system),
                faults: count(usage.faults),
                ..usage
            });
            for throttling in placement.quotas.iter_mut().filter_map(|quota| quota.throttling.as_mut()) {
                *throttling = Throttling {
                    periods: count(throttling.periods),
                    throttled: count(throttling.throttled),
                    time: time(throttling.time),
                };
            }
        }
        part
    }

    /// What the process with this kernel id used, if that was seen.
    pub fn usage(&self, pid: u32) -> Option<Usage> {
        self.placements.iter().find(|placement| placement.pid == pid)?.usage
    }

    /// The placement of the process with this kernel id; of the first one where it was not seen itself.
    pub fn placement(&self, pid: u32) -> Option<&Placement> {
        self.placements.iter().find(|placement| placement.pid == pid).or_else(|| self.placements.first())
    }

    /// Cores among `cpus`: those that share one count as one.
    pub fn physical_cores(&self, cpus: &CpuSet) -> usize {
        let shared: usize =
            self.shared_cores.iter().map(|core| core.intersection(cpus).len().saturating_sub(1)).sum();
        cpus.len() - shared.min(cpus.len())
    }

    /// The memory nodes that have one of `cpus`.
    pub fn nodes_of(&self, cpus: &CpuSet) -> Vec<u32> {
        let next_to = |node: &&MemoryNode| !node.cpus.intersection(cpus).is_empty();
        self.nodes.iter().filter(next_to).map(|node| node.node).collect()
    }
}

impl Placement {
    /// The quota that gives least.
    pub fn tightest_quota(&self) -> Option<&Quota> {
        self.quotas.iter().min_by(|a, b| a.cpus().total_cmp(&b.cpus()))
    }

    /// The quota that stopped the process most, if any did.
    pub fn throttling_quota(&self) -> Option<(&Quota, Throttling)> {
        self.quotas
            .iter()
            .filter_map(|quota| Some((quota, quota.throttling?)))
            .filter(|(_, throttling)| throttling.throttled > 0)
            .max_by_key(|(_, throttling)| throttling.time)
    }

    /// How many CPUs the process can have at a time by affinity and quota: the CPUs that it may use, but no more
    /// than the tightest quota, rounded up. `None` where its CPUs are not known.
    pub fn effective_cores(&self) -> Option<u32> {
        let allowed = (!self.allowed.is_empty()).then_some(self.allowed.len() as u32)?;
        let quota = self.tightest_quota().map_or(u32::MAX, |quota| quota.cpus().ceil() as u32);
        Some(allowed.min(quota.max(1)))
    }

    /// How many of these threads (by kernel id) can run at a time on the CPUs that each may use: the size of a
    /// maximum matching of threads with CPUs (Kuhn's augmenting paths). Threads that were not seen may use any
    /// of the process's. `None` where the process's CPUs are not known.
    pub fn room_for(&self, threads: &[u32]) -> Option<u32> {
        if self.allowed.is_empty() {
            return None;
        }
        let mut unseen: BTreeSet<u32> = threads.iter().copied().collect();
        let mut groups: Vec<(&CpuSet, usize)> = Vec::new();
        for pin in &self.pins {
            let count = pin.threads.iter().filter(|thread| unseen.remove(thread)).count();
            groups.push((&pin.cpus, count));
        }
        groups
            .push((&self.allowed, threads.len().saturating_sub(groups.iter().map(|(_, count)| count).sum())));
        Some(most_at_once(&groups))
    }
}

/// The most CPUs that can be busy where each group has so many threads, which may use those CPUs.
fn most_at_once(groups: &[(&CpuSet, usize)]) -> u32 {
    let highest = groups.iter().filter_map(|(cpus, _)| cpus.iter().max()).max().unwrap_or(0) as usize;
    let mut taken_by: Vec<Option<usize>> = vec![None; highest + 1];
    let mut matched = 0;
    for group in 0..groups.len() {
        for _ in 0..groups[group].1.min(groups[group].0.len()) {
            let mut seen = vec![false; highest + 1];
            if !augment(groups, group, &mut taken_by, &mut seen) {
                break;
            }
            matched += 1;
        }
    }
    matched
}

/// Finds a CPU for one more thread of `group`, whose present thread may have to move to another one.
fn augment(
    groups: &[(&CpuSet, usize)],
    group: usize,
    taken_by: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    for cpu in groups[group].0.iter().map(|cpu| cpu as usize) {
        if std::mem::replace(&mut seen[cpu], true) {
            continue;
        }
        let is_free = taken_by[cpu].is_none_or(|other| augment(groups, other, taken_by, seen));
        if is_free {
            taken_by[cpu] = Some(group);
            return true;
        }
    }
    false
}

impl Quota {
    /// How many CPUs' time it gives.
    pub fn cpus(&self) -> f64 {
        self.time.get() as f64 / self.period.get().max(1) as f64
    }
}

impl Load {
    /// CPU time of others than the program and holdup (ns), the host's included.
    pub fn others(&self) -> Nanos {
        self.busy.saturating_sub(self.program + self.recorder) + self.stolen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(list: &str) -> CpuSet {
        CpuSet::parse(list).expect("a list")
    }

    #[test]
    fn the_tightest_quota_is_rounded_up() {
        let quota = |micros: u64| Quota {
            time: Nanos::new(micros * 1_000),
            period: Nanos::new(100_000_000),
            ..Quota::default()
        };
        let mut placement = Placement { allowed: cpus("0-7"), ..Placement::default() };
        assert_eq!(placement.effective_cores(), Some(8));
        placement.quotas = vec![quota(400_000), quota(150_000), quota(10_000_000)];
        assert_eq!(placement.tightest_quota(), Some(&quota(150_000)));
        assert_eq!(placement.effective_cores(), Some(2));
        placement.quotas = vec![quota(1_000)];
        assert_eq!(placement.effective_cores(), Some(1));
        assert_eq!(Placement::default().effective_cores(), None);
    }

    fn pinned(pins: &[(&str, std::ops::Range<u32>)]) -> Placement {
        let pin = |(list, threads): &(&str, std::ops::Range<u32>)| Pin {
            cpus: cpus(list),
            threads: threads.clone().collect(),
        };
        Placement { allowed: cpus("0-7"), pins: pins.iter().map(pin).collect(), ..Placement::default() }
    }

    #[test]
    fn threads_pinned_to_the_same_cpu_run_one_at_a_time() {
        let all: Vec<u32> = (0..8).collect();
        let room = |pins: &[(&str, std::ops::Range<u32>)]| pinned(pins).room_for(&all);
        assert_eq!(room(&[("0", 0..8)]), Some(1));
        assert_eq!(room(&[("0", 0..4), ("5", 4..8)]), Some(2));
        assert_eq!(room(&[("0", 0..7), ("0-7", 7..8)]), Some(2));
        // One that may go anywhere makes way for one that may not.
        assert_eq!(room(&[("0-1", 0..1), ("0", 1..2), ("0-7", 2..8)]), Some(8));
        assert_eq!(room(&[("0-7", 0..8)]), Some(8));
        assert_eq!(room(&[("3", 0..1)]), Some(8), "threads that were not seen may use all");
        assert_eq!(pinned(&[("0", 0..8)]).room_for(&[]), Some(0));
        assert_eq!(Placement::default().room_for(&all), None);
    }

    #[test]
    fn a_part_has_its_share_of_the_sums() {
        let ms = |ms: u64| Nanos::new(ms * 1_000_000);
        let throttling = Throttling { periods: 60, throttled: 41, time: ms(1_300) };
        let quota =
            Quota { time: ms(200), period: ms(100), throttling: Some(throttling), ..Quota::default() };
        let whole = Environment {
            load: Some(Load { span: ms(6_000), busy: ms(900), ..Load::default() }),
            placements: vec![Placement { quotas: vec![quota], ..Placement::default() }],
            ..Environment::default()
        };
        assert_eq!(whole.part(ms(5_990)), whole);
        let half = whole.part(ms(3_000));
        assert!(half.is_estimated);
        assert_eq!(half.load.map(|load| (load.span, load.busy)), Some((ms(3_000), ms(450))));
        let expected = Throttling { periods: 30, throttled: 20, time: ms(650) };
        assert_eq!(half.placements[0].quotas[0].throttling, Some(expected));
        assert_eq!(half.placements[0].quotas[0].cpus(), 2.0);
        assert_eq!(Environment::default().part(ms(1)), Environment::default());
    }

    #[test]
    fn cpus_of_one_core_count_once() {
        let environment =
            Environment { shared_cores: vec![cpus("0,4"), cpus("1,5")], ..Environment::default() };
        assert_eq!(environment.physical_cores(&cpus("0-7")), 6);
        assert_eq!(environment.physical_cores(&cpus("0-3")), 4);
        assert_eq!(environment.physical_cores(&cpus("")), 0);
    }

    #[test]
    fn others_are_who_is_neither_the_program_nor_holdup() {
        let ms = |ms: u64| Nanos::new(ms * 1_000_000);
        let load = Load { busy: ms(100), program: ms(60), recorder: ms(5), stolen: ms(7), ..Load::default() };
        assert_eq!(load.others(), ms(42));
        assert_eq!(Load { program: ms(200), ..load }.others(), ms(7));
    }
}
