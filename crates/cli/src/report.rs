//! `holdup report`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use holdup_criticality::{Depth, Rank, Ranks};
use holdup_recording::Sources;
use holdup_report::{PageOptions, ranks_json_text, render_ranks};

use crate::answer::{self, Answer, Part};
use crate::arguments::{Collector, ReportOptions};
use crate::failure::Failure;
use crate::several;
use crate::sources;

/// Says what a recording shows.
pub(crate) fn report(options: &ReportOptions) -> Result<ExitCode, Failure> {
    if options.ranks {
        return ranks(options);
    }
    let part = Part {
        process: options.process,
        sources: believed(&options.collectors),
        from: options.from,
        to: options.to,
        depth: Depth {
            all_gains: options.all_gains || options.html.is_some(),
            curves: options.html.is_some() || options.json,
        },
    };
    let (answer, told) = several::answer(&options.recordings, &[], &part)?;
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

/// Says how well the ranks of an MPI program use their cores. One recording is in memory at a time.
fn ranks(options: &ReportOptions) -> Result<ExitCode, Failure> {
    let part = Part { sources: believed(&options.collectors), ..Part::default() };
    let mut found = Vec::with_capacity(options.recordings.len());
    for path in &options.recordings {
        let answer = Answer::of(path, None, &part)?;
        let recorded =
            answer.diagnoses.iter().find(|one| !answer.run.processes[one.process].threads.is_empty());
        let diagnosis = recorded.ok_or_else(|| {
            Failure::input(format!(
                "{}: nothing was recorded in it, so it is no rank; holdup report says why",
                path.display()
            ))
        })?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        found.push(Rank::of(&name, diagnosis));
    }
    let ranks = Ranks::of(found);
    let look = answer::look(options.color, &std::io::stdout(), options.output.is_some());
    let text = if options.json { ranks_json_text(&ranks) } else { render_ranks(&ranks, look) };
    answer::write(&text, options.output.as_deref(), std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the page, with the source that was recorded or is here.
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
    let Answer { run, diagnoses, source } = answer;
    let sources = match options.no_source {
        true => BTreeMap::new(),
        false => {
            let names = holdup_report::source_files(run, diagnoses);
            sources::read(&names, source.as_ref(), &options.recordings[told])
        }
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
