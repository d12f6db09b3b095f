//! The CPUs: how many, for how long, how fast, and what they share.

use std::collections::BTreeSet;

use holdup_model::CpuSet;

use super::{Check, Setting};
use crate::cgroups::Version;
use crate::files::{count, shell_word};

const CPUS: &str = "sys/devices/system/cpu";

fn online(setting: &Setting<'_>) -> CpuSet {
    setting.files.list(&format!("{CPUS}/online")).unwrap_or_default()
}

fn allowed_cpus(setting: &Setting<'_>) -> CpuSet {
    let allowed = setting.files.field("proc/self/status", "Cpus_allowed_list");
    allowed.and_then(|text| CpuSet::parse(&text)).unwrap_or_else(|| online(setting))
}

pub(super) fn allowed(setting: &Setting<'_>) -> Check {
    const NAME: &str = "CPUs";
    let (online, allowed) = (online(setting), allowed_cpus(setting));
    // The list may name CPUs that are not there (as many as the kernel was built for).
    let usable = if online.is_empty() { allowed } else { allowed.intersection(&online) };
    if online.is_subset(&usable) {
        return Check::available(NAME, format!("{}, all of which may be used", usable.len()));
    }
    let holdup = shell_word(&setting.machine.holdup.to_string_lossy());
    Check::limited(
        NAME,
        format!("{} of {} may be used ({})", usable.len(), online.len(), usable),
        "nothing; but the program cannot run faster than these CPUs let it",
    )
    .remedy(
        format!("taskset -c {online} {holdup} PROGRAM"),
        "does nothing where a cpuset of a control group or container is what forbids the others",
    )
}

pub(super) fn quota(setting: &Setting<'_>) -> Check {
    const NAME: &str = "CPU quota";
    let cpus = allowed_cpus(setting).len() as f64;
    let Some((share, folder, version)) = tightest_quota(setting) else {
        return Check::available(NAME, "none");
    };
    let found = format!("{share:.2} CPUs' time by control group, of {cpus} CPUs");
    if share >= cpus {
        return Check::available(NAME, found);
    }
    let check = Check::limited(
        NAME,
        found,
        "nothing; but all threads stand still together for the rest of a period when the quota is used up",
    );
    if setting.in_container {
        return check
            .remedy(format!("docker run --cpus={cpus} …"), "the container may then use all of these CPUs");
    }
    let command = match version {
        Version::One => {
            format!("echo -1 | sudo tee {}", shell_word(&format!("{folder}/cpu.cfs_quota_us")))
        }
        Version::Two => format!("echo max | sudo tee {}", shell_word(&format!("{folder}/cpu.max"))),
    };
    check.remedy(command, "everything in that group may then use all of its CPUs")
}

/// The smallest quota of the group and those around it, in CPUs, and whose it is.
fn tightest_quota<'a>(setting: &'a Setting<'_>) -> Option<(f64, &'a str, Version)> {
    let hierarchy = setting.cgroups.cpu.as_ref()?;
    let quota = |folder: &'a String| {
        Some((hierarchy.quota(setting.files, folder)?.cpus(), folder.as_str(), hierarchy.version))
    };
    hierarchy.folders.iter().filter_map(quota).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Whether the quota has ever stopped this group; `None` where no group counts it.
pub(super) fn throttling(setting: &Setting<'_>) -> Option<Check> {
    const NAME: &str = "throttling";
    let hierarchy = setting.cgroups.cpu.as_ref()?;
    let counts = hierarchy.folders.iter().filter_map(|folder| {
        let text = setting.files.text(&format!("{folder}/cpu.stat"))?;
        Some((count(&text, "nr_throttled")?, count(&text, "nr_periods").unwrap_or(0)))
    });
    let (throttled, periods) = counts.max()?;
    if throttled == 0 {
        return Some(Check::available(NAME, "never since the control group was made"));
    }
    Some(Check::limited(
        NAME,
        format!("{throttled} of {periods} periods since the control group was made"),
        "nothing; but time in which the quota stopped every thread is part of the run",
    ))
}

pub(super) fn frequency(setting: &Setting<'_>) -> Check {
    const NAME: &str = "frequency";
    let online = online(setting);
    let governors: BTreeSet<String> = online
        .iter()
        .filter_map(|cpu| setting.files.text(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor")))
        .collect();
    let names = governors.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.as_str() {
        "" => Check::available(NAME, "not this system's to set, as in most virtual machines"),
        "performance" => Check::available(NAME, "governor performance"),
        _ => Check::limited(
            NAME,
            format!("governor {names}"),
            "comparability of runs: CPUs slow down when they idle, so that waits make the code after them slower",
        )
        .remedy(
            format!("echo performance | sudo tee /{CPUS}/cpu*/cpufreq/scaling_governor"),
            "more power and heat, until the next boot",
        ),
    }
}

pub(super) fn shared_cores(setting: &Setting<'_>) -> Check {
    const NAME: &str = "SMT";
    let cpus = online(setting);
    let firsts: CpuSet = cpus
        .iter()
        .filter(|&cpu| {
            let siblings = setting.files.list(&format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list"));
            siblings.and_then(|siblings| siblings.first()).is_none_or(|first| first == cpu)
        })
        .collect();
    if firsts.len() == cpus.len() {
        return Check::available(NAME, "no two CPUs share a core");
    }
    let holdup = shell_word(&setting.machine.holdup.to_string_lossy());
    Check::limited(
        NAME,
        format!("{} CPUs, physical cores: {}", cpus.len(), firsts.len()),
        "nothing; but two threads on one core slow each other down, which shows as longer computing, not as waiting",
    )
    .remedy(
        format!("taskset -c {firsts} {holdup} PROGRAM"),
        "one CPU of each core: fewer CPUs, none of them shared",
    )
}

pub(super) fn memory_nodes(setting: &Setting<'_>) -> Check {
    const NAME: &str = "NUMA";
    let nodes = setting.files.list("sys/devices/system/node/online").unwrap_or_default();
    if nodes.len() <= 1 {
        return Check::available(NAME, "one memory node");
    }
    let first = nodes.first().unwrap_or(0);
    let holdup = shell_word(&setting.machine.holdup.to_string_lossy());
    Check::limited(
        NAME,
        format!("{} memory nodes ({nodes})", nodes.len()),
        "nothing; but memory of another node is slower, which shows as longer computing, not as waiting",
    )
    .remedy(
        format!("numactl --cpunodebind={first} --membind={first} {holdup} PROGRAM"),
        "only that node's CPUs and memory are used",
    )
}
