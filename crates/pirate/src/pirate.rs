//! The pirate: a thread that keeps a working set in the shared cache while another runs.
//!
//! The method is Cache Pirating (Eklov, Nikoleris, Black-Schaffer and Hagersten, ICPP 2011), as *paper 1* uses it in its
//! section 3. Where that reads the pirate's fetch ratio off the processor's counters, here timed loads at random places
//! say the same without any; where there are counters, they are read too.

use std::path::Path;

use crate::calibrate::{Calibration, page_multiple};
use crate::clock;
use crate::cores::{Confined, Place};
use crate::fetches::{FetchCounters, Fetches, Hardware};
use crate::gate::Gate;
use crate::memory::Memory;
use crate::probes::{Limit, PER_SWEEP};
use crate::refusal::{Refusal, mib};
use crate::stretch::{MOST_MISSED, Stretch};
use crate::sweep::Sweep;
use crate::timer::Timer;
use crate::walk::Walk;

/// Lines that are read between two looks at the gate: 5 µs out of the cache, 30 µs out of memory.
const BURST: usize = 2048;
/// A working set that is not in the cache after so many sweeps does not get there.
const MOST_WARMING: u32 = 12;

/// What a pirate is to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    cpu: u32,
    bytes: u64,
    limit: Limit,
}

impl Plan {
    /// To take `bytes` of the shared level.
    ///
    /// # Errors
    /// [`Refusal::TooMuch`] where one core cannot keep so much in the cache.
    pub fn steal(place: &Place, calibration: &Calibration, bytes: u64) -> Result<Plan, Refusal> {
        if bytes > calibration.holdable {
            let (asked_mib, holdable_mib) = (mib(bytes), mib(calibration.holdable));
            return Err(Refusal::TooMuch { asked_mib, holdable_mib });
        }
        Ok(Plan { cpu: place.pirate, bytes: page_multiple(bytes), limit: calibration.limit })
    }

    /// To be as busy without taking anything: the working set fits into half of the core's own cache. What the profiled
    /// thread loses beside this one (clock frequency, power, hypervisor) is not for want of cache.
    pub fn control(place: &Place, calibration: &Calibration) -> Plan {
        let bytes = page_multiple((place.private_bytes / 2).max(16 << 10));
        Plan { cpu: place.pirate, bytes, limit: calibration.limit }
    }

    /// Bytes of the working set: those that were asked for, in whole pages.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A pirate with its working set.
#[derive(Debug)]
pub struct Pirate {
    plan: Plan,
    timer: Timer,
    memory: Memory,
}

impl Pirate {
    /// Gets the memory, near the pirate's core. `root` is `/` outside of tests.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new(root: &Path, plan: Plan) -> Result<Pirate, Refusal> {
        let _confined = Confined::to(plan.cpu)?;
        let timer = Timer::new()?;
        let memory = Memory::new(root, plan.bytes)?;
        Ok(Pirate { plan, timer, memory })
    }

    /// The share of the working set that is in huge pages.
    pub fn huge_share(&self) -> Option<f64> {
        self.memory.huge_share()
    }

    /// Works on the calling thread, on the pirate's core, until the run is over. One [`Stretch`] for each time that the
    /// profiled thread ran.
    ///
    /// # Errors
    /// Where the thread may not run on that core (any more).
    pub fn run(&self, gate: &impl Gate) -> Result<Vec<Stretch>, Refusal> {
        let _confined = Confined::to(self.plan.cpu)?;
        match Hardware::open() {
            Some(mut counters) => Ok(self.work(gate, Some(&mut counters))),
            None => Ok(self.work(gate, None)),
        }
    }

    /// [`Pirate::run`] where the calling thread already is, with these counters.
    pub(crate) fn work(
        &self,
        gate: &impl Gate,
        mut counters: Option<&mut dyn FetchCounters>,
    ) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        let mut walk = Walk::new(self.plan.bytes);
        let mut sweep = Sweep::default();
        while gate.wait_wanted() {
            let (warming, warmed) = self.warm(&mut sweep, &mut walk);
            let mut read = || counters.as_mut().and_then(|counters| counters.read());
            let before = read();
            let (begin_ns, cpu_begin) = (clock::now_ns(), clock::thread_cpu_ns());
            gate.ready();
            let (mut probes, mut missed, mut sweeps) = (0, 0, 0);
            let mut probe = |walk: &mut Walk| {
                probes += PER_SWEEP as u32;
                missed += self.probe(walk) as u32;
            };
            while gate.still() {
                if sweep.burst(self.memory.bytes(), BURST) {
                    sweeps += 1;
                    probe(&mut walk);
                }
            }
            // Every stretch has some, also those that end before a sweep does.
            let (end_ns, cpu_ns) = (clock::now_ns(), clock::thread_cpu_ns() - cpu_begin);
            probe(&mut walk);
            let ratio = |before: Fetches| read()?.ratio_since(&before);
            let fetch_ratio = before.and_then(ratio);
            stretches.push(Stretch {
                begin_ns,
                end_ns,
                cpu_ns,
                probes,
                missed,
                sweeps,
                warming,
                warmed,
                fetch_ratio,
            });
        }
        stretches
    }

    /// Sweeps until the working set is in the cache. Where it still is, as after a short wait, that costs a few probes.
    fn warm(&self, sweep: &mut Sweep, walk: &mut Walk) -> (u32, bool) {
        let warm = |walk: &mut Walk| self.probe(walk) as f64 <= MOST_MISSED * PER_SWEEP as f64;
        for sweeps in 0..MOST_WARMING {
            if warm(walk) {
                return (sweeps, true);
            }
            while !sweep.burst(self.memory.bytes(), BURST) {}
        }
        (MOST_WARMING, warm(walk))
    }

    fn probe(&self, walk: &mut Walk) -> usize {
        self.plan.limit.missed(&self.timer, self.memory.bytes(), PER_SWEEP, walk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Wants some stretches, each over so many looks.
    struct Script {
        stretches: Cell<u32>,
        looks: Cell<u32>,
        each: u32,
        told: Cell<u32>,
    }

    impl Gate for Script {
        fn wait_wanted(&self) -> bool {
            self.looks.set(self.each);
            let left = self.stretches.get();
            self.stretches.set(left.saturating_sub(1));
            left > 0
        }

        fn ready(&self) {
            self.told.set(self.told.get() + 1);
        }

        fn still(&self) -> bool {
            let left = self.looks.get();
            self.looks.set(left.saturating_sub(1));
            left > 0
        }
    }

    /// A twentieth of the references between two readings misses; or there are none.
    #[derive(Debug)]
    struct Fake(Option<Fetches>);

    impl FetchCounters for Fake {
        fn read(&mut self) -> Option<Fetches> {
            let now = self.0.as_mut()?;
            *now = Fetches { references: now.references + 2000, misses: now.misses + 100 };
            Some(*now)
        }
    }

    fn pirate() -> Pirate {
        let limit =
            Limit { hit_ns: 30.0, miss_ns: 130.0, limit_ns: 80.0, false_misses: 0.0, false_hits: 0.0 };
        let cpu = crate::allowed_cpus()[0];
        Pirate::new(Path::new("/"), Plan { cpu, bytes: 4 * BURST as u64 * 64, limit }).unwrap()
    }

    fn script(stretches: u32, each: u32) -> Script {
        Script { stretches: Cell::new(stretches), looks: Cell::new(0), each, told: Cell::new(0) }
    }

    #[test]
    fn each_sweep_and_each_end_has_its_probes() {
        let gate = script(2, 9);
        let own = pirate().work(&gate, None);
        assert_eq!((own.len(), gate.told.get()), (2, 2));
        // Nine bursts of a quarter each; the second stretch goes on where the first ended.
        assert_eq!(own.iter().map(|stretch| stretch.sweeps).collect::<Vec<_>>(), [2, 2]);
        assert!(own.iter().all(|stretch| stretch.probes == 3 * PER_SWEEP as u32));
        assert!(own.iter().all(|stretch| stretch.fetch_ratio.is_none()));
    }

    #[test]
    fn a_stretch_that_is_over_at_once_has_probes_too() {
        let own = pirate().work(&script(1, 0), None);
        assert_eq!((own[0].sweeps, own[0].probes), (0, PER_SWEEP as u32));
    }

    #[test]
    fn the_fetch_ratio_is_that_of_the_stretch() {
        let gate = script(3, 1);
        let own = pirate().work(&gate, Some(&mut Fake(Some(Fetches::default()))));
        assert!(own.iter().all(|stretch| stretch.fetch_ratio == Some(0.05)));
        let none = pirate().work(&script(1, 1), Some(&mut Fake(None)));
        assert_eq!(none[0].fetch_ratio, None);
    }

    #[test]
    fn nothing_is_done_for_a_run_that_is_over() {
        let gate = script(0, 1);
        assert!(pirate().work(&gate, None).is_empty());
        assert_eq!(gate.told.get(), 0);
    }
}
