//! How much following may cost.

use std::time::Duration;

/// Context switches a second that are recorded. One costs the program 1.3 to 2 µs while it is (`docs/recording.md`), so these are
/// 1 % of one core.
const MOST_A_SECOND: u64 = 5_000;
/// For how long switches are counted before the rate is known.
const WINDOW_NS: u64 = 200_000_000;
/// The first rest after too many switches; each next one is twice as long, up to the longest.
const FIRST_REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_secs(40);
/// Time between two looks, at least.
const LEAST_PAUSE: Duration = Duration::from_millis(10);
/// A look may take this part of the time.
const LOOKS_PART: u32 = 100;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Go on.
    GoOn,
    /// Close the events for so long.
    Rest(Duration),
}

/// How many switches there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    begin_ns: u64,
    switches: u64,
    rest: Duration,
}

impl Rate {
    pub(super) fn new(now_ns: u64) -> Rate {
        Rate { begin_ns: now_ns, switches: 0, rest: FIRST_REST }
    }

    /// Counts from now on.
    pub(super) fn begin(&mut self, now_ns: u64) {
        (self.begin_ns, self.switches) = (now_ns, 0);
    }

    pub(super) fn count(&mut self, switches: u64) {
        self.switches += switches;
    }

    pub(super) fn decide(&mut self, now_ns: u64) -> Pace {
        let length = now_ns.saturating_sub(self.begin_ns);
        let a_second = u128::from(self.switches) * 1_000_000_000 / u128::from(length.max(WINDOW_NS));
        if a_second > u128::from(MOST_A_SECOND) {
            let rest = self.rest;
            self.rest = (rest * 2).min(LONGEST_REST);
            return Pace::Rest(rest);
        }
        if length >= WINDOW_NS {
            if a_second < u128::from(MOST_A_SECOND / 2) {
                self.rest = FIRST_REST;
            }
            self.begin(now_ns);
        }
        Pace::GoOn
    }

    pub(super) fn sentence() -> String {
        format!(
            "more than {MOST_A_SECOND} context switches a second would cost the program too much to record"
        )
    }
}

/// When to look next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks {
    random: u64,
}

impl Looks {
    pub(super) fn new(seed: u64) -> Looks {
        Looks { random: seed | 1 }
    }

    /// How long to wait after a look that took so long: by chance half as long to half as much again, so that what a program
    /// does at regular times is not always met, or never.
    pub(super) fn pause(&mut self, took: Duration) -> Duration {
        // Marsaglia, Xorshift RNGs (2003), the triple 13, 7, 17.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let pause = (took * LOOKS_PART).max(LEAST_PAUSE);
        pause / 2 + pause.mul_f64((self.random >> 11) as f64 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn too_many_switches_are_left_alone_for_longer_and_longer() {
        let mut rate = Rate::new(0);
        rate.count(1001);
        assert_eq!(rate.decide(50 * MS), Pace::Rest(FIRST_REST));
        rate.begin(5000 * MS);
        rate.count(1001);
        assert_eq!(rate.decide(5200 * MS), Pace::Rest(FIRST_REST * 2));
        for _ in 0..9 {
            rate.begin(0);
            rate.count(100_000);
            assert!(matches!(rate.decide(MS), Pace::Rest(rest) if rest <= LONGEST_REST));
        }
    }

    #[test]
    fn few_switches_go_on_and_make_rests_short_again() {
        let mut rate = Rate::new(0);
        rate.count(2000);
        assert_eq!(rate.decide(200 * MS), Pace::Rest(FIRST_REST));
        rate.begin(0);
        rate.count(100);
        assert_eq!(rate.decide(200 * MS), Pace::GoOn);
        rate.count(2000);
        assert_eq!(rate.decide(400 * MS), Pace::Rest(FIRST_REST));
    }

    #[test]
    fn looks_take_a_hundredth_of_the_time() {
        let mut looks = Looks::new(7);
        let pauses: Vec<Duration> = (0..1000).map(|_| looks.pause(Duration::from_millis(1))).collect();
        let mean = pauses.iter().sum::<Duration>() / 1000;
        assert!((95..105).contains(&mean.as_millis()), "{mean:?}");
        assert!(pauses.iter().all(|pause| (50..=150).contains(&pause.as_millis())));
        assert!(looks.pause(Duration::ZERO) >= LEAST_PAUSE / 2);
    }
}
