//! What else is on the machine: processes, installed programs, rights.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::process::{HANGS, run, text};

/// What stands behind the name, which is in parentheses and may contain anything, in the `stat` of a process or thread whose folder
/// this is: 0 is the state, 1 the parent, 2 the group, 16 the nice value. Empty where it is gone.
pub(crate) fn fact_of(folder: &Path, number: usize) -> String {
    let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
    let fact = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(number));
    fact.unwrap_or_default().to_owned()
}

/// Where the kernel tells of a process.
pub(crate) fn folder_of(pid: Pid) -> PathBuf {
    PathBuf::from(format!("/proc/{}", pid.as_raw_pid()))
}

/// The processes whose parent is `parent`, zombies included.
pub fn children_of(parent: Pid) -> Vec<Pid> {
    let parent = parent.as_raw_pid().to_string();
    all_processes().into_iter().filter(|pid| fact_of(&folder_of(*pid), 1) == parent).collect()
}

/// The nice value and the list of CPUs of each thread.
pub fn settings_of(pid: Pid) -> Vec<(i32, String)> {
    let tasks = fs::read_dir(folder_of(pid).join("task")).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| {
        let nice = fact_of(&task.path(), 16).parse().ok()?;
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some((nice, cpus.trim().to_owned()))
    };
    tasks.filter_map(of).collect()
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
