//! Chores of the workspace: tests and tidiness, golden recordings, measurements of cost and of truth.

mod bench;
mod dist;
mod fuzz;
mod golden;
mod kills;
mod layers;
mod packages;
mod run_tests;
mod schemas;
mod tidy;
mod truth;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Chores of the holdup workspace
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Install what the tests need from Debian packages, then run every test
    Test(run_tests::Options),
    /// Check the rules that neither the compiler nor rustfmt nor clippy checks
    Tidy(tidy::Options),
    /// Measure what recording costs, as ratios of interleaved runs
    Bench(bench::Options),
    /// Hold what commands say of the recordings in tests/recordings against what they said
    Golden(golden::Options),
    /// Write docs/json-schema anew, of the types that answers are made of
    Schemas,
    /// Read recordings (with right checksums) and texts with wrong contents; 1 if something goes wrong
    Fuzz(fuzz::Options),
    /// Kill programs, holdup and its helpers at random moments; 1 if something hangs, panics or stays changed
    Kills(kills::Options),
    /// Build what is given to users: one binary for old systems too, as a tar file and as a Debian package
    Dist(dist::Options),
    /// Measure how often answers are right, on a quiet machine and beside busy loops; 1 if that fell
    Truth(truth::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse().chore) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(chore: Chore) -> Result<ExitCode> {
    let workspace = Workspace::of_this_run()?;
    match chore {
        Chore::Test(options) => run_tests::run(&workspace, &options),
        Chore::Tidy(options) => tidy::chore(&workspace, &options),
        Chore::Bench(options) => bench::run(&workspace, &options),
        Chore::Golden(options) => golden::run(&workspace, &options),
        Chore::Schemas => schemas::run(&workspace),
        Chore::Fuzz(options) => fuzz::run(&workspace, &options),
        Chore::Kills(options) => kills::run(&workspace, &options),
        Chore::Dist(options) => dist::run(&workspace, &options),
        Chore::Truth(options) => truth::run(&workspace, &options),
    }
}
