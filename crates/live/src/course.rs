//! The criticality of one process's threads, told change by change: O(1) each, whatever the number of threads.
//!
//! All active threads gain the same at any moment, 1 / their number (paper 4, Eq. 1). So it is enough to know how much a thread
//! would have gained that had been active all the time: an active thread's criticality is what that sum has grown by since
//! the thread became active. Sums are in units of 2^-64 ns, as those of the paper's unit in `holdup-policy` are.

const FRACTION_BITS: u32 = 64;

/// What an always active thread would have gained, and how many are active.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Course {
    at_ns: u64,
    sum: u128,
    active: u32,
}

/// What one thread has gained.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// When it became active and what the course's sum was, while it is active.
    since: Option<(u64, u128)>,
    criticality: u128,
    active_ns: u64,
    changes: u64,
}

impl Course {
    /// Nobody is active.
    pub(crate) fn begin(now_ns: u64) -> Course {
        Course { at_ns: now_ns, sum: 0, active: 0 }
    }

    /// A time before the latest one counts as that.
    fn advance(&mut self, now_ns: u64) {
        let length = now_ns.saturating_sub(self.at_ns);
        self.at_ns += length;
        if self.active > 0 {
            self.sum += share(length, self.active);
        }
    }

    /// The thread does useful work from now on, or no longer. What it does already is no change.
    pub(crate) fn set_active(&mut self, tally: &mut Tally, now_ns: u64, is_active: bool) {
        if tally.is_active() == is_active {
            return;
        }
        self.put(tally, now_ns, is_active);
        tally.changes += 1;
    }

    /// As [`Course::set_active`], where only what is known of the thread changes, not what it does.
    pub(crate) fn put(&mut self, tally: &mut Tally, now_ns: u64, is_active: bool) {
        if tally.is_active() == is_active {
            return;
        }
        self.advance(now_ns);
        match tally.since.take() {
            None => {
                tally.since = Some((self.at_ns, self.sum));
                self.active += 1;
            }
            Some((since_ns, sum)) => {
                tally.criticality += self.sum - sum;
                tally.active_ns += self.at_ns - since_ns;
                self.active -= 1;
            }
        }
    }

    /// Criticality and active time of a thread up to now, in ns.
    pub(crate) fn read(&mut self, tally: &Tally, now_ns: u64) -> (u64, u64) {
        self.advance(now_ns);
        let (since_ns, sum) = tally.since.unwrap_or((self.at_ns, self.sum));
        let criticality = tally.criticality + (self.sum - sum);
        ((criticality >> FRACTION_BITS) as u64, tally.active_ns + (self.at_ns - since_ns))
    }
}

impl Tally {
    pub(crate) fn is_active(&self) -> bool {
        self.since.is_some()
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// What was found out in another way than by changes: so much time, in which so many threads were active.
    pub(crate) fn add_look(&mut self, length_ns: u64, active: u32) {
        self.criticality += share(length_ns, active.max(1));
    }

    /// As [`Tally::add_look`], of its active time and its changes.
    pub(crate) fn add_counted(&mut self, active_ns: u64, changes: u64) {
        self.active_ns += active_ns;
        self.changes += changes;
    }
}

fn share(length_ns: u64, active: u32) -> u128 {
    u128::from(length_ns) * ((1u128 << FRACTION_BITS) / u128::from(active))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Eq. 1 by its words: each piece between two changes is divided among the active.
    fn by_definition(changes: &[(u64, usize, bool)], threads: usize, end: u64) -> Vec<f64> {
        let (mut gained, mut active, mut at) = (vec![0.0; threads], vec![false; threads], 0);
        for &(time, thread, is_active) in changes.iter().chain(&[(end, 0, false)]) {
            let number = active.iter().filter(|&&active| active).count();
            for (gained, _) in gained.iter_mut().zip(&active).filter(|(_, active)| **active) {
                *gained += (time - at) as f64 / number as f64;
            }
            at = time;
            active[thread] = is_active;
        }
        gained
    }

    #[test]
    fn each_moment_is_divided_among_the_active() {
        let mut course = Course::begin(100);
        let mut tallies = [Tally::default(); 2];
        course.set_active(&mut tallies[0], 100, true);
        course.set_active(&mut tallies[1], 110, true);
        course.set_active(&mut tallies[1], 130, false);
        assert_eq!(course.read(&tallies[0], 140), (30, 40), "10 alone, 20 of two, 10 alone");
        assert_eq!(course.read(&tallies[1], 150), (10, 20));
        assert_eq!(tallies.map(|tally| tally.changes()), [1, 2]);
    }

    #[test]
    fn a_time_that_goes_back_counts_as_the_latest_one() {
        let mut course = Course::begin(100);
        let mut tally = Tally::default();
        course.set_active(&mut tally, 120, true);
        course.set_active(&mut tally, 90, false);
        assert_eq!(course.read(&tally, 130), (0, 0));
    }

    proptest! {
        #[test]
        fn it_is_what_the_definition_says(
            steps in prop::collection::vec((0u64..1_000_000, 0usize..6, any::<bool>()), 0..200),
        ) {
            let mut time = 0;
            let changes: Vec<_> = steps.iter().map(|&(step, thread, is_active)| {
                time += step;
                (time, thread, is_active)
            }).collect();
            let end = time + 1000;
            let mut course = Course::begin(0);
            let mut tallies = [Tally::default(); 6];
            for &(time, thread, is_active) in &changes {
                course.set_active(&mut tallies[thread], time, is_active);
            }
            for (tally, expected) in tallies.iter().zip(by_definition(&changes, 6, end)) {
                let (found, active) = course.read(tally, end);
                prop_assert!((found as f64 - expected).abs() <= 1.001, "{found} {expected}");
                prop_assert!(found <= active);
            }
        }
    }
}
