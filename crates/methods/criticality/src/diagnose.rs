//! From a recorded process to its diagnosis: the methods in their order.

use std::sync::Arc;

use holdup_model::names::Names;
use holdup_model::{Families, Nanos, Process, Run, State, ThreadTimes, Timeline};
use holdup_sections::{Outside, Working};

use crate::Diagnosis;
use crate::blame::{Facts, blame};
use crate::bottle::bottle_graph;
use crate::chains::chains;
use crate::criticality::on_core_and_runnable;
use crate::environment::notes;
use crate::findings::{BUSY_CORES, Case, Memory, Stage, Tasks, findings, herds, keep_what_can_be_won};
use crate::holders::Holders;
use crate::hot::hot_spots;
use crate::losses::losses;
use crate::objects::{busy, family_costs, object_costs};
use crate::over_time::over_time;
use crate::path::critical_path;
use crate::samples::Samples;
use crate::scarcity::Scarcity;

/// The definition of active that the preload collector's data allow.
const NOT_WAITING: &str = "not waiting; time without a core counts as active and is shown as delayed";

/// That of the kernel's records, where they tell of the whole run.
const ON_A_CORE: &str = "on a core (the kernel's context-switch records)";

/// Where they tell of a part.
const PARTLY_ON_A_CORE: &str =
    "on a core where the kernel's context-switch records tell; else not waiting, with time without a core";

/// What holds process `process` of the run up.
///
/// The same input gives the same answer, whatever the order of the columns of the process.
///
/// # Panics
/// If the run has no process with this index, or the process refers to a thread, object or site that it does
/// not have.
pub fn diagnose(run: &Run, process: usize) -> Diagnosis {
    let index = process;
    let process = &run.processes[index];
    let timeline = Arc::new(Timeline::build(process));
    let times = ThreadTimes::of_all(&timeline);
    let samples = Samples::of(process, &timeline);
    let mut working = Working::of(process, &timeline, &times, run.cores_of(process));
    let scarcity = Scarcity::of(run, process, &working);
    (working.cores, working.fewest_cores) = (scarcity.cores, scarcity.fewest_cores());
    let outside = Outside::of(process);
    let holders = Holders::new(process, &timeline.places);
    let path = critical_path(process, &timeline, &working, &holders);
    let blame = blame(&Facts {
        process,
        timeline: &timeline,
        holders: &holders,
        outside: &outside,
        working: &working,
        path: &path.pieces,
    });
    let path = path.with_objects(timeline.wall(), &blame.on_path);
    let busy = busy(process, &working, &times);
    let objects = object_costs(process, &timeline, &blame, &working, &path, &busy);
    let families = Families::of(process);
    let family_costs = family_costs(&families, &objects);
    let mut by_object = vec![None; process.objects.len()];
    for (index, cost) in objects.iter().enumerate() {
        by_object[cost.object.index()] = Some(index);
    }
    let mut losses = losses(process, &timeline, &outside, &blame, &working, &times, &scarcity);
    losses.add_busy_locks(&busy);
    let names = Names::of(process, Some(&timeline.roles));
    let tasks = Tasks::of(process, &timeline);
    losses.wait_for_tasks(|object| tasks.held(object).is_some());
    let herds = herds(process, &|object| timeline.roles.kinds[object.index()]);
    let stages = Stage::of_all(process);
    let case = Case {
        process,
        timeline: &timeline,
        names: &names,
        families: &family_costs,
        working: &working,
        times: &times,
        blame: &blame,
        losses: &losses,
        scarcity: &scarcity,
        objects: &objects,
        by_object: &by_object,
        path: &path,
        samples: &samples,
        tasks: &tasks,
        herds: &herds,
        stages: &stages,
        memory: Memory::of(run, process),
    };
    let (mut findings, cost_identity) = findings(&case);
    let [criticality, runnable] = on_core_and_runnable(&timeline);
    let wall = timeline.wall();
    let active: Nanos = times.iter().map(|times| times.active).sum();
    let parallelism = active.share_of(wall);
    let on_cpu_parallelism = on_cpu(process, &times).map(|cpu| cpu.share_of(wall));
    let effective_cores = run.effective_cores_of(process);
    // What spins is on a core, and at nothing useful there.
    let spinning = spinning_on_core(&timeline).share_of(wall);
    let was = on_cpu_parallelism.map_or(parallelism, |on_cpu| (on_cpu - spinning).clamp(0.0, parallelism));
    let of = |could_be: f64| (was / could_be.max(f64::MIN_POSITIVE)).min(1.0);
    let workers = f64::from(working.at_once.max(1));
    let efficiency = of(if effective_cores == 0 { workers } else { workers.min(f64::from(effective_cores)) });
    let capacity = scarcity.capacity();
    let is_full = capacity > 0.0 && workers >= capacity && on_cpu_parallelism.is_some();
    if is_full && of(capacity) >= BUSY_CORES {
        keep_what_can_be_won(&mut findings, wall, of(capacity));
    }
    let environment = notes(process, &scarcity, &working, losses.cores.load.total(), &findings);
    Diagnosis {
        process: index,
        wall,
        cores: scarcity.allowed,
        effective_cores,
        parallelism,
        on_cpu_parallelism,
        efficiency,
        active_means: active_means(process),
        bottle: bottle_graph(&criticality, &times),
        criticality,
        runnable,
        others: scarcity.share_of_others(),
        chains: chains(&blame, &objects),
        working_threads: working.threads,
        workers: working.at_once,
        one_by_one: working.one_by_one,
        threads: times,
        objects,
        families: family_costs,
        path,
        findings,
        cost_identity,
        environment,
        hot: hot_spots(process, &samples),
        over_time: over_time(process, &timeline),
        timeline: Arc::clone(&timeline),
        what_if: None,
        repeats: None,
        tree: None,
    }
}

fn spinning_on_core(timeline: &Timeline) -> Nanos {
    let segments = timeline.threads.iter().flat_map(|row| &row.segments);
    let spinning = segments.filter(|segment| segment.state == State::Spinning);
    spinning.map(|segment| segment.cpu.unwrap_or(segment.length())).sum()
}

fn active_means(process: &Process) -> &'static str {
    match process.covered.as_slice() {
        [] => NOT_WAITING,
        _ if is_seen_throughout(process) => ON_A_CORE,
        _ => PARTLY_ON_A_CORE,
    }
}

/// True if the kernel's records say for the whole run which threads had a core.
pub(crate) fn is_seen_throughout(process: &Process) -> bool {
    matches!(process.covered.as_slice(), [(from, until)] if *from <= process.start && process.end <= *until)
}

/// A reading that is below this share of what the kernel's records say was made long before the end.
const LONG_PAST: f64 = 0.5;

/// The CPU time of all threads. Of one that was cut off by the end of the process it may have been read long before: it had a core for
/// what the kernel's records say, at least.
fn on_cpu(process: &Process, times: &[ThreadTimes]) -> Option<Nanos> {
    let is_seen = is_seen_throughout(process);
    process.threads.iter().zip(times).try_fold(Nanos::ZERO, |sum, (thread, times)| {
        let cpu = thread.known_cpu()?;
        let is_past = is_seen && thread.cpu.is_none() && cpu.share_of(times.active) < LONG_PAST;
        Some(sum + if is_past { times.active } else { cpu })
    })
}
