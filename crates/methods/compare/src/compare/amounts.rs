//! Differences of amounts that were measured once or several times on each side.

use holdup_model::Arrange;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// How sure an interval is.
const CONFIDENCE: f64 = 0.95;

/// An amount before and after. Whole nanoseconds or numbers; the mean where a side has several runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Change {
    /// The mean before.
    pub before: i64,
    /// The mean after.
    pub after: i64,
    /// The mean after less the mean before, which is exact up to the rounding of this number itself.
    pub difference: i64,
    /// The ends of the 95 % interval of the difference (Welch's t-test). `None` where each side has one run: one pair
    /// cannot tell a difference from noise.
    pub interval: Option<(i64, i64)>,
}

impl Change {
    /// The change from the amounts of the runs before, each times `scale` (a fraction), to those of the runs after.
    pub(crate) fn between(before: &[i64], after: &[i64], scale: Scale) -> Change {
        let (one, other) = (Sample::of(before), Sample::of(after));
        let by = i128::from(scale.times);
        let over = one.count.saturating_mul(i128::from(scale.over));
        let all = over.saturating_mul(other.count);
        let numerator = other
            .sum
            .saturating_mul(over)
            .saturating_sub(one.sum.saturating_mul(by).saturating_mul(other.count));
        let difference = rounded(numerator, all);
        let factor = f64::from(scale.times) / f64::from(scale.over);
        let half = half_width(one.scaled(factor), other);
        let exact = numerator as f64 / all as f64;
        Change {
            before: rounded(one.sum.saturating_mul(by), over),
            after: rounded(other.sum, other.count),
            difference,
            interval: half.map(|half| ((exact - half).round() as i64, (exact + half).round() as i64)),
        }
    }

    /// Whether the interval leaves no difference out of the question; `None` without an interval.
    pub fn is_beyond_noise(&self) -> Option<bool> {
        self.interval.map(|(low, high)| low > 0 || high < 0)
    }

    /// True where the difference may be none: its interval has 0, or it has no interval and is 0.
    pub fn may_be_none(&self) -> bool {
        self.is_beyond_noise().map_or(self.difference == 0, |beyond| !beyond)
    }
}

/// What amounts of the runs before are multiplied by: `times` / `over`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scale {
    pub(crate) times: u32,
    pub(crate) over: u32,
}

impl Scale {
    pub(crate) const NONE: Scale = Scale { times: 1, over: 1 };
}

/// Amounts of several runs, together.
#[derive(Clone, Copy, Debug)]
struct Sample {
    count: i128,
    sum: i128,
    /// The sample variance; `None` for one run.
    variance: Option<f64>,
}

impl Sample {
    fn of(amounts: &[i64]) -> Sample {
        let count = amounts.len().max(1) as i128;
        let sum: i128 = amounts.iter().copied().map(i128::from).sum();
        let mean = sum as f64 / count as f64;
        let mut ordered = amounts.to_vec();
        // So that the order of the runs makes no difference to the last bit.
        ordered.sort_unstable();
        let squares: f64 = ordered.iter().map(|&amount| (amount as f64 - mean).powi(2)).sum();
        Sample { count, sum, variance: (amounts.len() > 1).then(|| squares / (count - 1) as f64) }
    }

    fn scaled(self, factor: f64) -> Sample {
        Sample { variance: self.variance.map(|variance| variance * factor * factor), ..self }
    }
}

/// The nearest whole number, halves away from zero: swapping the sides turns the sign and nothing else.
fn rounded(numerator: i128, denominator: i128) -> i64 {
    let whole =
        (numerator.unsigned_abs() + denominator.unsigned_abs() / 2) / denominator.unsigned_abs().max(1);
    let whole = i64::try_from(whole).unwrap_or(i64::MAX);
    if numerator < 0 { -whole } else { whole }
}

/// Half the width of the 95 % interval of a difference of means. B. L. Welch: The generalization of "Student's" problem
/// when several different population variances are involved, Biometrika 34, 1947, with the degrees of freedom of
/// Welch and Satterthwaite. A side with one run is taken to scatter as the other one does; with one run on each side
/// nothing is known.
fn half_width(one: Sample, other: Sample) -> Option<f64> {
    let parts = |sample: Sample, variance: f64| variance / sample.count as f64;
    let (squared_error, freedom) = match (one.variance, other.variance) {
        (None, None) => return None,
        (Some(a), Some(b)) => {
            let (a, b) = (parts(one, a), parts(other, b));
            let weight = |part: f64, sample: Sample| part * part / (sample.count - 1) as f64;
            ((a + b), (a + b).powi(2) / (weight(a, one) + weight(b, other)))
        }
        (Some(variance), None) | (None, Some(variance)) => {
            (parts(one, variance) + parts(other, variance), (one.count.max(other.count) - 1) as f64)
        }
    };
    Some(if squared_error > 0.0 { squared_error.sqrt() * t(freedom) } else { 0.0 })
}

/// The mean and half the width of its 95 % interval (Student's t); no width for one value. At least one value.
pub(crate) fn mean_and_half_width(values: &[f64]) -> (f64, Option<f64>) {
    let mut ordered = values.to_vec();
    // So that the order of the runs makes no difference to the last bit.
    ordered.arrange_by(f64::total_cmp);
    let count = ordered.len() as f64;
    let mean = ordered.iter().sum::<f64>() / count;
    let half = (ordered.len() > 1).then(|| {
        let squares: f64 = ordered.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        if error > 0.0 { error * t(count - 1.0) } else { 0.0 }
    });
    (mean, half)
}

/// The quantile of Student's distribution for a two-sided interval.
fn t(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom.max(1.0))
        .map_or(f64::INFINITY, |distribution| distribution.inverse_cdf(0.5 + CONFIDENCE / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles from the table of W. S. Gosset ("Student"), as every textbook has it.
    #[test]
    fn quantiles_are_those_of_the_table() {
        for (freedom, quantile) in [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (10.0, 2.228), (30.0, 2.042)] {
            assert!((t(freedom) - quantile).abs() < 6e-4, "{freedom}: {}", t(freedom));
        }
    }

    /// By hand: means 20 and 30, variances 100 and 4, so the error is √(100/3 + 4/3) = 5.888 and there are
    /// (104/3)² / ((100/3)²/2 + (4/3)²/2) = 2.160 degrees of freedom, of which the quantile is 4.01.
    #[test]
    fn welch_by_hand() {
        let change = Change::between(&[10, 20, 30], &[28, 30, 32], Scale::NONE);
        assert_eq!((change.before, change.after, change.difference), (20, 30, 10));
        let (low, high) = change.interval.expect("three runs each");
        let half = 5.888 * t(2.160);
        assert_eq!((low, high), ((10.0 - half).round() as i64, (10.0 + half).round() as i64));
        assert!((half - 23.6).abs() < 0.2, "{half}");
        assert_eq!(change.is_beyond_noise(), Some(false));
    }

    #[test]
    fn one_pair_cannot_tell_noise() {
        let change = Change::between(&[10], &[30], Scale::NONE);
        assert_eq!((change.difference, change.interval, change.is_beyond_noise()), (20, None, None));
    }

    #[test]
    fn one_run_scatters_as_the_others_do() {
        // Variance 100: the error is √(100/3 + 100) = 11.547, the quantile for 2 degrees 4.303.
        let change = Change::between(&[10, 20, 30], &[100], Scale::NONE);
        assert_eq!(
            change.interval,
            Some(((80.0f64 - 49.683).round() as i64, (80.0f64 + 49.683).round() as i64))
        );
        assert_eq!(change.is_beyond_noise(), Some(true));
    }

    /// Five values with mean 10 and variance 2.5: 2.776 · √(2.5 / 5) = 1.963.
    #[test]
    fn a_mean_by_hand() {
        let (mean, half) = mean_and_half_width(&[8.0, 12.0, 9.0, 11.0, 10.0]);
        assert_eq!(mean, 10.0);
        assert!(half.is_some_and(|half| (half - 1.963).abs() < 1e-3), "{half:?}");
        assert_eq!(mean_and_half_width(&[4.0]), (4.0, None));
    }

    /// Normal values by the sum of twelve even ones, from a fixed seed (the constants of D. Knuth's MMIX).
    struct Normal(u64);

    impl Normal {
        fn next(&mut self, mean: f64, deviation: f64) -> i64 {
            let mut even = || {
                self.0 =
                    self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (self.0 >> 11) as f64 / (1u64 << 53) as f64
            };
            let sum: f64 = (0..12).map(|_| even()).sum();
            (mean + deviation * (sum - 6.0)).round() as i64
        }
    }

    /// Welch's degrees of freedom are estimates: where few runs scatter more than many, intervals hold a little less often.
    #[test]
    fn intervals_hold_about_as_often_as_they_say() {
        const TRIALS: usize = 4_000;
        let mut normal = Normal(1);
        for (before, after, deviations) in [(3, 3, (1.0, 1.0)), (5, 5, (1.0, 4.0)), (3, 6, (2.0, 1.0))] {
            let held = (0..TRIALS)
                .filter(|_| {
                    let old: Vec<i64> = (0..before).map(|_| normal.next(1e9, deviations.0 * 1e7)).collect();
                    let new: Vec<i64> = (0..after).map(|_| normal.next(1.02e9, deviations.1 * 1e7)).collect();
                    let interval = Change::between(&old, &new, Scale::NONE).interval;
                    interval.is_some_and(|(low, high)| (low..=high).contains(&20_000_000))
                })
                .count();
            let share = held as f64 / TRIALS as f64;
            assert!((0.92..0.985).contains(&share), "{before} and {after} runs: {share}");
        }
    }

    #[test]
    fn shares_of_the_amounts_before() {
        let change = Change::between(&[90, 110], &[30], Scale { times: 1, over: 4 });
        assert_eq!((change.before, change.after, change.difference), (25, 30, 5));
    }

    #[test]
    fn enormous_amounts_do_no_harm() {
        let change = Change::between(&[i64::MAX, i64::MAX, 0], &[0, i64::MAX], Scale { times: 3, over: 2 });
        assert!(change.after > 0);
    }
}
