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

use crate::emulation::Emulated;
use crate::error::CollectError;
use crate::setting::{Output, Setting};

/// Where a program that counts its instructions by itself looks for the file to write to.
const COUNTS_VARIABLE: &str = "HOLDUP_COUNTS";
/// Where Intel's ITT looks for a collector.
const ITT_VARIABLE: &str = "INTEL_LIBITTNOTIFY64";
/// Which of its functions ITT looks for in a collector: without it none.
const ITT_GROUPS: (&str, &str) = ("INTEL_ITTNOTIFY_GROUPS", "structure");

/// The user and group that called sudo, whose the files that are made should be; `None` where nobody did.
pub fn caller_of_sudo() -> Option<(u32, u32)> {
    let id = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let root = rustix::process::geteuid().is_root();
    Some((id("SUDO_UID")?, id("SUDO_GID")?)).filter(|(user, _)| root && *user != 0)
}

/// Does some work with files as the user who called sudo, with that user's rights alone; as it is where nobody did. So a name that
/// this user, or a program of hers, has put in our way leads nowhere where she could not have gone herself.
///
/// # Errors
/// Those of changing to that user, and of the work.
pub fn as_caller<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let Some((user, group)) = caller_of_sudo() else { return work() };
    let changed = move || {
        // Of this thread alone, which ends with it. The real and the saved user stay root: she cannot send it signals.
        rustix::thread::set_thread_groups(&groups_of_caller(Path::new("/etc/group"), group))?;
        rustix::thread::set_thread_res_gid(None, Gid::from_raw(group), None)?;
        rustix::thread::set_thread_res_uid(None, Uid::from_raw(user), None)?;
        work()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("holdup files".into()).spawn_scoped(scope, changed)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

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
        let groups = groups_of_caller(Path::new("/etc/group"), group);
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

/// The groups of the user who called sudo, as the system's list of groups has them.
fn groups_of_caller(list: &Path, own: u32) -> Vec<Gid> {
    let name = std::env::var("SUDO_USER").unwrap_or_default();
    let text = std::fs::read_to_string(list).unwrap_or_default();
    let others = text.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2);
        let (id, members) = (fields.next()?.parse().ok()?, fields.next()?);
        members.split(',').any(|member| member == name).then_some(id)
    });
    std::iter::once(own).chain(others).map(Gid::from_raw).collect()
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
