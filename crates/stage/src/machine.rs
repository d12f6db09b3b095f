//! What else is on the machine: processes, installed programs, rights.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::process::{HANGS, run, text};

/// The processes whose parent is `parent`, zombies included.
pub fn children_of(parent: Pid) -> Vec<Pid> {
    let stat = |pid: Pid| fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok();
    all_processes()
        .into_iter()
        .filter(|pid| {
            // The name in parentheses may contain anything; the state and the parent come after it.
            let told = stat(*pid).and_then(|text| {
                text.rsplit_once(')')
                    .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<i32>().ok())
            });
            told == Some(parent.as_raw_pid())
        })
        .collect()
}

/// The only child of a process that is just starting one.
pub fn child_of(parent: Pid) -> Pid {
    eventually("a child process", || children_of(parent).first().copied())
}

pub(crate) fn all_processes() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Processes, zombies not counted, whose command line contains `words`.
pub fn processes_with(words: &str) -> Vec<Pid> {
    let contains = |pid: &Pid| {
        fs::read(format!("/proc/{}/cmdline", pid.as_raw_pid())).is_ok_and(|line| text(&line).contains(words))
    };
    all_processes().into_iter().filter(contains).collect()
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
