//! Sixty-four threads with one lock: how large the recording gets, and whether lost events are told.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::measure::{Row, printed};
use super::ways::last_line;

pub(super) const NAME: &str = "hot lock, 64 threads";

/// Far more than a screen's answer needs, far less than fills a disk: two million iterations, 128 bytes each.
const RECORDING_LIMIT: u64 = 256 << 20;

struct Outcome {
    iterations: f64,
    recording: u64,
    lost_events: u64,
}

pub(super) fn measure(program: &Path, holdup: &Path, scratch: &Path) -> Row {
    match record(program, holdup, &scratch.join("hot.holdup")) {
        Err(reason) => Row::Failed { case: NAME.to_owned(), way: "holdup", reason },
        Ok(outcome) => Row::Told {
            case: NAME.to_owned(),
            way: "holdup",
            what: format!(
                "{:.1} MiB for {} iterations, {} events lost",
                outcome.recording as f64 / f64::from(1 << 20),
                outcome.iterations,
                outcome.lost_events
            ),
            target: format!("at most {} MiB, lost events counted", RECORDING_LIMIT >> 20),
            missed_by: outcome
                .recording
                .checked_sub(RECORDING_LIMIT + 1)
                .map(|more| format!("{:.1} MiB", (more + 1) as f64 / f64::from(1 << 20))),
        },
    }
}

fn record(program: &Path, holdup: &Path, recording: &Path) -> Result<Outcome, String> {
    let mut command = Command::new(holdup);
    command.args(["record", "-o"]).arg(recording).arg("--").arg(program);
    let stdout = succeeded(command)?;
    let iterations = printed(&stdout, "iterations").ok_or("the program printed no number of iterations")?;
    let size = fs::metadata(recording).map_err(|error| format!("no recording: {error}"))?.len();
    let mut command = Command::new(holdup);
    command.args(["report", "--json"]).arg(recording);
    let report: serde_json::Value =
        serde_json::from_slice(&succeeded(command)?).map_err(|error| format!("report --json: {error}"))?;
    let lost = &report["run"]["lost_events"];
    let lost_events = lost.as_u64().ok_or_else(|| format!("run.lost_events is {lost}, not a number"))?;
    Ok(Outcome { iterations, recording: size, lost_events })
}

/// The standard output of a command that ends well.
fn succeeded(mut command: Command) -> Result<Vec<u8>, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("{}: {}", output.status, last_line(&output.stderr)))
    }
}
