//! `cargo xtask bench steer`: what steering gains where one thread is critical, and what it costs where none is.
//!
//! Each program is run plain, under `holdup steer`, and under it as an ordinary user, in turns.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::measure::Spread;
use super::{Options, input, programs, the_holdup, warn_of_load};
use crate::workspace::Workspace;

/// Of the run time at most so much more is accepted where nothing can be gained (the median over the suite).
const ACCEPTED: f64 = 1.01;
/// So much less is wanted where one of eight threads is critical.
const WANTED: f64 = 0.90;

/// The ways in which one of eight threads is critical, with the rounds of a run of some seconds.
const CRITICAL: &[(&str, &str)] =
    &[("barrier", "160"), ("moving", "160"), ("pipeline", "400"), ("lock", "260"), ("balanced", "300")];

/// Programs of `workloads/`, of all sorts.
const WORKLOADS: &[&str] = &[
    "balanced",
    "convoy",
    "critical_section",
    "late_thread",
    "lock_chain",
    "oversubscribed",
    "pipeline",
    "pool_contended",
    "rwlock",
    "semaphore",
    "serial_phase",
    "static_stage",
    "two_locks",
];

/// Who runs `holdup steer`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Plain,
    Steer,
    OrdinaryUser,
}

struct Case {
    name: String,
    command: Vec<String>,
    /// The ratio of the run times that is wanted.
    at_most: f64,
}

/// Measures, and prints the table. `part` chooses cases by a part of their names.
pub(super) fn run(workspace: &Workspace, options: &Options, part: Option<&str>) -> Result<ExitCode> {
    let runs = options.runs.unwrap_or(if options.quick { 3 } else { 7 });
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for programs")?;
    let scratch = scratch.path();
    // An ordinary user is to run what is built in it.
    fs::set_permissions(scratch, fs::Permissions::from_mode(0o755))?;
    let cases = cases(workspace, scratch, options.quick)?;
    warn_of_load();
    let ways = ways();
    println!("{:<24} {:>8}  {:<22}  {:<22}", "run time", "plain", "holdup steer", "as an ordinary user");
    let mut ratios: Vec<(Way, String, f64)> = Vec::new();
    for case in cases.iter().filter(|case| part.is_none_or(|part| case.name.contains(part))) {
        let Some(found) = measure(&holdup, case, &ways, runs) else { continue };
        let mut line = format!("{:<24} {:>6.2} s", case.name, found[0].median);
        for (way, spread) in ways[1..].iter().zip(&found[1..]) {
            let missed = if spread.median > case.at_most { "*" } else { " " };
            let shown = format!("{:.3}{missed} ({:.3}–{:.3})", spread.median, spread.least, spread.most);
            line.push_str(&format!("  {shown:<22}"));
            if case.at_most >= 1.0 {
                ratios.push((*way, case.name.clone(), spread.median));
            }
        }
        println!("{line}");
    }
    for way in &ways[1..] {
        let of: Vec<_> = ratios.iter().filter(|(found, ..)| found == way).collect();
        let median = Spread::of(of.iter().map(|(.., ratio)| *ratio).collect());
        let worst = of.iter().max_by(|one, other| one.2.total_cmp(&other.2));
        if let (Some(median), Some((_, name, ratio))) = (median, worst) {
            let who = if *way == Way::Steer { "holdup steer" } else { "as an ordinary user" };
            println!("{who}: over the suite {:.3} in the median, worst {ratio:.3} ({name})", median.median);
        }
    }
    println!("* more than wanted: {WANTED} where one thread is critical, {ACCEPTED} where none is");
    Ok(ExitCode::SUCCESS)
}

/// What can be run here: another user can be tried by root only.
fn ways() -> Vec<Way> {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if is_root { vec![Way::Plain, Way::Steer, Way::OrdinaryUser] } else { vec![Way::Plain, Way::Steer] }
}

fn cases(workspace: &Workspace, scratch: &Path, quick: bool) -> Result<Vec<Case>> {
    let critical = build(&workspace.path("bench/steer/critical.c"), &scratch.join("critical"))?;
    let mut cases: Vec<Case> = CRITICAL
        .iter()
        .map(|(mode, rounds)| Case {
            name: format!("critical, {mode}"),
            command: vec![critical.clone(), (*mode).to_owned(), (*rounds).to_owned()],
            at_most: if matches!(*mode, "barrier" | "moving") { WANTED } else { ACCEPTED },
        })
        .collect();
    for name in WORKLOADS {
        let source = workspace.path(&format!("workloads/{name}/main.c"));
        cases.push(Case {
            name: (*name).to_owned(),
            command: vec![build(&source, &scratch.join(name))?],
            at_most: ACCEPTED,
        });
    }
    let input = input::make(scratch, quick)?;
    for program in programs::REAL {
        cases.extend(program.cases(&input, quick).into_iter().map(|case| Case {
            name: case.name,
            command: case.command,
            at_most: ACCEPTED,
        }));
    }
    Ok(cases)
}

fn build(source: &Path, program: &Path) -> Result<String> {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O2", "-pthread", "-o"]).arg(program).arg(source);
    if !compiler.status().context("cc")?.success() {
        bail!("{} cannot be built", source.display());
    }
    Ok(program.to_string_lossy().into_owned())
}

/// Seconds of plain runs, and for each other way the ratios to the plain run of the same round.
fn measure(holdup: &Path, case: &Case, ways: &[Way], runs: u32) -> Option<Vec<Spread>> {
    let mut figures: Vec<Vec<f64>> = vec![Vec::new(); ways.len()];
    for _ in 0..runs {
        let plain = once(holdup, case, Way::Plain)?;
        figures[0].push(plain);
        for (way, figures) in ways.iter().zip(&mut figures).skip(1) {
            figures.push(once(holdup, case, *way)? / plain);
        }
    }
    figures.into_iter().map(Spread::of).collect()
}

/// How long a run takes, in seconds; `None` for a program that is not here, or that fails.
fn once(holdup: &Path, case: &Case, way: Way) -> Option<f64> {
    let mut words: Vec<&std::ffi::OsStr> = Vec::new();
    if way == Way::OrdinaryUser {
        words.extend(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"].map(std::ffi::OsStr::new),
        );
    }
    if way != Way::Plain {
        words.extend([holdup.as_os_str(), "steer".as_ref(), "--quiet".as_ref(), "--".as_ref()]);
    }
    words.extend(case.command.iter().map(std::ffi::OsStr::new));
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = command.status().ok()?;
    if !status.success() {
        eprintln!("xtask: {}: {status}", case.name);
        return None;
    }
    Some(begin.elapsed().as_secs_f64())
}
