//! What ends a command early: one line, and a status.

use std::fmt;
use std::process::ExitCode;

use holdup_collect::{CollectError, KernelError};
use holdup_recording::ReadError;

/// Usage or input.
const INPUT: u8 = 2;
/// Something needed is missing on this machine.
const MACHINE: u8 = 3;

/// Why a command could not be done.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    what: String,
}

impl Failure {
    /// The user asked for something that cannot be.
    pub(crate) fn input(what: impl fmt::Display) -> Failure {
        Failure { status: INPUT, what: what.to_string() }
    }

    /// The machine lacks something.
    pub(crate) fn machine(what: impl fmt::Display) -> Failure {
        Failure { status: MACHINE, what: what.to_string() }
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
            _ => Failure::input(error),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        Failure::input(error)
    }
}
