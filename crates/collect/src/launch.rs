//! Starting the program.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use holdup_trace::shared::SESSION_VARIABLE;

use crate::error::CollectError;

/// Where Intel's ITT looks for a collector.
const ITT_VARIABLE: &str = "INTEL_LIBITTNOTIFY64";

/// The user and group that called sudo; `None` where nobody did.
pub(crate) fn caller_of_sudo() -> Option<(u32, u32)> {
    let id = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let root = rustix::process::geteuid().is_root();
    Some((id("SUDO_UID")?, id("SUDO_GID")?)).filter(|(user, _)| root && *user != 0)
}

/// What a program needs to be recorded.
pub(crate) struct Injection<'a> {
    pub library: &'a Path,
    pub session: &'a Path,
}

/// Starts the program found at `path`, with the library where `injection` says.
pub(crate) fn start(
    path: &Path,
    command: &[OsString],
    injection: Option<&Injection<'_>>,
    user: Option<(u32, u32)>,
) -> Result<Child, CollectError> {
    let mut child = Command::new(path);
    let (name, arguments) =
        command.split_first().map_or((OsStr::new(""), command), |(name, rest)| (name, rest));
    child.arg0(name).args(arguments);
    if let Some(injection) = injection {
        child.env("LD_PRELOAD", preload(injection.library));
        child.env(SESSION_VARIABLE, injection.session);
        if std::env::var_os(ITT_VARIABLE).is_none() {
            child.env(ITT_VARIABLE, injection.library);
        }
    }
    if let Some((user, group)) = user {
        child.uid(user).gid(group);
    }
    child.spawn().map_err(|error| CollectError::Start { program: PathBuf::from(path), error })
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
