//! The answer in sentences: where the cycles go, what grew with the cores, which lines are shared in vain, what is full.

use holdup_cycles::{FalseSharing, Growth, PlaceCycles, SharedBytes};
use holdup_model::Arrange;
use holdup_model::cycles::Family;
use holdup_model::cycles::{CycleComponent, CycleStack, Resource, Simulated};
use holdup_speedup::SpeedupStack;

use super::view::{View, cpi, largest, share};
use super::{PaddedRun, SimRun, words};
use crate::numbers::{counted, percent};
use crate::why::words as why;
use crate::{Look, escape, numbers};

/// A place is named in the first sentence if it has so much of the component.
const MUCH: f64 = 0.5;
const SOME: f64 = 0.15;

/// A resource that is busy for so much of the time is told of; so is one at which a request waits so long on average (cycles).
const BUSY: f64 = 0.5;
const LONG_QUEUE: f64 = 10.0;

/// A speedup that is as near to the perfect one needs no reason.
const LOST: f64 = 0.01;

/// Data that comes from other cores.
const OF_OTHERS: [CycleComponent; 3] =
    [CycleComponent::MemL1Neighbor, CycleComponent::MemL2Neighbor, CycleComponent::MemOffSocket];

/// At most so many users of a shared line are named in a sentence.
const MOST_BYTES: usize = 3;

/// The file name of the program, without its directory.
pub(crate) fn program(view: &View, look: Look) -> String {
    match view.told.command.first().map(|path| path.rsplit('/').next().unwrap_or(path)) {
        Some(file) if !file.is_empty() => escape::name(file, look),
        _ => "the program".to_owned(),
    }
}

/// What was simulated: `16 threads on 16 cores of dunnington, perfect branches`.
pub(crate) fn what(run: &SimRun, look: Look) -> String {
    let simulated = &run.simulated;
    let mut text = format!(
        "{} on {} of {}",
        counted(simulated.threads.len() as u64, "thread", "threads"),
        counted(u64::from(simulated.cores), "core", "cores"),
        machine(simulated, look)
    );
    if !run.input.is_empty() {
        text = format!("{}: {text}", escape::name(&run.input, look));
    }
    for change in &simulated.changes {
        text.push_str(&format!(", {}", escape::sentence(change, look)));
    }
    text
}

pub(crate) fn machine(simulated: &Simulated, look: Look) -> String {
    match simulated.machine.as_str() {
        "" => "an unnamed machine".to_owned(),
        name => escape::name(name, look),
    }
}

/// How long it took: `12.3 M cycles (4.6 ms), CPI 1.81`.
pub(crate) fn length(run: &SimRun, look: Look) -> String {
    let simulated = &run.simulated;
    let mut text = format!("{} cycles", why::count(simulated.cycles));
    if simulated.frequency > 0.0 {
        text.push_str(&format!(" ({})", numbers::time(simulated.time(), look)));
    }
    if let Some(sample) = simulated.sampled {
        text.push_str(&format!(" {} {} (sampled)", plus_minus(look), percent(sample.error)));
    }
    let all: u64 = simulated.threads.iter().map(|thread| thread.stack.total()).sum();
    if let Some(cpi) = cpi(all, simulated.instructions) {
        text.push_str(&format!(", CPI {}", numbers::factor(cpi)));
    }
    text
}

fn plus_minus(look: Look) -> &'static str {
    if look.unicode { "±" } else { "+-" }
}

/// What was simulated and how long it took, in a clause.
pub(crate) fn heading(view: &View, look: Look) -> String {
    match view.main() {
        None => "Nothing was simulated.".to_owned(),
        Some(run) if run.simulated.threads.is_empty() || run.simulated.cycles == 0 => {
            format!("{}: nothing was executed.", what(run, look))
        }
        Some(run) => format!("{}: {};", what(run, look), length(run, look)),
    }
}

/// Where most cycles go, in a clause that follows the heading. Where that is waiting, what threads do otherwise is told too.
pub(crate) fn because(view: &View, places: &[PlaceCycles], look: Look) -> Option<String> {
    let aggregate = view.main_aggregate()?;
    let (component, part) = largest(&aggregate.stack)?;
    let told = |component: CycleComponent| {
        let place = mostly_in(component, places, look).map_or_else(String::new, |place| format!(", {place}"));
        format!("{} ({}){place}", component.name(), component.meaning())
    };
    let mut text = format!("{} of the cycles are {}.", percent(part), told(component));
    let is_waiting = |component: CycleComponent| matches!(component.family(), Family::Sync | Family::Away);
    if is_waiting(component) {
        let mut executing = CycleStack::default();
        let parts = aggregate.stack.parts().filter(|(component, _)| !is_waiting(*component));
        parts.for_each(|(component, cycles)| executing.book(component, cycles));
        if let Some((component, part)) = largest(&executing) {
            text.push_str(&format!(
                " Of those in which threads execute, {} are {}.",
                percent(part),
                told(component)
            ));
        }
    }
    Some(text)
}

/// Where a component is: `mostly in transpose (fft.c:120)`.
fn mostly_in(component: CycleComponent, places: &[PlaceCycles], look: Look) -> Option<String> {
    let all: u64 = places.iter().map(|place| place.stack.get(component)).sum();
    let most = places.iter().max_by_key(|place| place.stack.get(component)).filter(|_| all > 0)?;
    let part = most.stack.get(component) as f64 / all as f64;
    let at = why::frames(&most.at, look);
    if part >= MUCH {
        Some(format!("mostly in {at}"))
    } else if part >= SOME {
        Some(format!("{} of them in {at}", percent(part)))
    } else {
        None
    }
}

/// How it goes on with more cores, in sentences.
pub(crate) fn grown(growth: &Growth) -> String {
    let (from, to) = growth.cores;
    let mut text = format!(
        "{} are {} times as fast as {from} ({} would be perfect)",
        counted(u64::from(to), "core", "cores"),
        numbers::factor(growth.speedup),
        numbers::factor(growth.ideal)
    );
    let added: f64 = growth.by.iter().map(|(_, cycles)| cycles.max(0.0)).sum();
    let removed: f64 = growth.by.iter().map(|(_, cycles)| (-cycles).max(0.0)).sum();
    let parts = |of: f64, sign: f64| {
        let mut parts: Vec<(CycleComponent, f64)> =
            growth.by.iter().map(|(component, cycles)| (*component, sign * cycles / of)).collect();
        parts.retain(|(_, part)| *part >= 0.1);
        parts.arrange_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let told =
            parts.iter().take(3).map(|(component, part)| format!("{} {}", component.name(), percent(*part)));
        told.collect::<Vec<_>>().join(", ")
    };
    if (growth.speedup / growth.ideal - 1.0).abs() < LOST || added + removed <= 0.0 {
        text.push('.');
        return text;
    }
    if growth.lost > 0.0 {
        text.push_str(&format!(". Of the core cycles that it takes more: {}.", parts(added, 1.0)));
        if removed > 0.2 * added {
            text.push_str(&format!(" Others became fewer: {}.", parts(removed, -1.0)));
        }
    } else {
        text.push_str(&format!(". Of the core cycles that are saved: {}.", parts(removed, -1.0)));
        if added > 0.2 * removed {
            text.push_str(&format!(" Others became more: {}.", parts(added, 1.0)));
        }
    }
    text
}

/// Bytes of a shared line and who uses them: `hits (thread 0 writes)`.
pub(crate) fn used(bytes: &SharedBytes, run: &SimRun, look: Look) -> String {
    let (verb, threads) = match bytes.writers.is_empty() {
        true => ("read", &bytes.readers),
        false => ("write", &bytes.writers),
    };
    let verb = if threads.len() == 1 { format!("{verb}s") } else { verb.to_owned() };
    format!("{} ({} {verb})", words::bytes(bytes, look), words::some_threads(&run.simulated, threads))
}

/// A line that is shared in vain, in sentences.
pub(crate) fn false_sharing(line: &FalseSharing, view: &View, look: Look) -> String {
    let Some(run) = view.main() else { return String::new() };
    let mut parts: Vec<String> =
        line.bytes.iter().take(MOST_BYTES).map(|bytes| used(bytes, run, look)).collect();
    let more = line.bytes.len().saturating_sub(MOST_BYTES);
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    // Of the instructions that use the line, the one that waits most for what other cores have.
    let places = &run.simulated.places;
    let cycles = |address: u64| -> u64 {
        let found = places.binary_search_by_key(&address, |place| place.address);
        found.map_or(0, |index| OF_OTHERS.iter().map(|part| places[index].stack.get(*part)).sum())
    };
    let at = line.bytes.iter().flat_map(|bytes| &bytes.instructions);
    let most = at.max_by_key(|address| (cycles(**address), std::cmp::Reverse(**address)));
    let place = most.and_then(|address| view.told.names.code.get(address));
    let at = place.map_or_else(String::new, |frames| format!(" in {}", why::frames(frames, look)));
    format!(
        "False sharing{at}: {} are in one cache line, at {:#x}, that goes from core to core {}; {} of all cycles (latency). {}",
        joined(&parts),
        line.address,
        counted(line.transfers, "time", "times"),
        percent(line.share),
        padding(line, run)
    )
}

/// What padding gains.
fn padding(line: &FalseSharing, run: &SimRun) -> String {
    const HOW: &str = "A line for each (alignas(64))";
    let Some(padded) = run.with_padding(line.address) else { return format!("{HOW} saves at most that.") };
    let how = match padded.lines.len() {
        1 => HOW.to_owned(),
        lines => format!("{HOW}, in all {} that this code uses,", counted(lines as u64, "line", "lines")),
    };
    match saved(padded, run) {
        saved if saved > 0.0 => format!("{how} saves {} of the run, as simulated.", percent(saved)),
        _ => format!("{how} saves nothing, as simulated: others wait for more."),
    }
}

/// The share of a run that padding saves.
fn saved(padded: &PaddedRun, run: &SimRun) -> f64 {
    1.0 - padded.cycles as f64 / run.simulated.cycles.max(1) as f64
}

/// What padding gains where several pieces of code share lines in vain, and all are fixed.
pub(crate) fn all_padded(view: &View) -> Option<String> {
    let run = view.main()?;
    let all = run.padded.iter().max_by_key(|padded| padded.lines.len()).filter(|_| run.padded.len() > 1)?;
    let saved = saved(all, run);
    let lines = counted(all.lines.len() as u64, "falsely shared line", "falsely shared lines");
    (saved > 0.0).then(|| format!("Padding all {lines} saves {} of the run, as simulated.", percent(saved)))
}

/// `a, b and c`.
pub(crate) fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The resources of a run that are full, in a clause each, the fullest first.
pub(crate) fn full_resources(run: &SimRun, look: Look) -> Vec<String> {
    let cycles = run.simulated.cycles.max(1) as f64;
    let busy = |resource: &Resource| resource.busy as f64 / cycles;
    let wait = |resource: &Resource| resource.queueing as f64 / resource.requests.max(1) as f64;
    let mut full: Vec<&Resource> = run
        .simulated
        .resources
        .iter()
        .filter(|resource| {
            busy(resource) >= BUSY || (wait(resource) >= LONG_QUEUE && busy(resource) >= BUSY / 5.0)
        })
        .collect();
    full.arrange_by(|a, b| busy(b).total_cmp(&busy(a)));
    full.iter()
        .map(|resource| {
            format!(
                "{} is busy {} of the time; a request queues {} cycles there",
                escape::name(&resource.name, look),
                percent(busy(resource)),
                cycles_told(wait(resource))
            )
        })
        .collect()
}

/// A number of cycles: `31.2`, `12.3 k`.
pub(crate) fn cycles_told(cycles: f64) -> String {
    if cycles < 1_000.0 { numbers::figure(cycles) } else { why::count(cycles as u64) }
}

/// What a speedup stack says, in a sentence.
pub(crate) fn speedup(stack: &SpeedupStack, look: Look) -> String {
    let most = stack.losses.iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, loss)| *loss > 0.0);
    let most = most.map_or_else(String::new, |(loss, amount)| {
        format!("; most is lost to {}: {} ({})", loss.name(), numbers::factor(*amount), loss.meaning())
    });
    format!(
        "Speedup {} of {} on {}{most}.",
        numbers::factor(stack.speedup),
        stack.cores,
        escape::name(&stack.machine, look)
    )
}

/// What is odd about which threads are in the stacks, in a sentence.
pub(crate) fn left_out(view: &View) -> Option<String> {
    let aggregate = view.main_aggregate()?;
    if aggregate.stack.total() == 0 {
        return None;
    }
    let left_out: usize = aggregate.groups.iter().map(|group| group.left_out.len()).sum();
    if aggregate.all_wait {
        return Some(
            "All threads wait at barriers, conditions or joins for more than half their time, so none is left out of the shares."
                .to_owned(),
        );
    }
    (left_out > 0).then(|| {
        format!(
            "{} not in the shares: barriers, conditions and joins take more than half of their time.",
            match left_out {
                1 => "One thread is".to_owned(),
                many => format!("{many} threads are"),
            }
        )
    })
}

/// The components of a stack that are worth a word: `mem-dram 61 %, depend-int 20 %`.
pub(crate) fn mostly(stack: &CycleStack, most: usize) -> String {
    let mut parts: Vec<(CycleComponent, f64)> =
        stack.parts().map(|(component, _)| (component, share(stack, component))).collect();
    parts.arrange_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let told = parts.iter().enumerate().filter(|(index, (_, part))| *index == 0 || *part >= 0.1);
    told.take(most)
        .map(|(_, (component, part))| format!("{} {}", component.name(), percent(*part)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// How fast the simulator was.
pub(crate) fn speed(view: &View) -> Option<String> {
    let speeds: Vec<f64> = view.told.runs.iter().filter_map(|run| run.mips).collect();
    let least = speeds.iter().copied().min_by(f64::total_cmp)?;
    let most = speeds.iter().copied().max_by(f64::total_cmp)?;
    let told = match numbers::figure(least) == numbers::figure(most) {
        true => numbers::figure(least),
        false => format!("{} to {}", numbers::figure(least), numbers::figure(most)),
    };
    Some(format!("Simulated {told} million instructions each second."))
}

/// What makes the figures of any simulation doubtful, each once.
pub(crate) fn doubts(view: &View) -> Vec<String> {
    each_once(view.told.runs.iter().flat_map(|run| &run.simulated.doubts))
}

/// All else that the reader must know, each once.
pub(crate) fn warnings(view: &View) -> Vec<String> {
    let own = view.told.runs.iter().flat_map(|run| &run.simulated.warnings);
    each_once(view.told.warnings.iter().chain(own))
}

/// Sentences in the order in which they come first.
fn each_once<'a>(sentences: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for sentence in sentences {
        if !sentence.trim().is_empty() && !seen.contains(sentence) {
            seen.push(sentence.clone());
        }
    }
    seen
}

/// What tells simulations apart, as the title of their column.
pub(crate) fn run_title(view: &View) -> &'static str {
    let differs = view.differs();
    match (differs.input, differs.machine, differs.cores, differs.changes) {
        (false, false, true, false) => "cores",
        (false, true, false, false) => "machine",
        (true, false, false, false) => "input",
        (false, false, false, true) => "what if",
        _ => "simulation",
    }
}

/// What tells a simulation from the others.
pub(crate) fn label(view: &View, run: &SimRun, look: Look) -> String {
    let differs = view.differs();
    let simulated = &run.simulated;
    let mut parts = Vec::new();
    if differs.input {
        parts.push(if run.input.is_empty() { "-".to_owned() } else { escape::name(&run.input, look) });
    }
    if differs.machine {
        parts.push(machine(simulated, look));
    }
    if differs.cores {
        let alone = !(differs.input || differs.machine || differs.changes);
        parts.push(if alone { simulated.cores.to_string() } else { format!("{} cores", simulated.cores) });
    }
    if differs.changes {
        parts.push(match simulated.changes.as_slice() {
            [] => "as it is".to_owned(),
            changes => changes.iter().map(|change| escape::name(change, look)).collect::<Vec<_>>().join(", "),
        });
    }
    if parts.is_empty() { format!("{} cores", simulated.cores) } else { parts.join(", ") }
}
