//! What keeps events from being opened or threads from being read.

use std::io;

use crate::ids::{Cpu, Pid};
use crate::refusal::Refusal;

/// Why the kernel could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// No event at all may be opened here.
    #[error("the kernel cannot be asked about threads: {refusal}{}", remedy(refusal))]
    Refused {
        /// Why.
        refusal: Refusal,
    },
    /// There is no such process (any more).
    #[error("process {pid} does not exist; see ps -e for those that do")]
    NoProcess {
        /// Which.
        pid: Pid,
    },
    /// Events are allowed, but not of this process.
    #[error("process {pid} belongs to another user, or to a program with privileges; record it as root")]
    NotYours {
        /// Which.
        pid: Pid,
    },
    /// There are too few descriptors for the threads of a process.
    #[error(
        "{needed} descriptors are needed (one for each thread, processor and kind of event), and {limit} are allowed; \
         raise the limit with ulimit -Hn {needed}, or start the program under holdup, which needs fewer"
    )]
    Descriptors {
        /// How many, at least.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// The kernel gives no memory for records.
    #[error(
        "the kernel gives no memory for its records, not even {bytes} bytes for processor {cpu} ({error}); allow it \
         with sysctl kernel.perf_event_mlock_kb=2052, or ulimit -l unlimited"
    )]
    Ring {
        /// Where.
        cpu: Cpu,
        /// The smallest size that was tried.
        bytes: usize,
        /// What the system says.
        error: io::Error,
    },
    /// The processors cannot be listed.
    #[error("/sys/devices/system/cpu/online cannot be read ({error}); mount sysfs at /sys")]
    Processors {
        /// What the system says.
        error: io::Error,
    },
    /// An event that was opened cannot be used.
    #[error(
        "the kernel refused to {action} an event ({error}); please report this, with the kernel's version"
    )]
    Event {
        /// What was tried.
        action: &'static str,
        /// What the system says.
        error: io::Error,
    },
}

fn remedy(refusal: &Refusal) -> String {
    refusal.remedy.as_ref().map_or_else(String::new, |command| format!("; allow it with: {command}"))
}
