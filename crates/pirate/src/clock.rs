//! The clocks that stretches are told in.

use rustix::time::{ClockId, clock_gettime};

fn read(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// `CLOCK_MONOTONIC` in ns.
pub(crate) fn now_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// CPU time of the calling thread in ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}
