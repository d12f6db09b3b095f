//! Nothing is found where there is nothing: real counts, with the times of the threads exchanged among them.
//!
//! What threads executed then has nothing to do with how long they took, but by chance; chance may have its say in at most
//! one section of twenty.

use crate::stage::forged::Numbers;
use crate::stage::lime::{Compiler, Way, workload};
use crate::stage::{HOLDUP, Stage, run};
use holdup_counts::counts;
use holdup_imbalance::{WhyOptions, why};
use holdup_model::counts::Counts;
use holdup_recording::Recording;
use std::process::Command;

/// How often the times of each program are exchanged.
const EXCHANGES: u64 = 12;

/// Programs with many causes and with none, and numbers of threads.
const PROGRAMS: [(&str, u32); 8] = [
    ("lime_two", 8),
    ("lime_tree", 8),
    ("lime_radix", 16),
    ("lime_switch", 16),
    ("lime_lu", 32),
    ("lime_root", 8),
    ("lime_turns", 64),
    ("lime_noise", 16),
];

fn recorded(stage: &Stage, name: &str, threads: u32) -> Counts {
    let way = Way { compiler: Compiler::Gcc, level: '2', threads };
    let program = workload(name).build(stage, way, &[]).expect("gcc");
    let file = stage.path(format!("{name}.holdup"));
    let mut command = Command::new(HOLDUP);
    command.args(["record", "--instructions", "-o"]).arg(&file).arg("--").arg(program);
    let ended = run(command.arg(threads.to_string()));
    assert_eq!(ended.status, 0, "{ended:?}");
    let (recording, warnings) = Recording::open(&file).expect("a recording");
    counts(&recording, &recording.run(&warnings)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// How times are exchanged.
#[derive(Clone, Copy, Debug)]
enum Exchange {
    /// Anew in each instance of a section.
    EachInstance,
    /// In the same way in all instances of a section: each thread keeps the times of one other thread.
    WholeSection,
}

/// An order that exchanges these times. If one thread alone has much to do, chance leaves all times nearly as they are in
/// one of as many tries as there are threads; then the cause is there, and to find it is no mistake.
fn exchanging(times: &[u64], random: &mut Numbers) -> Vec<usize> {
    loop {
        let order = random.order(times.len());
        let exchanged: Vec<u64> = order.iter().map(|&row| times[row]).collect();
        if correlation(times, &exchanged) < 0.9 {
            return order;
        }
    }
}

/// Pearson's correlation; 0 where either does not vary.
fn correlation(a: &[u64], b: &[u64]) -> f64 {
    let mean = |values: &[u64]| values.iter().sum::<u64>() as f64 / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum = |left: &[u64], left_mean: f64, right: &[u64], right_mean: f64| -> f64 {
        left.iter().zip(right).map(|(x, y)| (*x as f64 - left_mean) * (*y as f64 - right_mean)).sum()
    };
    let spread = (sum(a, mean_a, a, mean_a) * sum(b, mean_b, b, mean_b)).sqrt();
    if spread > 0.0 { sum(a, mean_a, b, mean_b) / spread } else { 0.0 }
}

fn exchange(counts: &mut Counts, how: Exchange, random: &mut Numbers) {
    for section in &mut counts.sections {
        let mut kept: Option<Vec<usize>> = None;
        for instance in &mut section.instances {
            let rows = instance.time.len();
            let order = match (how, kept.take()) {
                (Exchange::WholeSection, Some(order)) if order.len() == rows => order,
                _ => exchanging(&instance.time, random),
            };
            instance.time = order.iter().map(|&row| instance.time[row]).collect();
            kept = Some(order);
        }
    }
}

/// Of the sections with times that differ: how many there are, and in how many a cause is found.
fn found(counts: &Counts) -> (u32, u32) {
    let result = why(counts, &WhyOptions { draws: 0, ..WhyOptions::default() });
    let uneven = result.sections.iter().filter(|section| section.imbalance > 0.01);
    uneven.fold((0, 0), |(all, with), section| {
        let found = section.causes.iter().any(|cause| !cause.minor);
        (all + 1, with + u32::from(found))
    })
}

fn check(how: Exchange) {
    let stage = Stage::new();
    let (mut all, mut with, mut report) = (0, 0, String::new());
    let mut random = Numbers(6);
    for (name, threads) in PROGRAMS {
        let real = recorded(&stage, name, threads);
        for _ in 0..EXCHANGES {
            let mut exchanged = real.clone();
            exchange(&mut exchanged, how, &mut random);
            let (sections, reported) = found(&exchanged);
            all += sections;
            with += reported;
            report += &format!("{name} at {threads} threads: {reported} of {sections}\n");
        }
    }
    assert!(all >= 100, "{all} sections are too few to tell");
    assert!(with * 20 <= all, "{how:?}: causes in {with} of {all} sections without any\n{report}");
}

#[test]
fn times_exchanged_in_each_instance_have_no_cause() {
    check(Exchange::EachInstance);
}

#[test]
fn times_exchanged_among_threads_have_no_cause() {
    check(Exchange::WholeSection);
}
