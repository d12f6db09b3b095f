//! `holdup diff`, on recordings of workloads in their planted and their fixed form.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::stage::{Ended, HOLDUP, Stage, assert_refused, record, run, text, workspace};

/// A workload in its planted and its fixed form.
fn forms(stage: &Stage, workload: &str) -> [PathBuf; 2] {
    let source = workspace().join(format!("workloads/{workload}/main.c"));
    // Of one name, as builds before and after a change have.
    [("before", &[][..]), ("after", &["-DFIXED"][..])].map(|(folder, flags)| {
        std::fs::create_dir_all(stage.path(folder)).expect("a folder");
        stage.compile(&format!("{folder}/{workload}"), &source, flags)
    })
}

fn recorded(stage: &Stage, name: &str, program: &Path, threads: &str) -> PathBuf {
    let recording = stage.path(name);
    let ended = run(record(&recording, program).arg(threads));
    assert_eq!(ended.status, 0, "{ended:?}");
    recording
}

fn diff(arguments: &[&Path], options: &[&str]) -> Ended {
    run(Command::new(HOLDUP).arg("diff").args(arguments).args(options))
}

fn diff_json(arguments: &[&Path], options: &[&str]) -> Value {
    let ended = diff(arguments, &[options, &["--json"]].concat());
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()), "{ended:?}");
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
}

fn rows<'a>(json: &'a Value, table: &str) -> &'a [Value] {
    json[table].as_array().map_or(&[], Vec::as_slice)
}

fn assert_adds_up(json: &Value) {
    let parts = rows(json, "contributions").iter();
    let sum: i64 = parts.map(|part| part["cost"]["difference_ns"].as_i64().expect("a number")).sum();
    assert_eq!(Some(sum), json["wall"]["difference_ns"].as_i64());
}

/// The class of the greatest change among those that the program itself causes: others on this machine may have taken
/// its cores.
fn top_class(json: &Value) -> &Value {
    let own = [
        "lock",
        "barrier",
        "imbalance",
        "serial",
        "condition",
        "semaphore",
        "pipeline",
        "join",
        "spin",
        "io",
    ];
    let first = rows(json, "contributions").iter().find(|part| own.iter().any(|kind| part["class"] == *kind));
    first.unwrap_or_else(|| panic!("nothing of its own changed: {json:#}"))
}

#[test]
fn the_planted_lock_is_the_top_change() {
    let stage = Stage::new();
    let [planted, fixed] = forms(&stage, "critical_section");
    let (before, after) = (stage.path("before.holdup"), stage.path("after.holdup"));
    let mut json = Value::Null;
    // A machine that does something else may hold one of the runs up more than the lock did: then once more.
    for _ in 0..4 {
        recorded(&stage, "before.holdup", &planted, "2");
        recorded(&stage, "after.holdup", &fixed, "2");
        json = diff_json(&[&before, &after], &[]);
        if top_class(&json)["class"] == "lock" {
            break;
        }
    }
    assert_adds_up(&json);
    let top = top_class(&json);
    assert_eq!(top["class"], "lock", "{json:#}");
    let cause = &top["causes"][0];
    assert!(cause["what"].as_str().is_some_and(|what| what.starts_with("mutex table_lock")), "{cause}");
    let mut locks = rows(&json, "objects").iter().filter(|row| row["kind"] == "mutex");
    let lock = locks.next().expect("a lock");
    assert!(lock["what"].as_str().is_some_and(|what| what.contains("table_lock")), "{lock}");
    assert!(lock["cost"]["difference_ns"].as_i64() < Some(0), "{lock}");
    assert!(lock["waits"]["difference"].as_i64() < Some(0), "{lock}");
    // The same function, whatever its line.
    let site = rows(&json, "sites").iter().find(|row| row["where_before"]["function"] == "update_table");
    assert!(site.is_some_and(|site| site["wait"]["difference_ns"].as_i64() < Some(0)), "{json:#}");
    assert!(json["wall"]["low_ns"].is_null());
    let said = text(&diff(&[&before, &after], &[]).stdout);
    assert!(said.starts_with("critical_section ran "), "{said}");
    assert!(said.contains("together: the wall time"), "{said}");
    assert!(said.contains("cannot tell a difference from noise"), "{said}");
    assert!(!said.contains("The programs differ"), "{said}");
}

#[test]
fn a_recording_and_itself_do_not_differ() {
    let stage = Stage::new();
    let [planted, _] = forms(&stage, "critical_section");
    let one = recorded(&stage, "one.holdup", &planted, "2");
    let json = diff_json(&[&one, &one], &[]);
    assert_eq!(json["wall"]["difference_ns"], 0);
    assert!(rows(&json, "contributions").iter().all(|part| part["cost"]["difference_ns"] == 0));
    for table in ["findings", "objects", "sites", "threads", "labels", "functions"] {
        assert!(rows(&json, table).iter().all(|row| row["presence"] == "both"), "{table}");
    }
    assert_eq!(json["environment"], serde_json::json!([]));
    let said = text(&diff(&[&one, &one], &[]).stdout);
    assert!(said.contains(": no difference."), "{said}");
}

#[test]
fn several_recordings_have_intervals() {
    let stage = Stage::new();
    let [planted, fixed] = forms(&stage, "critical_section");
    let record = |name: &str, program: &Path| {
        let ended = run(Command::new(HOLDUP)
            .args(["record", "-r", "2", "-o"])
            .arg(stage.path(name))
            .arg("--")
            .arg(program)
            .arg("2"));
        assert_eq!(ended.status, 0, "{ended:?}");
    };
    record("before.holdup", &planted);
    record("after.holdup", &fixed);
    let json: Value = {
        let ended = run(Command::new(HOLDUP)
            .args(["diff", "--json", "--before"])
            .args([stage.path("before.holdup"), stage.path("before.2.holdup")])
            .arg("--after")
            .args([stage.path("after.holdup"), stage.path("after.2.holdup")]));
        assert_eq!(ended.status, 0, "{ended:?}");
        serde_json::from_slice(&ended.stdout).expect("JSON")
    };
    assert_adds_up(&json);
    let wall = &json["wall"];
    let [low, middle, high] =
        ["low_ns", "difference_ns", "high_ns"].map(|word| wall[word].as_i64().expect("known"));
    assert!(low <= middle && middle <= high, "{wall}");
    assert_eq!(wall["beyond_noise"], Value::from(low > 0 || high < 0));
    assert_eq!(json["before"]["walls_ns"].as_array().map(Vec::len), Some(2));
}

#[test]
fn one_thread_against_two_shows_what_does_not_scale() {
    let stage = Stage::new();
    let [planted, _] = forms(&stage, "critical_section");
    let one = recorded(&stage, "one.holdup", &planted, "1");
    let two = recorded(&stage, "two.holdup", &planted, "2");
    let json = diff_json(&[&one, &two], &["--against-threads"]);
    assert_adds_up(&json);
    assert_eq!((&json["before"]["workers"], &json["after"]["workers"]), (&Value::from(1), &Value::from(2)));
    let scaling = &json["scaling"];
    let [speedup, efficiency] =
        ["speedup", "efficiency"].map(|word| scaling[word].as_f64().expect("a number"));
    assert!((efficiency - speedup / 2.0).abs() < 1e-6, "{scaling}");
    let lock = rows(&json, "contributions").iter().find(|part| part["class"] == "lock").expect("the lock");
    assert!(lock["cost"]["difference_ns"].as_i64() > Some(0), "{lock}");
    let said = text(&diff(&[&one, &two], &["--against-threads"]).stdout);
    assert!(said.contains("with 1 thread at work") && said.contains("Shared without loss"), "{said}");
    assert!(!said.contains("The arguments differ"), "{said}");
}

#[test]
fn bad_input_is_refused_in_a_line() {
    let stage = Stage::new();
    let junk = stage.write("junk.holdup", b"no recording");
    assert_refused(&diff(&[&junk, &junk], &[]), 2, &["junk.holdup"]);
    assert_refused(&diff(&[&stage.path("absent.holdup"), &junk], &[]), 2, &["absent.holdup"]);
    // One recording alone is wrong usage.
    assert_eq!(diff(&[&junk], &[]).status, 2);
    assert_eq!(diff(&[], &["--before", "a.holdup"]).status, 2);
    assert_eq!(diff(&[], &[]).status, 2);
}
