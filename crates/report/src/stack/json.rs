//! Every number of a measured speedup stack, as JSON: `docs/json-schema/stack.schema.json` says what each member means.

use holdup_speedup::instances::{InstancesPoint, InstancesProfile};
use holdup_speedup::{
    Beside, Component, Discarded, GroupCurve, Missing, PhaseKind, PhasePoint, PhaseStack, PointStack,
    Speedup, SpeedupProfile, Watched,
};
use serde_json::{Map, Value, json};

use super::words;
use crate::json::{place_at, printed};

/// The version of the JSON that [`stack_json`] gives. It grows only where a member changes its meaning; members may be
/// added at any time.
pub const STACK_SCHEMA: u32 = 1;

/// The whole of a profile as a value of the schema in `docs/json-schema/stack.schema.json`. Names are as the program gave
/// them.
pub fn stack_json(profile: &SpeedupProfile) -> Value {
    json!({
        "schema": STACK_SCHEMA,
        "holdup": env!("CARGO_PKG_VERSION"),
        "command": profile.command,
        "cores": (profile.cores > 0).then_some(profile.cores),
        "base_threads": (profile.base > 0).then_some(profile.base),
        "cache": profile.cache.map(|cache| json!({
            "bytes": cache.bytes,
            "nominal_bytes": cache.nominal,
            "level": cache.level,
            "refill_ns": cache.refill.map(|time| time.get()),
            "memory_bytes_per_second": cache.bandwidth,
        })),
        "order": profile.order.components().iter().map(|component| component.name()).collect::<Vec<_>>(),
        "phases": profile.phases.iter().map(|of| phase(of, profile)).collect::<Vec<_>>(),
        "instances": profile.instances.iter().map(instances).collect::<Vec<_>>(),
        "simulated": profile.simulated.iter().map(crate::sim::speedup_stack_json).collect::<Vec<_>>(),
        "alone_runs": profile.watched.iter().map(watched).collect::<Vec<_>>(),
        "effort": {
            "runs": profile.effort.runs,
            "time_ns": profile.effort.time.get(),
            "in_runs": profile.effort.in_runs.map(number),
            "recording": profile.effort.recording.map(number),
            "control": profile.effort.control.map(number),
            "alone": profile.effort.alone.map(number),
        },
        "noise": profile.noise.map(|noise| json!({
            "share": number(noise.share),
            "speedup": number(noise.speedup),
            "of": if noise.of_alone { "threads alone" } else { "plain runs" },
        })),
        "notes": profile.notes,
    })
}

/// [`stack_json`] as text, indented, safe to print, with a line break at its end.
pub fn stack_json_text(profile: &SpeedupProfile) -> String {
    printed(&stack_json(profile))
}

/// A number that JSON can hold; null for what is none.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn speedup(speedup: Speedup) -> Value {
    number(speedup.value())
}

fn phase(phase: &PhaseStack, profile: &SpeedupProfile) -> Value {
    let curve = |of: fn(&PointStack) -> Option<Speedup>| -> Value {
        phase.points.iter().map(|point| point.stack.as_ref().and_then(of).map(speedup)).collect()
    };
    let place = phase.place.as_ref().and_then(|site| site.place());
    let name = place.map(holdup_model::Frame::name);
    let is_of = |discarded: &&Discarded| match phase.kind {
        PhaseKind::Whole => true,
        _ => discarded.phase.is_some() && discarded.phase == name,
    };
    json!({
        "kind": words::phase_kind(phase.kind),
        "where": place_at(phase.place.as_ref()),
        "share": number(phase.share),
        "potential_gain_ns": phase.potential_gain.map(|gain| gain.get()),
        "threads": phase.points.iter().map(|point| point.threads).collect::<Vec<_>>(),
        "curves": {
            "perfect": curve(|stack| Some(stack.curves.perfect)),
            "serial": curve(|stack| Some(stack.curves.serial)),
            "extra_work": curve(|stack| stack.curves.extra_work),
            "pirate": curve(|stack| stack.curves.pirate),
            "no_sync": curve(|stack| Some(stack.curves.no_sync)),
            "measured": curve(|stack| Some(stack.curves.measured)),
        },
        "stacks": phase.points.iter().map(point).collect::<Vec<_>>(),
        "discarded": profile.discarded.iter().filter(is_of).map(discarded).collect::<Vec<_>>(),
    })
}

fn components(known: &[(Component, Speedup)], of: &[Component]) -> Value {
    let amount = |component: &Component| {
        known.iter().find(|(known, _)| known == component).map_or(Value::Null, |(_, amount)| speedup(*amount))
    };
    Value::Object(
        of.iter().map(|component| (component.name().to_owned(), amount(component))).collect::<Map<_, _>>(),
    )
}

fn point(point: &PhasePoint) -> Value {
    let stack = point.stack.as_ref();
    json!({
        "threads": point.threads,
        "ns": point.time.get(),
        "instances": point.instances,
        "speedup": stack.map(|stack| speedup(stack.curves.measured)),
        "components": stack.map(|stack| components(&stack.components, &Component::ALL)),
        "together": stack.and_then(|stack| stack.together.as_ref()).map(|together| json!({
            "of": together.of.iter().map(|component| component.name()).collect::<Vec<_>>(),
            "amount": speedup(together.amount),
        })),
        "imbalance": stack.map(|stack| speedup(stack.imbalance)),
        "missing": point.missing.iter().map(missing).collect::<Vec<_>>(),
        "groups": point.groups.iter().map(group).collect::<Vec<_>>(),
        "alone_share": point.alone_share.map(number),
        "stretch_ns": point.stretch.map(|stretch| stretch.get()),
        "refill": point.refill.map(number),
    })
}

fn missing(missing: &Missing) -> Value {
    json!({"component": missing.component.map(Component::name), "reason": missing.reason})
}

fn group(group: &GroupCurve) -> Value {
    json!({
        "name": group.name,
        "threads": group.threads,
        "cpu_share": number(group.cpu_share),
        "cache_bytes": group.cache,
        "takes_over": group.takes_over,
        "control": group.control.map(number),
        "cache_curve": group.curve.points().iter().map(|point| json!({
            "bytes": point.bytes,
            "time": number(point.time),
            "high": number(point.high),
            "runs": point.runs,
            "cpi": point.cpi.map(number),
            "bytes_per_second": point.bandwidth.map(number),
        })).collect::<Vec<_>>(),
        "bandwidth_curve": group.bandwidth.iter().map(|point| json!({
            "taken_bytes_per_second": point.taken,
            "time": number(point.time),
        })).collect::<Vec<_>>(),
        "sensitivity": group.sensitivity.map(|told| json!({
            "bytes": told.now,
            "lost": number(told.lost),
            "more_bytes": told.more,
            "lost_with_more": number(told.lost_with_more),
        })),
    })
}

fn discarded(discarded: &Discarded) -> Value {
    json!({
        "threads": discarded.threads,
        "which": discarded.which,
        "cache_bytes": discarded.cache,
        "beside": words::beside(discarded.beside),
        "taken_bytes_per_second": match discarded.beside {
            Beside::Thief(taken) => Some(taken),
            _ => None,
        },
        "phase": discarded.phase,
        "reason": discarded.reason,
    })
}

fn watched(run: &Watched) -> Value {
    json!({
        "threads": run.threads,
        "which": run.which,
        "beside": words::beside(run.beside),
        "cpu_ns": run.cpu.get(),
        "alone": run.alone.map(number),
        "rest": run.rest.iter().map(|(reason, share)| json!({
            "reason": reason.name(),
            "share": number(*share),
        })).collect::<Vec<_>>(),
    })
}

fn instances(of: &InstancesProfile) -> Value {
    json!({"name": of.name, "points": of.points.iter().map(copies).collect::<Vec<_>>()})
}

fn copies(point: &InstancesPoint) -> Value {
    json!({
        "copies": point.copies,
        "cache_bytes": point.cache,
        "throughput": point.throughput.map(number),
        "pirate": point.pirate.map(speedup),
        "measured": point.measured.map(speedup),
        "components": components(&point.components, &[Component::Cache, Component::Memory]),
        "missing": point.missing.iter().map(missing).collect::<Vec<_>>(),
        "demand_bytes_per_second": point.demand.map(number),
        "demand_of_bandwidth": point.demand_of_bandwidth.map(number),
    })
}
