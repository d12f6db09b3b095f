//! What changes would give, as JSON.

use holdup_model::Process;
use holdup_replay::{Point, Prediction, Replayer, object_name};
use holdup_whatif::{expressible, next_limit};
use serde::Serialize;
use serde_json::Value;

/// What changes of a recorded run would give, as a replay predicts it. Schema 1: members may be added, none is taken away
/// and none changes its meaning. All times are whole nanoseconds (names end in _ns). Expressions and names are as the
/// program and the command line gave them: escape them where they are shown.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "holdup whatif --json"))]
pub(crate) struct WhatIfs<'a> {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = WHAT_IF_SCHEMA)))]
    schema: u32,
    /// The version of holdup that wrote this.
    holdup: &'static str,
    /// The recorded wall time of the process.
    baseline_ns: u64,
    /// The wall time of the unchanged run as the replay has it.
    replayed_ns: u64,
    /// One for each expression, and for each size where an expression has a range, in the order in which they were asked
    /// for.
    results: Vec<Predicted<'a>>,
    /// Where no change was asked for, some that can be; else empty.
    can_be_changed: Vec<CanBeChanged>,
}

/// Something that can be changed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CanBeChanged {
    /// The change.
    expression: String,
    /// What it gives if: the question that it asks.
    asks: &'static str,
    /// How long was waited for it, or how long it was at work, by all threads together.
    ns: u64,
}

/// What a change would give.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Predicted<'a> {
    /// The change; where it was asked for with a range, with this size in its place.
    expression: &'a str,
    /// The size of the change, where the expression had a range; else null.
    at: Option<f64>,
    /// The predicted wall time.
    ns: u64,
    /// The low end of its interval.
    low_ns: u64,
    /// The high end of its interval.
    high_ns: u64,
    /// What limits the program then; null where that is not known.
    next: Option<String>,
    /// How often all threads waited for each other, and one was let through: the more, the less is it to be trusted.
    let_through: u64,
    /// Locks that may be the next to hold the program up, though how long they are held is known from a few holds only.
    locks_known_in_number_only: Vec<String>,
}

/// The version of the JSON that [`what_if_json`] gives.
const WHAT_IF_SCHEMA: u32 = 1;

/// The same as a value of the schema in `docs/json-schema/whatif.schema.json`: `baseline_ns` is the recorded wall time,
/// `replayed_ns` that of the unchanged replay.
pub fn what_if_json(process: &Process, replayer: &Replayer<'_>, results: &[(Point, Prediction)]) -> Value {
    let predicted = results.iter().map(|(point, prediction)| Predicted {
        expression: &point.expression,
        at: point.at,
        ns: prediction.wall.get(),
        low_ns: prediction.low.get(),
        high_ns: prediction.high.get(),
        next: next_limit(process, prediction),
        let_through: prediction.let_through,
        locks_known_in_number_only: prediction
            .unseen
            .iter()
            .map(|&object| object_name(process, object))
            .collect(),
    });
    let can_be_changed = match results.is_empty() {
        true => expressible(process),
        false => Vec::new(),
    };
    crate::json::value(WhatIfs {
        schema: WHAT_IF_SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        baseline_ns: process.wall().get(),
        replayed_ns: replayer.replayed().get(),
        results: predicted.collect(),
        can_be_changed: can_be_changed
            .into_iter()
            .map(|one| CanBeChanged { expression: one.expression, asks: one.asks, ns: one.amount.get() })
            .collect(),
    })
}

/// [`what_if_json`] as text, safe to print.
pub fn what_if_json_text(
    process: &Process,
    replayer: &Replayer<'_>,
    results: &[(Point, Prediction)],
) -> String {
    crate::json::printed(&what_if_json(process, replayer, results))
}
