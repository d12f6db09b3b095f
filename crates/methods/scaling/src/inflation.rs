//! How much more CPU time the same work takes where more threads are at it at once: memory, caches, shared cores.
//!
//! Work that takes one nanosecond on one core takes f(r) = 1 + a (r − 1)^q nanoseconds while r threads of the team work.
//! A run shows its CPU time by r, h(r); the work in it is Σ h(r) / f(r), and it is the same in all runs: a is what makes
//! these sums as equal as can be (least squares of their logarithms). q is 1 or 2, whichever fits better.

use std::collections::BTreeMap;

/// One run: CPU time (ns of all threads) by how many worked at once.
pub(super) type AtOnce = BTreeMap<u32, f64>;

/// The law that was found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Inflation {
    a: f64,
    q: i32,
    /// The root mean square of the logarithms' deviations: how far the runs are from having the same work.
    pub(super) deviation: f64,
}

/// CPU time does not grow more than that with each thread.
const STEEPEST: f64 = 16.0;

impl Inflation {
    /// More threads do not slow each other down.
    pub(super) const NONE: Inflation = Inflation { a: 0.0, q: 1, deviation: 0.0 };

    /// f(r).
    pub(super) fn at(&self, threads: f64) -> f64 {
        1.0 + self.a * (threads - 1.0).max(0.0).powi(self.q)
    }

    /// How much work a run did: Σ h(r) / f(r).
    fn work(&self, run: &AtOnce) -> f64 {
        run.iter().map(|(&threads, time)| time / self.at(f64::from(threads))).sum()
    }

    /// By how much work was inflated in a run on average.
    pub(super) fn of(&self, run: &AtOnce) -> f64 {
        let time: f64 = run.values().sum();
        let work = self.work(run);
        if work > 0.0 { time / work } else { 1.0 }
    }

    /// Fits the law to runs of the same work: the better exponent, and the other one. Both are [`Inflation::NONE`] where
    /// there are fewer than two runs with something in them.
    pub(super) fn fit(runs: &[AtOnce]) -> (Inflation, Inflation) {
        let runs: Vec<&AtOnce> = runs.iter().filter(|run| run.values().sum::<f64>() > 0.0).collect();
        if runs.len() < 2 {
            return (Inflation::NONE, Inflation::NONE);
        }
        let (linear, square) = (fit_exponent(&runs, 1), fit_exponent(&runs, 2));
        if square.deviation < 0.8 * linear.deviation { (square, linear) } else { (linear, square) }
    }
}

fn fit_exponent(runs: &[&AtOnce], q: i32) -> Inflation {
    let of = |a: f64| {
        let law = Inflation { a, q, deviation: 0.0 };
        let works: Vec<f64> = runs.iter().map(|run| law.work(run).max(f64::MIN_POSITIVE).ln()).collect();
        let mean = works.iter().sum::<f64>() / works.len() as f64;
        let squares = works.iter().map(|work| (work - mean).powi(2)).sum::<f64>();
        Inflation { deviation: (squares / works.len() as f64).sqrt(), ..law }
    };
    // A coarse search by magnitudes, then golden section around the best.
    let candidates = (0..=64).map(|step| if step == 0 { 0.0 } else { STEEPEST * 0.7f64.powi(64 - step) });
    let candidates: Vec<f64> = candidates.collect();
    let best = (0..candidates.len())
        .min_by(|&a, &b| of(candidates[a]).deviation.total_cmp(&of(candidates[b]).deviation))
        .unwrap_or(0);
    let mut low = candidates[best.saturating_sub(1)];
    let mut high = candidates[(best + 1).min(candidates.len() - 1)];
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    for _ in 0..80 {
        let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
        if of(left).deviation <= of(right).deviation { high = right } else { low = left }
    }
    let found = of((low + high) / 2.0);
    // No inflation unless it explains something.
    let none = of(0.0);
    if none.deviation <= found.deviation + 1e-6 { none } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(times: &[(u32, f64)]) -> AtOnce {
        times.iter().copied().collect()
    }

    #[test]
    fn a_known_law_is_found() {
        let law = Inflation { a: 0.13, q: 1, deviation: 0.0 };
        let inflated = |parts: &[(u32, f64)]| -> AtOnce {
            parts.iter().map(|&(threads, work)| (threads, work * law.at(f64::from(threads)))).collect()
        };
        let runs =
            [inflated(&[(1, 100.0)]), inflated(&[(1, 20.0), (2, 80.0)]), inflated(&[(2, 40.0), (4, 60.0)])];
        let (found, _) = Inflation::fit(&runs);
        assert_eq!(found.q, 1);
        assert!((found.a - 0.13).abs() < 1e-6, "{found:?}");
        assert!((found.at(8.0) - 1.91).abs() < 1e-5);
    }

    #[test]
    fn two_runs_tell_one_slope() {
        let (found, other) = Inflation::fit(&[run(&[(1, 100.0)]), run(&[(2, 120.0)])]);
        assert!((found.at(2.0) - 1.2).abs() < 1e-6 && (other.at(2.0) - 1.2).abs() < 1e-6);
        assert!((found.at(4.0) - 1.6).abs() < 1e-5 && (other.at(4.0) - 2.8).abs() < 1e-5);
        assert!((found.of(&run(&[(2, 120.0)])) - 1.2).abs() < 1e-6);
    }

    #[test]
    fn faster_work_or_too_little_data_is_no_inflation() {
        assert_eq!(Inflation::fit(&[run(&[(1, 100.0)]), run(&[(2, 90.0)])]).0.a, 0.0);
        assert_eq!(Inflation::fit(&[run(&[(1, 100.0)]), AtOnce::new()]).0, Inflation::NONE);
        assert_eq!(Inflation::NONE.of(&AtOnce::new()), 1.0);
    }
}
