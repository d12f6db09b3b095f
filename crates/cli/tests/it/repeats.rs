//! Several runs of one program: `-r N`, and reports of several recordings.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::stage;
use crate::stage::{HOLDUP, Stage, assert_refused, record, run, shell_status, text, workspace};

fn record_times(times: &str, recording: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(HOLDUP);
    command.args(["record", "-r", times, "-o"]).arg(recording).args(["--", program]).args(arguments);
    command
}

#[test]
fn each_run_has_its_recording_and_prints_what_it_prints() {
    let stage = Stage::new();
    let ended = run(&mut record_times("3", &stage.path("a.holdup"), "sh", &["-c", "echo again"]));
    assert_eq!((ended.status, text(&ended.stdout).as_str()), (0, "again\nagain\nagain\n"), "{ended:?}");
    for name in ["a.holdup", "a.2.holdup", "a.3.holdup"] {
        assert_eq!(stage::report(&stage.path(name), &["--json"]).status, 0, "{name}");
    }
    assert!(!stage.path("a.4.holdup").exists());
}

#[test]
fn earlier_recordings_are_kept() {
    let stage = Stage::new();
    stage.write_executable("app", "#!/bin/sh\necho one\n");
    let repeated = |times: &str| {
        let ended = run(Command::new(HOLDUP).current_dir(stage.directory()).args(["-r", times, "./app"]));
        assert_eq!(ended.status, 0, "{ended:?}");
        text(&ended.stderr)
    };
    let said = repeated("2");
    assert!(said.ends_with("recordings: app.holdup, app.2.holdup\n"), "{said}");
    let second = fs::read(stage.path("app.2.holdup")).expect("the second run's");
    repeated("2");
    assert_eq!(fs::read(stage.path("app.2.old.holdup")).ok(), Some(second));
    assert!(stage.path("app.old.holdup").exists());
    let said = repeated("1");
    assert!(said.ends_with("recording: app.holdup\n"), "{said}");
}

#[test]
fn the_status_is_that_of_the_first_run_that_failed() {
    let stage = Stage::new();
    let counter = stage.path("counter");
    let script = "echo x >>\"$0\"; exit $(wc -l <\"$0\" | sed 's/^1$/0/; s/^2$/7/; s/^3$/9/; s/^4$/0/')";
    let ended = run(&mut record_times(
        "4",
        &stage.path("a.holdup"),
        "sh",
        &["-c", script, counter.to_str().expect("UTF-8")],
    ));
    assert_eq!(ended.status, 7, "{ended:?}");
    assert_eq!(fs::read_to_string(counter).map(|text| text.lines().count()).ok(), Some(4), "all four ran");
}

#[test]
fn each_run_reads_a_file_from_its_beginning() {
    let stage = Stage::new();
    let input = stage.write("input", "line\n");
    let output = record_times("3", &stage.path("a.holdup"), "cat", &[])
        .stdin(File::open(input).expect("just written"))
        .output()
        .expect("holdup runs");
    assert_eq!((shell_status(output.status), text(&output.stdout).as_str()), (0, "line\nline\nline\n"));
    assert!(!text(&output.stderr).contains("pipe"), "{}", text(&output.stderr));
}

#[test]
fn that_a_pipe_can_be_read_once_is_told() {
    let stage = Stage::new();
    let mut echo = Command::new("echo").arg("line").stdout(Stdio::piped()).spawn().expect("echo");
    let output = record_times("3", &stage.path("a.holdup"), "cat", &[])
        .stdin(echo.stdout.take().expect("a pipe"))
        .output()
        .expect("holdup runs");
    assert!(echo.wait().is_ok_and(|status| status.success()));
    assert_eq!((shell_status(output.status), text(&output.stdout).as_str()), (0, "line\n"));
    let said = text(&output.stderr);
    assert_eq!(said.matches("standard input is a pipe").count(), 1, "{said}");
}

#[test]
fn the_run_in_the_middle_is_told() {
    let stage = Stage::new();
    let source = workspace().join("workloads/critical_section/main.c");
    let program = stage.compile("critical_section", source, &[]);
    let ended =
        run(&mut record_times("3", &stage.path("a.holdup"), program.to_str().expect("UTF-8"), &["2"]));
    assert_eq!(ended.status, 0, "{ended:?}");
    let names = ["a.holdup", "a.2.holdup", "a.3.holdup"].map(|name| stage.path(name));
    let report = |options: &[&str]| run(Command::new(HOLDUP).arg("report").args(&names).args(options));
    let json: Value = serde_json::from_slice(&report(&["--json"]).stdout).expect("JSON");
    let walls: Vec<u64> = names
        .iter()
        .map(|name| stage::report_json(name)["process"]["wall_ns"].as_u64().expect("a wall time"))
        .collect();
    let mut sorted = walls.clone();
    sorted.sort_unstable();
    assert_eq!(json["repeats"]["walls_ns"], serde_json::json!(sorted));
    assert_eq!(json["process"]["wall_ns"], Value::from(sorted[1]));
    let findings = json["findings"].as_array().expect("findings");
    let lock = findings.iter().find(|finding| finding["kind"] == "lock").expect("the planted lock");
    assert_eq!(
        (&lock["repeats"]["runs"], &lock["repeats"]["found"]),
        (&Value::from(3), &Value::from(3)),
        "{lock}"
    );
    let [least, mean, most] =
        ["least_ns", "mean_ns", "most_ns"].map(|word| lock["repeats"][word].as_u64().expect("a cost"));
    assert!(0 < least && least <= mean && mean <= most, "{lock}");
    let said = text(&report(&[]).stdout);
    assert!(said.contains("in the middle of 3 runs"), "{said}");
    // The order in which they are given makes no difference.
    let turned: Vec<PathBuf> = [2, 0, 1].iter().map(|&index: &usize| names[index].clone()).collect();
    let again = run(Command::new(HOLDUP).args(["report", "--json"]).args(turned));
    assert_eq!(serde_json::from_slice::<Value>(&again.stdout).ok(), Some(json));
}

#[test]
fn recordings_of_different_programs_are_not_mixed() {
    let stage = Stage::new();
    let both = ["true", "sleep"].map(|program| {
        let recording = stage.path(format!("{program}.holdup"));
        let ended = run(record(&recording, program).arg("0"));
        assert_eq!(ended.status, 0, "{ended:?}");
        recording
    });
    let ended = run(Command::new(HOLDUP).arg("report").args(&both));
    assert_refused(&ended, 2, &["sleep.holdup", "no recording of true", "holdup diff"]);
    let twice = run(Command::new(HOLDUP).args(["report", "--process", "1"]).args([&both[0], &both[0]]));
    assert_refused(&twice, 2, &["--process"]);
}

#[test]
fn wrong_numbers_of_runs_are_refused() {
    for arguments in [["-r", "0", "true"], ["-r", "many", "true"], ["-r", "5000", "true"]] {
        assert_eq!(run(Command::new(HOLDUP).args(arguments)).status, 2, "{arguments:?}");
    }
    let ended = run(Command::new(HOLDUP).args(["record", "-r", "2", "--pid", "1"]));
    assert_eq!(ended.status, 2, "{ended:?}");
}
