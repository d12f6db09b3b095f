//! A program under emulation, once for each number of threads.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use holdup_collect::{Emulation, InstructionMode, Options, Setting, find_program, record};
use holdup_recording::Recording;
use rustix::process::Signal;

use super::{PoliciesOptions, counts, directory};
use crate::answer;
use crate::collectors::{PLUGIN, PRELOAD};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::runs::Input;
use crate::status::exit_code;
use crate::thread_count::{Control, OPENMP};
use crate::threads_used::{self, Seen};

/// What running a program gave.
pub(super) struct Recorded {
    /// The status to end with.
    pub(super) status: ExitCode,
    /// The recordings, from few threads to many.
    pub(super) paths: Vec<PathBuf>,
    /// What the reader of the answer must know.
    pub(super) notes: Vec<String>,
    /// What the first runs show of their numbers of threads.
    seen: Vec<(u32, Seen)>,
    _temporary: Option<tempfile::TempDir>,
}

impl Recorded {
    /// Records the program with as many threads as the options say, one run after the other.
    pub(super) fn of_program(command: &[OsString], options: &PoliciesOptions) -> Result<Recorded, Failure> {
        let control = Control::new(command, &options.variable, std::env::var_os(OPENMP).as_deref());
        let program = find_program(&control.command(1).into_iter().next().unwrap_or_default())?;
        let (folder, temporary) = directory(options.runs.chosen())?;
        let stem = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut recorded = Recorded {
            status: ExitCode::SUCCESS,
            paths: Vec::new(),
            notes: Vec::new(),
            seen: Vec::new(),
            _temporary: temporary,
        };
        let input = Input::now();
        for (index, threads) in counts(options).into_iter().enumerate() {
            input.back(index > 0);
            let path = folder.join(format!("{stem}-{threads}.holdup"));
            if !recorded.one(&control, threads, &path, options)? || recorded.says_the_same(&control) {
                break;
            }
        }
        Ok(recorded)
    }

    /// True if the program goes by a number of threads of its own: then one run says what all would.
    fn says_the_same(&mut self, control: &Control) -> bool {
        let Some(why) = threads_used::ignored(&self.seen, Some(control)).filter(|_| !control.is_in_command())
        else {
            return false;
        };
        self.paths.truncate(1);
        self.notes.insert(0, format!("One run stands for all: {why}"));
        true
    }

    /// One run. False if no other is to follow.
    fn one(
        &mut self,
        control: &Control,
        threads: u32,
        path: &Path,
        options: &PoliciesOptions,
    ) -> Result<bool, Failure> {
        let mut emulation = Emulation::find(PLUGIN)?;
        emulation.mode = InstructionMode::Stream;
        options.part.set(&mut emulation);
        let progress = Progress::counting("under emulation", Arc::clone(&emulation.executed));
        let output = options.outputs.output();
        let how = Options {
            size_limit: options.size.bytes(),
            setting: Setting { output, variables: control.environment(threads), ..Setting::default() },
            ..Options::emulated(path, emulation)
        };
        let ended = match record(&control.command(threads), &how, PRELOAD) {
            Ok(ended) => ended,
            // Once the program has run, its status is what counts.
            Err(error) if !self.paths.is_empty() => {
                Failure::from(error).tell();
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
        drop(progress);
        if !ended.status.success() {
            self.status = exit_code(ended.status);
            if ended.status.signal() == Some(Signal::INT.as_raw()) {
                self.paths.clear();
                return Ok(false);
            }
            if !options.outputs.ignore_status {
                let how = match ended.status.signal() {
                    Some(signal) => format!("signal {signal}"),
                    None => format!("status {}", ended.status.code().unwrap_or_default()),
                };
                eprintln!(
                    "holdup: with {threads} threads the program ended with {how}; --show-output shows what it prints, \
                     --ignore-status uses such runs"
                );
                return Ok(false);
            }
        }
        let notes = ended.emulation.iter().chain(&ended.trouble);
        self.notes.extend(notes.map(|note| format!("With {threads} threads: {note}")));
        match answer::name(path, &ended.file) {
            Ok(()) => {
                // Two say whether they differ. One that cannot be read says so where it is simulated.
                if self.seen.len() < 2
                    && let Ok((recording, warnings)) = Recording::read(&ended.file, path)
                {
                    self.seen.push((threads, Seen::of(&recording.run(&warnings))));
                }
                self.paths.push(path.to_owned());
            }
            Err(failure) => _ = failure.tell(),
        }
        Ok(true)
    }
}
