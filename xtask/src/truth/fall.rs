//! Whether a rate fell, or chance has it so.
//!
//! Both the rate of reference and the new one are of few runs. Fisher's exact test (R. A. Fisher, *Statistical Methods for
//! Research Workers*, section 21.02), one-sided, says how probable so few right answers are among the new runs if both
//! have the same rate: given how many of all runs together were right, the number among the new ones is hypergeometric.
//!
//! Hundreds of rates are compared at once, of which some look bad by chance. The procedure of Y. Benjamini and Y. Hochberg
//! (*Controlling the False Discovery Rate*, J. R. Statist. Soc. B 57, 1995, section 3.1) bounds the expected share of false
//! alarms among the falls at [`FALSE_ALARMS`].

use super::rates::{NAMES, Rate, Row};

/// The expected share of false alarms among what is called a fall.
const FALSE_ALARMS: f64 = 0.05;
/// What is less probable than this is worth more runs, though it may be chance.
const SUSPICIOUS: f64 = 0.05;

/// A rate that is lower than that of reference.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fall {
    /// The row, and which of its rates.
    pub(super) what: String,
    pub(super) before: Rate,
    pub(super) now: Rate,
    /// How probable so few are if nothing changed.
    pub(super) p: f64,
    /// False where it may be chance, and more runs would say.
    pub(super) is_sure: bool,
}

/// All rates that fell, or may have. Rows that are not in both are not compared. The sums over all rows that were measured
/// both times are compared too: what falls a little everywhere shows there.
pub(super) fn falls(reference: &[Row], now: &[Row]) -> Vec<Fall> {
    let mut compared = Vec::new();
    let mut sums = [(Rate::default(), Rate::default()); NAMES.len()];
    for row in now {
        let Some(before) = reference.iter().find(|before| before.name == row.name) else { continue };
        for (at, name) in NAMES.iter().enumerate() {
            let (before, now) = (before.rates[at], row.rates[at]);
            if before.of > 0 && now.of > 0 {
                compared.push(fall(format!("{}: {name}", row.name), before, now));
                sums[at] = (sums[at].0.and(before), sums[at].1.and(now));
            }
        }
    }
    if now.len() > 1 {
        let of_all = NAMES.iter().zip(sums).filter(|(_, (before, _))| before.of > 0);
        compared.extend(of_all.map(|(name, (before, now))| fall(format!("all: {name}"), before, now)));
    }
    compared.sort_by(|one, other| one.p.total_cmp(&other.p));
    let many = compared.len() as f64;
    let sure =
        (1..=compared.len()).rev().find(|rank| compared[rank - 1].p <= *rank as f64 / many * FALSE_ALARMS);
    for (index, fall) in compared.iter_mut().enumerate() {
        fall.is_sure = sure.is_some_and(|sure| index < sure);
    }
    compared.retain(|fall| fall.now.share() < fall.before.share() && (fall.is_sure || fall.p < SUSPICIOUS));
    compared
}

fn fall(what: String, before: Rate, now: Rate) -> Fall {
    Fall { what, before, now, p: probability(before, now), is_sure: false }
}

/// The probability of at most `now.right` right answers among the new runs if all have the same rate.
fn probability(before: Rate, now: Rate) -> f64 {
    let (all, right) = (before.of + now.of, before.right + now.right);
    let wrong = all - right;
    let least = now.of.saturating_sub(wrong);
    let of = |count: u64| {
        let ways = choose(right, count) + choose(wrong, now.of - count) - choose(all, now.of);
        ways.exp()
    };
    (least..=now.right).map(of).sum::<f64>().min(1.0)
}

/// The logarithm of the number of ways to choose `some` of `all`.
fn choose(all: u64, some: u64) -> f64 {
    let factorial = |number: u64| (2..=number).map(|factor| (factor as f64).ln()).sum::<f64>();
    factorial(all) - factorial(some) - factorial(all - some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(right: u64, of: u64) -> Rate {
        Rate { right, of }
    }

    fn row(name: &str, first: Rate) -> Row {
        let mut row = Row { name: name.to_owned(), ..Row::default() };
        row.rates[0] = first;
        row
    }

    /// Counted by hand: of the 184,756 ways to choose the ten new ones among 20 runs, 3,003 have five of fifteen right ones and
    /// all wrong ones; the fourth is the tea-tasting lady of Fisher's *The Design of Experiments*, chapter II.
    #[test]
    fn the_probability_is_fishers() {
        for (before, now, expected) in [
            (rate(10, 10), rate(5, 10), 3_003.0 / 184_756.0),
            (rate(10, 10), rate(10, 10), 1.0),
            (rate(10, 10), rate(0, 10), 1.0 / 184_756.0),
            (rate(3, 4), rate(1, 4), 17.0 / 70.0),
            (rate(0, 10), rate(0, 10), 1.0),
        ] {
            let p = probability(before, now);
            assert!((p - expected).abs() < 1e-9, "{before} {now}: {p}, not {expected}");
        }
    }

    #[test]
    fn what_is_hardly_lower_is_chance() {
        let falls = falls(&[row("a", rate(10, 10))], &[row("a", rate(9, 10))]);
        assert_eq!(falls, []);
    }

    #[test]
    fn a_row_that_is_never_right_any_more_fell() {
        let names: Vec<String> = (0..40).map(|number| format!("row {number}")).collect();
        let before: Vec<Row> = names.iter().map(|name| row(name, rate(10, 10))).collect();
        let mut now = before.clone();
        now[7].rates[0] = rate(0, 10);
        now[8].rates[0] = rate(6, 10);
        let falls = falls(&before, &now);
        assert_eq!((falls[0].what.as_str(), falls[0].is_sure), ("row 7: first, quiet", true));
        let chance: Vec<&Fall> = falls.iter().filter(|fall| !fall.is_sure).collect();
        assert!(chance.iter().any(|fall| fall.what.starts_with("row 8")), "{falls:?}");
    }

    #[test]
    fn a_little_everywhere_shows_in_the_sum() {
        let names: Vec<String> = (0..40).map(|number| format!("row {number}")).collect();
        let before: Vec<Row> = names.iter().map(|name| row(name, rate(10, 10))).collect();
        let now: Vec<Row> = names.iter().map(|name| row(name, rate(9, 10))).collect();
        let falls = falls(&before, &now);
        let sure: Vec<&str> =
            falls.iter().filter(|fall| fall.is_sure).map(|fall| fall.what.as_str()).collect();
        assert_eq!(sure, ["all: first, quiet"]);
    }

    #[test]
    fn only_what_was_measured_both_times_is_compared() {
        let falls = falls(
            &[row("a", rate(10, 10)), row("b", rate(0, 0))],
            &[row("c", rate(0, 10)), row("b", rate(0, 10))],
        );
        assert_eq!(falls, []);
    }

    /// Equal rates are called a fall in hardly any of many comparisons.
    #[test]
    fn chance_raises_no_alarm() {
        let mut state = 7_u64;
        let mut draw = || {
            let mut right = 0;
            for _ in 0..10 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                right += u64::from((state >> 33) % 10 < 8);
            }
            rate(right, 10)
        };
        let mut alarms = 0;
        for _ in 0..100 {
            let names: Vec<String> = (0..50).map(|number| format!("row {number}")).collect();
            let before: Vec<Row> = names.iter().map(|name| row(name, draw())).collect();
            let now: Vec<Row> = names.iter().map(|name| row(name, draw())).collect();
            alarms += u32::from(falls(&before, &now).iter().any(|fall| fall.is_sure));
        }
        assert!(alarms <= 10, "{alarms} of 100 measurements with equal rates");
    }
}
