//! What was stolen from a stretch of the profiled thread, and whether it is to be believed.

/// The most of its working set that a pirate may miss: of 48 probes one.
pub const MOST_MISSED: f64 = 0.03;
/// The least share of a core that who steals must have had.
pub const LEAST_CPU: f64 = 0.98;

/// The least share of its core that a pirate must have had whose probes say that it kept its lines: who had them at each
/// look has not been away for long, and the recorder needs some of the same core where there are only two.
pub const BUSY: f64 = 0.9;
/// The same of one that takes nothing: it need only be busy.
pub const CONTROL_BUSY: f64 = 0.5;

/// A stretch in which the profiled thread ran alone beside a pirate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stretch {
    /// Begin, in ns of `CLOCK_MONOTONIC`: when the working set was warm.
    pub begin_ns: u64,
    /// End, in ns of `CLOCK_MONOTONIC`.
    pub end_ns: u64,
    /// The pirate's CPU time in between.
    pub cpu_ns: u64,
    /// Timed loads at random places of the working set.
    pub probes: u32,
    /// How many of them the cache did not have.
    pub missed: u32,
    /// How often the whole working set was read.
    pub sweeps: u32,
    /// Sweeps before the begin.
    pub warming: u32,
    /// False if the working set was not in the cache even after those.
    pub warmed: bool,
    /// Misses of the shared level over references to it, of the pirate itself, where the processor's counters can be read.
    pub fetch_ratio: Option<f64>,
}

/// Whether cache was stolen as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The working set was in the cache, all the time.
    Held,
    /// More than 3 % of the probes missed: the share of them.
    Missed(f64),
    /// The pirate had less than 98 % of its core: the share that it had.
    Interrupted(f64),
    /// There is no stretch, or none with probes.
    Unknown,
}

impl Stretch {
    /// How long it was.
    pub fn ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }

    /// The share of its core that the pirate had.
    pub fn cpu_share(&self) -> f64 {
        if self.ns() == 0 { 1.0 } else { (self.cpu_ns as f64 / self.ns() as f64).min(1.0) }
    }

    /// The share of the probes that missed.
    pub fn missed_share(&self) -> Option<f64> {
        (self.probes > 0).then(|| f64::from(self.missed) / f64::from(self.probes))
    }

    /// Whether this stretch alone is to be believed.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(std::slice::from_ref(self))
    }
}

impl Verdict {
    /// Of stretches taken together. Stretches of less than a sweep have few probes, and one interrupt in them is much of
    /// their time: only the whole says something of those.
    pub fn of(stretches: &[Stretch]) -> Verdict {
        let sum = |of: fn(&Stretch) -> u64| stretches.iter().map(of).sum::<u64>();
        let (probes, missed) = (sum(|stretch| stretch.probes.into()), sum(|stretch| stretch.missed.into()));
        let (ns, cpu_ns) = (sum(Stretch::ns), sum(|stretch| stretch.cpu_ns.min(stretch.ns())));
        if probes == 0 {
            return Verdict::Unknown;
        }
        let missed = missed as f64 / probes as f64;
        let cpu = if ns == 0 { 1.0 } else { cpu_ns as f64 / ns as f64 };
        if missed > MOST_MISSED {
            Verdict::Missed(missed)
        } else if cpu < LEAST_CPU {
            Verdict::Interrupted(cpu)
        } else {
            Verdict::Held
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stretch(ns: u64, cpu_ns: u64, probes: u32, missed: u32) -> Stretch {
        Stretch {
            begin_ns: 1_000,
            end_ns: 1_000 + ns,
            cpu_ns,
            probes,
            missed,
            sweeps: 1,
            warming: 1,
            warmed: true,
            fetch_ratio: None,
        }
    }

    #[test]
    fn a_stretch_is_held_with_one_of_forty_eight_missed_and_not_with_two() {
        assert_eq!(stretch(1000, 990, 48, 1).verdict(), Verdict::Held);
        assert_eq!(stretch(1000, 990, 48, 2).verdict(), Verdict::Missed(2.0 / 48.0));
        assert_eq!(stretch(1000, 990, 100, 3).verdict(), Verdict::Held);
    }

    #[test]
    fn a_pirate_that_did_not_run_held_nothing() {
        assert_eq!(stretch(1000, 970, 48, 0).verdict(), Verdict::Interrupted(0.97));
        assert_eq!(stretch(1000, 980, 48, 0).verdict(), Verdict::Held);
        assert_eq!(stretch(1000, 1000, 0, 0).verdict(), Verdict::Unknown);
        assert_eq!(Verdict::of(&[]), Verdict::Unknown);
    }

    #[test]
    fn a_short_interrupted_stretch_does_not_spoil_a_long_one() {
        let (long, short) = (stretch(1_000_000, 999_000, 480, 2), stretch(1000, 100, 48, 2));
        assert_ne!(short.verdict(), Verdict::Held);
        assert_eq!(Verdict::of(&[long, short]), Verdict::Held);
    }

    proptest! {
        #[test]
        fn stretches_that_hold_each_hold_together(
            parts in proptest::collection::vec((1u64..1_000_000, 0.98f64..1.0, 48u32..500), 1..20)
        ) {
            let stretches: Vec<Stretch> = parts
                .into_iter()
                .map(|(ns, cpu, probes)| stretch(ns, (ns as f64 * cpu).ceil() as u64, probes, probes * 3 / 100))
                .collect();
            prop_assert!(stretches.iter().all(|stretch| stretch.verdict() == Verdict::Held));
            prop_assert_eq!(Verdict::of(&stretches), Verdict::Held);
        }
    }
}
