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
    Predicted { base: String, expression: &'static str, now: f64, predicted: [f64; 3], measured: Spread },
    Failed { base: String, reason: String },
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
    let mut rows = Vec::new();
    for ((index, change), measured) in base.changes.iter().enumerate().zip(measured) {
        rows.push(Row::Predicted {
            base: base.name(),
            expression: change.expression,
            now,
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

impl Table {
    /// Each row's error: predicted against measured, as a share of the measured time.
    fn errors(&self) -> Vec<(String, f64)> {
        self.rows
            .iter()
            .filter_map(|row| match row {
                Row::Predicted { base, expression, predicted: [time, ..], measured, .. } => {
                    Some((format!("{base}: {expression}"), time / measured.median - 1.0))
                }
                Row::Failed { .. } => None,
            })
            .collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{:<34} {:<44} {:>8} {:<26} {:<26} {:>8}",
            "program", "change", "now", "predicted, ms", "measured, ms", "error"
        )?;
        let of = |time: f64, low: f64, high: f64| {
            format!("{:.1} ({:.1} to {:.1})", time / 1e6, low / 1e6, high / 1e6)
        };
        for row in &self.rows {
            match row {
                Row::Predicted { base, expression, now, predicted: [time, low, high], measured } => {
                    let predicted = of(*time, *low, *high);
                    let error = percent(time / measured.median - 1.0);
                    let measured = of(measured.median, measured.least, measured.most);
                    let now = now / 1e6;
                    writeln!(
                        out,
                        "{base:<34} {expression:<44} {now:>8.1} {predicted:<26} {measured:<26} {error:>8}"
                    )?;
                }
                Row::Failed { base, reason } => writeln!(out, "{base:<34} no result: {reason}")?,
            }
        }
        errors::summary(out, "changed", &self.errors(), TARGETS)
    }
}
