//! Recording a program, and asking holdup what a change would give.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::bench::ways::last_line;

/// What holdup says of one recording (ns).
pub(in crate::bench) struct Replayed {
    /// The wall time that was recorded.
    pub(in crate::bench) baseline: f64,
    /// The wall time of the unchanged replay.
    pub(in crate::bench) unchanged: f64,
    /// In the order of the expressions: the prediction, and the ends of its interval.
    pub(in crate::bench) predicted: Vec<[f64; 3]>,
}

/// Runs a command to its end, its output to nowhere; gives the wall time in ns.
pub(in crate::bench) fn timed(words: &[String]) -> Result<f64, String> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let begin = Instant::now();
    let program = words[0].rsplit('/').next().unwrap_or(&words[0]);
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    let wall = begin.elapsed().as_nanos() as f64;
    match output.status.success() {
        true => Ok(wall),
        false => Err(format!("{program}: {}: {}", output.status, last_line(&output.stderr))),
    }
}

/// Records a command.
pub(in crate::bench) fn record(holdup: &Path, recording: &Path, words: &[String]) -> Result<(), String> {
    let holdup = holdup.to_string_lossy().into_owned();
    let recording = recording.to_string_lossy().into_owned();
    let before = ["record", "-o", &recording, "--"].map(str::to_owned);
    timed(&[&[holdup], &before[..], words].concat()).map(drop)
}

/// Replays a recording, unchanged and with each of the changes.
pub(in crate::bench) fn ask(
    holdup: &Path,
    recording: &Path,
    expressions: &[&str],
) -> Result<Replayed, String> {
    let mut command = Command::new(holdup);
    command.arg("whatif").arg(recording).args(expressions).arg("--json").stdin(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("holdup whatif: {}", last_line(&output.stderr)));
    }
    let told = serde_json::from_slice(&output.stdout).map_err(|error| format!("whatif --json: {error}"))?;
    read(&told, expressions)
}

fn read(told: &Value, expressions: &[&str]) -> Result<Replayed, String> {
    let number = |value: &Value, name: &str| {
        value[name].as_f64().ok_or_else(|| format!("whatif --json has no {name}"))
    };
    let results = told["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut predicted = Vec::new();
    for expression in expressions {
        let result = results.iter().find(|result| result["expression"] == *expression);
        let result = result.ok_or_else(|| format!("whatif --json says nothing of {expression}"))?;
        predicted.push([number(result, "ns")?, number(result, "low_ns")?, number(result, "high_ns")?]);
    }
    Ok(Replayed {
        baseline: number(told, "baseline_ns")?,
        unchanged: number(told, "replayed_ns")?,
        predicted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn predictions_are_read_in_the_order_of_the_questions() {
        let told = json!({"baseline_ns": 10, "replayed_ns": 11, "results": [
            {"expression": "b", "ns": 4, "low_ns": 3, "high_ns": 5},
            {"expression": "a", "ns": 7, "low_ns": 6, "high_ns": 8},
        ]});
        let read_back = read(&told, &["a", "b"]).expect("all is there");
        assert_eq!(read_back.predicted, [[7.0, 6.0, 8.0], [4.0, 3.0, 5.0]]);
        assert_eq!((read_back.baseline, read_back.unchanged), (10.0, 11.0));
        assert!(read(&told, &["c"]).is_err_and(|error| error.contains("nothing of c")));
        assert!(read(&json!({}), &[]).is_err_and(|error| error.contains("baseline_ns")));
    }
}
