//! `holdup why --simulate`: what makes threads unequal in simulated time, caches and queueing included; and how much of that
//! disappears when the reported misses do (paper 2, section 5.3 and Fig. 5).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use holdup_collect::address_names;
use holdup_counts::{Counts, simulated_counts};
use holdup_feed::Prepared;
use holdup_imbalance::{Cause, CauseKind, Why, WhyOptions as Search, why as search};
use holdup_model::Frame;
use holdup_model::counts::HardwareKind;
use holdup_model::cycles::Simulated;
use holdup_report::{Removed, WhyScene, Without};
use holdup_sim::{Changes, Machine, Options};

use super::{Told, WhyOptions, looked, named};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::simulation::{self, Input, Watch};

/// Tells of a recording by simulating it; `None` if the user did not want to wait.
pub(super) fn read(path: &Path, options: &WhyOptions) -> Result<Option<Told>, Failure> {
    let reading = Progress::start("reading the recording");
    let mut chosen = simulation::chosen(std::slice::from_ref(&options.machine), false)?;
    let input = Input::read(path, &reading)?;
    let called = named(path, &input.run, options);
    let prepared = input.prepared(&called)?;
    let Some(machine) = chosen.machines.pop() else { return Ok(None) };
    let threads = prepared.working_at_once();
    let cores = options.cores.unwrap_or_else(|| threads.clamp(1, machine.cores().max(1)));
    let simulation =
        Simulation { input: &input, prepared: &prepared, machine: &machine.with_cores(cores), cores };
    drop(reading);
    let Some(plain) = simulation.all(&[Changes::default()]) else { return Ok(None) };
    let found = simulation.counts(plain, &called)?;
    let Some(plain) = found.into_iter().next() else { return Ok(None) };
    let scene = WhyScene { command: input.run.command.clone(), ..WhyScene::default() };
    let mut told = looked(&plain, scene, path, input.recording.source_text.as_ref(), options);
    let wanted = without(&told.why, &plain, options);
    let changes: Vec<Changes> = wanted.iter().map(|(_, changes)| changes.clone()).collect();
    let Some(others) = simulation.all(&changes) else { return Ok(None) };
    let others = simulation.counts(others, &called)?;
    told.scene.removed = removed(&told.why, &wanted, &others, options);
    let place = format!(
        "Simulated on {cores} {} of the machine {}; units of work went to the threads that took them when they were recorded.",
        if cores == 1 { "core" } else { "cores" },
        machine.name
    );
    told.why.warnings.splice(0..0, std::iter::once(place).chain(chosen.notes));
    Ok(Some(told))
}

/// A recording on a machine.
struct Simulation<'a> {
    input: &'a Input,
    prepared: &'a Prepared<'a>,
    machine: &'a Machine,
    cores: u32,
}

impl Simulation<'_> {
    /// Simulates with each of these changes.
    fn all(&self, changes: &[Changes]) -> Option<Vec<Simulated>> {
        let executed = self.prepared.instructions();
        let watch = Watch::new(&vec![executed; changes.len()]);
        let found = simulation::all(&watch, holdup_collect::allowed_cores() as usize, |index| {
            let changes = changes[index].clone();
            let how = Options { cores: self.cores, changes, misses: true, steering: None };
            let progress = &mut |progress: &holdup_sim::Progress| watch.at(index, progress.instructions);
            self.prepared.simulated(false, self.machine, &how, progress)
        });
        found.map(|found: Vec<(Simulated, Duration)>| found.into_iter().map(|(found, _)| found).collect())
    }

    /// The counts of simulations.
    fn counts(&self, found: Vec<Simulated>, called: &str) -> Result<Vec<Counts>, Failure> {
        let _progress = Progress::start("looking for what makes threads unequal");
        let pieces = found.iter().flat_map(|one| &one.threads).flat_map(|thread| &thread.pieces);
        let addresses = pieces.flat_map(|piece| &piece.misses).map(|misses| misses.address);
        let names: BTreeMap<u64, Vec<Frame>> = address_names(&self.input.recording, addresses, []).code;
        let counts = found.iter().map(|simulated| {
            simulated_counts(&self.input.recording, &self.input.run, simulated, &names)
                .map_err(|error| super::uncounted(error, called, &self.input.run))
        });
        counts.collect()
    }
}

/// What to take away, and the changes that do.
fn without(why: &Why, counts: &Counts, options: &WhyOptions) -> Vec<(Without, Changes)> {
    let is_miss = |cause: &&Cause| matches!(cause.kind, CauseKind::CacheMiss | CauseKind::TlbMiss);
    let erased = |causes: &mut dyn Iterator<Item = &Cause>| -> BTreeSet<u64> {
        let causes: Vec<&Cause> = causes.collect();
        missing_at(counts, &causes)
    };
    let first = erased(&mut why.sections.iter().filter_map(|section| section.causes.iter().find(is_miss)));
    let told = erased(&mut why.sections.iter().flat_map(|section| section.causes.iter().filter(is_miss)));
    let mut wanted = Vec::new();
    if !told.is_empty() {
        let significant = search(counts, &Search { least_score: 0.0, draws: 0, ..options.search() });
        let mut all = erased(
            &mut significant.sections.iter().flat_map(|section| section.causes.iter().filter(is_miss)),
        );
        all.extend(&told);
        let steps = [(Without::FirstMisses, first), (Without::ToldMisses, told), (Without::AllMisses, all)];
        wanted.extend(steps.map(|(without, erased)| (without, Changes { erased, ..Changes::default() })));
        // What takes away no more than the step before says nothing.
        wanted.dedup_by(|later, before| later.1 == before.1);
    }
    if why.sections.iter().any(|section| section.causes.iter().any(|cause| cause.kind == CauseKind::Queueing))
    {
        let changes = Changes { unlimited_bandwidth: true, ..Changes::default() };
        wanted.push((Without::Queueing, changes));
    }
    wanted
}

/// The addresses of instructions that miss at the lines of these causes.
fn missing_at(counts: &Counts, causes: &[&Cause]) -> BTreeSet<u64> {
    let is_there = |at: &[Frame]| causes.iter().any(|cause| is_same_line(&cause.at, at));
    let misses = counts.hardware.iter().filter(|event| {
        matches!(
            event.kind,
            HardwareKind::MissL1 | HardwareKind::MissL2 | HardwareKind::MissLast | HardwareKind::TlbMiss
        )
    });
    misses.filter(|event| is_there(&event.at)).map(|event| event.address).collect()
}

/// True for places on the same line or, without lines, at the same address.
fn is_same_line(one: &[Frame], other: &[Frame]) -> bool {
    match (one.first(), other.first()) {
        (Some(one), Some(other)) if one.line.is_some() => one.line == other.line && one.file == other.file,
        (Some(one), Some(other)) => one.address == other.address && one.module == other.module,
        _ => false,
    }
}

/// How much idle time each section has without.
fn removed(
    why: &Why,
    wanted: &[(Without, Changes)],
    others: &[Counts],
    options: &WhyOptions,
) -> Vec<Removed> {
    let how = Search { draws: 0, ..options.search() };
    let others: Vec<Why> = others.iter().map(|counts| search(counts, &how)).collect();
    let sections = why.sections.iter().map(|section| {
        let idle = |why: &Why| {
            let same = why.sections.iter().find(|other| {
                other.kind == section.kind && other.end == section.end && other.begin == section.begin
            });
            same.map_or(0, |other| other.idle)
        };
        Removed {
            section: (section.kind, section.end.clone(), section.begin.clone()),
            steps: wanted.iter().zip(&others).map(|((without, _), why)| (*without, idle(why))).collect(),
        }
    });
    sections.collect()
}

#[cfg(test)]
mod tests {
    use holdup_model::counts::HardwareEvent;

    use super::*;

    fn frame(line: Option<u32>, address: u64) -> Frame {
        Frame { file: line.map(|_| "a.c".to_owned()), line, address, ..Frame::default() }
    }

    #[test]
    fn all_instructions_that_miss_at_the_line_of_a_cause_are_taken_away() {
        let event = |kind, line, address| HardwareEvent {
            kind,
            at: vec![frame(line, address)],
            address,
            block: None,
            superior: None,
        };
        let counts = Counts {
            hardware: vec![
                event(HardwareKind::MissL1, Some(7), 1),
                event(HardwareKind::MissLast, Some(7), 2),
                event(HardwareKind::MissL1, Some(8), 3),
                event(HardwareKind::BranchMiss, Some(7), 4),
                event(HardwareKind::MissL2, None, 5),
                event(HardwareKind::MissL2, None, 6),
            ],
            ..Counts::default()
        };
        let at = |line, address| {
            let mut why = search(&counts, &Search::default());
            why.sections.clear();
            vec![frame(line, address)]
        };
        let lines = [at(Some(7), 9), at(None, 5)];
        let found: BTreeSet<u64> = counts
            .hardware
            .iter()
            .filter(|event| lines.iter().any(|line| is_same_line(line, &event.at)))
            .map(|event| event.address)
            .collect();
        assert_eq!(found, BTreeSet::from([1, 2, 4, 5]));
    }
}
