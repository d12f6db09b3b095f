//! `holdup report`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use holdup_criticality::{Depth, Rank, Ranks};
use holdup_recording::Sources;
use holdup_report::{PageOptions, ranks_json_text, render_ranks};

use crate::answer::{self, Answer, Color, Part};
use crate::collectors::Collector;
use crate::failure::Failure;
use crate::seconds::seconds;
use crate::several;
use crate::sources;

/// Options of `holdup report`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReportOptions {
    /// The recording; of several of one program that with the median wall time is told, with what the others say
    #[arg(value_name = "FILE", required = true)]
    pub recordings: Vec<PathBuf>,
    /// The recordings are the ranks of one run of an MPI program: tell how well ranks and threads use their cores
    #[arg(long, conflicts_with_all = ["html", "process", "from", "to"])]
    pub ranks: bool,
    /// Print JSON, as docs/json-schema/report.schema.json says (ranks.schema.json for --ranks)
    #[arg(long)]
    pub json: bool,
    /// Write a page to look at, one file that needs nothing else (- for standard output)
    #[arg(long, value_name = "OUT")]
    pub html: Option<PathBuf>,
    /// Leave the program's source out of the page
    #[arg(long, requires = "html")]
    pub no_source: bool,
    /// Use only what these collectors gave
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Collector::Preload, Collector::Kernel])]
    pub collectors: Vec<Collector>,
    /// Only what came after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub from: Option<Duration>,
    /// Only what came before so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub to: Option<Duration>,
    /// Report first on this process (its pid) instead of the busiest
    #[arg(long, value_name = "PID")]
    pub process: Option<u32>,
    /// Say of each finding what mending it would give, however long that takes; the page always does
    #[arg(long)]
    pub all_gains: bool,
    /// Where to write the answer [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

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
