//! `cargo xtask bench characterize`: how long it takes to compare 1,000 recordings of some hundred events each, and a table of
//! 100,000 rows, and in how much memory.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use super::measure::{Spread, printed};
use super::process::run_to_end;
use super::{Options, the_holdup, warn_of_load};
use crate::workspace::Workspace;

const RECORDINGS: usize = 1_000;
const ROWS: usize = 100_000;
const COLUMNS: usize = 15;

/// What is compared, and how long that may take.
struct Case {
    name: &'static str,
    file: PathBuf,
    target_s: f64,
}

/// Measures, and prints a line for each case. `part` chooses by a part of the name.
pub(super) fn run(workspace: &Workspace, options: &Options, part: Option<&str>) -> Result<ExitCode> {
    let runs = options.runs.unwrap_or(if options.quick { 1 } else { 5 });
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for recordings")?;
    let (recordings, table) = (scratch.path().join("recordings"), scratch.path().join("table.csv"));
    let events = record(workspace, &recordings)?;
    fs::write(&table, rows())?;
    warn_of_load();
    println!("{RECORDINGS} recordings with {events:.0} events in all; {ROWS} rows of {COLUMNS} columns");
    println!("| compared | seconds | target | peak MiB |\n|---|---|---|---|");
    let cases = [
        Case { name: "recordings, losses", file: recordings, target_s: 2.0 },
        Case { name: "rows of CSV", file: table, target_s: 10.0 },
    ];
    for case in cases.iter().filter(|case| part.is_none_or(|part| case.name.contains(part))) {
        println!("{}", measure(&holdup, scratch.path(), case, runs)?);
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the recordings; gives how many events they have.
fn record(workspace: &Workspace, directory: &Path) -> Result<f64> {
    let words =
        ["run", "--release", "--quiet", "--package", "holdup-recording", "--example", "synthetic", "--"];
    fs::create_dir(directory)?;
    let output = workspace.cargo().args(words).arg(directory).arg(RECORDINGS.to_string()).output()?;
    if !output.status.success() {
        bail!(
            "the example synthetic of holdup-recording: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    printed(&output.stdout, "events").context("the example synthetic told no events")
}

/// Shares that add up to 1: points of four clouds, all different.
fn rows() -> String {
    let mut text = String::from("program,threads");
    (0..COLUMNS).for_each(|column| _ = write!(text, ",c{column}"));
    let mut state = 1u64;
    let mut random = || {
        // Knuth's linear congruential generator.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    for row in 0..ROWS {
        let values: Vec<f64> =
            (0..COLUMNS).map(|column| random() + if column == row % 4 { 8.0 } else { 0.0 }).collect();
        let total: f64 = values.iter().sum();
        _ = write!(text, "\np{},{}", row / 2, 2 + 2 * (row % 2));
        values.iter().for_each(|value| _ = write!(text, ",{:.6}", value / total));
    }
    text.push('\n');
    text
}

fn measure(holdup: &Path, scratch: &Path, case: &Case, runs: u32) -> Result<String> {
    let (mut seconds, mut peaks) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let mut command = Command::new(holdup);
        command.args(["characterize", "--html"]).arg(scratch.join("page.html")).arg(&case.file);
        let ran = run_to_end(&mut command)?;
        seconds.push(ran.seconds);
        peaks.push(ran.peak_mib);
    }
    let spread = |values| Spread::of(values).context("no run");
    let (seconds, peak) = (spread(seconds)?, spread(peaks)?);
    let missed = if seconds.median > case.target_s { " (missed)" } else { "" };
    let Spread { median, least, most } = seconds;
    Ok(format!(
        "| {} | {median:.2} ({least:.2} to {most:.2}) | {:.0}{missed} | {:.0} |",
        case.name, case.target_s, peak.most
    ))
}
