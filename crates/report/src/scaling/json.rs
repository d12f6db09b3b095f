//! Every number of a scaling analysis, as JSON: `docs/json-schema/scale.schema.json` says what each member means.

use holdup_model::Efficiency;
use holdup_scaling::{FittedLaw, Hint, Losses, Measured, RegionPoint, RegionScaling, Scaling, WholePoint};
use serde_json::{Value, json};

use super::words;
use crate::json::{place_at, printed};

/// The version of the JSON that [`scale_json`] gives. It grows only where a member changes its meaning; members may be
/// added at any time.
pub const SCALE_SCHEMA: u32 = 1;

/// Deeper trees of efficiencies than this are cut: the hierarchy has four levels.
const DEEPEST: usize = 8;

/// The whole analysis as a value of the schema in `docs/json-schema/scale.schema.json`. Names are as the program gave
/// them.
pub fn scale_json(scaling: &Scaling) -> Value {
    json!({
        "schema": SCALE_SCHEMA,
        "holdup": env!("CARGO_PKG_VERSION"),
        "command": scaling.command,
        "cores": (scaling.cores > 0).then_some(scaling.cores),
        "runs": scaling.points.iter().map(run).collect::<Vec<_>>(),
        "regions": scaling.regions.iter().map(region).collect::<Vec<_>>(),
        "hints": scaling.hints.iter().map(hint).collect::<Vec<_>>(),
        "model": scaling.law.as_ref().map(law),
        "pop": {
            "points": scaling.pop.iter().map(|point| json!({
                "threads": point.threads,
                "efficiency": efficiency(&point.root, 0),
            })).collect::<Vec<_>>(),
        },
        "notes": scaling.notes,
    })
}

/// [`scale_json`] as text, indented, safe to print, with a line break at its end.
pub fn scale_json_text(scaling: &Scaling) -> String {
    printed(&scale_json(scaling))
}

/// A number that JSON can hold; null for what is none.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn run(point: &WholePoint) -> Value {
    json!({
        "threads": point.threads,
        "wall_ns": point.wall.median.get(),
        "measured": measured(&point.wall),
        "speedup": number(point.speedup),
        "efficiency": number(point.efficiency),
        "losses": losses(&point.losses),
        "costs": losses(&point.costs),
        "whole_share": point.whole_share.map(number),
    })
}

fn measured(time: &Measured) -> Value {
    json!({
        "median_ns": time.median.get(),
        "low_ns": time.low.get(),
        "high_ns": time.high.get(),
        "runs": time.runs,
    })
}

fn losses(losses: &Losses) -> Value {
    json!({
        "lost_ns": losses.lost,
        "imbalance_ns": losses.imbalance,
        "walkthrough_ns": losses.walkthrough,
        "startup_ns": losses.startup,
        "lock_algorithm_ns": losses.lock_algorithm,
        "lock_contention_ns": losses.lock_contention,
        "scheduling_ns": losses.scheduling,
        "serial_ns": losses.serial,
        "starvation_ns": losses.starvation,
        "inflation_ns": losses.inflation,
        "oversubscription_ns": losses.oversubscription,
        "unexplained_ns": losses.unexplained,
    })
}

fn region(region: &RegionScaling) -> Value {
    let last = region.points.last();
    json!({
        "kind": words::region_kind(region.kind),
        "nested": region.nested,
        "where": place_at(region.place.as_ref()),
        "points": region.points.iter().map(region_point).collect::<Vec<_>>(),
        "potential_gain_ns": region.potential_gain.get(),
        "losses": losses(&last.map_or_else(Losses::default, |point| point.losses)),
        "hints": region.hints.iter().map(hint).collect::<Vec<_>>(),
        "model": region.law.as_ref().map(law),
    })
}

fn region_point(point: &RegionPoint) -> Value {
    json!({
        "threads": point.threads,
        "team": number(point.team),
        "instances": point.instances,
        "whole_instances": point.whole,
        "ns": point.time.median.get(),
        "measured": measured(&point.time),
        "error": number(point.error),
        "speedup": number(point.speedup),
        "efficiency": number(point.efficiency),
        "losses": losses(&point.losses),
        "costs": losses(&point.costs),
    })
}

fn hint(hint: &Hint) -> Value {
    json!({
        "kind": words::hint_kind(hint.kind),
        "region": hint.region,
        "where": place_at(hint.place.as_ref()),
        "what": hint.text,
        "gain": hint.gain.map(|gain| json!({"ns": gain.time, "low_ns": gain.low, "high_ns": gain.high})),
        "bound": hint.bound,
        "method": hint.method,
    })
}

fn law(law: &FittedLaw) -> Value {
    json!({
        "kind": words::law_kind(law.kind),
        "formula": law.formula,
        "parameters": law.parameters.iter().map(|parameter| json!({
            "name": parameter.name,
            "value": number(parameter.value),
            "low": number(parameter.low),
            "high": number(parameter.high),
        })).collect::<Vec<_>>(),
        "cross_validation_error": number(law.cross_validation_error),
        "predictions": law.predictions.iter().map(|prediction| json!({
            "threads": prediction.threads,
            "ns": prediction.time.get(),
            "low_ns": prediction.low.get(),
            "high_ns": prediction.high.get(),
            "efficiency": number(prediction.efficiency),
            "efficiency_low": number(prediction.efficiency_low),
            "efficiency_high": number(prediction.efficiency_high),
        })).collect::<Vec<_>>(),
        "dominated_by": law.dominated_by,
    })
}

pub(super) fn efficiency(node: &Efficiency, depth: usize) -> Value {
    let factors = if depth < DEEPEST { node.factors.as_slice() } else { &[] };
    json!({
        "name": node.name,
        "value": number(node.value),
        "factors": factors.iter().map(|factor| efficiency(factor, depth + 1)).collect::<Vec<_>>(),
    })
}
