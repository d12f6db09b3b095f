//! What a replay without any change says, against the wall time that was recorded.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::asked::{ask, record};
use super::errors::{self, percent};
use super::forms::Form;
use crate::bench::measure::Spread;

/// What holdup wants where there are enough cores, and where there are more threads than cores. The median has no
/// target of its own.
const ENOUGH: f64 = 0.02;
const CROWDED: f64 = 0.05;

#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

enum Row {
    Replayed {
        name: String,
        threads: u64,
        cores: u64,
        /// The median of recordings (ns).
        recorded: f64,
        error: Spread,
    },
    Failed {
        name: String,
        reason: String,
    },
}

/// Records a program `runs` times and replays each recording.
pub(super) fn measure(holdup: &Path, scratch: &Path, form: &Form, runs: u32, table: &mut Table) {
    let row = replayed(holdup, &scratch.join("unchanged.holdup"), form, runs);
    table.rows.push(row.unwrap_or_else(|reason| Row::Failed { name: form.name.clone(), reason }));
}

fn replayed(holdup: &Path, recording: &Path, form: &Form, runs: u32) -> Result<Row, String> {
    let (mut recorded, mut errors, mut crowd) = (Vec::new(), Vec::new(), (0, 0));
    for _ in 0..runs {
        // A recording that is there would be kept under another name.
        let _ = std::fs::remove_file(recording);
        record(holdup, recording, &form.words)?;
        let told = ask(holdup, recording, &[])?;
        recorded.push(told.baseline);
        errors.push(told.unchanged / told.baseline - 1.0);
        crowd = threads_and_cores(holdup, recording)?;
    }
    let middle = |values| Spread::of(values).ok_or_else(|| "no run".to_owned());
    Ok(Row::Replayed {
        name: form.name.clone(),
        threads: crowd.0,
        cores: crowd.1,
        recorded: middle(recorded)?.median,
        error: middle(errors)?,
    })
}

/// How many threads work at once, and how many cores they can have.
fn threads_and_cores(holdup: &Path, recording: &Path) -> Result<(u64, u64), String> {
    let told = Command::new(holdup).arg("report").arg(recording).arg("--json").stdin(Stdio::null()).output();
    let told = told.map_err(|error| error.to_string())?;
    let report: Value =
        serde_json::from_slice(&told.stdout).map_err(|error| format!("report --json: {error}"))?;
    let number = |name: &str| {
        let value = report["process"][name].as_u64();
        value.ok_or_else(|| format!("report --json has no process.{name}"))
    };
    Ok((number("workers")?, number("effective_cores").or_else(|_| number("cores"))?))
}

impl Table {
    fn errors(&self, is_crowded: bool) -> Vec<(String, f64)> {
        let of = |row: &Row| match row {
            Row::Replayed { name, threads, cores, error, .. } if (threads > cores) == is_crowded => {
                Some((name.clone(), error.median))
            }
            _ => None,
        };
        self.rows.iter().filter_map(of).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{:<28} {:>16} {:>13} {:>8} {:>20}",
            "program", "threads on cores", "recorded, ms", "error", "least to most"
        )?;
        for row in &self.rows {
            match row {
                Row::Replayed { name, threads, cores, recorded, error } => {
                    let (crowd, recorded) = (format!("{threads} on {cores}"), recorded / 1e6);
                    let span = format!("{} to {}", percent(error.least), percent(error.most));
                    let error = percent(error.median);
                    writeln!(out, "{name:<28} {crowd:>16} {recorded:>13.1} {error:>8} {span:>20}")?;
                }
                Row::Failed { name, reason } => writeln!(out, "{name:<28} no result: {reason}")?,
            }
        }
        errors::summary(out, "unchanged, threads ≤ cores", &self.errors(false), (ENOUGH, ENOUGH))?;
        errors::summary(out, "unchanged, more threads", &self.errors(true), (CROWDED, CROWDED))
    }
}
