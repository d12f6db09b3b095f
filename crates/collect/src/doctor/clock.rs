//! Whether the processor's time stamp counter can be the clock.

use super::{Check, Setting};

const NAME: &str = "clock";
const CLOCKSOURCES: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";
const LOST: &str = "nothing, but each time stamp is then taken by clock_gettime, which costs the program about 10 ns more an event";

pub(super) fn check(setting: &Setting<'_>) -> Check {
    let cpuinfo = setting.files.text("proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':'));
    let Some((_, flags)) = flags else {
        return Check::limited(NAME, "no x86 processor, so no time stamp counter", LOST);
    };
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let absent: Vec<&str> =
        ["tsc", "constant_tsc", "nonstop_tsc"].into_iter().filter(|flag| !has(flag)).collect();
    if !absent.is_empty() {
        let found =
            format!("the time stamp counter is not invariant (no {} in /proc/cpuinfo)", absent.join(", "));
        return Check::limited(NAME, found, LOST);
    }
    // The kernel takes tsc off this list when it finds the CPUs' counters to disagree.
    let clocksources = setting.files.text(CLOCKSOURCES);
    if clocksources.is_some_and(|names| !names.split_whitespace().any(|name| name == "tsc")) {
        let found = "the kernel found the time stamp counter unstable (dmesg says why)";
        return Check::limited(NAME, found, LOST);
    }
    Check::available(NAME, "invariant time stamp counter")
}
