//! What a run costs in energy: cores, what is beside them on the chip, and memory.
//!
//! Dynamic power is C · V² · f · activity and static power that of leakage, as in every model of CMOS since Wattch (Brooks,
//! Tiwari, Martonosi, ISCA 2000), which is what McPAT, the paper's model (section 8), is made of, too. All constants are the
//! machine's. Only relative energies mean something: two runs on the same machine.

use serde::{Deserialize, Serialize};

/// A frequency and the voltage that a core needs for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Point {
    /// GHz.
    pub frequency: f64,
    /// Volts.
    pub voltage: f64,
}

/// A machine's constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EnergyFacts {
    /// Frequencies and their voltages, in rising order; between two of them the voltage is in proportion. Below the first and
    /// above the last it is as there.
    pub points: Vec<Point>,
    /// Farads switched by a busy core in a cycle (C · activity), in nanofarads: what its clock and its instructions switch.
    pub busy_nf: f64,
    /// The same for a core without a thread.
    pub idle_nf: f64,
    /// Amperes that leak through a core, per volt: static power is that times V².
    pub leak_siemens: f64,
    /// Watts of what is shared on the chip, of all sockets together.
    pub uncore_watts: f64,
    /// Watts of memory that does nothing.
    pub memory_watts: f64,
    /// Nanojoules of an access to memory: a line.
    pub memory_access_nj: f64,
    /// Nanoseconds for which a core stands still when its frequency changes.
    pub transition_ns: f64,
}

impl EnergyFacts {
    /// The voltage for a frequency in GHz; 0 without points.
    pub fn voltage(&self, frequency: f64) -> f64 {
        let Some(first) = self.points.first() else { return 0.0 };
        let mut below = *first;
        if frequency <= first.frequency {
            return first.voltage;
        }
        for &point in &self.points {
            if frequency <= point.frequency {
                let part = (frequency - below.frequency) / (point.frequency - below.frequency);
                return below.voltage + part * (point.voltage - below.voltage);
            }
            below = point;
        }
        below.voltage
    }

    /// Why these cannot be, if they cannot.
    pub fn problem(&self) -> Option<&'static str> {
        let rises = |of: fn(&Point) -> f64| self.points.windows(2).all(|two| of(&two[0]) < of(&two[1]));
        let positive = |number: f64| number.is_finite() && number > 0.0;
        let amounts = [
            self.busy_nf,
            self.idle_nf,
            self.leak_siemens,
            self.uncore_watts,
            self.memory_watts,
            self.memory_access_nj,
            self.transition_ns,
        ];
        if self.points.is_empty() || !rises(|point| point.frequency) {
            return Some("points must be at least one, with rising frequencies");
        }
        if !self.points.iter().all(|point| positive(point.frequency) && positive(point.voltage)) {
            return Some("frequencies and voltages must be more than 0");
        }
        if !self.points.windows(2).all(|two| two[0].voltage <= two[1].voltage) {
            return Some("voltages must not fall with the frequency");
        }
        let is_amount = |number: &f64| number.is_finite() && *number >= 0.0;
        (!amounts.iter().all(is_amount)).then_some("amounts must be numbers from 0 on")
    }

    /// Watts of a core at a frequency in GHz.
    pub fn core_watts(&self, frequency: f64, is_busy: bool) -> f64 {
        let square = self.voltage(frequency).powi(2);
        let switched = if is_busy { self.busy_nf } else { self.idle_nf };
        // Nanofarads times gigahertz.
        square * (switched * frequency + self.leak_siemens)
    }

    /// The energy of a run.
    pub fn energy(&self, run: &Activity) -> Energy {
        let mut energy = Energy { seconds: run.seconds, ..Energy::default() };
        for core in &run.cores {
            let square = self.voltage(core.frequency).powi(2);
            let switched = self.busy_nf * core.busy_seconds + self.idle_nf * core.idle_seconds;
            energy.dynamic += square * core.frequency * switched;
            energy.leaked += square * self.leak_siemens * (core.busy_seconds + core.idle_seconds);
        }
        energy.uncore = self.uncore_watts * run.seconds;
        energy.memory =
            self.memory_watts * run.seconds + self.memory_access_nj * 1e-9 * run.memory_accesses as f64;
        energy
    }
}

/// What cores did at one frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoreTime {
    /// GHz.
    pub frequency: f64,
    /// Seconds with a thread, or with the system's code that puts one to sleep or wakes it, of all cores.
    pub busy_seconds: f64,
    /// Seconds with neither.
    pub idle_seconds: f64,
}

/// What a run did that costs energy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// How long it took.
    pub seconds: f64,
    /// By frequency.
    pub cores: Vec<CoreTime>,
    /// Lines that went to or came from memory.
    pub memory_accesses: u64,
}

/// Joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What cores switched.
    pub dynamic: f64,
    /// What leaked through cores.
    pub leaked: f64,
    /// What is shared on the chip.
    pub uncore: f64,
    /// Memory.
    pub memory: f64,
}

impl Energy {
    /// All of it.
    pub fn joules(&self) -> f64 {
        self.dynamic + self.leaked + self.uncore + self.memory
    }

    /// Energy times delay, in joule-seconds: less is better, and half the time is worth twice the energy.
    pub fn delay_product(&self) -> f64 {
        self.joules() * self.seconds
    }

    /// Energy against that of another run (Fig. 10); 1 if that has none.
    pub fn relative_to(&self, other: &Self) -> f64 {
        ratio(self.joules(), other.joules())
    }

    /// The same for energy times delay.
    pub fn delay_relative_to(&self, other: &Self) -> f64 {
        ratio(self.delay_product(), other.delay_product())
    }
}

fn ratio(own: f64, other: f64) -> f64 {
    if other > 0.0 { own / other } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::{Activity, CoreTime, EnergyFacts, Point};

    fn facts() -> EnergyFacts {
        let point = |frequency, voltage| Point { frequency, voltage };
        EnergyFacts {
            points: vec![point(2.0, 1.0), point(3.0, 1.2)],
            busy_nf: 2.0,
            idle_nf: 0.5,
            leak_siemens: 1.0,
            uncore_watts: 10.0,
            memory_watts: 3.0,
            memory_access_nj: 20.0,
            transition_ns: 100.0,
        }
    }

    #[test]
    fn voltage_is_in_proportion_between_two_points_and_constant_beyond() {
        let facts = facts();
        assert_eq!(
            [1.0, 2.0, 2.5, 3.0, 9.0].map(|frequency| facts.voltage(frequency)),
            [1.0, 1.0, 1.1, 1.2, 1.2]
        );
        assert_eq!(facts.problem(), None);
        assert!(EnergyFacts { points: Vec::new(), ..facts.clone() }.problem().is_some());
        assert!(EnergyFacts { busy_nf: f64::NAN, ..facts }.problem().is_some());
    }

    #[test]
    fn a_core_takes_capacitance_times_voltage_squared_times_frequency_and_what_leaks() {
        assert!((facts().core_watts(2.0, true) - (2.0 * 2.0 + 1.0)).abs() < 1e-12);
        assert!((facts().core_watts(3.0, true) - 1.44 * (2.0 * 3.0 + 1.0)).abs() < 1e-12);
        assert!((facts().core_watts(2.0, false) - (0.5 * 2.0 + 1.0)).abs() < 1e-12);
    }

    #[test]
    fn the_energy_of_a_run_by_hand() {
        let run = Activity {
            seconds: 2.0,
            cores: vec![
                CoreTime { frequency: 2.0, busy_seconds: 3.0, idle_seconds: 0.5 },
                CoreTime { frequency: 3.0, busy_seconds: 0.5, idle_seconds: 0.0 },
            ],
            memory_accesses: 50_000_000,
        };
        let energy = facts().energy(&run);
        assert!((energy.dynamic - (2.0 * (6.0 + 0.25) + 1.44 * 3.0 * 1.0)).abs() < 1e-9);
        assert!((energy.leaked - (3.5 + 1.44 * 0.5)).abs() < 1e-9);
        assert!((energy.uncore - 20.0).abs() < 1e-9 && (energy.memory - 7.0).abs() < 1e-9);
        assert!((energy.delay_product() - 2.0 * energy.joules()).abs() < 1e-9);
    }

    #[test]
    fn a_shorter_run_with_one_faster_core_can_take_less() {
        let at = |frequency, busy_seconds, idle_seconds| CoreTime { frequency, busy_seconds, idle_seconds };
        let run = |seconds, cores| facts().energy(&Activity { seconds, cores, memory_accesses: 0 });
        // One of four threads works alone for a second; 3 GHz make that two thirds.
        let slow = run(1.0, vec![at(2.0, 1.0, 3.0)]);
        let fast = run(2.0 / 3.0, vec![at(3.0, 2.0 / 3.0, 0.0), at(2.0, 0.0, 2.0)]);
        assert!(fast.relative_to(&slow) < 1.0, "{}", fast.relative_to(&slow));
        assert!(fast.delay_relative_to(&slow) < fast.relative_to(&slow));
    }
}
