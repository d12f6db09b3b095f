//! Recordings of all kinds under `holdup sim`: damaged, cut off, of one thread, of a thousand.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::stage;
use crate::stage::sim::{cycles, of_stack, on_cores, record_program, sim, whole};
use crate::stage::{Ended, HOLDUP, Stage, is_installed, run, text};

fn sim_of(recording: &Path) -> Ended {
    let options = ["--json", "--machine", "dunnington", "--cores", "4"];
    run(Command::new(HOLDUP).arg("sim").args(options).arg(recording))
}

/// A recording that is simulated quickly: of four threads with a lock, barriers and joins.
fn small(stage: &Stage) -> Vec<u8> {
    let program = stage.program("sim_small", &[]);
    fs::read(record_program(stage, &program, &[])).expect("the recording")
}

/// Either an answer, or one line that says what is wrong.
fn is_an_answer_or_a_clear_line(ended: &Ended, what: &str) {
    let said = text(&ended.stderr);
    assert!(!said.contains("panicked"), "{what}: {ended:?}");
    match ended.status {
        0 => {
            let json: serde_json::Value = serde_json::from_slice(&ended.stdout)
                .unwrap_or_else(|error| panic!("{what}: no JSON ({error}): {ended:?}"));
            let threads = json["threads"].as_array().expect("threads");
            assert!(threads.iter().all(|thread| thread["cycles"] == json["cycles"]), "{what}: {ended:?}");
        }
        2 => {
            assert!(ended.stdout.is_empty(), "{what}: {ended:?}");
            assert!(said.lines().count() == 1 && said.starts_with("holdup: "), "{what}: {ended:?}");
        }
        _ => panic!("{what}: {ended:?}"),
    }
}

#[test]
fn a_recording_that_is_cut_off_is_told_of_or_refused_in_one_line() {
    if !is_installed("qemu-x86_64") {
        return;
    }
    let stage = Stage::new();
    let whole = small(&stage);
    for part in 0..12 {
        let length = whole.len() * part / 12;
        let cut = stage.write("cut.holdup", &whole[..length]);
        is_an_answer_or_a_clear_line(&sim_of(&cut), &format!("cut to {length} of {} bytes", whole.len()));
    }
}

#[test]
fn a_damaged_recording_is_told_of_or_refused_in_one_line() {
    if !is_installed("qemu-x86_64") {
        return;
    }
    let stage = Stage::new();
    let whole = small(&stage);
    for step in 0..24 {
        let at = (step * 7919 + 64) * 31 % whole.len();
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (step % 8);
        let damaged = stage.write("damaged.holdup", damaged);
        is_an_answer_or_a_clear_line(&sim_of(&damaged), &format!("byte {at} of {} is another", whole.len()));
    }
}

#[test]
fn a_recording_that_ends_at_a_limit_is_simulated_up_to_there_and_says_so() {
    if !is_installed("qemu-x86_64") {
        return;
    }
    let stage = Stage::new();
    let source = stage::workspace().join("workloads/sim_phases/main.c");
    let program = stage.compile("phases", source, &[]);
    let recording = stage.path("limited.holdup");
    let mut command = Command::new(HOLDUP);
    command
        .args(["record", "--instructions=stream", "--limit-instructions", "1000000", "-o"])
        .arg(&recording);
    let ended = run(command.arg("--").arg(program).arg("4"));
    assert_eq!(ended.status, 0, "{ended:?}");
    let simulated = on_cores(4, &recording);
    let instructions = simulated["instructions"].as_u64().expect("instructions");
    assert!((500_000..1_200_000).contains(&instructions), "{instructions}");
    let ended = sim_of(&recording);
    is_an_answer_or_a_clear_line(&ended, "limited");
    assert!(text(&ended.stdout).contains("limit"), "nobody says that it was limited: {ended:?}");
}

#[test]
fn a_program_without_threads_has_one_stack_without_waiting() {
    if !is_installed("qemu-x86_64") {
        return;
    }
    let stage = Stage::new();
    let source = stage.write(
        "alone.c",
        "int main(void) { volatile long x = 0; for (long i = 0; i < 300000; i++) x += i; return 0; }",
    );
    let program = stage.compile("alone", source, &[]);
    let recording = stage.path("alone.holdup");
    let mut command = Command::new(HOLDUP);
    command.args(["record", "--instructions=stream", "--roi", "all", "-o"]).arg(&recording);
    let ended = run(command.arg("--").arg(program));
    assert_eq!(ended.status, 0, "{ended:?}");
    let simulated = on_cores(1, &recording);
    let threads = simulated["threads"].as_array().expect("threads");
    assert_eq!(threads.len(), 1);
    let stack = &threads[0]["stack"];
    let waits = ["sync-crit_sect", "sync-barrier", "sync-cond", "sync-join", "no_core", "imbalance"];
    assert_eq!(of_stack(stack, &waits), 0.0, "{stack}");
    // Each step needs what the step before stored: the load, the addition, and the store that hands it on.
    let each = cycles(&simulated) / 300_000.0;
    assert!((2.0..8.0).contains(&each), "{each} cycles a step");
}

#[test]
fn a_thousand_threads_on_four_cores_share_them() {
    if !is_installed("qemu-x86_64") {
        return;
    }
    let stage = Stage::new();
    let program = stage.program("sim_crowd", &[]);
    let recording = record_program(&stage, &program, &["1000", "5"]);
    // Creating threads takes main longer than four cores need for their work, unless that is made cheap.
    let runs = sim(&["--cores", "4", "--what-if", "system.create-ns=1000"], &recording);
    let waits = ["sync-join", "no_core", "imbalance"];
    for (run, at_most) in runs.iter().zip([2.0, 1.15]) {
        let threads = run["threads"].as_array().expect("threads");
        assert_eq!(threads.len(), 1001);
        assert!(
            threads
                .iter()
                .all(|thread| thread["instructions"].as_u64() > Some(30_000) || thread["thread"] == 0)
        );
        let stacks = threads.iter().map(|thread| &thread["stack"]);
        let busy: f64 = stacks.map(|stack| whole(stack) - of_stack(stack, &waits)).sum();
        let ratio = cycles(run) / (busy / 4.0);
        assert!((1.0..at_most).contains(&ratio), "{} cycles, {busy} of work on 4 cores", cycles(run));
    }
}
