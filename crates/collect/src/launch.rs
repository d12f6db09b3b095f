//! Starting the program.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use holdup_trace::shared::SESSION_VARIABLE;
use rustix::process::{Gid, Resource, Rlimit, Uid};

use crate::caller::groups_of_caller;
use crate::emulation::Emulated;
use crate::error::CollectError;
use crate::setting::{Output, Setting};

/// Where a program that counts its instructions by itself looks for the file to write to.
const COUNTS_VARIABLE: &str = "HOLDUP_COUNTS";
/// Where Intel's ITT looks for a collector.
const ITT_VARIABLE: &str = "INTEL_LIBITTNOTIFY64";
/// Which of its functions ITT looks for in a collector: without it none.
const ITT_GROUPS: (&str, &str) = ("INTEL_ITTNOTIFY_GROUPS", "structure");

/// What a program needs to be recorded.
pub(crate) struct Injection<'a> {
    pub library: &'a Path,
    pub session: &'a Path,
    /// Where a program that counts its instructions by itself writes them, if it does.
    pub counts: Option<&'a Path>,
}

/// Starts the program found at `path`, or what stands for it under emulation, with the library where `injection` says, in
/// `setting`. `descriptor_limit` is the soft limit of open files that it shall have, where ours was raised.
pub(crate) fn start(
    path: &Path,
    command: &[OsString],
    injection: Option<&Injection<'_>>,
    user: Option<(u32, u32)>,
    descriptor_limit: Option<u64>,
    emulated: Option<&Emulated>,
    setting: &Setting,
) -> Result<Child, CollectError> {
    let preloaded = injection.map(|injection| preload(injection.library));
    let mut child = match emulated {
        Some(emulated) => emulated.command(setting, preloaded),
        None => native(path, command, setting, preloaded),
    };
    let failed = |error| CollectError::Start { program: PathBuf::from(path), error };
    match setting.output {
        Output::Shared => {}
        Output::Diverted => _ = child.stdout(std::io::stderr().as_fd().try_clone_to_owned().map_err(failed)?),
        Output::Dropped => _ = child.stdout(Stdio::null()),
        Output::Silent => _ = child.stdout(Stdio::null()).stderr(Stdio::null()),
    }
    if let Some(path) = &setting.held {
        hold(&mut child, path).map_err(failed)?;
    }
    if let Some(injection) = injection {
        child.env(SESSION_VARIABLE, injection.session);
        child.envs(injection.counts.map(|counts| (COUNTS_VARIABLE, counts)));
        if std::env::var_os(ITT_VARIABLE).is_none() {
            child.env(ITT_VARIABLE, injection.library);
            child.env(ITT_GROUPS.0, ITT_GROUPS.1);
        }
    }
    if let Some((user, group)) = user {
        let groups = groups_of_caller(group);
        let become_caller = move || {
            // The child has one thread, so what is set for the thread is set for the process.
            rustix::thread::set_thread_groups(&groups)?;
            rustix::thread::set_thread_gid(Gid::from_raw(group))?;
            rustix::thread::set_thread_uid(Uid::from_raw(user))?;
            Ok(())
        };
        // SAFETY: between fork and exec only system calls are made, with memory that was allocated before.
        unsafe { child.pre_exec(become_caller) };
    }
    if let Some(limit) = descriptor_limit {
        let lower = move || {
            let limits = rustix::process::getrlimit(Resource::Nofile);
            rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(limit), ..limits })?;
            Ok(())
        };
        // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
        unsafe { child.pre_exec(lower) };
    }
    if let Some(set) = setting.affinity() {
        let confine = move || Ok(rustix::thread::sched_setaffinity(None, &set)?);
        // SAFETY: between fork and exec only a system call is made, with memory that was copied before.
        unsafe { child.pre_exec(confine) };
    }
    child.spawn().map_err(failed)
}

/// Gives a program a file in place of the terminal.
fn hold(child: &mut Command, path: &Path) -> io::Result<()> {
    let file = || OpenOptions::new().append(true).open(path);
    if io::stdin().is_terminal() {
        child.stdin(Stdio::null());
    }
    if io::stdout().is_terminal() {
        child.stdout(file()?);
    }
    if io::stderr().is_terminal() {
        child.stderr(file()?);
    }
    Ok(())
}

fn native(path: &Path, command: &[OsString], setting: &Setting, preloaded: Option<OsString>) -> Command {
    let mut child = Command::new(path);
    let (name, arguments) =
        command.split_first().map_or((OsStr::new(""), command), |(name, rest)| (name, rest));
    child.arg0(name).args(arguments);
    child.envs(setting.variables.iter().map(|(name, value)| (name, value)));
    child.envs(preloaded.map(|list| ("LD_PRELOAD", list)));
    child
}

/// The library, before what `LD_PRELOAD` says already.
fn preload(library: &Path) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}
