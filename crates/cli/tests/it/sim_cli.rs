//! `holdup sim`: what it runs, what it prints where, how it ends, and what it refuses. What it finds is tested with the
//! workloads.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::stage::{Ended, HOLDUP, Stage, assert_refused, is_installed, run, skip, text};
use holdup_recording::Writer;
use holdup_recording::facts::Session;
use holdup_recording::format::FrameKind;
use serde_json::Value;

/// `holdup sim` with words, in the test's directory.
fn sim(stage: &Stage, words: &[&str]) -> Command {
    let mut command = Command::new(HOLDUP);
    command.current_dir(stage.directory()).arg("sim").args(words);
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

fn json(ended: &Ended) -> Value {
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
}

/// The runs of an answer.
fn runs(value: &Value) -> &[Value] {
    value["simulations"].as_array().unwrap_or_else(|| panic!("no simulations: {value:#}"))
}

/// The line of the program that walks.
fn line_of_cell() -> usize {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/sim_small.c");
    let source = fs::read_to_string(source).expect("the source");
    source.lines().position(|line| line.contains("// CELL")).expect("the line") + 1
}

#[test]
fn the_program_is_heard_once_and_its_status_stands() {
    if !can_emulate() {
        return;
    }
    let stage = Stage::new();
    stage.program("sim_small", &[]);
    let ended =
        run(&mut sim(&stage, &["-o", "run.holdup", "--machine", "dunnington", "--", "./sim_small", "5"]));
    assert_eq!(ended.status, 5, "{ended:?}");
    assert!(text(&ended.stdout).starts_with("sum "), "{ended:?}");
    let said = text(&ended.stderr);
    let answer = said.strip_prefix("done\n").unwrap_or_else(|| panic!("{said}"));
    // Four threads had something to do: four cores, if nobody asks for others.
    assert!(answer.contains("4 cores of dunnington"), "{answer}");

    // With JSON standard output is the answer's, and all of the program is on standard error.
    let ended = run(&mut sim(&stage, &["--json", "--", "./sim_small", "5"]));
    assert_eq!(ended.status, 5, "{ended:?}");
    assert_eq!(runs(&json(&ended)).len(), 1);
    let said = text(&ended.stderr);
    assert!(said.contains("sum ") && said.contains("done\n"), "{said}");
}

#[test]
fn the_answer_does_not_depend_on_how_many_simulations_run_at_once() {
    if !can_emulate() {
        return;
    }
    let stage = Stage::new();
    stage.program("sim_small", &[]);
    let words = ["record", "--instructions=stream", "-o", "run.holdup", "--", "./sim_small"];
    let recorded = run(Command::new(HOLDUP).current_dir(stage.directory()).args(words));
    assert_eq!(recorded.status, 0, "{recorded:?}");

    let missless = format!("misses:sim_small.c:{}=0", line_of_cell());
    let what_ifs = ["perfect-branches", "lock:sum_lock=0", &missless, "perfect-cache=1,core.width=1"];
    let mut words = vec!["run.holdup", "--cores", "2,4", "--machine", "dunnington,nehalem", "--json"];
    words.extend(what_ifs.iter().flat_map(|what_if| ["--what-if", what_if]));
    let answer = |jobs: &str| {
        let ended = run(&mut sim(&stage, &[words.as_slice(), &["--jobs", jobs]].concat()));
        assert_eq!((ended.status, text(&ended.stderr).as_str()), (0, ""), "{ended:?}");
        ended
    };
    let (one, two) = (answer("1"), answer("2"));
    assert!(one == two, "the answers of one and of two jobs are different");
    let value = json(&one);
    let all: Vec<(String, u64, usize)> = runs(&value)
        .iter()
        .map(|run| {
            let changes = run["changes"].as_array().map_or(0, Vec::len);
            (
                run["machine"].as_str().unwrap_or_default().to_owned(),
                run["cores"].as_u64().unwrap_or(0),
                changes,
            )
        })
        .collect();
    let mut expected = Vec::new();
    for machine in ["dunnington", "nehalem"] {
        for cores in [2, 4] {
            expected.extend([0, 1, 1, 1, 2].map(|changes| (machine.to_owned(), cores, changes)));
        }
    }
    assert_eq!(all, expected, "{value:#}");
    let cycles: Vec<u64> = runs(&value).iter().map(|run| run["cycles"].as_u64().unwrap_or(0)).collect();
    for group in cycles.chunks(5) {
        assert!(group[1] < group[0], "perfect branches help: {group:?}");
        assert!(group[3] < group[0], "no misses help: {group:?}");
        assert!(group[4] > group[3], "a core that dispatches one micro-op a cycle is slower: {group:?}");
    }

    // The page and the table are of the same simulations.
    let ended = run(&mut sim(&stage, &["run.holdup", "--csv"]));
    assert_eq!((ended.status, text(&ended.stderr).as_str()), (0, ""), "{ended:?}");
    assert!(text(&ended.stdout).starts_with("machine,cores,"), "{ended:?}");
    let ended = run(&mut sim(&stage, &["run.holdup", "--html", "-", "--speedup-stack"]));
    assert_eq!((ended.status, text(&ended.stderr).as_str()), (0, ""), "{ended:?}");
    assert!(text(&ended.stdout).contains("<html"), "{ended:?}");
    let before = fs::read(stage.path("run.holdup")).expect("the recording");
    assert_refused(&run(&mut sim(&stage, &["run.holdup", "--html", "./run.holdup"])), 2, &["--html"]);
    assert_eq!(fs::read(stage.path("run.holdup")).expect("the recording"), before);

    // What a what-if names has to be there.
    for (what_if, said) in [
        ("lock:nobody=0", &["nobody", "sum_lock"][..]),
        ("misses:sim_small.c:1=0", &["sim_small.c:1"]),
        ("thread:77/2", &["no thread 77"]),
        ("core:4/2", &["no core 4; there are 0, 1, 2, 3"]),
        ("memory.channels=0", &["channels"]),
    ] {
        assert_refused(&run(&mut sim(&stage, &["run.holdup", "--what-if", what_if])), 2, said);
    }
}

#[test]
fn recordings_that_cannot_be_simulated_name_the_command_that_makes_one() {
    let stage = Stage::new();
    stage.program("sim_small", &[]);
    let record = |words: &[&str]| {
        let ended = run(Command::new(HOLDUP).current_dir(stage.directory()).arg("record").args(words));
        assert_eq!(ended.status, 0, "{ended:?}");
    };
    record(&["-o", "plain.holdup", "--", "./sim_small"]);
    let refused = run(&mut sim(&stage, &["plain.holdup"]));
    let says = "holdup record --instructions=stream -o plain.stream.holdup -- ./sim_small";
    assert_refused(&refused, 2, &["plain.holdup", "no instruction streams", says]);
    assert_refused(&run(&mut sim(&stage, &["plain.holdup", "--cores", "3"])), 2, &["plain.holdup"]);
    if can_emulate() {
        record(&["--instructions=counts", "-o", "counts.holdup", "--", "./sim_small"]);
        assert_refused(
            &run(&mut sim(&stage, &["counts.holdup"])),
            2,
            &["counts.holdup", "counts of instructions"],
        );
        let refused = run(Command::new(HOLDUP).current_dir(stage.directory()).args([
            "why",
            "--simulate",
            "counts.holdup",
        ]));
        assert_refused(&refused, 2, &["counts.holdup", "--instructions=stream"]);
    }
    stage.write("other.holdup", "hello\n");
    assert_refused(&run(&mut sim(&stage, &["other.holdup"])), 2, &["other.holdup"]);
}

#[test]
fn instructions_of_other_processors_are_refused() {
    let stage = Stage::new();
    for (machine, said) in
        [("aarch64", &["of another architecture (aarch64)"][..]), ("x86_64", &[]), ("", &[])]
    {
        let mut writer = Writer::create(&stage.path("other.holdup")).expect("a recording");
        let session = Session {
            machine: machine.to_owned(),
            instructions: Some("stream".to_owned()),
            ..Session::default()
        };
        writer.facts(FrameKind::Session, 0, &session).expect("a frame");
        drop(writer);
        for command in ["sim", "why"] {
            let refused =
                run(Command::new(HOLDUP).current_dir(stage.directory()).args([command, "other.holdup"]));
            assert_refused(&refused, 2, &[&["other.holdup"][..], said].concat());
            assert_eq!(text(&refused.stderr).contains("architecture"), !said.is_empty(), "{refused:?}");
        }
    }
}

#[test]
fn machines_are_listed_shown_and_read_from_files() {
    let stage = Stage::new();
    let listed = run(&mut sim(&stage, &["--list-machines"]));
    assert_eq!((listed.status, text(&listed.stderr).as_str()), (0, ""), "{listed:?}");
    let listed = text(&listed.stdout);
    for name in ["dunnington", "nehalem", "host"] {
        assert!(listed.lines().any(|line| line.starts_with(name)), "{name}: {listed}");
    }
    let shown = run(&mut sim(&stage, &["--show-machine", "dunnington"]));
    assert_eq!(shown.status, 0, "{shown:?}");
    assert!(text(&shown.stdout).contains("cores-per-socket"), "{shown:?}");
    stage.write("wrong.toml", text(&shown.stdout).replacen("frequency", "frequenzy", 1));
    assert_refused(
        &run(&mut sim(&stage, &["--machine", "wrong.toml", "--", "true"])),
        2,
        &["wrong.toml", "frequenzy"],
    );
    for (name, says) in [("dunington", "dunnington"), ("absent.toml", "absent.toml")] {
        let refused = run(&mut sim(&stage, &["--machine", name, "--", "touch", "ran"]));
        assert_refused(&refused, 2, &[name, says]);
    }
    assert!(!stage.path("ran").exists());
}

#[test]
fn wrong_usage_is_told() {
    let stage = Stage::new();
    for (words, says) in [
        (&[][..], "required"),
        (&["--cores", "0", "x.holdup"], "1 to 1024"),
        (&["--cores", "1025", "x.holdup"], "1 to 1024"),
        (&["--cores", "four", "x.holdup"], "whole number"),
        (&["--jobs", "0", "x.holdup"], "--jobs"),
        (&["--what-if", "fly", "x.holdup"], "perfect-branches"),
        (&["--what-if", "perfect-cache=9", "x.holdup"], "perfect-cache=1"),
        (&["--json", "--csv", "x.holdup"], "cannot be used with"),
        (&["x.holdup", "--", "true"], "cannot be used with"),
    ] {
        let ended = run(&mut sim(&stage, words));
        assert_eq!((ended.status, ended.stdout.as_slice()), (2, &b""[..]), "{ended:?}");
        assert!(text(&ended.stderr).contains(says), "{ended:?}");
    }
    for (words, names) in [
        (&["absent.holdup"][..], "absent.holdup"),
        (&["--html", "no/folder/x.html", "--", "true"], "no/folder/x.html"),
        (&["--", "./absent"], "./absent"),
    ] {
        assert_refused(&run(&mut sim(&stage, words)), 2, &[names]);
    }
}

#[test]
fn without_an_emulator_nothing_is_run() {
    let stage = Stage::new();
    let refused = run(sim(&stage, &["--", "touch", "ran"]).env("HOLDUP_QEMU", "/no/such/qemu"));
    assert_refused(&refused, 3, &["/no/such/qemu"]);
    assert!(!stage.path("ran").exists());
}
