//! When a number of threads was run often enough.

use holdup_model::Nanos;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Runs of one number of threads, by default: at least and at most.
const LEAST: usize = 2;
const MOST: usize = 5;
/// Runs shorter than this scatter more, and one more costs little.
const SHORT: Nanos = Nanos::new(1_000_000_000);
const LEAST_SHORT: usize = 3;
/// How well the mean wall time is to be known: half of its 95 % interval, as a share of it.
const PRECISE: f64 = 0.02;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    /// After so many runs of each number of threads.
    Runs(usize),
    /// When the mean is known well enough, or after the most runs, or when all runs together took so many seconds.
    TimeLimit(f64),
}

/// What the rule says about a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Once more.
    More,
    /// As often as was asked for.
    Asked,
    /// The mean is known well enough.
    Precise,
    /// As often as it is run at most.
    Most,
    /// All runs together took as long as they may.
    TimeIsUp,
}

impl Rule {
    /// About a number of threads whose runs took `walls`, when all runs of all numbers took `spent`. Each number of
    /// threads is run once, whatever that takes.
    pub(crate) fn verdict(self, walls: &[Nanos], spent: Nanos) -> Verdict {
        let runs = walls.len();
        let limit = match self {
            Rule::Runs(times) => return if runs < times { Verdict::More } else { Verdict::Asked },
            Rule::TimeLimit(seconds) => seconds,
        };
        let is_short = mean(walls) < SHORT.get() as f64;
        let least = if is_short { LEAST_SHORT } else { LEAST };
        match runs {
            0 => Verdict::More,
            _ if runs >= least && half_width(walls).is_some_and(|width| width <= PRECISE) => Verdict::Precise,
            _ if runs >= MOST => Verdict::Most,
            _ if spent.seconds() >= limit => Verdict::TimeIsUp,
            _ => Verdict::More,
        }
    }

    /// The rule, as a sentence.
    pub(crate) fn sentence(self) -> String {
        match self {
            Rule::Runs(1) => "Each number of threads was run once.".to_owned(),
            Rule::Runs(times) => format!("Each number of threads was run {times} times."),
            Rule::TimeLimit(seconds) => format!(
                "Each number of threads was run {LEAST} to {MOST} times ({LEAST_SHORT} to {MOST} if a run takes less than a \
                 second), until the mean wall time was known to {} %, and none again once all runs took {seconds} s.",
                PRECISE * 100.0
            ),
        }
    }
}

impl Verdict {
    /// Why it was not run again; nothing where that goes without saying.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Verdict::Asked | Verdict::Precise => "",
            Verdict::Most => ", the most runs",
            Verdict::TimeIsUp => ", the time was up",
            Verdict::More => ", not finished",
        }
    }
}

fn mean(walls: &[Nanos]) -> f64 {
    walls.iter().map(|wall| wall.get() as f64).sum::<f64>() / walls.len().max(1) as f64
}

/// Half of the 95 % interval of the mean, as a share of the mean: t₀.₉₇₅(n − 1) · s / √n / mean (Student's t). `None`
/// where it is not known: of a single run, or where the times are 0.
pub(crate) fn half_width(walls: &[Nanos]) -> Option<f64> {
    let (count, mean) = (walls.len() as f64, mean(walls));
    if walls.len() < 2 || mean <= 0.0 {
        return None;
    }
    let squares = walls.iter().map(|wall| (wall.get() as f64 - mean).powi(2)).sum::<f64>();
    let deviation = (squares / (count - 1.0)).sqrt();
    let quantile = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(0.975);
    Some(quantile * deviation / count.sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Rule = Rule::TimeLimit(f64::INFINITY);

    fn walls(milliseconds: &[u64]) -> Vec<Nanos> {
        milliseconds.iter().map(|&wall| Nanos::new(wall * 1_000_000)).collect()
    }

    fn verdict(rule: Rule, milliseconds: &[u64], spent: u64) -> Verdict {
        rule.verdict(&walls(milliseconds), Nanos::new(spent * 1_000_000_000))
    }

    /// By hand: mean 100, s = √((4 + 4 + 0) / 2) = 2, t(2) = 4.303: 4.303 · 2 / √3 / 100 = 4.968 %.
    #[test]
    fn the_interval_is_that_of_student() {
        let width = half_width(&walls(&[98, 102, 100])).unwrap();
        assert!((width - 0.049_68).abs() < 1e-5, "{width}");
        assert_eq!(half_width(&walls(&[100])), None);
        assert_eq!(half_width(&walls(&[0, 0])), None);
        assert_eq!(half_width(&walls(&[7, 7, 7])), Some(0.0));
    }

    #[test]
    fn runs_are_repeated_until_the_mean_is_known() {
        assert_eq!(verdict(NEVER, &[], 0), Verdict::More);
        assert_eq!(verdict(NEVER, &[5000], 0), Verdict::More);
        // 12.706 · 7.07 / √2 / 5005 = 1.3 %.
        assert_eq!(verdict(NEVER, &[5000, 5010], 0), Verdict::Precise);
        assert_eq!(verdict(NEVER, &[5000, 5100], 0), Verdict::More);
        assert_eq!(verdict(NEVER, &[500, 500], 0), Verdict::More);
        assert_eq!(verdict(NEVER, &[500, 500, 501], 0), Verdict::Precise);
        assert_eq!(verdict(NEVER, &[5000, 6000, 7000, 5500], 0), Verdict::More);
        assert_eq!(verdict(NEVER, &[5000, 6000, 7000, 5500, 6500], 0), Verdict::Most);
    }

    #[test]
    fn the_time_limit_stops_repetitions_and_not_first_runs() {
        let rule = Rule::TimeLimit(60.0);
        assert_eq!(verdict(rule, &[], 1000), Verdict::More);
        assert_eq!(verdict(rule, &[70_000], 70), Verdict::TimeIsUp);
        assert_eq!(verdict(rule, &[5000, 6000], 59), Verdict::More);
        assert_eq!(verdict(rule, &[5000, 6000], 60), Verdict::TimeIsUp);
        assert_eq!(verdict(rule, &[5000, 5000], 60), Verdict::Precise);
    }

    #[test]
    fn a_fixed_number_of_runs_is_what_it_says() {
        assert_eq!(verdict(Rule::Runs(2), &[5000], 1000), Verdict::More);
        assert_eq!(verdict(Rule::Runs(2), &[5000, 9000], 0), Verdict::Asked);
    }
}
