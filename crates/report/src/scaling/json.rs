//! Every number of a scaling analysis, as JSON: `docs/json-schema/scale.schema.json` says what each member means.

use holdup_model::Efficiency;
use holdup_scaling::{FittedLaw, Hint, Losses, Measured, RegionPoint, RegionScaling, Scaling, WholePoint};
use serde_json::Value;

use super::{schema, words};
use crate::json::{place_at, printed, value};

/// Deeper trees of efficiencies than this are cut: the hierarchy has four levels.
const DEEPEST: usize = 8;

/// The whole analysis as a value of the schema in `docs/json-schema/scale.schema.json`. Names are as the program gave
/// them.
pub fn scale_json(scaling: &Scaling) -> Value {
    let scale = schema::Scale {
        schema: schema::SCALE_SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        command: &scaling.command,
        cores: (scaling.cores > 0).then_some(scaling.cores),
        used_by_others: scaling.used_by_others,
        ignored: scaling.ignored.as_deref(),
        runs: scaling.points.iter().map(run).collect(),
        regions: scaling.regions.iter().map(region).collect(),
        hints: scaling.hints.iter().map(hint).collect(),
        model: scaling.law.as_ref().map(law),
        pop: schema::Pop {
            points: scaling
                .pop
                .iter()
                .map(|point| schema::PopPoint {
                    threads: point.threads,
                    efficiency: efficiency(&point.root, 0),
                })
                .collect(),
        },
        notes: &scaling.notes,
    };
    value(scale)
}

/// [`scale_json`] as text, indented, safe to print, with a line break at its end.
pub fn scale_json_text(scaling: &Scaling) -> String {
    printed(&scale_json(scaling))
}

fn run(point: &WholePoint) -> schema::Whole {
    schema::Whole {
        threads: point.threads,
        wall_ns: point.wall.median.get(),
        measured: measured(&point.wall),
        speedup: point.speedup.into(),
        efficiency: point.efficiency.into(),
        losses: losses(&point.losses),
        costs: losses(&point.costs),
        whole_share: point.whole_share,
    }
}

fn measured(time: &Measured) -> schema::Measured {
    schema::Measured {
        median_ns: time.median.get(),
        low_ns: time.low.get(),
        high_ns: time.high.get(),
        runs: time.runs,
    }
}

fn losses(losses: &Losses) -> schema::Losses {
    schema::Losses {
        lost_ns: losses.lost,
        imbalance_ns: losses.imbalance,
        walkthrough_ns: losses.walkthrough,
        startup_ns: losses.startup,
        lock_algorithm_ns: losses.lock_algorithm,
        lock_contention_ns: losses.lock_contention,
        scheduling_ns: losses.scheduling,
        serial_ns: losses.serial,
        starvation_ns: losses.starvation,
        inflation_ns: losses.inflation,
        oversubscription_ns: losses.oversubscription,
        unexplained_ns: losses.unexplained,
    }
}

fn region(region: &RegionScaling) -> schema::Region<'_> {
    let last = region.points.last();
    schema::Region {
        kind: words::region_kind(region.kind),
        nested: region.nested,
        place: place_at(region.place.as_ref()),
        points: region.points.iter().map(region_point).collect(),
        potential_gain_ns: region.potential_gain.get(),
        losses: losses(&last.map_or_else(Losses::default, |point| point.losses)),
        hints: region.hints.iter().map(hint).collect(),
        model: region.law.as_ref().map(law),
    }
}

fn region_point(point: &RegionPoint) -> schema::RegionPoint {
    schema::RegionPoint {
        threads: point.threads,
        team: point.team.into(),
        instances: point.instances,
        whole_instances: point.whole,
        ns: point.time.median.get(),
        measured: measured(&point.time),
        error: point.error.into(),
        speedup: point.speedup.into(),
        efficiency: point.efficiency.into(),
        losses: losses(&point.losses),
        costs: losses(&point.costs),
    }
}

fn hint(hint: &Hint) -> schema::Hint<'_> {
    schema::Hint {
        kind: words::hint_kind(hint.kind),
        region: hint.region,
        place: place_at(hint.place.as_ref()),
        what: &hint.text,
        gain: hint.gain.map(|gain| schema::HintGain { ns: gain.time, low_ns: gain.low, high_ns: gain.high }),
        bound: hint.bound,
        method: &hint.method,
    }
}

fn law(law: &FittedLaw) -> schema::Law<'_> {
    schema::Law {
        kind: words::law_kind(law.kind),
        formula: &law.formula,
        parameters: law
            .parameters
            .iter()
            .map(|parameter| schema::LawParameter {
                name: &parameter.name,
                value: parameter.value.into(),
                low: parameter.low.into(),
                high: parameter.high.into(),
            })
            .collect(),
        cross_validation_error: law.cross_validation_error.into(),
        predictions: law
            .predictions
            .iter()
            .map(|prediction| schema::LawPrediction {
                threads: prediction.threads,
                ns: prediction.time.get(),
                low_ns: prediction.low.get(),
                high_ns: prediction.high.get(),
                efficiency: prediction.efficiency.into(),
                efficiency_low: prediction.efficiency_low.into(),
                efficiency_high: prediction.efficiency_high.into(),
            })
            .collect(),
        dominated_by: law.dominated_by,
    }
}

/// A tree of efficiencies, whose values are told as `V`.
pub(super) fn efficiency<V: From<f64>>(node: &Efficiency, depth: usize) -> schema::Efficiency<'_, V> {
    let factors = if depth < DEEPEST { node.factors.as_slice() } else { &[] };
    schema::Efficiency {
        name: &node.name,
        value: node.value.into(),
        factors: factors.iter().map(|factor| efficiency(factor, depth + 1)).collect(),
    }
}
