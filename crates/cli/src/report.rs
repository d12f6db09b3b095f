//! `holdup report`.

use std::process::ExitCode;

use crate::answer::{self, Answer, Keep};
use crate::arguments::ReportOptions;
use crate::failure::Failure;

/// Says what a recording shows.
pub(crate) fn report(options: &ReportOptions) -> Result<ExitCode, Failure> {
    let answer = Answer::of(&options.recording, options.process, Keep::Nothing)?;
    let look = answer::look(options.color, &std::io::stdout(), options.output.is_some());
    let text = if options.json { answer.json() } else { answer.text(look) };
    answer::write(&text, options.output.as_deref(), std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}
