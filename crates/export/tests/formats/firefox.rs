//! The Firefox Profiler's format: what its types and its loader ask of a profile. (The loader itself was tried by hand;
//! see `docs/export.md`.)

use std::collections::BTreeMap;

use holdup_export::firefox;
use holdup_model::{Run, State};
use proptest::prelude::*;
use serde_json::Value;

use super::cases::{any_run, assert_shown_safely, empty, hostile, times};

fn profile(run: &Run) -> Value {
    let mut out = Vec::new();
    firefox(run, &mut out).expect("memory takes everything");
    serde_json::from_slice(&out).expect("JSON")
}

fn list<'a>(table: &'a Value, column: &str) -> &'a [Value] {
    table[column].as_array().unwrap_or_else(|| panic!("no column {column} in {table}"))
}

/// Every column of a table is as long as it says.
fn length(table: &Value) -> usize {
    let length = table["length"].as_u64().expect("a length") as usize;
    for (column, values) in table.as_object().expect("a table") {
        if let Some(values) = values.as_array() {
            assert_eq!(values.len(), length, "{column}");
        }
    }
    length
}

/// Every value of a column is a row of a table of `rows` rows, or nothing where that is allowed (`null`, -1).
fn points_into(table: &Value, column: &str, rows: usize, may_be_none: bool) {
    for value in list(table, column) {
        let is_row = value.as_u64().is_some_and(|value| (value as usize) < rows);
        let is_none = may_be_none && (value.is_null() || value.as_i64() == Some(-1));
        assert!(is_row || is_none, "{column}: {value} of {rows}");
    }
}

fn check_thread(thread: &Value, profile: &Value) {
    let strings = list(thread, "stringArray").len();
    let [stacks, frames, functions, resources, samples, markers] =
        ["stackTable", "frameTable", "funcTable", "resourceTable", "samples", "markers"]
            .map(|name| length(&thread[name]));
    assert_eq!(length(&thread["nativeSymbols"]), 0);
    points_into(&thread["stackTable"], "frame", frames, false);
    for (row, prefix) in list(&thread["stackTable"], "prefix").iter().enumerate() {
        assert!(
            prefix.is_null() || prefix.as_u64().is_some_and(|prefix| (prefix as usize) < row),
            "callers come first"
        );
    }
    points_into(&thread["frameTable"], "func", functions, false);
    points_into(&thread["frameTable"], "category", list(&profile["meta"], "categories").len(), false);
    points_into(&thread["funcTable"], "name", strings, false);
    points_into(&thread["funcTable"], "fileName", strings, true);
    points_into(&thread["funcTable"], "resource", resources, true);
    points_into(&thread["resourceTable"], "name", strings, false);
    points_into(&thread["resourceTable"], "lib", list(profile, "libs").len(), false);
    points_into(&thread["samples"], "stack", stacks, true);
    let times: Vec<f64> =
        list(&thread["samples"], "time").iter().map(|time| time.as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "samples in order of time");
    assert_eq!(times.len(), samples);
    check_markers(&thread["markers"], markers, strings, stacks, profile);
}

fn check_markers(table: &Value, markers: usize, strings: usize, stacks: usize, profile: &Value) {
    points_into(table, "name", strings, false);
    points_into(table, "category", list(&profile["meta"], "categories").len(), false);
    let schema = list(&profile["meta"], "markerSchema");
    for row in 0..markers {
        let (start, end) = (list(table, "startTime")[row].as_f64(), list(table, "endTime")[row].as_f64());
        match list(table, "phase")[row].as_u64() {
            Some(0 | 2) => assert!(start.is_some() && end.is_none()),
            Some(1) => assert!(start.zip(end).is_some_and(|(start, end)| start <= end)),
            Some(3) => assert!(start.is_none() && end.is_some()),
            phase => panic!("no such phase: {phase:?}"),
        }
        let data = list(table, "data")[row].as_object().expect("facts");
        let kind = schema.iter().find(|kind| kind["name"] == data["type"]).expect("a marker of a known type");
        let fields: Vec<&str> =
            list(kind, "fields").iter().map(|field| field["key"].as_str().unwrap()).collect();
        for (key, value) in data {
            match key.as_str() {
                "type" => {}
                "cause" => assert!((value["stack"].as_u64().unwrap() as usize) < stacks),
                key => {
                    assert!(fields.contains(&key), "{key} is in the schema");
                    assert!((value.as_u64().unwrap() as usize) < strings);
                }
            }
        }
    }
}

fn check(profile: &Value) {
    assert_eq!(profile["meta"]["preprocessedProfileVersion"], 55);
    assert_eq!(profile["meta"]["categories"][0]["color"], "grey", "the default category");
    let mut pids = BTreeMap::new();
    for thread in list(profile, "threads") {
        check_thread(thread, profile);
        let process = (thread["processName"].clone(), thread["processStartupTime"].clone());
        let known = pids.entry(thread["pid"].as_str().unwrap()).or_insert_with(|| process.clone());
        assert_eq!(known, &process, "a pid is one process");
    }
}

/// The time of a thread's samples (ns) by the category of their leaf.
fn time_by_category(thread: &Value, profile: &Value) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    let samples = &thread["samples"];
    for (stack, weight) in list(samples, "stack").iter().zip(list(samples, "weight")) {
        let stack = stack.as_u64().expect("every sample has a stack") as usize;
        let frame = list(&thread["stackTable"], "frame")[stack].as_u64().unwrap() as usize;
        let category = list(&thread["frameTable"], "category")[frame].as_u64().unwrap() as usize;
        let name = profile["meta"]["categories"][category]["name"].as_str().unwrap();
        let nanos = (weight.as_f64().unwrap() * 1e6).round() as u64;
        *sums.entry(name.to_owned()).or_default() += nanos;
    }
    sums
}

fn word(state: State) -> &'static str {
    match state {
        State::Active => "active",
        State::Blocked => "blocked",
        State::Io => "I/O",
        State::Asleep => "asleep",
        State::Spinning => "spinning",
        State::Waking => "waking",
        State::Descheduled => "descheduled",
        State::NotRecorded => "not recorded",
    }
}

proptest! {
    #[test]
    fn the_profile_is_whole_and_its_time_is_the_timelines(run in any_run()) {
        let profile = profile(&run);
        check(&profile);
        let threads = list(&profile, "threads");
        let expected: Vec<_> = run.processes.iter().flat_map(times).collect();
        prop_assert_eq!(threads.len(), expected.len());
        for (thread, sums) in threads.iter().zip(expected) {
            let sums: BTreeMap<String, u64> =
                sums.into_iter().map(|(state, time)| (word(state).to_owned(), time)).collect();
            // A sample whose stack has no frames is active time.
            prop_assert_eq!(time_by_category(thread, &profile), sums);
        }
        let markers: u64 = threads.iter().map(|thread| thread["markers"]["length"].as_u64().unwrap()).sum();
        let rows: usize = run
            .processes
            .iter()
            .map(|p| p.waits.len() + p.holds.len() + p.blocks.len() + p.wakes.len() + p.markers.len())
            .sum();
        prop_assert_eq!(markers, rows as u64);
    }
}

#[test]
fn hostile_names_are_spelled_out() {
    let profile = profile(&hostile());
    check(&profile);
    for thread in list(&profile, "threads") {
        assert_shown_safely(thread["name"].as_str().unwrap());
        assert_shown_safely(thread["processName"].as_str().unwrap());
        list(thread, "stringArray").iter().for_each(|text| assert_shown_safely(text.as_str().unwrap()));
    }
}

#[test]
fn frames_carry_file_line_and_inlining() {
    let profile = profile(&hostile());
    let frames = list(&profile, "threads").iter().map(|thread| &thread["frameTable"]);
    let (depths, lines): (Vec<_>, Vec<_>) =
        frames.map(|table| (list(table, "inlineDepth"), list(table, "line"))).unzip();
    assert!(depths.concat().iter().any(|depth| depth == 1));
    assert!(lines.concat().iter().any(|line| line == 7));
}

#[test]
fn programs_under_one_pid_stay_apart() {
    let mut run = hostile();
    run.processes.push(run.processes[0].clone());
    run.processes.push(run.processes[0].clone());
    let profile = profile(&run);
    let mut pids: Vec<&str> =
        list(&profile, "threads").iter().map(|thread| thread["pid"].as_str().unwrap()).collect();
    pids.dedup();
    assert_eq!(pids, ["77", "77.1", "77.2"]);
}

#[test]
fn an_empty_run_is_an_empty_profile() {
    check(&profile(&empty()));
}
