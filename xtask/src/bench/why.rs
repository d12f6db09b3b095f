//! `cargo xtask bench why`: what counting executed instructions costs, against running natively and next to other tools
//! that count; and how long looking for causes takes.
//!
//! All ways take turns, so that a machine that slows down slows all of them. `--matrix` asks another question: in how many
//! of all the ways to build and run the programs of `workloads/lime.tsv` is the planted line found?

mod kernels;
mod table;
mod ways;

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::measure::{Spread, printed};
use super::ways::last_line;
use super::{Options, input, the_holdup, warn_of_load};
use crate::workspace::Workspace;
use kernels::Kernel;
use table::{Row, Table};
use ways::Way;

/// Measures, and prints the tables. `part` chooses programs by a part of their names.
pub(super) fn run(workspace: &Workspace, options: &Options, part: Option<&str>) -> Result<ExitCode> {
    if options.matrix {
        return matrix(workspace, part.unwrap_or_default());
    }
    let runs = options.runs.unwrap_or(if options.quick { 1 } else { 5 });
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for recordings")?;
    let scratch = scratch.path();
    warn_of_load();
    let ways = ways::all(&holdup, scratch);
    let mut table = Table::new(ways.iter().map(|way| way.name));
    for kernel in kernels::ALL.iter().filter(|kernel| part.is_none_or(|part| kernel.name.contains(part))) {
        eprintln!("xtask: {}", kernel.name);
        table.push(measure(workspace, scratch, kernel, &ways, runs, options.quick)?);
    }
    println!("{table}");
    if part.is_none_or(|part| "analysis".contains(part)) {
        growth(workspace)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// All ways of one program, taking turns. A way that fails is given up, and its cell says so.
fn measure(
    workspace: &Workspace,
    scratch: &Path,
    kernel: &'static Kernel,
    ways: &[Way],
    runs: u32,
    quick: bool,
) -> Result<Row> {
    let programs: Vec<Result<PathBuf, String>> = ways
        .iter()
        .map(|way| kernel.build(workspace, scratch, way.flags).map_err(|error| format!("{error:#}")))
        .collect();
    let arguments = match kernel.source {
        Some(_) => kernel.arguments(quick),
        None => {
            let input = input::make(scratch, true)?;
            [kernel.arguments(quick), vec![input.to_string_lossy().into_owned()]].concat()
        }
    };
    let run = |way: &Way, program: &Result<PathBuf, String>| {
        let program = program.as_ref().map_err(Clone::clone)?;
        once(kernel, way, program, &arguments).map_err(|error| format!("{error:#}"))
    };
    // Fills the page cache.
    run(&ways[0], &programs[0]).map_err(|error| anyhow::anyhow!("{}: {error}", kernel.name))?;
    let mut seconds: Vec<Result<Vec<f64>, String>> = ways.iter().map(|_| Ok(Vec::new())).collect();
    for _ in 0..runs {
        for ((way, program), taken) in ways.iter().zip(&programs).zip(&mut seconds) {
            if let Ok(values) = taken {
                match run(way, program) {
                    Ok(figure) => values.push(figure),
                    Err(reason) => {
                        eprintln!("xtask: {} by {}: {reason}", kernel.name, way.name);
                        *taken = Err(reason);
                    }
                }
            }
        }
    }
    let figures = seconds.into_iter().map(|values| Spread::of(values.ok()?)).collect();
    Ok(Row { kernel, figures })
}

/// What one run took (ns): the figure that the program prints or, where it prints none, the wall time.
fn once(kernel: &Kernel, way: &Way, program: &Path, arguments: &[String]) -> Result<f64> {
    let mut command = way.command(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped());
    command.stdout(if kernel.figure.is_some() { Stdio::piped() } else { Stdio::null() });
    let begin = Instant::now();
    let output = command.spawn()?.wait_with_output()?;
    let wall = begin.elapsed().as_secs_f64() * 1e9;
    if !output.status.success() {
        bail!("{}: {}", output.status, last_line(&output.stderr));
    }
    match kernel.figure {
        Some(figure) => printed(&output.stdout, figure).with_context(|| format!("printed no {figure}")),
        None => Ok(wall),
    }
}

/// How the time for looking for causes grows with the number of events and of threads.
fn growth(workspace: &Workspace) -> Result<()> {
    let status = workspace
        .cargo()
        .args(["run", "--release", "--quiet", "--package", "holdup-imbalance", "--example", "growth"])
        .status()?;
    if !status.success() {
        bail!("the example growth of holdup-imbalance failed");
    }
    Ok(())
}

/// Every way to build and run the workloads, by the test that knows them.
fn matrix(workspace: &Workspace, part: &str) -> Result<ExitCode> {
    let status = workspace
        .cargo()
        .env("HOLDUP_WHY_ROWS", part)
        .args(["test", "--package", "holdup", "--test", "it", "--"])
        .args(["the_whole_matrix", "--ignored", "--nocapture"])
        .status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
