//! `holdup check`: statuses, faces and messages, on a recording of a workload.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::stage::{Ended, HOLDUP, Stage, assert_refused, record, run, text, workspace};

fn recorded(stage: &Stage, name: &str, flags: &[&str]) -> PathBuf {
    let source = workspace().join("workloads/critical_section/main.c");
    let program = stage.compile("critical_section", source, flags);
    let recording = stage.path(name);
    let ended = run(record(&recording, &program).arg("2"));
    assert_eq!(ended.status, 0, "{ended:?}");
    recording
}

/// Checks a recording, whoever else used the machine.
fn check(recording: &Path, options: &[&str]) -> Ended {
    run(Command::new(HOLDUP).arg("check").arg(recording).args(options).args(["--max-load", "100%"]))
}

#[test]
fn budgets_are_held_or_not() {
    let stage = Stage::new();
    let planted = recorded(&stage, "planted.holdup", &[]);
    let held = check(&planted, &["--budget", "lock:table_lock<=100%", "--budget", "efficiency>=0.01"]);
    assert_eq!((held.status, text(&held.stderr).as_str()), (0, ""), "{held:?}");
    assert!(text(&held.stdout).ends_with("2 budgets are held.\n"), "{held:?}");
    let broken = check(&planted, &["--budget", "lock:*<=0.1%", "--budget", "wall<=1h"]);
    assert_refused(&broken, 2, &["wall<=1h", "character 8", "ns, us, ms, s"]);
    let exceeded = check(&planted, &["--budget", "lock:*<=0.1%", "--budget", "wall<=1000s"]);
    assert_eq!(exceeded.status, 1, "{exceeded:?}");
    let said = text(&exceeded.stdout);
    assert!(said.starts_with("FAIL  lock:*<=0.1%\n      mutex table_lock"), "{said}");
    assert!(said.contains("ok    wall<=1000s") && said.contains("1 of 2 budgets are not held."), "{said}");
}

#[test]
fn every_face_says_the_same() {
    let stage = Stage::new();
    let planted = recorded(&stage, "planted.holdup", &[]);
    let budgets = ["--budget", "lock:*<=0.1%", "--budget", "wall<=1000s"];
    let face = |options: &[&str]| {
        let ended = check(&planted, &[&budgets, options].concat());
        assert_eq!(ended.status, 1, "{ended:?}");
        text(&ended.stdout)
    };
    let json: Value = serde_json::from_str(&face(&["--format", "json"])).expect("JSON");
    assert_eq!(face(&["--json"]), face(&["--format", "json"]));
    assert_eq!((&json["holds"], json["budgets"].as_array().map(Vec::len)), (&Value::from(false), Some(2)));
    assert_eq!(json["budgets"][0]["judged"][0]["where"]["function"], "update_table");
    let junit = face(&["--format", "junit"]);
    assert!(
        junit.starts_with("<?xml") && junit.contains("tests=\"2\"") && junit.contains("failures=\"1\""),
        "{junit}"
    );
    // The file is named from the folder of the repository.
    let github = run(Command::new(HOLDUP)
        .env("GITHUB_WORKSPACE", workspace())
        .arg("check")
        .arg(&planted)
        .args(budgets)
        .args(["--format", "github", "--max-load", "1"]));
    let said = text(&github.stdout);
    assert!(said.starts_with("::error file=workloads/critical_section/main.c,line="), "{said}");
    assert_eq!((github.status, said.lines().count()), (1, 1), "{said}");
}

#[test]
fn beside_much_load_nothing_is_judged() {
    let loaded = workspace().join("tests/recordings/critical_section_loaded.holdup");
    let checked = |options: &[&str]| {
        run(Command::new(HOLDUP).arg("check").arg(&loaded).args(["--budget", "wall<=1000s"]).args(options))
    };
    for options in [&[][..], &["--max-load", "30%"]] {
        assert_refused(&checked(options), 2, &["critical_section_loaded", "others used", "--max-load"]);
    }
    assert_eq!(checked(&["--max-load", "100%"]).status, 0);
    let wrong = checked(&["--max-load", "120%"]);
    assert!(wrong.status == 2 && text(&wrong.stderr).contains("0% to 100%"), "{wrong:?}");
    assert_refused(&checked(&["--budget", "finding:load<=5%"]), 2, &["no kind of finding"]);
}

#[test]
fn a_mistyped_lock_is_an_error_unless_it_may_be_missing() {
    let stage = Stage::new();
    let planted = recorded(&stage, "planted.holdup", &[]);
    let budget = ["--budget", "lock:table_lok<=5%"];
    assert_refused(
        &check(&planted, &budget),
        2,
        &["table_lok", "most like it: table_lock", "--allow-missing"],
    );
    let allowed = check(&planted, &[&budget[..], &["--allow-missing"]].concat());
    assert_eq!(allowed.status, 0, "{allowed:?}");
}

#[test]
fn a_regression_is_measured_against_a_baseline() {
    let stage = Stage::new();
    let planted = recorded(&stage, "planted.holdup", &[]);
    let budget = ["--budget", "regression<=5%"];
    assert_refused(&check(&planted, &budget), 2, &["--baseline"]);
    let path = planted.to_str().expect("UTF-8");
    let same = check(&planted, &[&budget[..], &["--baseline", path]].concat());
    assert_eq!(same.status, 0, "{same:?}");
    assert!(text(&same.stdout).contains("wall time grew by 0 %"), "{same:?}");
}

#[test]
fn budgets_can_be_in_a_file() {
    let stage = Stage::new();
    let planted = recorded(&stage, "planted.holdup", &[]);
    let with = |toml: &str| {
        let file = stage.write("budgets.toml", toml);
        check(&planted, &["--budget-file", file.to_str().expect("UTF-8")])
    };
    let good = with(
        "# What CI keeps to.\nbudget = [\n  'wall<=1000s',\n  'regression<=5%',\n  'lock:gone<=1%',\n]\n\
         baseline = ['planted.holdup']\nallow-missing = true\n",
    );
    assert_eq!(good.status, 0, "{good:?}");
    let broken = with("budget = [\n  'wall<=1000s',\n  'lokc:a<=5%',\n]\n");
    assert_refused(&broken, 2, &["budgets.toml, line 3, column 3", "character 1", "lock, object"]);
    assert_refused(&with("budgets = []\n"), 2, &["budgets.toml, line 1", "unknown field", "`allow-missing`"]);
    assert_refused(&with("budget = [\n"), 2, &["budgets.toml, line"]);
    assert_refused(&with("budget = []\n"), 2, &["no budget"]);
    assert_refused(&check(&planted, &["--budget-file", "/nowhere/b.toml"]), 2, &["/nowhere/b.toml"]);
}

#[test]
fn wrong_usage_is_refused() {
    let stage = Stage::new();
    let junk = stage.write("junk.holdup", b"no recording");
    assert_refused(&check(&junk, &["--budget", "wall<=1s"]), 2, &["junk.holdup"]);
    assert_eq!(check(&junk, &[]).status, 2, "no budget at all");
    assert_eq!(run(Command::new(HOLDUP).args(["check", "--budget", "wall<=1s"])).status, 2, "no recording");
}
