//! The timeline's script in a browser: what it computes, and what a person at it meets.

mod browser;
mod large;
mod programs;

use holdup_criticality::diagnose;
use holdup_model::{Process, Run};
use holdup_report::{PageOptions, page};

const DATA: &str = include_str!("../../../page/timeline_data.js");
const VIEW: &str = include_str!("../../../page/timeline_view.js");
const CHECKS: &str = include_str!("checks.js");

fn page_of(process: Process) -> String {
    let run = Run {
        command: process.command.clone(),
        start: process.start,
        end: process.end,
        processes: vec![process],
        cores: 4,
        ..Run::default()
    };
    page(&run, &[diagnose(&run, 0)], &PageOptions::default())
}

/// Every check of a script says what it is, and whether it holds.
fn all_hold(told: &str) {
    let lines: Vec<&str> = told.lines().filter(|line| !line.is_empty()).collect();
    let failed: Vec<&&str> = lines.iter().filter(|line| !line.starts_with("holds: ")).collect();
    assert!(failed.is_empty() && lines.len() > 1, "{failed:#?}\nof\n{told}");
}

#[test]
fn decoding_levels_and_views_are_right() {
    let scripts = [DATA, VIEW, CHECKS, include_str!("logic.js")];
    all_hold(&browser::run("<!doctype html><body>", &scripts));
}

#[test]
fn pointer_keys_and_links_work() {
    let page = page_of(programs::two_at_a_lock());
    all_hold(&browser::run(&page, &[CHECKS, include_str!("reader.js")]));
}

#[test]
fn many_threads_are_grouped_and_open_on_demand() {
    let page = page_of(programs::many_threads(300));
    all_hold(&browser::run(&page, &[CHECKS, include_str!("groups.js")]));
}

#[test]
fn names_do_nothing() {
    let page = page_of(programs::hostile());
    all_hold(&browser::run(&page, &[CHECKS, include_str!("hostile.js")]));
}

#[test]
fn a_run_of_nothing_is_said_to_be_one() {
    let page = page_of(programs::of_no_length());
    all_hold(&browser::run(&page, &[CHECKS, include_str!("nothing.js")]));
}
