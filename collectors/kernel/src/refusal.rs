//! Why the kernel refuses, and what makes it agree.

use std::fmt;
use std::io;

use crate::attributes::Kind;
use crate::system::System;

/// Something that cannot be had here. Its `Display` is the rest of a sentence ("… because …").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The cause.
    pub cause: Cause,
    /// The command, or the option of the container's starter, that makes it available; `None` where nothing does.
    pub remedy: Option<String>,
}

/// Why something cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// `kernel.perf_event_paranoid` is too high for a user without privileges.
    Paranoid {
        /// Its value.
        value: i32,
    },
    /// `kernel.perf_event_paranoid` would allow it, but a security module does not.
    SecurityModule,
    /// A container's filter of system calls does not let the call through.
    Seccomp,
    /// The kernel was built without events.
    NoEvents,
    /// The kernel is older than the feature.
    OldKernel {
        /// This kernel.
        release: String,
        /// The first version that has it.
        since: &'static str,
    },
    /// The kernel's description of its tracepoints cannot be read.
    NoTracepoints {
        /// What the system says.
        error: String,
    },
    /// Tracepoints number threads as the machine does, and this process lives in a container that numbers them anew.
    ForeignNumbers,
    /// The Yama module restricts who may look into a process.
    Yama {
        /// The value of `kernel.yama.ptrace_scope`.
        scope: i32,
    },
    /// Something else.
    Other {
        /// What the system says.
        error: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Paranoid { value } => {
                write!(f, "kernel.perf_event_paranoid is {value} and this user has no CAP_PERFMON")
            }
            Cause::SecurityModule => f.write_str("a security module of the kernel (as SELinux) refuses it"),
            Cause::Seccomp => {
                f.write_str("the filter of system calls here (seccomp) refuses perf_event_open")
            }
            Cause::NoEvents => f.write_str("this kernel has no perf events"),
            Cause::OldKernel { release, since } => {
                write!(f, "Linux {release} has not got it yet ({since} has)")
            }
            Cause::NoTracepoints { error } => {
                write!(f, "the kernel's list of tracepoints cannot be read ({error})")
            }
            Cause::ForeignNumbers => {
                f.write_str("tracepoints do not know the numbers that threads have in this container")
            }
            Cause::Yama { scope } => {
                write!(f, "kernel.yama.ptrace_scope is {scope}, so other processes cannot be looked into")
            }
            Cause::Other { error } => write!(f, "the kernel refuses it ({error})"),
        }
    }
}

/// What lets a container through.
const CONTAINER: &str = "--cap-add PERFMON --security-opt seccomp=unconfined";

impl Refusal {
    /// Why an event of this kind, with or without the kernel's part, was refused with this error.
    pub(crate) fn of_event(system: &impl System, kind: Kind, kernel: bool, error: &io::Error) -> Refusal {
        let paranoid = read_number(system, "proc/sys/kernel/perf_event_paranoid");
        let allowed = allows(kind, kernel);
        let (cause, remedy) = match error.raw_os_error() {
            Some(libc::EPERM | libc::ENOSYS) if filtered(system) => {
                (Cause::Seccomp, Some(CONTAINER.to_owned()))
            }
            Some(libc::ENOSYS) => (Cause::NoEvents, None),
            Some(libc::EACCES | libc::EPERM) => match paranoid {
                Some(value) if value > allowed => {
                    (Cause::Paranoid { value }, Some(format!("sysctl kernel.perf_event_paranoid={allowed}")))
                }
                _ => (Cause::SecurityModule, None),
            },
            Some(libc::EINVAL | libc::E2BIG) => match old(system, kind) {
                Some(cause) => (cause, None),
                None => (Cause::Other { error: error.to_string() }, None),
            },
            _ => (Cause::Other { error: error.to_string() }, None),
        };
        Refusal { cause, remedy }
    }
}

/// The highest value of `kernel.perf_event_paranoid` at which every user may open this.
fn allows(kind: Kind, kernel: bool) -> i32 {
    match (kind, kernel) {
        (Kind::Wakings, _) => -1,
        (_, true) => 1,
        (_, false) => 2,
    }
}

/// The kernel is known to be older than what this kind needs.
fn old(system: &impl System, kind: Kind) -> Option<Cause> {
    let since = match kind {
        Kind::Switches => ((4, 3), "4.3"),
        _ => ((4, 1), "4.1"),
    };
    older(system, since.0).map(|release| Cause::OldKernel { release, since: since.1 })
}

/// This kernel's version, if it is older than that one.
pub(crate) fn older(system: &impl System, than: (u32, u32)) -> Option<String> {
    let release = system.read("proc/sys/kernel/osrelease").ok()?;
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let version = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (version < than).then(|| release.trim().to_owned())
}

/// A filter of system calls is on (`Seccomp: 2`).
fn filtered(system: &impl System) -> bool {
    let status = system.read("proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2"))
}

/// A file that has one number.
pub(crate) fn read_number(system: &impl System, path: &str) -> Option<i32> {
    system.read(path).ok()?.trim().parse().ok()
}
