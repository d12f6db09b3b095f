//! The faces of what became of budgets: terminal, JSON, JUnit, SARIF, and the workflow commands of GitHub.

mod github;
pub(crate) mod json;
mod junit;
mod sarif;
mod terminal;

pub use github::check_github;
pub use json::{CHECK_SCHEMA, check_json, check_json_text};
pub use junit::check_junit;
pub use sarif::check_sarif;
pub use terminal::render_check;

use holdup_compare::{Budget, Judged, Limited, Op, Place, Unit};
use holdup_model::Nanos;

use crate::Look;
use crate::numbers::{percent, time};

/// How text is shown where no terminal says how.
const PLAIN: Look = Look::plain(Look::WIDEST);

/// The source file of a place, named from the folder `root` if it is below it.
fn file_below<'a>(place: &'a Place, root: Option<&str>) -> Option<&'a str> {
    let file = place.file.as_deref()?;
    Some(root.and_then(|root| file.strip_prefix(root)?.strip_prefix('/')).unwrap_or(file))
}

/// A value in the unit of its budget: `3.1 %`, `2.4 s`, `0.72`.
fn shown(budget: &Budget, value: f64, look: Look) -> String {
    let minus = if value < 0.0 { if look.unicode { "−" } else { "-" } } else { "" };
    let size = value.abs();
    let text = match budget.unit {
        Unit::Share if budget.limited == Limited::Efficiency => format!("{size:.2}"),
        Unit::Share => percent(size),
        Unit::Time => time(Nanos::new(size.round() as u64), look),
        Unit::Plain => format!("{size:.2}"),
    };
    format!("{minus}{text}")
}

/// A value, with its interval where it has one.
fn shown_with_interval(budget: &Budget, judged: &Judged, look: Look) -> String {
    let value = shown(budget, judged.value, look);
    match judged.interval {
        Some((low, high)) => {
            format!("{value} ({} to {})", shown(budget, low, look), shown(budget, high, look))
        }
        None => value,
    }
}

/// `at most 5.0 %`.
fn limit(budget: &Budget, look: Look) -> String {
    let word = match budget.op {
        Op::AtMost => "at most",
        Op::Below => "below",
        Op::AtLeast => "at least",
        Op::Above => "above",
    };
    format!("{word} {}", shown(budget, budget.limit, look))
}

/// What a value is, in words: `costs`, `takes`.
fn is(limited: Limited) -> &'static str {
    match limited {
        Limited::Lock | Limited::Object | Limited::Finding | Limited::Cost => "costs",
        Limited::Site => "makes threads wait",
        Limited::Function => "has critical time of",
        Limited::Thread => "has a criticality of",
        Limited::Region => "takes",
        Limited::Wall | Limited::Cpu | Limited::Efficiency | Limited::Parallelism => "is",
        Limited::Regression => "grew by",
    }
}

/// One thing that exceeds its limit, as a sentence. Not escaped.
fn sentence(budget: &Budget, judged: &Judged) -> String {
    format!(
        "{} {} {}; allowed is {}.",
        told(judged),
        is(budget.limited),
        shown_with_interval(budget, judged, PLAIN),
        limit(budget, PLAIN)
    )
}

/// What is judged, and where it is.
fn told(judged: &Judged) -> String {
    match judged.place.as_ref().map(ToString::to_string) {
        Some(place) if place.starts_with(&judged.what) => place,
        Some(place) if !judged.what.contains(&place) => format!("{}, {place},", judged.what),
        _ => judged.what.clone(),
    }
}
