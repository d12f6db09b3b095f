//! `cargo xtask truth`: how often answers are right that depend on how threads meet. A program is recorded many times, on a
//! quiet machine and beside busy loops, and rates take the place of tests that pass if one of some tries is right.
//!
//! [`cases`] are what is measured, [`machine`] runs it and sees ([`quiet`]) whether others used the machine; answers go to a
//! file of [`results`], whose [`rates`] are compared with those of reference ([`fall`]). [docs/truth.md](../../docs/truth.md).

mod case;
mod cases;
mod fall;
mod machine;
mod page;
mod quiet;
mod rates;
mod results;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use holdup_stage::Stage;

use crate::bench::holdup_at;
use crate::workspace::Workspace;
use case::{Answer, Case};
use machine::{Machine, Where};
use results::{Measured, Results};

#[derive(Args)]
pub(crate) struct Options {
    /// Rounds: how often each program is recorded, quiet and beside the loops
    #[arg(short = 'n', long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Busy loops of the runs that are not quiet
    #[arg(long, value_name = "LOOPS", default_value = "3", value_parser = clap::value_parser!(u32).range(1..))]
    load: u32,
    /// No runs beside busy loops
    #[arg(long, conflicts_with = "load_only")]
    quiet_only: bool,
    /// No quiet runs
    #[arg(long)]
    load_only: bool,
    /// Quiet runs under `chrt -r 1`, which other programs hardly disturb, but which changes how threads meet
    #[arg(long)]
    real_time: bool,
    /// So often a run beside which others used the machine is repeated; then it counts all the same, which the table says
    #[arg(long, value_name = "N", default_value = "3")]
    repeats: u32,
    /// Begin no further round that would not end within so many minutes; each row then has as many runs
    #[arg(long, value_name = "M")]
    minutes: Option<u64>,
    /// Measure this binary instead of building one
    #[arg(long, value_name = "FILE")]
    holdup: Option<PathBuf>,
    /// Go on with the measurement that was interrupted
    #[arg(long)]
    resume: bool,
    /// Run nothing: show what was measured
    #[arg(long, conflicts_with = "resume")]
    report: bool,
    /// Make what was measured the reference: workloads/truth.tsv, and the table in docs/truth.md
    #[arg(long, conflicts_with = "parts")]
    store: bool,
    /// In place of these programs those of others in workloads/strangers.tsv, of their sources in this directory (docs/truth.md)
    #[arg(long, value_name = "DIR", conflicts_with = "store")]
    strangers: Option<PathBuf>,
    /// Only rows whose name contains one of these, such as "omp_locks" or "scale "
    parts: Vec<String>,
}

/// In every second round the fixed form is recorded too, and both forms run without holdup: that is enough for medians.
const WHOLE: u32 = 2;

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let directory = workspace.metadata()?.target_directory.join("truth");
    std::fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    let path = directory.join(if options.strangers.is_some() { "strangers.tsv" } else { "results.tsv" });
    if !options.report {
        measure(workspace, options, &path)?;
    }
    finish(workspace, options, &path)
}

/// Measures round by round; in each, every case has its turn.
fn measure(workspace: &Workspace, options: &Options, path: &Path) -> Result<()> {
    let holdup = holdup_at(workspace, options.holdup.as_deref())?;
    let stage = Stage::new();
    eprintln!("xtask: building the programs");
    let cases = match &options.strangers {
        Some(directory) => cases::strangers(directory, &options.parts)?,
        None => cases::all(&stage, &options.parts),
    };
    if cases.is_empty() {
        bail!("no row's name contains {:?}", options.parts);
    }
    let mut machine = Machine::new(holdup, options.real_time, options.repeats)?;
    let mut results = Results::open(path, options.resume)?;
    let done: BTreeSet<(String, Where, u32)> = results::read(path)?
        .into_iter()
        .map(|result| (result.answer.row, result.place, result.round))
        .collect();
    let begin = Instant::now();
    let mut longest = Duration::ZERO;
    for round in 1..=options.runs {
        let begin_of_round = Instant::now();
        let left =
            options.minutes.map(|minutes| Duration::from_secs(60 * minutes).saturating_sub(begin.elapsed()));
        if left.is_some_and(|left| longest > left) {
            eprintln!("xtask: no time for another round; {} of {} were made", round - 1, options.runs);
            break;
        }
        for case in &cases {
            for place in [Where::Quiet, Where::Load] {
                let is_wanted = match place {
                    Where::Quiet => !options.load_only,
                    Where::Load => !options.quiet_only && case.is_for_load(),
                };
                let is_done = case.rows().into_iter().all(|row| done.contains(&(row, place, round)));
                if is_wanted && !is_done {
                    results.push(&answered(case.as_ref(), &mut machine, place, round, options.load)?)?;
                }
            }
        }
        longest = longest.max(begin_of_round.elapsed());
        eprintln!("xtask: round {round} took {:.0} s", begin_of_round.elapsed().as_secs_f64());
    }
    Ok(())
}

/// One round of a case. A program that fails or hangs is a wrong answer.
fn answered(
    case: &dyn Case,
    machine: &mut Machine,
    place: Where,
    round: u32,
    loops: u32,
) -> Result<Vec<Measured>> {
    if place == Where::Load {
        machine.load(loops)?;
    }
    let is_whole = (round - 1).is_multiple_of(WHOLE);
    let answers = catch_unwind(AssertUnwindSafe(|| case.round(machine, is_whole)))
        .unwrap_or_else(|_| bail!("it hangs, or was not understood"));
    machine.calm();
    let (repeated, disturbed) = machine.take_tally();
    let answers = answers.unwrap_or_else(|error| {
        let wrong = |row: String| Answer::of(&row, false, format!("{error:#}"));
        case.rows().into_iter().map(wrong).collect()
    });
    let marked = |answer: &Answer| if answer.first == Some(false) { " wrong" } else { "" };
    let names: Vec<String> =
        answers.iter().map(|answer| format!("{}{}", answer.row, marked(answer))).collect();
    eprintln!("xtask: round {round}, {}: {}", place.name(), names.join(", "));
    Ok(answers.into_iter().map(|answer| Measured { place, round, repeated, disturbed, answer }).collect())
}

/// Shows the table and what fell, and stores what is to be stored.
fn finish(workspace: &Workspace, options: &Options, path: &Path) -> Result<ExitCode> {
    let is_wanted = |row: &rates::Row| {
        options.parts.is_empty() || options.parts.iter().any(|part| row.name.contains(part.as_str()))
    };
    let rows: Vec<rates::Row> = rates::rows(&results::read(path)?).into_iter().filter(is_wanted).collect();
    if rows.is_empty() {
        bail!("{} has no such result", path.display());
    }
    println!("{}", page::table(&rows));
    println!("right in less than 95 % of quiet runs:\n{}", page::defects(&rows));
    let stored = workspace.path("workloads/truth.tsv");
    let reference = std::fs::read_to_string(&stored)
        .map_or_else(|_| Ok(Vec::new()), |text| rates::of_reference(&text))?;
    let falls = fall::falls(&reference, &rows);
    print!("{}", page::falls(&falls));
    if options.store {
        std::fs::write(&stored, rates::to_reference(&rows))?;
        let document = workspace.path("docs/truth.md");
        std::fs::write(&document, page::replaced(&std::fs::read_to_string(&document)?, &rows)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let fell = falls.iter().any(|fall| fall.is_sure);
    Ok(if fell { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
