//! The status that holdup ends with where a program ran: that program's.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

/// The status that a shell would give.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status_of(status))
}

/// See [`exit_code`].
pub(crate) fn status_of(status: ExitStatus) -> u8 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8
}
