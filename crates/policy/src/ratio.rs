//! Thresholds as exact numbers, so that what is at a threshold is decided alike everywhere.

use std::fmt;

/// A ratio in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(u32);

impl Ratio {
    /// So many thousandths.
    pub const fn thousandths(thousandths: u32) -> Self {
        Self(thousandths)
    }

    /// The nearest to a number; none if it is negative or too large.
    pub fn of(number: f64) -> Option<Self> {
        let thousandths = (number * 1000.0).round();
        (thousandths >= 0.0 && thousandths <= f64::from(u32::MAX)).then_some(Self(thousandths as u32))
    }

    /// As a number.
    pub fn get(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// `above / below > self`. With nothing below, everything is infinitely more and nothing is not.
    pub(crate) fn is_exceeded(self, above: u128, below: u128) -> bool {
        let (above, below) = within_range(above, below);
        above * 1000 > below * u128::from(self.0)
    }

    /// `above / below < self`.
    pub(crate) fn is_missed(self, above: u128, below: u128) -> bool {
        let (above, below) = within_range(above, below);
        above * 1000 < below * u128::from(self.0)
    }
}

/// The same two numbers, without their last bits where products with thousandths would not fit.
fn within_range(one: u128, other: u128) -> (u128, u128) {
    let excess = 32u32.saturating_sub((one | other).leading_zeros());
    (one >> excess, other >> excess)
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::Ratio;

    #[test]
    fn what_is_at_a_threshold_neither_exceeds_nor_misses_it() {
        let ratio = Ratio::thousandths(1200);
        assert!(!ratio.is_exceeded(120, 100) && !ratio.is_missed(120, 100));
        assert!(ratio.is_exceeded(121, 100) && ratio.is_missed(119, 100));
    }

    #[test]
    fn something_exceeds_nothing_and_nothing_does_not() {
        let ratio = Ratio::thousandths(1200);
        assert!(ratio.is_exceeded(1, 0));
        assert!(!ratio.is_exceeded(0, 0) && !ratio.is_missed(0, 0));
    }

    #[test]
    fn the_largest_numbers_are_compared_too() {
        let ratio = Ratio::thousandths(u32::MAX);
        assert!(!ratio.is_exceeded(u128::MAX, u128::MAX) && ratio.is_missed(u128::MAX, u128::MAX));
        assert!(Ratio::thousandths(999).is_exceeded(u128::MAX, u128::MAX));
    }

    #[test]
    fn numbers_become_thousandths() {
        assert_eq!(Ratio::of(1.2), Some(Ratio::thousandths(1200)));
        assert_eq!(Ratio::of(-1.0), None);
        assert_eq!(Ratio::of(f64::NAN), None);
        assert_eq!(Ratio::thousandths(800).to_string(), "0.8");
    }
}
