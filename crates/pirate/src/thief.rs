//! The bandwidth thief: a thread that reads memory at a stated rate, and leaves the cache alone as far as that goes.
//!
//! After the Bandwidth Bandit (Eklov, Nikoleris, Black-Schaffer and Hagersten, CGO 2013). That keeps to a few sets of the
//! shared cache, which needs physical addresses; here each line is taken out of all caches again right after it was read.
//! So it never finds a line there either, and what it read is what memory gave.

use std::hint::black_box;
use std::path::Path;

use crate::clock;
use crate::cores::{Confined, Place};
use crate::gate::Gate;
use crate::instructions::{drop_line, drops_lines};
use crate::memory::Memory;
use crate::pace::Pace;
use crate::probes::Limit;
use crate::refusal::Refusal;
use crate::timer::Timer;
use crate::walk::{LINE, Walk};

/// Bytes that are read between two looks at the gate.
const BURST: usize = 16 << 10;
/// Bytes that are gone through in turn: more than the open rows of all memory channels.
const BYTES: u64 = 64 << 20;
/// So far behind the loads lines are dropped: a load and a drop of the same line would wait for each other, and what
/// prefetchers bring is ahead.
const BEHIND: usize = 8 << 10;

/// What was stolen while the profiled thread ran.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theft {
    /// Begin, in ns of `CLOCK_MONOTONIC`.
    pub begin_ns: u64,
    /// End, in ns of `CLOCK_MONOTONIC`.
    pub end_ns: u64,
    /// The thief's CPU time in between.
    pub cpu_ns: u64,
    /// Bytes that it read from memory.
    pub bytes: u64,
}

impl Theft {
    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 * 1e9 / self.end_ns.saturating_sub(self.begin_ns).max(1) as f64
    }
}

/// A thief with its memory.
#[derive(Debug)]
pub struct Thief {
    cpu: u32,
    memory: Memory,
}

impl Thief {
    /// Gets the memory, near the core of `place` that steals. `root` is `/` outside of tests.
    ///
    /// # Errors
    /// Those of the system; [`Refusal::UnknownProcessor`] where lines cannot be taken out of the caches.
    pub fn new(root: &Path, place: &Place) -> Result<Thief, Refusal> {
        if !drops_lines() {
            return Err(Refusal::UnknownProcessor);
        }
        let _confined = Confined::to(place.pirate)?;
        Ok(Thief { cpu: place.pirate, memory: Memory::new(root, BYTES)? })
    }

    /// The most that it can read in a second, measured for `ns` now, with what else uses the memory.
    ///
    /// # Errors
    /// Where the thread may not run on its core.
    pub fn strongest(&self, ns: u64) -> Result<f64, Refusal> {
        let _confined = Confined::to(self.cpu)?;
        let begin_ns = clock::now_ns();
        let (mut at, mut bytes) = (0, 0);
        while clock::now_ns() - begin_ns < ns {
            bytes += self.burst(&mut at);
        }
        Ok(Theft { begin_ns, end_ns: clock::now_ns(), cpu_ns: 0, bytes }.rate())
    }

    /// The share of the thief's lines that no cache has when it comes back to them, by timed loads against the limit of a
    /// calibration: near 1, or else it takes less of the memory's bandwidth than it says.
    ///
    /// # Errors
    /// Where the thread may not run on its core, or single loads cannot be timed.
    pub fn absent(&self, limit: &Limit) -> Result<f64, Refusal> {
        const PROBES: usize = 480;
        let _confined = Confined::to(self.cpu)?;
        let timer = Timer::new()?;
        let mut at = 0;
        while self.burst(&mut at) > 0 && at != 0 {}
        let missed = limit.missed(&timer, self.memory.bytes(), PROBES, &mut Walk::new(BYTES));
        Ok(missed as f64 / PROBES as f64)
    }

    /// Reads `bytes_per_second` on the calling thread until the run is over: one [`Theft`] for each time that the profiled
    /// thread ran, with what it was really.
    ///
    /// # Errors
    /// Where the thread may not run on its core.
    pub fn run(&self, gate: &impl Gate, bytes_per_second: u64) -> Result<Vec<Theft>, Refusal> {
        let _confined = Confined::to(self.cpu)?;
        let mut thefts = Vec::new();
        let mut at = 0;
        while gate.wait_wanted() {
            let (begin_ns, cpu_begin) = (clock::now_ns(), clock::thread_cpu_ns());
            let mut pace = Pace::new(bytes_per_second, begin_ns);
            let mut bytes = 0;
            gate.ready();
            while gate.still() {
                let now = clock::now_ns();
                if pace.is_due(now) {
                    pace.went(BURST as u64, now);
                    bytes += self.burst(&mut at);
                } else {
                    std::hint::spin_loop();
                }
            }
            let (end_ns, cpu_ns) = (clock::now_ns(), clock::thread_cpu_ns() - cpu_begin);
            thefts.push(Theft { begin_ns, end_ns, cpu_ns, bytes });
        }
        Ok(thefts)
    }

    /// Reads the next lines and drops those that were read a little before.
    fn burst(&self, at: &mut usize) -> u64 {
        let all = self.memory.bytes();
        let behind = (*at + all.len() - BEHIND) % all.len();
        for line in (0..BURST).step_by(LINE) {
            black_box(all[*at + line]);
            drop_line(&all[(behind + line) % all.len()]);
        }
        *at = (*at + BURST) % all.len();
        BURST as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_bytes_over_time() {
        let theft = Theft { begin_ns: 500, end_ns: 1_000_500, cpu_ns: 0, bytes: 2_000_000 };
        assert_eq!(theft.rate(), 2e9);
    }
}
