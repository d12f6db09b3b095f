//! A victim of known size: a random chase that fights for its lines, to see what a pirate takes from it.

use std::path::Path;

use crate::calibrate::page_multiple;
use crate::clock;
use crate::cores::{Confined, Place};
use crate::memory::Memory;
use crate::refusal::Refusal;
use crate::sweep::Sweep;
use crate::walk::{LINE, Walk};

/// Memory to chase through.
#[derive(Debug)]
pub struct Victim {
    memory: Memory,
}

/// What a chase took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chased {
    /// CPU time of a step in ns.
    pub ns_per_step: f64,
    /// The share of the time for which the thread had its core.
    pub cpu_share: f64,
}

impl Victim {
    /// One of `bytes`, near the program's core of `place`. `root` is `/` outside of tests.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new(root: &Path, place: &Place, bytes: u64) -> Result<Victim, Refusal> {
        let _confined = Confined::to(place.program)?;
        Ok(Victim { memory: Memory::new(root, page_multiple(bytes))? })
    }

    /// Chases through the first `bytes` on the calling thread: first as many steps as there are lines, so that those that
    /// can be kept are in the cache, then half as many again, timed by CPU time: others that use the core do not count.
    pub fn chase(&self, bytes: u64) -> Chased {
        /// Of small sizes several rounds, a few milliseconds.
        const LEAST_STEPS: u64 = 200_000;
        let zeros = self.memory.bytes();
        let zeros = &zeros[..zeros.len().min(bytes as usize)];
        let lines = (zeros.len() / LINE) as u64;
        let mut walk = Walk::new(lines);
        walk.steps(zeros, lines);
        let (begin, cpu_begin) = (clock::now_ns(), clock::thread_cpu_ns());
        let steps = walk.steps(zeros, LEAST_STEPS.max(lines / 2));
        let (cpu_ns, ns) = (clock::thread_cpu_ns() - cpu_begin, clock::now_ns() - begin);
        Chased {
            ns_per_step: cpu_ns as f64 / steps.max(1) as f64,
            cpu_share: cpu_ns as f64 / ns.max(1) as f64,
        }
    }

    /// Reads all of it, line by line and as fast as it goes, on the calling thread: bytes per second of CPU time.
    pub fn stream(&self) -> f64 {
        /// Bytes, at least.
        const LEAST: u64 = 1 << 30;
        let zeros = self.memory.bytes();
        let begin = clock::thread_cpu_ns();
        let mut read = 0;
        while read < LEAST {
            Sweep::whole(zeros);
            read += zeros.len().max(1) as u64;
        }
        read as f64 * 1e9 / (clock::thread_cpu_ns() - begin).max(1) as f64
    }
}
