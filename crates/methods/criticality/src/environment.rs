//! What of the environment slows the program down, told beside the findings: what makes no thread wait, so that no cost is
//! known of it, and what other programs took, which nothing of the program can fix.

use holdup_model::figures::{cpus, percent};
use holdup_model::{FrequencyRange, Nanos, Process};
use holdup_sections::Working;

use crate::findings::{LEAST_COST, LEAST_SHARE};
use crate::note::{EnvironmentNote, NoteKind};
use crate::scarcity::Scarcity;
use crate::{Finding, FindingKind};

/// A speed limit within this share of the highest speed is none.
const FULL_SPEED: f64 = 0.98;

/// Memory lies on one node if this share of it does.
const ON_ONE_NODE: f64 = 0.8;

/// Less than this that came back from swap may be anybody's.
const LEAST_SWAPPED: u64 = 1 << 20;

/// From this share of the CPUs' time on, others are worth a word where nothing is known to be lost to them.
const LEAST_LOAD: f64 = 0.1;

/// From this share of the CPUs' time on, a quota that stopped them is worth a word where no finding tells of it.
const LEAST_STOPPED: f64 = 0.015;

fn note(kind: NoteKind, what: String, hint: &str) -> EnvironmentNote {
    EnvironmentNote { kind, what, hint: hint.to_owned(), cost: None }
}

/// The notes for a process, in the order of [`NoteKind`]: nothing that a finding tells. `to_others` is what the working
/// threads lost to other programs, together.
pub(crate) fn notes(
    process: &Process,
    scarcity: &Scarcity<'_>,
    working: &Working,
    to_others: Nanos,
    findings: &[Finding],
) -> Vec<EnvironmentNote> {
    let is_told = |kind| findings.iter().any(|finding| finding.kind == kind);
    let at_once = working.at_once.min(scarcity.allowed) as usize;
    [
        quota(scarcity, working).filter(|_| !is_told(FindingKind::Quota)),
        smt(scarcity, at_once),
        hybrid(scarcity, at_once),
        frequency(scarcity),
        numa(scarcity, at_once),
        swap(scarcity, process),
        memory(scarcity),
        load(scarcity, working, to_others),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn quota(scarcity: &Scarcity<'_>, working: &Working) -> Option<EnvironmentNote> {
    let (quota, throttling) = scarcity.placement?.throttling_quota()?;
    let all = Nanos::new(working.wall().get().saturating_mul(u64::from(scarcity.cores.max(1))));
    (throttling.time.share_of(all) >= LEAST_STOPPED).then(|| {
        note(
            NoteKind::Quota,
            format!(
                "a CPU quota ({}) was used up in {} of {} periods",
                cpus(quota.cpus()),
                throttling.throttled,
                throttling.periods
            ),
            "Threads stand still then: raise the CPU limit of the control group, or use fewer threads.",
        )
    })
}

fn smt(scarcity: &Scarcity<'_>, at_once: usize) -> Option<EnvironmentNote> {
    let allowed = &scarcity.placement?.allowed;
    let cores = scarcity.environment.physical_cores(allowed);
    (at_once > cores && cores > 0).then(|| {
        let noun = if cores == 1 { "core" } else { "cores" };
        note(
            NoteKind::Smt,
            format!("{at_once} threads on {cores} physical {noun}, two or more to a core"),
            "Threads on one core slow each other down: compare with as many threads as physical cores.",
        )
    })
}

fn hybrid(scarcity: &Scarcity<'_>, at_once: usize) -> Option<EnvironmentNote> {
    let allowed = &scarcity.placement?.allowed;
    let kinds: Vec<(&str, usize)> = scarcity
        .environment
        .kinds
        .iter()
        .map(|kind| (kind.name.as_str(), kind.cpus.intersection(allowed).len()))
        .filter(|(_, count)| *count > 0)
        .collect();
    let (_, fastest) = *kinds.first()?;
    (kinds.len() > 1 && at_once > fastest).then(|| {
        let told: Vec<String> = kinds.iter().map(|(name, count)| format!("{count} {name}")).collect();
        note(
            NoteKind::Hybrid,
            format!("{at_once} threads on CPUs of different speed ({})", told.join(", ")),
            "Equal shares of work do not end together there: deal work out dynamically, or use the fast CPUs only.",
        )
    })
}

fn frequency(scarcity: &Scarcity<'_>) -> Option<EnvironmentNote> {
    let allowed = &scarcity.placement?.allowed;
    let is_slow = |range: &&FrequencyRange| {
        let is_limited = (range.limit_khz as f64) < FULL_SPEED * range.highest_khz as f64;
        // With these drivers the governor of this name still uses all speeds.
        let saves = range.governor == "powersave"
            && !range.driver.is_empty()
            && !range.driver.starts_with("intel_pstate")
            && !range.driver.starts_with("amd-pstate-epp");
        (is_limited || saves) && !range.cpus.intersection(allowed).is_empty()
    };
    let slow = scarcity.environment.frequencies.iter().find(is_slow);
    let mut parts = Vec::new();
    if let Some(range) = slow {
        let ghz = |khz: u64| format!("{:.1}", khz as f64 / 1e6);
        parts.push(format!(
            "CPUs {} may run at {} of {} GHz (governor {})",
            range.cpus.intersection(allowed),
            ghz(range.limit_khz),
            ghz(range.highest_khz),
            if range.governor.is_empty() { "not known" } else { &range.governor }
        ));
    }
    if scarcity.environment.turbo_off == Some(true) {
        parts.push("turbo is off".to_owned());
    }
    if let Some(count @ 1..) = scarcity.environment.thermal_throttles {
        parts.push(format!("CPUs slowed down for heat {}", holdup_model::figures::times(count)));
    }
    (!parts.is_empty()).then(|| {
        note(
            NoteKind::Frequency,
            parts.join("; "),
            "Computing takes longer by that, waiting does not: compare runs at the same speed only.",
        )
    })
}

fn numa(scarcity: &Scarcity<'_>, at_once: usize) -> Option<EnvironmentNote> {
    let placement = scarcity.placement?;
    let nodes = scarcity.environment.nodes_of(&placement.allowed);
    let all = placement.memory.iter().fold(0u64, |all, (_, pages)| all.saturating_add(*pages));
    let &(node, most) =
        placement.memory.iter().max_by_key(|(node, pages)| (*pages, std::cmp::Reverse(*node)))?;
    let near = scarcity.environment.nodes.iter().find(|other| other.node == node)?;
    let share = most as f64 / all.max(1) as f64;
    let fits = at_once <= near.cpus.intersection(&placement.allowed).len();
    (nodes.len() > 1 && share >= ON_ONE_NODE && !fits).then(|| {
        note(
            NoteKind::Numa,
            format!(
                "its CPUs belong to {} memory nodes, {} of its memory lies in node {node}",
                nodes.len(),
                percent(share)
            ),
            "Memory of another node is slower: let the threads that use it write to it first, or use numactl --interleave.",
        )
    })
}

fn swap(scarcity: &Scarcity<'_>, process: &Process) -> Option<EnvironmentNote> {
    let swapped = scarcity.environment.swapped?;
    let own = scarcity.placement.and_then(|placement| placement.in_swap).filter(|&bytes| bytes > 0)?;
    let seconds = process.wall().seconds().max(1e-9);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    (swapped.read >= LEAST_SWAPPED).then(|| {
        note(
            NoteKind::Swap,
            format!(
                "{:.0} MiB came back from swap ({:.1} MiB a second), of this program up to {:.0} MiB were there",
                mib(swapped.read),
                mib(swapped.read) / seconds,
                mib(own)
            ),
            "Threads stand still while that is read: free memory, or let the program use less.",
        )
    })
}

fn memory(scarcity: &Scarcity<'_>) -> Option<EnvironmentNote> {
    let hits = scarcity.placement?.memory_limit_hits.filter(|&hits| hits > 0)?;
    Some(note(
        NoteKind::Memory,
        format!("a memory limit of its control group was reached {}", holdup_model::figures::times(hits)),
        "Threads stand still while memory is given back: raise the limit, or let the program use less.",
    ))
}

fn load(scarcity: &Scarcity<'_>, working: &Working, to_others: Nanos) -> Option<EnvironmentNote> {
    let load = scarcity.environment.load?;
    let capacity = Nanos::new(load.span.get().saturating_mul(u64::from(scarcity.allowed.max(1))));
    let share = scarcity.share_of_others();
    let cost = working.cost(to_others.get());
    let costs = cost >= LEAST_COST && cost.share_of(working.wall()) >= LEAST_SHARE;
    let is_by_host = load.stolen.get() > load.others().get() / 2;
    let (who, had, hint) = if is_by_host {
        (
            "the host of this machine",
            load.stolen,
            "Run it again on a machine of its own, or at a quieter time.",
        )
    } else {
        ("others", scarcity.others, "Run it again when nothing else runs.")
    };
    let about = if scarcity.environment.is_estimated { "about " } else { "" };
    let mut what = format!("{who} used {about}{} of the CPUs' time", percent(had.share_of(capacity)));
    if costs {
        what.push_str(&format!(", which cost {cost}"));
    }
    let note = note(NoteKind::Load, what, hint);
    (costs || share >= LEAST_LOAD).then(|| EnvironmentNote { cost: costs.then_some(cost), ..note })
}
