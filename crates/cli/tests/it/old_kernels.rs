//! On a kernel without the system calls that came after Linux 4.14 holdup does what it does on a newer one.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::attach;
use crate::stage::{
    HOLDUP, Stage, assert_refused, eventually, report_json, run, skip, start, text, workspace,
};

/// `holdup` where none of these system calls is there.
fn on_old_kernel(filter: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(filter);
    command.arg(HOLDUP).args(arguments);
    command
}

fn filter(stage: &Stage) -> PathBuf {
    stage.program("old_kernel", &["-O2"])
}

/// What two recordings of a program have in common, however long its threads had to wait.
fn facts(recording: &Path) -> [Value; 3] {
    let answer = report_json(recording);
    [&answer["run"]["collectors"], &answer["process"]["command"], &answer["process"]["threads"]]
        .map(Value::clone)
}

#[test]
fn programs_are_recorded_and_reported_as_on_newer_ones() {
    let stage = Stage::new();
    let filter = filter(&stage);
    let source = workspace().join("workloads/late_thread/main.c");
    let program = stage.compile("late", source, &["-O2", "-g", "-pthread", "-lm"]);
    let [old, new] = ["old.holdup", "new.holdup"].map(|name| stage.path(name));
    let words = |recording: &Path| ["record", "-o", &recording.to_string_lossy(), "--"].map(str::to_owned);
    let plain = run(Command::new(HOLDUP).args(words(&new)).arg(&program));
    let words = words(&old);
    let ended = run(on_old_kernel(&filter, &words.each_ref().map(String::as_str)).arg(&program));
    assert_eq!((plain.status, ended.status), (0, 0), "{plain:?} {ended:?}");
    let [older, newer] = [&old, &new].map(|recording| facts(recording));
    assert_eq!(older, newer);
    assert!(older[2].as_u64() > Some(1), "{older:?}");
    let ask = |options: &[&str]| {
        let newer = run(Command::new(HOLDUP).args(options).arg(&old));
        let older = run(on_old_kernel(&filter, options).arg(&old));
        assert_eq!((older.status, text(&older.stderr)), (newer.status, text(&newer.stderr)));
        assert_eq!(text(&older.stdout), text(&newer.stdout));
        assert_eq!(older.status, 0, "{older:?}");
    };
    ask(&["report"]);
    ask(&["report", "--json"]);
}

#[test]
fn the_end_of_a_process_that_ran_before_is_noticed() {
    if let Some(why) = attach::refused() {
        return skip(&format!("no process can be attached to here: {why}"));
    }
    let stage = Stage::new();
    let filter = filter(&stage);
    let recording = stage.path("sleep.holdup");
    let attach =
        |pid: &str| on_old_kernel(&filter, &["record", "--pid", pid, "-o", &recording.to_string_lossy()]);
    assert_refused(&run(&mut attach("4194305")), 2, &["4194305"]);
    let sleeper = start(Command::new("sleep").arg("1000"));
    let pid = sleeper.pid().as_raw_pid();
    let recorder = start(&mut attach(&pid.to_string()));
    eventually("a recording", || recording.exists().then_some(()));
    let _ = kill_process(sleeper.pid(), Signal::KILL);
    sleeper.end();
    let ended = recorder.end();
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(report_json(&recording)["process"]["pid"], pid);
}

#[test]
fn programs_are_followed_until_they_end() {
    let stage = Stage::new();
    let filter = filter(&stage);
    let top =
        |more: &[&str]| on_old_kernel(&filter, &[&["top", "--batch", "--interval", "0.05"], more].concat());
    assert_refused(&run(&mut top(&["--pid", "4194305"])), 2, &["4194305", "ps -e"]);
    let started = run(&mut top(&["--", "sh", "-c", "sleep 0.2; exit 9"]));
    assert_eq!(started.status, 9, "{started:?}");
    for way in [&[][..], &["--looks"]] {
        let sleeper = start(Command::new("sleep").arg("1000"));
        let pid = sleeper.pid().as_raw_pid().to_string();
        let mut viewer = start(&mut top(&[way, &["--pid", &pid]].concat()));
        assert_ne!(viewer.first_line(), "");
        let _ = kill_process(sleeper.pid(), Signal::KILL);
        sleeper.end();
        let ended = viewer.end();
        assert_eq!(ended.status, 0, "{ended:?}");
    }
}
