//! How many context switches are too many.

/// Each costs 1.3 to 1.5 µs while it is recorded, so that this many cost 4 %.
pub(super) const MOST_A_SECOND: u64 = 30_000;
/// Where wake-ups are recorded too it is about 2 µs.
pub(super) const MOST_WITH_WAKINGS: u64 = 20_000;
/// What was not used of that is saved up for this long (ns): a program that begins with a burst is recorded whole.
const SAVED: i64 = 500_000_000;
/// After a pause so much of it is there (ns).
const AFTER_PAUSE: i64 = 100_000_000;
/// The first pause (ns); each one that follows soon is twice as long, up to [`LONGEST_PAUSE`]. Between pauses what runs is
/// sampled, which short programs should not miss.
const FIRST_PAUSE: u64 = 200_000_000;
const LONGEST_PAUSE: u64 = 3_200_000_000;

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
    /// When the pause is over, while there is one.
    pause_until: Option<u64>,
    pause: u64,
}

impl Rate {
    pub(super) fn new(now: u64, most_a_second: u64) -> Rate {
        let each = (1_000_000_000 / most_a_second) as i64;
        Rate { each, saved: SAVED, at: now, pause_until: None, pause: FIRST_PAUSE }
    }

    pub(super) fn count(&mut self, switches: u64) {
        let used = i64::try_from(switches).unwrap_or(i64::MAX).saturating_mul(self.each);
        self.saved = self.saved.saturating_sub(used);
    }

    /// True while none are recorded.
    pub(super) fn pauses(&self) -> bool {
        self.pause_until.is_some()
    }

    /// To be asked often; `now` in ns of CLOCK_MONOTONIC.
    pub(super) fn decide(&mut self, now: u64) -> Pace {
        if let Some(until) = self.pause_until {
            if now < until {
                return Pace::GoOn;
            }
            *self = Rate { saved: AFTER_PAUSE, at: now, pause_until: None, ..*self };
            return Pace::Resume;
        }
        let gone = i64::try_from(now.saturating_sub(self.at)).unwrap_or(i64::MAX);
        self.at = now;
        self.saved = self.saved.saturating_add(gone).min(SAVED);
        if self.saved < 0 {
            self.pause_until = Some(now + self.pause);
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            return Pace::BackOff;
        }
        if self.saved == SAVED {
            self.pause = FIRST_PAUSE;
        }
        Pace::GoOn
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
    fn many_switches_make_a_pause_and_then_a_longer_one() {
        let mut rate = Rate::new(0, MOST_A_SECOND);
        switches(&mut rate, 17_000);
        assert_eq!(rate.decide(90 * MS), Pace::GoOn, "15,000 saved, and 2,700 since");
        switches(&mut rate, 1_000);
        assert_eq!(rate.decide(99 * MS), Pace::BackOff);
        assert_eq!(rate.decide(298 * MS), Pace::GoOn);
        assert_eq!(rate.decide(299 * MS), Pace::Resume);
        switches(&mut rate, 5_000);
        assert_eq!(rate.decide(350 * MS), Pace::BackOff, "3,000 to begin with, and 1,530 since");
        assert_eq!(rate.decide(749 * MS), Pace::GoOn);
        assert_eq!(rate.decide(750 * MS), Pace::Resume);
        // A quiet while makes pauses short again.
        assert_eq!(rate.decide(1_500 * MS), Pace::GoOn);
        switches(&mut rate, 16_000);
        assert_eq!(rate.decide(1_500 * MS), Pace::BackOff);
        assert_eq!(rate.decide(1_700 * MS), Pace::Resume);
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
