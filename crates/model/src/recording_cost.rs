//! What recording cost the recorded program.

use crate::Nanos;

/// What recording cost a program while it ran, by its parts. The time before it started and after it ended, in which holdup
/// prepares and writes, is no part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordingCost {
    /// What the library's hooks took by their number, at what one takes in a loop of the same process, whose caches have
    /// all that it needs (ns of CPU time).
    pub counted: Nanos,
    /// Samples of running threads: in the library's own code, and all. Of hooks between which a program does much else they
    /// tell more than the count does: of what the caches do not have any more, and of calls that are not recorded.
    pub own_samples: u64,
    /// All samples of running threads; 0 where there are none.
    pub all_samples: u64,
    /// What the kernel took in the program's threads to record switches, wake-ups and samples (ns of CPU time), by what one
    /// takes.
    pub records: Nanos,
    /// CPU time of the recorder (ns) from the start of the program to its end; `None` where it is not known.
    pub recorder: Option<Nanos>,
}

/// A range of shares of the program's CPU time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CostRange {
    /// At least so much.
    pub least: f64,
    /// At most so much.
    pub most: f64,
}

impl CostRange {
    /// Between its ends.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.least, self.most)
    }
}

/// A part of the recording that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CostPart {
    /// The injected library.
    Library,
    /// The kernel's records.
    Kernel,
}

/// So few samples say nothing.
const FEW_SAMPLES: u64 = 100;
/// Standard errors of a share by samples on either side.
const ERRORS: f64 = 1.5;
/// Hooks whose number alone is known take up to so many times what they take in a loop: an uncontended lock costs 12 ns there
/// and up to 100 amid work that misses the caches, and calls that do not block are not counted.
const AMID_MISSES: f64 = 8.0;
/// What else becomes slower: caches that hooks, the kernel's records and the recorder have filled with theirs.
const AROUND: f64 = 1.6;
/// What the kernel takes for a record differs from machine to machine, and with the depth of the stack that is copied.
const RECORDS: (f64, f64) = (0.7, 1.3);

impl RecordingCost {
    /// What it is of this much CPU time of the program, by which it was slowed down on so many cores in so much time.
    /// `None` without CPU time.
    pub fn range(&self, cpu: Nanos, wall: Nanos, cores: u32) -> Option<CostRange> {
        if cpu == Nanos::ZERO {
            return None;
        }
        let (least_of_hooks, most_of_hooks) = self.hooks(cpu);
        let records = self.records.share_of(cpu);
        let recorder = self.recorder.unwrap_or(Nanos::ZERO).share_of(cpu);
        // What the recorder takes from the program is what no core was idle for.
        let all_cores = wall.get() as f64 * f64::from(cores.max(1));
        let busy = (cpu.get() as f64 / all_cores.max(1.0)).min(1.0);
        let least = least_of_hooks + RECORDS.0 * records;
        let most = AROUND * (most_of_hooks + RECORDS.1 * records) + busy * recorder;
        Some(CostRange { least: least.min(1.0), most: most.clamp(least.min(1.0), 1.0) })
    }

    /// The least and the most of hooks alone.
    fn hooks(&self, cpu: Nanos) -> (f64, f64) {
        let counted = self.counted.share_of(cpu);
        if self.all_samples < FEW_SAMPLES {
            return (counted, AMID_MISSES * counted);
        }
        let all = self.all_samples as f64;
        let seen = self.own_samples as f64 / all;
        let error = ERRORS * (self.own_samples as f64).max(1.0).sqrt() / all;
        ((seen - error).max(0.0), seen + error)
    }

    /// The part that costs more.
    pub fn dearer(&self, cpu: Nanos) -> CostPart {
        let (least, most) = self.hooks(cpu);
        let hooks = f64::midpoint(least, most);
        if hooks < self.records.share_of(cpu) { CostPart::Kernel } else { CostPart::Library }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: Nanos = Nanos::new(10_000_000_000);
    const WALL: Nanos = Nanos::new(10_000_000_000);

    fn cost() -> RecordingCost {
        RecordingCost {
            counted: Nanos::new(10_000_000),
            own_samples: 100,
            all_samples: 2000,
            records: Nanos::new(100_000_000),
            recorder: Some(Nanos::new(50_000_000)),
        }
    }

    fn range(cost: RecordingCost, cores: u32) -> CostRange {
        cost.range(CPU, WALL, cores).expect("a range")
    }

    #[test]
    fn samples_in_our_code_count_for_more_than_the_number_of_hooks() {
        // 5 % of the samples ± 1.5 × 0.5 %, and records of 1 %.
        let CostRange { least, most } = range(cost(), 1);
        assert!((least - (0.0425 + 0.007)).abs() < 1e-9, "{least}");
        assert!(most > 0.0575 + 0.013 && most < 0.13, "{most}");
        let few = range(RecordingCost { all_samples: 99, ..cost() }, 1);
        assert!((few.least - (0.001 + 0.007)).abs() < 1e-9, "{few:?}");
    }

    #[test]
    fn a_recorder_that_has_a_core_to_itself_takes_less() {
        assert!(range(cost(), 8).most < range(cost(), 1).most);
        assert_eq!(range(cost(), 8).least, range(cost(), 1).least);
    }

    #[test]
    fn no_share_is_above_one_or_turned_round() {
        let all = Nanos::new(u64::MAX / 2);
        let cost =
            RecordingCost { counted: all, own_samples: 9, all_samples: 9, records: all, recorder: Some(all) };
        assert_eq!(range(cost, 1), CostRange { least: 1.0, most: 1.0 });
        assert_eq!(cost.range(Nanos::ZERO, WALL, 1), None);
        assert_eq!(range(RecordingCost::default(), 0), CostRange { least: 0.0, most: 0.0 });
    }

    #[test]
    fn the_dearer_part_is_the_one_to_leave_out() {
        assert_eq!(cost().dearer(CPU), CostPart::Library);
        assert_eq!(RecordingCost { own_samples: 0, ..cost() }.dearer(CPU), CostPart::Kernel);
    }
}
