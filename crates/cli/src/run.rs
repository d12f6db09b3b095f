//! `holdup ./app` and `holdup record`.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use holdup_collect::{Emulation, Ended, Options, Window, as_caller, attach, find_program, record as collect};
use rustix::fs::CWD;
use rustix::process::Signal;

use crate::answer::{self, Part};
use crate::collectors::{PLUGIN, PRELOAD};
use crate::failure::Failure;
use crate::instructions::{InstructionPart, ModeName};
use crate::options::{Length, NameSources, Printed, RecordingOptions, pid};
use crate::progress::Progress;
use crate::rank;
use crate::runs::Input;
use crate::seconds::seconds;
use crate::several;
use crate::status::exit_code;

/// Options of commands that run a program.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunOptions {
    /// Where to write the recording [default: PROGRAM.holdup here; an earlier one is kept as PROGRAM.old.holdup];
    /// %r in it stands for the rank of an MPI process
    #[arg(short = 'o', long, value_name = "FILE")]
    pub recording: Option<PathBuf>,
    /// Run the program so many times: FILE.holdup, FILE.2.holdup…; tells of the run in the middle, and how the others differ
    #[arg(short = 'r', long, value_name = "N", default_value_t = 1, conflicts_with = "pid",
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub repeat: u16,
    #[command(flatten)]
    pub length: Length,
    #[command(flatten)]
    pub printed: Printed,
    /// Which holds of locks to time: those of locks that somebody waited for, or all
    #[arg(long, value_enum, default_value_t = Holds::Waited)]
    pub holds: Holds,
    #[command(flatten)]
    pub recorded: RecordingOptions,
    #[command(flatten)]
    pub names: NameSources,
    /// Record a process that runs already, until it ends, or until Ctrl-C; it runs on
    #[arg(long, value_name = "PID", conflicts_with = "command", value_parser = pid)]
    pub pid: Option<u32>,
    /// Begin so many seconds after the start
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub delay: Option<Duration>,
    /// Tell of so many seconds at most; with --pid holdup ends then, else the program runs on to its end
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// Begin when holdup gets the signal SIGUSR1, and end with SIGUSR2
    #[arg(long)]
    pub on_signal: bool,
    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM",
        required_unless_present = "pid"
    )]
    pub command: Vec<OsString>,
}

/// Options of `holdup record`.
#[derive(Args, Clone, Debug)]
pub(crate) struct RecordOptions {
    /// Run the program under emulation, and record its instructions: how often each thread takes which way (counts), or every
    /// block and access (stream); for holdup why
    #[arg(long, value_enum, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "counts",
        conflicts_with_all = ["pid", "delay", "duration", "on_signal", "repeat"])]
    pub instructions: Option<ModeName>,
    #[command(flatten)]
    pub part: InstructionPart,
    #[command(flatten)]
    pub run: RunOptions,
}

/// Which holds are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Holds {
    Waited,
    All,
}

/// Records, and says what holds the program up.
pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Failure> {
    let (place, ended) = repeated(options, None)?;
    let files = files(&ended);
    let told = answering(options, || {
        let (answer, _) = several::answer(&place.paths, &files, &Part::default())?;
        options
            .printed
            .to(std::io::stderr(), |look| answer.text(options.length.brief, look) + &place.sentence())
    });
    complain(&ended, told);
    Ok(status(&ended))
}

/// Only records.
pub(crate) fn record(options: &RecordOptions) -> Result<ExitCode, Failure> {
    let emulation = match options.instructions {
        Some(mode) => {
            let mut emulation = Emulation::find(PLUGIN)?;
            emulation.mode = mode.mode();
            options.part.set(&mut emulation);
            Some(emulation)
        }
        None if options.part.is_chosen() => {
            return Err(Failure::input(
                "--roi, --limit-instructions and --skew choose among instructions, which --instructions records; write --instructions too",
            ));
        }
        None => None,
    };
    let progress = emulation
        .as_ref()
        .map(|emulation| Progress::counting("under emulation", Arc::clone(&emulation.executed)));
    let (place, ended) = repeated(&options.run, emulation)?;
    drop(progress);
    let files = files(&ended);
    let named = answering(&options.run, || {
        place.paths.iter().zip(&files).try_for_each(|(path, file)| answer::name(path, file))
    });
    complain(&ended, named);
    eprint!("{}", place.sentence());
    Ok(status(&ended))
}

fn files(ended: &[Ended]) -> Vec<Arc<File>> {
    ended.iter().map(|ended| Arc::clone(&ended.file)).collect()
}

/// Reads what the program and its files say with the rights that the program had; those of a process that ran already may be
/// files that only root can read.
fn answering(
    options: &RunOptions,
    answer: impl FnOnce() -> Result<(), Failure> + Send,
) -> Result<(), Failure> {
    if options.pid.is_some() {
        return answer();
    }
    as_caller(|| Ok(answer())).unwrap_or_else(|error| Err(Failure::machine(error)))
}

/// Records as many runs as were asked for, one after another.
fn repeated(options: &RunOptions, emulation: Option<Emulation>) -> Result<(Place, Vec<Ended>), Failure> {
    options.names.check()?;
    let mut place = Place::of(options)?;
    let input = Input::now();
    let mut ended = vec![collected(options, &place.paths[0], emulation)?];
    for number in 2..=options.repeat {
        // Who interrupts a run does not want to see the next one.
        let was_interrupted = |ended: &Ended| ended.status.signal() == Some(Signal::INT.as_raw());
        if ended.last().is_some_and(was_interrupted) {
            break;
        }
        input.back(number == 2);
        let path = place.another(number)?;
        ended.push(collected(options, &path, None)?);
        place.paths.push(path);
    }
    options.names.use_them();
    Ok((place, ended))
}

/// The status of the first run that failed, else of the last one.
fn status(ended: &[Ended]) -> ExitCode {
    let failed = ended.iter().find(|ended| !ended.status.success());
    failed.or(ended.last()).map_or(ExitCode::SUCCESS, |ended| exit_code(ended.status))
}

/// Records the program, or the process that runs.
fn collected(options: &RunOptions, output: &Path, emulation: Option<Emulation>) -> Result<Ended, Failure> {
    let wanted = Options { emulation, ..collect_options(options, output) };
    match options.pid {
        Some(pid) => Ok(attach(pid, &wanted)?),
        None => Ok(collect(&options.command, &wanted, PRELOAD)?),
    }
}

/// Says what went wrong once the program had run: its status stands, whatever became of the recording and the answer.
/// One line: what kept the recording from being written explains why it cannot be read.
fn complain(ended: &[Ended], told: Result<(), Failure>) {
    for sentence in ended.iter().filter_map(|ended| ended.emulation.as_ref()) {
        eprintln!("holdup: {}", holdup_report::escaped(sentence));
    }
    match ended.iter().find_map(|ended| ended.trouble.as_ref()) {
        Some(trouble) => _ = Failure::input(trouble).tell(),
        None => _ = told.map_err(|failure| failure.tell()),
    }
}

fn collect_options(options: &RunOptions, output: &Path) -> Options {
    Options {
        holds: match options.holds {
            Holds::Waited => holdup_collect::Holds::Waited,
            Holds::All => holdup_collect::Holds::All,
        },
        window: Window { delay: options.delay, duration: options.duration, by_signal: options.on_signal },
        ..options.recorded.options(output)
    }
}

/// Where the recordings go.
pub(crate) struct Place {
    /// One for each run; at least one.
    pub paths: Vec<PathBuf>,
    chosen: bool,
}

impl Place {
    /// The place that was asked for, or one named after the program: here, or where that cannot be written in the
    /// directory for temporary files.
    fn of(options: &RunOptions) -> Result<Place, Failure> {
        if let Some(path) = &options.recording {
            return Ok(Place { paths: vec![rank::named(path)?], chosen: true });
        }
        let name = match options.pid {
            Some(pid) => {
                let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                file_name(Some(&OsString::from(name.trim_end())))
            }
            None => {
                // Before an earlier recording makes way for one that there will not be.
                options.command.first().map(|program| find_program(program)).transpose()?;
                file_name(options.command.first())
            }
        };
        let made = as_caller(|| {
            let flags = rustix::fs::AtFlags::EACCESS;
            let writable = rustix::fs::accessat(CWD, ".", rustix::fs::Access::WRITE_OK, flags).is_ok();
            let directory = if writable { PathBuf::new() } else { std::env::temp_dir() };
            let path = directory.join(format!("{name}.holdup"));
            Ok(make_way(&path).map(|()| path))
        });
        let path = made.map_err(Failure::machine)??;
        Ok(Place { paths: vec![path], chosen: false })
    }

    /// The place of another run: `app.2.holdup`.
    fn another(&self, number: u16) -> Result<PathBuf, Failure> {
        let path = numbered(&self.paths[0], &number.to_string());
        if !self.chosen {
            as_caller(|| Ok(make_way(&path))).map_err(Failure::machine)??;
        }
        Ok(path)
    }

    fn sentence(&self) -> String {
        if self.chosen {
            return String::new();
        }
        let shown: Vec<String> =
            self.paths.iter().map(|path| holdup_report::escaped(&path.display().to_string())).collect();
        let word = if shown.len() > 1 { "recordings" } else { "recording" };
        format!("{word}: {}\n", shown.join(", "))
    }
}

/// `app.holdup` with something before its ending: `app.2.holdup`, `app.old.holdup`.
fn numbered(path: &Path, word: &str) -> PathBuf {
    const ENDING: &str = "holdup";
    if path.extension().is_some_and(|ending| ending == ENDING) {
        path.with_extension(format!("{word}.{ENDING}"))
    } else {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{word}"));
        PathBuf::from(name)
    }
}

/// Keeps an earlier recording of this name under another one.
fn make_way(path: &Path) -> Result<(), Failure> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    std::fs::rename(path, numbered(path, "old")).map_err(|error| {
        Failure::input(format!(
            "{}: an earlier recording cannot be moved out of the way ({error}); choose another place with -o FILE",
            path.display()
        ))
    })
}

/// The last part of the program's path, without what a file name should not begin with.
fn file_name(program: Option<&OsString>) -> String {
    let name = program.and_then(|program| Path::new(program).file_name()).unwrap_or_default();
    let name = name.to_string_lossy();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "run".to_owned() } else { name.to_owned() }
}
