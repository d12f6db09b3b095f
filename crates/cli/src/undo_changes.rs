//! The hidden command `holdup undo-changes`, which holdup starts by itself before it changes the machine.

use std::process::ExitCode;

use crate::failure::Failure;

/// Its name.
pub(crate) const UNDO_CHANGES: &str = "undo-changes";

/// Undoes what another process has changed on the machine, once that is gone.
pub(crate) fn undo_changes() -> Result<ExitCode, Failure> {
    match holdup_pirate::serve(std::io::stdin().lock()).is_empty() {
        true => Ok(ExitCode::SUCCESS),
        // Nobody is left to be told.
        false => Ok(ExitCode::FAILURE),
    }
}
