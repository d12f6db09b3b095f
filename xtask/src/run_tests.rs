//! `cargo xtask test`: from a fresh Debian machine with cargo to every test run.

use std::process::{Command, ExitCode};

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
    /// Handed to every test binary: a filter, --nocapture…
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

/// The status that says: something needed is missing on this machine.
const MISSING: u8 = 3;

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    if !get_ready(options)? {
        return Ok(ExitCode::from(MISSING));
    }
    let steps: [(&str, &[&str]); 2] =
        [("build", &["build", "--workspace"]), ("test", &["test", "--workspace", "--no-fail-fast"])];
    for (name, arguments) in steps {
        let mut command = workspace.cargo();
        command.args(arguments);
        if name == "test" {
            command.arg("--").args(&options.arguments);
        }
        if !succeeds(&mut command)? {
            eprintln!("xtask: cargo {} failed", arguments.join(" "));
            return Ok(ExitCode::FAILURE);
        }
    }
    tidy::run(workspace)
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
