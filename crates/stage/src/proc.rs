//! What the kernel tells of processes and their threads, in `/proc`.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

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

pub(crate) fn all_processes() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Processes, zombies not counted, whose command line contains `words`.
pub fn processes_with(words: &str) -> Vec<Pid> {
    let contains = |pid: &Pid| {
        fs::read(format!("/proc/{}/cmdline", pid.as_raw_pid()))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(words))
    };
    all_processes().into_iter().filter(contains).collect()
}
