//! What ends a command early: one line, and a status.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holdup_collect::{CollectError, KernelError};
use holdup_recording::ReadError;

use crate::meant::recordings_near;

/// Usage or input.
pub(crate) const INPUT: u8 = 2;
/// Something needed is missing on this machine.
const MACHINE: u8 = 3;

/// Why a command could not be done.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    what: String,
    /// What was to be run, where it is no program.
    program: Option<PathBuf>,
}

impl Failure {
    /// The user asked for something that cannot be.
    pub(crate) fn input(what: impl fmt::Display) -> Failure {
        Failure { status: INPUT, what: what.to_string(), program: None }
    }

    /// The machine lacks something.
    pub(crate) fn machine(what: impl fmt::Display) -> Failure {
        Failure { status: MACHINE, what: what.to_string(), program: None }
    }

    /// Says what was probably meant, where it is no program and `instead_of` knows.
    pub(crate) fn or_meant(mut self, instead_of: impl FnOnce(&Path) -> Option<String>) -> Failure {
        if let Some(program) = &self.program
            && let Some(instead) = instead_of(program)
        {
            self.what = format!("{}: {instead}", program.display());
        }
        self
    }

    /// What is wrong.
    pub(crate) fn words(&self) -> &str {
        &self.what
    }

    /// Prints the line and gives the status.
    pub(crate) fn tell(&self) -> ExitCode {
        eprintln!("holdup: {}", holdup_report::escaped(&without_numbers(&self.what)));
        ExitCode::from(self.status)
    }
}

/// What the system says, without the number that says the same.
fn without_numbers(what: &str) -> String {
    let mut parts = what.split(" (os error ");
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        words += rest.strip_prefix(')').unwrap_or(rest);
    }
    words
}

impl From<CollectError> for Failure {
    fn from(error: CollectError) -> Failure {
        match error {
            CollectError::Session { .. } | CollectError::Library { .. } | CollectError::NoEmulator { .. } => {
                Failure::machine(error)
            }
            CollectError::Kernel { error: KernelError::NoProcess { .. } | KernelError::NotYours { .. } } => {
                Failure::input(error)
            }
            CollectError::Kernel { .. } => Failure::machine(error),
            CollectError::NotFound { ref program } | CollectError::NotExecutable { ref program, .. } => {
                let program = Some(program.clone());
                Failure { program, ..of_file(&error) }
            }
            CollectError::Interpreter { .. } => of_file(&error),
            _ => Failure::input(error),
        }
    }
}

/// With the file's name where the way out has a place for it.
fn of_file(error: &CollectError) -> Failure {
    let said = error.to_string();
    let name = said.split(": ").next().unwrap_or_default();
    Failure::input(said.replace(" FILE", &format!(" {name}")))
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        match &error {
            ReadError::Unreadable { path, error: why }
                if path.is_dir() || why.kind() == ErrorKind::NotFound =>
            {
                Failure::input(format!("{error}{}", recordings_near(path)))
            }
            _ => Failure::input(error),
        }
    }
}
