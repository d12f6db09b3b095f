//! How many context switches are too many.

/// Each costs 1.3 to 1.5 µs while it is recorded, so that this many cost 4 %.
pub(super) const MOST_A_SECOND: u64 = 30_000;
/// Where wake-ups are recorded too it is about 2 µs.
pub(super) const MOST_WITH_WAKINGS: u64 = 20_000;
/// They are counted over this long (ns).
const WINDOW: u64 = 100_000_000;
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
    most_a_second: u64,
    window: u64,
    count: u64,
    /// When the pause is over, while there is one.
    pause_until: Option<u64>,
    pause: u64,
}

impl Rate {
    pub(super) fn new(now: u64, most_a_second: u64) -> Rate {
        Rate { most_a_second, window: now, count: 0, pause_until: None, pause: FIRST_PAUSE }
    }

    pub(super) fn count(&mut self, switches: u64) {
        self.count += switches;
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
            *self = Rate { window: now, count: 0, pause_until: None, ..*self };
            return Pace::Resume;
        }
        let most = self.most_a_second * WINDOW / 1_000_000_000;
        if self.count > most && now.saturating_sub(self.window) <= 2 * WINDOW {
            self.pause_until = Some(now + self.pause);
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            return Pace::BackOff;
        }
        if now.saturating_sub(self.window) > WINDOW {
            if self.count <= most / 2 {
                self.pause = FIRST_PAUSE;
            }
            self.window = now;
            self.count = 0;
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
        switches(&mut rate, 2_900);
        assert_eq!(rate.decide(90 * MS), Pace::GoOn);
        switches(&mut rate, 200);
        assert_eq!(rate.decide(99 * MS), Pace::BackOff);
        assert_eq!(rate.decide(298 * MS), Pace::GoOn);
        assert_eq!(rate.decide(299 * MS), Pace::Resume);
        switches(&mut rate, 5_000);
        assert_eq!(rate.decide(350 * MS), Pace::BackOff);
        assert_eq!(rate.decide(749 * MS), Pace::GoOn);
        assert_eq!(rate.decide(750 * MS), Pace::Resume);
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
