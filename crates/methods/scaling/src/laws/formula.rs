//! A fitted law for people: its formula, and its parameters with their intervals.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::super::{LawKind, LawParameter};
use super::Point;
use super::choice::{Candidate, relative_rows};
use super::family::{Law, MOST_TERMS};
use super::least_squares::{Row, Solver, dot};

/// The probability below the upper end of a 95 % interval.
const UPPER: f64 = 0.975;

/// The law with these coefficients (ns).
pub(super) fn words(law: &Law, coefficients: &Row) -> String {
    let [shared, constant, others] = *coefficients;
    let alone = shared + constant;
    match law.kind {
        LawKind::Amdahl if alone > 0.0 => {
            let serial = constant / alone;
            format!("T(n) = {} · ({} + {} / n)", time(alone), number(serial), number(1.0 - serial))
        }
        LawKind::Usl if alone > 0.0 => {
            let (contention, crosstalk) = (number(constant / alone), number(others / alone));
            format!("T(n) = {} · (1 + {contention}·(n − 1) + {crosstalk}·n·(n − 1)) / n", time(alone))
        }
        _ => {
            let terms = law.terms.iter().zip(coefficients).filter(|(_, coefficient)| **coefficient > 0.0);
            let terms = terms.map(|(term, &coefficient)| {
                let term = term.to_string();
                match term.strip_prefix("1 / ") {
                    Some(below) => format!("{} / {below}", time(coefficient)),
                    None if term == "1" => time(coefficient),
                    None => format!("{} · {term}", time(coefficient)),
                }
            });
            format!("T(n) = {}", terms.collect::<Vec<_>>().join(" + "))
        }
    }
}

/// A time in ns with a fitting unit and three digits.
fn time(nanos: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (unit, name) = units.into_iter().find(|(unit, _)| nanos >= *unit).unwrap_or((1.0, "ns"));
    format!("{} {name}", number(nanos / unit))
}

/// A number with three significant digits; those that are too small for a fraction in scientific notation.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.2e}");
    let exponent = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    match exponent {
        Some(exponent @ -4..) => format!("{value:.*}", usize::try_from(2 - exponent).unwrap_or(0)),
        _ => scientific,
    }
}

/// What parameter a coefficient or a ratio of them is: its name, its value, its derivatives by the coefficients, and the
/// most it can be.
struct Parameter {
    name: String,
    value: f64,
    gradient: Row,
    most: f64,
}

/// The parameters of a fitted law: T(1) and the coefficients of the normal form (ns), Amdahl's s and the universal law's σ
/// and κ (numbers). Their intervals are value ± t · standard error, by the linear propagation of the coefficients'
/// covariance (σ² (XᵀWX)⁻¹), with Student's t for as many degrees of freedom as the noise was found from; none is
/// negative.
pub(super) fn parameters(candidate: &Candidate, points: &[Point]) -> Vec<LawParameter> {
    let law = &candidate.law;
    let coefficients = candidate.fit.coefficients;
    let solver = Solver::new(relative_rows(law, points), law.terms.len());
    let all = (1u8 << law.terms.len().min(MOST_TERMS)) - 1;
    let used = coefficients.iter().enumerate().filter(|(_, value)| **value > 0.0);
    let used = used.fold(0u8, |used, (term, _)| used | 1 << term);
    let covariance = solver.covariance(all).or_else(|| solver.covariance(used));
    let quantile =
        StudentsT::new(0.0, 1.0, candidate.noise.weight).map_or(f64::NAN, |t| t.inverse_cdf(UPPER));
    let meaning = match law.kind {
        LawKind::Amdahl | LawKind::Usl => ratios(law.kind, &coefficients),
        LawKind::NormalForm => absolute(law, &coefficients),
    };
    let intervals = meaning.into_iter().map(|parameter| {
        let gradient = &parameter.gradient;
        let variance = covariance
            .map_or(f64::NAN, |covariance| dot(gradient, &covariance.map(|row| dot(&row, gradient))));
        let half = quantile * (variance * candidate.noise.variance).sqrt();
        // A half that is not a number (coefficients that cannot be told apart) leaves everything possible.
        let half = if half.is_finite() { half } else { f64::MAX };
        LawParameter {
            name: parameter.name,
            value: parameter.value,
            low: (parameter.value - half).max(0.0),
            high: (parameter.value + half).min(parameter.most),
        }
    });
    intervals.collect()
}

fn ratios(kind: LawKind, &[shared, constant, others]: &Row) -> Vec<Parameter> {
    let alone = shared + constant;
    let by = alone.max(f64::MIN_POSITIVE);
    let whole =
        Parameter { name: "T(1)".to_owned(), value: alone, gradient: [1.0, 1.0, 0.0], most: f64::MAX };
    let serial = Parameter {
        name: if kind == LawKind::Amdahl { "s" } else { "σ" }.to_owned(),
        value: constant / by,
        gradient: [-constant / (by * by), shared / (by * by), 0.0],
        most: 1.0,
    };
    let crosstalk = Parameter {
        name: "κ".to_owned(),
        value: others / by,
        gradient: [-others / (by * by), -others / (by * by), 1.0 / by],
        most: f64::MAX,
    };
    let count = if kind == LawKind::Amdahl { 2 } else { 3 };
    [whole, serial, crosstalk].into_iter().take(count).collect()
}

fn absolute(law: &Law, coefficients: &Row) -> Vec<Parameter> {
    let terms = law.terms.iter().zip(coefficients).enumerate();
    let parameters = terms.map(|(term, (name, &value))| {
        let mut gradient = [0.0; MOST_TERMS];
        gradient[term] = 1.0;
        Parameter { name: format!("c of {name}"), value, gradient, most: f64::MAX }
    });
    parameters.collect()
}
