//! `cargo xtask bench`: what recording costs, as ratios of runs that alternate (A B C A B C …), so that a
//! machine that slows down slows all of them.
//!
//! The targets are those that holdup set itself. A missed target is printed and never
//! fails the command: timing belongs to the reader, not to a gate.

mod alone;
mod characterize;
mod coz;
mod hot_lock;
mod input;
pub(crate) mod measure;
mod openmp;
mod process;
mod programs;
mod servers;
mod sim;
mod stack;
mod steer;
mod table;
mod top;
mod ways;
mod whatif;
mod why;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::workspace::Workspace;
use measure::{Case, Comparison};
use table::Table;
use ways::Way;

#[derive(Args)]
pub(crate) struct Options {
    /// Less input, fewer runs: a look, not a measurement
    #[arg(long)]
    quick: bool,
    /// Runs of each way [default: 7, with --quick 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    /// Measure this binary instead of building one
    #[arg(long, value_name = "FILE")]
    holdup: Option<PathBuf>,
    /// Only cases whose name contains this, such as "pigz" or "lock pair"; or another benchmark: whatif (predictions
    /// against programs that were really changed), coz (the same questions to coz), openmp (OpenMP programs), why
    /// (counting executed instructions, and looking for causes), sim (how fast programs are simulated), stack
    /// (speedup stacks against programs without synchronization), alone (whether programs do the same while their threads
    /// are held in turn), steer (what helping the critical thread gains and costs), characterize (comparing many
    /// recordings, and many rows), top (what the live view costs), servers (what servers lose while they are recorded)
    filter: Option<String>,
    /// Only cases of that other benchmark whose name contains this
    part: Option<String>,
    /// With why: measure nothing, but try every way to build and run the planted programs, and count the hits
    #[arg(long)]
    matrix: bool,
    /// With servers: in place of the usual ways, record with these options of `record` (repeat for more)
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    with: Vec<String>,
}

/// The order in which cases are shown; each knows its targets.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    match options.filter.as_deref() {
        Some("alone") => return alone::run(workspace, options, options.part.as_deref()),
        Some("whatif") => return whatif::run(workspace, options, options.part.as_deref()),
        Some("coz") => return coz::run(workspace, options, options.part.as_deref()),
        Some("openmp") => return openmp::run(workspace, options, options.part.as_deref()),
        Some("stack") => return stack::run(workspace, options, options.part.as_deref()),
        Some("characterize") => return characterize::run(workspace, options, options.part.as_deref()),
        Some("sim") => return sim::run(workspace, options, options.part.as_deref()),
        Some("steer") => return steer::run(workspace, options, options.part.as_deref()),
        Some("servers") => return servers::run(workspace, options, options.part.as_deref()),
        Some("top") => return top::run(workspace, options),
        Some("why") => return why::run(workspace, options, options.part.as_deref()),
        _ => {}
    }
    let runs = options.runs.unwrap_or(if options.quick { 3 } else { 7 });
    let wanted = |name: &str| options.filter.as_deref().is_none_or(|filter| name.contains(filter));
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for recordings")?;
    let ways = ways::installed(&holdup, scratch.path());

    let mut cases: Vec<Case> = micro_cases(workspace, scratch.path(), &wanted)?;
    let real: Vec<_> = programs::REAL.iter().filter(|program| wanted(program.name)).collect();
    if !real.is_empty() {
        let input = input::make(scratch.path(), options.quick)?;
        cases.extend(real.into_iter().flat_map(|program| program.cases(&input, options.quick)));
    }
    warn_of_load();
    eprintln!("xtask: {} cases, {runs} runs of each of {} ways", cases.len(), ways.len());
    let mut table = Table::default();
    for case in &cases {
        eprintln!("xtask: {}", case.name);
        table.extend(measure::measure(case, &ways, runs));
    }
    for (case, options) in switch_cases(workspace, scratch.path(), &wanted)? {
        eprintln!("xtask: {}", case.name);
        let ways = ways::with_options(&holdup, scratch.path(), options);
        table.extend(measure::measure(&case, &ways, runs));
    }
    if wanted(hot_lock::NAME) {
        eprintln!("xtask: {}", hot_lock::NAME);
        let program = compile(workspace, scratch.path(), "hot64")?;
        table.extend([hot_lock::measure(&program, &holdup, scratch.path())]);
    }
    print!("{table}");
    Ok(ExitCode::SUCCESS)
}

/// Other work on the machine is the commonest reason for a wide spread.
fn warn_of_load() {
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load: Option<f64> = load.and_then(|text| text.split(' ').next()?.parse().ok());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if let Some(load) = load.filter(|load| *load > 0.5 * cpus as f64) {
        eprintln!("xtask: this machine is busy (load {load:.1} on {cpus} CPUs): figures will scatter");
    }
}

/// The binary to measure.
fn the_holdup(workspace: &Workspace, options: &Options) -> Result<PathBuf> {
    holdup_at(workspace, options.holdup.as_deref())
}

/// The binary at this path; without one, the release binary, built.
pub(crate) fn holdup_at(workspace: &Workspace, path: Option<&Path>) -> Result<PathBuf> {
    match path {
        Some(holdup) => holdup.canonicalize().with_context(|| holdup.display().to_string()),
        None => build_holdup(workspace),
    }
}

/// The release binary, as users have it.
fn build_holdup(workspace: &Workspace) -> Result<PathBuf> {
    let status = workspace.cargo().args(["build", "--release", "--package", "holdup"]).status()?;
    if !status.success() {
        bail!("cargo build --release --package holdup failed");
    }
    Ok(workspace.metadata()?.target_directory.join("release/holdup"))
}

/// The C programs of `bench/`, which print their own figures.
fn micro_cases(workspace: &Workspace, scratch: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>> {
    let pair = |name: &str, figure, at_most| (name.to_owned(), "lock_pair", vec![], figure, at_most);
    let contended = |name: &str, length: &str, at_most| {
        (name.to_owned(), "contended", vec![length.to_owned()], "iteration_ns", at_most)
    };
    let all = [
        pair("lock pair, tight loop", "tight_ns", Comparison::AddedNs { at_most: 3.0 }),
        pair("lock pair, amid work", "busy_ns", Comparison::AddedNs { at_most: 20.0 }),
        contended("contended, long sections", "long", Comparison::Ratio { at_most: 1.05 }),
        contended("contended, short sections", "short", Comparison::Ratio { at_most: 1.20 }),
    ];
    all.into_iter()
        .filter(|(name, ..)| wanted(name))
        .map(|(name, source, arguments, figure, comparison)| {
            let program = compile(workspace, scratch, source)?.to_string_lossy().into_owned();
            let command = [vec![program], arguments].concat();
            Ok(Case { name, command, figure: Some(figure), comparison })
        })
        .collect()
}

/// What options of `record` a case is about.
type RecordOptions = &'static [&'static str];

/// 100,000 context switches a second, for the kernel collector: backing off from them, and recording them all.
fn switch_cases(
    workspace: &Workspace,
    scratch: &Path,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<(Case, RecordOptions)>> {
    let all: [(&str, RecordOptions, f64); 3] = [
        ("100,000 switches/s, kernel collector", &["--collectors", "kernel"], 1.03),
        ("100,000 switches/s, every one", &["--collectors", "kernel", "--max-cost", "none"], 1.12),
        ("100,000 switches/s, both collectors", &[], 1.03),
    ];
    all.into_iter()
        .filter(|(name, ..)| wanted(name))
        .map(|(name, options, at_most)| {
            let program = compile(workspace, scratch, "switch_storm")?.to_string_lossy().into_owned();
            let comparison = Comparison::Ratio { at_most };
            let figure = Some("switch_ns");
            Ok((Case { name: name.to_owned(), command: vec![program], figure, comparison }, options))
        })
        .collect()
}

fn compile(workspace: &Workspace, scratch: &Path, name: &str) -> Result<PathBuf> {
    let program = scratch.join(name);
    let source = format!("bench/{name}.c");
    let status = workspace
        .command("cc")
        // coz aborts on DWARF 5.
        .args(["-std=gnu11", "-O2", "-gdwarf-4", "-pthread", "-o"])
        .arg(&program)
        .arg(&source)
        .status()
        .context("cc does not run; install it: apt-get install gcc libc6-dev")?;
    if !status.success() {
        bail!("cc cannot compile {source}");
    }
    Ok(program)
}
