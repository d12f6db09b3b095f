//! What surrounded the run, as it was read from the machine.

use holdup_criticality::EnvironmentNote;
use holdup_model::{CpuSet, Environment, Nanos, Placement, Quota};

use crate::schema::environment as schema;

pub(super) fn environment(facts: &Environment, notes: &[EnvironmentNote]) -> schema::Environment {
    schema::Environment {
        online: known(&facts.online),
        placements: facts.placements.iter().map(placement).collect(),
        core_kinds: facts
            .kinds
            .iter()
            .map(|kind| schema::CoreKind { name: kind.name.clone(), cpus: kind.cpus.to_string() })
            .collect(),
        shared_cores: facts.shared_cores.iter().map(CpuSet::to_string).collect(),
        frequencies: facts
            .frequencies
            .iter()
            .map(|range| schema::FrequencyRange {
                cpus: range.cpus.to_string(),
                governor: (!range.governor.is_empty()).then(|| range.governor.clone()),
                driver: (!range.driver.is_empty()).then(|| range.driver.clone()),
                limit_khz: range.limit_khz,
                highest_khz: range.highest_khz,
            })
            .collect(),
        turbo_off: facts.turbo_off,
        thermal_throttles: facts.thermal_throttles,
        nodes: facts
            .nodes
            .iter()
            .map(|node| schema::MemoryNode { node: node.node, cpus: node.cpus.to_string() })
            .collect(),
        load: facts.load.map(|load| schema::Load {
            span_ns: load.span.get(),
            busy_ns: load.busy.get(),
            idle_ns: load.idle.get(),
            stolen_ns: load.stolen.get(),
            program_ns: load.program.get(),
            recorder_ns: load.recorder.get(),
            others_ns: load.others().get(),
        }),
        swapped: facts
            .swapped
            .map(|bytes| schema::Swapped { read_bytes: bytes.read, written_bytes: bytes.written }),
        pressure_ns: facts.pressure.map(|time| time.get()),
        notes: notes
            .iter()
            .map(|note| schema::Note {
                kind: note.kind.word(),
                what: note.what.clone(),
                hint: note.hint.clone(),
                cost_ns: note.cost.map(Nanos::get),
            })
            .collect(),
    }
}

fn placement(placement: &Placement) -> schema::Placement {
    schema::Placement {
        pid: placement.pid,
        given: known(&placement.given),
        allowed: known(&placement.allowed),
        cpuset: known(&placement.cpuset),
        effective_cores: placement.effective_cores(),
        pins: placement
            .pins
            .iter()
            .map(|pin| schema::Pin { cpus: pin.cpus.to_string(), tids: pin.threads.clone() })
            .collect(),
        quotas: placement.quotas.iter().map(quota).collect(),
        memory_limit_hits: placement.memory_limit_hits,
        memory: placement.memory.iter().map(|&(node, pages)| schema::Pages { node, pages }).collect(),
        in_swap_bytes: placement.in_swap,
    }
}

fn quota(quota: &Quota) -> schema::Quota {
    schema::Quota {
        group: quota.group.clone(),
        cpus: quota.cpus(),
        time_ns: quota.time.get(),
        period_ns: quota.period.get(),
        throttling: quota.throttling.map(|throttling| schema::Throttling {
            periods: throttling.periods,
            throttled: throttling.throttled,
            time_ns: throttling.time.get(),
        }),
    }
}

/// A set of CPUs is empty where it is not known.
fn known(cpus: &CpuSet) -> Option<String> {
    (!cpus.is_empty()).then(|| cpus.to_string())
}
