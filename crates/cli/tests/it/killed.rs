//! Ends by force: of the program, of holdup, of both. What was recorded is kept, the program is never harmed by the
//! end of holdup, and nothing stays behind.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::stage::{
    HOLDUP, Stage, assert_adds_up, child_of, eventually, processes_with, record, report, report_json, run,
    start, text,
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

const SIGKILL: i32 = 9;

fn kill(pid: Pid, signal: Signal) {
    kill_process(pid, signal).expect("kill a process of the test");
}

/// True while the process runs; a zombie does not.
fn runs(pid: Pid) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).is_ok_and(|text| {
        text.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    })
}

/// The session's directories of a recorder.
fn sessions_of(recorder: Pid) -> Vec<std::path::PathBuf> {
    let prefix = format!("holdup-session-{}-", recorder.as_raw_pid());
    [Path::new("/dev/shm"), &std::env::temp_dir()]
        .into_iter()
        .filter_map(|parent| fs::read_dir(parent).ok())
        .flat_map(|entries| entries.flatten())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect()
}

/// How many waits the objects of a report have, together.
fn waits(json: &Value) -> u64 {
    let objects = json["objects"].as_array().expect("objects");
    objects.iter().map(|object| object["waits"].as_u64().expect("a number")).sum()
}

/// Demands that the program's lock was waited for, by its name. What is found first, and whether the lock costs most, is up to
/// what else runs.
fn assert_lock_is_named(json: &Value) {
    let objects = json["objects"].as_array().expect("objects");
    let found =
        objects.iter().any(|object| object["name"] == "the_lock" && object["waits"].as_u64() > Some(0));
    assert!(found, "no waits for the_lock: {objects:#?}");
}

/// Waits until `count` threads of the process sleep in the kernel.
fn until_asleep(pid: Pid, count: usize) {
    let asleep = |task: fs::DirEntry| {
        fs::read_to_string(task.path().join("stat")).is_ok_and(|text| {
            text.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S'))
        })
    };
    eventually("sleeping threads", || {
        let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid())).ok()?.flatten();
        (tasks.filter(|task| task.file_type().is_ok()).filter_map(|task| asleep(task).then_some(())).count()
            >= count)
            .then_some(())
    });
}

#[test]
fn a_program_that_is_killed_is_told_about() {
    let stage = Stage::new();
    let program = stage.program("hold_and_wait", &[]);
    let recording = stage.path("killed.holdup");
    let mut running = start(record(&recording, &program).args(["1000000000"]));
    running.first_line();
    let child = child_of(running.pid());
    // Long enough to have filled a part of the memory that is shared with holdup.
    until_events(&recording);
    kill(child, Signal::KILL);
    let ended = running.end();
    assert_eq!((ended.status, text(&ended.stderr)), (128 + SIGKILL, String::new()));
    let json = report_json(&recording);
    assert_eq!(json["exit"]["signal"], SIGKILL);
    assert!(waits(&json) > 0, "{json:#}");
    assert_lock_is_named(&json);
    assert_adds_up(&json);
    assert!(processes_with(&stage.directory().to_string_lossy()).is_empty());
}

/// Waits until the recording has content beyond its first facts.
fn until_events(recording: &Path) {
    eventually("events", || fs::metadata(recording).ok().filter(|facts| facts.len() > 40_000));
}

#[test]
fn a_program_outlives_holdup() {
    let stage = Stage::new();
    let program = stage.program("hold_and_wait", &[]);
    let arguments = ["3000", "100"];
    let plain = run(Command::new(&program).args(arguments));
    let recording = stage.path("partial.holdup");
    let mut running = start(record(&recording, &program).args(arguments));
    running.first_line();
    let recorder = running.pid();
    let child = child_of(recorder);
    until_events(&recording);
    assert!(runs(child), "the program ended too early for this test");
    kill(recorder, Signal::KILL);
    assert_eq!(running.wait(), 128 + SIGKILL);
    // The program holds the pipes: this waits for its end.
    let ended = running.end();
    eventually("the program's end", || (!runs(child)).then_some(()));
    let whole = text(&plain.stdout);
    let last = whole.lines().last().expect("a line");
    assert!(text(&ended.stdout).contains(last), "{ended:?}");
    assert_eq!(text(&ended.stderr), "");

    let told = report(&recording, &[]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(text(&told.stdout).contains("was not finished"), "no warning: {told:?}");
    let json = report_json(&recording);
    assert!(waits(&json) > 0, "{json:#}");
    assert_lock_is_named(&json);
    assert_adds_up(&json);

    let next = run(&mut record(&stage.path("next.holdup"), "true"));
    assert_eq!(next.status, 0, "{next:?}");
    assert!(sessions_of(recorder).is_empty(), "the next run cleans up");
    assert!(processes_with(&stage.directory().to_string_lossy()).is_empty());
}

#[test]
fn signals_to_end_are_passed_on() {
    let stage = Stage::new();
    let program = stage.program("signals", &[]);
    for (how, signal, status) in [
        ("handled", Signal::TERM, 7),
        ("handled", Signal::HUP, 7),
        ("default", Signal::TERM, 128 + 15),
        ("default", Signal::HUP, 128 + 1),
    ] {
        let recording = stage.path("signals.holdup");
        let mut running = start(record(&recording, &program).arg(how));
        running.first_line();
        until_asleep(child_of(running.pid()), 2);
        kill(running.pid(), signal);
        let ended = running.end();
        assert_eq!((ended.status, text(&ended.stderr)), (status, String::new()), "{how} {signal:?}");
        let json = report_json(&recording);
        assert_eq!(waits(&json), 1, "the wait that never ended: {json:#}");
        assert_adds_up(&json);
    }
}

#[test]
fn the_terminals_interrupt_ends_both() {
    let stage = Stage::new();
    let program = stage.program("signals", &[]);
    for (how, signal, status) in
        [("default", Signal::INT, 130), ("handled", Signal::INT, 7), ("default", Signal::QUIT, 131)]
    {
        let recording = stage.path("interrupted.holdup");
        // As `holdup ./app`, which has an answer to give after the program's end.
        // Whoever runs the tests in the background of a script ignores these signals, and that is inherited.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT,QUIT", HOLDUP, "-o"]).arg(&recording).arg(&program).arg(how);
        let mut running = start(command.current_dir(stage.directory()));
        running.first_line();
        until_asleep(child_of(running.pid()), 2);
        kill_process_group(running.pid(), signal).expect("the group of the test");
        let ended = running.end();
        assert_eq!(ended.status, status, "{how} {signal:?}: {ended:?}");
        assert!(text(&ended.stderr).contains("signals ran"), "no answer: {ended:?}");
        assert_eq!(waits(&report_json(&recording)), 1);
    }
}

#[test]
fn a_program_that_ignores_the_interrupt_goes_on_and_so_does_holdup() {
    let stage = Stage::new();
    let program = stage.program("signals", &[]);
    let recording = stage.path("ignored.holdup");
    let mut running = start(record(&recording, &program).arg("ignored"));
    running.first_line();
    let child = child_of(running.pid());
    until_asleep(child, 2);
    kill_process_group(running.pid(), Signal::INT).expect("the group of the test");
    kill(running.pid(), Signal::TERM);
    assert!(runs(child) && runs(running.pid()));
    kill(child, Signal::USR1);
    assert_eq!(running.end().status, 7);
    assert_eq!(waits(&report_json(&recording)), 1);
}

#[test]
fn a_deadlock_is_seen() {
    let stage = Stage::new();
    let program = stage.program("deadlock", &[]);
    let recording = stage.path("deadlock.holdup");
    let mut running = start(&mut record(&recording, &program));
    running.first_line();
    let child = child_of(running.pid());
    until_asleep(child, 3);
    // Somebody who kills a program because it hangs has waited for a while.
    std::thread::sleep(std::time::Duration::from_millis(500));
    kill(child, Signal::KILL);
    assert_eq!(running.end().status, 128 + SIGKILL);
    let json = report_json(&recording);
    for name in ["first_lock", "second_lock"] {
        let objects = json["objects"].as_array().expect("objects");
        let lock = objects.iter().find(|object| object["name"] == name);
        let lock = lock.unwrap_or_else(|| panic!("{name} is not in the report: {json:#}"));
        assert_eq!(lock["waits"], 1, "{lock:#}");
        assert!(lock["wait_ns"].as_u64() > Some(0), "{lock:#}");
        assert_eq!(lock["waiters"][0]["where"]["function"], "take_in_order", "{lock:#}");
    }
    // Each waits for the other: the holder of a lock is the waiter for the other one.
    let of = |name: &str, role: &str| {
        let objects = json["objects"].as_array().expect("objects");
        let lock = objects.iter().find(|object| object["name"] == name).expect("found before");
        lock[role][0]["thread"].as_u64().unwrap_or_else(|| panic!("no {role} of {name}: {lock:#}"))
    };
    assert_eq!(of("first_lock", "holders"), of("second_lock", "waiters"));
    assert_eq!(of("second_lock", "holders"), of("first_lock", "waiters"));
    assert_adds_up(&json);
    let told = report(&recording, &[]);
    assert!(text(&told.stdout).contains("first_lock"), "{told:?}");
    assert!(text(&told.stdout).contains("second_lock"), "{told:?}");
}

#[test]
fn a_lost_signal_is_a_hang() {
    let stage = Stage::new();
    let program = stage.program("lost_signal", &[]);
    let recording = stage.path("lost_signal.holdup");
    let mut running = start(&mut record(&recording, &program));
    running.first_line();
    let child = child_of(running.pid());
    until_asleep(child, 3);
    std::thread::sleep(std::time::Duration::from_millis(700));
    kill(child, Signal::KILL);
    assert_eq!(running.end().status, 128 + SIGKILL);
    let json = report_json(&recording);
    let hang = &json["findings"][0];
    assert_eq!(hang["kind"], "hang", "{json:#}");
    let of = |what: &str| hang[what].as_str().map_or_else(|| hang[what].to_string(), str::to_owned);
    assert!(of("what").contains("is_ready in wait_blindly"), "{hang:#}");
    assert!(
        of("evidence").contains("signalled last"),
        "the first signal is told though nobody waits: {hang:#}"
    );
    assert_eq!((&hang["threads"], &hang["gain"]), (&serde_json::json!([1, 2]), &serde_json::Value::Null));
}
