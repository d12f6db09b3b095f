//! What the kernel tells of a process's threads: when they were on a core, and what they were seen doing.

use crate::{Nanos, SiteId, ThreadId, Time};

/// How a thread lost its core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Left {
    /// It had to wait.
    Blocked,
    /// It could have gone on, and another thread was given the core.
    Preempted,
    /// The recording ended first, or the end was lost.
    Unknown,
}

/// A span in which a thread was on a core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OnCore {
    /// Which thread.
    pub thread: ThreadId,
    /// When it was given the core.
    pub begin: Time,
    /// When it lost it.
    pub end: Time,
    /// Which core.
    pub core: u32,
    /// Why it lost it.
    pub left: Left,
}

/// What a thread was seen doing at one moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Doing {
    /// It was on a core.
    Running,
    /// It was blocked.
    Blocked,
}

/// A thread was looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sample {
    /// Which thread.
    pub thread: ThreadId,
    /// When.
    pub time: Time,
    /// What it did.
    pub doing: Doing,
    /// Where in the code.
    pub site: Option<SiteId>,
    /// Of running threads: the sampling period (ns of CPU time); a sample stands for the thread's time on a core since the
    /// one before, which is this on average for threads that run for long at a time. Of blocked ones: the
    /// time between two looks at the process's threads (ns) × how many were blocked for each that was looked at.
    pub weight: Nanos,
    /// Of running threads: the data that the instruction before accessed, if that is known.
    pub access: Option<Access>,
    /// Of running threads: why they were in the kernel; `None` in their own code, and where that is not known.
    pub in_kernel: Option<InKernel>,
}

/// Why a running thread was in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum InKernel {
    /// It had called it.
    Call,
    /// It goes on at the instruction at which it was stopped: by a page fault, or, which takes much less time, an interrupt.
    Fault,
}

/// What an instruction did to data in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AccessKind {
    /// It read it.
    Read,
    /// It wrote it.
    Write,
    /// It read and wrote it, and others may have written in between.
    Update,
    /// It read and wrote it in one step.
    Atomic,
}

/// Data in memory that a thread accessed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Access {
    /// Its address.
    pub address: u64,
    /// How many bytes.
    pub bytes: u8,
    /// What was done to it.
    pub kind: AccessKind,
}

/// The bytes of a cache line of x86-64.
pub const CACHE_LINE: u64 = 64;

/// Threads that are often switched are sampled less often than their CPU time says, since the kernel's timer begins anew:
/// so a sample stands for more than its weight, but not for a time in which nothing was sampled.
const MOST_PERIODS: u64 = 8;

impl Sample {
    /// The longest active time before it (ns) that the sample of a running thread stands for, where its thread was not
    /// looked at in between.
    pub fn reach(&self) -> Nanos {
        Nanos::new(self.weight.get().saturating_mul(MOST_PERIODS))
    }
}

/// CPU times of a thread since its start, as the kernel counts them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CpuReading {
    /// Which thread.
    pub thread: ThreadId,
    /// When it was read.
    pub time: Time,
    /// Time on a core (ns).
    pub cpu: Nanos,
    /// Time in which it could run and had no core (ns).
    pub delay: Nanos,
}

/// Which collectors saw a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SeenBy {
    /// The library inside of it: locks, barriers, waits, by object.
    pub preload: bool,
    /// The kernel's records: time on a core, samples.
    pub kernel: bool,
}
