//! What surrounded the run, and what saw it: the lines below the findings that say how far to trust them.

use holdup_criticality::{Diagnosis, EnvironmentNote, FindingKind, NoteKind};
use holdup_model::{CostPart, Doing, Nanos, Process, Run};

use crate::ink::Ink;
use crate::lines::{Line, labelled};
use crate::numbers::{counted, grouped, percent, percent_range, time};
use crate::{Look, escape, shares};

/// From this share of a process's time on, the kernel's records count as complete: the first switch of a thread comes
/// shortly after its start.
const COMPLETE: f64 = 0.995;

/// At most so many notes are told.
const MOST_NOTES: usize = 3;

/// Limits: what findings there are about them, notes, and how much of their time threads had a core.
/// That nothing is in the way is said only where the machine was looked at.
pub(crate) fn environment(run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let mut pieces: Vec<String> = diagnosis
        .findings
        .iter()
        .filter(|finding| is_outside(finding.kind))
        .map(|finding| format!("{} costs {}", finding.kind.word(), time(finding.cost, look)))
        .collect();
    let cores = shares::effective_cores(diagnosis);
    if pieces.is_empty() && cores > 0 && diagnosis.workers > cores {
        let cores = counted(u64::from(cores), "core", "cores");
        pieces.push(format!("{} threads at work on {cores}", grouped(u64::from(diagnosis.workers))));
    }
    let notes: Vec<_> = diagnosis.environment.iter().filter(|note| !is_much_load(diagnosis, note)).collect();
    let (notes, more) = notes.split_at(notes.len().min(MOST_NOTES));
    pieces.extend(notes.iter().map(|note| escape::sentence(&note.what, look)));
    if !more.is_empty() {
        pieces.push(format!("and {}: holdup report FILE --json", counted(more.len() as u64, "more", "more")));
    }
    let was_looked_at = !run.environment.placements.is_empty();
    if pieces.is_empty() && was_looked_at && load(diagnosis).is_none() {
        pieces.push("nothing in the way".to_owned());
    }
    pieces.push(match shares::on_core(diagnosis) {
        Some(share) => format!("active threads had a core {} of the time", percent(share)),
        None => "time without a core is not known".to_owned(),
    });
    let pieces = pieces.iter().map(|text| Line::default().with(text, Ink::Text)).collect();
    labelled("environment", Ink::Faint, pieces, look)
}

/// From this share of the run on, what others took stands above the findings: all times are longer by that.
const MUCH_LOAD: f64 = 0.05;

fn is_much_load(diagnosis: &Diagnosis, note: &EnvironmentNote) -> bool {
    note.kind == NoteKind::Load && note.cost.is_some_and(|cost| cost.share_of(diagnosis.wall) >= MUCH_LOAD)
}

/// What is said above the findings: that the run was short, or else that the recording itself cost much; that others used the
/// CPUs much.
pub(crate) fn first_of_all(run: &Run, diagnosis: &Diagnosis) -> Vec<String> {
    short(diagnosis).or_else(|| costly(run)).into_iter().chain(load(diagnosis)).collect()
}

/// Of a run that is shorter than this it is said: starting and ending, and what else happens on the machine, are a part of it that
/// differs from run to run.
const SHORT: Nanos = Nanos::new(50_000_000);

fn short(diagnosis: &Diagnosis) -> Option<String> {
    (diagnosis.wall < SHORT && diagnosis.wall > Nanos::ZERO).then(|| {
        format!("A run of {} says little: give the program more to do, or repeat it (-r 20).", diagnosis.wall)
    })
}

/// From this share of the CPU time on, what recording cost is said first.
const MUCH_COST: f64 = 0.05;

/// What is said where recording cost much, with what to leave out.
fn costly(run: &Run) -> Option<String> {
    let range = run.cost_range().filter(|range| range.middle() >= MUCH_COST)?;
    let both = run.collectors.len() > 1;
    let remedy = match run.cost?.dearer(run.cpu_time()) {
        CostPart::Kernel if both => {
            ", most of it the kernel's records: record with --collectors preload to see without them"
        }
        CostPart::Library if both => {
            ", most of it what the library does at locks and calls: record with --collectors kernel to see without it"
        }
        _ => "",
    };
    let cost = percent_range(range.least, range.most);
    Some(format!("Recording took {cost} of the program's CPU time{remedy}."))
}

fn load(diagnosis: &Diagnosis) -> Option<String> {
    let note = diagnosis.environment.iter().find(|note| is_much_load(diagnosis, note))?;
    Some(format!("Measured while {}. {}", note.what, note.hint))
}

/// Whether a finding is about what other than the program's own doing took its cores.
pub(crate) fn is_outside(kind: FindingKind) -> bool {
    matches!(
        kind,
        FindingKind::Quota | FindingKind::Affinity | FindingKind::Oversubscription | FindingKind::Delayed
    )
}

/// Which collectors gave what, and what they cost.
pub(crate) fn recorded_by(run: &Run, process: &Process, look: Look) -> Vec<Line> {
    let cost = match run.cost_range() {
        Some(cost) => format!("recording cost {}", percent_range(cost.least, cost.most)),
        None => "recording cost not measured".to_owned(),
    };
    let pieces = [collectors(run, process, look), cost];
    let pieces = pieces.iter().map(|text| Line::default().with(text, Ink::Text)).collect();
    labelled("recorded by", Ink::Faint, pieces, look)
}

/// What could be found, and what could not, in what the collectors saw of a process.
pub(crate) fn seen(run: &Run, process: &Process) -> (String, String) {
    let by_kernel_alone = process.seen_by.kernel && !process.seen_by.preload;
    let has_samples = !process.samples.is_empty();
    let mut seen = vec![if by_kernel_alone {
        "blocked threads"
    } else {
        "waits for locks, barriers, condition variables, semaphores and joins"
    }];
    seen.extend(["serial phases", "late starts", "I/O", "sleep", "wake-ups"]);
    let mut unseen = Vec::new();
    if by_kernel_alone {
        unseen.push("which locks and barriers threads waited for");
    }
    (if has_samples { &mut seen } else { &mut unseen }).push("loops that wait");
    let has_accesses = has_accesses(process);
    if has_accesses {
        seen.push("cache lines that threads share");
    }
    if run.environment.usage(process.pid).is_some() {
        seen.push("page faults");
    }
    unseen.push(if has_accesses { "other use of caches" } else { "caches" });
    (format!("{} and cores", seen.join(", ")), format!("{} and memory", unseen.join(", ")))
}

/// True if samples say of most of the time on a core what threads accessed there. Of threads that are shorter than a sampling period
/// there are hardly any.
fn has_accesses(process: &Process) -> bool {
    let running = || process.samples.iter().filter(|sample| sample.doing == Doing::Running);
    let seen: Nanos = running().map(|sample| sample.weight).sum();
    let on_core: Nanos = process.on_core.iter().map(|span| span.end.since(span.begin)).sum();
    running().any(|sample| sample.access.is_some()) && seen.share_of(on_core) >= 0.5
}

pub(crate) fn collectors(run: &Run, process: &Process, look: Look) -> String {
    match (process.seen_by.preload, process.seen_by.kernel) {
        (true, true) => format!("preload and {}", kernel(process)),
        (true, false) => "preload".to_owned(),
        (false, true) => kernel(process),
        (false, false) if run.collectors.is_empty() => "an unknown collector".to_owned(),
        (false, false) => escape::sentence(&run.collectors.join(" and "), look),
    }
}

/// `kernel (context switches, 1 532 samples)`.
fn kernel(process: &Process) -> String {
    let mut gave = Vec::new();
    match shares::switches(process) {
        0.0 => {}
        share if share >= COMPLETE => gave.push("context switches".to_owned()),
        share => gave.push(format!("context switches for {} of the time", percent(share))),
    }
    if !process.readings.is_empty() {
        gave.push("CPU times by polling".to_owned());
    }
    if !process.samples.is_empty() {
        gave.push(counted(process.samples.len() as u64, "sample", "samples"));
    }
    if gave.is_empty() { "kernel".to_owned() } else { format!("kernel ({})", gave.join(", ")) }
}
