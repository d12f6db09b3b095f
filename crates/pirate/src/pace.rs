//! How fast to go so that so many bytes pass in a second.

/// A rate, and how much of it has been used up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    bytes_per_second: f64,
    /// When the next burst is due.
    due_ns: f64,
}

impl Pace {
    /// Beginning at `now_ns`.
    pub(crate) fn new(bytes_per_second: u64, now_ns: u64) -> Pace {
        Pace { bytes_per_second: bytes_per_second.max(1) as f64, due_ns: now_ns as f64 }
    }

    /// True if a burst is due.
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        now_ns as f64 >= self.due_ns
    }

    /// A burst of `bytes` began at `now_ns`. What could not be kept up with (the thread did not run, or memory is slower)
    /// is not caught up by more than one burst: that would be a stronger thief than was asked for.
    pub(crate) fn went(&mut self, bytes: u64, now_ns: u64) {
        let burst_ns = bytes as f64 / self.bytes_per_second * 1e9;
        self.due_ns = (self.due_ns + burst_ns).max(now_ns as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes that pass until `end_ns` in bursts that take `burst_ns` each.
    fn passed(bytes_per_second: u64, burst: u64, burst_ns: u64, end_ns: u64) -> u64 {
        let (mut now, mut bytes) = (0, 0);
        let mut pace = Pace::new(bytes_per_second, now);
        while now < end_ns {
            if pace.is_due(now) {
                pace.went(burst, now);
                bytes += burst;
                now += burst_ns;
            } else {
                now += 50;
            }
        }
        bytes
    }

    #[test]
    fn a_second_of_a_gigabyte_a_second_is_a_gigabyte() {
        let bytes = passed(1_000_000_000, 16 << 10, 2_000, 1_000_000_000) as f64;
        assert!((bytes / 1e9 - 1.0).abs() < 0.001, "{bytes}");
    }

    #[test]
    fn time_that_was_lost_is_not_caught_up() {
        let mut pace = Pace::new(1_000_000_000, 0);
        pace.went(1000, 0);
        assert!(!pace.is_due(999) && pace.is_due(1000));
        // A pause of a millisecond: the next burst is due, and the one after it at its distance.
        pace.went(1000, 1_000_000);
        assert!(pace.is_due(1_000_000));
        pace.went(1000, 1_000_000);
        assert!(!pace.is_due(1_000_500) && pace.is_due(1_001_000));
    }

    proptest! {
        #[test]
        fn never_more_passes_than_was_asked_for(rate in 1_000_000u64..50_000_000_000, burst in 64u64..100_000, burst_ns in 1u64..100_000) {
            let end = 10_000_000;
            let allowed = rate as f64 * end as f64 / 1e9 + 2.0 * burst as f64;
            prop_assert!(passed(rate, burst, burst_ns, end) as f64 <= allowed);
        }
    }
}
