//! `cargo xtask bench stack`: is the speedup "without synchronization" that `holdup stack` tells that of the program
//! without synchronization? The micro-benchmarks of paper 1, section 6.3, with N (rounds), M (units of a round) and the
//! iterations of a unit swept; the reference is the same program built with `-DNO_SYNC`. The runs take turns.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::measure::Spread;
use super::{Options, the_holdup, warn_of_load};
use crate::workspace::Workspace;

/// With as many threads everything is done that is not done with one.
const THREADS: u32 = 2;

/// One program with its parameters: rounds, units of each round, iterations of each unit.
#[derive(Clone, Copy, Debug)]
struct Setting {
    name: &'static str,
    rounds: u32,
    units: u32,
    iterations: u32,
}

/// All of them take a third of a second to a second with one thread.
const ALL: [Setting; 12] = [
    of("stack_tiny", 20, 40_000, 120),
    of("stack_tiny", 20, 10_000, 500),
    of("stack_tiny", 20, 2_500, 2_000),
    of("stack_tiny", 200, 1_000, 500),
    of("stack_tiny", 5, 40_000, 500),
    of("stack_rnd", 20, 2_000, 200),
    of("stack_rnd", 20, 500, 800),
    of("stack_rnd", 20, 8_000, 50),
    of("stack_rnd", 100, 400, 200),
    of("stack_seq", 20, 1_500, 4_000),
    of("stack_seq", 20, 6_000, 1_000),
    of("stack_seq", 100, 300, 4_000),
];

const fn of(name: &'static str, rounds: u32, units: u32, iterations: u32) -> Setting {
    Setting { name, rounds, units, iterations }
}

/// What was measured of one setting.
struct Row {
    setting: Setting,
    /// The speedup of the program without synchronization.
    reference: Spread,
    /// What holdup told of it.
    told: Spread,
    /// The program's speedup.
    measured: Spread,
}

/// Measures, and prints a line for each setting. `part` chooses by a part of the program's name.
pub(super) fn run(workspace: &Workspace, options: &Options, part: Option<&str>) -> Result<ExitCode> {
    let runs = options.runs.unwrap_or(if options.quick { 3 } else { 7 });
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for programs")?;
    warn_of_load();
    println!("| program | rounds | units | iterations | speedup | without synchronization | told | error |");
    println!("|---|---|---|---|---|---|---|---|");
    for setting in ALL.iter().filter(|setting| part.is_none_or(|part| setting.name.contains(part))) {
        println!("{}", measure(workspace, scratch.path(), &holdup, *setting, runs)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(workspace: &Workspace, scratch: &Path, holdup: &Path, setting: Setting, runs: u32) -> Result<Row> {
    let program = build(workspace, scratch, setting.name, None)?;
    let free = build(workspace, scratch, setting.name, Some("-DNO_SYNC"))?;
    let (mut reference, mut told, mut measured) = (Vec::new(), Vec::new(), Vec::new());
    timed(&program, setting, 1)?;
    for _ in 0..runs {
        let one = timed(&program, setting, 1)?;
        reference.push(one / timed(&free, setting, THREADS)?);
        let curves = stack(holdup, &program, setting)?;
        told.push(last(&curves["no_sync"])?);
        measured.push(last(&curves["measured"])?);
    }
    let spread = |values| Spread::of(values).context("no run");
    Ok(Row { setting, reference: spread(reference)?, told: spread(told)?, measured: spread(measured)? })
}

fn build(workspace: &Workspace, scratch: &Path, name: &str, flag: Option<&str>) -> Result<PathBuf> {
    let program = scratch.join(format!("{name}{}", flag.unwrap_or_default()));
    if program.exists() {
        return Ok(program);
    }
    let mut compiler = workspace.command("cc");
    compiler.args(["-std=gnu11", "-O2", "-g", "-pthread"]).args(flag);
    let output =
        compiler.arg("-o").arg(&program).arg(format!("workloads/{name}/main.c")).arg("-lm").output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(program)
}

impl Setting {
    fn arguments(self) -> [String; 3] {
        [self.rounds, self.units, self.iterations].map(|number| number.to_string())
    }
}

/// The wall time of a run in seconds.
fn timed(program: &Path, setting: Setting, threads: u32) -> Result<f64> {
    let mut command = Command::new(program);
    command.arg(threads.to_string()).args(setting.arguments()).stdin(Stdio::null()).stdout(Stdio::null());
    let begin = Instant::now();
    let status = command.status()?;
    if !status.success() {
        bail!("{}: {status}", program.display());
    }
    Ok(begin.elapsed().as_secs_f64())
}

/// The curves of the whole program, as `holdup stack` tells them.
fn stack(holdup: &Path, program: &Path, setting: Setting) -> Result<Value> {
    let mut command = Command::new(holdup);
    command.args([
        "stack",
        "-t",
        &format!("1,{THREADS}"),
        "-r",
        "3",
        "--profiled",
        "1",
        "--no-pirate",
        "--json",
        "--",
    ]);
    let output =
        command.arg(program).arg("{threads}").args(setting.arguments()).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    let told: Value = serde_json::from_slice(&output.stdout)?;
    Ok(told["phases"][0]["curves"].clone())
}

fn last(curve: &Value) -> Result<f64> {
    let values = curve.as_array().context("no curve")?;
    values.last().and_then(Value::as_f64).context("no speedup was told")
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { name, rounds, units, iterations } = self.setting;
        let range =
            |spread: Spread| format!("{:.2} ({:.2} to {:.2})", spread.median, spread.least, spread.most);
        let error = 100.0 * (self.told.median / self.reference.median - 1.0);
        write!(
            formatter,
            "| {name} | {rounds} | {units} | {iterations} | {} | {} | {} | {error:+.1} % |",
            range(self.measured),
            range(self.reference),
            range(self.told)
        )
    }
}
