//! How much may be recorded.

use std::collections::BTreeMap;

/// The share of the program's CPU time that recording its context switches may take, where nobody chose another.
pub const MAX_COST: f64 = 0.02;
/// What was not used of that is saved up for so much CPU time (ns): a program that begins with a burst is recorded whole.
const SAVED: f64 = 1500e6;
/// A pause lasts until as much may be used as for so much CPU time (ns): what is recorded lies evenly over the run, and no
/// part of it is seen less than others of the same rate.
const AFTER_PAUSE: f64 = 300e6;

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pace {
    /// All stays as it is.
    GoOn,
    /// There are too many records: make none for a while.
    BackOff,
    /// The pause is over.
    Resume,
}

/// Weighs what recording takes against what the program computes, and decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Recording may take this share of the program's CPU time.
    share: f64,
    /// So much may be used now (ns); below zero where more was used than there was.
    left: f64,
    pauses: bool,
}

impl Budget {
    pub(super) fn new(share: f64) -> Budget {
        Budget { share, left: share * SAVED, pauses: false }
    }

    /// Recording took the program's threads so long (ns).
    pub(super) fn spend(&mut self, nanos: u64) {
        self.left -= nanos as f64;
    }

    /// The program had so much CPU time (ns).
    pub(super) fn earn(&mut self, cpu: u64) {
        self.left = (self.left + self.share * cpu as f64).min(self.share * SAVED);
    }

    /// True while nothing is recorded.
    pub(super) fn pauses(&self) -> bool {
        self.pauses
    }

    /// To be asked often.
    pub(super) fn decide(&mut self) -> Pace {
        if self.pauses {
            self.pauses = self.left < self.share * AFTER_PAUSE;
            return if self.pauses { Pace::GoOn } else { Pace::Resume };
        }
        self.pauses = self.left < 0.0;
        if self.pauses { Pace::BackOff } else { Pace::GoOn }
    }
}

/// How much CPU time a program's threads have, as its context switches tell; while these are not recorded, as it was before.
#[derive(Clone, Debug)]
pub(super) struct OnCore {
    /// By core: since when (ns) one of them is on it.
    cores: BTreeMap<u32, u64>,
    /// Since this was asked last (ns).
    cpu: u64,
    /// Of the present stretch with records, or of the last one: CPU time, and how long it is (ns).
    stretch: (u64, u64),
    /// When this was asked last (ns of CLOCK_MONOTONIC).
    at: u64,
}

impl OnCore {
    pub(super) fn new(now: u64) -> OnCore {
        OnCore { cores: BTreeMap::new(), cpu: 0, stretch: (0, 0), at: now }
    }

    /// A thread is on a core, from this time on at the latest.
    pub(super) fn is_on(&mut self, core: u32, time: u64) {
        self.cores.entry(core).or_insert(time);
    }

    /// It leaves it.
    pub(super) fn leaves(&mut self, core: u32, time: u64) {
        if let Some(since) = self.cores.remove(&core) {
            self.cpu += time.saturating_sub(since);
        }
    }

    /// CPU time since this was asked last; `recorded` if switches were recorded since.
    pub(super) fn taken(&mut self, now: u64, recorded: bool) -> u64 {
        let gone = now.saturating_sub(self.at);
        self.at = now;
        if !recorded {
            let (cpu, wall) = self.stretch;
            // Before anything is known: one core.
            let cores = if wall == 0 { 1.0 } else { cpu as f64 / wall as f64 };
            return (gone as f64 * cores) as u64;
        }
        for since in self.cores.values_mut() {
            self.cpu += now.saturating_sub(*since);
            *since = now.max(*since);
        }
        let cpu = std::mem::take(&mut self.cpu);
        self.stretch = (self.stretch.0 + cpu, self.stretch.1 + gone);
        cpu
    }

    /// Switches are recorded again.
    pub(super) fn begins_again(&mut self, now: u64) {
        *self = OnCore::new(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const US: u64 = 1_000;

    #[test]
    fn many_records_make_a_pause_until_there_is_time_for_more() {
        let mut budget = Budget::new(0.02);
        budget.spend(31 * MS);
        budget.earn(90 * MS);
        assert_eq!(budget.decide(), Pace::GoOn, "30 ms saved, and 1.8 earned since");
        budget.spend(2 * MS);
        assert_eq!(budget.decide(), Pace::BackOff, "1.2 ms too many");
        budget.earn(359 * MS);
        assert_eq!((budget.decide(), budget.pauses()), (Pace::GoOn, true));
        budget.earn(2 * MS);
        assert_eq!(budget.decide(), Pace::Resume, "6 ms are there, 2 % of 300");
        budget.spend(6_100 * US);
        assert_eq!(budget.decide(), Pace::BackOff);
    }

    #[test]
    fn what_is_recorded_lies_evenly_over_the_run() {
        // Steps of 40 ms on one core with 200,000 records a second of 0.7 µs, 14 % of the time.
        let mut budget = Budget::new(0.02);
        let mut recorded = Vec::new();
        for _ in 0..1_500 {
            let records = !budget.pauses();
            recorded.push(u32::from(records));
            budget.earn(40 * MS);
            if records {
                budget.spend(8_000 * 700);
            }
            budget.decide();
        }
        // Of each 6 s after the first.
        for seconds in recorded[150..].chunks(150) {
            let share = f64::from(seconds.iter().sum::<u32>()) / 150.0;
            assert!((share - 1.0 / 7.0).abs() < 0.015, "{share}");
        }
    }

    #[test]
    fn a_burst_and_few_records_make_none() {
        for share in [0.005, 0.02, 0.5] {
            let mut budget = Budget::new(share);
            for step in 1..1_000 {
                let most = share * 20.0 * MS as f64;
                // All that may be, or much less and a burst now and then.
                budget.spend(
                    if step < 500 { most } else { most * if step % 20 == 0 { 15.0 } else { 0.2 } } as u64
                );
                budget.earn(20 * MS);
                assert_eq!(budget.decide(), Pace::GoOn, "{share} {step}");
            }
        }
    }

    #[test]
    fn cpu_time_is_that_of_threads_on_cores() {
        let mut on_core = OnCore::new(0);
        on_core.is_on(0, 10);
        on_core.is_on(0, 15);
        on_core.is_on(1, 20);
        on_core.leaves(1, 50);
        on_core.leaves(1, 60);
        assert_eq!(on_core.taken(100, true), 90 + 30);
        on_core.leaves(0, 110);
        assert_eq!(on_core.taken(200, true), 10);
        assert_eq!(on_core.taken(400, false), 200 * 130 / 200, "as many cores as before");
        on_core.begins_again(400);
        on_core.is_on(3, 450);
        assert_eq!(on_core.taken(500, true), 50);
        assert_eq!(OnCore::new(0).taken(7, false), 7);
    }
}
