//! What became of budgets, as JSON: `docs/json-schema/check.schema.json` says what each member means.

use holdup_compare::{Judged, Op, Unit, Verdict};
use serde::Serialize;
use serde_json::Value;

use crate::json::{place_of, printed, value};
use crate::schema::Place;

/// The version of the JSON that [`check_json`] gives. It grows only where a member changes its meaning; members may be
/// added at any time.
pub const CHECK_SCHEMA: u32 = 1;

/// Whether recordings keep to budgets. Schema 1: members may be added, none is taken away and none changes its meaning.
/// Names are as the program gave them: escape them where they are shown.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "holdup check --format json"))]
pub(crate) struct Check<'a> {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = CHECK_SCHEMA)))]
    schema: u32,
    /// The version of holdup that wrote this.
    holdup: &'static str,
    /// Whether all budgets are held: the command's status is then 0, else 1.
    holds: bool,
    budgets: Vec<JudgedBudget<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JudgedBudget<'a> {
    /// As it was written.
    budget: &'a str,
    /// What it limits.
    #[cfg_attr(test, schemars(extend("enum" = holdup_compare::Limited::words())))]
    subject: &'static str,
    /// The name or pattern; null for what has none.
    name: Option<String>,
    #[serde(with = "OpWord")]
    op: Op,
    /// In the unit.
    #[cfg_attr(test, schemars(range(min = 0.0)))]
    limit: f64,
    #[serde(with = "UnitWord")]
    unit: Unit,
    holds: bool,
    /// What was held against the limit, the greatest excess first; empty where nothing has the name.
    judged: Vec<JudgedThing<'a>>,
    /// What to keep in mind, a sentence each.
    notes: &'a [String],
}

/// How a value is held against a limit.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "Op")]
enum OpWord {
    #[serde(rename = "<=")]
    AtMost,
    #[serde(rename = "<")]
    Below,
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = ">")]
    Above,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "Unit")]
enum UnitWord {
    /// Of the wall time (of the baseline's, for a regression); 1 is all of it.
    #[serde(rename = "share")]
    Share,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Time,
    /// A number without a unit.
    #[serde(rename = "number")]
    Plain,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JudgedThing<'a> {
    /// What was held against the limit.
    what: &'a str,
    /// Where to look; what is not known is null.
    #[serde(rename = "where")]
    place: Place,
    /// In the unit of the budget; the mean of several recordings.
    value: f64,
    /// The low end of the value's 95 % interval; null for one recording (for a regression: for one on each side).
    low: Option<f64>,
    /// Its high end.
    high: Option<f64>,
    holds: bool,
}

/// All verdicts as a value of the schema in `docs/json-schema/check.schema.json`. Names are as the program gave them.
pub fn check_json(verdicts: &[Verdict]) -> Value {
    let check = Check {
        schema: CHECK_SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        holds: verdicts.iter().all(Verdict::holds),
        budgets: verdicts.iter().map(judged_budget).collect(),
    };
    value(check)
}

/// [`check_json`] as text, indented, safe to print, with a line break at its end.
pub fn check_json_text(verdicts: &[Verdict]) -> String {
    printed(&check_json(verdicts))
}

fn judged_budget(verdict: &Verdict) -> JudgedBudget<'_> {
    let budget = &verdict.budget;
    JudgedBudget {
        budget: &budget.text,
        subject: budget.limited.word(),
        name: budget.pattern.as_ref().map(ToString::to_string),
        op: budget.op,
        limit: budget.limit,
        unit: budget.unit,
        holds: verdict.holds(),
        judged: verdict.judged.iter().map(judged_thing).collect(),
        notes: &verdict.notes,
    }
}

fn judged_thing(judged: &Judged) -> JudgedThing<'_> {
    JudgedThing {
        what: &judged.what,
        place: place_of(judged.place.as_ref()),
        value: judged.value,
        low: judged.interval.map(|(low, _)| low),
        high: judged.interval.map(|(_, high)| high),
        holds: judged.holds,
    }
}
