//! From ticks to nanoseconds.

use holdup_model::{Nanos, Time};

use crate::facts::{ClockSample, Session};

/// So many nanoseconds after the session's start, or of a length. What is longer than any run is damaged.
fn whole(nanos: f64) -> u64 {
    nanos.clamp(0.0, Nanos::LONGEST_RUN.get() as f64).round() as u64
}

/// Converts ticks of a session to time since its start, by straight lines between the moments at which the clock
/// was compared with CLOCK_MONOTONIC.
#[derive(Clone, Debug)]
pub struct Clock {
    zero_ns: f64,
    samples: Vec<ClockSample>,
    ticks_per_ns: f64,
    description: String,
}

impl Clock {
    /// The clock of a session with these comparisons.
    pub fn new(session: &Session, samples: &[ClockSample]) -> Clock {
        let mut samples = samples.to_vec();
        samples.sort_by_key(|sample| sample.ticks);
        samples.dedup_by_key(|sample| sample.ticks);
        let known = session.ticks_per_second / 1e9;
        let ticks_per_ns = match (samples.first(), samples.last()) {
            (Some(first), Some(last))
                if last.monotonic_ns > first.monotonic_ns && last.ticks > first.ticks =>
            {
                (last.ticks - first.ticks) as f64 / (last.monotonic_ns - first.monotonic_ns) as f64
            }
            _ if known.is_finite() && known > 0.0 => known,
            _ => 1.0,
        };
        let mut clock = Clock { zero_ns: 0.0, samples, ticks_per_ns, description: String::new() };
        clock.description = clock.describe(session);
        clock.zero_ns = clock.monotonic_ns(session.start);
        clock
    }

    /// The time since the session's start; ticks before it give zero.
    pub fn time(&self, ticks: u64) -> Time {
        Time::from_nanos(whole(self.monotonic_ns(ticks) - self.zero_ns))
    }

    /// The time of a moment of CLOCK_MONOTONIC (ns); moments before the session's start give zero.
    pub fn at(&self, monotonic_ns: u64) -> Time {
        Time::from_nanos(whole(monotonic_ns as f64 - self.zero_ns))
    }

    /// The moment of CLOCK_MONOTONIC (ns) at `ticks`.
    pub fn monotonic(&self, ticks: u64) -> u64 {
        self.monotonic_ns(ticks).max(0.0).round() as u64
    }

    /// The length of `ticks` ticks.
    pub fn length(&self, ticks: u64) -> Nanos {
        Nanos::new(whole(ticks as f64 / self.ticks_per_ns))
    }

    /// The clock and its error, in words.
    pub fn description(&self) -> &str {
        &self.description
    }

    fn monotonic_ns(&self, ticks: u64) -> f64 {
        let after = self.samples.partition_point(|sample| sample.ticks <= ticks);
        let line = |from: &ClockSample, slope: f64| {
            let passed = ticks as i128 - i128::from(from.ticks);
            from.monotonic_ns as f64 + passed as f64 * slope
        };
        let mean = 1.0 / self.ticks_per_ns;
        match (after.checked_sub(1).and_then(|index| self.samples.get(index)), self.samples.get(after)) {
            (Some(from), Some(to)) if to.monotonic_ns >= from.monotonic_ns => {
                line(from, (to.monotonic_ns - from.monotonic_ns) as f64 / (to.ticks - from.ticks) as f64)
            }
            (Some(near), _) | (None, Some(near)) => line(near, mean),
            (None, None) => ticks as f64 * mean,
        }
    }

    /// The largest distance of a comparison from one straight line through all.
    fn error_ns(&self) -> f64 {
        let Some(first) = self.samples.first() else { return 0.0 };
        let deviation = |sample: &ClockSample| {
            let straight =
                first.monotonic_ns as f64 + (sample.ticks - first.ticks) as f64 / self.ticks_per_ns;
            (sample.monotonic_ns as f64 - straight).abs()
        };
        self.samples.iter().map(deviation).fold(0.0, f64::max)
    }

    fn describe(&self, session: &Session) -> String {
        match session.clock.as_str() {
            "tsc" => format!(
                "processor's counter at {:.0} MHz, compared {} times with CLOCK_MONOTONIC, off by at most {:.1} µs",
                self.ticks_per_ns * 1e3,
                self.samples.len(),
                self.error_ns() / 1e3
            ),
            _ => "CLOCK_MONOTONIC".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        Session { clock: "tsc".into(), start: 1_000, ticks_per_second: 2e9, ..Session::default() }
    }

    #[test]
    fn between_samples_time_runs_straight() {
        let samples = [
            ClockSample { ticks: 1_000, monotonic_ns: 500 },
            ClockSample { ticks: 3_000, monotonic_ns: 1_500 },
            ClockSample { ticks: 5_000, monotonic_ns: 2_600 },
        ];
        let clock = Clock::new(&session(), &samples);
        assert_eq!(clock.time(1_000).nanos(), 0);
        assert_eq!(clock.time(2_000).nanos(), 500);
        assert_eq!(clock.time(4_000).nanos(), 1_550);
        assert_eq!(clock.time(0).nanos(), 0, "nothing is before the start");
    }

    #[test]
    fn without_samples_the_nominal_rate_serves() {
        let clock = Clock::new(&session(), &[]);
        assert_eq!(clock.time(3_000).nanos(), 1_000);
        assert_eq!(clock.length(200).get(), 100);
    }

    #[test]
    fn no_time_is_later_than_any_run_ends() {
        let clock = Clock::new(&session(), &[]);
        let longest = Nanos::LONGEST_RUN.get();
        assert_eq!(clock.time(u64::MAX).nanos(), longest);
        assert_eq!(clock.at(u64::MAX).nanos(), longest);
        assert_eq!(clock.length(u64::MAX).get(), longest);
    }
}
