//! What one run spent in one region: the sums over its executions, carried over from those that were recorded whole to
//! all.

use holdup_model::{ObjectKind, Site};
use holdup_sections::Place;

use super::RegionKind;
use super::evidence::Evidence;
use super::locks::LockUse;
use super::team::{PARTS, Part, Parted, Sums};

/// What a region is known by in all runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    pub(super) kind: RegionKind,
    pub(super) nested: bool,
    pub(super) place: Option<Place>,
}

/// What one run spent in one region.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) kind: RegionKind,
    pub(super) nested: bool,
    pub(super) place: Option<Site>,
    pub(super) instances: u64,
    /// Time in all executions (ns), and that of all threads of their teams.
    pub(super) time: u64,
    pub(super) thread_time: u64,
    /// Executions that were recorded whole, their time, and that of all their threads.
    pub(super) whole: u64,
    pub(super) whole_time: u64,
    pub(super) whole_thread_time: u64,
    /// What was lost in these.
    pub(super) sums: Sums,
    /// Thread-time and loss of each of these.
    samples: Vec<(u64, u64)>,
    /// Locks of OpenMP, in all executions.
    pub(super) locks: Vec<LockUse>,
    pub(super) evidence: Evidence,
}

impl Profile {
    pub(super) fn new(key: &Key, place: Option<Site>) -> Self {
        Self {
            kind: key.kind,
            nested: key.nested,
            place,
            instances: 0,
            time: 0,
            thread_time: 0,
            whole: 0,
            whole_time: 0,
            whole_thread_time: 0,
            sums: Sums::default(),
            samples: Vec::new(),
            locks: Vec::new(),
            evidence: Evidence::default(),
        }
    }

    /// Counts executions, recorded whole or not.
    pub(super) fn count(&mut self, executions: u64, time: u64, threads: u64) {
        self.instances += executions;
        self.time += time;
        self.thread_time += time.saturating_mul(threads);
    }

    /// Adds what is known of an execution that was recorded whole.
    pub(super) fn add(&mut self, time: u64, parted: &Parted) {
        self.add_sums(time, parted.thread_time, &parted.sums());
    }

    /// The same of time that was looked at by other means.
    pub(super) fn add_sums(&mut self, time: u64, thread_time: u64, sums: &Sums) {
        self.whole += 1;
        self.whole_time += time;
        self.whole_thread_time += thread_time;
        self.sums.add(sums);
        self.samples.push((thread_time, sums.total()));
    }

    /// True if something is known of what happened inside.
    pub(super) fn is_known(&self) -> bool {
        self.whole_thread_time > 0
    }

    /// All executions' thread-time by that of those that were recorded whole: what their sums are multiplied by.
    pub(super) fn factor(&self) -> f64 {
        if self.is_known() { self.thread_time as f64 / self.whole_thread_time as f64 } else { 0.0 }
    }

    /// The threads that worked in it, as a mean over its time.
    pub(super) fn team(&self) -> f64 {
        if self.time == 0 { 1.0 } else { self.thread_time as f64 / self.time as f64 }
    }

    /// Thread-time (ns) lost to each part, over all executions.
    pub(super) fn parts(&self) -> [f64; PARTS] {
        let factor = self.factor();
        let mut parts = self.sums.as_array().map(|sum| sum as f64 * factor);
        // Waits for locks that were counted, and in which nobody was seen, lie in what nobody knows.
        let waited: f64 = self.locks.iter().map(|lock| lock.waited).sum();
        let turns = self.sums.turns as f64 * factor;
        let unseen = (waited - self.sums.in_locks as f64 * factor - turns).max(0.0);
        parts[Part::Other as usize] -= unseen.min(self.sums.unknown as f64 * factor);
        let mut left = (self.thread_time as f64 - parts.iter().sum::<f64>()).max(0.0);
        let mut told = turns;
        for lock in &self.locks {
            let mut cost = lock.cost();
            // At an `ordered` one thread at a time goes on by design: that is serial, whoever takes how long.
            let waiting = if lock.kind == ObjectKind::Ordered {
                let known = told.min(cost.contention);
                told -= known;
                cost.contention -= known;
                Part::Serial
            } else {
                Part::LockContention
            };
            let share = if cost.total() > left { left / cost.total() } else { 1.0 };
            parts[Part::LockAlgorithm as usize] += cost.algorithm * share;
            parts[waiting as usize] += cost.contention * share;
            left -= cost.total() * share;
        }
        parts
    }

    /// Thread-time (ns) of useful work over all executions; `None` where nothing is known of it.
    pub(super) fn useful(&self) -> Option<f64> {
        let lost: f64 = self.parts().iter().sum();
        (self.is_known() || self.thread_time == 0).then(|| (self.thread_time as f64 - lost).max(0.0))
    }

    /// The standard error (ns of thread-time) of what is lost in all executions, told from those that were recorded
    /// whole: that of a ratio estimator without replacement (Cochran, Sampling Techniques, 3rd edition, section 6.4).
    /// All of it where too few were recorded to tell.
    pub(super) fn error(&self) -> f64 {
        let count = self.samples.len() as f64;
        if self.whole >= self.instances {
            return 0.0;
        }
        let lost = self.sums.total() as f64;
        if self.samples.len() < 2 {
            return lost * self.factor();
        }
        let ratio = lost / self.whole_thread_time.max(1) as f64;
        let residuals = self.samples.iter().map(|&(time, loss)| (loss as f64 - ratio * time as f64).powi(2));
        let variance = residuals.sum::<f64>() / (count - 1.0);
        let all = self.instances as f64;
        all * ((1.0 - count / all).max(0.0) * variance / count).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::{Fastest, Vendors};

    fn profile(losses: &[u64], instances: u64) -> Profile {
        let key = Key { kind: RegionKind::Parallel, nested: false, place: None };
        let mut profile = Profile::new(&key, None);
        profile.count(instances, instances * 100, 2);
        for &loss in losses {
            let mut sums = Sums::default();
            sums.book(Part::Imbalance, loss);
            profile.add_sums(100, 200, &sums);
        }
        profile
    }

    #[test]
    fn whole_executions_stand_for_all() {
        let profile = profile(&[10, 30], 8);
        assert_eq!(profile.parts()[Part::Imbalance as usize], 160.0);
        assert_eq!(profile.useful(), Some(1600.0 - 160.0));
        // Residuals −10 and 10: variance 200, of a mean of two out of eight 200 · 0.75 / 2 = 75.
        assert!((profile.error() - 8.0 * 75f64.sqrt()).abs() < 1e-9);
    }

    /// Two threads take turns for 200 ns: each waits for half of it. Of the waits, 170 ns were seen; for 25 ns of 30 in which
    /// threads were blocked nobody knows for what.
    #[test]
    fn a_wait_for_a_lock_is_counted_once() {
        use holdup_model::openmp::Acquires;
        use holdup_model::{Nanos, ObjectKind, Process, ThreadId, Time};

        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(200));
        process.add_thread("main", Time::from_nanos(0), None);
        let row = Acquires {
            thread: ThreadId::new(0),
            place: None,
            region: None,
            kind: ObjectKind::Ordered,
            acquisitions: 20,
            timed: 0,
            time: Nanos::ZERO,
            fastest: Nanos::ZERO,
            waits: 20,
            waiting: Nanos::new(200),
        };
        let (vendors, fastest) = (Vendors::of(&process), Fastest::of([&process].into_iter()));
        let mut profile = profile(&[], 2);
        let mut sums = Sums::default();
        (sums.unknown, sums.in_locks) = (25, 170);
        sums.book(Part::Other, 30);
        profile.add_sums(200, 400, &sums);
        profile.locks.push(LockUse::of(&process, &vendors, &fastest, &row));
        let parts = profile.parts();
        assert_eq!((parts[Part::Serial as usize], parts[Part::Other as usize]), (200.0, 5.0));
        assert_eq!(profile.useful(), Some(195.0));
    }

    #[test]
    fn nothing_is_carried_over_where_all_was_recorded_or_nothing() {
        assert_eq!(profile(&[10, 30], 2).error(), 0.0);
        let unknown = profile(&[], 3);
        assert_eq!((unknown.useful(), unknown.error(), unknown.factor()), (None, 0.0, 0.0));
    }
}
