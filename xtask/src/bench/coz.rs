//! `cargo xtask bench coz`: the same questions to holdup and to coz (Curtsinger, Berger: Coz: Finding Code that Counts with
//! Causal Profiling. SOSP 2015), and the answer of a program that was really changed.
//!
//! coz answers for a line and a speed-up that it chooses itself, at random. Here it is told both, so that none of its time
//! goes into other lines: with no speed-up and with the one that is asked for, it gives the time from one progress
//! point to the next, and the ratio of the two is its prediction. Its programs run longer, for enough experiments of half a
//! second each.

mod cases;
mod profile;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::measure::Spread;
use super::ways::last_line;
use super::whatif::asked::{ask, record, timed};
use super::whatif::errors::{percent, summary};
use super::{Options, the_holdup, warn_of_load};
use crate::workspace::Workspace;
use cases::{CASES, Case};

/// What a tool says of a change: the share of the run time that is left, from how many runs, in how many seconds.
struct Answer {
    left: f64,
    runs: u32,
    seconds: f64,
}

/// Asks both tools and prints the table. `part` chooses cases by a part of their names.
pub(super) fn run(workspace: &Workspace, options: &Options, part: Option<&str>) -> Result<ExitCode> {
    let runs = options.runs.unwrap_or(if options.quick { 1 } else { 3 });
    if Command::new("coz").arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        eprintln!("xtask: coz is not installed (package coz-profiler): nothing to compare with");
        return Ok(ExitCode::SUCCESS);
    }
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for recordings")?;
    let scratch = scratch.path();
    warn_of_load();
    println!(
        "{:<12} {:<24} {:>9} | {:>8} {:>8} {:>4} {:>7} | {:>8} {:>8} {:>4} {:>7}",
        "program", "change", "time left", "holdup", "error", "runs", "takes", "coz", "error", "runs", "takes"
    );
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for case in CASES.iter().filter(|case| part.is_none_or(|part| case.program.contains(part))) {
        let name = format!("{}: {}", case.program, case.expression);
        eprintln!("xtask: {name}");
        let measured = measured(workspace, scratch, case, runs)?;
        let cells = |answer: Result<Answer>, errors: &mut Vec<(String, f64)>| match answer {
            Ok(Answer { left, runs, seconds }) => {
                let error = left / measured - 1.0;
                errors.push((name.clone(), error));
                format!("{:>6.1} % {:>8} {runs:>4} {seconds:>5.1} s", left * 100.0, percent(error))
            }
            Err(error) => format!("no answer: {error:#}"),
        };
        let holdup = cells(by_holdup(workspace, &holdup, scratch, case), &mut ours);
        let coz = cells(by_coz(workspace, scratch, case, runs), &mut theirs);
        let measured = measured * 100.0;
        println!("{:<12} {:<24} {measured:>7.1} % | {holdup} | {coz}", case.program, case.expression);
    }
    let mut text = String::new();
    summary(&mut text, "holdup", &ours, (0.03, 0.15))?;
    summary(&mut text, "coz", &theirs, (0.03, 0.15))?;
    print!("{text}");
    Ok(ExitCode::SUCCESS)
}

/// The share of the run time that is left once the program is really changed: medians of runs in turn.
fn measured(workspace: &Workspace, scratch: &Path, case: &Case, runs: u32) -> Result<f64> {
    let program = compile(workspace, scratch, case, false)?;
    let (mut now, mut changed) = (Vec::new(), Vec::new());
    for _ in 0..runs.max(3) {
        now.push(timed(&words(&program, &[case.switches])).map_err(anyhow::Error::msg)?);
        changed.push(timed(&words(&program, &[case.switches, case.change])).map_err(anyhow::Error::msg)?);
    }
    let middle = |times| Spread::of(times).map(|spread| spread.median).context("no run");
    Ok(middle(changed)? / middle(now)?)
}

fn by_holdup(workspace: &Workspace, holdup: &Path, scratch: &Path, case: &Case) -> Result<Answer> {
    let program = compile(workspace, scratch, case, false)?;
    let recording = scratch.join("coz.holdup");
    // A recording that is there would be kept under another name.
    let _ = fs::remove_file(&recording);
    let begin = Instant::now();
    record(holdup, &recording, &words(&program, &[case.switches])).map_err(anyhow::Error::msg)?;
    let told = ask(holdup, &recording, &[case.expression]).map_err(anyhow::Error::msg)?;
    let seconds = begin.elapsed().as_secs_f64();
    let [[predicted, ..]] = told.predicted[..] else { bail!("one question has one answer") };
    Ok(Answer { left: predicted / told.unchanged, runs: 1, seconds })
}

fn by_coz(workspace: &Workspace, scratch: &Path, case: &Case, runs: u32) -> Result<Answer> {
    let program = compile(workspace, scratch, case, true)?;
    let line = format!("{}.c:{}", case.program, work_line(workspace, case)?);
    let profile = scratch.join("profile.coz");
    let begin = Instant::now();
    let mut between = Vec::new();
    for speedup in [0, case.speedup] {
        let _ = fs::remove_file(&profile);
        for _ in 0..runs {
            let speedup = speedup.to_string();
            let mut coz = Command::new("coz");
            coz.arg("run").arg("-o").arg(&profile);
            coz.args(["--fixed-line", &line, "--fixed-speedup", &speedup, "---"]);
            coz.args(words(&program, &[case.switches, case.longer]));
            let output = coz.stdin(Stdio::null()).output()?;
            if !output.status.success() {
                bail!("{}: {}", output.status, last_line(&output.stderr));
            }
        }
        let text = fs::read_to_string(&profile).context("it wrote no profile")?;
        between.push(profile::time_between_progress(&text).context("no experiment came to its end")?);
    }
    Ok(Answer { left: between[1] / between[0], runs: 2 * runs, seconds: begin.elapsed().as_secs_f64() })
}

fn words(program: &Path, switches: &[&[&str]]) -> Vec<String> {
    let switches = switches.concat().into_iter().map(str::to_owned);
    [program.to_string_lossy().into_owned()].into_iter().chain(switches).collect()
}

/// The line of the function's work: coz asks about lines.
fn work_line(workspace: &Workspace, case: &Case) -> Result<usize> {
    let source = format!("bench/whatif/{}.c", case.program);
    let text = workspace.text(&source).with_context(|| format!("there is no {source}"))?;
    let function = format!(" {}(", case.function);
    let lines = text.lines().enumerate();
    let mut lines = lines.skip_while(|(_, line)| !(line.starts_with("NAMED") && line.contains(&function)));
    let found = lines.find(|(_, line)| line.contains("WORK("));
    found.map(|(index, _)| index + 1).with_context(|| format!("{source} has no work in {}", case.function))
}

fn compile(workspace: &Workspace, scratch: &Path, case: &Case, for_coz: bool) -> Result<PathBuf> {
    let program = scratch.join(format!("{}{}", case.program, if for_coz { "-coz" } else { "" }));
    if program.exists() {
        return Ok(program);
    }
    let mut cc = workspace.command("cc");
    // coz reads DWARF 4, and refuses what gcc adds to it.
    cc.args(["-std=gnu11", "-O2", "-gdwarf-4", "-gstrict-dwarf", "-gno-variable-location-views", "-pthread"]);
    cc.args(for_coz.then_some("-DWITH_COZ"));
    let source = format!("bench/whatif/{}.c", case.program);
    let status = cc.arg("-o").arg(&program).arg(&source).arg("-ldl").status();
    if !status.context("cc does not run; install it: apt-get install gcc libc6-dev")?.success() {
        bail!("cc cannot compile {source}");
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_line_to_ask_about() {
        let workspace = Workspace::of_this_run().expect("the workspace");
        for case in CASES {
            let line = work_line(&workspace, case).expect("a line");
            let source = workspace.text(&format!("bench/whatif/{}.c", case.program)).expect("a source");
            let before: Vec<&str> = source.lines().take(line).collect();
            let function = before.iter().rfind(|line| line.starts_with("NAMED")).expect("a function");
            assert!(function.contains(&format!(" {}(", case.function)), "{}: {function}", case.program);
        }
    }
}
