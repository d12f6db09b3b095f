//! Points in time and lengths of time, both in integer nanoseconds.

use std::cmp::Ordering;
use std::fmt;
use std::iter::Sum;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::figures::figure;

/// A point in time: nanoseconds since the zero of the recording.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

/// A length of time in nanoseconds, of 584 years less one at most. An `Option` of one takes no more room than it does: there
/// are several for each wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nanos {
    /// The complement of the length, which is 0 for none.
    not: NonZeroU64,
}

impl Time {
    /// The point `nanos` nanoseconds after the zero of the recording.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the zero of the recording.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this point; zero where `earlier` is later.
    pub const fn since(self, earlier: Time) -> Nanos {
        Nanos::new(self.0.saturating_sub(earlier.0))
    }
}

impl Nanos {
    /// Two lengths of time as the ends of a range, the unit once where it is the same: `442 to 664 ms`.
    pub fn range(low: Self, high: Self) -> String {
        let [low, high] = [low, high].map(|end| end.to_string());
        match (low.rsplit_once(' '), high.rsplit_once(' ')) {
            (Some(("0", _)), _) => format!("0 to {high}"),
            (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
            _ => format!("{low} to {high}"),
        }
    }

    /// No time at all.
    pub const ZERO: Nanos = Nanos::new(0);
    /// No process runs for longer: 104 days. Where one seems to, its times are damaged, and their sums over threads might be no
    /// numbers.
    pub const LONGEST_RUN: Nanos = Nanos::new(1 << 53);

    /// A length of `nanos` nanoseconds.
    pub const fn new(nanos: u64) -> Self {
        let not = match NonZeroU64::new(!nanos) {
            Some(not) => not,
            None => NonZeroU64::MIN,
        };
        Self { not }
    }

    /// The length in nanoseconds.
    pub const fn get(self) -> u64 {
        !self.not.get()
    }

    /// The length in seconds.
    pub fn seconds(self) -> f64 {
        self.get() as f64 * 1e-9
    }

    /// The difference, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos::new(self.get().saturating_sub(other.get()))
    }

    /// This length as a share of `whole`; 0 where `whole` is zero.
    pub fn share_of(self, whole: Nanos) -> f64 {
        if whole.get() == 0 { 0.0 } else { self.get() as f64 / whole.get() as f64 }
    }
}

impl Add<Nanos> for Time {
    type Output = Time;
    fn add(self, rhs: Nanos) -> Time {
        Time(self.0.saturating_add(rhs.get()))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, rhs: Nanos) -> Nanos {
        Nanos::new(self.get().saturating_add(rhs.get()))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, rhs: Nanos) {
        *self = *self + rhs;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, rhs: Nanos) -> Nanos {
        Nanos::new(self.get() - rhs.get())
    }
}

impl SubAssign for Nanos {
    fn sub_assign(&mut self, rhs: Nanos) {
        *self = *self - rhs;
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(iter: I) -> Nanos {
        iter.fold(Nanos::ZERO, Add::add)
    }
}

impl Default for Nanos {
    fn default() -> Nanos {
        Nanos::ZERO
    }
}

impl Ord for Nanos {
    fn cmp(&self, other: &Nanos) -> Ordering {
        self.get().cmp(&other.get())
    }
}

impl PartialOrd for Nanos {
    fn partial_cmp(&self, other: &Nanos) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Nanos").field(&self.get()).finish()
    }
}

impl fmt::Display for Nanos {
    /// Two or three significant digits with a unit: `12.4 s`, `3.1 ms`, `870 ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 3] = [(1e3, "µs"), (1e6, "ms"), (1e9, "s")];
        let nanos = self.get();
        if nanos < 1_000 {
            return write!(f, "{nanos} ns");
        }
        // A value that rounds up to 1000 of its unit is shown in the next one.
        let fits = |(scale, _): &&(f64, &str)| nanos as f64 / scale < 999.5;
        let (scale, unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[2]);
        write!(f, "{} {unit}", figure(nanos as f64 / scale))
    }
}

/// How much of the time between two moments lies in these spans, which do not overlap and are in order.
pub(crate) fn within(spans: &[(Time, Time)], begin: Time, end: Time) -> Nanos {
    let first = spans.partition_point(|span| span.1 <= begin);
    let inside = spans[first..].iter().take_while(|span| span.0 < end);
    inside.map(|span| span.1.min(end).since(span.0.max(begin))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_two_or_three_digits() {
        let shown = |nanos| Nanos::new(nanos).to_string();
        assert_eq!(shown(0), "0 ns");
        assert_eq!(shown(999), "999 ns");
        assert_eq!(shown(1_049), "1.0 µs");
        assert_eq!(shown(999_400), "999 µs");
        assert_eq!(shown(999_700), "1.0 ms");
        assert_eq!(shown(5_100_000_000), "5.1 s");
        assert_eq!(shown(12_437_000_000), "12.4 s");
        assert_eq!(shown(4_000_000_000_000), "4000 s");
    }

    #[test]
    fn lengths_have_their_order_and_no_room_for_none() {
        let lengths = [0, 1, 2, 1 << 53, u64::MAX - 1].map(Nanos::new);
        assert!(lengths.is_sorted() && lengths.map(Nanos::get) == [0, 1, 2, 1 << 53, u64::MAX - 1]);
        assert_eq!(Nanos::new(u64::MAX), lengths[4]);
        assert_eq!((Nanos::default(), size_of::<Option<Nanos>>()), (Nanos::ZERO, 8));
        assert!(None < Some(Nanos::ZERO));
    }

    #[test]
    fn time_before_counts_as_none() {
        assert_eq!(Time::from_nanos(3).since(Time::from_nanos(5)), Nanos::ZERO);
    }
}
