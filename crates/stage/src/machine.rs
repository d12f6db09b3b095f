//! What else is on the machine: installed programs, rights; and how what comes late is waited for.

use std::ffi::OsStr;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::proc::children_of;
use crate::process::{HANGS, run};

/// The only child of a process that is just starting one.
pub fn child_of(parent: Pid) -> Pid {
    eventually("a child process", || children_of(parent).first().copied())
}

/// Waits for something that must come in the end.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + HANGS;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not come");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Says why a test, or a part of it, does not take place here.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// True if this process may do everything.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// True if a program can be found in PATH; else says that its test is skipped.
pub fn is_installed(program: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|list| std::env::split_paths(&list).any(|directory| directory.join(program).is_file()));
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// True where this process may make mount namespaces and mount in them; else says so.
pub fn can_mount() -> bool {
    let may = is_root()
        && is_installed("unshare")
        && run(Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])).status == 0;
    if !may {
        skip("a small file system cannot be mounted here (needs root and unshare)");
    }
    may
}

/// A command run by `sh` in a mount namespace of its own. `$0`, `$1`… are `arguments`.
pub fn in_own_mounts(script: &str, arguments: &[&OsStr]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).args(arguments);
    command
}
