//! `holdup stack` as a user types it: what it refuses, what it keeps, and that its figures are whole. Whether cache can be
//! taken depends on the machine that the tests run on, and nothing here does.

use std::fs;
use std::process::Command;

use crate::stage::{Ended, HOLDUP, Stage, run, text, workspace};
use serde_json::Value;

fn stack(arguments: &[&str]) -> Ended {
    run(Command::new(HOLDUP).arg("stack").args(arguments))
}

/// Builds a workload of `workloads/stack_*`.
fn workload(stage: &Stage, name: &str) -> String {
    let source = workspace().join("workloads").join(name).join("main.c");
    stage.compile(name, source, &["-lm"]).to_string_lossy().into_owned()
}

fn json(ended: &Ended) -> Value {
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
}

/// All that is told of a point: it must fill the bar up to the number of threads.
fn whole(point: &Value) -> f64 {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let components = point["components"].as_object().expect("components").values().map(number).sum::<f64>();
    number(&point["speedup"]) + components + number(&point["together"]["amount"])
}

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    for (arguments, said) in [
        (&["-t", "1,2", "--", "no-such-program"][..], "no-such-program"),
        (&["--order", "magic", "--", "true"], "none of serial"),
        (&["--order", "cache,cache", "--", "true"], "twice"),
        (&["--instances", "2", "-t", "2", "--", "true"], "cannot be used with"),
        (&["--collectors", "kernel", "--", "true"], "add preload"),
        (&["--from", "no-such-directory"], "no runs of holdup stack"),
        (&["-t", "0", "--", "true"], "0"),
    ] {
        let ended = stack(arguments);
        assert_eq!(ended.status, 2, "{arguments:?}: {ended:?}");
        assert!(text(&ended.stderr).contains(said), "{arguments:?}: {ended:?}");
        assert!(ended.stdout.is_empty(), "{ended:?}");
    }
}

#[test]
fn a_program_that_uses_as_many_threads_as_it_likes_is_not_compared() {
    let stage = Stage::new();
    let program = stage.program("compute", &[]);
    let ended = stack(&["-t", "1,2", "--no-pirate", "-r", "1", "--", &program.to_string_lossy(), "2", "20"]);
    assert_eq!(ended.status, 2, "{ended:?}");
    let said = text(&ended.stderr);
    assert!(said.contains("2 threads worked each time, whatever OMP_NUM_THREADS said"), "{said}");
}

#[test]
fn a_directory_with_other_files_is_not_touched() {
    let stage = Stage::new();
    let place = stage.path("full");
    fs::create_dir(&place).expect("a directory");
    fs::write(place.join("mine"), "precious").expect("a file");
    let ended = stack(&["--runs", &place.to_string_lossy(), "--", "true"]);
    assert_eq!(ended.status, 2, "{ended:?}");
    assert!(text(&ended.stderr).contains("holds files already"), "{ended:?}");
    assert_eq!(fs::read_dir(&place).expect("a directory").count(), 1);
}

#[test]
fn what_is_told_of_each_number_of_threads_adds_up_to_it() {
    let stage = Stage::new();
    let program = workload(&stage, "stack_tiny");
    let place = stage.path("runs").to_string_lossy().into_owned();
    let measured = ["-t", "1,2", "--no-pirate", "-r", "1", "--json", "--runs", &place, "--"];
    let ended = stack(&[&measured[..], &[&program, "{threads}", "5", "4000"]].concat());
    assert_eq!(ended.status, 0, "{ended:?}");
    let told = json(&ended);
    let phases = told["phases"].as_array().expect("phases");
    assert_eq!(phases[0]["kind"], "whole");
    assert!(phases.iter().any(|phase| phase["kind"] == "fork-join"), "{told}");
    for phase in phases {
        for point in phase["stacks"].as_array().expect("stacks") {
            let threads = point["threads"].as_f64().expect("threads");
            assert!((whole(point) - threads).abs() < 1e-5, "{point}");
        }
    }
    // What runs show does not depend on whether they are shown at once.
    let again = stack(&["--from", &place, "--json"]);
    assert_eq!(json(&again), told);
    // In another order the parts differ, and their sum does not.
    let other = json(&stack(&["--from", &place, "--json", "--order", "synchronization,serial"]));
    let points = other["phases"][0]["stacks"].as_array().expect("stacks");
    assert!(
        points.iter().all(|point| (whole(point) - point["threads"].as_f64().unwrap_or(0.0)).abs() < 1e-5)
    );
    // A recording that is cut off is told of, with what is left of it.
    let cut = fs::read_dir(&place).expect("runs").flatten().map(|entry| entry.path());
    let cut =
        cut.filter(|path| path.extension().is_some_and(|kind| kind == "holdup")).max().expect("a recording");
    let bytes = fs::read(&cut).expect("a recording");
    fs::write(&cut, &bytes[..20]).expect("a recording");
    let ended = stack(&["--from", &place]);
    assert_eq!(ended.status, 2, "{ended:?}");
    assert!(text(&ended.stderr).contains(&*cut.file_name().expect("a name").to_string_lossy()), "{ended:?}");
}

#[test]
fn the_programs_output_and_status_stay_its_own() {
    let stage = Stage::new();
    let program = workload(&stage, "stack_prices");
    let options = ["-t", "2", "--no-pirate", "-r", "1", "--show-output", "--"];
    let ended = stack(&[&options[..], &[&program, "{threads}", "1"]].concat());
    assert_eq!(ended.status, 0, "{ended:?}");
    let said = text(&ended.stderr);
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("checksum")).collect();
    assert!(lines.len() >= 3 && lines.iter().all(|line| *line == lines[0]), "{ended:?}");
    let ended = stack(&["-t", "2", "--no-pirate", "--", "sh", "-c", "exit 7"]);
    assert_eq!(ended.status, 7, "{ended:?}");
    assert!(text(&ended.stderr).contains("status 7"), "{ended:?}");
}

#[test]
fn copies_of_a_program_with_one_thread_are_measured_together() {
    let stage = Stage::new();
    let program = workload(&stage, "stack_prices");
    let ended = stack(&["--instances", "1,2", "--no-pirate", "-r", "1", "--json", "--", &program, "1", "2"]);
    assert_eq!(ended.status, 0, "{ended:?}");
    let told = json(&ended);
    let points = told["instances"][0]["points"].as_array().expect("points");
    let copies: Vec<u64> = points.iter().filter_map(|point| point["copies"].as_u64()).collect();
    assert_eq!(copies, [1, 2], "{told}");
    assert!(points.iter().all(|point| point["missing"][0].is_object()), "no cache was taken: {told}");
}
