//! Errors of many predictions in two lines.

use std::fmt;

use crate::bench::measure::Spread;

/// `+1.4 %`, of a share.
pub(in crate::bench) fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// The median and the worst of errors, by absolute value, against what holdup wants of both.
pub(in crate::bench) fn summary(
    out: &mut impl fmt::Write,
    what: &str,
    errors: &[(String, f64)],
    (median_target, worst_target): (f64, f64),
) -> fmt::Result {
    let sizes: Vec<f64> = errors.iter().map(|(_, error)| error.abs()).collect();
    let Some(spread) = Spread::of(sizes) else { return Ok(()) };
    let verdict = |error: f64, target: f64| match error <= target {
        true => format!("at most {:.0} %: met", target * 100.0),
        false => format!("at most {:.0} %: missed by {:.1}", target * 100.0, (error - target) * 100.0),
    };
    writeln!(
        out,
        "{what}: median error of {} {:.1} % ({})",
        errors.len(),
        spread.median * 100.0,
        verdict(spread.median, median_target)
    )?;
    let worst = errors.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let Some((name, error)) = worst else { return Ok(()) };
    writeln!(
        out,
        "{what}: worst error {} at {name} ({})",
        percent(*error),
        verdict(spread.most, worst_target)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_worst_are_by_size_and_have_verdicts() {
        let errors = [("a", 0.01), ("b", -0.2), ("c", 0.03)].map(|(name, error)| (name.to_owned(), error));
        let mut told = String::new();
        summary(&mut told, "changed", &errors, (0.03, 0.15)).expect("a String takes all");
        assert_eq!(
            told,
            "changed: median error of 3 3.0 % (at most 3 %: met)\n\
             changed: worst error -20.0 % at b (at most 15 %: missed by 5.0)\n"
        );
        told.clear();
        summary(&mut told, "changed", &[], (0.03, 0.15)).expect("a String takes all");
        assert_eq!(told, "");
    }
}
