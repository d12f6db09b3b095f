//! Every number of simulations, as JSON: `docs/json-schema/sim.schema.json` says what each member means.

use holdup_cycles::{
    Aggregate, Growth, PlaceCycles, SectionCycles, Variable, by_function, by_line, false_sharing,
    shared_bytes,
};
use holdup_model::Frame;
use holdup_model::counts::SectionPlace;
use holdup_model::cycles::{CycleComponent, CycleStack, Level, SharedLine, Simulated};
use holdup_speedup::SpeedupStack;
use serde_json::{Map, Value, json};

use super::view::{View, cpi};
use super::{SimRun, SimTold, words};
use crate::Look;
use crate::json::{place_at_frame, printed};
use crate::why::words as why;

/// The version of the JSON that [`sim_json`] gives. It grows only where a member changes its meaning; members may be
/// added at any time.
pub const SIM_SCHEMA: u32 = 1;

/// Names are whole, and for readers of any width.
const LOOK: Look = Look { width: Look::WIDEST, color: false, unicode: true };

/// All simulations as a value of the schema in `docs/json-schema/sim.schema.json`. The members of the first one stand at the
/// top as well. Names are as the program gave them, except those of groups, which are escaped.
pub fn sim_json(told: &SimTold) -> Value {
    let view = View::new(told);
    let simulations: Vec<Value> = (0..told.runs.len()).map(|index| simulation(index, &view)).collect();
    let nothing = simulation_of(&SimRun::default(), &Aggregate::default(), None, told);
    let first = simulations.first().unwrap_or(&nothing);
    let mut out = Map::new();
    out.insert("schema".to_owned(), json!(SIM_SCHEMA));
    out.insert("holdup".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    for member in ["machine", "cores", "cycles", "instructions", "threads", "aggregate", "speed"] {
        out.insert(member.to_owned(), first[member].clone());
    }
    out.insert("run".to_owned(), json!({"command": told.command, "warnings": told.warnings}));
    out.insert("components".to_owned(), components());
    out.insert("simulations".to_owned(), Value::Array(simulations));
    out.insert("growth".to_owned(), json!(view.growth().as_ref().map(growth)));
    let stacks: Vec<Value> = told.speedup_stacks.iter().map(speedup_stack).collect();
    out.insert("speedup_stacks".to_owned(), Value::Array(stacks));
    Value::Object(out)
}

/// [`sim_json`] as text, indented, safe to print, with a line break at its end.
pub fn sim_json_text(told: &SimTold) -> String {
    printed(&sim_json(told))
}

/// What the components are, from the bottom of a stack to its top.
fn components() -> Value {
    let one = |component: &CycleComponent| json!({"name": component.name(), "meaning": component.meaning()});
    CycleComponent::ALL.iter().map(one).collect()
}

/// A number that JSON can hold; null for what is none.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn stack(stack: &CycleStack) -> Value {
    Value::Object(
        stack.parts().map(|(component, cycles)| (component.name().to_owned(), json!(cycles))).collect(),
    )
}

fn served(served: &[u64; Level::ALL.len()]) -> Value {
    let one = |(level, count): (&Level, &u64)| (words::level(*level).to_owned(), json!(count));
    Value::Object(Level::ALL.iter().zip(served).filter(|(_, count)| **count > 0).map(one).collect())
}

/// The place of the frame that a person wrote.
fn place(frames: &[Frame]) -> Value {
    let nowhere = Frame::default();
    json!(place_at_frame(why::place_frame(frames).unwrap_or(&nowhere)))
}

fn frame(frame: Option<&Frame>) -> Value {
    json!(frame.map(place_at_frame))
}

fn simulation(index: usize, view: &View) -> Value {
    let told = view.told;
    let speedup = view.speedup(index).map(|(base, factor)| {
        let base = told.runs.iter().position(|run| std::ptr::eq(run, base));
        json!({"of": base, "factor": number(factor)})
    });
    simulation_of(&told.runs[index], &view.aggregates[index], speedup, told)
}

fn simulation_of(run: &SimRun, aggregate: &Aggregate, speedup: Option<Value>, told: &SimTold) -> Value {
    let simulated = &run.simulated;
    let names = &told.names;
    let mut all = CycleStack::default();
    simulated.threads.iter().for_each(|thread| all.add(&thread.stack));
    let is_false: Vec<u64> = false_sharing(simulated, names).iter().map(|line| line.address).collect();
    json!({
        "input": run.input,
        "machine": simulated.machine,
        "cores": simulated.cores,
        "frequency_ghz": number(simulated.frequency),
        "changes": simulated.changes,
        "cycles": simulated.cycles,
        "time_ns": simulated.time().get(),
        "instructions": simulated.instructions,
        "cpi": cpi(all.total(), simulated.instructions).map(number),
        "sampled": simulated.sampled.map(|sample| json!({
            "error": number(sample.error),
            "simulated_instructions": sample.simulated,
        })),
        "speedup": speedup,
        "threads": threads(simulated, aggregate, told),
        "aggregate": groups(simulated, aggregate),
        "all_wait": aggregate.all_wait && !simulated.threads.is_empty(),
        "lines": by_line(simulated, names).iter().map(place_cycles).collect::<Vec<_>>(),
        "functions": by_function(simulated, names).iter().map(place_cycles).collect::<Vec<_>>(),
        "sections": run.sections.iter().map(section).collect::<Vec<_>>(),
        "shared_lines": simulated.shared_lines.iter().map(|line| {
            shared_line(line, is_false.contains(&line.address), all.total(), run, told)
        }).collect::<Vec<_>>(),
        "resources": simulated.resources.iter().map(|resource| json!({
            "name": resource.name,
            "requests": resource.requests,
            "bytes": resource.bytes,
            "busy_cycles": resource.busy,
            "queueing_cycles": resource.queueing,
            "utilisation": number(resource.busy as f64 / simulated.cycles.max(1) as f64),
        })).collect::<Vec<_>>(),
        "policy": super::policies::policy(run, &told.runs),
        "warnings": simulated.warnings,
        "speed": {"mips": run.mips.map(number)},
    })
}

fn threads(simulated: &Simulated, aggregate: &Aggregate, told: &SimTold) -> Value {
    let counted =
        |index: usize| aggregate.groups.iter().any(|group| group.threads.binary_search(&index).is_ok());
    let one = |(index, thread): (usize, &holdup_model::cycles::SimulatedThread)| {
        json!({
            "thread": thread.number,
            "name": thread.name,
            "start": frame(told.names.place(thread.entry)),
            "begin_cycle": thread.begin,
            "end_cycle": thread.end,
            "cycles": thread.stack.total(),
            "instructions": thread.instructions,
            "aggregated": counted(index),
            "stack": stack(&thread.stack),
        })
    };
    simulated.threads.iter().enumerate().map(one).collect()
}

fn groups(simulated: &Simulated, aggregate: &Aggregate) -> Value {
    let numbers =
        |threads: &[usize]| threads.iter().map(|&index| simulated.threads[index].number).collect::<Vec<_>>();
    let one = |group: &holdup_cycles::ThreadGroup| {
        json!({
            "group": words::group(group, LOOK),
            "kind": words::group_kind(group.kind),
            "start": frame(group.entry.as_ref()),
            "threads": numbers(&group.threads),
            "left_out": numbers(&group.left_out),
            "cycles": group.stack.total(),
            "instructions": group.instructions,
            "cpi": cpi(group.stack.total(), group.instructions).map(number),
            "stack": stack(&group.stack),
        })
    };
    aggregate.groups.iter().map(one).collect()
}

fn place_cycles(told: &PlaceCycles) -> Value {
    json!({
        "where": place(&told.at),
        "inlined": told.at.iter().map(|frame| json!(place_at_frame(frame))).collect::<Vec<_>>(),
        "instructions": told.instructions,
        "executions": told.executions,
        "cycles": told.stack.total(),
        "stack": stack(&told.stack),
        "served": served(&told.served),
    })
}

fn section(told: &SectionCycles) -> Value {
    let at = |at: &SectionPlace| json!({"name": at.name, "where": place(&at.frames)});
    json!({
        "kind": why::section_word(told.kind),
        "end": at(&told.end),
        "begin": at(&told.begin),
        "instances": told.instances,
        "instructions": told.instructions,
        "cycles": told.stack.total(),
        "stack": stack(&told.stack),
    })
}

fn shared_line(line: &SharedLine, is_false: bool, all: u64, run: &SimRun, told: &SimTold) -> Value {
    let number_of =
        |index: &u32| run.simulated.threads.get(*index as usize).map_or(*index, |thread| thread.number);
    let bytes = shared_bytes(line, &told.names);
    let padded = run.with_padding(line.address);
    json!({
        "address": line.address,
        "transfers": line.transfers,
        "cycles": line.cycles,
        "false_cycles": line.false_cycles,
        "false_share": number(line.false_cycles as f64 / all.max(1) as f64),
        "false_sharing": is_false,
        "padded_cycles": padded.map(|padded| padded.cycles),
        "padded_lines": padded.map(|padded| padded.lines.len()),
        "bytes": bytes.iter().map(|bytes| json!({
            "from": bytes.range.0,
            "to": bytes.range.1,
            "variable": bytes.variable.as_ref().map(variable),
            "readers": bytes.readers.iter().map(number_of).collect::<Vec<_>>(),
            "writers": bytes.writers.iter().map(number_of).collect::<Vec<_>>(),
            "at": bytes.instructions.iter().map(|address| match told.names.place(*address) {
                Some(frame) => json!(place_at_frame(frame)),
                None => json!(place_at_frame(&Frame { address: *address, ..Frame::default() })),
            }).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

fn variable(variable: &Variable) -> Value {
    json!({
        "name": variable.name,
        "part": variable.part,
        "size": variable.size,
        "module": variable.module,
        "file": variable.file,
        "line": variable.line,
    })
}

fn growth(growth: &Growth) -> Value {
    json!({
        "from_cores": growth.cores.0,
        "to_cores": growth.cores.1,
        "speedup": number(growth.speedup),
        "ideal": number(growth.ideal),
        "lost_core_cycles": number(growth.lost),
        "components": growth.by.iter().map(|(component, cycles)| json!({
            "component": component.name(),
            "core_cycles": number(*cycles),
        })).collect::<Vec<_>>(),
    })
}

/// A speedup stack, wherever it is told of.
pub(crate) fn speedup_stack(stack: &SpeedupStack) -> Value {
    json!({
        "machine": stack.machine,
        "cores": stack.cores,
        "single_core_cycles": stack.single,
        "variant_cycles": stack.cycles,
        "speedup": number(stack.speedup),
        "losses": stack.losses.iter().map(|(loss, amount)| json!({
            "component": loss.name(),
            "speedup": number(*amount),
        })).collect::<Vec<_>>(),
    })
}
