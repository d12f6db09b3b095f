//! `holdup whatif`, and the gains of findings, on recordings of workloads.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::stage::{
    Ended, HOLDUP, Stage, assert_follow_schema, assert_refused, record, run, text, workspace,
};

fn recorded(stage: &Stage, workload: &str, arguments: &[&str]) -> PathBuf {
    let source = workspace().join(format!("workloads/{workload}/main.c"));
    let program = stage.compile(workload, &source, &[]);
    let recording = stage.path(format!("{workload}.holdup"));
    let ended = run(record(&recording, &program).args(arguments));
    assert_eq!(ended.status, 0, "{ended:?}");
    recording
}

fn what_if(recording: &Path, arguments: &[&str]) -> Ended {
    run(Command::new(HOLDUP).arg("whatif").arg(recording).args(arguments))
}

fn results(recording: &Path, arguments: &[&str]) -> Vec<Value> {
    let ended = what_if(recording, &[arguments, &["--json"]].concat());
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()), "{ended:?}");
    let json: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert!(json["baseline_ns"].as_u64() > Some(0) && json["replayed_ns"].as_u64() > Some(0), "{json}");
    assert_follow_schema("whatif", std::slice::from_ref(&json));
    let results = json["results"].as_array().expect("results").clone();
    for result in &results {
        let [low, mid, high] =
            ["low_ns", "ns", "high_ns"].map(|member| result[member].as_u64().expect("a time"));
        assert!(low <= mid && mid <= high, "{result}");
    }
    results
}

fn time(result: &Value) -> u64 {
    result["ns"].as_u64().expect("a time")
}

#[test]
fn a_lock_that_is_held_all_the_time() {
    let recording = workspace().join("tests/recordings/critical_section.holdup");
    let found = results(
        &recording,
        &["lock:table_lock=0", "lock:table_lock/1", "lock:table/4", "lock:table_lock split 8", "cores=1"],
    );
    let [free, same, shorter, split, one_core] = found.as_slice() else { panic!("{found:?}") };
    // Two threads hold it for ten elevenths of their work in turn.
    assert!(time(free) * 10 < time(same) * 7, "{found:?}");
    assert!(time(shorter) * 2 < time(same), "{found:?}");
    assert!(time(split) * 10 < time(same) * 8 && time(split) >= time(free), "{found:?}");
    assert!(time(one_core) >= time(same), "{found:?}");
    assert_eq!(same["next"], "mutex table_lock");

    let swept = results(&recording, &["--sweep", "lock:table_lock"]);
    assert!(swept.len() > 5 && swept.windows(2).all(|pair| time(&pair[0]) >= time(&pair[1])), "{swept:?}");
    assert_eq!(
        (swept[0]["at"].as_f64(), swept.last().and_then(|last| last["at"].as_f64())),
        (Some(1.0), Some(16.0))
    );

    let ended = run(Command::new(HOLDUP).args(["report", "--json"]).arg(&recording));
    let report: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    let finding =
        &report["findings"].as_array().expect("findings").iter().find(|finding| finding["kind"] == "lock");
    let gain = &finding.expect("the lock")["gain"];
    assert_eq!(gain["expression"], "lock:table_lock=0");
    let ended = what_if(&recording, &["lock:table_lock=0", "--json"]);
    let recorded = serde_json::from_slice::<Value>(&ended.stdout).expect("JSON")["baseline_ns"]
        .as_u64()
        .expect("a time");
    assert!(gain["ns"].as_u64().expect("a time") * 10 > recorded * 2, "{gain}");
    assert!(!report["what_if"]["curves"].as_array().expect("curves").is_empty());
    // What the report says of it is what this command says.
    assert_eq!(recorded.saturating_sub(gain["ns"].as_u64().unwrap_or(0)), time(free));
}

#[test]
fn without_a_change_what_can_be_named_is_listed() {
    let recording = workspace().join("tests/recordings/critical_section.holdup");
    let said = text(&what_if(&recording, &[]).stdout);
    let named: Vec<&str> = said.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for expression in ["lock:table_lock=0", "thread:table_worker/2"] {
        assert!(named.contains(&expression), "{said}");
    }
    let json: Value = serde_json::from_slice(&what_if(&recording, &["--json"]).stdout).expect("JSON");
    assert_follow_schema("whatif", std::slice::from_ref(&json));
    let of_json = json["can_be_changed"].as_array().expect("a list").iter();
    let of_json: Vec<&str> = of_json.filter_map(|one| one["expression"].as_str()).collect();
    let listed: Vec<&str> = named.into_iter().filter(|word| word.contains(':')).collect();
    assert_eq!(listed, of_json);
    assert_eq!(results(&recording, &listed).len(), listed.len(), "{said}");
}

#[test]
fn a_second_thread_for_the_slow_stage() {
    let stage = Stage::new();
    let recording = recorded(&stage, "pipeline", &[]);
    let found =
        results(&recording, &["stage:compress_stage*2", "thread:compress_stage/2", "site:compress_item/2"]);
    let json: Value =
        serde_json::from_slice(&what_if(&recording, &["cores=2", "--json"]).stdout).expect("JSON");
    let before = json["baseline_ns"].as_u64().expect("a time");
    for result in &found {
        assert!(time(result) * 10 < before * 8, "{result} of {before}");
    }
}

#[test]
fn mistakes_get_one_line() {
    let stage = Stage::new();
    let recording = recorded(&stage, "critical_section", &["2"]);
    for (expression, words) in [
        ("lock:tabel_lock=0", &["no lock", "tabel_lock", "table_lock"][..]),
        ("lock:table_lock", &["lock:NAME=0"]),
        ("lock:table_lock/0", &["above 0"]),
        ("cores=0", &["1 to 65536"]),
        ("cores=many", &["1 to 65536"]),
        ("", &["lock:NAME=0"]),
        ("faster please", &["lock:NAME=0"]),
        ("barrier:\u{1b}[31m=0", &["no barrier"]),
    ] {
        assert_refused(&what_if(&recording, &[expression]), 2, words);
    }
    assert_refused(&what_if(&stage.path("none.holdup"), &["cores=2"]), 2, &["none.holdup"]);
    assert_refused(
        &what_if(&recording, &["cores=2", "--process", "1"]),
        2,
        &["no process 1 in this recording"],
    );
}
