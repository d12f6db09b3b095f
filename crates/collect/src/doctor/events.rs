//! What the kernel's perf events and tracepoints give this user.

use std::io;

use super::{Check, Event, Setting};
use crate::files::shell_word;

const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";
const PARANOID_NAME: &str = "perf_event_paranoid";
/// `CAP_SYS_ADMIN` and, since Linux 5.8, `CAP_PERFMON` (linux/capability.h).
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
/// The highest level at which an ordinary user may still count his own threads in user space. Debian and
/// Ubuntu add 3 and 4, which forbid it.
const USER_SPACE_LEVEL: i64 = 2;

pub(super) fn paranoia(setting: &Setting<'_>) -> Check {
    let Some(level) = setting.files.number(PARANOID) else {
        let lost =
            "CPU time at sync events and switch records, so that running and runnable cannot be told apart";
        return Check::missing(PARANOID_NAME, "this kernel has no perf events", lost);
    };
    if setting.files.has_capability(CAP_SYS_ADMIN) || setting.files.has_capability(CAP_PERFMON) {
        return Check::available(PARANOID_NAME, format!("{level}, which does not bind this user"));
    }
    if level <= USER_SPACE_LEVEL {
        return Check::available(PARANOID_NAME, format!("{level}: own threads may be measured"));
    }
    let found = format!("{level}: ordinary users may open no event");
    with_remedy(setting, Check::missing(PARANOID_NAME, found, "what the events below give"))
}

pub(super) fn samples(setting: &Setting<'_>) -> Check {
    let lost = "what threads execute: hot lines, and which of them spin";
    trial(setting, "samples", Event::TaskClock, lost)
}

pub(super) fn switches(setting: &Setting<'_>) -> Check {
    let lost = "when a thread was taken off its CPU and whether it wanted to; run-queue delay is then known per thread only, not per wait";
    trial(setting, "switch records", Event::ContextSwitches, lost)
}

pub(super) fn hardware(setting: &Setting<'_>) -> Check {
    let lost = "holdup stack: cycles per instruction and bandwidth over the size of the cache; it tells times in their place";
    trial(setting, "hardware counters", Event::Cycles, lost)
}

fn trial(setting: &Setting<'_>, name: &'static str, event: Event, lost: &str) -> Check {
    let Err(error) = (setting.machine.try_event)(event) else {
        return Check::available(name, "the event opens");
    };
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::Unsupported => {
            let found = match event {
                Event::Cycles => "none on this machine; virtual machines often have none",
                Event::TaskClock | Event::ContextSwitches => "this kernel does not know the event",
            };
            Check::missing(name, found, lost)
        }
        io::ErrorKind::PermissionDenied => {
            with_remedy(setting, Check::missing(name, format!("not allowed: {error}"), lost))
        }
        _ => Check::missing(name, format!("the event does not open: {error}"), lost),
    }
}

/// Rights to one binary come before a lower level for everybody.
fn with_remedy(setting: &Setting<'_>, check: Check) -> Check {
    if setting.in_container {
        return check.remedy(
            "docker run --cap-add PERFMON … (podman the same; Kubernetes: securityContext.capabilities.add)",
            "the container may then measure every process that it sees; its seccomp profile must allow perf_event_open too, which Docker's does with that capability",
        );
    }
    let sysctl = "sudo sysctl kernel.perf_event_paranoid=2";
    if !setting.files.text("proc/sys/kernel/osrelease").is_none_or(|release| has_perfmon(&release)) {
        return check.remedy(
            sysctl,
            "every user may then measure his own processes, until the next boot (Linux before 5.8 has no capability for it that is narrower than CAP_SYS_ADMIN)",
        );
    }
    let holdup = shell_word(&setting.machine.holdup.to_string_lossy());
    check.remedy(
        format!("sudo setcap cap_perfmon+ep {holdup}"),
        format!("whoever may run that file can then measure every process of this machine, the kernel too (undo: sudo setcap -r {holdup}; a rebuilt file has lost it). `{sysctl}` in its place lets every user, with any program, measure his own processes until the next boot"),
    )
}

/// Whether a release such as `6.1.0-18-amd64` is at least 5.8.
fn has_perfmon(release: &str) -> bool {
    let mut numbers =
        release.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (5, 8)
}

pub(super) fn wake_ups(setting: &Setting<'_>) -> Check {
    const NAME: &str = "tracepoints";
    let readable = ["sys/kernel/tracing", "sys/kernel/debug/tracing"]
        .into_iter()
        .any(|folder| setting.files.is_readable(&format!("{folder}/events/sched/sched_waking/id")));
    if readable {
        return Check::available(NAME, "sched_waking can be read");
    }
    let check = Check::limited(
        NAME,
        "tracefs is not readable for this user",
        "who woke a thread where holdup's library does not see it: programs' own futex calls, I/O, timers",
    );
    if setting.files.has_capability(CAP_SYS_ADMIN) {
        return check.remedy(
            "sudo mount -t tracefs tracefs /sys/kernel/tracing",
            "until the next boot, and only where the kernel has tracepoints and a container may mount",
        );
    }
    let holdup = shell_word(&setting.machine.holdup.to_string_lossy());
    check.remedy(
        format!("sudo {holdup} PROGRAM"),
        "holdup itself then runs as root; the program runs as the user who typed sudo",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capability_came_with_linux_5_8() {
        for (release, expected) in [
            ("5.7.19", false),
            ("5.8.0-rc1", true),
            ("6.1.0-18-amd64", true),
            ("4.19.0", false),
            ("5.10", true),
        ] {
            assert_eq!(has_perfmon(release), expected, "{release}");
        }
    }
}
