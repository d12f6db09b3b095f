//! Tests of the whole memory system.

mod coherence;
mod known;
mod model;
mod plain_hits;
mod resources;
mod sharing;

use holdup_model::cycles::Level;

use super::Memory;
use crate::change::Changes;
use crate::machine::{Arbitration, LinkFacts, Machine};
use crate::served::Served;

/// The machine of paper 3's Table 1, without translation buffers: their time is not what is tested here.
fn dunnington() -> Machine {
    let mut machine = Machine::named("dunnington").expect("it is embedded");
    (machine.itlb, machine.dtlb, machine.stlb) = (None, None, None);
    machine
}

/// Two sockets with a memory each, MESI, and a prefetcher.
fn nehalem() -> Machine {
    let mut machine = Machine::named("nehalem").expect("it is embedded");
    (machine.itlb, machine.dtlb, machine.stlb) = (None, None, None);
    machine
}

/// A memory system, and a clock that goes so far between accesses that nothing is on its way any more.
struct Bench {
    memory: Memory,
    now: u64,
}

impl Bench {
    fn new(machine: &Machine, cores: u32) -> Bench {
        Bench::changed(machine, cores, &Changes::default())
    }

    fn changed(machine: &Machine, cores: u32, changes: &Changes) -> Bench {
        Bench { memory: Memory::new(machine, cores, changes), now: 0 }
    }

    fn load(&mut self, core: u32, address: u64) -> Served {
        self.now += 10_000;
        self.memory.load(core, address, 8, 1, self.now)
    }

    fn store(&mut self, core: u32, address: u64) -> Served {
        self.now += 10_000;
        self.memory.store(core, address, 8, 2, self.now)
    }

    /// The latency and source of loads of all lines of so many bytes, the second time.
    fn chase(&mut self, core: u32, bytes: u64) -> (f64, Vec<Level>) {
        let lines = bytes / 64;
        (0..lines).for_each(|line| {
            self.load(core, line * 64);
        });
        let mut sources = Vec::new();
        let mut cycles = 0;
        for line in 0..lines {
            let served = self.load(core, line * 64);
            cycles += u64::from(served.latency);
            if !sources.contains(&served.by) {
                sources.push(served.by);
            }
        }
        (cycles as f64 / lines as f64, sources)
    }
}
