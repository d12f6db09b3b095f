//! `holdup ./app` and `holdup record`.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;

use holdup_collect::{Emulation, Ended, Options, Setting, Window, as_caller, attach, record as collect};
use rustix::fs::{CWD, FileType, SeekFrom};
use rustix::process::Signal;

use crate::answer::{self, Part};
use crate::arguments::{Collector, Holds, RecordOptions, RunOptions};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::rank;
use crate::several;

/// The library that is injected into measured programs.
pub(crate) static PRELOAD: &[u8] = include_bytes!(env!("HOLDUP_PRELOAD"));
/// The plugin that the emulator loads.
pub(crate) static PLUGIN: &[u8] = include_bytes!(env!("HOLDUP_QEMU_PLUGIN"));

/// Records, and says what holds the program up.
pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Failure> {
    let (place, ended) = repeated(options, None)?;
    let files = files(&ended);
    let told = answering(options, || {
        let (answer, _) = several::answer(&place.paths, &files, &Part::default())?;
        let look = answer::look(options.color, &std::io::stderr(), options.output.is_some());
        let mut text = answer.text(look);
        text.push_str(&place.sentence());
        answer::write(&text, options.output.as_deref(), std::io::stderr())
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
                "--roi, --limit-instructions and --skew choose among instructions, which --instructions records",
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
    Ok((place, ended))
}

/// The status of the first run that failed, else of the last one.
fn status(ended: &[Ended]) -> ExitCode {
    let failed = ended.iter().find(|ended| !ended.status.success());
    failed.or(ended.last()).map_or(ExitCode::SUCCESS, |ended| exit_code(ended.status))
}

/// What the program reads from, which several runs share.
pub(crate) enum Input {
    /// A file, and where it was to be read from.
    File(u64),
    /// A terminal or another device, which each run reads on from; or nothing.
    Device,
    /// A pipe or a socket: what one run has read is gone.
    Stream,
}

impl Input {
    pub(crate) fn now() -> Input {
        let stdin = std::io::stdin();
        match rustix::fs::fstat(&stdin).map(|facts| FileType::from_raw_mode(facts.st_mode)) {
            Ok(FileType::RegularFile) => rustix::fs::tell(&stdin).map_or(Input::Device, Input::File),
            Ok(FileType::Fifo | FileType::Socket) => Input::Stream,
            _ => Input::Device,
        }
    }

    /// Lets the next run read what the first one did, or says at the second that it cannot.
    pub(crate) fn back(&self, is_second: bool) {
        match self {
            Input::File(start) => _ = rustix::fs::seek(std::io::stdin(), SeekFrom::Start(*start)),
            Input::Stream if is_second => eprintln!(
                "holdup: standard input is a pipe, which only the first run can read; give a file (< FILE) if the program \
                 reads it"
            ),
            Input::Stream | Input::Device => {}
        }
    }
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
        output: output.to_owned(),
        holds: match options.holds {
            Holds::Waited => holdup_collect::Holds::Waited,
            Holds::All => holdup_collect::Holds::All,
        },
        kernel: options.collectors.contains(&Collector::Kernel),
        every_switch: options.every_switch,
        preload: options.collectors.contains(&Collector::Preload),
        arguments: !options.no_arguments,
        source: !options.no_source,
        window: Window { delay: options.delay, duration: options.duration, by_signal: options.on_signal },
        size_limit: options.size_limit.map(|mib| mib << 20),
        setting: Setting::default(),
        emulation: None,
        instrumented: false,
    }
}

/// The status that a shell would give.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status_of(status))
}

/// See [`exit_code`].
pub(crate) fn status_of(status: ExitStatus) -> u8 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8
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
            None => file_name(options.command.first()),
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
