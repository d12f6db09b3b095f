//! `holdup report`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use holdup_criticality::{Depth, Rank, Ranks};
use holdup_recording::Sources;
use holdup_report::{PageOptions, ranks_json_text, render_ranks};

use crate::answer::{Diagnosed, Part};
use crate::collectors::Collector;
use crate::failure::Failure;
use crate::options::{Faces, Length, NameSources, Selection};
use crate::progress::Progress;
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
    /// Leave the program's source out of the page
    #[arg(long, requires = "html")]
    pub no_source: bool,
    /// Use only what these collectors gave
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Collector::Preload, Collector::Kernel])]
    pub collectors: Vec<Collector>,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub names: NameSources,
    /// Say of each finding what fixing it would save, however long that takes; the page always does
    #[arg(long)]
    pub all_gains: bool,
    #[command(flatten)]
    pub length: Length,
    #[command(flatten)]
    pub faces: Faces,
}

/// Says what a recording shows.
pub(crate) fn report(options: &ReportOptions) -> Result<ExitCode, Failure> {
    options.names.check()?;
    options.names.use_them();
    if options.ranks {
        return ranks(options);
    }
    options.faces.check_apart(options.recordings.iter().map(PathBuf::as_path))?;
    let has_page = options.faces.html.is_some();
    let part = Part {
        sources: believed(&options.collectors),
        depth: Depth { all_gains: options.all_gains || has_page, curves: has_page || options.faces.json() },
        ..options.selection.part()
    };
    let (answer, told) = several::answer(&options.recordings, &[], &part)?;
    let page = || page(&answer, options.no_source, &options.recordings[told]);
    options.faces.show(page, || answer.json(), |look| answer.text(options.length.brief, look))?;
    Ok(ExitCode::SUCCESS)
}

/// The page of these recordings.
pub(crate) fn page_of(recordings: &[PathBuf], no_source: bool) -> Result<String, Failure> {
    let depth = Depth { all_gains: true, curves: true };
    let (answer, told) = several::answer(recordings, &[], &Part { depth, ..Part::default() })?;
    let _progress = Progress::start("making the page");
    Ok(page(&answer, no_source, &recordings[told]))
}

/// Says how well the ranks of an MPI program use their cores. One recording is in memory at a time.
fn ranks(options: &ReportOptions) -> Result<ExitCode, Failure> {
    let part = Part { sources: believed(&options.collectors), ..Part::default() };
    let mut found = Vec::with_capacity(options.recordings.len());
    let progress = Progress::start("reading the recordings");
    for (index, path) in options.recordings.iter().enumerate() {
        progress.with_recording(index, options.recordings.len());
        let answer = Diagnosed::of(path, None, &part, &progress)?;
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
    drop(progress);
    let ranks = Ranks::of(found);
    options.faces.answered.show(|| ranks_json_text(&ranks), |look| render_ranks(&ranks, look))?;
    Ok(ExitCode::SUCCESS)
}

/// The page, with the source that was recorded or is here.
fn page(answer: &Diagnosed, no_source: bool, told: &Path) -> String {
    let Diagnosed { run, diagnoses, source } = answer;
    let sources = match no_source {
        true => BTreeMap::new(),
        false => sources::read(&holdup_report::source_files(run, diagnoses), source.as_ref(), told),
    };
    let page = PageOptions { with_sources: !no_source, sources };
    holdup_report::page(run, diagnoses, &page)
}

fn believed(collectors: &[Collector]) -> Sources {
    Sources {
        preload: collectors.contains(&Collector::Preload),
        kernel: collectors.contains(&Collector::Kernel),
    }
}
