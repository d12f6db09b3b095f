//! What surrounded the run. Sets of CPUs are written as the kernel writes them: `0-3,8`.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Environment {
    pub(crate) online: Option<String>,
    pub(crate) placements: Vec<Placement>,
    pub(crate) core_kinds: Vec<CoreKind>,
    pub(crate) shared_cores: Vec<String>,
    pub(crate) frequencies: Vec<FrequencyRange>,
    pub(crate) turbo_off: Option<bool>,
    pub(crate) thermal_throttles: Option<u64>,
    pub(crate) nodes: Vec<MemoryNode>,
    pub(crate) load: Option<Load>,
    pub(crate) swapped: Option<Swapped>,
    pub(crate) pressure_ns: Option<u64>,
    pub(crate) notes: Vec<Note>,
}

#[derive(Serialize)]
pub(crate) struct Note {
    pub(crate) kind: &'static str,
    pub(crate) what: String,
    pub(crate) hint: String,
    pub(crate) cost_ns: Option<u64>,
}

#[derive(Serialize)]
pub(crate) struct Placement {
    pub(crate) pid: u32,
    pub(crate) given: Option<String>,
    pub(crate) allowed: Option<String>,
    pub(crate) cpuset: Option<String>,
    pub(crate) effective_cores: Option<u32>,
    pub(crate) pins: Vec<Pin>,
    pub(crate) quotas: Vec<Quota>,
    pub(crate) memory_limit_hits: Option<u64>,
    pub(crate) memory: Vec<Pages>,
    pub(crate) in_swap_bytes: Option<u64>,
}

#[derive(Serialize)]
pub(crate) struct Pin {
    pub(crate) cpus: String,
    pub(crate) tids: Vec<u32>,
}

#[derive(Serialize)]
pub(crate) struct Quota {
    pub(crate) group: String,
    pub(crate) cpus: f64,
    pub(crate) time_ns: u64,
    pub(crate) period_ns: u64,
    pub(crate) throttling: Option<Throttling>,
}

#[derive(Serialize)]
pub(crate) struct Throttling {
    pub(crate) periods: u64,
    pub(crate) throttled: u64,
    pub(crate) time_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct Pages {
    pub(crate) node: u32,
    pub(crate) pages: u64,
}

#[derive(Serialize)]
pub(crate) struct CoreKind {
    pub(crate) name: String,
    pub(crate) cpus: String,
}

#[derive(Serialize)]
pub(crate) struct FrequencyRange {
    pub(crate) cpus: String,
    pub(crate) governor: Option<String>,
    pub(crate) driver: Option<String>,
    pub(crate) limit_khz: u64,
    pub(crate) highest_khz: u64,
}

#[derive(Serialize)]
pub(crate) struct MemoryNode {
    pub(crate) node: u32,
    pub(crate) cpus: String,
}

#[derive(Serialize)]
pub(crate) struct Load {
    pub(crate) span_ns: u64,
    pub(crate) busy_ns: u64,
    pub(crate) idle_ns: u64,
    pub(crate) stolen_ns: u64,
    pub(crate) program_ns: u64,
    pub(crate) recorder_ns: u64,
    pub(crate) others_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct Swapped {
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
}
