//! Running a program natively, and then under emulation.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;

use holdup_collect::{
    Emulation, Ended, InstructionMode, Options, Output, Setting, counts_itself, find_program, record,
};

use holdup_sections::main_of;

use super::WhyOptions;
use crate::answer;
use crate::collectors::{PLUGIN, PRELOAD};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::runs::Input;
use crate::status::{exit_code, status_of};

/// What running a program gave.
pub(super) struct Made {
    /// The status to end with.
    pub(super) status: ExitCode,
    /// The recording of the emulated run; `None` where there was none, which was told.
    pub(super) recording: Option<PathBuf>,
    /// That of the native run.
    pub(super) native: Option<PathBuf>,
    /// How to run it once more under emulation, where that is possible.
    pub(super) again: Option<Again>,
    /// The file of the recording, where it is kept: what the other runs say goes into it.
    pub(super) kept: Option<Arc<File>>,
    /// What the reader of the answer must know.
    pub(super) notes: Vec<String>,
    _temporary: tempfile::TempDir,
}

/// Runs the program of these options as often as they say.
pub(super) fn of_program(command: &[OsString], options: &WhyOptions) -> Result<Made, Failure> {
    if counts_by_itself(command, options) {
        return of_counting_program(command, options);
    }
    let emulation = emulation(options)?;
    let mut made = nothing_yet()?;
    let native = made._temporary.path().join("native.holdup");
    let input = Input::now();
    let first = if options.answers_on_stdout() { Output::Diverted } else { Output::Shared };
    let mut before = None;
    // A simulation has its own times.
    if !options.no_native && !options.simulate && options.native.is_none() {
        let ended = record(command, &as_recorded(options, native.clone(), first, None), PRELOAD)?;
        made.status = exit_code(ended.status);
        if !is_to_go_on(ended.status, options) {
            return Ok(made);
        }
        before = Some(ended.status);
        match ended.trouble {
            Some(trouble) => made.notes.push(trouble),
            None => made.native = Some(native),
        }
        input.back(true);
    }
    // The emulator follows no program into another: what does the work is emulated by itself.
    let worker = made.native.as_deref().and_then(worker);
    if let (Some(worker), Some(program)) = (&worker, command.first()) {
        made.notes.push(format!(
            "{} was counted by itself: {} starts it, which was not run under emulation with it.",
            worker.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "),
            program.to_string_lossy()
        ));
    }
    let command = worker.as_deref().unwrap_or(command);
    let output = if before.is_some() { Output::Silent } else { first };
    let path = options.recording.clone().unwrap_or_else(|| made._temporary.path().join("emulated.holdup"));
    let progress = Progress::counting("under emulation", Arc::clone(&emulation.executed));
    let ended = record(command, &as_recorded(options, path.clone(), output, Some(emulation)), PRELOAD);
    drop(progress);
    let ended = match ended {
        Ok(ended) => ended,
        // Once the program has run, its status is what counts.
        Err(error) if before.is_some() => {
            Failure::from(error).tell();
            return Ok(made);
        }
        Err(error) => return Err(error.into()),
    };
    if ended.status.signal().is_some_and(|signal| signal == rustix::process::Signal::INT.as_raw()) {
        made.status = exit_code(ended.status);
        return Ok(made);
    }
    made.notes.splice(0..0, notes(&ended, before));
    if before.is_none() {
        made.status = exit_code(ended.status);
    }
    if let Err(failure) = answer::name(&path, &ended.file) {
        failure.tell();
        return Ok(made);
    }
    // A run whose output is the program's is the only one, and one that failed is no model for others.
    if before.is_some() && !options.simulate && ended.status.success() {
        input.back(false);
        made.again = Some(Again {
            command: command.to_vec(),
            options: options.clone(),
            path: made._temporary.path().join("again.holdup"),
        });
    }
    made.kept = options.recording.is_some().then_some(ended.file);
    made.recording = Some(path);
    Ok(made)
}

/// The program that did the work, with its arguments, where that is another than the one that was started: a script's, or that
/// of `timeout`, `env` and their like. `None` where it cannot be started again.
fn worker(native: &Path) -> Option<Vec<OsString>> {
    let run = super::native_run(native).ok()?;
    let main = main_of(&run)?.process;
    let first = run.processes.iter().min_by_key(|process| process.start)?;
    let command: Vec<OsString> = main.command.iter().map(OsString::from).collect();
    let can_be_started = command.first().is_some_and(|program| find_program(program).is_ok());
    // A fork is the same program: started by itself it would do what the first process does.
    let is_another = main.start > first.start && main.command != first.command;
    (is_another && main.threads.len() > 1 && can_be_started).then_some(command)
}

/// Another run of the same program.
pub(super) struct Again {
    command: Vec<OsString>,
    options: WhyOptions,
    path: PathBuf,
}

/// In another run no thread is ahead of the slowest by more instructions than this, so that whoever takes work from a queue
/// takes as much as the others.
const TOGETHER: u64 = 20_000;

impl Again {
    /// Runs it under emulation, with its threads held together if they were not before, and the other way round. `None` where
    /// that fails: then there was one run less.
    pub(super) fn run(&self) -> Option<PathBuf> {
        let mut emulation = emulation(&self.options).ok()?;
        emulation.skew = if emulation.skew.is_some() { None } else { Some(TOGETHER) };
        let progress = Progress::counting("under emulation, to compare", Arc::clone(&emulation.executed));
        let how = as_recorded(&self.options, self.path.clone(), Output::Silent, Some(emulation));
        let ended = record(&self.command, &how, PRELOAD);
        drop(progress);
        let ended = ended.ok().filter(|ended| ended.status.success())?;
        answer::name(&self.path, &ended.file).ok()?;
        Some(self.path.clone())
    }
}

/// Whether a program needs no emulation, since its compiler made it count. Streams need it all the same.
fn counts_by_itself(command: &[OsString], options: &WhyOptions) -> bool {
    let program = command.first().and_then(|program| find_program(program).ok());
    !options.stream && !options.simulate && program.is_some_and(|program| counts_itself(&program))
}

/// Runs a program that counts by itself: once.
fn of_counting_program(command: &[OsString], options: &WhyOptions) -> Result<Made, Failure> {
    let mut made = nothing_yet()?;
    let path = options.recording.clone().unwrap_or_else(|| made._temporary.path().join("counted.holdup"));
    let output = if options.answers_on_stdout() { Output::Diverted } else { Output::Shared };
    let how = Options { instrumented: true, ..as_recorded(options, path.clone(), output, None) };
    let ended = record(command, &how, PRELOAD)?;
    made.status = exit_code(ended.status);
    made.notes.extend(ended.trouble);
    match answer::name(&path, &ended.file) {
        Ok(()) => made.recording = Some(path),
        Err(failure) => _ = failure.tell(),
    }
    Ok(made)
}

fn nothing_yet() -> Result<Made, Failure> {
    let temporary = answer::passing_directory("holdup-why-").map_err(|error| {
        Failure::machine(format!("no directory for the recordings ({error}); name one with TMPDIR"))
    })?;
    Ok(Made {
        status: ExitCode::SUCCESS,
        recording: None,
        native: None,
        again: None,
        kept: None,
        notes: Vec::new(),
        _temporary: temporary,
    })
}

/// The emulator, as these options want it.
fn emulation(options: &WhyOptions) -> Result<Emulation, Failure> {
    let mut emulation = Emulation::find(PLUGIN)?;
    let needs_all = options.stream || options.simulate;
    emulation.mode = if needs_all { InstructionMode::Stream } else { InstructionMode::Counts };
    options.part.set(&mut emulation);
    Ok(emulation)
}

fn as_recorded(options: &WhyOptions, path: PathBuf, output: Output, emulation: Option<Emulation>) -> Options {
    Options {
        kernel: emulation.is_none(),
        source: !options.no_source,
        size_limit: options.size.bytes(),
        setting: Setting { output, ..Setting::default() },
        emulation,
        ..Options::new(path)
    }
}

/// Whether a native run that ended so is worth an emulated one; says why not.
fn is_to_go_on(status: ExitStatus, options: &WhyOptions) -> bool {
    if status.success() || (options.ignore_status && status.signal().is_none()) {
        return true;
    }
    let help = match status.signal() {
        Some(_) => "",
        None => "; --ignore-status goes on",
    };
    eprintln!("holdup: the program ended with {}, so it was not run under emulation{help}", ending(status));
    false
}

/// How a program ended, in words.
fn ending(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("signal {signal}"),
        None => format!("status {}", status_of(status)),
    }
}

/// What was odd about the emulated run.
fn notes(ended: &Ended, before: Option<ExitStatus>) -> Vec<String> {
    let mut notes: Vec<String> = ended.emulation.iter().chain(&ended.trouble).cloned().collect();
    if let Some(before) = before.filter(|before| *before != ended.status) {
        notes.push(format!(
            "Under emulation the program ended with {}, natively with {}: what was counted may not be what it does natively.",
            ending(ended.status),
            ending(before)
        ));
    }
    notes
}
