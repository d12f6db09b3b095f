//! One static section, from its counts to what is told of it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use holdup_model::Arrange;
use holdup_model::counts::{CountedThread, Section};

use super::causes::{by_charge, describe};
use super::charge::Charges;
use super::copies::{Lines, one_for_each_line};
use super::deal::Dealt;
use super::measure::{Measured, measure, native, numbers, per_thread};
use super::paper::paper;
use super::program::{Line, Program, line_of};
use super::stacked::stacked;
use super::{Cause, CauseKind, Method, NativeImbalance, SectionWhy, Verdict, WhyOptions};

/// With fewer threads there are no statistics.
const FEWEST_THREADS: usize = 4;

/// Threads that idle for less than this share of their time on average are balanced.
const EQUAL: f64 = 0.01;

/// From this native imbalance on it is worth telling that threads that execute equally take differently long. Below, it may
/// be what the machine does to any run.
const NATIVELY_UNEQUAL: f64 = 0.1;

/// A score from which on a cause is told even if nothing of the variance is decided there. Weaker ones are what chance finds.
const STRONG: f64 = 0.5;

/// The share of the differences that a cause decides from which on it needs no statistics.
const KNOWN: f64 = 0.9;

/// Where causes explain less than this, it is looked whether each instance has code of its own.
const MOSTLY: f64 = 0.6;

/// How many numbers the columns of a section may have altogether; of longer sections those instances are looked at that have
/// the most idle time.
const MOST_NUMBERS: usize = 1 << 24;

/// Instances that are looked at one by one, at most.
const MOST_COPIES: usize = 32;

/// As many rows are looked at whatever the number of columns.
const FEWEST_ROWS: usize = 256;

/// Looks at a section; `None` if it was never executed. Adds to the warnings what the reader must know.
pub(super) fn look(
    program: &Program<'_>,
    section: &Section,
    options: &WhyOptions,
    warnings: &mut Vec<String>,
) -> Option<SectionWhy> {
    let dealt: Vec<Dealt<'_>> =
        section.instances.iter().map(|instance| Dealt::new(program.counts, instance)).collect();
    let instances: Vec<&Dealt<'_>> = dealt.iter().filter(|instance| !instance.threads.is_empty()).collect();
    if instances.is_empty() {
        return None;
    }
    let measured = measure(&instances);
    let native = native(&instances, &measured.threads, program.counts.native_match);
    let threads = instances.iter().map(|instance| instance.threads.len()).max().unwrap_or(0);
    let mut causes = Vec::new();
    if threads > 1 && measured.imbalance >= EQUAL {
        causes = causes_in(program, section, &instances, &measured.threads, options, warnings);
        let has_statistics = options.method == Method::Stacked && threads >= FEWEST_THREADS;
        if explained_by(&causes) < MOSTLY && has_statistics && instances.len() > 1 {
            let copies = in_copies(program, section, &instances, &measured.threads, options);
            if explained_by(&copies) > explained_by(&causes) {
                causes = copies;
            }
        }
    }
    let explained = explained_by(&causes);
    Some(SectionWhy {
        kind: section.kind,
        end: section.end.clone(),
        begin: section.begin.clone(),
        instances: instances.len() as u32,
        threads: threads as u32,
        imbalance: measured.imbalance,
        spread: measured.spread,
        verdict: verdict(program, threads, &measured, native.as_ref(), &causes),
        native,
        idle: measured.idle,
        worst: measured.worst,
        capacity: measured.capacity,
        share: 0.0,
        cost: 0.0,
        thread_numbers: numbers(program.counts, &measured.threads),
        time: measured.time,
        explained,
        unexplained: 1.0 - explained,
        causes,
        depends_on_schedule: section.depends_on_schedule.clone(),
        dealt_units: instances.iter().map(|instance| instance.units).sum(),
    })
}

/// The share of the differences that these causes account for.
fn explained_by(causes: &[Cause]) -> f64 {
    causes.iter().fold(0.0, |sum, cause| sum + cause.charge).clamp(0.0, 1.0)
}

/// What makes the threads of these instances unequal, together; `threads` are those whose counts are told.
fn causes_in(
    program: &Program<'_>,
    section: &Section,
    instances: &[&Dealt<'_>],
    threads: &[CountedThread],
    options: &WhyOptions,
    warnings: &mut Vec<String>,
) -> Vec<Cause> {
    let counts = |column| per_thread(instances, threads, column);
    let charges = Charges::new(program, instances, [&section.begin, &section.end]);
    if instances.iter().all(|instance| instance.threads.len() < FEWEST_THREADS) {
        let mut causes = by_charge(program, &charges, &counts);
        causes.iter_mut().for_each(|cause| cause.instances = instances.len() as u32);
        return causes;
    }
    let chosen = most_idle(program, instances);
    if chosen.len() < instances.len() {
        warnings.push(shortened(section, chosen.len(), instances.len()));
    }
    let judged = match options.method {
        Method::Paper => paper(program, &charges, &chosen, options),
        Method::Stacked => stacked(program, &charges, &chosen, options),
    };
    let (found, rest): (Vec<_>, Vec<_>) =
        judged.into_iter().map(|one| (one.found, (one.interval, one.stable))).unzip();
    let known: Vec<_> = found.iter().map(|found| found.blamed).zip(rest).collect();
    let described = describe(program, &charges, found, &counts, options.method).into_iter();
    let causes: Vec<(Cause, usize)> = described
        .map(|(cause, found)| {
            let rest = known.iter().find(|(blamed, _)| *blamed == found.blamed).map(|(_, rest)| *rest);
            let (interval, stable) = rest.unwrap_or((None, None));
            // It is that of the statistics' score, not of what is decided for certain.
            let interval = interval.filter(|_| cause.score == found.score);
            // One thread in many that does all of it is not drawn each time; what it does is known all the same.
            let interval = interval.filter(|(low, _)| *low > 0.0 || cause.charge < KNOWN);
            let instances = match options.method {
                Method::Paper => cause.instances,
                Method::Stacked => chosen.len() as u32,
            };
            (Cause { interval, stable, instances, ..cause }, found.regressor)
        })
        .collect();
    let mut causes = match options.method {
        Method::Paper => causes.into_iter().map(|(cause, _)| cause).collect(),
        Method::Stacked => one_for_each_line(causes, &charges),
    };
    if options.method == Method::Stacked {
        let lines = Lines::new(program, &charges);
        lines.complete(program, &charges, &mut causes);
        if explained_by(&causes) < MOSTLY {
            lines.add_others(program, &charges, &mut causes, &counts);
            causes.iter_mut().for_each(|cause| cause.instances = chosen.len() as u32);
        }
        causes.arrange_by(|a, b| {
            a.minor.cmp(&b.minor).then(b.charge.total_cmp(&a.charge)).then(b.score.total_cmp(&a.score))
        });
    }
    let is_weak = |cause: &Cause| cause.minor && cause.score < STRONG;
    if options.method == Method::Stacked && causes.iter().all(is_weak) { Vec::new() } else { causes }
}

/// What makes the threads unequal where each instance has a copy of the code of its own, as in a loop that the compiler has
/// unrolled over the barrier: then no block goes with the imbalance of all. Instances are looked at one by one, and what is at
/// one place in the source is one cause; it is told if it is found in instances with more than half of the idle time.
fn in_copies(
    program: &Program<'_>,
    section: &Section,
    instances: &[&Dealt<'_>],
    threads: &[CountedThread],
    options: &WhyOptions,
) -> Vec<Cause> {
    let mut chosen: Vec<&Dealt<'_>> = instances.to_vec();
    chosen.arrange_by_key(|instance| std::cmp::Reverse(instance.idle()));
    chosen.truncate(MOST_COPIES);
    let all: f64 = chosen.iter().map(|instance| instance.idle() as f64).sum();
    // Those of one instance have no interval together.
    let options = &WhyOptions { draws: 0, ..*options };
    let mut places: BTreeMap<(CauseKind, Line, Option<Line>), (Cause, f64)> = BTreeMap::new();
    for instance in chosen {
        let weight = instance.idle() as f64 / all.max(1.0);
        let own = causes_in(program, section, &[instance], threads, options, &mut Vec::new());
        for cause in own.into_iter().filter(|cause| !cause.minor) {
            let Some(at) = line_of(&cause.at) else { continue };
            let key = (cause.kind, at, cause.latch.as_deref().and_then(line_of));
            let (charge, score) = (weight * cause.charge, weight * cause.score);
            match places.entry(key) {
                Entry::Vacant(new) => {
                    let cause = Cause { charge, score, instances: 1, interval: None, stable: None, ..cause };
                    new.insert((cause, weight));
                }
                Entry::Occupied(mut known) => {
                    let (known, found) = known.get_mut();
                    *found += weight;
                    known.charge += charge;
                    known.score += score;
                    known.instances += 1;
                    for (sum, count) in known.counts.iter_mut().zip(cause.counts) {
                        *sum = sum.saturating_add(count);
                    }
                }
            }
        }
    }
    let often = places.into_values().filter(|(cause, found)| *found > 0.5 && cause.instances > 1);
    let mut causes: Vec<Cause> = often.map(|(cause, _)| cause).collect();
    causes.arrange_by(|a, b| b.charge.total_cmp(&a.charge));
    causes
}

/// The instances that are looked at, in order.
fn most_idle<'a, 'b>(program: &Program<'_>, instances: &[&'a Dealt<'b>]) -> Vec<&'a Dealt<'b>> {
    let columns = instances.iter().map(|instance| instance.entries.chunk_by(|a, b| a.0 == b.0).count()).max();
    let columns = columns.unwrap_or(0).min(program.counts.events() + program.counts.blocks.len()).max(1);
    let most_rows = (MOST_NUMBERS / columns).max(FEWEST_ROWS);
    let mut order: Vec<usize> = (0..instances.len()).collect();
    order.arrange_by_key(|at| (std::cmp::Reverse(instances[*at].idle()), *at));
    let mut rows = 0;
    order.retain(|at| {
        let first = rows == 0;
        rows += instances[*at].threads.len();
        first || rows <= most_rows
    });
    order.sort_unstable();
    order.into_iter().map(|at| instances[at]).collect()
}

fn shortened(section: &Section, chosen: usize, all: usize) -> String {
    let frame = section.end.frames.first();
    let place = frame.and_then(|frame| Some(format!("{}:{}", frame.file.as_deref()?, frame.line?)));
    let name = section.end.name.clone().or(place).unwrap_or_else(|| "a section".to_owned());
    format!("{name}: of {all} instances the {chosen} with the most idle time were looked at for causes")
}

fn verdict(
    program: &Program<'_>,
    threads: usize,
    measured: &Measured,
    native: Option<&NativeImbalance>,
    causes: &[Cause],
) -> Verdict {
    if threads < 2 {
        return Verdict::OneThread;
    }
    if measured.imbalance < EQUAL {
        let unequal =
            native.is_some_and(|native| native.imbalance >= NATIVELY_UNEQUAL && !native.is_little());
        return if unequal { Verdict::ExecuteEqually } else { Verdict::Balanced };
    }
    if threads < FEWEST_THREADS {
        return Verdict::TooFewThreads;
    }
    let Some(first) = causes.first() else { return Verdict::Unexplained };
    let generated = |block: Option<holdup_model::counts::BlockId>| {
        block.and_then(|block| program.counts.blocks.get(block.index())).is_some_and(|block| block.generated)
    };
    if first.kind != CauseKind::Library
        && (generated(first.leader) || generated(first.target))
        && first.at.is_empty()
    {
        return Verdict::GeneratedCode;
    }
    Verdict::Found
}
