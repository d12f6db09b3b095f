//! Running a program without recording it, to know what it takes then.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::caller::caller_of_sudo;
use crate::error::CollectError;
use crate::launch::start;
use crate::record::Caught;
use crate::setting::Setting;
use crate::target;

/// How a program ran that was not recorded.
#[derive(Clone, Copy, Debug)]
pub struct PlainRun {
    /// Its status.
    pub status: ExitStatus,
    /// Wall time from just before it was started until its end was known.
    pub wall: Duration,
    /// CPU time of its first process's main thread; `None` where the kernel does not tell it.
    pub cpu: Option<Duration>,
}

/// Runs `command` as [`crate::record()`] would start it, but neither enters nor watches it.
///
/// # Errors
/// [`CollectError`] where the program could not be started; then nothing ran.
pub fn run_plain(command: &[OsString], setting: &Setting) -> Result<PlainRun, CollectError> {
    let program = command.first().cloned().unwrap_or_default();
    let path = target::find(&program)?.path;
    let caught = Caught::from_now_on().map_err(|error| CollectError::Threads { error })?;
    let begin = Instant::now();
    let mut child = start(&path, command, None, caller_of_sudo(), None, None, setting)?;
    let pid = Pid::from_raw(child.id() as i32);
    let _passing_on = caught.pass_on(pid);
    // What it used is still told while nobody has taken note of its end.
    if let Some(pid) = pid {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), ended), Err(Errno::INTR)) {}
    }
    let wall = begin.elapsed();
    let cpu = std::fs::read_to_string(format!("/proc/{}/schedstat", child.id())).ok();
    let cpu = cpu.and_then(|told| told.split_whitespace().next()?.parse().ok()).map(Duration::from_nanos);
    // A wait that failed counts as a program that could not be observed, as for recorded runs.
    let status = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(255 << 8));
    Ok(PlainRun { status, wall, cpu })
}
