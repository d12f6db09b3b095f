//! `cargo xtask bench steer`: what steering gains where one thread is critical, and what it costs where none is.
//!
//! Each program is run plain, under `holdup steer`, and under it as an ordinary user; all programs in turns, so that a machine
//! that slows down slows all of them, for as many rounds as the time allows.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::measure::Spread;
use super::{Options, input, programs, the_holdup, warn_of_load};
use crate::workspace::Workspace;

/// Of the run time at most so much more is accepted where nothing can be gained (the median over the suite).
const ACCEPTED: f64 = 1.01;
/// So much less is wanted where one of eight threads is critical.
const WANTED: f64 = 0.90;

/// No round begins that would likely end later than this.
const LONGEST: Duration = Duration::from_secs(7 * 60);

/// The ways in which one of eight threads is critical, with the rounds of a run of some seconds.
const CRITICAL: &[(&str, &str)] =
    &[("barrier", "160"), ("moving", "160"), ("pipeline", "200"), ("lock", "130"), ("balanced", "100")];

/// Programs of `workloads/`, of all sorts.
const WORKLOADS: &[&str] = &[
    "balanced",
    "critical_section",
    "lock_chain",
    "oversubscribed",
    "pipeline",
    "pool_contended",
    "rwlock",
    "semaphore",
    "serial_phase",
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
    /// Of each round, by way: seconds of the plain run, and then the ratios to it.
    figures: Vec<Vec<f64>>,
}

/// Measures, and prints the table. `part` chooses cases by a part of their names.
pub(super) fn run(workspace: &Workspace, options: &Options, part: Option<&str>) -> Result<ExitCode> {
    let runs = options.runs.unwrap_or(if options.quick { 2 } else { 9 });
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for programs")?;
    let scratch = scratch.path();
    // An ordinary user is to run what is built in it.
    fs::set_permissions(scratch, fs::Permissions::from_mode(0o755))?;
    let mut cases = cases(workspace, scratch)?;
    cases.retain(|case| part.is_none_or(|part| case.name.contains(part)));
    warn_of_load();
    let ways = ways();
    let begin = Instant::now();
    let mut rounds = 0;
    while rounds < runs && begin.elapsed() * (rounds + 1) <= LONGEST * rounds.max(1) {
        // A program that fails once is left out.
        cases.retain_mut(|case| match measure(&holdup, case, &ways) {
            Some(figures) => {
                case.figures.push(figures);
                true
            }
            None => false,
        });
        rounds += 1;
        eprintln!("xtask: round {rounds} of {runs}, {:.0} s", begin.elapsed().as_secs_f64());
    }
    println!("{:<24} {:>8}  {:<22}  {:<22}", "run time", "plain", "holdup steer", "as an ordinary user");
    let mut ratios: Vec<(Way, String, f64)> = Vec::new();
    for case in &cases {
        let of_way = |index: usize| Spread::of(case.figures.iter().map(|figures| figures[index]).collect());
        let Some(found) = (0..ways.len()).map(of_way).collect::<Option<Vec<_>>>() else { continue };
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
    println!("medians of {rounds} rounds (least–most)");
    println!("* more than wanted: {WANTED} where one thread is critical, {ACCEPTED} where none is");
    Ok(ExitCode::SUCCESS)
}

/// What can be run here: another user can be tried by root only.
fn ways() -> Vec<Way> {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if is_root { vec![Way::Plain, Way::Steer, Way::OrdinaryUser] } else { vec![Way::Plain, Way::Steer] }
}

fn cases(workspace: &Workspace, scratch: &Path) -> Result<Vec<Case>> {
    let critical = build(&workspace.path("bench/steer/critical.c"), &scratch.join("critical"))?;
    let mut cases: Vec<Case> = CRITICAL
        .iter()
        .map(|(mode, rounds)| Case {
            name: format!("critical, {mode}"),
            command: vec![critical.clone(), (*mode).to_owned(), (*rounds).to_owned()],
            at_most: if matches!(*mode, "barrier" | "moving") { WANTED } else { ACCEPTED },
            figures: Vec::new(),
        })
        .collect();
    for name in WORKLOADS {
        let source = workspace.path(&format!("workloads/{name}/main.c"));
        cases.push(Case {
            name: (*name).to_owned(),
            command: vec![build(&source, &scratch.join(name))?],
            at_most: ACCEPTED,
            figures: Vec::new(),
        });
    }
    let input = input::make(scratch, true)?;
    for program in programs::REAL {
        cases.extend(program.cases(&input, true).into_iter().map(|case| Case {
            name: case.name,
            command: case.command,
            at_most: ACCEPTED,
            figures: Vec::new(),
        }));
    }
    Ok(cases)
}

pub(super) fn build(source: &Path, program: &Path) -> Result<String> {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O2", "-pthread", "-o"]).arg(program).arg(source);
    if !compiler.status().context("cc")?.success() {
        bail!("{} cannot be built", source.display());
    }
    Ok(program.to_string_lossy().into_owned())
}

/// Seconds of a plain run, and for each other way the ratio to it.
fn measure(holdup: &Path, case: &Case, ways: &[Way]) -> Option<Vec<f64>> {
    let mut figures: Vec<f64> = Vec::new();
    for way in ways {
        let seconds = once(holdup, case, *way)?;
        figures.push(figures.first().map_or(seconds, |plain| seconds / plain));
    }
    Some(figures)
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
