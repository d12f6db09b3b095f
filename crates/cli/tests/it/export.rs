//! `holdup export`: where it writes, and what it refuses.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::stage::{Ended, HOLDUP, Stage, assert_refused, is_installed, record, run, skip, text};
use serde_json::Value;

fn export(stage: &Stage, words: &[&str]) -> Ended {
    run(Command::new(HOLDUP).arg("export").args(words).current_dir(stage.directory()))
}

/// A recording of a program with one hot lock.
fn recorded(stage: &Stage) -> PathBuf {
    let program = stage.program("hold_and_wait", &[]);
    let recording = stage.path("run.holdup");
    let ended = run(record(&recording, &program).args(["1500", "40"]));
    assert_eq!((ended.status, text(&ended.stderr)), (6, String::new()));
    recording
}

/// The words of the terminal about samples, where this machine gives none.
fn assert_quiet(ended: &Ended) {
    let stderr = text(&ended.stderr);
    assert!(stderr.is_empty() || stderr.contains("no samples"), "{ended:?}");
    assert_eq!(ended.status, 0, "{ended:?}");
}

#[test]
fn a_pipe_gets_a_single_file() {
    let stage = Stage::new();
    recorded(&stage);
    for words in [
        &["--format", "firefox", "run.holdup"][..],
        &["--format", "speedscope", "run.holdup", "--output", "-"],
    ] {
        let ended = export(&stage, words);
        assert_quiet(&ended);
        let json: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
        assert!(json.is_object());
    }
    let ended = export(&stage, &["--format", "perfetto", "run.holdup"]);
    assert_quiet(&ended);
    // The first field of a trace: a packet, with a length.
    assert_eq!(ended.stdout.first(), Some(&0x0a));
    let ended = export(&stage, &["--format", "folded", "--weight", "wait", "run.holdup"]);
    assert_quiet(&ended);
    assert!(text(&ended.stdout).lines().any(|line| line.contains(";[blocked: mutex ")), "{ended:?}");
    let names: Vec<_> =
        fs::read_dir(stage.directory()).expect("a folder").map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name == "run.holdup" || name == "hold_and_wait"), "{names:?}");
}

/// In this version for the last time.
#[test]
fn the_place_is_understood_by_its_earlier_name() {
    let stage = Stage::new();
    recorded(&stage);
    let ended = export(&stage, &["--format", "folded", "run.holdup", "-o", "stacks"]);
    assert_eq!((ended.status, text(&ended.stdout)), (0, String::new()), "{ended:?}");
    assert!(text(&ended.stderr).contains("--output"), "{ended:?}");
    assert!(stage.path("stacks").exists());
    let both = ["--format", "folded", "run.holdup", "-o", "stacks", "--output", "others"];
    assert_eq!(export(&stage, &both).status, 2);
}

#[test]
fn a_file_is_compressed_where_its_name_says_so() {
    let stage = Stage::new();
    recorded(&stage);
    for name in ["plain.json", "packed.json.gz"] {
        assert_quiet(&export(&stage, &["--format", "firefox", "run.holdup", "--output", name]));
    }
    let (plain, packed) = (fs::read(stage.path("plain.json")), fs::read(stage.path("packed.json.gz")));
    let unpacked = run(Command::new("gzip").args(["-dc", "packed.json.gz"]).current_dir(stage.directory()));
    assert_eq!(packed.expect("a file")[..2], [0x1f, 0x8b]);
    assert!(unpacked.stdout == plain.expect("a file"));
}

#[test]
fn tables_are_a_folder_that_is_new_or_empty() {
    let stage = Stage::new();
    recorded(&stage);
    for format in if cfg!(feature = "parquet") { &["csv", "parquet"][..] } else { &["csv"] } {
        let ended = export(&stage, &["--format", format, "run.holdup"]);
        assert_eq!((ended.status, text(&ended.stderr)), (0, format!("holdup: run.{format} written\n")));
        let waits = fs::metadata(stage.path(format!("run.{format}/waits.{format}"))).expect("a table");
        assert!(waits.len() > 200);
        let again = export(&stage, &["--format", format, "run.holdup"]);
        assert_refused(&again, 2, &[&format!("run.{format}"), "files in this folder already"]);
        assert_refused(
            &export(&stage, &["--format", format, "run.holdup", "--output", "-"]),
            2,
            &["--output", "folder"],
        );
    }
    fs::create_dir(stage.path("empty")).expect("mkdir");
    assert_quiet(&export(&stage, &["--format", "csv", "run.holdup", "--output", "empty"]));
    assert!(stage.path("empty/segments.csv").exists());
}

#[test]
fn a_part_of_the_run() {
    let stage = Stage::new();
    recorded(&stage);
    let ended = export(&stage, &["--format", "folded", "run.holdup", "--from", "1000"]);
    assert_refused(&ended, 2, &["run.holdup", "nothing was recorded"]);
    let total = |options: &[&str]| -> u64 {
        let words = [&["--format", "folded", "--weight", "blocked", "run.holdup"], options].concat();
        let ended = export(&stage, &words);
        assert_quiet(&ended);
        let amounts = text(&ended.stdout);
        amounts.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    };
    let (part, all) = (total(&["--to", "0.02"]), total(&[]));
    assert!(part < all, "{part} of {all}");
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let stage = Stage::new();
    recorded(&stage);
    fs::create_dir(stage.path("folder")).expect("mkdir");
    stage.write("text", "This is no recording, but long enough to be one: header and some more.");
    for (words, says) in [
        (&["--format", "perfetto", "missing"][..], &["missing", "No such file"][..]),
        (&["--format", "csv", "missing", "--output", "x"], &["missing", "No such file"]),
        (&["--format", "folded", "text"], &["text", "not a recording"]),
        (&["--format", "firefox", "run.holdup", "--output", "folder"], &["folder", "directory"]),
        (
            &["--format", "firefox", "run.holdup", "--output", "no/such/place"],
            &["no/such/place", "No such file"],
        ),
        (&["--format", "speedscope", "run.holdup", "--output", "/dev/full"], &["/dev/full", "No space left"]),
        (&["--format", "perfetto", "run.holdup", "--output", "/dev/full"], &["/dev/full", "No space left"]),
        (&["--format", "csv", "run.holdup", "--output", "text"], &["text", "cannot be written"]),
        (&["--format", "csv", "run.holdup", "--output", "text/below"], &["text/below", "Not a directory"]),
        (&["--format", "perfetto", "run.holdup", "--output", "a\x1b[2J/b"], &["a\\u{1b}[2J/b"]),
    ] {
        assert_refused(&export(&stage, words), 2, says);
    }
    for words in [&["run.holdup"][..], &["--format", "xml", "run.holdup"], &["--format", "csv"]] {
        let ended = export(&stage, words);
        assert_eq!((ended.status, text(&ended.stdout)), (2, String::new()), "{ended:?}");
        assert!(
            text(&ended.stderr).contains("--format") || text(&ended.stderr).contains("RECORDING"),
            "{ended:?}"
        );
    }
    let ended = export(&stage, &["--format", "parquet", "run.holdup", "--output", "text"]);
    if cfg!(feature = "parquet") {
        assert_refused(&ended, 2, &["text", "cannot be written"]);
    } else {
        assert_refused(&ended, 3, &["no Parquet", "take csv", "--features parquet"]);
    }
    assert!(!stage.path("x").exists(), "nothing is made for a recording that cannot be read");
}

/// On a terminal a file is written, under a name that is free.
#[test]
fn a_terminal_gets_no_export() {
    if !is_installed("script") {
        return skip("script, which gives a terminal, is not installed");
    }
    let stage = Stage::new();
    recorded(&stage);
    let on_terminal = || {
        let command = format!("{HOLDUP} export --format perfetto run.holdup");
        run(Command::new("script").args(["-qec", &command, "/dev/null"]).current_dir(stage.directory()))
    };
    let ended = on_terminal();
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(text(&ended.stdout).contains("run.pftrace written"), "{ended:?}");
    let first = fs::read(stage.path("run.pftrace")).expect("a trace");
    let ended = on_terminal();
    assert_eq!(ended.status, 2, "{ended:?}");
    assert!(text(&ended.stdout).contains("--output"), "{ended:?}");
    assert!(fs::read(stage.path("run.pftrace")).expect("a trace") == first);
}

/// A reader that goes away is no failure.
#[test]
fn a_closed_pipe_is_no_failure() {
    let stage = Stage::new();
    let recording = recorded(&stage);
    let mut shell = Command::new("bash");
    shell
        .args(["-c", "\"$0\" export --format perfetto \"$1\" | true; echo ${PIPESTATUS[0]}"])
        .arg(HOLDUP)
        .arg(&recording);
    assert_eq!(text(&run(&mut shell).stdout), "0\n");
}
