//! Running a program without recording it, to know what it takes then.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::error::CollectError;
use crate::launch::{caller_of_sudo, start};
use crate::record::Caught;
use crate::setting::Setting;
use crate::target;

/// Runs `command` as [`crate::record()`] would start it, but neither enters nor watches it. Gives its status, and its
/// wall time from just before it is started until its end is known.
///
/// # Errors
/// [`CollectError`] where the program could not be started; then nothing ran.
pub fn run_plain(command: &[OsString], setting: &Setting) -> Result<(ExitStatus, Duration), CollectError> {
    let program = command.first().cloned().unwrap_or_default();
    let path = target::find(&program)?.path;
    let caught = Caught::from_now_on();
    let begin = Instant::now();
    let mut child = start(&path, command, None, caller_of_sudo(), None, None, setting)?;
    let _passing_on = caught.pass_on(Pid::from_raw(child.id() as i32));
    // A wait that failed counts as a program that could not be observed, as for recorded runs.
    let status = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(255 << 8));
    Ok((status, begin.elapsed()))
}
