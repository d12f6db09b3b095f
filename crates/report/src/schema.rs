//! The shape of `holdup report --json`, schema 1. It is only ever extended; `docs/json-schema/report.schema.json`
//! says what each member means. All times are whole nanoseconds, all shares numbers from 0 to 1.

pub(crate) mod environment;
mod repeats;
mod tree;
mod what_if;

use serde::Serialize;

pub(crate) use repeats::{Elsewhere, FindingRepeats, RunRepeats};
pub(crate) use tree::{Tree, TreeForecast, TreeJobs, TreeProgram, TreeStep};
pub(crate) use what_if::{Curve, CurvePoint, Gain, WhatIf};

#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) schema: u32,
    pub(crate) holdup: &'static str,
    pub(crate) run: RunFacts,
    pub(crate) clock: String,
    pub(crate) exit: Option<Exit>,
    pub(crate) process: Option<ProcessFacts>,
    pub(crate) criticality: Option<Criticality>,
    pub(crate) bottle: Vec<Bottle>,
    pub(crate) hot_spots: Option<HotSpots>,
    pub(crate) over_time: Option<OverTime>,
    pub(crate) what_if: Option<WhatIf>,
    pub(crate) repeats: Option<RunRepeats>,
    pub(crate) objects: Vec<Object>,
    pub(crate) families: Vec<Family>,
    pub(crate) critical_path: Option<CriticalPath>,
    pub(crate) chains: Vec<Chain>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) cost_identity: Option<CostIdentity>,
    pub(crate) tree: Option<Tree>,
    pub(crate) processes: Vec<OtherProcess>,
}

#[derive(Serialize)]
pub(crate) struct RunFacts {
    pub(crate) command: Vec<String>,
    pub(crate) recorded_by: String,
    pub(crate) wall_ns: u64,
    pub(crate) threads: usize,
    pub(crate) processes: usize,
    pub(crate) cores: u32,
    pub(crate) collectors: Vec<String>,
    pub(crate) environment: environment::Environment,
    pub(crate) perturbation_ns: Option<u64>,
    pub(crate) perturbation_share: Option<f64>,
    pub(crate) lost_events: u64,
    pub(crate) lost: Lost,
    pub(crate) unseen: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

#[derive(Serialize)]
pub(crate) struct Lost {
    pub(crate) events: u64,
    pub(crate) events_in_signals: u64,
    pub(crate) threads: u64,
    pub(crate) uses: u64,
    pub(crate) damaged_bytes: u64,
}

#[derive(Serialize)]
pub(crate) struct Exit {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

#[derive(Serialize)]
pub(crate) struct ProcessFacts {
    pub(crate) process: usize,
    pub(crate) pid: u32,
    pub(crate) parent_pid: u32,
    pub(crate) command: Vec<String>,
    pub(crate) wall_ns: u64,
    pub(crate) threads: usize,
    pub(crate) cores: Option<u32>,
    pub(crate) effective_cores: Option<u32>,
    pub(crate) working_threads: Vec<usize>,
    pub(crate) workers: u32,
    pub(crate) parallelism: f64,
    pub(crate) on_cpu_parallelism: Option<f64>,
    pub(crate) efficiency: f64,
    pub(crate) active_means: &'static str,
    pub(crate) on_core_share: Option<f64>,
    pub(crate) without_core: f64,
    pub(crate) seen_by: SeenBy,
    pub(crate) stacks: usize,
    pub(crate) broken_stacks: usize,
}

#[derive(Serialize)]
pub(crate) struct OtherProcess {
    pub(crate) process: usize,
    pub(crate) pid: u32,
    pub(crate) parent_pid: u32,
    pub(crate) command: Vec<String>,
    pub(crate) wall_ns: u64,
    pub(crate) threads: usize,
    pub(crate) parallelism: Option<f64>,
    pub(crate) efficiency: Option<f64>,
    pub(crate) seen_by: SeenBy,
    pub(crate) findings: Vec<Finding>,
}

#[derive(Serialize, Default)]
pub(crate) struct Place {
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) module: Option<String>,
    pub(crate) address: Option<u64>,
}

#[derive(Serialize)]
pub(crate) struct Criticality {
    pub(crate) total_ns: u64,
    pub(crate) nobody_ns: Nobody,
    pub(crate) nobody_share: f64,
    pub(crate) runnable_nobody_ns: u64,
    pub(crate) is_by_runnable: bool,
    pub(crate) threads: Vec<Thread>,
}

#[derive(Serialize, Default)]
pub(crate) struct Nobody {
    pub(crate) io: u64,
    pub(crate) sleep: u64,
    pub(crate) wake_up: u64,
    pub(crate) run_queue: u64,
    pub(crate) other: u64,
}

#[derive(Serialize)]
pub(crate) struct Thread {
    pub(crate) thread: usize,
    pub(crate) tid: u32,
    pub(crate) name: String,
    pub(crate) start: Place,
    pub(crate) created_at: Place,
    pub(crate) parent: Option<usize>,
    pub(crate) works: bool,
    pub(crate) criticality_ns: u64,
    pub(crate) share: f64,
    pub(crate) runnable_criticality_ns: u64,
    pub(crate) active_ns: u64,
    pub(crate) waiting_ns: u64,
    pub(crate) waking_ns: u64,
    pub(crate) io_ns: u64,
    pub(crate) asleep_ns: u64,
    pub(crate) spinning_ns: u64,
    pub(crate) descheduled_ns: u64,
    pub(crate) not_recorded_ns: u64,
    pub(crate) not_existing_ns: u64,
    pub(crate) delayed_ns: u64,
    pub(crate) cpu_ns: Option<u64>,
}

#[derive(Serialize)]
pub(crate) struct Bottle {
    pub(crate) thread: usize,
    pub(crate) height: f64,
    pub(crate) width: f64,
}

#[derive(Serialize)]
pub(crate) struct Object {
    pub(crate) object: usize,
    pub(crate) kind: &'static str,
    pub(crate) name: Option<String>,
    pub(crate) address: u64,
    pub(crate) shared: bool,
    pub(crate) parties: Option<u32>,
    #[serde(rename = "where")]
    pub(crate) place: Place,
    pub(crate) created_at: Place,
    pub(crate) acquisitions: Option<u64>,
    pub(crate) failed_tries: u64,
    pub(crate) waits: u64,
    pub(crate) wait_ns: u64,
    pub(crate) waking_ns: u64,
    pub(crate) hold_ns: Option<u64>,
    pub(crate) hold_basis: &'static str,
    pub(crate) hold_samples: Option<u64>,
    pub(crate) cost_ns: u64,
    pub(crate) direct_cost_ns: u64,
    pub(crate) on_path_ns: u64,
    pub(crate) mean_waiters: f64,
    pub(crate) holders: Vec<Holder>,
    pub(crate) waiters: Vec<Waiter>,
}

#[derive(Serialize)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) members: Vec<usize>,
    pub(crate) waited_for: usize,
    pub(crate) sum: Object,
}

#[derive(Serialize)]
pub(crate) struct Holder {
    pub(crate) thread: Option<usize>,
    #[serde(rename = "where")]
    pub(crate) place: Place,
    pub(crate) time_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct Waiter {
    pub(crate) thread: usize,
    #[serde(rename = "where")]
    pub(crate) place: Place,
    pub(crate) time_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct CriticalPath {
    pub(crate) length_ns: u64,
    pub(crate) steps: Vec<PathStep>,
    pub(crate) by_thread: Vec<ThreadTime>,
    pub(crate) by_object: Vec<ObjectTime>,
}

#[derive(Serialize)]
pub(crate) struct PathStep {
    pub(crate) thread: usize,
    #[serde(rename = "where")]
    pub(crate) place: Place,
    pub(crate) state: &'static str,
    pub(crate) time_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct ThreadTime {
    pub(crate) thread: usize,
    pub(crate) time_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct ObjectTime {
    pub(crate) object: usize,
    pub(crate) time_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct Chain {
    pub(crate) waiters: Vec<usize>,
    pub(crate) time_ns: u64,
    pub(crate) links: Vec<ChainLink>,
}

#[derive(Serialize)]
pub(crate) struct ChainLink {
    pub(crate) object: usize,
    #[serde(rename = "where")]
    pub(crate) wait_place: Place,
    pub(crate) holder: Option<usize>,
    pub(crate) holder_state: &'static str,
    pub(crate) holder_where: Place,
}

#[derive(Serialize)]
pub(crate) struct Finding {
    pub(crate) kind: &'static str,
    #[serde(rename = "where")]
    pub(crate) place: Place,
    pub(crate) stack: Vec<Place>,
    pub(crate) object: Option<usize>,
    pub(crate) others: Vec<usize>,
    pub(crate) threads: Vec<usize>,
    pub(crate) what: String,
    pub(crate) evidence: Vec<String>,
    pub(crate) hint: String,
    pub(crate) cost_ns: u64,
    pub(crate) share: f64,
    pub(crate) on_path_ns: Option<u64>,
    pub(crate) gain: Option<Gain>,
    pub(crate) repeats: Option<FindingRepeats>,
    pub(crate) method: &'static str,
    pub(crate) notes: Vec<String>,
}

#[derive(Serialize)]
pub(crate) struct CostIdentity {
    pub(crate) wall_ns: u64,
    pub(crate) useful_ns: u64,
    pub(crate) parts: Vec<CostPart>,
    pub(crate) unexplained_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct CostPart {
    pub(crate) kind: &'static str,
    pub(crate) cost_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct SeenBy {
    pub(crate) preload: bool,
    pub(crate) kernel: bool,
    pub(crate) switches_share: f64,
    pub(crate) samples: usize,
}

#[derive(Serialize)]
pub(crate) struct HotSpots {
    pub(crate) samples: u64,
    pub(crate) broken_stacks_share: f64,
    pub(crate) active_ns: u64,
    pub(crate) critical_ns: u64,
    pub(crate) lines: Vec<HotSpot>,
    pub(crate) functions: Vec<HotSpot>,
}

#[derive(Serialize)]
pub(crate) struct HotSpot {
    #[serde(rename = "where")]
    pub(crate) place: Place,
    pub(crate) function: Option<String>,
    pub(crate) inside: Option<String>,
    pub(crate) samples: u64,
    pub(crate) active_ns: u64,
    pub(crate) active_share: f64,
    pub(crate) critical_ns: u64,
    pub(crate) critical_share: f64,
    pub(crate) threads: Vec<ThreadTime>,
}

#[derive(Serialize)]
pub(crate) struct OverTime {
    pub(crate) slice_ns: u64,
    pub(crate) slices: Vec<Slice>,
    pub(crate) phases: Vec<Phase>,
    pub(crate) worst: Option<Phase>,
}

#[derive(Serialize)]
pub(crate) struct Slice {
    pub(crate) start_ns: u64,
    pub(crate) parallelism: f64,
    pub(crate) threads: Vec<ThreadCriticality>,
    pub(crate) nobody_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct Phase {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) parallelism: f64,
    pub(crate) threads: Vec<ThreadCriticality>,
    pub(crate) nobody_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct ThreadCriticality {
    pub(crate) thread: usize,
    pub(crate) criticality_ns: u64,
}
