//! `cargo xtask bench top`: what the live view costs a program that changes often, and whether it sees every change.
//!
//! A program that makes about 100,000 changes of activity a second is run plain and under `holdup top`, in turns.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::measure::Spread;
use super::{Options, the_holdup, warn_of_load};
use crate::workspace::Workspace;

/// Of the run time at most so much more is accepted.
const ACCEPTED: f64 = 1.01;

/// What a run of the program said of itself.
struct Run {
    seconds: f64,
    changes: u64,
    rate: f64,
}

/// What the view said of it.
struct Seen {
    changes: u64,
    /// Of one CPU.
    share: f64,
}

/// Measures, and prints the figures.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let runs = options.runs.unwrap_or(if options.quick { 3 } else { 7 });
    let rounds = if options.quick { "5000" } else { "15000" };
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for the program")?;
    let program = scratch.path().join("changes");
    let program = super::steer::build(&workspace.path("bench/top/changes.c"), &program)?;
    let lines = scratch.path().join("lines");
    warn_of_load();
    let (mut ratios, mut shares, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    let mut missed = 0;
    for _ in 0..runs {
        let plain = once(Command::new(&program).arg(rounds))?;
        let mut viewer = Command::new(&holdup);
        viewer.args(["top", "--json", "--interval", "0.2", "--output"]).arg(&lines);
        let watched = once(viewer.arg("--").arg(&program).arg(rounds))?;
        let seen = seen(&lines)?;
        ratios.push(watched.seconds / plain.seconds);
        shares.push(100.0 * seen.share);
        rates.push(plain.rate);
        missed += watched.changes.abs_diff(seen.changes);
    }
    let [ratio, share, rate] = [ratios, shares, rates].map(Spread::of).map(Option::unwrap_or_default);
    let mark = if ratio.median > ACCEPTED { "*" } else { "" };
    println!("changes a second        {:.0} ({:.0}–{:.0})", rate.median, rate.least, rate.most);
    println!("run time, watched/plain {:.4}{mark} ({:.4}–{:.4})", ratio.median, ratio.least, ratio.most);
    println!("the view, % of a CPU    {:.2} ({:.2}–{:.2})", share.median, share.least, share.most);
    println!("changes missed          {missed}");
    println!("medians of {runs} runs in turns (least–most); * more than wanted: {ACCEPTED}");
    Ok(ExitCode::SUCCESS)
}

/// Runs it, and reads what it says.
fn once(command: &mut Command) -> Result<Run> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("changes")?;
    if !output.status.success() {
        bail!("changes: {}", output.status);
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let figure = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
        found.with_context(|| format!("changes says no {name}"))
    };
    Ok(Run { seconds: figure("seconds ")?, changes: figure("changes ")? as u64, rate: figure("rate ")? })
}

/// What the lines of a view say of the threads that change: the most of any line, since the last ones may come when the
/// process is gone. The first thread, which waits for them, has fewer than a hundred.
fn seen(lines: &Path) -> Result<Seen> {
    const FEW: u64 = 100;
    let text = std::fs::read_to_string(lines).context("the view wrote nothing")?;
    let lines: Vec<Value> =
        text.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("the view's lines")?;
    let changes = |line: &Value| -> u64 {
        let threads = line["threads"].as_array().into_iter().flatten();
        threads.filter_map(|thread| thread["changes"].as_u64()).filter(|changes| *changes >= FEW).sum()
    };
    let last = lines.last().context("the view wrote nothing")?;
    let figure = |name: &str| last[name].as_f64().with_context(|| format!("the view says no {name}"));
    let share = figure("own_cpu_ns")? / figure("age_ns")?;
    Ok(Seen { changes: lines.iter().map(changes).max().unwrap_or(0), share })
}
