//! Sockets, cores and caches as the kernel tells them.

use std::collections::BTreeSet;
use std::path::Path;

use holdup_model::{Arrange, CpuSet};

use crate::files::Files;

const CPUS: &str = "sys/devices/system/cpu";

/// What a cache is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// Data, or data and instructions.
    Data,
    /// Instructions alone.
    Instructions,
}

/// A cache of the first core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCache {
    /// 1 is the nearest.
    pub level: u32,
    /// What it is for.
    pub kind: CacheKind,
    /// Bytes.
    pub size: u64,
    /// Ways.
    pub ways: u32,
    /// Bytes of a line.
    pub line: u32,
    /// How many cores share it.
    pub shared_by: u32,
}

/// Sockets, cores and caches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Sockets.
    pub sockets: u32,
    /// Cores of each.
    pub cores_per_socket: u32,
    /// The first core's caches.
    pub caches: Vec<HostCache>,
    /// CPUs that are threads of one core, where there are several.
    pub siblings: Vec<CpuSet>,
}

impl Topology {
    /// The cache of a level.
    pub fn cache(&self, level: u32, kind: CacheKind) -> Option<&HostCache> {
        self.caches.iter().find(|cache| cache.level == level && cache.kind == kind)
    }

    /// Bytes of the largest cache.
    pub fn last_cache(&self) -> u64 {
        self.caches.iter().map(|cache| cache.size).max().unwrap_or(0)
    }

    /// True if two CPUs are threads of one core.
    pub(super) fn share_core(&self, one: u32, other: u32) -> bool {
        one == other || self.siblings.iter().any(|core| core.contains(one) && core.contains(other))
    }
}

/// What the processor calls itself.
pub(super) fn processor(root: &Path) -> Option<String> {
    let text = Files::below(root).beginning("proc/cpuinfo", 16 << 10)?;
    let name = crate::files::field(&text, "model name")?;
    Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What the kernel tells, and sentences about what it does not.
pub(super) fn read(root: &Path, warnings: &mut Vec<String>) -> Topology {
    let files = Files::below(root);
    let online = files.list(&format!("{CPUS}/online")).filter(|cpus| !cpus.is_empty());
    let online = online.unwrap_or_else(|| [0].into_iter().collect());
    let (mut sockets, mut cores, mut siblings) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for cpu in online.iter() {
        let topology = format!("{CPUS}/cpu{cpu}/topology");
        let socket = files.number(&format!("{topology}/physical_package_id")).unwrap_or(0).max(0);
        let threads = files.list(&format!("{topology}/thread_siblings_list"));
        let threads =
            threads.map(|threads| threads.intersection(&online)).filter(|threads| threads.contains(cpu));
        let first = threads.as_ref().and_then(CpuSet::first).unwrap_or(cpu);
        sockets.insert(socket);
        if cores.insert(first) {
            siblings.extend(threads.filter(|threads| threads.len() > 1));
        }
    }
    let count = |set: &CpuSet| set.iter().filter(|cpu| cores.contains(cpu)).count().max(1) as u32;
    let sockets = sockets.len().max(1) as u32;
    let cores_per_socket = (cores.len() as u32).div_ceil(sockets).max(1);
    let mut caches: Vec<HostCache> = Vec::new();
    for index in 0..8 {
        let folder = format!("{CPUS}/cpu{}/cache/index{index}", online.first().unwrap_or(0));
        let number = |name: &str| {
            files.number(&format!("{folder}/{name}")).and_then(|number| u32::try_from(number).ok())
        };
        let Some(level) = number("level") else { continue };
        let kind = match files.text(&format!("{folder}/type")).as_deref() {
            Some("Instruction") => CacheKind::Instructions,
            _ => CacheKind::Data,
        };
        let shared = files.list(&format!("{folder}/shared_cpu_list")).map_or(1, |cpus| count(&cpus));
        let cache = HostCache {
            level,
            kind,
            size: files.text(&format!("{folder}/size")).and_then(|text| bytes(&text)).unwrap_or(0),
            ways: number("ways_of_associativity").unwrap_or(0),
            line: number("coherency_line_size").unwrap_or(64),
            shared_by: shared,
        };
        if cache.size > 0 && (1..=3).contains(&level) {
            caches.push(possible(cache, cores_per_socket));
        }
    }
    let usual = [(1, CacheKind::Data, 32 << 10, 8), (1, CacheKind::Instructions, 32 << 10, 8)];
    for (level, kind, size, ways) in usual {
        if !caches.iter().any(|cache| cache.level == level && cache.kind == kind) {
            warnings.push(format!(
                "The kernel does not tell of a cache of {} of level {level}: one of 32 KiB and 8 ways is assumed.",
                match kind {
                    CacheKind::Data => "data",
                    CacheKind::Instructions => "instructions",
                }
            ));
            caches.push(HostCache { level, kind, size, ways, line: 64, shared_by: 1 });
        }
    }
    caches.arrange_by_key(|cache| cache.level);
    Topology { sockets, cores_per_socket, caches, siblings }
}

/// A cache whose size fits its ways, and that whole groups of cores share: what hypervisors tell need not.
fn possible(mut cache: HostCache, cores: u32) -> HostCache {
    if !cache.line.is_power_of_two() || !(16..=256).contains(&cache.line) {
        cache.line = 64;
    }
    if cache.ways == 0 || cache.ways > 64 {
        cache.ways = 16;
    }
    let set = u64::from(cache.ways) * u64::from(cache.line);
    cache.size = (cache.size / set).max(1) * set;
    let shared = cache.shared_by.min(cores);
    cache.shared_by = (1..=shared).rev().find(|by| cores.is_multiple_of(*by)).unwrap_or(1);
    if cache.level == 1 {
        cache.shared_by = 1;
    }
    cache
}

/// `48K`, `2048K`, `480M`.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}
