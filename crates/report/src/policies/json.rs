//! Every number of it, as JSON: `docs/json-schema/policies.schema.json` says what each member means.

use holdup_policies::{
    Better, Kind, PAPER_SLICE_NS, Policies, PolicyRun, PolicyThread, ProgramPolicies, Sweep, mean_energy,
    mean_gain, paper_means,
};
use serde_json::Value;

use super::schema;
use crate::json::{printed, value};

/// Policies of which means are told.
const MEANT: [&str; 6] = ["all", "offline", "single", "tcp", "bis", "dynamic"];

/// All of it as a value of the schema in `docs/json-schema/policies.schema.json`. Names are as the program gave them.
pub fn policies_json(told: &Policies) -> Value {
    let mut numbers: Vec<u32> = told.programs.iter().map(|program| program.working).collect();
    numbers.sort_unstable();
    numbers.dedup();
    value(schema::Policies {
        schema: schema::POLICIES_SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        machine: &told.machine,
        frequency_ghz: told.frequency,
        fast_ghz: told.fast,
        alpha: told.alpha,
        beta: told.beta,
        fast_threads: told.fast_threads,
        programs: told.programs.iter().map(program).collect(),
        means: numbers.into_iter().map(|number| means(told, number)).collect(),
        notes: &told.warnings,
    })
}

/// [`policies_json`] as text, indented, safe to print, with a line break at its end.
pub fn policies_json_text(told: &Policies) -> String {
    printed(&policies_json(told))
}

fn program(of: &ProgramPolicies) -> schema::Program<'_> {
    let number = |thread: Option<&PolicyThread>| thread.map(|thread| thread.number);
    schema::Program {
        name: &of.name,
        command: &of.command,
        threads_that_work: of.working,
        cores: of.cores,
        slice_ns: of.slice_ns,
        slice_is_the_papers: of.slice_ns == PAPER_SLICE_NS,
        policies: of.runs.iter().map(|run| policy(of, run)).collect(),
        threads: of.threads.iter().map(|thread| told(of, thread)).collect(),
        most_critical: number(of.most_critical()),
        predicted_best: number(of.predicted_best()),
        simulated_best: number(of.simulated_best()),
        better_because: of.better().map(|why| match why {
            Better::Memory => schema::BetterBecause::Memory,
            Better::Hidden => schema::BetterBecause::Hidden,
        }),
        validation: of
            .validation
            .iter()
            .map(|run| schema::Validated { thread: run.thread, ghz: run.frequency, speedup: run.speedup })
            .collect(),
        sweep: of.sweep.as_ref().map(sweep),
        notes: &of.warnings,
    }
}

fn told<'a>(of: &ProgramPolicies, thread: &'a PolicyThread) -> schema::Thread<'a> {
    schema::Thread {
        thread: thread.number,
        name: thread.name.as_deref(),
        criticality: thread.criticality,
        criticality_without_memory: thread.scaling,
        alone: thread.alone,
        divided_speedup: of.divided(thread),
        predicted_speedup: thread.predicted,
        simulated_speedup: thread.simulated,
    }
}

fn policy<'a>(of: &ProgramPolicies, run: &'a PolicyRun) -> schema::Policy<'a> {
    let none = of.run("none");
    let all = of.run("all");
    schema::Policy {
        policy: &run.policy,
        chosen: &run.chosen,
        seconds: run.seconds,
        speedup: none.map(|none| run.speedup_over(none)),
        fast_share: run.fast_share,
        transitions: run.transitions,
        slices: run.slices,
        updates: run.updates.0,
        update_energy_nj: run.updates.1,
        energy: run.energy.map(|energy| schema::Energy {
            joules: energy.joules(),
            dynamic: energy.dynamic,
            leaked: energy.leaked,
            uncore: energy.uncore,
            memory: energy.memory,
            relative: none.and_then(|none| run.energy_over(none)),
            delay_relative: none.and_then(|none| run.delay_product_over(none)),
            delay_relative_to_all: all.and_then(|all| run.delay_product_over(all)),
        }),
    }
}

fn sweep(of: &Sweep) -> schema::Sweep<'_> {
    let (kind, knee_ghz) = match of.kind() {
        Kind::None => (schema::SweepKind::None, None),
        Kind::InterThread(knee) => (schema::SweepKind::InterThread, Some(knee)),
        Kind::Sequential => (schema::SweepKind::Sequential, None),
        Kind::Mixed(knee) => (schema::SweepKind::Mixed, Some(knee)),
    };
    let points = of.points.iter().map(|point| schema::SweepPoint {
        ghz: point.frequency,
        speedup: point.speedup,
        criticality: &point.criticality,
    });
    schema::Sweep { thread: of.thread, kind, knee_ghz, points: points.collect() }
}

fn means(told: &Policies, number: u32) -> schema::Means {
    let programs = || told.programs.iter().filter(|program| program.working == number);
    let mean = |policy: &'static str| schema::PolicyMean {
        policy,
        gain: mean_gain(programs(), policy),
        relative_energy: mean_energy(programs(), policy),
    };
    schema::Means {
        threads: number,
        programs: programs().count(),
        policies: MEANT.into_iter().map(mean).collect(),
        paper: paper_means(number).map(|paper| schema::PaperMeans {
            dynamic_gain: paper.dynamic,
            bis_gain: paper.bis,
            dynamic_relative_energy: paper.dynamic_energy,
            all_relative_energy: paper.all_energy,
        }),
    }
}
