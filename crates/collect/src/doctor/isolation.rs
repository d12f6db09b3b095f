//! Containers, and what keeps one process from looking into another.

use super::{Check, Setting};
use crate::files::Files;

/// `CAP_SYS_PTRACE` (linux/capability.h).
const CAP_SYS_PTRACE: u32 = 19;

/// What kind of container this is, if the usual traces of one are there.
pub(super) fn container(files: &Files<'_>) -> Option<&'static str> {
    if files.exists(".dockerenv") {
        return Some("Docker");
    }
    if files.exists("run/.containerenv") {
        return Some("Podman");
    }
    if files.exists("var/run/secrets/kubernetes.io") || files.exists("run/secrets/kubernetes.io") {
        return Some("Kubernetes");
    }
    let first = files.text("proc/1/cgroup").unwrap_or_default();
    let traces = [("docker", "Docker"), ("kubepods", "Kubernetes"), ("libpod", "Podman"), ("lxc", "LXC")];
    traces.into_iter().find(|(trace, _)| first.contains(trace)).map(|(_, name)| name)
}

pub(super) fn check(container: Option<&str>) -> Check {
    const NAME: &str = "container";
    match container {
        None => Check::available(NAME, "none"),
        Some(kind) => Check::limited(
            NAME,
            kind,
            "nothing by itself; but kernel settings belong to the host, and most remedies below are options of the command that starts the container",
        ),
    }
}

pub(super) fn other_processes_memory(setting: &Setting<'_>) -> Check {
    const NAME: &str = "ptrace_scope";
    let lost = "attaching to a process that holdup did not start";
    let Some(scope) = setting.files.number("proc/sys/kernel/yama/ptrace_scope") else {
        return Check::available(NAME, "this kernel has no such limit");
    };
    let found = |text: &str| format!("{scope}: {text}");
    match scope {
        _ if scope < 3 && setting.files.has_capability(CAP_SYS_PTRACE) => {
            Check::available(NAME, found("any process, by this user's rights"))
        }
        0 => Check::available(NAME, found("processes of the same user")),
        1 => Check::available(NAME, found("processes that holdup itself starts")),
        2 => Check::limited(NAME, found("only with CAP_SYS_PTRACE"), lost).remedy(
            "sudo sysctl kernel.yama.ptrace_scope=1",
            "every process may then look into its own children, until the next boot",
        ),
        _ => Check::missing(NAME, found("nobody, until the next boot"), lost),
    }
}
