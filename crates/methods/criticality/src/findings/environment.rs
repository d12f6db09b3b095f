//! Cores that limits take away: a quota, an affinity.

use holdup_model::figures::cpus;
use holdup_model::{Arrange, CpuSet, Pin};

use super::cores::{delayed_threads, each_lost, started_at};
use super::{Candidate, Case, Description};
use crate::FindingKind;

/// So many CPUs that threads are pinned to are listed.
const MOST_PINS: usize = 4;

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let cores = &case.losses.cores;
    candidates.push(Candidate::new(FindingKind::Quota, cores.quota.total(), describe_quota));
    if case.scarcity.is_by_affinity() {
        candidates.push(Candidate::new(FindingKind::Affinity, cores.crowded.total(), describe_affinity));
    }
}

/// What to keep in mind where only sums of a longer time are known.
fn estimated(case: &Case<'_>) -> Vec<String> {
    let told = "How much of that fell into this part of the run is not known: it is its share by length.";
    case.scarcity.environment.is_estimated.then(|| told.to_owned()).into_iter().collect()
}

/// `8 threads share them`.
fn share(case: &Case<'_>, of_one: bool) -> String {
    let it = if of_one { "it" } else { "them" };
    match case.working.at_once {
        1 => format!("1 thread uses {it}"),
        many => format!("{many} threads share {it}"),
    }
}

fn describe_quota(case: &Case<'_>) -> Description {
    let threads = delayed_threads(case);
    let (quota, throttling) = case
        .scarcity
        .placement
        .and_then(|placement| placement.throttling_quota())
        .map(|(quota, throttling)| (quota.clone(), throttling))
        .unwrap_or_default();
    let gives = quota.cpus();
    let enough = (gives.ceil() as u32).max(1);
    let fewer = if case.working.at_once > enough {
        let noun = if enough == 1 { "thread" } else { "threads" };
        format!(", or start no more than {enough} working {noun}, which then wait less for each other")
    } else {
        String::new()
    };
    Description {
        object: None,
        place: started_at(case, &threads),
        what: format!(
            "CPU quota: the control group gives {}; {}",
            cpus(gives),
            share(case, (gives - 1.0).abs() < 0.005)
        ),
        evidence: vec![
            format!(
                "The group {} was throttled in {} of {} periods of {}: CPUs stood still for {} in all.",
                quota.group, throttling.throttled, throttling.periods, quota.period, throttling.time
            ),
            each_lost(case, &case.losses.cores.quota),
        ],
        threads,
        hint: format!(
            "Raise the CPU limit of that group (docker run --cpus, limits.cpu in Kubernetes, CPUQuota in \
             systemd){fewer}."
        ),
        on_path: None,
        method: "wall time less CPU time of active threads, up to what CPUs stood still while the group was \
                 throttled, and what threads beyond the number of cores lacked meanwhile",
        stretches: Vec::new(),
        notes: estimated(case),
    }
}

fn describe_affinity(case: &Case<'_>) -> Description {
    let threads = delayed_threads(case);
    let (cores, allowed) = (case.scarcity.cores, case.scarcity.allowed);
    let online = case.scarcity.environment.online.len() as u32;
    let is_pinned = cores < allowed;
    let of_one = cores == 1;
    let what = if is_pinned {
        format!(
            "CPU affinity: {} threads are pinned to {cores} of the {allowed} CPUs that the program may use",
            case.working.at_once
        )
    } else {
        format!(
            "CPU affinity: the program may use {cores} of the machine's {online} CPUs; {}",
            share(case, of_one)
        )
    };
    let mut evidence = vec![each_lost(case, &case.losses.cores.crowded)];
    let placement = case.scarcity.placement;
    if let Some(placement) = placement {
        evidence.push(if is_pinned {
            pinned(&placement.pins, &placement.allowed)
        } else {
            format!(
                "Its threads may run on CPU {} of {}.",
                placement.allowed, case.scarcity.environment.online
            )
        });
    }
    let by_cpuset = placement.is_some_and(|placement| {
        !placement.cpuset.is_empty() && placement.cpuset.is_subset(&placement.allowed)
    });
    let hint = if is_pinned {
        "Pin each thread to a CPU of its own, or none: look for sched_setaffinity, pthread_setaffinity_np, \
         OMP_PROC_BIND, OMP_PLACES and GOMP_CPU_AFFINITY."
    } else if by_cpuset {
        "Give the control group more CPUs (cpuset.cpus, docker run --cpuset-cpus), or start no more working threads \
         than it has."
    } else {
        "Start the program without taskset, numactl or the binding of the batch system (or does it call \
         sched_setaffinity itself?), or with no more working threads than CPUs."
    };
    let notes = if case.working.at_once > online {
        vec![format!("Without that, {} threads would still share {online} CPUs.", case.working.at_once)]
    } else {
        Vec::new()
    };
    Description {
        object: None,
        place: started_at(case, &threads),
        what,
        evidence,
        threads,
        hint: hint.to_owned(),
        on_path: None,
        method: "wall time less CPU time of active threads, up to what the threads beyond the number of CPUs that they \
                 may use lack",
        stretches: Vec::new(),
        notes,
    }
}

/// `Threads that may not run on all of these: 8 on CPU 0.`
fn pinned(pins: &[Pin], allowed: &CpuSet) -> String {
    let mut few: Vec<&Pin> = pins.iter().filter(|pin| pin.cpus.len() < allowed.len()).collect();
    few.arrange_by_key(|pin| (std::cmp::Reverse(pin.threads.len()), pin.cpus.clone()));
    let told: Vec<String> =
        few.iter().take(MOST_PINS).map(|pin| format!("{} on CPU {}", pin.threads.len(), pin.cpus)).collect();
    let more = few.len().saturating_sub(MOST_PINS);
    let more = if more == 0 { String::new() } else { format!(", others on {more} other sets") };
    format!("Threads that may not run on all of these: {}{more}.", told.join(", "))
}
