//! Every number of a measured speedup stack, as JSON: `docs/json-schema/stack.schema.json` says what each member means.

use holdup_speedup::instances::{InstancesPoint, InstancesProfile};
use holdup_speedup::{
    Beside, Component, Discarded, GroupCurve, Missing, PhaseKind, PhasePoint, PhaseStack, PointStack,
    Speedup, SpeedupProfile, Watched,
};
use serde_json::Value;

use super::{schema, words};
use crate::json::{place_at, printed, value};
use crate::schema::Amount;

/// The whole of a profile as a value of the schema in `docs/json-schema/stack.schema.json`. Names are as the program gave
/// them.
pub fn stack_json(profile: &SpeedupProfile) -> Value {
    value(told(profile))
}

/// [`stack_json`] as text, indented, safe to print, with a line break at its end.
pub fn stack_json_text(profile: &SpeedupProfile) -> String {
    printed(&stack_json(profile))
}

fn told(profile: &SpeedupProfile) -> schema::Profile<'_> {
    let effort = &profile.effort;
    schema::Profile {
        schema: schema::STACK_SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        command: &profile.command,
        cores: (profile.cores > 0).then_some(profile.cores),
        base_threads: (profile.base > 0).then_some(profile.base),
        cache: profile.cache.map(|cache| schema::Cache {
            bytes: cache.bytes,
            nominal_bytes: cache.nominal,
            level: cache.level,
            refill_ns: cache.refill.map(|time| time.get()),
            memory_bytes_per_second: cache.bandwidth,
        }),
        order: profile.order.components().iter().map(|component| name(*component)).collect(),
        phases: profile.phases.iter().map(|of| phase(of, profile)).collect(),
        instances: profile.instances.iter().map(instances).collect(),
        simulated: profile.simulated.iter().map(crate::sim::told_speedup_stack).collect(),
        alone_runs: profile.watched.iter().map(watched).collect(),
        effort: schema::Effort {
            runs: effort.runs,
            time_ns: effort.time.get(),
            in_runs: effort.in_runs.map(Amount::from),
            recording: effort.recording.map(Amount::from),
            control: effort.control.map(Amount::from),
            alone: effort.alone.map(Amount::from),
        },
        noise: profile.noise.map(|noise| schema::Noise {
            share: noise.share,
            speedup: noise.speedup,
            of: if noise.of_alone { schema::NoiseOf::ThreadsAlone } else { schema::NoiseOf::PlainRuns },
        }),
        notes: &profile.notes,
    }
}

fn name(component: Component) -> schema::Component {
    schema::Component(component.name())
}

fn phase<'a>(phase: &'a PhaseStack, profile: &'a SpeedupProfile) -> schema::Phase<'a> {
    let curve = |of: fn(&PointStack) -> Option<Speedup>| -> Vec<Option<f64>> {
        phase.points.iter().map(|point| point.stack.as_ref().and_then(of).map(Speedup::value)).collect()
    };
    let place = phase.place.as_ref().and_then(|site| site.place());
    let name = place.map(holdup_model::Frame::name);
    let is_of = |discarded: &&Discarded| match phase.kind {
        PhaseKind::Whole => true,
        _ => discarded.phase.is_some() && discarded.phase == name,
    };
    schema::Phase {
        kind: words::phase_kind(phase.kind),
        place: place_at(phase.place.as_ref()),
        share: phase.share.into(),
        potential_gain_ns: phase.potential_gain.map(|gain| gain.get()),
        threads: phase.points.iter().map(|point| point.threads).collect(),
        curves: schema::Curves {
            perfect: curve(|stack| Some(stack.curves.perfect)),
            serial: curve(|stack| Some(stack.curves.serial)),
            extra_work: curve(|stack| stack.curves.extra_work),
            pirate: curve(|stack| stack.curves.pirate),
            no_sync: curve(|stack| Some(stack.curves.no_sync)),
            measured: curve(|stack| Some(stack.curves.measured)),
        },
        stacks: phase.points.iter().map(point).collect(),
        discarded: profile.discarded.iter().filter(is_of).map(discarded).collect(),
    }
}

fn amount(known: &[(Component, Speedup)], of: Component) -> Option<f64> {
    known.iter().find(|(component, _)| *component == of).map(|(_, amount)| amount.value())
}

fn components(known: &[(Component, Speedup)]) -> schema::Components {
    schema::Components {
        serial: amount(known, Component::Serial),
        extra_work: amount(known, Component::ExtraWork),
        cache: amount(known, Component::Cache),
        memory: amount(known, Component::Memory),
        oversubscription: amount(known, Component::Oversubscription),
        environment: amount(known, Component::Environment),
        other: amount(known, Component::Other),
        synchronization: amount(known, Component::Synchronization),
    }
}

fn point(point: &PhasePoint) -> schema::Stack<'_> {
    let stack = point.stack.as_ref();
    schema::Stack {
        threads: point.threads,
        ns: point.time.get(),
        instances: point.instances,
        speedup: stack.map(|stack| stack.curves.measured.value()),
        components: stack.map(|stack| components(&stack.components)),
        together: stack.and_then(|stack| stack.together.as_ref()).map(|together| schema::Together {
            of: together.of.iter().map(|component| name(*component)).collect(),
            amount: together.amount.value(),
        }),
        imbalance: stack.map(|stack| stack.imbalance.value()),
        missing: point.missing.iter().map(missing).collect(),
        groups: point.groups.iter().map(group).collect(),
        alone_share: point.alone_share.map(Amount::from),
        stretch_ns: point.stretch.map(|stretch| stretch.get()),
        refill: point.refill.map(Amount::from),
    }
}

fn missing(missing: &Missing) -> schema::Missing<'_> {
    schema::Missing { component: missing.component.map(name), reason: &missing.reason }
}

fn group(group: &GroupCurve) -> schema::Group<'_> {
    schema::Group {
        name: &group.name,
        threads: group.threads,
        cpu_share: group.cpu_share.into(),
        cache_bytes: group.cache,
        takes_over: group.takes_over,
        control: group.control.map(Amount::from),
        cache_curve: group
            .curve
            .points()
            .iter()
            .map(|point| schema::CachePoint {
                bytes: point.bytes,
                time: point.time.into(),
                high: point.high.into(),
                runs: point.runs,
                cpi: point.cpi.map(Amount::from),
                bytes_per_second: point.bandwidth.map(Amount::from),
            })
            .collect(),
        bandwidth_curve: group
            .bandwidth
            .iter()
            .map(|point| schema::BandwidthPoint {
                taken_bytes_per_second: point.taken,
                time: point.time.into(),
            })
            .collect(),
        sensitivity: group.sensitivity.map(|told| schema::Sensitivity {
            bytes: told.now,
            lost: told.lost.into(),
            more_bytes: told.more,
            lost_with_more: told.lost_with_more.into(),
        }),
    }
}

fn discarded(discarded: &Discarded) -> schema::Discarded<'_> {
    schema::Discarded {
        threads: discarded.threads,
        which: discarded.which,
        cache_bytes: discarded.cache,
        beside: words::beside(discarded.beside),
        taken_bytes_per_second: match discarded.beside {
            Beside::Thief(taken) => Some(taken),
            _ => None,
        },
        phase: discarded.phase.as_deref(),
        reason: &discarded.reason,
    }
}

fn watched(run: &Watched) -> schema::AloneRun {
    schema::AloneRun {
        threads: run.threads,
        which: run.which,
        beside: words::beside(run.beside),
        cpu_ns: run.cpu.get(),
        alone: run.alone.map(Amount::from),
        rest: run
            .rest
            .iter()
            .map(|(reason, share)| schema::NotAlone { reason: reason.name(), share: (*share).into() })
            .collect(),
    }
}

fn instances(of: &InstancesProfile) -> schema::Instances<'_> {
    schema::Instances { name: &of.name, points: of.points.iter().map(copies).collect() }
}

fn copies(point: &InstancesPoint) -> schema::Copies<'_> {
    schema::Copies {
        copies: point.copies,
        cache_bytes: point.cache,
        throughput: point.throughput.map(Amount::from),
        pirate: point.pirate.map(Speedup::value),
        measured: point.measured.map(Speedup::value),
        components: schema::Hierarchy {
            cache: amount(&point.components, Component::Cache),
            memory: amount(&point.components, Component::Memory),
        },
        missing: point.missing.iter().map(missing).collect(),
        demand_bytes_per_second: point.demand.map(Amount::from),
        demand_of_bandwidth: point.demand_of_bandwidth.map(Amount::from),
    }
}
