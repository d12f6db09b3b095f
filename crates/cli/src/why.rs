//! `holdup why`: which line makes threads unequal.
//!
//! What is told of is a recording with instruction streams, counts of another tool, or a program ([`subject`]). A program is
//! run twice ([`made`]): natively, to know its times, and under emulation, to count what its threads execute.

mod made;
mod simulated;
mod subject;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use holdup_counts::{
    Counts, CountsError, add_native_times, add_other_runs, add_own_times, compare_schedules, counts,
    other_runs, seems_to_depend,
};
use holdup_imbalance::{Method, Why, WhyOptions as Search, why as search};
use holdup_model::counts::CountSource;
use holdup_model::{Nanos, Run};
use holdup_recording::facts::SourceText;
use holdup_recording::format::FrameKind;
use holdup_recording::{Recording, Writer};
use holdup_report::{WhyScene, render_why, why_json_text, why_page, why_section_name, why_source_files};

use crate::answer;
use crate::failure::Failure;
use crate::instructions::InstructionPart;
use crate::options::{Faces, SizeLimit};
use crate::progress::Progress;
use crate::simulation;
use crate::sources;
use made::{Again, Made};
use subject::Subject;

const AFTER: &str = "\
holdup why -- ./app input.dat              runs the program natively, then under emulation, and tells
holdup why -o run.holdup -- ./app          keeps the recording
holdup why run.holdup --html why.html      tells of it again
holdup why counts.txt                      tells of counts that another tool made (docs/counts.md)

The program runs twice, the second time some 5 to 20 times slower; what it prints then is dropped.
Statuses: that of the program; 2 wrong usage or input, 3 something is missing on this machine, both before
the program starts.";

/// Options of `holdup why`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
#[command(override_usage = "holdup why [OPTIONS] -- PROGRAM [ARGS]...\n       holdup why [OPTIONS] FILE")]
pub(crate) struct WhyOptions {
    /// How causes are looked for: as the paper has it, each instance by itself, or with its instances stacked
    #[arg(long, value_enum, default_value_t = MethodName::Stacked)]
    pub method: MethodName,
    /// Events whose counts correlate by so much or more are one
    #[arg(long, value_name = "0.6..0.95", default_value_t = 0.9, value_parser = threshold)]
    pub threshold: f64,
    /// Give no intervals of scores, which saves time
    #[arg(long)]
    pub no_intervals: bool,
    /// Tell of all sections and causes, the minor ones too
    #[arg(long)]
    pub all: bool,
    /// Tell only of sections with this in their place or name, such as lu.c:412
    #[arg(long, value_name = "TEXT")]
    pub section: Option<String>,
    /// Do not run the program natively first: no native times, and its output is that of the emulated run
    #[arg(long)]
    pub no_native: bool,
    /// Take native times from this recording of the same program
    #[arg(long, value_name = "FILE", conflicts_with = "no_native")]
    pub native: Option<PathBuf>,
    /// Record every block and access, not only how often threads take each edge: larger and slower, for the same answer
    #[arg(long)]
    pub stream: bool,
    /// Simulate what was executed, so that caches, branches and queueing count too, and say how much of the imbalance
    /// disappears without the misses that are found
    #[arg(long, conflicts_with_all = ["native", "no_native"])]
    pub simulate: bool,
    /// The machine to simulate: a name (holdup sim --list-machines), a file, or host
    #[arg(long, value_name = "NAME", default_value = simulation::USUAL, requires = "simulate")]
    pub machine: String,
    /// How many cores to simulate [default: as many as threads that work at once, at most those of the machine]
    #[arg(long, value_name = "N", requires = "simulate", value_parser = clap::value_parser!(u32).range(1..=simulation::MOST_CORES))]
    pub cores: Option<u32>,
    #[command(flatten)]
    pub part: InstructionPart,
    #[command(flatten)]
    pub size: SizeLimit,
    /// Keep the recording here [default: it is removed]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub recording: Option<PathBuf>,
    /// Go on with the emulated run where the native one ends with a status other than 0
    #[arg(long)]
    pub ignore_status: bool,
    /// Leave the program's source out of the answer
    #[arg(long)]
    pub no_source: bool,
    #[command(flatten)]
    pub faces: Faces,
    /// A recording with instruction streams, or counts as text
    #[arg(value_name = "FILE", required_unless_present = "command", conflicts_with = "command")]
    pub file: Option<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// See [`Method`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodName {
    Paper,
    Stacked,
}

/// The range over which the paper tried its threshold (section 3.2).
fn threshold(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.6..=0.95).contains(value));
    value.ok_or_else(|| "give a correlation from 0.6 to 0.95, such as 0.9".to_owned())
}

/// Says which line makes threads unequal.
pub(crate) fn why(options: &WhyOptions) -> Result<ExitCode, Failure> {
    let Some(file) = &options.file else { return run(&options.command, options) };
    match Subject::of(file)? {
        Subject::Counts(_) if options.simulate => {
            return Err(Failure::input(format!(
                "{}: counts cannot be simulated; give a recording made by holdup record --instructions=stream, or a program",
                file.display()
            )));
        }
        Subject::Recording if options.simulate => match simulated::read(file, options)? {
            Some(told) => show(&told, options, false)?,
            None => return Ok(simulation::interrupted()),
        },
        Subject::Counts(counts) => show(&read_counts(*counts, file, options)?, options, false)?,
        Subject::Recording => show(&read(file, options.native.as_deref(), None, options)?, options, false)?,
        // A program without arguments is understood without -- too.
        Subject::Program => return run(&[file.clone().into_os_string()], options),
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the program, and tells of that.
fn run(command: &[OsString], options: &WhyOptions) -> Result<ExitCode, Failure> {
    options.faces.check_writable()?;
    let made = made::of_program(command, options)?;
    let Some(recording) = &made.recording else { return Ok(made.status) };
    // The program's status stands, whatever becomes of the answer.
    let native = options.native.as_deref().or(made.native.as_deref());
    let told = match options.simulate {
        true => simulated::read(recording, options),
        false => read(recording, native, Some(&made), options).map(Some),
    };
    let told = told.and_then(|told| match told {
        Some(mut told) => {
            told.why.warnings.splice(0..0, made.notes.iter().cloned());
            show(&told, options, true)
        }
        None => Ok(_ = simulation::interrupted()),
    });
    if let Err(failure) = told {
        // Why emulation failed says more than that it gave nothing.
        match made.notes.first() {
            Some(note) => _ = Failure::input(note).tell(),
            None => _ = failure.tell(),
        }
    }
    Ok(made.status)
}

/// What is told, and of what.
struct Told {
    why: Why,
    scene: WhyScene,
}

/// Tells of a recording, with the times of a native one, or with what was kept of such a run. What was just `made` is kept.
fn read(
    path: &Path,
    native: Option<&Path>,
    made: Option<&Made>,
    options: &WhyOptions,
) -> Result<Told, Failure> {
    let progress = Progress::start("looking for what makes threads unequal");
    let (mut recording, warnings) = Recording::open(path)?;
    simulation::check_machine(path, &recording)?;
    holdup_collect::name_all(&mut recording, &progress.names());
    progress.at("looking for what makes threads unequal");
    let run = recording.run(&warnings);
    let mut found = match counts(&recording, &run) {
        Ok(found) => found,
        Err(CountsError::NoStreams) => return Err(no_streams(path, &recording.session.command)),
        Err(error) => return Err(uncounted(error, &named(path, &run, options), &run)),
    };
    let source = recording.source_text.take();
    let kept = recording.other_runs.take().filter(|_| native.is_none() && !options.no_native);
    drop(recording);
    drop(progress);
    // Where the program can be run again, it is looked whether what seems to depend on the schedule does.
    if let Some(again) = made.and_then(|made| made.again.as_ref()).filter(|_| seems_to_depend(&found)) {
        again.compare(&mut found);
    }
    let native = native.map(native_run).transpose()?;
    // A program that counts by itself does so natively.
    let is_native = found.source == CountSource::Instrumented && !options.no_native;
    match &native {
        Some(native) => add_native_times(&mut found, native),
        None if is_native => add_own_times(&mut found, &run),
        None => {}
    }
    let kept =
        kept.filter(|kept| add_other_runs(&mut found, kept)).and_then(|kept| kept.wall).map(Nanos::new);
    let native = native.as_ref().or(is_native.then_some(&run));
    let wall = native.map(|native| native.end.since(native.start)).or(kept);
    if let Some(file) = made.and_then(|made| made.kept.as_ref()) {
        // Without room for it the answer of today is the same.
        let adding = file.try_clone().and_then(Writer::adding_to);
        let _ =
            adding.and_then(|mut writer| writer.facts(FrameKind::OtherRuns, 0, &other_runs(&found, wall)));
    }
    let scene = WhyScene {
        command: run.command.clone(),
        wall: wall.filter(|wall| *wall > Nanos::ZERO),
        ..WhyScene::default()
    };
    Ok(looked(&found, scene, path, source.as_ref(), options))
}

impl Again {
    /// Runs the program once more under emulation, and compares. Without another run what seems so is told.
    fn compare(&self, counts: &mut Counts) {
        let Some(path) = self.run() else { return };
        let progress = Progress::start("comparing with another run");
        let other = Recording::open(&path).ok().and_then(|(mut recording, warnings)| {
            holdup_collect::name_all(&mut recording, &progress.names());
            let run = recording.run(&warnings);
            holdup_counts::counts(&recording, &run).ok()
        });
        if let Some(other) = other {
            compare_schedules(counts, &other);
        }
    }
}

/// The run without emulation.
fn native_run(path: &Path) -> Result<Run, Failure> {
    answer::run_of(path, &Progress::start("reading the native run"))
}

/// Why there are no counts of what is called so.
fn uncounted(error: CountsError, called: &str, run: &Run) -> Failure {
    match error {
        CountsError::NothingCounted if is_alone(run) => {
            Failure::input(format!("{called}: it has one thread, so there is nobody to be unequal to"))
        }
        error => Failure::input(format!("{called}: {error}")),
    }
}

/// True if the program never had a second thread.
fn is_alone(run: &Run) -> bool {
    run.processes.first().is_some_and(|process| process.threads.len() == 1)
}

/// What to call a recording in a message: a temporary one by its program.
fn named(path: &Path, run: &Run, options: &WhyOptions) -> String {
    let stays = [&options.file, &options.recording].into_iter().flatten().any(|file| file == path);
    match run.command.first().filter(|_| !stays) {
        Some(program) => program.clone(),
        None => path.display().to_string(),
    }
}

/// Tells of counts that another tool made.
fn read_counts(mut found: Counts, path: &Path, options: &WhyOptions) -> Result<Told, Failure> {
    let native = options.native.as_deref().map(native_run).transpose()?;
    if let Some(native) = &native {
        add_native_times(&mut found, native);
    }
    Ok(looked(&found, WhyScene::default(), path, None, options))
}

/// Looks for causes, and for the source that they are in.
fn looked(
    found: &Counts,
    scene: WhyScene,
    path: &Path,
    source: Option<&SourceText>,
    options: &WhyOptions,
) -> Told {
    let mut why = search(found, &options.search());
    if let Some(wanted) = &options.section {
        let all: Vec<String> = why.sections.iter().map(why_section_name).collect();
        why.sections.retain(|section| why_section_name(section).contains(wanted.as_str()));
        if why.sections.is_empty() && !all.is_empty() {
            why.warnings
                .insert(0, format!("No section has {wanted} in its name: there is {}.", all.join(", ")));
        }
    }
    let sources = match options.no_source {
        true => BTreeMap::new(),
        false => sources::read(&why_source_files(&why), source, path),
    };
    let mut threads = found.threads.clone();
    if matches!(found.source, CountSource::Emulated | CountSource::Instrumented | CountSource::Simulated) {
        // The first thread has no name but the program's, which others may have too.
        threads
            .iter_mut()
            .filter(|label| label.number == 0)
            .for_each(|label| label.name = Some("main".to_owned()));
    }
    Told { why, scene: WhyScene { threads, sources, all: options.all, ..scene } }
}

impl WhyOptions {
    fn search(&self) -> Search {
        let default = Search::default();
        Search {
            method: match self.method {
                MethodName::Paper => Method::Paper,
                MethodName::Stacked => Method::Stacked,
            },
            threshold: self.threshold,
            draws: if self.no_intervals { 0 } else { default.draws },
            ..default
        }
    }

    /// True if standard output is the answer's, not the program's.
    fn answers_on_stdout(&self) -> bool {
        self.faces.takes_stdout(self.faces.json())
    }
}

/// What to do where instructions were not recorded.
fn no_streams(path: &Path, command: &[String]) -> Failure {
    let program = holdup_report::shell_words(command).unwrap_or_else(|| "PROGRAM".to_owned());
    let recording = path.with_extension("instructions.holdup");
    Failure::input(format!(
        "{}: the recording has no instruction streams, without which nobody can say which line makes threads unequal; this makes one \
         that has: holdup record --instructions -o {} -- {program}",
        path.display(),
        holdup_report::shell_words(&[recording.to_string_lossy().into_owned()]).unwrap_or_default()
    ))
}

/// Writes the answer as it was asked for.
fn show(told: &Told, options: &WhyOptions, has_run: bool) -> Result<(), Failure> {
    let Told { why, scene } = told;
    let read = [&options.file, &options.native, &options.recording];
    options.faces.check_apart(read.into_iter().flatten().map(PathBuf::as_path))?;
    let json = options.faces.json().then_some(|| why_json_text(why, scene));
    options.faces.show_beside(has_run, || why_page(why, scene), json, |look| render_why(why, scene, look))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_those_that_were_tried() {
        assert_eq!((threshold("0.6"), threshold("0.95")), (Ok(0.6), Ok(0.95)));
        for wrong in ["0.5", "1", "NaN", "x", ""] {
            assert!(threshold(wrong).is_err(), "{wrong}");
        }
    }
}
