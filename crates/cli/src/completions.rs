//! `holdup completions`: what a shell completes after `holdup`.

use std::io;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::answer;
use crate::failure::Failure;

/// Options of `holdup completions`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompletionsOptions {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Writes the script that teaches a shell to complete this command line.
pub(crate) fn completions(options: &CompletionsOptions, mut line: Command) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut line, "holdup", &mut script);
    answer::write(&String::from_utf8_lossy(&script), None, io::stdout())?;
    Ok(ExitCode::SUCCESS)
}
