//! `cargo xtask schemas`: writes docs/json-schema anew, of the types that answers are made of.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::workspace::Workspace;

/// The test that compares the files with the types, and writes them where it is told to.
const TEST: &str = "schemas::schemas_are_made_of_the_types";

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--package", "holdup-report", "--lib", "--", "--exact", TEST]);
    cargo.env("HOLDUP_WRITE_SCHEMAS", "1");
    let status = cargo.status().context("cargo cannot be run")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
