//! Each statistic against SciPy and statsmodels: values that `tests/it/oracle.py` recorded. The paper's method against
//! `tests/it/paper.py`, a transcription of its section 3, on all stored recordings.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use holdup_model::counts::{Counts, EventId};
use holdup_testkit::counts::{stored_counts, text};

use super::causes::Blamed;
use super::charge::Charges;
use super::cluster::Tree;
use super::deal::{Column, Dealt};
use super::events::Events;
use super::gram_schmidt::own_part;
use super::leaders::{Cluster, leaders};
use super::paper::paper;
use super::program::Program;
use super::regress::{Rules, forward};
use super::rows::dot;
use super::stacked::{at_threshold, tree};
use super::{Method, WhyOptions};

/// A case: for each name its lines of numbers.
type Case = BTreeMap<String, Vec<Vec<f64>>>;

fn cases() -> Vec<Case> {
    let mut cases = vec![Case::new()];
    for line in include_str!("../tests/it/oracle.txt").lines().filter(|line| !line.starts_with('#')) {
        match line.split_once(": ") {
            Some((name, numbers)) => {
                let numbers = numbers.split(' ').map(|number| number.parse().expect("a number")).collect();
                cases.last_mut().expect("there is one").entry(name.to_owned()).or_default().push(numbers);
            }
            None => cases.push(Case::new()),
        }
    }
    cases.retain(|case| !case.is_empty());
    assert_eq!(cases.len(), 3);
    cases
}

fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        let error = (found - expected).abs();
        assert!(error <= 1e-9 * expected.abs().max(1e-3), "{what}: {found} is not {expected}");
    }
}

fn rows(case: &Case) -> usize {
    case["rows"][0][0] as usize
}

fn columns(case: &Case) -> Vec<Vec<f64>> {
    case["columns"][0].chunks_exact(rows(case)).map(<[f64]>::to_vec).collect()
}

#[test]
fn clusters() {
    for case in cases() {
        let columns = &case["columns"][0];
        let leaves = columns.len() / rows(&case);
        let tree = Tree::new(columns, rows(&case), &vec![1.0; leaves], 0.6);
        for expected in &case["clusters"] {
            let mut labels = vec![0.0; leaves];
            for (label, cluster) in tree.clusters(expected[0]).iter().enumerate() {
                cluster.iter().for_each(|leaf| labels[*leaf] = label as f64);
            }
            assert_eq!(labels, expected[1..]);
        }
    }
}

#[test]
fn correlations() {
    for case in cases() {
        let found: Vec<f64> = columns(&case).iter().map(|column| dot(column, &case["time"][0])).collect();
        close(&found, &case["pearson"][0], "pearson");
    }
}

#[test]
fn regression() {
    for case in cases() {
        let rules = Rules { significance: 2.0, least_added: 0.0, only_growing: false };
        let columns = columns(&case);
        // As many as were recorded: those that the oracle chose, and others that could have been.
        let fit = forward(&case["time"][0], &columns, rows(&case) - 1, rules);
        let expected: Vec<usize> = case["chosen"][0].iter().map(|at| *at as usize).collect();
        assert_eq!(fit.chosen[..3], expected);
        close(&fit.p[..3], &case["p"][0], "p");
        let three: Vec<Vec<f64>> = expected.iter().map(|at| columns[*at].clone()).collect();
        let fit = forward(&case["time"][0], &three, rows(&case) - 1, rules);
        assert_eq!(fit.chosen, [0, 1, 2]);
        close(&fit.beta, &case["beta"][0], "beta");
        close(&[fit.r_squared], &case["r_squared"][0], "r²");
    }
}

#[test]
fn gram_schmidt() {
    for case in cases() {
        let columns = columns(&case);
        let own = own_part(&columns[20], &[columns[3].clone(), columns[10].clone()]);
        close(&own, &case["own_part"][0], "own part");
    }
}

/// The counts of all recordings that are stored, by their names, and random ones with events of hardware; written to the folder
/// that `HOLDUP_COUNTS` names, for `paper.py` to read.
fn stored() -> Vec<(String, Counts)> {
    let hardware = text::parse(include_str!("../tests/it/hardware.counts.txt")).expect("counts");
    let mut stored = stored_counts();
    stored.insert(0, ("_hardware".to_owned(), hardware));
    if let Some(folder) = std::env::var_os("HOLDUP_COUNTS") {
        for (name, counts) in &stored {
            let file = Path::new(&folder).join(format!("{name}.txt"));
            fs::write(file, text::write(counts)).expect("a file of counts");
        }
    }
    stored
}

/// What an event is called in `paper.txt`.
fn called(program: &Program<'_>, column: Column) -> String {
    let counts = program.counts;
    match (program.edge(column), counts.hardware_event(EventId(column))) {
        (Some((from, to)), _) => format!("{}>{}", from.0, to.0),
        (None, Some(_)) => format!("hardware:{}", column as usize - counts.edges.len()),
        (None, None) => format!("library:{}", column as usize - counts.events()),
    }
}

/// FNV-1a.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |value, byte| (value ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What the method finds in one instance, as `paper.txt` has it.
fn found_in(program: &Program<'_>, at: usize, instance: &Dealt<'_>, lines: &mut Vec<String>) {
    let options = WhyOptions { method: Method::Paper, ..WhyOptions::default() };
    let charges = Charges::default();
    let events = Events::new(program, &[instance]);
    let tree = tree(&events, &options);
    let (_, candidates, fit) =
        at_threshold(program, &charges, &events, &tree, options.threshold, Method::Paper);
    let named = |cluster: &Cluster| {
        let mut names: Vec<String> =
            cluster.members(&events).into_iter().map(|member| called(program, member)).collect();
        names.sort();
        names
    };
    let clusters: Vec<Cluster> = tree
        .clusters(options.threshold)
        .into_iter()
        .filter(|distinct| events.average(distinct).is_some())
        .map(|distinct| Cluster { distinct })
        .collect();
    assert_eq!(clusters.len(), candidates.len());
    let mut all: Vec<String> = clusters.iter().map(|cluster| named(cluster).join(" ")).collect();
    let names = all.clone();
    all.sort_by(|a, b| a.split(' ').cmp(b.split(' ')));
    lines.push(format!("instance {at} {} {:016x}", all.len(), digest(&all.join(";"))));
    for (chosen, beta) in fit.chosen.iter().zip(&fit.beta) {
        let members = clusters[*chosen].members(&events);
        lines.push(format!("chosen {beta:?} {} {:016x}", members.len(), digest(&names[*chosen])));
        if program.edge(members[0]).is_some() {
            let leaders = leaders(program, &charges, &events, &members, Method::Paper);
            lines
                .extend(leaders.iter().map(|leader| format!("leader {} {:?}", leader.block.0, leader.score)));
        }
    }
}

/// All that the method finds in a recording, as `paper.txt` has it.
fn found_by_the_paper(name: &str, counts: &Counts) -> Vec<String> {
    let options = WhyOptions { method: Method::Paper, ..WhyOptions::default() };
    let program = Program::new(counts);
    let mut lines = vec![format!("recording {name}")];
    for (number, section) in counts.sections.iter().enumerate() {
        lines.push(format!("section {number}"));
        let dealt: Vec<Dealt<'_>> =
            section.instances.iter().map(|instance| Dealt::new(counts, instance)).collect();
        for (at, instance) in dealt.iter().enumerate() {
            if instance.threads.len() >= 3 && instance.idle() > 0 {
                found_in(&program, at, instance, &mut lines);
            }
        }
        let chosen: Vec<&Dealt<'_>> = dealt.iter().filter(|instance| !instance.threads.is_empty()).collect();
        let judged = paper(&program, &Charges::default(), &chosen, &options);
        let mut scores: Vec<(String, f64)> = judged
            .iter()
            .map(|judged| {
                let blamed = match judged.found.blamed {
                    Blamed::Leader(block) => format!("block:{}", block.0),
                    Blamed::Library(block) => format!("library:{}", block.0),
                    Blamed::Hardware(column) => called(&program, column),
                };
                (blamed, judged.found.score)
            })
            .collect();
        scores.sort_by(|a, b| a.0.cmp(&b.0));
        lines.extend(scores.into_iter().map(|(blamed, score)| format!("score {blamed} {score:?}")));
    }
    lines
}

/// Whether two lines say the same: fractions to nine digits, all else exactly.
fn agree(found: &str, expected: &str) -> bool {
    let (found, expected): (Vec<&str>, Vec<&str>) =
        (found.split(' ').collect(), expected.split(' ').collect());
    found.len() == expected.len()
        && found.iter().zip(&expected).all(|(found, expected)| {
            if !expected.contains('.') && !expected.contains("e-") {
                return found == expected;
            }
            let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
            (number(found) - number(expected)).abs() <= 1e-9
        })
}

#[test]
fn the_papers_method_on_stored_recordings() {
    let expected: Vec<&str> =
        include_str!("../tests/it/paper.txt").lines().filter(|line| !line.starts_with('#')).collect();
    let found: Vec<String> =
        stored().iter().flat_map(|(name, counts)| found_by_the_paper(name, counts)).collect();
    let of = |at: usize| {
        let above = found[..=at.min(found.len() - 1)].iter().rev();
        above.clone().find(|line| line.starts_with("recording")).cloned().unwrap_or_default()
    };
    for (at, expected) in expected.iter().enumerate() {
        let found = found.get(at).map_or("", |line| line.as_str());
        assert!(agree(found, expected), "line {}, {}: {found} is not {expected}", at + 1, of(at));
    }
    assert_eq!(found.len(), expected.len());
}
