//! Recordings and texts with wrong contents, read by everything that reads such, for as long as is asked for.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use crate::workspace::Workspace;

/// Options of `cargo xtask fuzz`.
#[derive(Args)]
pub(crate) struct Options {
    /// For how long
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,
    /// Which inputs: the same number gives the same ones [default: a fixed one and a fresh one, half of the time each]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Read this one input again, which was kept because something went wrong with it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "seconds"])]
    again: Option<PathBuf>,
}

/// The tests that do it, half of the time each, one after the other: they watch the memory of their process.
const TESTS: &[&str] = &["fuzz::recordings_with_wrong_contents", "fuzz_texts::texts_with_wrong_contents"];

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let mut cargo = workspace.cargo();
    cargo.args([
        "test",
        "--release",
        "--package",
        "holdup",
        "--test",
        "it",
        "--",
        "--exact",
        "--nocapture",
        "--test-threads=1",
    ]);
    cargo.args(TESTS);
    // As fast as what users have, with the checks of what developers have.
    cargo.env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true");
    cargo.env("CARGO_TARGET_DIR", workspace.metadata()?.target_directory.join("fuzz"));
    cargo.env("HOLDUP_FUZZ_SECONDS", options.seconds.div_ceil(TESTS.len() as u64).to_string());
    if let Some(file) = &options.again {
        cargo.env("HOLDUP_FUZZ_FILE", std::path::absolute(file)?);
    }
    cargo.envs(options.seed.map(|seed| ("HOLDUP_FUZZ_SEED", seed.to_string())));
    let status = cargo.status().context("cargo cannot be run")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
