//! What is asked of the machine itself.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How many CPUs this process, and what it starts, may use.
pub fn allowed_cores() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(1, |cpus| cpus.count().max(1))
}

/// How many CPUs process `pid` may use.
pub(crate) fn allowed_cores_of(pid: u32) -> u32 {
    let pid = rustix::process::Pid::from_raw(pid as i32);
    rustix::thread::sched_getaffinity(pid).map_or(1, |cpus| cpus.count().max(1))
}

/// Bytes in use and in all of the file system at `path`: what `statvfs` says.
///
/// # Errors
/// Those of the system call.
pub fn room(path: &Path) -> io::Result<(u64, u64)> {
    let stat = rustix::fs::statvfs(path)?;
    Ok((stat.f_bavail.saturating_mul(stat.f_frsize), stat.f_blocks.saturating_mul(stat.f_frsize)))
}

/// True if the processor's counter runs at one rate on all CPUs and in all sleep states.
pub(crate) fn has_invariant_counter() -> bool {
    let Ok(text) = fs::read_to_string("/proc/cpuinfo") else { return false };
    let flags = text.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.split_whitespace().any(|found| found == *flag))
}

/// Pages that are mapped, touched and unmapped in one round to find out how long that takes, and rounds: half a millisecond in all.
const PAGES_OF_A_ROUND: usize = 128;
const ROUNDS: usize = 4;

/// How long the kernel takes here to give a thread a page that it touches, and to take it back (ns): of the fastest round, so that what
/// else the machine does has little part in it. `None` where no memory can be mapped.
pub(crate) fn page_fault_ns() -> Option<u64> {
    let round = || {
        let page = rustix::param::page_size();
        let before = thread_cpu_ns();
        let mut memory = memmap2::MmapMut::map_anon(PAGES_OF_A_ROUND * page).ok()?;
        memory.advise(memmap2::Advice::NoHugePage).ok()?;
        memory.iter_mut().step_by(page).for_each(|byte| *byte = 1);
        drop(memory);
        Some(thread_cpu_ns().saturating_sub(before) / PAGES_OF_A_ROUND as u64)
    };
    (0..ROUNDS).map(|_| round()).min()?
}

/// CLOCK_MONOTONIC in ns.
pub(crate) fn monotonic_ns() -> u64 {
    nanos_of(ClockId::Monotonic)
}

/// CPU time of this process so far, in ns.
pub(crate) fn own_cpu_ns() -> u64 {
    nanos_of(ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread so far, in ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    nanos_of(ClockId::ThreadCPUTime)
}

fn nanos_of(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The clock of a session: the processor's counter where it is invariant, else CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockSource {
    /// The processor's counter.
    Counter,
    /// CLOCK_MONOTONIC in ns.
    Monotonic,
}

impl ClockSource {
    pub(crate) fn choose() -> ClockSource {
        if cfg!(target_arch = "x86_64") && has_invariant_counter() {
            ClockSource::Counter
        } else {
            ClockSource::Monotonic
        }
    }

    /// What recordings call it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            ClockSource::Counter => "tsc",
            ClockSource::Monotonic => "monotonic",
        }
    }

    /// Now, in its ticks.
    pub(crate) fn ticks(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the instruction is unprivileged on Linux and has no other effect.
            ClockSource::Counter => unsafe { core::arch::x86_64::_rdtsc() },
            _ => monotonic_ns(),
        }
    }

    /// Ticks and CLOCK_MONOTONIC at one moment: of several readings the one that took least.
    pub(crate) fn sample(self) -> (u64, u64) {
        let reading = || {
            let before = self.ticks();
            let nanos = monotonic_ns();
            let after = self.ticks();
            (after - before, before + (after - before) / 2, nanos)
        };
        let (_, ticks, nanos) = (0..5).map(|_| reading()).min().unwrap_or_else(reading);
        (ticks, nanos)
    }

    /// Ticks per second, since `first`, a [`ClockSource::sample`]: the longer ago the better. Waits until that is two
    /// milliseconds.
    pub(crate) fn rate_since(self, first: (u64, u64)) -> f64 {
        if self == ClockSource::Monotonic {
            return 1e9;
        }
        let least = Duration::from_millis(2);
        let passed = Duration::from_nanos(monotonic_ns().saturating_sub(first.1));
        std::thread::sleep(least.saturating_sub(passed));
        let later = self.sample();
        (later.0 - first.0) as f64 / (later.1 - first.1).max(1) as f64 * 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_runs_forward() {
        let clock = ClockSource::choose();
        let (ticks, nanos) = clock.sample();
        let (later_ticks, later_nanos) = clock.sample();
        assert!(later_ticks > ticks && later_nanos >= nanos);
    }
}
