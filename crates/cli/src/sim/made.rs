//! Running a program under emulation, with all of its instructions recorded.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use holdup_collect::{Emulation, InstructionMode, Options, Output, Setting, record};
use rustix::process::Signal;

use super::SimOptions;
use crate::answer;
use crate::collectors::{PLUGIN, PRELOAD};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::status::exit_code;

/// What running a program gave.
pub(super) struct Made {
    /// The status to end with.
    pub(super) status: ExitCode,
    /// The recording; `None` where there was none, which was told.
    pub(super) recording: Option<PathBuf>,
    /// What the reader of the answer must know.
    pub(super) notes: Vec<String>,
    _temporary: tempfile::TempDir,
}

/// Records the program of these options.
pub(super) fn of_program(command: &[OsString], options: &SimOptions) -> Result<Made, Failure> {
    let mut emulation = Emulation::find(PLUGIN)?;
    emulation.mode = InstructionMode::Stream;
    options.part.set(&mut emulation);
    let temporary = answer::passing_directory("holdup-sim-").map_err(|error| {
        Failure::machine(format!("no directory for the recording ({error}); name one with TMPDIR"))
    })?;
    let path = options.recording.clone().unwrap_or_else(|| temporary.path().join("emulated.holdup"));
    let output = if options.answers_on_stdout() { Output::Diverted } else { Output::Shared };
    let progress = Progress::counting("under emulation", Arc::clone(&emulation.executed));
    let how = Options {
        source: !options.no_source,
        size_limit: options.size.bytes(),
        setting: Setting { output, ..Setting::default() },
        ..Options::emulated(&path, emulation)
    };
    let ended = record(command, &how, PRELOAD)?;
    drop(progress);
    let notes = ended.emulation.iter().chain(&ended.trouble).cloned().collect();
    let mut made = Made { status: exit_code(ended.status), recording: None, notes, _temporary: temporary };
    if ended.status.signal() == Some(Signal::INT.as_raw()) {
        return Ok(made);
    }
    match answer::name(&path, &ended.file) {
        Ok(()) => made.recording = Some(path),
        Err(failure) => _ = failure.tell(),
    }
    Ok(made)
}
