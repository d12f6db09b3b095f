//! Who else uses the CPUs.

use super::{Check, Setting};

/// Other load below this share of the CPUs is always there.
const LITTLE: f64 = 0.25;

/// A host that took less than this share of the CPUs' time is not felt.
const FELT: f64 = 0.01;

/// What runs at the moment. This process itself is hardly in it, since the kernel averages over the last minute.
pub(super) fn at_the_moment(setting: &Setting<'_>) -> Check {
    const NAME: &str = "other load";
    let average =
        setting.files.text("proc/loadavg").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let Some(average) = average else {
        return Check::available(NAME, "not told by this kernel");
    };
    let cpus = setting.files.list("sys/devices/system/cpu/online").map_or(1, |cpus| cpus.len().max(1));
    let noun = if cpus == 1 { "CPU" } else { "CPUs" };
    let found =
        format!("in the last minute {average:.1} threads ran or waited for {cpus} {noun}, on average");
    if average < LITTLE * cpus as f64 {
        return Check::available(NAME, found);
    }
    Check::limited(NAME, found, "comparability of runs: the program lacks the CPU time that others use")
        .remedy("top", "shows who uses the CPUs")
}

/// What the host of a virtual machine took since it was started; `None` where no CPU times are told.
pub(super) fn stolen(setting: &Setting<'_>) -> Option<Check> {
    const NAME: &str = "steal";
    let text = setting.files.text("proc/stat")?;
    let times: Vec<u64> = text
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))?
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal; guests' times, after it, are in the user's already (proc(5)).
    let stolen = *times.get(7)?;
    let all: u64 = times.iter().take(8).sum();
    let share = stolen as f64 / all.max(1) as f64;
    let found = format!("{:.2} % of the CPUs' time since the start of the machine", share * 100.0);
    Some(if share < FELT {
        Check::available(NAME, found)
    } else {
        let lost = "comparability of runs: the machine's host gives its CPUs to others as well";
        Check::limited(NAME, found, lost)
    })
}
