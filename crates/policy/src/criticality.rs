//! Criticality as the paper's hardware computes it (section 3.2, Fig. 3), and what that costs.
//!
//! There is one counter and one active bit for each thread, the number of active threads, and a timer that says how long ago
//! the last change was. At each change the timer, divided by the number of active threads, is added to the counter of each
//! active thread; then the bit and the number change, and the timer begins again.
//!
//! Sums are those of a [`Course`]; what the hardware would do for them is counted apart. (The paper's divider drops the fraction.)

use holdup_model::{Course, Fixed, Gained};

/// What the unit did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitWork {
    /// Changes of activity that it was told, and readings of its counters at the end of a slice.
    pub updates: u64,
    /// Divisions: one for each update while at least one thread was active.
    pub divisions: u64,
    /// Additions: one for each thread that was active.
    pub additions: u64,
}

impl UnitWork {
    /// Picojoules of an integer division (section 3.2: 0.65 nJ, from Wattch for 100 nm).
    pub const DIVISION_PJ: u64 = 650;
    /// Picojoules of a 64-bit addition (section 3.2: 0.2 nJ, from Wattch for 100 nm).
    pub const ADDITION_PJ: u64 = 200;

    /// The energy of what was done, in nanojoules.
    pub fn nanojoules(&self) -> f64 {
        (self.divisions as f64 * Self::DIVISION_PJ as f64 + self.additions as f64 * Self::ADDITION_PJ as f64)
            / 1000.0
    }

    /// What it would be at most with so many threads, all active at each update, in nanojoules: the paper's way to count,
    /// 3.85 nJ an update with 16 threads. Its 1,920 updates in 10 ms are 0.74 mW by that (the text has 7.39 µW, which is a
    /// hundredth).
    pub fn most_nanojoules(&self, threads: u32) -> f64 {
        let update = Self::DIVISION_PJ + Self::ADDITION_PJ * u64::from(threads);
        self.updates as f64 * update as f64 / 1000.0
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            updates: self.updates + other.updates,
            divisions: self.divisions + other.divisions,
            additions: self.additions + other.additions,
        }
    }
}

/// What the counters had at the end of a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// By thread.
    pub threads: Vec<Fixed>,
    /// Ticks in which nobody was active. With all of `threads` that is the length of the slice, but for rounding.
    pub nobody: u64,
    /// Ticks of the slice.
    pub length: u64,
    /// What the unit did in it, this reading included.
    pub work: UnitWork,
}

/// The unit.
#[derive(Clone, Debug)]
pub struct CriticalityUnit {
    /// When the counters were reset.
    begin: u64,
    /// Told until the last update: the timer is the time since.
    course: Course,
    threads: Vec<Gained>,
    nobody: u64,
    work: UnitWork,
}

impl CriticalityUnit {
    /// Nobody is active at `begin`.
    pub fn new(begin: u64) -> Self {
        Self { begin, course: Course::new(begin), threads: Vec::new(), nobody: 0, work: UnitWork::default() }
    }

    /// The thread does useful work from now on, or no longer. Times must not decrease from call to call; one that does counts
    /// as the last.
    pub fn set_active(&mut self, thread: u32, now: u64, is_active: bool) {
        self.update(now);
        let index = thread as usize;
        if self.threads.len() <= index {
            self.threads.resize(index + 1, Gained::default());
        }
        self.threads[index].set_active(&mut self.course, is_active);
    }

    /// Whether a thread is active.
    pub fn is_active(&self, thread: u32) -> bool {
        self.threads.get(thread as usize).is_some_and(Gained::is_active)
    }

    /// How many are.
    pub fn active(&self) -> u32 {
        self.course.active()
    }

    /// The only active thread, if there is just one.
    pub fn alone(&self) -> Option<u32> {
        let mut active = (0..).zip(&self.threads).filter(|(_, gained)| gained.is_active());
        let first = active.next().map(|(thread, _)| thread);
        first.filter(|_| self.active() == 1)
    }

    /// Reads the counters of so many threads, and resets them: a slice ends, and who is active stays so.
    pub fn take(&mut self, now: u64, threads: usize) -> Counters {
        self.update(now);
        self.threads.resize(self.threads.len().max(threads), Gained::default());
        let counters = Counters {
            threads: self.threads.iter_mut().map(|gained| gained.take(&self.course)).collect(),
            nobody: std::mem::take(&mut self.nobody),
            length: self.course.at() - self.begin,
            work: std::mem::take(&mut self.work),
        };
        self.begin = self.course.at();
        counters
    }

    fn update(&mut self, now: u64) {
        let length = self.course.advance(now);
        self.work.updates += 1;
        match self.active() {
            0 => self.nobody += length,
            active => {
                self.work.divisions += 1;
                self.work.additions += u64::from(active);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::from_fixed;

    use super::{CriticalityUnit, UnitWork};

    /// Fig. 2, with all pieces of 4 ticks but the last: four threads, three of which wait one after the other.
    #[test]
    fn who_works_while_others_wait_gets_more() {
        let mut unit = CriticalityUnit::new(0);
        (0..4).for_each(|thread| unit.set_active(thread, 0, true));
        unit.set_active(3, 4, false);
        unit.set_active(2, 8, false);
        unit.set_active(1, 12, false);
        let counters = unit.take(16, 4);
        let ticks: Vec<f64> = counters.threads.iter().map(|&sum| from_fixed(sum)).collect();
        let third = 4.0 / 3.0;
        for (found, expected) in
            ticks.iter().zip([1.0 + third + 2.0 + 4.0, 1.0 + third + 2.0, 1.0 + third, 1.0])
        {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        assert_eq!(unit.alone(), Some(0));
    }

    #[test]
    fn a_slice_begins_with_empty_counters_and_whoever_is_active_stays_so() {
        let mut unit = CriticalityUnit::new(100);
        unit.set_active(0, 100, true);
        unit.set_active(1, 100, true);
        unit.take(110, 2);
        unit.set_active(1, 112, false);
        let counters = unit.take(120, 3);
        assert_eq!(counters.threads.iter().map(|&sum| from_fixed(sum)).collect::<Vec<_>>(), [9.0, 1.0, 0.0]);
        assert_eq!((counters.length, counters.nobody, unit.active()), (10, 0, 1));
    }

    #[test]
    fn time_in_which_nobody_is_active_is_nobodys() {
        let mut unit = CriticalityUnit::new(0);
        unit.set_active(0, 5, true);
        unit.set_active(0, 8, false);
        let counters = unit.take(10, 1);
        assert_eq!((from_fixed(counters.threads[0]), counters.nobody), (3.0, 7));
        // One division and one addition: nothing is divided among nobody.
        assert_eq!(counters.work, UnitWork { updates: 3, divisions: 1, additions: 1 });
    }

    #[test]
    fn an_update_with_sixteen_threads_is_3_85_nanojoules_at_most() {
        let one = UnitWork { updates: 1, divisions: 1, additions: 16 };
        assert_eq!(one.nanojoules(), 3.85);
        assert_eq!(one.most_nanojoules(16), 3.85);
    }

    #[test]
    fn the_papers_updates_are_0_74_milliwatts() {
        let slice = |updates| UnitWork { updates, ..UnitWork::default() }.most_nanojoules(16);
        let milliwatts = |updates| slice(updates) * 1e-9 / 10e-3 * 1e3;
        assert!((milliwatts(1920) - 0.7392).abs() < 1e-9);
        assert!((milliwatts(31_776) - 12.23).abs() < 0.01);
    }
}
