//! How many context switches are too many.

/// Each costs 1.3 to 1.5 µs while it is recorded, so that this many cost 4 %.
pub(super) const MOST_A_SECOND: u64 = 30_000;
/// Where wake-ups are recorded too it is about 2 µs.
pub(super) const MOST_WITH_WAKINGS: u64 = 20_000;
/// What was not used of that is saved up for this long (ns): a program that begins with a burst is recorded whole.
const SAVED: i64 = 500_000_000;
/// A pause lasts until so much of it is there (ns): what is recorded lies evenly over the run, and no part of it is seen
/// less than others of the same rate.
const AFTER_PAUSE: i64 = 100_000_000;
/// What is recorded may take this share of the time.
const SHARE: f64 = 0.04;

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pace {
    /// All stays as it is.
    GoOn,
    /// There are too many: record none for a while.
    BackOff,
    /// The pause is over.
    Resume,
}

/// Counts switches, and decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// One may take so much of the time (ns).
    each: i64,
    /// How much of the time is saved as of `at` (ns); below zero where more was used than there was.
    saved: i64,
    at: u64,
    pauses: bool,
}

impl Rate {
    pub(super) fn new(now: u64, most_a_second: u64) -> Rate {
        let each = (1_000_000_000 / most_a_second) as i64;
        Rate { each, saved: SAVED, at: now, pauses: false }
    }

    pub(super) fn count(&mut self, switches: u64) {
        let used = i64::try_from(switches).unwrap_or(i64::MAX).saturating_mul(self.each);
        self.saved = self.saved.saturating_sub(used);
    }

    /// To stop and to begin again took so long (ns), which is no less a cost: with many threads it is the larger one.
    pub(super) fn spend(&mut self, nanos: u64) {
        self.saved = self.saved.saturating_sub((nanos as f64 / SHARE) as i64);
    }

    /// True while none are recorded.
    pub(super) fn pauses(&self) -> bool {
        self.pauses
    }

    /// To be asked often; `now` in ns of CLOCK_MONOTONIC.
    pub(super) fn decide(&mut self, now: u64) -> Pace {
        let gone = i64::try_from(now.saturating_sub(self.at)).unwrap_or(i64::MAX);
        self.at = now;
        self.saved = self.saved.saturating_add(gone).min(SAVED);
        if self.pauses {
            self.pauses = self.saved < AFTER_PAUSE;
            return if self.pauses { Pace::GoOn } else { Pace::Resume };
        }
        self.pauses = self.saved < 0;
        if self.pauses { Pace::BackOff } else { Pace::GoOn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn switches(rate: &mut Rate, count: u64) {
        rate.count(count);
    }

    #[test]
    fn many_switches_make_a_pause_until_there_is_time_for_more() {
        let mut rate = Rate::new(0, MOST_A_SECOND);
        switches(&mut rate, 17_000);
        assert_eq!(rate.decide(90 * MS), Pace::GoOn, "15,000 saved, and 2,700 since");
        switches(&mut rate, 1_000);
        assert_eq!(rate.decide(99 * MS), Pace::BackOff, "30 too many, which is 1 ms");
        assert_eq!(rate.decide(199 * MS), Pace::GoOn);
        assert_eq!(rate.decide(200 * MS), Pace::Resume);
        switches(&mut rate, 6_000);
        assert_eq!(rate.decide(250 * MS), Pace::BackOff, "3,000 to begin with, and 1,500 since");
        assert_eq!(rate.decide(399 * MS), Pace::GoOn, "50 ms too many, and 100 to begin with");
        assert_eq!(rate.decide(400 * MS), Pace::Resume);
    }

    #[test]
    fn what_is_recorded_lies_evenly_over_the_run() {
        // Steps of 40 ms with 200,000 switches a second, of which 30,000 may be recorded.
        const STEP: u64 = 40;
        let mut rate = Rate::new(0, MOST_A_SECOND);
        let mut recorded = Vec::new();
        for step in 1..=1_500 {
            let records = !rate.pauses();
            recorded.push(u32::from(records));
            if records {
                switches(&mut rate, 200 * STEP);
            }
            rate.decide(step * STEP * MS);
        }
        // Of each 6 s after the first.
        for seconds in recorded[150..].chunks(150) {
            let share = f64::from(seconds.iter().sum::<u32>()) / 150.0;
            assert!((share - 0.15).abs() < 0.015, "{share}");
        }
    }

    #[test]
    fn to_begin_again_is_a_cost_too() {
        let mut rate = Rate::new(0, MOST_A_SECOND);
        switches(&mut rate, 16_000);
        assert_eq!(rate.decide(0), Pace::BackOff, "33 ms too many");
        rate.spend(10 * MS);
        assert_eq!(rate.decide(382 * MS), Pace::GoOn, "10 ms are 4 % of 250");
        assert_eq!(rate.decide(384 * MS), Pace::Resume);
    }

    #[test]
    fn a_burst_makes_none() {
        let mut rate = Rate::new(0, MOST_WITH_WAKINGS);
        for step in 1..1_000 {
            switches(&mut rate, if step % 50 == 1 { 9_000 } else { 100 });
            assert_eq!(rate.decide(step * 20 * MS), Pace::GoOn, "{step}");
        }
    }

    #[test]
    fn more_than_the_most_for_long_makes_one() {
        let mut rate = Rate::new(0, MOST_A_SECOND);
        let paces: Vec<Pace> = (1..1_000)
            .map(|step| {
                switches(&mut rate, 700);
                rate.decide(step * 20 * MS)
            })
            .collect();
        let first = paces.iter().position(|pace| *pace == Pace::BackOff);
        assert_eq!(first, Some(150), "15,000 saved are used up by 100 too many each time");
    }

    #[test]
    fn few_switches_never_do() {
        let mut rate = Rate::new(0, MOST_A_SECOND);
        for step in 1..1_000 {
            switches(&mut rate, 500);
            assert_eq!(rate.decide(step * 20 * MS), Pace::GoOn);
        }
    }
}
