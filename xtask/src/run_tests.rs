//! `cargo xtask test`: from a fresh Debian machine with cargo to every test run.

use std::process::{Command, ExitCode};
use std::thread;

use anyhow::{Context, Result};
use clap::Args;

use crate::packages;
use crate::tidy;
use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    /// Install nothing; tests that lack a package are skipped or fail, and are named first
    #[arg(long)]
    no_install: bool,
    /// Features to build and test with, such as full
    #[arg(long, value_name = "FEATURES")]
    features: Option<String>,
    /// Handed to the runner: parts of tests' names, --no-capture…
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

/// The status that says: something needed is missing on this machine.
const MISSING: u8 = 3;

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    if !get_ready(options)? {
        return Ok(ExitCode::from(MISSING));
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    for arguments in steps(has_runner(workspace), cores, options.features.as_deref(), &options.arguments) {
        if !succeeds(workspace.cargo().args(&arguments))? {
            eprintln!("xtask: cargo {} failed", arguments.join(" "));
            return Ok(ExitCode::FAILURE);
        }
    }
    tidy::run(workspace)
}

/// What cargo is asked, one after the other.
///
/// cargo-nextest runs each test in a process of its own, and tests of all crates beside each other
/// (`.config/nextest.toml`). Without it cargo runs one test program after the other, which takes longer and finds the same.
/// Examples in documents are run where no tests were asked for by name.
fn steps(has_runner: bool, cores: usize, features: Option<&str>, wanted: &[String]) -> Vec<Vec<String>> {
    let step = |begin: &[&str], end: &[String]| -> Vec<String> {
        let features = features.iter().flat_map(|features| ["--features", *features]);
        let words = begin.iter().copied().chain(["--workspace"]).chain(features);
        words.map(str::to_owned).chain(end.iter().cloned()).collect()
    };
    if !has_runner {
        let end = [&["--no-fail-fast".to_owned(), "--".to_owned()], wanted].concat();
        return vec![step(&["test"], &end)];
    }
    let mut steps = vec![step(&["nextest", "run", "--test-threads", &at_once(cores).to_string()], wanted)];
    if wanted.is_empty() {
        steps.push(step(&["test", "--doc"], &[]));
    }
    steps
}

/// How many tests run at once: some of them wait for others at any time, so more than there are cores.
fn at_once(cores: usize) -> usize {
    cores + cores.div_ceil(2)
}

/// True if cargo-nextest is installed; else says what that means, and how to get it.
fn has_runner(workspace: &Workspace) -> bool {
    let output = workspace.cargo().args(["nextest", "--version"]).output();
    let found = output.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!(
            "xtask: cargo-nextest is not installed: one test program runs after the other, which takes longer"
        );
        eprintln!("xtask: `cargo install --locked cargo-nextest` adds it");
    }
    found
}

/// Names and gets missing packages; false where tests would miss some that nobody agreed to miss.
fn get_ready(options: &Options) -> Result<bool> {
    let missing =
        if options.no_install { packages::missing().unwrap_or_default() } else { packages::missing()? };
    if missing.is_empty() {
        return Ok(true);
    }
    eprintln!("xtask: the tests use these Debian packages, which are not installed:");
    for need in &missing {
        eprintln!("  {:<32} {}", need.any_of.join(" or "), need.used_for);
    }
    if options.no_install {
        eprintln!(
            "xtask: going on without them (--no-install): the tests named beside them are skipped or fail"
        );
        return Ok(true);
    }
    if packages::is_root() {
        eprintln!("xtask: installing them");
        packages::install(&missing)?;
        return Ok(true);
    }
    eprintln!("xtask: without root they cannot be installed from here. Run");
    eprintln!("  {}", packages::sudo_command(&missing));
    eprintln!("and again `cargo xtask test`, or go on without the tests named above by --no-install");
    Ok(false)
}

fn succeeds(command: &mut Command) -> Result<bool> {
    let status =
        command.status().with_context(|| format!("{} does not run", command.get_program().display()))?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tests_are_run_with_and_without_the_runner_and_chosen_ones_alone() {
        let of = |has_runner, features, wanted: &[&str]| -> Vec<String> {
            let wanted: Vec<String> = wanted.iter().map(|word| (*word).to_owned()).collect();
            steps(has_runner, 2, features, &wanted).into_iter().map(|step| step.join(" ")).collect()
        };
        assert_eq!(
            of(true, None, &[]),
            ["nextest run --test-threads 3 --workspace", "test --doc --workspace"]
        );
        assert_eq!(of(false, None, &[]), ["test --workspace --no-fail-fast --"]);
        assert_eq!(
            of(true, Some("full"), &["pigz"]),
            ["nextest run --test-threads 3 --workspace --features full pigz"]
        );
        assert_eq!(
            of(false, Some("full"), &["pigz"]),
            ["test --workspace --features full --no-fail-fast -- pigz"]
        );
    }
}
