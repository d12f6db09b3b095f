//! `holdup completions`: what a shell completes after `holdup`.

use std::io;
use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::{answer, arguments};

/// Options of `holdup completions`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompletionsOptions {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Writes the script that teaches a shell to complete.
pub(crate) fn completions(options: &CompletionsOptions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut arguments::command(), "holdup", &mut script);
    answer::write(&String::from_utf8_lossy(&script), None, io::stdout())?;
    Ok(ExitCode::SUCCESS)
}
