//! The words of it.

use std::collections::BTreeSet;

use holdup_model::Nanos;
use holdup_policies::{
    Better, Kind, PAPER_SLICE_NS, PolicyRun, PolicyThread, ProgramPolicies, Sweep, mean_energy, mean_gain,
    paper_means,
};

use super::PoliciesTold;
use crate::Look;
use crate::numbers::factor;
use crate::numbers::{counted, percent, time};

/// A program does alone what is worth dividing from this share of its time on.
const WORTH_DIVIDING: f64 = 0.05;

/// A change as a share, with its sign: `+4.6 %`.
pub(crate) fn gain(share: f64) -> String {
    let rounded = (share * 1000.0).round() / 10.0;
    if rounded == 0.0 { "0.0 %".to_owned() } else { format!("{rounded:+.1} %") }
}

/// A change of an amount as a share, in words: `2.0 % less`, `as much`.
fn more_or_less(share: f64) -> String {
    match gain(share).split_at(1) {
        ("+", amount) => format!("{amount} more"),
        ("-", amount) => format!("{amount} less"),
        _ => "as much".to_owned(),
    }
}

/// A frequency: `2 GHz`, `2.25 GHz`.
pub(crate) fn gigahertz(frequency: f64) -> String {
    format!("{} GHz", (frequency * 1000.0).round() / 1000.0)
}

/// A length of time in nanoseconds.
pub(crate) fn nanos(nanoseconds: f64, look: Look) -> String {
    time(Nanos::new(nanoseconds.max(0.0).round() as u64), look)
}

/// A program and its number of threads.
pub(crate) fn program(of: &ProgramPolicies, look: Look) -> String {
    crate::escape::sentence(&of.name, look)
}

/// A run's time.
pub(crate) fn seconds(run: &PolicyRun, look: Look) -> String {
    nanos(run.seconds * 1e9, look)
}

/// Who a policy makes fast.
pub(crate) fn who(run: &PolicyRun) -> String {
    let numbers = run.chosen.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match run.policy.as_str() {
        "none" => "nobody".to_owned(),
        "all" => "all cores".to_owned(),
        "offline" if run.chosen.len() == 1 => format!("thread {numbers}, the most critical"),
        "offline" => format!("threads {numbers}, the most critical"),
        "single" if run.chosen.is_empty() => "nobody: no single thread helps".to_owned(),
        "single" => format!("thread {numbers}, the best by trying each"),
        "tcp" => "who missed caches most in the slice before".to_owned(),
        "bis" => "who holds what most wait for".to_owned(),
        "dynamic" => "the most critical of the slice before".to_owned(),
        other => other.to_owned(),
    }
}

/// What it was simulated on.
pub(crate) fn setting(of: &ProgramPolicies, told: &PoliciesTold, look: Look) -> String {
    let slice = nanos(of.slice_ns, look);
    let base = of.run("none").map_or_else(String::new, |run| seconds(run, look));
    let paper = match of.slice_ns.total_cmp(&PAPER_SLICE_NS) {
        std::cmp::Ordering::Equal => ", as in the paper".to_owned(),
        _ => format!(
            " where the paper has {}: program and slice are smaller together",
            nanos(PAPER_SLICE_NS, look)
        ),
    };
    format!(
        "{} on {} of {} ({}; fast is {}): {base}; slices of {slice}{paper}.",
        counted(u64::from(of.working), "thread", "threads"),
        counted(u64::from(of.cores), "core", "cores"),
        crate::escape::sentence(&told.machine, look),
        gigahertz(told.frequency),
        gigahertz(told.fast),
    )
}

/// What the table says, in a sentence or two.
pub(crate) fn answer(of: &ProgramPolicies) -> String {
    let Some(critical) = of.most_critical() else { return "No thread did anything.".to_owned() };
    let share = percent(critical.criticality);
    let mut told = match of.stands_out() {
        true => format!("Thread {} is the most critical one ({share} of the time).", critical.number),
        false => format!(
            "No thread stands out: the most critical one, {}, is so for {share} of the time.",
            critical.number
        ),
    };
    match (of.better(), of.simulated_best()) {
        (Some(why), Some(best)) => {
            let because = match why {
                Better::Memory => {
                    format!("it waits for memory in {} of that", percent(critical.memory()))
                }
                Better::Hidden => "others run as long beside it".to_owned(),
            };
            let predicted = of.predicted_best().is_some_and(|found| of.is_best(found));
            let named = if predicted { ", as predicted" } else { ", which was not predicted" };
            told.push_str(&format!(
                " But {because}: thread {} is the better one to make fast{named} ({} instead of {}).",
                best.number,
                gain(best.simulated.unwrap_or(1.0) - 1.0),
                gain(critical.simulated.unwrap_or(1.0) - 1.0),
            ));
        }
        _ => told.push_str(&format!(
            " Making it fast for the whole run gives {}.",
            gain(of.gain("offline").unwrap_or(0.0))
        )),
    }
    let dynamic = of.gain("dynamic").unwrap_or(0.0);
    told.push_str(&format!(" Deciding anew in each slice (dynamic) gives {}", gain(dynamic)));
    if let Some(energy) = of.energy("dynamic") {
        told.push_str(&format!(" for {} energy", more_or_less(energy - 1.0)));
        if let Some(all) = of.energy("all") {
            told.push_str(&format!("; with all fast it is {}", more_or_less(all - 1.0)));
        }
    }
    told.push('.');
    told
}

/// What dividing the work would give that a thread does alone (the paper's first use case).
pub(crate) fn dividing(of: &ProgramPolicies) -> Option<String> {
    let alone = of.threads.iter().max_by(|one, other| one.alone.total_cmp(&other.alone))?;
    (alone.alone >= WORTH_DIVIDING).then(|| {
        format!(
            "Thread {} works while all others wait for {} of the time. If that were divided among all {} threads, the \
             program would be {} times as fast.",
            alone.number,
            percent(alone.alone),
            of.working,
            factor(of.divided(alone))
        )
    })
}

/// The threads that a table of threads has: the most critical ones, and those that gain most.
pub(crate) fn threads(of: &ProgramPolicies, most: usize) -> Vec<&PolicyThread> {
    let mut told: Vec<&PolicyThread> = of.by_criticality().into_iter().take(most).collect();
    for best in [of.predicted_best(), of.simulated_best()].into_iter().flatten() {
        if !told.iter().any(|thread| thread.number == best.number) {
            told.push(best);
        }
    }
    told
}

/// What kind of criticality a sweep shows (section 5.3).
pub(crate) fn kind(sweep: &Sweep) -> String {
    let thread = sweep.thread;
    match sweep.kind() {
        Kind::None => format!("Thread {thread}'s speed changes next to nothing: no thread is critical."),
        Kind::InterThread(knee) => format!(
            "Inter-thread criticality: others wait for thread {thread} until it is as fast as they need; above about {} \
             nothing is gained.",
            gigahertz(knee)
        ),
        Kind::Sequential => format!(
            "Sequential criticality: thread {thread} works while nobody else does, so that each step is worth as much as the one before."
        ),
        Kind::Mixed(knee) => format!(
            "Both kinds: up to about {} others wait for thread {thread}, above it only what it does alone becomes shorter.",
            gigahertz(knee)
        ),
    }
}

/// Whether the validation bears criticality out.
pub(crate) fn validated(of: &ProgramPolicies) -> String {
    let Some(first) = of.validation.first() else { return String::new() };
    let best = of.validation.iter().max_by(|one, other| one.speedup.total_cmp(&other.speedup));
    match best {
        Some(best) if best.speedup - 1.0 < 0.03 => {
            "No single thread makes the program 3 % faster: there is none to accelerate.".to_owned()
        }
        Some(best) if best.thread == first.thread || best.speedup - first.speedup < 0.005 => {
            "The most critical thread is the best one to accelerate.".to_owned()
        }
        Some(best) => {
            format!("Thread {} gains more than the most critical one, {}.", best.thread, first.thread)
        }
        None => String::new(),
    }
}

/// The numbers of threads that there are means for, and sentences about them.
pub(crate) fn means(told: &PoliciesTold) -> Vec<String> {
    let numbers: BTreeSet<u32> = told.programs.iter().map(|program| program.working).collect();
    numbers.into_iter().filter_map(|number| mean(told, number)).collect()
}

fn mean(told: &PoliciesTold, working: u32) -> Option<String> {
    let programs: Vec<&ProgramPolicies> =
        told.programs.iter().filter(|program| program.working == working).collect();
    let [dynamic, bis, offline] = ["dynamic", "bis", "offline"]
        .map(|policy| mean_gain(programs.iter().copied(), policy).unwrap_or(0.0));
    let energy = |policy| mean_energy(programs.iter().copied(), policy);
    let mut line = format!(
        "{} with {working} threads: dynamic {}, BIS {}, offline {}",
        counted(programs.len() as u64, "program", "programs"),
        gain(dynamic),
        gain(bis),
        gain(offline)
    );
    if let (Some(dynamic), Some(all)) = (energy("dynamic"), energy("all")) {
        line.push_str(&format!("; energy {}, with all fast {}", gain(dynamic - 1.0), gain(all - 1.0)));
    }
    line.push('.');
    if let Some(paper) = paper_means(working) {
        line.push_str(&format!(
            " The paper, over its programs: dynamic {}, BIS {}; energy {}, with all fast {}.",
            gain(paper.dynamic),
            gain(paper.bis),
            gain(paper.dynamic_energy - 1.0),
            gain(paper.all_energy - 1.0)
        ));
    }
    Some(line)
}

/// What the unit that computes criticality did under the dynamic policy (section 3.2).
pub(crate) fn unit(of: &ProgramPolicies) -> Option<String> {
    let run = of.run("dynamic").filter(|run| run.updates.0 > 0 && run.slices > 0)?;
    Some(format!(
        "Criticality was updated {} times, {} times a slice; divisions and additions took {} mW.",
        crate::numbers::grouped(run.updates.0),
        crate::numbers::grouped(run.updates.0 / run.slices),
        figure(run.unit_milliwatts())
    ))
}

fn figure(value: f64) -> String {
    if value < 0.0995 { format!("{value:.3}") } else { format!("{value:.2}") }
}

/// Every sentence behind the tables.
pub(crate) fn notes(told: &PoliciesTold, look: Look) -> Vec<String> {
    let mut notes: Vec<String> = told.warnings.clone();
    if !told.has_energy {
        notes.push(format!(
            "The machine {} has no constants for energies ([energy] in its file).",
            told.machine
        ));
    }
    for program in &told.programs {
        for warning in &program.warnings {
            let said = format!("{}: {warning}", program.name);
            if !notes.contains(&said) {
                notes.push(said);
            }
        }
    }
    notes.iter().map(|note| crate::scaling::words::sentences(note, look)).collect()
}
