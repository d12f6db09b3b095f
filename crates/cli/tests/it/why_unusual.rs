//! Programs that are not as most are: few threads, one instance, a thread that is elsewhere, code made at run time, no symbols,
//! a crash, instructions that the emulator lacks. Each gets a truthful sentence, and none a made-up score.

use std::path::PathBuf;
use std::process::Command;

use crate::stage::lime::{causes, sections, why};
use crate::stage::{Ended, HOLDUP, Stage, run, skip, text, workspace};
use serde_json::Value;

fn program(stage: &Stage, name: &str, flags: &[&str]) -> PathBuf {
    stage.compile(name, source(name), flags)
}

fn source(name: &str) -> PathBuf {
    workspace().join(format!("crates/cli/tests/programs/why/{name}.c"))
}

/// The line of a program that is marked.
fn planted(name: &str) -> u64 {
    let text = std::fs::read_to_string(source(name)).expect("the program's source");
    let found = text.lines().zip(1..).find(|(line, _)| line.contains("// PLANTED"));
    found.expect("a marked line").1
}

/// True if one of the places of a cause is this line. A loop's body is part of the statement that begins it.
fn is_at(cause: &Value, line: u64) -> bool {
    let places = [&cause["where"], &cause["to"], &cause["latch"]];
    places.iter().any(|place| place["line"].as_u64().is_some_and(|at| (line..=line + 1).contains(&at)))
}

fn has_sentence(section: &Value) -> bool {
    section["sentences"].as_array().is_some_and(|all| !all.is_empty())
}

const FAST: [&str; 2] = ["--no-native", "--no-intervals"];

#[test]
fn two_or_three_threads_are_too_few_for_a_score() {
    let stage = Stage::new();
    let program = program(&stage, "why_uneven", &[]);
    for threads in ["2", "3"] {
        let json = why(&FAST, &program, &[threads]);
        let first = &sections(&json)[0];
        assert_eq!(first["verdict"], "too-few-threads", "{threads} threads: {first:#}");
        assert!(has_sentence(first), "{first:#}");
        for cause in causes(first) {
            assert!(cause["score"].is_null() && cause["interval"].is_null(), "{cause:#}");
            assert!(is_at(cause, planted("why_uneven")), "{cause:#}");
        }
    }
}

#[test]
fn one_instance_of_a_section_suffices() {
    let stage = Stage::new();
    let json = why(&FAST, &program(&stage, "why_uneven", &[]), &["8", "1"]);
    let first = &sections(&json)[0];
    assert_eq!((&first["verdict"], &first["instances"]), (&"found".into(), &1.into()), "{first:#}");
    assert!(is_at(causes(first)[0], planted("why_uneven")), "{first:#}");
}

#[test]
fn a_thread_that_never_enters_a_section_is_no_row_of_it() {
    let stage = Stage::new();
    let json = why(&FAST, &program(&stage, "why_absent", &[]), &[]);
    let first = &sections(&json)[0];
    let threads = first["threads"].as_array().expect("threads");
    assert_eq!((threads.len(), &first["kind"]), (7, &"barrier".into()), "{first:#}");
    assert!(is_at(causes(first)[0], planted("why_absent")), "{first:#}");
}

#[test]
fn one_thread_has_no_parallel_section() {
    let stage = Stage::new();
    // By default counting begins with the second thread, with `all` with the first.
    for (roi, said) in [("auto", "it has one thread"), ("all", "No parallel section")] {
        let mut command = Command::new(HOLDUP);
        command.arg("why").args(FAST).args(["--roi", roi, "--"]).arg(program(&stage, "why_single", &[]));
        let ended = run(&mut command);
        let all = text(&ended.stdout) + &text(&ended.stderr);
        assert!(ended.status == 0 && all.contains(said), "{roi}: {ended:?}");
        assert!(!all.contains("Score"), "{roi}: {ended:?}");
    }
}

#[test]
fn code_made_at_run_time_has_no_name() {
    let stage = Stage::new();
    let json = why(&FAST, &program(&stage, "why_generated", &[]), &[]);
    let first = &sections(&json)[0];
    assert_eq!(first["verdict"], "generated-code", "{first:#}");
    assert!(has_sentence(first), "{first:#}");
}

#[test]
fn a_stripped_program_is_told_by_addresses() {
    let stage = Stage::new();
    let json = why(&FAST, &program(&stage, "why_uneven", &["-s"]), &["8"]);
    let first = &sections(&json)[0];
    let cause = causes(first)[0];
    assert!(cause["score"].as_f64() > Some(0.7), "{cause:#}");
    let place = &cause["where"];
    assert!(place["line"].is_null() && place["file"].is_null(), "{place:#}");
    assert!(place["module"].is_string() && place["address"].is_u64(), "{place:#}");
}

/// `holdup why` of a program that dies.
fn dies(program: &PathBuf, arguments: &[&str]) -> Ended {
    run(Command::new(HOLDUP).arg("why").args(FAST).arg("--").arg(program).args(arguments))
}

#[test]
fn a_program_that_crashes_is_told_up_to_there() {
    let stage = Stage::new();
    let program = program(&stage, "why_crash", &[]);
    for (how, status, name) in [("segv", 139, "SIGSEGV"), ("abort", 134, "SIGABRT"), ("kill", 137, "SIGKILL")]
    {
        let ended = dies(&program, &[how]);
        assert_eq!(ended.status, status, "{how}: {ended:?}");
        assert!(text(&ended.stderr).contains(name), "{how}: {ended:?}");
        // The three rounds before were whole.
        let all = text(&ended.stdout) + &text(&ended.stderr);
        assert!(all.contains("loop at why_crash.c"), "{how}: {ended:?}");
    }
}

#[test]
fn instructions_that_the_emulator_lacks_are_told_by_name() {
    if cfg!(not(target_arch = "x86_64")) {
        return skip("the program is written for x86-64");
    }
    let stage = Stage::new();
    let ended = dies(&program(&stage, "why_avx512", &[]), &[]);
    let said = text(&ended.stderr);
    assert_eq!(ended.status, 132, "{ended:?}");
    assert!(said.contains("vpaddd") || said.contains("AVX-512"), "{ended:?}");
}
