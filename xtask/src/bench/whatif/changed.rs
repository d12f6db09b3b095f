//! Changes that were predicted from recordings of the program as it is, against programs that were really changed.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::asked::{Replayed, ask, record, timed};
use super::cases::Base;
use super::errors::{self, percent};
use crate::bench::measure::Spread;
use crate::workspace::Workspace;

/// What holdup wants of the median of all errors, and of the worst one.
const TARGETS: (f64, f64) = (0.03, 0.15);

#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

enum Row {
    Predicted {
        base: String,
        expression: &'static str,
        /// As it is, plainly and recorded (ns).
        now: f64,
        recorded: f64,
        predicted: [f64; 3],
        measured: Spread,
    },
    Failed {
        base: String,
        reason: String,
    },
}

/// Records and runs one base and all its changes, in turn, `runs` times.
pub(super) fn measure(
    workspace: &Workspace,
    holdup: &Path,
    scratch: &Path,
    base: &Base,
    runs: u32,
    table: &mut Table,
) {
    match rows(workspace, holdup, scratch, base, runs) {
        Ok(rows) => table.rows.extend(rows),
        Err(error) => table.rows.push(Row::Failed { base: base.name(), reason: format!("{error:#}") }),
    }
}

fn rows(workspace: &Workspace, holdup: &Path, scratch: &Path, base: &Base, runs: u32) -> Result<Vec<Row>> {
    let words = |program: PathBuf, switches: &[&str]| {
        let switches = switches.iter().map(|switch| (*switch).to_owned());
        [program.to_string_lossy().into_owned()].into_iter().chain(switches).collect::<Vec<String>>()
    };
    let as_it_is = words(compile(workspace, scratch, base.source, &[])?, base.switches);
    let changed: Vec<Vec<String>> = base
        .changes
        .iter()
        .map(|change| Ok(words(compile(workspace, scratch, base.source, change.flags)?, change.switches)))
        .collect::<Result<_>>()?;
    let recording = scratch.join("whatif.holdup");
    let expressions: Vec<&str> = base.changes.iter().map(|change| change.expression).collect();
    let mut now = Vec::new();
    let mut replayed: Vec<Replayed> = Vec::new();
    let mut measured: Vec<Vec<f64>> = vec![Vec::new(); changed.len()];
    let failed = anyhow::Error::msg::<String>;
    for _ in 0..runs {
        now.push(timed(&as_it_is).map_err(failed)?);
        // A recording that is there would be kept under another name.
        let _ = std::fs::remove_file(&recording);
        record(holdup, &recording, &as_it_is).map_err(failed)?;
        replayed.push(ask(holdup, &recording, &expressions).map_err(failed)?);
        for (words, times) in changed.iter().zip(&mut measured) {
            times.push(timed(words).map_err(failed)?);
        }
    }
    let now = Spread::of(now).context("no run")?.median;
    let recorded = replayed.iter().map(|replayed| replayed.baseline).collect();
    let recorded = Spread::of(recorded).context("no run")?.median;
    let mut rows = Vec::new();
    for ((index, change), measured) in base.changes.iter().enumerate().zip(measured) {
        rows.push(Row::Predicted {
            base: base.name(),
            expression: change.expression,
            now,
            recorded,
            predicted: medians(&replayed, index),
            measured: Spread::of(measured).context("no run")?,
        });
    }
    Ok(rows)
}

/// Of the prediction and of each end of its interval the median over all recordings.
fn medians(replayed: &[Replayed], change: usize) -> [f64; 3] {
    [0, 1, 2].map(|part| {
        let values = replayed.iter().map(|replayed| replayed.predicted[change][part]).collect();
        Spread::of(values).map_or(f64::NAN, |spread| spread.median)
    })
}

fn compile(workspace: &Workspace, scratch: &Path, source: &str, flags: &[&str]) -> Result<PathBuf> {
    let program = scratch.join(source.replace(['/', '.'], "_") + &flags.concat());
    if program.exists() {
        return Ok(program);
    }
    let mut cc = workspace.command("cc");
    cc.args(["-std=gnu11", "-O2", "-g", "-pthread", "-o"]).arg(&program).arg(source).args(flags);
    if !cc.status().context("cc does not run; install it: apt-get install gcc libc6-dev")?.success() {
        bail!("cc cannot compile {source}");
    }
    Ok(program)
}

impl Row {
    /// The error as a share of the run time: what is left of it by prediction, less what is really left. Recording makes
    /// a run longer; so each is a share of a run of its own kind.
    fn of_run_time(&self) -> Option<f64> {
        match self {
            Row::Predicted { now, recorded, predicted: [time, ..], measured, .. } => {
                Some(time / recorded - measured.median / now)
            }
            Row::Failed { .. } => None,
        }
    }

    /// The predicted time against the measured one, which includes what recording cost.
    fn of_what_is_left(&self) -> Option<f64> {
        match self {
            Row::Predicted { predicted: [time, ..], measured, .. } => Some(time / measured.median - 1.0),
            Row::Failed { .. } => None,
        }
    }

    fn name(&self) -> String {
        match self {
            Row::Predicted { base, expression, .. } => format!("{base}: {expression}"),
            Row::Failed { base, .. } => base.clone(),
        }
    }
}

impl Table {
    fn errors(&self, of: fn(&Row) -> Option<f64>) -> Vec<(String, f64)> {
        self.rows.iter().filter_map(|row| Some((row.name(), of(row)?))).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{:<34} {:<44} {:>8} {:>8} {:<24} {:<24} {:>8} {:>8}",
            "program", "change", "now, ms", "recorded", "predicted", "measured", "of run", "of rest"
        )?;
        let of = |time: f64, low: f64, high: f64| {
            format!("{:.1} ({:.1} to {:.1})", time / 1e6, low / 1e6, high / 1e6)
        };
        for row in &self.rows {
            match row {
                Row::Predicted {
                    base,
                    expression,
                    now,
                    recorded,
                    predicted: [time, low, high],
                    measured,
                } => {
                    let errors = [row.of_run_time(), row.of_what_is_left()]
                        .map(|error| percent(error.unwrap_or(f64::NAN)));
                    let [of_run, of_rest] = errors;
                    let predicted = of(*time, *low, *high);
                    let measured = of(measured.median, measured.least, measured.most);
                    let (now, recorded) = (now / 1e6, recorded / 1e6);
                    write!(out, "{base:<34} {expression:<44} {now:>8.1} {recorded:>8.1} ")?;
                    writeln!(out, "{predicted:<24} {measured:<24} {of_run:>8} {of_rest:>8}")?;
                }
                Row::Failed { base, reason } => writeln!(out, "{base:<34} no result: {reason}")?,
            }
        }
        errors::summary(out, "changed, of the run time", &self.errors(Row::of_run_time), TARGETS)?;
        errors::summary(out, "changed, of what is left", &self.errors(Row::of_what_is_left), TARGETS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_of_the_run_and_of_the_rest() {
        let row = Row::Predicted {
            base: "a".to_owned(),
            expression: "b",
            now: 100.0,
            recorded: 110.0,
            predicted: [55.0, 50.0, 60.0],
            measured: Spread { median: 40.0, least: 40.0, most: 40.0 },
        };
        let near = |value: Option<f64>, wanted: f64| value.is_some_and(|value| (value - wanted).abs() < 1e-9);
        assert!(near(row.of_run_time(), 0.1));
        assert!(near(row.of_what_is_left(), 0.375));
    }
}
