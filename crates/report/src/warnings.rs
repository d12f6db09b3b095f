//! What the reader of an answer must know about its data: one sentence each, for every face.

use std::collections::BTreeSet;

use holdup_criticality::{Diagnosis, HotSpot};
use holdup_model::{LostEvents, Run, Unnamed};

use crate::numbers::{counted, grouped, percent};
use crate::shares;

/// Call stacks that break off before they come to code of the program, up to this share, go without a warning.
const PLACELESS_STACKS: f64 = 0.01;

/// What a run's processes lost, together.
pub(crate) fn lost(run: &Run) -> LostEvents {
    let mut all = LostEvents::default();
    run.processes.iter().for_each(|process| all += process.lost);
    all
}

/// All warnings, the gravest first: losses, processes that were not seen, what the reader of the recording
/// said, broken stacks, code without names. Names in them are as the program gave them.
pub(crate) fn sentences(run: &Run) -> Vec<String> {
    let mut out = of_recording(run);
    out.extend(without_names(&run.unnamed.iter().collect::<Vec<_>>()));
    out
}

/// The same for who reads this answer: code without names only where a place that it tells lies there.
pub(crate) fn told(run: &Run, answer: Option<&Diagnosis>) -> Vec<String> {
    let mut out = of_recording(run);
    let modules = answer.map(|diagnosis| modules_told(run, diagnosis)).unwrap_or_default();
    let touched = run.unnamed.iter().filter(|unnamed| modules.contains(unnamed.module.as_str()));
    out.extend(without_names(&touched.collect::<Vec<_>>()));
    out
}

/// A sentence for all files whose names the same gives. A library that is known by the name of a link too is named once.
fn without_names(unnamed: &[&Unnamed]) -> Vec<String> {
    let mut by_remedy: Vec<(&str, Vec<&str>)> = Vec::new();
    for Unnamed { module, remedy } in unnamed {
        let modules = match by_remedy.iter_mut().find(|(known, _)| *known == remedy.as_str()) {
            Some((_, modules)) => modules,
            None => &mut by_remedy.push_mut((remedy, Vec::new())).1,
        };
        let is_version_of = |link: &str| module.strip_prefix(link).is_some_and(|rest| rest.starts_with('.'));
        if !modules.iter().any(|link| is_version_of(link)) {
            modules.push(module);
        }
    }
    by_remedy.into_iter().map(|(remedy, modules)| format!("{}: {remedy}", modules.join(", "))).collect()
}

/// Below this share of the critical time nobody misses the name of a place.
const SMALL_SPOT: f64 = 0.02;

/// The files of code in which the places of findings lie, and hot spots that are not small.
fn modules_told<'a>(run: &'a Run, diagnosis: &Diagnosis) -> BTreeSet<&'a str> {
    let process = &run.processes[diagnosis.process];
    let findings = diagnosis.findings.iter().filter_map(|finding| finding.place);
    let spots = diagnosis.hot.iter().flat_map(|hot| {
        let is_small = |spot: &&HotSpot| shares::of_critical(spot, hot) < SMALL_SPOT;
        hot.functions.iter().chain(&hot.lines).filter(move |spot| !is_small(spot))
    });
    let frames = findings.chain(spots.map(|spot| spot.place)).filter_map(|site| process.site(site).place());
    frames.filter_map(|frame| frame.module.as_deref()).collect()
}

fn of_recording(run: &Run) -> Vec<String> {
    let lost = lost(run);
    let mut out = Vec::new();
    if lost.events > 0 {
        out.push(format!(
            "{} lost for want of room: waits may be missing and costs too low. Record a shorter part of the run.",
            counted(lost.events, "event was", "events were")
        ));
    }
    if lost.threads > 0 {
        out.push(format!(
            "{} not recorded for want of room: what they did, and who waited for them, is missing.",
            counted(lost.threads, "thread was", "threads were")
        ));
    }
    if lost.damaged_bytes > 0 {
        out.push(format!(
            "{} or cut off in the recording: what was there is missing, the rest is told.",
            counted(lost.damaged_bytes, "byte is damaged", "bytes are damaged")
        ));
    }
    out.extend(unseen(run));
    out.extend(run.warnings.iter().cloned());
    if lost.in_signals > 0 {
        out.push(format!(
            "{} in signal handlers not recorded, because they interrupted the recording of another.",
            counted(lost.in_signals, "event was", "events were")
        ));
    }
    if lost.uses > 0 {
        out.push(format!(
            "{} of locks could not be told apart: acquisition counts are too low.",
            counted(lost.uses, "use", "uses")
        ));
    }
    let stacks = || run.processes.iter().flat_map(|process| &process.sites);
    let lacking = stacks().filter(|site| site.lacks_place()).count() as f64 / stacks().count().max(1) as f64;
    if lacking > PLACELESS_STACKS {
        out.push(format!(
            "{} of the call stacks could not be followed to code of the program: places in the code may be missing.",
            percent(lacking)
        ));
    }
    out
}

/// Processes that were not recorded: the first ones by their sentences, the others by their number.
fn unseen(run: &Run) -> Vec<String> {
    const TOLD: usize = 2;
    let mut out: Vec<String> = run.unseen.iter().take(TOLD).cloned().collect();
    if let Some(more @ 1..) = run.unseen.len().checked_sub(TOLD) {
        out.push(format!("And {} more processes could not be recorded.", grouped(more as u64)));
    }
    out
}
