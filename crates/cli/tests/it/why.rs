//! `holdup why`: what it runs, what it prints where, how it ends, and what it refuses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage::{CLANG, Ended, HOLDUP, Stage, assert_refused, is_installed, record, run, skip, text};
use serde_json::Value;

/// `holdup why` with words, in the test's directory.
fn why(stage: &Stage, words: &[&str]) -> Command {
    let mut command = Command::new(HOLDUP);
    command.current_dir(stage.directory()).arg("why").args(words);
    command
}

/// True if there is an emulator; else says so.
fn can_emulate() -> bool {
    let found = is_installed("qemu-x86_64");
    if !found {
        skip("there is no qemu-x86_64 (Debian 12: qemu-user)");
    }
    found
}

fn owner(stage: &Stage) -> PathBuf {
    stage.program("why_owner", &[])
}

/// The line of the program's source that is planted.
fn planted() -> u64 {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/why_owner.c");
    let source = fs::read_to_string(source).expect("the source");
    let at = source.lines().position(|line| line.contains("// PLANTED")).expect("a planted line");
    at as u64 + 1
}

fn json(ended: &Ended) -> Value {
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
}

/// The first cause of the section with the most idle time.
fn first_cause(json: &Value) -> &Value {
    &json["sections"][0]["causes"][0]
}

#[test]
fn the_line_is_named_and_the_program_is_heard_once() {
    if !can_emulate() {
        return;
    }
    let stage = Stage::new();
    owner(&stage);
    stage.write("input", "A");
    // Each run of it reads the same input.
    let with_input = |program: &str, words: &[&str]| {
        let mut shell = Command::new("sh");
        shell.current_dir(stage.directory()).args(["-c", "exec \"$0\" \"$@\" <input", program]).args(words);
        run(&mut shell)
    };
    let plain = with_input("./why_owner", &["5"]);
    assert!(text(&plain.stdout).ends_with("\nread 65\n"), "{plain:?}");
    assert_eq!((plain.status, text(&plain.stderr).as_str()), (5, "done\n"));

    // The answer follows what the program says on standard error; its output is untouched.
    let words = ["why", "--ignore-status", "-o", "run.holdup", "--", "./why_owner", "5"];
    let ended = with_input(HOLDUP, &words);
    assert_eq!((ended.status, &ended.stdout), (5, &plain.stdout), "{ended:?}");
    let said = text(&ended.stderr);
    let answer = said.strip_prefix("done\n").unwrap_or_else(|| panic!("{said}"));
    assert!(answer.starts_with("Threads of why_owner are unequal: they idle "), "{answer}");
    let cause = format!("Threads take the branch at why_owner.c:{} (`owner(row) == me`)", planted());
    assert!(answer.replace('\n', " ").contains(&cause), "{answer}");
    assert_eq!(said.matches("done").count(), 1, "{said}");

    // With JSON standard output is the answer's.
    let words = ["why", "--ignore-status", "--json", "--", "./why_owner", "5"];
    let ended = with_input(HOLDUP, &words);
    assert_eq!(ended.status, 5);
    let value = json(&ended);
    assert_eq!(first_cause(&value)["where"]["line"], planted(), "{value:#}");
    // The first of four rounds begins elsewhere, where the threads do, and is of the same section.
    assert_eq!(value["sections"][0]["instances"], 4);
    assert!(first_cause(&value)["score"].as_f64().expect("a score") > 0.7, "{value:#}");
    assert!(value["run"]["wall_ns"].as_u64().is_some_and(|wall| wall > 0), "{value:#}");
    let mut lines: Vec<String> = text(&ended.stderr).lines().map(str::to_owned).collect();
    let mut all: Vec<String> = text(&plain.stdout).lines().chain(["done"]).map(str::to_owned).collect();
    lines.sort();
    all.sort();
    assert_eq!(lines, all);

    // The recording that was kept gives the same answer, native times and all.
    let ended = run(&mut why(&stage, &["run.holdup", "--json"]));
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()));
    let again = json(&ended);
    assert_eq!(first_cause(&again)["counts"], first_cause(&value)["counts"]);
    assert!(again["run"]["wall_ns"].as_u64().is_some_and(|wall| wall > 0), "{again:#}");
    let emulated = json(&run(&mut why(&stage, &["run.holdup", "--json", "--no-native"])));
    assert_eq!(emulated["run"]["wall_ns"], Value::Null);
    let ended = run(&mut why(&stage, &["run.holdup", "--section", "no such place", "--output", "out.txt"]));
    assert_eq!((ended.status, ended.stdout.as_slice()), (0, &b""[..]));
    let said = fs::read_to_string(stage.path("out.txt")).expect("the answer");
    assert!(said.contains("No section has no such place in its name"), "{said}");

    // The page has the source, unless it is not to; and never replaces what it is made of.
    let page = |words: &[&str]| {
        let ended = run(&mut why(&stage, &[&["run.holdup", "--html", "-"], words].concat()));
        assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()));
        text(&ended.stdout)
    };
    assert!(page(&[]).contains("if (owner(row) == me) // PLANTED"));
    assert!(!page(&["--no-source"]).contains("PLANTED"));
    let before = fs::read(stage.path("run.holdup")).expect("the recording");
    assert_refused(
        &run(&mut why(&stage, &["run.holdup", "--html", "./run.holdup"])),
        2,
        &["run.holdup", "--html"],
    );
    assert_eq!(fs::read(stage.path("run.holdup")).expect("the recording"), before);
}

/// The cause with the most of the differences in a program of ours, compiled with and without much optimisation.
fn decided(stage: &Stage, program: &str) -> Vec<(Value, bool)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{program}.c"));
    let text = fs::read_to_string(&source).expect("the source");
    let is_planted = |line: u64| {
        let line = text.lines().nth(line as usize - 1).unwrap_or_default();
        line.contains("// PLANTED") || line.contains("// OR HERE")
    };
    let causes = ["-O1", "-O2"].map(|flag| {
        let name = format!("{program}{flag}");
        stage.compile(&name, &source, &[flag]);
        let told = json(&run(&mut why(stage, &["--json", "--", &format!("./{name}")])));
        let cause = first_cause(&told).clone();
        let line = cause["where"]["line"].as_u64();
        (cause, line.is_some_and(is_planted))
    });
    causes.into()
}

/// Where the compiler has threaded the branch over the barrier's call, each thread enters the section at other code.
#[test]
fn what_is_decided_before_the_section_is_found() {
    if !can_emulate() {
        return;
    }
    for (cause, is_planted) in decided(&Stage::new(), "why_first_alone") {
        assert!(is_planted && cause["charge"].as_f64() > Some(0.9), "{cause:#}");
        assert_eq!((&cause["kind"], &cause["minor"]), (&"control-flow".into(), &false.into()), "{cause:#}");
    }
}

#[test]
fn the_test_before_a_loop_is_the_loop() {
    if !can_emulate() {
        return;
    }
    for (cause, is_planted) in decided(&Stage::new(), "why_guarded") {
        assert!(is_planted && cause["charge"].as_f64() > Some(0.97), "{cause:#}");
        assert!(cause["score"].as_f64() > Some(0.97), "{cause:#}");
    }
}

/// clang unrolls a loop of few rounds over the barrier: each round has a copy of the code.
#[test]
fn a_cause_in_copies_of_the_code_is_one() {
    if !can_emulate() || !is_installed(CLANG) {
        return;
    }
    let stage = Stage::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/why_guarded.c");
    stage.clang("copies", &source, &[]);
    let told = json(&run(&mut why(&stage, &["--json", "--", "./copies"])));
    let text = fs::read_to_string(&source).expect("the source");
    let planted = (1u64..).zip(text.lines()).find(|(_, line)| line.contains("// PLANTED"));
    let cause = first_cause(&told);
    assert_eq!(cause["where"]["line"].as_u64(), planted.map(|(number, _)| number), "{told:#}");
    assert!(cause["charge"].as_f64() > Some(0.75), "{cause:#}");
}

#[test]
fn a_recording_without_instructions_names_the_command_that_makes_one() {
    if !can_emulate() {
        return;
    }
    let stage = Stage::new();
    owner(&stage);
    let recorded = run(record(&stage.path("plain.holdup"), "./why_owner").current_dir(stage.directory()));
    assert_eq!(recorded.status, 0, "{recorded:?}");
    let refused = run(&mut why(&stage, &["plain.holdup"]));
    assert_refused(&refused, 2, &["plain.holdup", "no instruction streams"]);
    // The command is one that can be typed, and after it there is an answer.
    let said = text(&refused.stderr);
    let command = said.trim().split(": ").last().expect("a command").strip_prefix("holdup ").expect("ours");
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words, ["record", "--instructions", "-o", "plain.instructions.holdup", "--", "./why_owner"]);
    let made = run(Command::new(HOLDUP).current_dir(stage.directory()).args(&words));
    assert_eq!((made.status, text(&made.stderr).as_str()), (0, "done\n"), "{made:?}");
    let words = ["plain.instructions.holdup", "--native", "plain.holdup", "--json", "--no-intervals"];
    let value = json(&run(&mut why(&stage, &words)));
    assert_eq!(first_cause(&value)["where"]["line"], planted(), "{value:#}");
    assert_eq!(first_cause(&value)["interval"], Value::Null);
    assert!(value["sections"][0]["native"]["imbalance"].is_number(), "{value:#}");
}

#[test]
fn a_program_that_fails_is_not_run_again() {
    if !can_emulate() {
        return;
    }
    let stage = Stage::new();
    let script = |script: &str| run(&mut why(&stage, &["--", "sh", "-c", script]));
    for (end, status, words) in [("exit 3", 3, "status 3"), ("kill -9 $$", 137, "signal 9")] {
        let ended = script(&format!("echo out; {end}"));
        assert_eq!((ended.status, text(&ended.stdout).as_str()), (status, "out\n"), "{ended:?}");
        assert!(text(&ended.stderr).contains(words), "{ended:?}");
    }
    // One thread: it ran well, and there is nothing to tell of.
    let ended = script("echo out");
    assert_eq!((ended.status, text(&ended.stdout).as_str()), (0, "out\n"), "{ended:?}");
    assert!(text(&ended.stderr).starts_with("holdup: sh: it has one thread"), "{ended:?}");
}

#[test]
fn without_an_emulator_nothing_is_run() {
    let stage = Stage::new();
    let refused = |command: &mut Command, words: &[&str]| {
        assert_refused(&run(command.env("HOLDUP_QEMU", "/no/such/qemu")), 3, words);
        assert!(!stage.path("ran").exists());
    };
    refused(&mut why(&stage, &["--", "touch", "ran"]), &["/no/such/qemu"]);
    let words = ["record", "--instructions", "-o", "x.holdup", "--", "touch", "ran"];
    refused(Command::new(HOLDUP).current_dir(stage.directory()).args(words), &["/no/such/qemu"]);
    assert!(!stage.path("x.holdup").exists());
}

#[test]
fn counts_of_another_tool_are_told_of() {
    let stage = Stage::new();
    let mut counts = String::from(
        "holdup counts 1\nblock 1 file=lu.c line=407 function=lu instructions=4 exit=branch\nblock 2 file=lu.c line=408 \
         function=lu instructions=90\nblock 3 file=lu.c line=409 function=lu instructions=2\nedge 1 2\nedge 1 3\nedge 2 3\nsection \
         barrier file=lu.c line=420 function=lu\ninstance\n",
    );
    let threads: String = (1..=8).map(|thread| format!("thread {thread}\n")).collect();
    counts.insert_str("holdup counts 1\n".len(), &threads);
    for thread in 1..=8u64 {
        // Blocks 2 and 3 are what follows the branch: 90 more instructions each time that it is taken.
        let taken = thread * 10;
        counts += &format!(
            "time {thread} {}\nedge 1 2 {thread} {taken}\nedge 2 3 {thread} {taken}\nedge 1 3 {thread} {}\n",
            600 + taken * 90,
            100 - taken
        );
    }
    stage.write("counts.txt", &counts);
    let value = json(&run(&mut why(&stage, &["counts.txt", "--json"])));
    assert_eq!((&value["run"]["source"], &value["run"]["command"]), (&"text".into(), &serde_json::json!([])));
    let first = first_cause(&value);
    assert_eq!((&first["where"]["line"], &first["to"]["line"]), (&407.into(), &408.into()), "{value:#}");
    assert_eq!(first["counts"], serde_json::json!([10, 20, 30, 40, 50, 60, 70, 80]));
    stage.write("wrong.txt", counts.replace("time 3", "tyme 3"));
    assert_refused(&run(&mut why(&stage, &["wrong.txt"])), 2, &["wrong.txt", "line ", "tyme"]);
    stage.write("other.txt", "hello\n");
    assert_refused(
        &run(&mut why(&stage, &["other.txt"])),
        2,
        &["other.txt", "neither a recording nor counts"],
    );
}

#[test]
fn wrong_usage_is_told() {
    let stage = Stage::new();
    for (words, says) in [
        (&["why"][..], "required"),
        (&["why", "--threshold", "0.3", "--", "true"], "0.6 to 0.95"),
        (&["why", "--limit-instructions", "many", "--", "true"], "500M"),
        (&["why", "x.holdup", "--", "true"], "cannot be used with"),
        (&["why", "--no-native", "--native", "x.holdup", "--", "true"], "cannot be used with"),
        (&["record", "--instructions", "--pid", "1"], "cannot be used with"),
    ] {
        let ended = run(Command::new(HOLDUP).current_dir(stage.directory()).args(words));
        assert_eq!((ended.status, ended.stdout.as_slice()), (2, &b""[..]), "{ended:?}");
        assert!(text(&ended.stderr).contains(says), "{ended:?}");
    }
    for (words, names) in [
        (&["why", "absent.holdup"][..], "absent.holdup"),
        (&["why", "--html", "no/folder/x.html", "--", "true"], "no/folder/x.html"),
        (&["why", "--", "./absent"], "./absent"),
        (&["record", "--roi", "all", "--", "true"], "--instructions"),
    ] {
        let ended = run(Command::new(HOLDUP).current_dir(stage.directory()).args(words));
        assert_refused(&ended, 2, &[names]);
    }
}
