//! What changes would give: the answer of `holdup whatif`, for people and for machines.

use holdup_model::names::Names;
use holdup_model::{Nanos, Process};
use holdup_replay::{Next, Point, Prediction, Replayer, object_name};
use serde::Serialize;
use serde_json::Value;

use crate::look::Look;
use crate::numbers::time;
use crate::{escape, palette};

/// Expressions as wide as this at most have the predictions beside them.
const WIDEST: usize = 40;

/// What the changes of a process would give, as text: one line for each, and what to keep in mind.
pub fn render_what_if(
    process: &Process,
    replayer: &Replayer<'_>,
    results: &[(Point, Prediction)],
    look: Look,
) -> String {
    let wall = process.wall();
    let replayed = replayer.replayed();
    let off = (replayed.get() as f64 / wall.get().max(1) as f64 - 1.0) * 100.0;
    let mut text = format!(
        "It ran {}; unchanged, the replay takes {} ({off:+.1} %).\n\n",
        time(wall, look),
        time(replayed, look)
    );
    let expressions: Vec<String> =
        results.iter().map(|(point, _)| escape::sentence(&point.expression, look)).collect();
    let widths = expressions.iter().map(|expression| expression.chars().count());
    let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
    let longest = results.iter().map(|(_, prediction)| prediction.wall).max().unwrap_or(Nanos::ZERO);
    for (expression, (point, prediction)) in expressions.iter().zip(results) {
        text += &line(process, wall, expression, width, prediction, look);
        if point.at.is_some() {
            text += &bar(prediction.wall, longest, look);
        }
        for &lock in &prediction.unseen {
            text += &format!(
                "    {} may be the next to hold it up: how long it is held is known from a few holds only; \
                 record with --holds all\n",
                escape::name(&object_name(process, lock), look)
            );
        }
        if prediction.let_through > 0 {
            text += &format!(
                "    {} times all threads waited for each other, and one was let through: trust it less\n",
                prediction.let_through
            );
        }
    }
    if results.is_empty() {
        text += "Say what changes, such as cores=8; holdup whatif --help has the words.\n";
    }
    text
}

fn line(
    process: &Process,
    wall: Nanos,
    expression: &str,
    width: usize,
    prediction: &Prediction,
    look: Look,
) -> String {
    let [predicted, low, high] =
        [prediction.wall, prediction.low, prediction.high].map(|value| time(value, look));
    let share = (1.0 - prediction.wall.get() as f64 / wall.get().max(1) as f64) * 100.0;
    let times = wall.get() as f64 / prediction.wall.get().max(1) as f64;
    let gives = if share >= 0.0 { format!("{share:.1} % less") } else { format!("{:.1} % more", -share) };
    let next = next(process, prediction)
        .map_or_else(String::new, |next| format!("; then {} limits it", escape::name(&next, look)));
    format!("{expression:<width$}  {predicted} ({low} to {high}), {gives}, {times:.2} times as fast{next}\n")
}

/// How long a point of a sweep takes beside the others.
fn bar(time: Nanos, longest: Nanos, look: Look) -> String {
    let length = (time.share_of(longest) * BAR as f64).round() as usize;
    format!("  {}\n", palette::fill("act", look).to_string().repeat(length))
}

fn next(process: &Process, prediction: &Prediction) -> Option<String> {
    Some(match prediction.next? {
        Next::Cores(1) => "one core".to_owned(),
        Next::Cores(cores) => format!("the number of cores ({cores})"),
        Next::Object(object) => Names::of(process, None).object(object).to_owned(),
        Next::Thread(thread) => Names::of(process, None).thread_in_full(thread),
    })
}

/// The length of the longest bar, in columns.
const BAR: usize = 40;

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
        next: next(process, prediction),
        let_through: prediction.let_through,
        locks_known_in_number_only: prediction
            .unseen
            .iter()
            .map(|&object| object_name(process, object))
            .collect(),
    });
    crate::json::value(WhatIfs {
        schema: WHAT_IF_SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        baseline_ns: process.wall().get(),
        replayed_ns: replayer.replayed().get(),
        results: predicted.collect(),
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
