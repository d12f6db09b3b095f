//! Every number of simulations, as JSON: `docs/json-schema/sim.schema.json` says what each member means.

use holdup_cycles::{
    Aggregate, Growth, PlaceCycles, SectionCycles, Variable, by_function, by_line, false_sharing,
    shared_bytes,
};
use holdup_model::Frame;
use holdup_model::counts::SectionPlace;
use holdup_model::cycles::{CycleComponent, CycleStack, Level, SharedLine, Simulated};
use holdup_speedup::SpeedupStack;
use serde_json::Value;

use super::view::{View, cpi};
use super::{SimRun, SimTold, schema, words};
use crate::Look;
use crate::json::{place_at_frame, printed, value};
use crate::schema::{Amount, Place};

/// Names are whole, and for readers of any width.
const LOOK: Look = Look::plain(Look::WIDEST);

/// All simulations as a value of the schema in `docs/json-schema/sim.schema.json`. The members of the first one stand at the
/// top as well. Names are as the program gave them, except those of groups, which are escaped.
pub fn sim_json(told: &SimTold) -> Value {
    let view = View::new(told);
    let simulations: Vec<schema::Simulation<'_>> =
        (0..told.runs.len()).map(|index| simulation(index, &view)).collect();
    let no_run = SimRun::default();
    let nothing = simulation_of(&no_run, &Aggregate::default(), None, told);
    let first = simulations.first().unwrap_or(&nothing);
    value(schema::Sim {
        schema: schema::SIM_SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        machine: first.machine,
        cores: first.cores,
        cycles: first.cycles,
        instructions: first.instructions,
        threads: &first.threads,
        aggregate: &first.aggregate,
        speed: &first.speed,
        run: schema::RunFacts { command: &told.command, warnings: &told.warnings },
        components: CycleComponent::ALL.iter().map(meaning).collect(),
        simulations: &simulations,
        growth: view.growth().as_ref().map(growth),
        speedup_stacks: told.speedup_stacks.iter().map(speedup_stack).collect(),
    })
}

/// [`sim_json`] as text, indented, safe to print, with a line break at its end.
pub fn sim_json_text(told: &SimTold) -> String {
    printed(&sim_json(told))
}

fn meaning(component: &CycleComponent) -> schema::Meaning {
    schema::Meaning { name: schema::Component(component.name()), meaning: component.meaning() }
}

fn stack(stack: &CycleStack) -> schema::Stack {
    schema::Stack(stack.parts().map(|(component, cycles)| (component.name(), cycles)).collect())
}

fn served(served: &[u64; Level::ALL.len()]) -> schema::Served {
    let counts = Level::ALL.iter().zip(served).filter(|(_, count)| **count > 0);
    schema::Served(counts.map(|(level, count)| (words::level(*level), *count)).collect())
}

/// The place of the frame that a person wrote.
fn place(frames: &[Frame]) -> Place {
    Frame::place_of(frames).map_or_else(Place::default, place_at_frame)
}

fn simulation<'a>(index: usize, view: &View<'a>) -> schema::Simulation<'a> {
    let told = view.told;
    let speedup = view.speedup(index).map(|(base, factor)| schema::Speedup {
        of: told.runs.iter().position(|run| std::ptr::eq(run, base)),
        factor: factor.into(),
    });
    simulation_of(&told.runs[index], &view.aggregates[index], speedup, told)
}

fn simulation_of<'a>(
    run: &'a SimRun,
    aggregate: &Aggregate,
    speedup: Option<schema::Speedup>,
    told: &SimTold,
) -> schema::Simulation<'a> {
    let simulated = &run.simulated;
    let names = &told.names;
    let mut all = CycleStack::default();
    simulated.threads.iter().for_each(|thread| all.add(&thread.stack));
    let is_false: Vec<u64> = false_sharing(simulated, names).iter().map(|line| line.address).collect();
    schema::Simulation {
        input: &run.input,
        machine: &simulated.machine,
        cores: simulated.cores,
        frequency_ghz: simulated.frequency.into(),
        changes: &simulated.changes,
        cycles: simulated.cycles,
        time_ns: simulated.time().get(),
        instructions: simulated.instructions,
        cpi: cpi(all.total(), simulated.instructions).map(Amount::from),
        sampled: simulated.sampled.map(|sample| schema::Sampled {
            error: sample.error.into(),
            simulated_instructions: sample.simulated,
        }),
        speedup,
        threads: threads(simulated, aggregate, told),
        aggregate: groups(simulated, aggregate),
        all_wait: aggregate.all_wait && !simulated.threads.is_empty(),
        lines: by_line(simulated, names).iter().map(place_cycles).collect(),
        functions: by_function(simulated, names).iter().map(place_cycles).collect(),
        sections: run.sections.iter().map(section).collect(),
        shared_lines: simulated
            .shared_lines
            .iter()
            .map(|line| shared_line(line, is_false.contains(&line.address), all.total(), run, told))
            .collect(),
        resources: simulated
            .resources
            .iter()
            .map(|resource| schema::Resource {
                name: &resource.name,
                requests: resource.requests,
                bytes: resource.bytes,
                busy_cycles: resource.busy,
                queueing_cycles: resource.queueing,
                utilisation: (resource.busy as f64 / simulated.cycles.max(1) as f64).into(),
            })
            .collect(),
        policy: super::policies::policy(run, &told.runs),
        warnings: simulated.all_warnings().map(String::as_str).collect(),
        doubts: &simulated.doubts,
        speed: schema::Speed { mips: run.mips.map(Amount::from) },
    }
}

fn threads<'a>(simulated: &'a Simulated, aggregate: &Aggregate, told: &SimTold) -> Vec<schema::Thread<'a>> {
    let counted =
        |index: usize| aggregate.groups.iter().any(|group| group.threads.binary_search(&index).is_ok());
    let one = |(index, thread): (usize, &'a holdup_model::cycles::SimulatedThread)| schema::Thread {
        thread: thread.number,
        name: thread.name.as_deref(),
        start: told.names.place(thread.entry).map(place_at_frame),
        begin_cycle: thread.begin,
        end_cycle: thread.end,
        cycles: thread.stack.total(),
        instructions: thread.instructions,
        aggregated: counted(index),
        stack: stack(&thread.stack),
    };
    simulated.threads.iter().enumerate().map(one).collect()
}

fn groups(simulated: &Simulated, aggregate: &Aggregate) -> Vec<schema::Group> {
    let numbers = |threads: &[usize]| threads.iter().map(|&index| simulated.threads[index].number).collect();
    let one = |group: &holdup_cycles::ThreadGroup| schema::Group {
        group: words::group(group, LOOK),
        kind: words::group_kind(group.kind),
        start: group.entry.as_ref().map(place_at_frame),
        threads: numbers(&group.threads),
        left_out: numbers(&group.left_out),
        cycles: group.stack.total(),
        instructions: group.instructions,
        cpi: cpi(group.stack.total(), group.instructions).map(Amount::from),
        stack: stack(&group.stack),
    };
    aggregate.groups.iter().map(one).collect()
}

fn place_cycles(told: &PlaceCycles) -> schema::CodePlace {
    schema::CodePlace {
        place: place(&told.at),
        inlined: told.at.iter().map(place_at_frame).collect(),
        instructions: told.instructions,
        executions: told.executions,
        cycles: told.stack.total(),
        stack: stack(&told.stack),
        served: served(&told.served),
    }
}

fn section(told: &SectionCycles) -> schema::Section<'_> {
    schema::Section {
        kind: told.kind,
        end: meeting(&told.end),
        begin: meeting(&told.begin),
        instances: told.instances,
        instructions: told.instructions,
        cycles: told.stack.total(),
        stack: stack(&told.stack),
    }
}

fn meeting(at: &SectionPlace) -> schema::Meeting<'_> {
    schema::Meeting { name: at.name.as_deref(), place: place(&at.frames) }
}

fn shared_line(
    line: &SharedLine,
    is_false: bool,
    all: u64,
    run: &SimRun,
    told: &SimTold,
) -> schema::SharedLine {
    let number_of =
        |index: &u32| run.simulated.threads.get(*index as usize).map_or(*index, |thread| thread.number);
    let at = |address: &u64| match told.names.place(*address) {
        Some(frame) => place_at_frame(frame),
        None => place_at_frame(&Frame { address: *address, ..Frame::default() }),
    };
    let padded = run.with_padding(line.address);
    schema::SharedLine {
        address: line.address,
        transfers: line.transfers,
        cycles: line.cycles,
        false_cycles: line.false_cycles,
        false_share: (line.false_cycles as f64 / all.max(1) as f64).into(),
        false_sharing: is_false,
        padded_cycles: padded.map(|padded| padded.cycles),
        padded_lines: padded.map(|padded| padded.lines.len()),
        bytes: shared_bytes(line, &told.names)
            .iter()
            .map(|bytes| schema::Bytes {
                from: bytes.range.0,
                to: bytes.range.1,
                variable: bytes.variable.as_ref().map(variable),
                readers: bytes.readers.iter().map(number_of).collect(),
                writers: bytes.writers.iter().map(number_of).collect(),
                at: bytes.instructions.iter().map(at).collect(),
            })
            .collect(),
    }
}

fn variable(variable: &Variable) -> schema::Variable {
    schema::Variable {
        name: variable.name.clone(),
        part: variable.part.clone(),
        size: variable.size,
        module: variable.module.clone(),
        file: variable.file.clone(),
        line: variable.line,
    }
}

fn growth(growth: &Growth) -> schema::Growth {
    let grown = |(component, cycles): &(CycleComponent, f64)| schema::Grown {
        component: schema::Component(component.name()),
        core_cycles: (*cycles).into(),
    };
    schema::Growth {
        from_cores: growth.cores.0,
        to_cores: growth.cores.1,
        speedup: growth.speedup.into(),
        ideal: growth.ideal.into(),
        lost_core_cycles: growth.lost.into(),
        components: growth.by.iter().map(grown).collect(),
    }
}

/// A speedup stack, wherever it is told of.
pub(crate) fn speedup_stack(stack: &SpeedupStack) -> schema::SpeedupStack<'_> {
    schema::SpeedupStack {
        machine: &stack.machine,
        cores: stack.cores,
        single_core_cycles: stack.single,
        variant_cycles: stack.cycles,
        speedup: stack.speedup.into(),
        losses: stack
            .losses
            .iter()
            .map(|(loss, amount)| schema::Loss { component: loss.name(), speedup: (*amount).into() })
            .collect(),
    }
}
