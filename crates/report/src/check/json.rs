//! What became of budgets, as JSON: `docs/json-schema/check.schema.json` says what each member means.

use holdup_compare::{Op, Unit, Verdict};
use serde_json::{Value, json};

use crate::json::{place_of, printed};

/// The version of the JSON that [`check_json`] gives. It grows only where a member changes its meaning; members may be
/// added at any time.
pub const CHECK_SCHEMA: u32 = 1;

/// All verdicts as a value of the schema in `docs/json-schema/check.schema.json`. Names are as the program gave them.
pub fn check_json(verdicts: &[Verdict]) -> Value {
    let budgets: Vec<Value> = verdicts
        .iter()
        .map(|verdict| {
            let judged: Vec<Value> = verdict
                .judged
                .iter()
                .map(|judged| {
                    json!({
                        "what": judged.what,
                        "where": place_of(judged.place.as_ref()),
                        "value": judged.value,
                        "low": judged.interval.map(|(low, _)| low),
                        "high": judged.interval.map(|(_, high)| high),
                        "holds": judged.holds,
                    })
                })
                .collect();
            let budget = &verdict.budget;
            json!({
                "budget": budget.text,
                "subject": budget.limited.word(),
                "name": budget.pattern.as_ref().map(|pattern| pattern.to_string()),
                "op": match budget.op {
                    Op::AtMost => "<=",
                    Op::Below => "<",
                    Op::AtLeast => ">=",
                    Op::Above => ">",
                },
                "limit": budget.limit,
                "unit": match budget.unit {
                    Unit::Share => "share",
                    Unit::Time => "ns",
                    Unit::Plain => "number",
                },
                "holds": verdict.holds(),
                "judged": judged,
                "notes": verdict.notes,
            })
        })
        .collect();
    json!({
        "schema": CHECK_SCHEMA,
        "holdup": env!("CARGO_PKG_VERSION"),
        "holds": verdicts.iter().all(Verdict::holds),
        "budgets": budgets,
    })
}

/// [`check_json`] as text, indented, safe to print, with a line break at its end.
pub fn check_json_text(verdicts: &[Verdict]) -> String {
    printed(&check_json(verdicts))
}
