//! The `holdup` command on a stage: what is under test, started and read.

pub(crate) mod forged;
pub(crate) mod lime;
pub(crate) mod sim;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

pub(crate) use holdup_stage::*;

/// The binary under test.
pub(crate) const HOLDUP: &str = env!("CARGO_BIN_EXE_holdup");

/// `holdup record -o RECORDING -- PROGRAM`.
pub(crate) fn record(recording: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(HOLDUP);
    command.args(["record", "-o"]).arg(recording).arg("--").arg(program);
    command
}

/// `holdup report FILE` with options.
pub(crate) fn report(recording: &Path, options: &[&str]) -> Ended {
    run(Command::new(HOLDUP).arg("report").arg(recording).args(options))
}

/// `holdup report --json FILE`, which must succeed and say nothing else.
pub(crate) fn report_json(recording: &Path) -> Value {
    let ended = report(recording, &["--json"]);
    assert_eq!(
        (ended.status, text(&ended.stderr)),
        (0, String::new()),
        "report --json {}",
        recording.display()
    );
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
}

/// Panics where one of these answers does not follow the schema of that name in docs/json-schema.
pub(crate) fn assert_follow_schema(name: &str, answers: &[Value]) {
    let path = workspace().join(format!("docs/json-schema/{name}.schema.json"));
    let schema = std::fs::read_to_string(path).expect("a schema");
    let schema = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    for answer in answers {
        let errors: Vec<String> = validator.iter_errors(answer).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?} {answer}");
    }
}

/// Demands one line on stderr that starts with `holdup: ` and contains `names`, nothing on stdout, and the status.
pub(crate) fn assert_refused(ended: &Ended, status: i32, names: &[&str]) {
    let said = text(&ended.stderr);
    assert_eq!(ended.status, status, "{ended:?}");
    assert_eq!(text(&ended.stdout), "", "{ended:?}");
    assert!(said.starts_with("holdup: ") && said.ends_with('\n') && said.lines().count() == 1, "{ended:?}");
    for name in names {
        assert!(said.contains(name), "{name:?} is not in: {said}");
    }
}

/// The sum of a report's criticalities and of the time with nobody active, and the wall time, in ns.
pub(crate) fn criticality_sum(json: &Value) -> (f64, f64) {
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    let criticality = &json["criticality"];
    let threads = criticality["threads"].as_array().expect("threads");
    let nobody = criticality["nobody_ns"].as_object().expect("nobody");
    let sum = threads.iter().map(|thread| number(&thread["criticality_ns"])).sum::<f64>()
        + nobody.values().map(number).sum::<f64>();
    (sum, number(&json["process"]["wall_ns"]))
}

/// Demands that criticality adds up: Σ C_j + nobody = T within 0.1 %, in the process that is told about.
pub(crate) fn assert_adds_up(json: &Value) {
    let (sum, wall) = criticality_sum(json);
    assert!(wall > 0.0 && (sum - wall).abs() <= wall * 1e-3, "criticality adds up to {sum} of {wall} ns");
}
