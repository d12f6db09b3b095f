//! Simulating recordings, for all commands that do.
//!
//! Recordings with instruction streams ([`inputs`]), machines ([`machines`]), numbers of cores, what-ifs ([`what_if`]) and policies
//! ([`policies`]) give the simulations that there are to do ([`plan`]), which run beside each other ([`side_by_side`]); those
//! with padding follow on what the others found ([`padded`]).

mod host;
mod inputs;
mod machines;
mod padded;
mod plan;
mod policies;
mod side_by_side;
mod what_if;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use holdup_feed::Prepared;
use holdup_model::cycles::Simulated;
use holdup_report::PaddedRun;
use holdup_sim::{Machine, Options, Plan};
use holdup_speedup::{SpeedupStack, SpeedupStep, speedup_stack};
use padded::Second;
use side_by_side::INTERRUPTED;

use crate::failure::Failure;
use crate::progress::Progress;

pub(crate) use inputs::{Input, check_machine};
pub(crate) use machines::{Chosen, USUAL, chosen, machine_list, machine_text};
pub(crate) use plan::{Role, Simulation, Subject, Wanted, simulations};
pub(crate) use policies::{PolicyOptions, parsers};
pub(crate) use side_by_side::{Watch, all};
pub(crate) use what_if::WhatIf;

/// The most cores that are simulated.
pub(crate) const MOST_CORES: i64 = 1024;

/// What is said and the status where the user did not want to wait.
pub(crate) fn interrupted() -> ExitCode {
    eprintln!("holdup: the simulation was interrupted; there is no answer");
    ExitCode::from(INTERRUPTED as u8)
}

/// What all simulations gave, and with padding that of the one with this index.
pub(crate) type AllDone = (Vec<(Simulated, Duration)>, (Option<usize>, Vec<PaddedRun>));

/// Does all simulations: first those that say which lines are falsely shared, then those in which such lines are padded.
pub(crate) fn simulated(
    planned: &[Simulation],
    prepared: &[Prepared<'_>],
    samples: &Samples,
    jobs: usize,
) -> Option<AllDone> {
    let (mut indices, mut first) = (Vec::new(), Vec::new());
    for (index, simulation) in planned.iter().enumerate().filter(|(_, simulation)| !simulation.pads) {
        indices.push(index);
        first.push(simulation);
    }
    let mut done: Vec<Option<(Simulated, Duration)>> = planned.iter().map(|_| None).collect();
    for (index, one) in indices.into_iter().zip(each(&first, prepared, samples, jobs)?) {
        done[index] = Some(one);
    }
    let second = Second::of(planned, &done);
    let asked = second.asked.iter().map(|(_, simulation)| simulation);
    let both: Vec<&Simulation> = asked.chain(second.gains.iter().map(|(_, simulation)| simulation)).collect();
    let mut of_both = each(&both, prepared, samples, jobs)?.into_iter();
    for ((index, _), one) in second.asked.iter().zip(of_both.by_ref()) {
        done[*index] = Some(one);
    }
    let gains = second.gains.into_iter().zip(of_both);
    let gains = gains.map(|((lines, _), (simulated, _))| PaddedRun { lines, cycles: simulated.cycles });
    Some((done.into_iter().collect::<Option<_>>()?, (second.in_detail, gains.collect())))
}

/// The speedup stacks of a recording with instruction streams on so many cores, one for each machine; `None` if the user did
/// not want to wait.
pub(crate) fn stacks_of(
    recording: &Path,
    machines: &[Machine],
    cores: u32,
) -> Result<Option<Vec<SpeedupStack>>, Failure> {
    let reading = Progress::start("reading the recording");
    let input = Input::read(recording, &reading)?;
    let prepared = [input.prepared(&recording.display().to_string())?];
    let wanted = Wanted { machines, cores: &[cores], what_ifs: &[], speedup_stack: true, policies: None };
    let subject = Subject {
        input: 0,
        program: prepared[0].program(),
        at: &|text| input.instructions_at(&prepared[0], text),
        threads: prepared[0].working_at_once(),
    };
    let planned = simulations(&subject, &wanted, 0).map_err(Failure::input)?;
    drop(reading);
    let all: Vec<&Simulation> = planned.iter().collect();
    let done = each(&all, &prepared, &Samples::new(), holdup_collect::allowed_cores() as usize);
    Ok(done.map(|done| speedup_stacks(&planned, &done)))
}

/// Which slices of a recording are simulated on so many cores, by its index and their number; `None` where all of it is.
pub(crate) type Samples = BTreeMap<(usize, u32), Option<Plan>>;

/// Plans samples for these simulations.
pub(crate) fn samples(planned: &[Simulation], prepared: &[Prepared<'_>]) -> Samples {
    let mut samples = Samples::new();
    for simulation in planned.iter().filter(|simulation| simulation.policy.is_none()) {
        let key = sample_key(simulation, prepared);
        samples.entry(key).or_insert_with(|| prepared[key.0].plan(&simulation.machine, key.1));
    }
    samples
}

/// More cores than there are threads are as many: nothing runs in another order. Machines share a plan, which the first of them is
/// asked for: how fast it is only decides where slices begin.
fn sample_key(simulation: &Simulation, prepared: &[Prepared<'_>]) -> (usize, u32) {
    let threads = prepared[simulation.input].program().threads.len() as u32;
    (simulation.input, simulation.cores.min(threads).max(1))
}

/// Does simulations beside each other, so many at once.
fn each(
    simulations: &[&Simulation],
    prepared: &[Prepared<'_>],
    samples: &Samples,
    jobs: usize,
) -> Option<Vec<(Simulated, Duration)>> {
    if simulations.is_empty() {
        return Some(Vec::new());
    }
    let plan_of = |simulation: &Simulation| {
        let plan = samples.get(&sample_key(simulation, prepared)).and_then(Option::as_ref);
        plan.filter(|_| simulation.policy.is_none())
    };
    let amount = |simulation: &&Simulation| {
        let share = plan_of(simulation).map_or(1.0, Plan::share);
        (prepared[simulation.input].instructions() as f64 * share) as u64
    };
    let amounts: Vec<u64> = simulations.iter().map(amount).collect();
    let watch = Watch::new(&amounts);
    all(&watch, jobs, |index| {
        let simulation = simulations[index];
        let prepared = &prepared[simulation.input];
        let how =
            Options { cores: simulation.cores, changes: simulation.changes.clone(), ..Options::default() };
        let progress = &mut |progress: &holdup_sim::Progress| watch.at(index, progress.instructions);
        let mut with_policy = |steering| {
            let how = Options { steering: Some(steering), ..how.clone() };
            prepared.simulated(true, &simulation.machine, &how, progress)
        };
        if let Some(policy) = &simulation.policy {
            let simulated = policy.simulated(prepared.program(), &mut with_policy);
            return Simulated { changes: simulation.words.clone(), ..simulated };
        }
        let mut simulated = match plan_of(simulation) {
            Some(plan) => prepared.sampled(&simulation.machine, &how, plan, progress),
            None => prepared.simulated(true, &simulation.machine, &how, progress),
        };
        simulated.changes.clone_from(&simulation.words);
        simulated
    })
}

/// The speedup stacks of which all parts were simulated, in order.
pub(crate) fn speedup_stacks(
    simulations: &[Simulation],
    done: &[(Simulated, Duration)],
) -> Vec<SpeedupStack> {
    let with_role = |role: Role| simulations.iter().position(|simulation| simulation.role == role);
    let stack = |number: usize| {
        let single = with_role(Role::Single(number))?;
        let first = with_role(Role::Variant(number, 0))?;
        // The unchanged run is the last one before that is told of and has no what-if.
        let plain = simulations[..single]
            .iter()
            .rposition(|simulation| simulation.role == Role::Told && simulation.words.is_empty())?;
        let mut variants: Vec<Simulated> = done
            .get(first..first + SpeedupStep::ALL.len())?
            .iter()
            .map(|(simulated, _)| simulated.clone())
            .collect();
        variants.push(done[plain].0.clone());
        let variants: [Simulated; 6] = variants.try_into().ok()?;
        speedup_stack(&done[single].0, &variants)
    };
    (0..).map_while(stack).collect()
}
