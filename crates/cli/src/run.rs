//! `holdup ./app` and `holdup record`.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use holdup_collect::{Ended, Options, Window, attach, record as collect};

use crate::answer::{self, Answer, Keep, Part};
use crate::arguments::{Collector, Holds, RunOptions};
use crate::failure::Failure;

/// The library that is injected into measured programs.
pub(crate) const PRELOAD: &[u8] = include_bytes!(env!("HOLDUP_PRELOAD"));

/// Records, and says what holds the program up.
pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Failure> {
    let place = Place::of(options)?;
    let ended = collected(options, &place.path)?;
    let told = Answer::of(&place.path, Keep::Names, &Part::default()).and_then(|answer| {
        let look = answer::look(options.color, &std::io::stderr(), options.output.is_some());
        let mut text = answer.text(look);
        text.push_str(&place.sentence());
        answer::write(&text, options.output.as_deref(), std::io::stderr())
    });
    complain(&ended, told);
    Ok(exit_code(ended.status))
}

/// Only records.
pub(crate) fn record(options: &RunOptions) -> Result<ExitCode, Failure> {
    let place = Place::of(options)?;
    let ended = collected(options, &place.path)?;
    complain(&ended, answer::name(&place.path));
    eprint!("{}", place.sentence());
    Ok(exit_code(ended.status))
}

/// Records the program, or the process that runs, which counts as one that ended well.
fn collected(options: &RunOptions, output: &Path) -> Result<Ended, Failure> {
    let wanted = collect_options(options, output);
    match options.pid {
        Some(pid) => Ok(Ended { status: ExitStatus::default(), trouble: attach(pid, &wanted)? }),
        None => Ok(collect(&options.command, &wanted, PRELOAD)?),
    }
}

/// Says what went wrong once the program had run: its status stands, whatever became of the recording and the answer.
/// One line: what kept the recording from being written explains why it cannot be read.
fn complain(ended: &Ended, told: Result<(), Failure>) {
    match &ended.trouble {
        Some(trouble) => _ = Failure::input(trouble).tell(),
        None => _ = told.map_err(|failure| failure.tell()),
    }
}

fn collect_options(options: &RunOptions, output: &Path) -> Options {
    Options {
        output: output.to_owned(),
        all_holds: options.holds == Holds::All,
        kernel: options.collectors.contains(&Collector::Kernel),
        every_switch: options.every_switch,
        preload: options.collectors.contains(&Collector::Preload),
        arguments: !options.no_arguments,
        window: Window { delay: options.delay, duration: options.duration, by_signal: options.on_signal },
        size_limit: options.size_limit.map(|mib| mib << 20),
    }
}

/// The status that a shell would give.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(code as u8)
}

/// Where the recording goes.
pub(crate) struct Place {
    pub path: PathBuf,
    chosen: bool,
}

impl Place {
    /// The place that was asked for, or one named after the program: here, or where that cannot be written in the
    /// directory for temporary files.
    fn of(options: &RunOptions) -> Result<Place, Failure> {
        if let Some(path) = &options.recording {
            return Ok(Place { path: path.clone(), chosen: true });
        }
        let name = match options.pid {
            Some(pid) => {
                let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                file_name(Some(&OsString::from(name.trim_end())))
            }
            None => file_name(options.command.first()),
        };
        let writable = rustix::fs::access(".", rustix::fs::Access::WRITE_OK).is_ok();
        let directory = if writable { PathBuf::new() } else { std::env::temp_dir() };
        let path = directory.join(format!("{name}.holdup"));
        if path.exists() {
            let older = directory.join(format!("{name}.old.holdup"));
            std::fs::rename(&path, &older).map_err(|error| {
                Failure::input(format!(
                    "{}: an earlier recording cannot be moved out of the way ({error}); choose another place with -o FILE",
                    path.display()
                ))
            })?;
        }
        Ok(Place { path, chosen: false })
    }

    fn sentence(&self) -> String {
        if self.chosen {
            return String::new();
        }
        let shown = holdup_report::escaped(&self.path.display().to_string());
        format!("recording: {shown}\n")
    }
}

/// The last part of the program's path, without what a file name should not begin with.
fn file_name(program: Option<&OsString>) -> String {
    let name = program.and_then(|program| Path::new(program).file_name()).unwrap_or_default();
    let name = name.to_string_lossy();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "run".to_owned() } else { name.to_owned() }
}
