//! All processes of the run together. Times are counted from its start.

use holdup_criticality::{Came, Jobs, ProcessTree, ProgramShare, TreeStep};
use holdup_model::Run;

use crate::schema;

pub(super) fn tree(run: &Run, tree: &ProcessTree) -> schema::Tree {
    schema::Tree {
        wall_ns: tree.wall.get(),
        cores: (tree.cores > 0).then_some(tree.cores),
        processes: tree.processes,
        cpu_ns: tree.cpu.get(),
        parallelism: tree.parallelism(),
        efficiency: tree.efficiency(),
        at_once_ns: tree.at_once.iter().map(|time| time.get()).collect(),
        over_time: tree.over_time.clone(),
        programs: tree.programs.iter().map(program).collect(),
        path: tree.path.iter().map(|one| step(run, one)).collect(),
        jobs: tree.jobs.as_ref().map(jobs),
    }
}

fn program(share: &ProgramShare) -> schema::TreeProgram {
    schema::TreeProgram {
        program: share.program.clone(),
        processes: share.processes,
        cpu_ns: share.cpu.get(),
        criticality_ns: share.criticality.round() as u64,
        on_path_ns: share.on_path.get(),
        longest: share.longest.map(|(process, _)| process),
        longest_ns: share.longest.map(|(_, time)| time.get()),
    }
}

fn step(run: &Run, step: &TreeStep) -> schema::TreeStep {
    schema::TreeStep {
        process: step.process,
        from_ns: step.from.since(run.start).get(),
        to_ns: step.to.since(run.start).get(),
        came: match step.came {
            Came::First => schema::Came::First,
            Came::Started => schema::Came::Started,
            Came::Ended => schema::Came::Ended,
            Came::Fed => schema::Came::Fed,
        },
        waited_ns: step.waited.get(),
    }
}

fn jobs(jobs: &Jobs) -> schema::TreeJobs {
    let forecast = |one: &holdup_criticality::Forecast| schema::TreeForecast {
        limit: one.limit,
        cores: one.cores,
        wall_ns: one.wall.get(),
    };
    schema::TreeJobs {
        runner: jobs.runner.clone(),
        count: jobs.count,
        limit: jobs.limit,
        most: jobs.most,
        mean: jobs.mean,
        waited: jobs.waited,
        forecasts: jobs.forecasts.iter().map(forecast).collect(),
    }
}
