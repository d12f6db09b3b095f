//! `holdup report`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use holdup_analysis::Depth;
use holdup_recording::Sources;
use holdup_report::PageOptions;

use crate::answer::{self, Answer, Keep, Part};
use crate::arguments::{Collector, ReportOptions};
use crate::failure::Failure;
use crate::several;
use crate::sources;

/// Says what a recording shows.
pub(crate) fn report(options: &ReportOptions) -> Result<ExitCode, Failure> {
    let part = Part {
        process: options.process,
        sources: believed(&options.collectors),
        from: options.from,
        to: options.to,
        depth: if options.html.is_some() || options.json { Depth::Curves } else { Depth::Gains },
    };
    let (answer, told) = several::answer(&options.recordings, Keep::Nothing, &part)?;
    if let Some(page) = &options.html {
        write_page(&answer, options, told, page)?;
        if !options.json && options.output.is_none() {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let look = answer::look(options.color, &std::io::stdout(), options.output.is_some());
    let text = if options.json { answer.json() } else { answer.text(look) };
    answer::write(&text, options.output.as_deref(), std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the page, with the source files that are here.
fn write_page(answer: &Answer, options: &ReportOptions, told: usize, to: &Path) -> Result<(), Failure> {
    let is_same =
        |recording| fs::canonicalize(to).is_ok_and(|to| fs::canonicalize(recording).ok() == Some(to));
    let is_recording = options.recordings.iter().any(is_same);
    if is_recording {
        return Err(Failure::input(format!(
            "{}: this is the recording, which the page would replace; give --html another name",
            to.display()
        )));
    }
    let Answer { run, diagnoses } = answer;
    let sources = match options.no_source {
        true => BTreeMap::new(),
        false => sources::read(&holdup_report::source_files(run, diagnoses), &options.recordings[told]),
    };
    let page = PageOptions { with_sources: !options.no_source, sources };
    let page = holdup_report::page(run, diagnoses, &page);
    let to_stdout = to.as_os_str() == "-";
    answer::write(&page, Some(to).filter(|_| !to_stdout), std::io::stdout())
}

fn believed(collectors: &[Collector]) -> Sources {
    Sources {
        preload: collectors.contains(&Collector::Preload),
        kernel: collectors.contains(&Collector::Kernel),
    }
}
