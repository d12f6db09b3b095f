//! From a recording to words: reading, diagnosing, showing.

use std::fs::{self, DirBuilder, File};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use holdup_collect::as_caller;
use holdup_criticality::{Depth, Diagnosis, ProcessTree, diagnose, predict_gains};
use holdup_model::figures::counted;
use holdup_model::{Nanos, Process, Run};
use holdup_recording::facts::SourceText;
use holdup_recording::{Recording, Sources, Warning};
use holdup_report::Look;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::progress::Progress;

/// Processes that are diagnosed at most: the busiest ones. The others are counted.
const MOST_PROCESSES: usize = 32;

/// Which part of a recording is told of. The default is all of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The pid of the process to tell about first.
    pub process: Option<u32>,
    /// Which collectors are believed.
    pub sources: Sources,
    /// From how long after the start on.
    pub from: Option<Duration>,
    /// Until how long after the start.
    pub to: Option<Duration>,
    /// What is predicted.
    pub depth: Depth,
}

impl Default for Part {
    fn default() -> Part {
        Part { process: None, sources: Sources::ALL, from: None, to: None, depth: Depth::default() }
    }
}

impl Part {
    /// This part of the run.
    pub(crate) fn cut(&self, run: Run, path: &Path) -> Result<Run, Failure> {
        if self.from.is_none() && self.to.is_none() {
            return Ok(run);
        }
        let at =
            |length: Duration| run.start + Nanos::new(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX));
        let (from, to) = (self.from.map_or(run.start, at), self.to.map_or(run.end, at));
        if from >= run.end || from >= to {
            let wall = run.end.since(run.start);
            let what = match (self.from, self.to) {
                (Some(from), Some(to)) if from >= to => {
                    let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
                    format!("--from {from} is not before --to {to}; write --from {to} --to {from}")
                }
                _ => format!(
                    "nothing was recorded in that part of the run; it took {wall}: write less behind --from"
                ),
            };
            return Err(Failure::input(format!("{}: {what}", path.display())));
        }
        Ok(run.window(from, to))
    }

    /// The processes of the run by their indices: the one to tell about first, then the busiest.
    pub(crate) fn order(&self, run: &Run, path: &Path) -> Result<Vec<usize>, Failure> {
        let pids = |process: &Process| std::iter::once(process.pid).chain(process.joined.clone());
        let mut order = run.busiest_first();
        if let Some(pid) = self.process {
            let Some(at) = order.iter().position(|index| pids(&run.processes[*index]).any(|own| own == pid))
            else {
                let pids: Vec<String> =
                    run.processes.iter().flat_map(pids).map(|pid| pid.to_string()).collect();
                return Err(Failure::input(format!(
                    "{}: no process {pid} in this recording; it has {}",
                    path.display(),
                    pids.join(", ")
                )));
            };
            let chosen = order.remove(at);
            order.insert(0, chosen);
        }
        Ok(order)
    }
}

/// A run and what holds its processes up, the one to tell about first.
pub(crate) struct Diagnosed {
    pub run: Run,
    pub diagnoses: Vec<Diagnosis>,
    /// The source that was stored with the names.
    pub source: Option<SourceText>,
}

impl Diagnosed {
    /// Reads a recording, names what it saw, and diagnoses its processes. `made` is the file of one that was just made: names that
    /// are missing are put into it.
    pub(crate) fn of(
        path: &Path,
        made: Option<&File>,
        part: &Part,
        progress: &Progress,
    ) -> Result<Diagnosed, Failure> {
        let (mut recording, warnings) = named(path, made, progress)?;
        let run = recording.run_from(&warnings, part.sources);
        let source = recording.source_text.take();
        // Its records take as much memory as what is made of them.
        drop(recording);
        let run = part.cut(run, path)?;
        let order = part.order(&run, path)?;
        let count = order.len().min(MOST_PROCESSES);
        let diagnoses = order.into_iter().take(count).enumerate().map(|(at, index)| {
            progress.at(format!("diagnosing process {} of {count}", at + 1));
            diagnose(&run, index)
        });
        let mut diagnoses: Vec<Diagnosis> = diagnoses.collect();
        if let Some(told) = diagnoses.first_mut() {
            let findings = counted(told.findings.len() as u64, "finding", "findings");
            progress.at(format!("predicting what fixing {findings} saves"));
            predict_gains(&run, told, part.depth);
            told.tree = if part.process.is_none() { ProcessTree::of(&run) } else { None };
        }
        Ok(Diagnosed { run, diagnoses, source })
    }

    /// The short answer, or the shortest.
    pub(crate) fn text(&self, is_brief: bool, look: Look) -> String {
        let render = if is_brief { holdup_report::render_brief } else { holdup_report::render };
        render(&self.run, &self.diagnoses, look)
    }

    /// The answer for machines.
    pub(crate) fn json(&self) -> String {
        holdup_report::json_text(&self.run, &self.diagnoses)
    }
}

/// Finds the names in a recording that was just made, and puts them into it.
pub(crate) fn name(path: &Path, made: &File) -> Result<(), Failure> {
    let progress = Progress::start("finding names");
    Ok(holdup_collect::name_file(made, path, &progress.names())?)
}

/// A recording with its names; with `made`, the one in this file, to which they are added.
pub(crate) fn named(
    path: &Path,
    made: Option<&File>,
    progress: &Progress,
) -> Result<(Recording, Vec<Warning>), Failure> {
    if let Some(file) = made {
        holdup_collect::name_file(file, path, &progress.names())?;
    }
    progress.reading(path);
    let (mut recording, warnings) = match made {
        Some(file) => Recording::read(file, path)?,
        None => Recording::open(path)?,
    };
    // Those, too, for which there was no room.
    holdup_collect::name_all(&mut recording, &progress.names());
    progress.reading(path);
    Ok((recording, warnings))
}

/// The run of a recording, with names.
pub(crate) fn run_of(path: &Path, progress: &Progress) -> Result<Run, Failure> {
    let (recording, warnings) = named(path, None, progress)?;
    Ok(recording.run(&warnings))
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// The columns of text that goes to no terminal; where nothing is to be shortened, those of a wide one.
const COLUMNS: [usize; 2] = [100, 200];

/// How to show things on `stream`, with nothing shortened if it is `wide`.
pub(crate) fn look(
    color: Color,
    wide: bool,
    stream: &(impl IsTerminal + std::os::fd::AsFd),
    to_file: bool,
) -> Look {
    let terminal = stream.is_terminal() && !to_file;
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let color = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    };
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let size = || rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col));
    let width = columns
        .or_else(|| terminal.then(size).flatten())
        .filter(|width| *width > 0)
        .unwrap_or(COLUMNS[usize::from(wide)]);
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    // Without a locale there is nothing that says how bytes are read; UTF-8 is what everything here speaks.
    let unicode = locale.is_none_or(|locale| {
        let locale = locale.to_ascii_uppercase();
        locale.contains("UTF-8") || locale.contains("UTF8")
    });
    let names = if wide { Look::WHOLE } else { Look::NAMES };
    Look { width, color, unicode, names }
}

/// What takes long is not to end with an answer that has no place.
pub(crate) fn check_writable(out: &Path) -> Result<(), Failure> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = if out.exists() { out } else { folder };
    rustix::fs::access(place, rustix::fs::Access::WRITE_OK)
        .map_err(|error| unwritable(out, &io::Error::from(error)))
}

fn unwritable(out: &Path, error: &io::Error) -> Failure {
    let out = out.display();
    Failure::input(format!(
        "{out}: the answer cannot be written here ({error}); name a file in a directory that is there and that you may write to"
    ))
}

/// Makes a directory for recordings where there is none, and opens it. Recordings hold copies of stacks: it is the user's own.
pub(crate) fn private_directory(path: &Path) -> std::io::Result<File> {
    as_caller(|| {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        File::open(path)
    })
}

/// A directory for recordings that is removed when the result is dropped; of the caller of sudo, as they are.
pub(crate) fn passing_directory(prefix: &str) -> io::Result<TempDir> {
    as_caller(|| tempfile::Builder::new().prefix(prefix).tempdir())
}

/// Writes to a file, or to the stream where there is none. A reader that went away is no failure.
pub(crate) fn write(text: &str, file: Option<&Path>, mut stream: impl Write) -> Result<(), Failure> {
    match file {
        Some(path) => fs::write(path, text).map_err(|error| unwritable(path, &error)),
        None => match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::input(format!("the answer cannot be written ({error})")))
            }
            _ => Ok(()),
        },
    }
}
