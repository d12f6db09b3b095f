//! `holdup why --simulate`: causes that control flow does not show, and the imbalance that is gone without them (paper 2,
//! section 5.3).

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::stage::{HOLDUP, Stage, is_installed, run, skip, text, workspace};
use serde_json::Value;

/// What `holdup why --simulate` says of a program, as JSON.
fn simulated(stage: &Stage, words: &[&str]) -> Value {
    let mut command = Command::new(HOLDUP);
    let ended = run(command.current_dir(stage.directory()).args(["why", "--simulate", "--json"]).args(words));
    assert_eq!(ended.status, 0, "{ended:?}");
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
}

/// True if there is an emulator; else says so.
fn can_emulate() -> bool {
    let found = is_installed("qemu-x86_64");
    if !found {
        skip("there is no qemu-x86_64 (Debian 12: qemu-user)");
    }
    found
}

/// The line of a source file that has this in it, from 1.
fn line_with(source: &Path, what: &str) -> u64 {
    let source = fs::read_to_string(source).expect("the source");
    source.lines().position(|line| line.contains(what)).expect("the line") as u64 + 1
}

/// The share of a section's idle time that is gone without something.
fn removed(section: &Value, without: &str) -> f64 {
    let steps = section["removed"].as_array().unwrap_or_else(|| panic!("nothing was removed: {section:#}"));
    let step = steps.iter().find(|step| step["without"] == without);
    step.and_then(|step| step["removed"].as_f64()).unwrap_or_else(|| panic!("no {without}: {section:#}"))
}

#[test]
fn misses_of_threads_that_execute_equally_are_named_and_erasing_them_removes_the_imbalance() {
    if !can_emulate() {
        return;
    }
    let stage = Stage::new();
    let source = workspace().join("workloads/lime_cache/main.c");
    stage.compile("lime_cache", &source, &[]);
    let value = simulated(&stage, &["--machine", "dunnington", "--", "./lime_cache", "8"]);
    assert_eq!((&value["run"]["source"], &value["time_unit"]), (&"simulated".into(), &"cycles".into()));
    let section = &value["sections"][0];
    assert!(section["imbalance"].as_f64().is_some_and(|share| share > 0.4), "{section:#}");
    let first = &section["causes"][0];
    assert_eq!(first["kind"], "cache-miss", "{section:#}");
    assert_eq!(first["where"]["line"], line_with(&source, "from = next[from];"), "{section:#}");
    assert!(removed(section, "first-misses") >= 0.8, "{section:#}");
}

#[test]
fn queueing_at_an_unfair_interconnect_is_named_and_bandwidth_removes_the_imbalance() {
    if !can_emulate() {
        return;
    }
    let stage = Stage::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/sim_unfair.c");
    stage.program("sim_unfair", &[]);
    let shown = run(Command::new(HOLDUP).args(["sim", "--show-machine", "dunnington"]));
    stage.write("unfair.toml", unfair(&text(&shown.stdout)));
    let value = simulated(&stage, &["--machine", "unfair.toml", "--", "./sim_unfair"]);
    let section = &value["sections"][0];
    let first = &section["causes"][0];
    assert_eq!(first["kind"], "queueing", "{section:#}");
    assert_eq!(first["where"]["line"], line_with(&source, "// LOAD"), "{section:#}");
    assert!(removed(section, "queueing") >= 0.9, "{section:#}");
}

/// The machine with eight cores on one socket, whose interconnect is slow and serves the first core first; nothing else is
/// scarce.
fn unfair(machine: &str) -> String {
    let mut table = String::new();
    let mut changed = String::new();
    for line in machine.lines() {
        if line.starts_with('[') {
            table = line.split(']').next().unwrap_or_default().to_owned();
        }
        let key = line.split(' ').next().unwrap_or_default();
        changed += match (table.as_str(), key) {
            ("", "sockets") => "sockets = 1",
            ("", "cores-per-socket") => "cores-per-socket = 8",
            ("[on-chip", "bandwidth") => "bandwidth = 2.0\narbitration = \"lowest-first\"",
            ("[off-socket" | "[memory", "bandwidth") => "bandwidth = 0.0",
            _ => line,
        };
        changed.push('\n');
    }
    changed
}
