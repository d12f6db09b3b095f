//! `holdup why` of programs that count by themselves, built as docs/counts.md says, and of the text that is shown there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage::CLANG;
use crate::stage::{Ended, HOLDUP, Stage, assert_refused, is_installed, run, text, workspace};
use serde_json::{Value, json};

const THREADS: u64 = 8;
/// Rounds that end at the barrier; the first begins where the threads do.
const INSTANCES: u64 = 4;

fn manual() -> String {
    fs::read_to_string(workspace().join("docs/counts.md")).expect("docs/counts.md")
}

/// The code of the manual that begins with a word.
fn shown(first: &str) -> String {
    let manual = manual();
    let found =
        manual.split("\n```").find_map(|part| part.strip_prefix('\n').filter(|part| part.starts_with(first)));
    format!("{}\n", found.unwrap_or_else(|| panic!("the manual shows no {first}")))
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/why_counted.c")
}

/// The line of the program's source that is planted.
fn planted() -> u64 {
    let source = fs::read_to_string(source()).expect("the source");
    let at = source.lines().position(|line| line.contains("// PLANTED")).expect("a planted line");
    at as u64 + 1
}

/// Builds the program by the manual's line for a compiler, at a level of optimisation.
fn counting(stage: &Stage, named: &str, compiler: &str, level: &str) -> PathBuf {
    let runtime = stage.path("holdup_counts.o");
    if !runtime.exists() {
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-Wall", "-Wextra", "-Werror", "-c", "-o"]).arg(&runtime);
        let ended = run(cc.arg(workspace().join("include/holdup_counts.c")));
        assert_eq!(ended.status, 0, "{ended:?}");
    }
    let program = stage.path(format!("app-{compiler}{level}"));
    let commands = shown("cc ");
    let line =
        commands.lines().find(|line| line.split(' ').next() == Some(named)).expect("a line for the compiler");
    let mut command = Command::new(compiler);
    for word in line.split_whitespace().skip(1) {
        match word {
            "-O2" => command.arg(level),
            "app.c" => command.arg(source()),
            "holdup_counts.o" => command.arg(&runtime),
            "app" => command.arg(&program),
            flag => command.arg(flag),
        };
    }
    let ended = run(&mut command);
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()), "{command:?}");
    program
}

/// The program in all its builds.
fn all(stage: &Stage) -> Vec<PathBuf> {
    let compilers =
        [("gcc", "gcc"), ("clang", CLANG)].into_iter().filter(|(_, compiler)| is_installed(compiler));
    compilers
        .flat_map(|(named, compiler)| ["-O0", "-O2"].map(|level| counting(stage, named, compiler, level)))
        .collect()
}

fn plainly(stage: &Stage, program: &Path, words: &[&str]) -> Ended {
    run(Command::new(program).current_dir(stage.directory()).args(words))
}

/// `holdup why` on a machine without emulator.
fn why(stage: &Stage, words: &[&str]) -> Ended {
    let mut command = Command::new(HOLDUP);
    run(command.current_dir(stage.directory()).env("HOLDUP_QEMU", "/no/such/qemu").arg("why").args(words))
}

/// How often the program ran since this was asked last.
fn runs(stage: &Stage) -> usize {
    let told = fs::read_to_string(stage.path("runs")).unwrap_or_default();
    let _ = fs::remove_file(stage.path("runs"));
    told.lines().count()
}

fn value(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("no JSON ({error}): {}", text(bytes)))
}

/// The section with the most idle time is that of the barrier, and its first cause is the planted line with its counts.
fn assert_planted(told: &Value) {
    let section = &told["sections"][0];
    let cause = &section["causes"][0];
    assert_eq!(section["instances"], INSTANCES, "{told:#}");
    assert_eq!(cause["where"]["line"], planted(), "{told:#}");
    assert!(cause["score"].as_f64().expect("a score") > 0.7, "{told:#}");
    let taken: Vec<u64> = (1..=THREADS).map(|thread| INSTANCES * thread * 10).collect();
    assert_eq!(cause["counts"], json!(taken), "{told:#}");
}

#[test]
fn the_line_is_named_after_one_native_run() {
    let stage = Stage::new();
    for program in all(&stage) {
        let name = program.to_string_lossy().into_owned();
        let plain = plainly(&stage, &program, &["8", "5"]);
        assert_eq!((plain.status, text(&plain.stderr).as_str(), runs(&stage)), (5, "done\n", 1), "{plain:?}");

        let ended =
            why(&stage, &["--json", "--output", "why.json", "-o", "run.holdup", "--", &name, "8", "5"]);
        assert_eq!(ended, plain, "{name}");
        assert_eq!(runs(&stage), 1, "{name}");
        let told = value(&fs::read(stage.path("why.json")).expect("the answer"));
        assert_planted(&told);
        assert_eq!(
            (&told["run"]["source"], &told["run"]["warnings"]),
            (&json!("instrumented"), &json!([])),
            "{told:#}"
        );

        // Native times are those of this run.
        assert!(told["run"]["wall_ns"].as_u64().is_some_and(|wall| wall > 0), "{told:#}");
        let native = told["sections"][0]["native"]["time_ns"].as_array().map_or(0, Vec::len);
        assert_eq!(native as u64, THREADS, "{told:#}");

        // The recording holds all of that, unless native times are not wanted.
        let again = why(&stage, &["run.holdup", "--json"]);
        assert_eq!((again.status, value(&again.stdout)), (0, told), "{name}");
        let without = value(&why(&stage, &["run.holdup", "--json", "--no-native"]).stdout);
        assert_planted(&without);
        assert_eq!(
            (&without["run"]["wall_ns"], &without["sections"][0]["native"]),
            (&json!(null), &json!(null))
        );
        assert_eq!(runs(&stage), 0);
    }
}

#[test]
fn one_thread_has_nobody_to_be_unequal_to() {
    let stage = Stage::new();
    for program in all(&stage) {
        let name = program.to_string_lossy().into_owned();
        let plain = plainly(&stage, &program, &["0", "3"]);
        let ended = why(&stage, &["--", &name, "0", "3"]);
        assert_eq!((ended.status, &ended.stdout), (3, &plain.stdout), "{ended:?}");
        let said = text(&ended.stderr);
        assert!(said.starts_with("done\n") && said.contains("it has one thread"), "{said}");
    }
}

#[test]
fn without_holdup_the_program_runs_as_ever() {
    let stage = Stage::new();
    let uncounted = stage.compile("uncounted", source(), &[]);
    for words in [["8", "0"], ["1", "7"], ["0", "0"]] {
        let plain = plainly(&stage, &uncounted, &words);
        for program in all(&stage) {
            assert_eq!(plainly(&stage, &program, &words), plain, "{}", program.display());
            // A variable that another program's recording has left is none of its business.
            let mut command = Command::new(&program);
            command.current_dir(stage.directory()).env("HOLDUP_COUNTS", "counts").args(words);
            assert_eq!(run(&mut command), plain, "{}", program.display());
            assert!(!stage.path("counts").exists());
        }
        // Nor does an ordinary recording make it count.
        for program in all(&stage) {
            let mut command = Command::new(HOLDUP);
            command.current_dir(stage.directory()).args(["record", "-o", "plain.holdup", "--"]).arg(&program);
            assert_eq!(run(command.args(words)), plain, "{}", program.display());
        }
    }
}

#[test]
fn the_text_that_the_manual_shows_is_told_of() {
    let stage = Stage::new();
    let example = shown("holdup counts 1\n");
    stage.write("counts.txt", &example);
    let ended = why(&stage, &["counts.txt", "--json"]);
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()));
    let told = value(&ended.stdout);
    assert_eq!(told["run"]["source"], "text");
    let section = &told["sections"][0];
    assert_eq!(section["where"]["line"], 604, "{told:#}");
    // 500 and 100 times the 90 instructions of the block at line 408.
    assert_eq!(section["time"], json!([45_000, 9_000]), "{told:#}");

    // What is damaged is refused with the line, or, where it is only cut short, told of.
    for (from, to) in [
        ("edge 1 2 1 100", "edge 1 2 1 1x0"),
        ("edge 1 2 1 100", "edge 1 9 1 100"),
        ("section barrier", "section barriere"),
        ("name=\"worker 1\"", "name=\"worker 1"),
        ("instance\n", ""),
    ] {
        let line = example[..example.find(from).expect("it is shown")].lines().count() + 1;
        let line = if example.contains(&format!("\n{from}")) { line } else { line - 1 };
        stage.write("wrong.txt", example.replacen(from, to, 1));
        assert_refused(&why(&stage, &["wrong.txt"]), 2, &["wrong.txt", &format!("line {line}: ")]);
    }
    let mut binary = example.clone().into_bytes();
    binary.splice(40..44, [0xff, 0xfe, 0, 0x80]);
    stage.write("wrong.txt", binary);
    assert_refused(&why(&stage, &["wrong.txt"]), 2, &["wrong.txt"]);
    for cut in (16..example.len()).step_by(5) {
        stage.write("cut.txt", &example[..cut]);
        let ended = why(&stage, &["cut.txt", "--json"]);
        assert!(matches!(ended.status, 0 | 2), "cut at {cut}: {ended:?}");
    }
}
