//! Every number of what makes threads unequal, as JSON: `docs/json-schema/why.schema.json` says what each member means.

use holdup_imbalance::{Cause, NativeImbalance, SectionWhy, Why};
use holdup_model::counts::SectionPlace;
use holdup_model::{Frame, Nanos};
use serde_json::{Value, json};

use super::{WhyScene, removed, told, words};
use crate::Look;
use crate::json::{place_at_frame, printed};

/// The version of the JSON that [`why_json`] gives. It grows only where a member changes its meaning; members may be
/// added at any time.
pub const WHY_SCHEMA: u32 = 1;

/// Sentences are whole, and for readers of any width.
const LOOK: Look = Look { width: Look::WIDEST, color: false, unicode: true };

/// The whole analysis as a value of the schema in `docs/json-schema/why.schema.json`. Names are as the program gave
/// them, except in sentences, where they are escaped.
pub fn why_json(why: &Why, scene: &WhyScene) -> Value {
    let options = &why.options;
    json!({
        "schema": WHY_SCHEMA,
        "holdup": env!("CARGO_PKG_VERSION"),
        "run": {
            "command": scene.command,
            "wall_ns": scene.wall.map(Nanos::get),
            "source": words::source(why.source),
            "threads": scene.threads.iter().map(|label| json!({
                "thread": label.number,
                "name": label.name,
            })).collect::<Vec<_>>(),
            "warnings": why.warnings,
        },
        "method": {
            "name": words::method(options.method),
            "threshold": number(options.threshold),
            "tried_thresholds": [number(options.tried_thresholds.0), number(options.tried_thresholds.1)],
            "least_score": number(options.least_score),
            "draws": options.draws,
        },
        "time_unit": words::time_unit(why.time_unit),
        "sections": why.sections.iter().map(|one| section(one, why, scene)).collect::<Vec<_>>(),
    })
}

/// [`why_json`] as text, indented, safe to print, with a line break at its end.
pub fn why_json_text(why: &Why, scene: &WhyScene) -> String {
    printed(&why_json(why, scene))
}

/// A number that JSON can hold; null for what is none.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn section(section: &SectionWhy, why: &Why, scene: &WhyScene) -> Value {
    json!({
        "kind": words::section_word(section.kind),
        "name": section.end.name,
        "where": place(&section.end.frames),
        "begin": begin(&section.begin),
        "instances": section.instances,
        "threads": section.thread_numbers,
        "most_threads": section.threads,
        "imbalance": number(section.imbalance),
        "spread": number(section.spread),
        "native": section.native.as_ref().map(native),
        "idle": section.idle,
        "share": number(section.share),
        "time": section.time,
        "explained": number(section.explained),
        "unexplained": number(section.unexplained),
        "verdict": words::verdict(section.verdict),
        "sentences": sentences(section, why, scene),
        "removed": removed::json(section, &scene.removed),
        "depends_on_schedule": section.depends_on_schedule,
        "dealt_units": section.dealt_units,
        "causes": section.causes.iter().map(|one| cause(one, section, scene)).collect::<Vec<_>>(),
    })
}

/// What is said of a section in words, as in the other faces.
fn sentences(section: &SectionWhy, why: &Why, scene: &WhyScene) -> Vec<String> {
    let told = [
        told::native(section),
        told::schedule(section),
        told::dealt(section),
        told::verdict(section, why),
        removed::sentence(section, &scene.removed),
        told::unexplained(section, why),
    ];
    told.into_iter().flatten().collect()
}

fn native(native: &NativeImbalance) -> Value {
    json!({
        "imbalance": number(native.imbalance),
        "spread": number(native.spread),
        "time_ns": native.time.iter().map(|time| time.get()).collect::<Vec<_>>(),
        "by_instructions": native.by_instructions.map(number),
    })
}

fn cause(cause: &Cause, section: &SectionWhy, scene: &WhyScene) -> Value {
    json!({
        "kind": words::cause_class(cause.kind),
        "what": words::cause_word(cause.kind).replace(' ', "-"),
        "where": place(&cause.at),
        "inlined": cause.at.iter().map(|frame| json!(place_at_frame(frame))).collect::<Vec<_>>(),
        "to": optional(&cause.to),
        "latch": cause.latch.as_deref().map(place),
        "sentence": format!("{}.", told::cause_clause(cause, scene, LOOK)),
        "score": if told::has_score(section) { number(cause.score) } else { Value::Null },
        "charge": number(cause.charge),
        "interval": cause.interval.map(|(low, high)| [number(low), number(high)]),
        "stable": cause.stable.map(|(low, high)| [number(low), number(high)]),
        "instances": cause.instances,
        "counts": cause.counts,
        "minor": cause.minor,
        "misplaced": cause.misplaced,
        "listing": cause.listing.iter().map(|(address, text)| json!({"address": address, "text": text})).collect::<Vec<_>>(),
    })
}

fn begin(place: &SectionPlace) -> Value {
    json!({"name": place.name, "where": self::place(&place.frames)})
}

/// The place of the frame that a person wrote.
fn place(frames: &[Frame]) -> Value {
    let nowhere = Frame::default();
    json!(place_at_frame(words::place_frame(frames).unwrap_or(&nowhere)))
}

fn optional(frames: &[Frame]) -> Value {
    if frames.is_empty() { Value::Null } else { place(frames) }
}
