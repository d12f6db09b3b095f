//! `holdup report`.

use std::process::ExitCode;

use holdup_recording::Sources;

use crate::answer::{self, Answer, Keep, Part};
use crate::arguments::{Collector, ReportOptions};
use crate::failure::Failure;

/// Says what a recording shows.
pub(crate) fn report(options: &ReportOptions) -> Result<ExitCode, Failure> {
    let part = Part {
        process: options.process,
        sources: sources(&options.collectors),
        from: options.from,
        to: options.to,
    };
    let answer = Answer::of(&options.recording, Keep::Nothing, &part)?;
    let look = answer::look(options.color, &std::io::stdout(), options.output.is_some());
    let text = if options.json { answer.json() } else { answer.text(look) };
    answer::write(&text, options.output.as_deref(), std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

fn sources(collectors: &[Collector]) -> Sources {
    Sources {
        preload: collectors.contains(&Collector::Preload),
        kernel: collectors.contains(&Collector::Kernel),
    }
}
