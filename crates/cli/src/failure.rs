//! What ends a command early: one line, and a status.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holdup_collect::{CollectError, KernelError};
use holdup_recording::ReadError;

/// Usage or input.
pub(crate) const INPUT: u8 = 2;
/// Something needed is missing on this machine.
const MACHINE: u8 = 3;

/// Why a command could not be done.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    what: String,
    /// What was to be run, where there is no such program.
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

    /// Says what was probably meant, where there is no such program and `instead_of` knows.
    pub(crate) fn or_meant(mut self, instead_of: impl FnOnce(&Path) -> Option<String>) -> Failure {
        if let Some(program) = &self.program
            && let Some(instead) = instead_of(program)
        {
            self.what = format!("{}: no such program; {instead}", program.display());
        }
        self
    }

    /// What is wrong.
    pub(crate) fn words(&self) -> &str {
        &self.what
    }

    /// Prints the line and gives the status.
    pub(crate) fn tell(&self) -> ExitCode {
        eprintln!("holdup: {}", holdup_report::escaped(&self.what));
        ExitCode::from(self.status)
    }
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
            CollectError::NotFound { ref program } => {
                let program = Some(program.clone());
                Failure { program, ..Failure::input(error) }
            }
            _ => Failure::input(error),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        Failure::input(error)
    }
}
