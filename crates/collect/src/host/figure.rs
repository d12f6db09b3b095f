//! A number from many measurements.

use holdup_model::Arrange;
use std::time::Instant;

/// A number that was measured many times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// What was measured when nothing disturbed: the least of times, the greatest of rates.
    pub best: f64,
    /// The median.
    pub median: f64,
}

impl Figure {
    /// Of times: the least is the best.
    pub(super) fn of_times(times: Vec<f64>) -> Figure {
        Figure::sorted(times, |a, b| a.total_cmp(b))
    }

    /// Of rates: the greatest is the best.
    pub(super) fn of_rates(rates: Vec<f64>) -> Figure {
        Figure::sorted(rates, |a, b| b.total_cmp(a))
    }

    fn sorted(mut all: Vec<f64>, order: impl Fn(&f64, &f64) -> std::cmp::Ordering) -> Figure {
        all.retain(|number| number.is_finite());
        all.arrange_by(order);
        let (best, median) =
            (all.first().copied().unwrap_or_default(), all.get(all.len() / 2).copied().unwrap_or_default());
        Figure { best, median }
    }

    /// Both numbers times a factor.
    pub(super) fn times(self, factor: f64) -> Figure {
        Figure { best: self.best * factor, median: self.median * factor }
    }

    /// How much greater or less the median is than the best, as a share of it: 0 on a quiet machine.
    pub fn spread(self) -> f64 {
        if self.best == 0.0 { 0.0 } else { (self.median / self.best - 1.0).abs() }
    }
}

/// Nanoseconds of one of `steps` steps: `work` does them all, and is called `rounds` times after a first time that does not
/// count.
pub(super) fn time(rounds: u32, steps: u64, mut work: impl FnMut()) -> Figure {
    work();
    let one = |_| {
        let begin = Instant::now();
        work();
        begin.elapsed().as_nanos() as f64 / steps.max(1) as f64
    };
    Figure::of_times((0..rounds).map(one).collect())
}
