//! Programs under holdup, holdup and its helpers killed at random moments, as often as is asked for.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use crate::workspace::Workspace;

/// Options of `cargo xtask kills`.
#[derive(Args)]
pub(crate) struct Options {
    /// How often
    #[arg(long, default_value_t = 500)]
    count: u64,
    /// Which kills: the same number draws the same ones [default: a fresh one]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// The test that does it.
const TEST: &str = "kills::at_random_moments";

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--package", "holdup", "--test", "it", "--", "--exact", TEST, "--nocapture"]);
    cargo.env("HOLDUP_KILLS", options.count.to_string());
    cargo.envs(options.seed.map(|seed| ("HOLDUP_KILLS_SEED", seed.to_string())));
    let status = cargo.status().context("cargo cannot be run")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
