//! The stored form of [`holdup_model::Environment`]: sets of CPUs are lists such as `0-3,8`, times whole ns.

use holdup_model::{self as model, CpuSet, Nanos};
use serde::{Deserialize, Serialize};

/// What surrounded the run. A later frame of this kind replaces an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// The machine's CPUs that are on.
    pub online: String,
    /// Where processes were allowed to run.
    pub placements: Vec<Placement>,
    /// Kinds of cores, fastest first: name and CPUs.
    pub kinds: Vec<(String, String)>,
    /// CPUs that share a core, a list for each such core.
    pub shared_cores: Vec<String>,
    /// The speeds that CPUs may have.
    pub frequencies: Vec<FrequencyRange>,
    /// True where turbo is switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turbo_off: Option<bool>,
    /// Slowdowns for heat during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermal_throttles: Option<u64>,
    /// Memory nodes and their CPUs.
    pub nodes: Vec<(u32, String)>,
    /// CPU time on the CPUs of the first process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Bytes read from and written to swap during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swapped: Option<(u64, u64)>,
    /// Pressure stall information for CPUs, `some`, over the run (ns).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure_ns: Option<u64>,
    /// How long a page takes to come and go (ns), measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_fault_ns: Option<u64>,
}

/// Where a process was allowed to run, and what its control groups gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Placement {
    /// Kernel process id.
    pub pid: u32,
    /// CPUs when first seen.
    pub given: String,
    /// CPUs of all its threads when last seen.
    pub allowed: String,
    /// CPUs of its cpuset.
    pub cpuset: String,
    /// CPUs, and the threads that may use them.
    pub pins: Vec<(String, Vec<u32>)>,
    /// CPU quotas, innermost first.
    pub quotas: Vec<Quota>,
    /// How often a memory limit was reached during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_hits: Option<u64>,
    /// Pages by memory node.
    pub memory: Vec<(u32, u64)>,
    /// The most that was seen in swap (bytes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_swap: Option<u64>,
    /// What it used until it was last looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// What a process used, without its children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// CPU time in its own code.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// Page faults that were answered without a disk.
    pub faults: u64,
    /// The most memory that it had at a time (bytes).
    pub most_memory: u64,
}

/// A CPU quota.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quota {
    /// CPU time in each period.
    pub time_ns: u64,
    /// The period.
    pub period_ns: u64,
    /// The control group's folder.
    pub group: String,
    /// Periods, those that were throttled, and how long CPUs stood still (ns).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttling: Option<(u64, u64, u64)>,
}

/// The speeds that CPUs may have (kHz).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrequencyRange {
    /// The CPUs.
    pub cpus: String,
    /// What chooses the speed.
    pub governor: String,
    /// What sets it.
    pub driver: String,
    /// The highest that is allowed.
    pub limit_khz: u64,
    /// The highest that the hardware has.
    pub highest_khz: u64,
}

/// CPU times over the run (ns).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// How long was looked.
    pub span_ns: u64,
    /// Busy with anything.
    pub busy_ns: u64,
    /// Idle.
    pub idle_ns: u64,
    /// Taken away by the host.
    pub stolen_ns: u64,
    /// Of the program and all that it started.
    pub program_ns: u64,
    /// Of holdup.
    pub recorder_ns: u64,
}

impl From<&model::Environment> for Environment {
    fn from(from: &model::Environment) -> Environment {
        Environment {
            online: from.online.to_string(),
            placements: from.placements.iter().map(Placement::from).collect(),
            kinds: from.kinds.iter().map(|kind| (kind.name.clone(), kind.cpus.to_string())).collect(),
            shared_cores: from.shared_cores.iter().map(CpuSet::to_string).collect(),
            frequencies: from
                .frequencies
                .iter()
                .map(|range| FrequencyRange {
                    cpus: range.cpus.to_string(),
                    governor: range.governor.clone(),
                    driver: range.driver.clone(),
                    limit_khz: range.limit_khz,
                    highest_khz: range.highest_khz,
                })
                .collect(),
            turbo_off: from.turbo_off,
            thermal_throttles: from.thermal_throttles,
            nodes: from.nodes.iter().map(|node| (node.node, node.cpus.to_string())).collect(),
            load: from.load.map(|load| Load {
                span_ns: load.span.get(),
                busy_ns: load.busy.get(),
                idle_ns: load.idle.get(),
                stolen_ns: load.stolen.get(),
                program_ns: load.program.get(),
                recorder_ns: load.recorder.get(),
            }),
            swapped: from.swapped.map(|swapped| (swapped.read, swapped.written)),
            pressure_ns: from.pressure.map(Nanos::get),
            page_fault_ns: from.page_fault.map(Nanos::get),
        }
    }
}

impl From<&model::Placement> for Placement {
    fn from(from: &model::Placement) -> Placement {
        Placement {
            pid: from.pid,
            given: from.given.to_string(),
            allowed: from.allowed.to_string(),
            cpuset: from.cpuset.to_string(),
            pins: from.pins.iter().map(|pin| (pin.cpus.to_string(), pin.threads.clone())).collect(),
            quotas: from
                .quotas
                .iter()
                .map(|quota| Quota {
                    time_ns: quota.time.get(),
                    period_ns: quota.period.get(),
                    group: quota.group.clone(),
                    throttling: quota
                        .throttling
                        .map(|throttling| (throttling.periods, throttling.throttled, throttling.time.get())),
                })
                .collect(),
            memory_limit_hits: from.memory_limit_hits,
            memory: from.memory.clone(),
            in_swap: from.in_swap,
            usage: from.usage.map(|usage| Usage {
                user_ns: usage.user.get(),
                system_ns: usage.system.get(),
                faults: usage.faults,
                most_memory: usage.most_memory,
            }),
        }
    }
}

/// A list that is none means nothing known.
fn cpus(list: &str) -> CpuSet {
    CpuSet::parse(list).unwrap_or_default()
}

impl From<&Environment> for model::Environment {
    fn from(from: &Environment) -> model::Environment {
        model::Environment {
            online: cpus(&from.online),
            placements: from.placements.iter().map(model::Placement::from).collect(),
            kinds: from
                .kinds
                .iter()
                .map(|(name, list)| model::CoreKind { name: name.clone(), cpus: cpus(list) })
                .collect(),
            shared_cores: from.shared_cores.iter().map(|list| cpus(list)).collect(),
            frequencies: from
                .frequencies
                .iter()
                .map(|range| model::FrequencyRange {
                    cpus: cpus(&range.cpus),
                    governor: range.governor.clone(),
                    driver: range.driver.clone(),
                    limit_khz: range.limit_khz,
                    highest_khz: range.highest_khz,
                })
                .collect(),
            turbo_off: from.turbo_off,
            thermal_throttles: from.thermal_throttles,
            nodes: from
                .nodes
                .iter()
                .map(|(node, list)| model::MemoryNode { node: *node, cpus: cpus(list) })
                .collect(),
            load: from.load.map(|load| model::Load {
                span: Nanos::new(load.span_ns),
                busy: Nanos::new(load.busy_ns),
                idle: Nanos::new(load.idle_ns),
                stolen: Nanos::new(load.stolen_ns),
                program: Nanos::new(load.program_ns),
                recorder: Nanos::new(load.recorder_ns),
            }),
            swapped: from.swapped.map(|(read, written)| model::Swapped { read, written }),
            pressure: from.pressure_ns.map(Nanos::new),
            page_fault: from.page_fault_ns.map(Nanos::new),
            is_estimated: false,
        }
    }
}

impl From<&Placement> for model::Placement {
    fn from(from: &Placement) -> model::Placement {
        model::Placement {
            pid: from.pid,
            given: cpus(&from.given),
            allowed: cpus(&from.allowed),
            cpuset: cpus(&from.cpuset),
            pins: from
                .pins
                .iter()
                .map(|(list, threads)| model::Pin { cpus: cpus(list), threads: threads.clone() })
                .collect(),
            quotas: from
                .quotas
                .iter()
                .map(|quota| model::Quota {
                    time: Nanos::new(quota.time_ns),
                    period: Nanos::new(quota.period_ns),
                    group: quota.group.clone(),
                    throttling: quota.throttling.map(|(periods, throttled, time)| model::Throttling {
                        periods,
                        throttled,
                        time: Nanos::new(time),
                    }),
                })
                .collect(),
            memory_limit_hits: from.memory_limit_hits,
            memory: from.memory.clone(),
            in_swap: from.in_swap,
            usage: from.usage.map(|usage| model::Usage {
                user: Nanos::new(usage.user_ns),
                system: Nanos::new(usage.system_ns),
                faults: usage.faults,
                most_memory: usage.most_memory,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_back() {
        let known = model::Environment {
            online: cpus("0-7"),
            placements: vec![model::Placement {
                pid: 7,
                given: cpus("0-3"),
                allowed: cpus("0-1"),
                cpuset: cpus("0-3"),
                pins: vec![model::Pin { cpus: cpus("1"), threads: vec![7, 9] }],
                quotas: vec![model::Quota {
                    time: Nanos::new(50_000_000),
                    period: Nanos::new(100_000_000),
                    group: "/sys/fs/cgroup/a b".to_owned(),
                    throttling: Some(model::Throttling { periods: 9, throttled: 3, time: Nanos::new(5) }),
                }],
                memory_limit_hits: Some(4),
                memory: vec![(0, 100), (1, 7)],
                in_swap: Some(4096),
                usage: Some(model::Usage {
                    user: Nanos::new(30),
                    system: Nanos::new(40),
                    faults: 50,
                    most_memory: 60,
                }),
            }],
            kinds: vec![model::CoreKind { name: "performance".to_owned(), cpus: cpus("0-3") }],
            shared_cores: vec![cpus("0,4")],
            frequencies: vec![model::FrequencyRange {
                cpus: cpus("0-7"),
                governor: "powersave".to_owned(),
                driver: "acpi-cpufreq".to_owned(),
                limit_khz: 1,
                highest_khz: 2,
            }],
            turbo_off: Some(true),
            thermal_throttles: Some(2),
            nodes: vec![model::MemoryNode { node: 1, cpus: cpus("4-7") }],
            load: Some(model::Load {
                span: Nanos::new(1),
                busy: Nanos::new(2),
                idle: Nanos::new(3),
                stolen: Nanos::new(4),
                program: Nanos::new(5),
                recorder: Nanos::new(6),
            }),
            swapped: Some(model::Swapped { read: 1, written: 2 }),
            pressure: Some(Nanos::new(8)),
            page_fault: Some(Nanos::new(700)),
            is_estimated: false,
        };
        for environment in [known, model::Environment::default()] {
            let text = serde_json::to_string(&Environment::from(&environment)).expect("JSON");
            let read: Environment = serde_json::from_str(&text).expect("as it was written");
            assert_eq!(model::Environment::from(&read), environment);
        }
        assert_eq!(cpus("rubbish"), CpuSet::default());
    }
}
