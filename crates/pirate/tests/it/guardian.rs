//! The guardian undoes what a killed process had changed.
//!
//! Owner and guardian are this test program again, with a word in the environment that says what to be.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holdup_pirate::{Guardian, Undo, serve};

const ROLE: &str = "HOLDUP_PIRATE_TEST_ROLE";

/// This program, which runs only the test `role` in it.
fn again(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("guardian::{role}"), "--nocapture"]).env(ROLE, role);
    command
}

fn is(role: &str) -> bool {
    std::env::var(ROLE).is_ok_and(|named| named == role)
}

#[test]
fn as_guardian() {
    if is("as_guardian") {
        assert!(serve(std::io::stdin().lock()).is_empty());
    }
}

#[test]
fn as_owner() {
    if !is("as_owner") {
        return;
    }
    let directory = PathBuf::from(std::env::var("DIRECTORY").unwrap());
    let guardian = Guardian::start(again("as_guardian")).unwrap();
    let change = |name: &str, content: &str| {
        let path = directory.join(name);
        let change = guardian.before(Undo::of_write(&path).unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        change
    };
    let kept = change("sys/enabled", "always\n");
    change("sys/restored", "changed\n").undo().unwrap();
    let group = directory.join("resctrl/holdup");
    let made = guardian.before(Undo::Remove { path: group.clone() }).unwrap();
    std::fs::create_dir(&group).unwrap();
    let mut child = Command::new("sleep").arg("30").spawn().unwrap();
    let confined = guardian.before(Undo::of_affinity(child.id()).unwrap()).unwrap();
    let mut one = rustix::thread::CpuSet::new();
    one.set(holdup_pirate::allowed_cpus()[0] as usize);
    rustix::thread::sched_setaffinity(rustix::process::Pid::from_raw(child.id() as i32), &one).unwrap();
    println!("\nchanged {}", child.id());
    // Until the kill; or, when the test that asked for this is gone, until its end of the pipe is.
    let _ = std::io::stdin().lock().read_line(&mut String::new());
    child.kill().unwrap();
    child.wait().unwrap();
    drop((kept, made, confined));
}

fn tree() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in [("sys/enabled", "madvise\n"), ("sys/restored", "before\n")] {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    std::fs::create_dir(directory.path().join("resctrl")).unwrap();
    directory
}

/// An owner that has made its changes, what it prints, and the process that it confined.
fn owner(directory: &Path) -> (Child, impl Iterator<Item = String>, u32) {
    let mut owner = again("as_owner")
        .env("DIRECTORY", directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map_while(Result::ok);
    let confined = lines.find_map(|line| line.strip_prefix("changed ")?.parse().ok());
    (owner, lines, confined.expect("the owner says when it has changed everything"))
}

fn is_as_before(directory: &Path, confined: u32) -> bool {
    let content = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    content("sys/enabled") == "madvise\n"
        && content("sys/restored") == "before\n"
        && !directory.join("resctrl/holdup").exists()
        && cpus_of(confined) == Some(holdup_pirate::allowed_cpus().len() as u32)
}

fn cpus_of(process: u32) -> Option<u32> {
    let process = rustix::process::Pid::from_raw(process as i32);
    rustix::thread::sched_getaffinity(process).ok().map(|cpus| cpus.count())
}

#[test]
fn everything_is_as_before_after_a_kill() {
    let directory = tree();
    let (mut owner, _lines, confined) = owner(directory.path());
    assert!(!is_as_before(directory.path(), confined));
    assert_eq!(cpus_of(confined), Some(1));
    owner.kill().unwrap();
    owner.wait().unwrap();
    // The guardian is not ours to wait for.
    let done = eventually(|| is_as_before(directory.path(), confined).then_some(()));
    kill(confined);
    assert!(done.is_some());
}

/// The guardian of this owner.
fn guardian_of(owner: u32) -> Option<u32> {
    let threads = std::fs::read_dir(format!("/proc/{owner}/task")).ok()?.flatten();
    let children = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<u32> = children
        .flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect();
    let is_guardian = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("as_guardian"))
    };
    children.into_iter().find(is_guardian)
}

fn kill(process: u32) {
    let process = rustix::process::Pid::from_raw(process as i32).unwrap();
    let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
}

/// What comes within a time in which everything comes.
fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        let found = look();
        if found.is_some() || begin.elapsed() > Duration::from_secs(60) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn everything_is_as_before_when_the_guardian_was_killed_first() {
    let directory = tree();
    let (mut owner, _lines, confined) = owner(directory.path());
    for _ in 0..3 {
        let first = eventually(|| guardian_of(owner.id())).expect("a guardian");
        kill(first);
        let next = eventually(|| guardian_of(owner.id()).filter(|&next| next != first));
        assert!(next.is_some(), "nobody takes the place of a guardian that is gone");
    }
    assert!(!is_as_before(directory.path(), confined));
    owner.kill().unwrap();
    owner.wait().unwrap();
    let done = eventually(|| is_as_before(directory.path(), confined).then_some(()));
    kill(confined);
    assert!(done.is_some());
}

#[test]
fn everything_is_as_before_when_the_owner_ends_by_itself() {
    let directory = tree();
    let (mut owner, lines, _) = owner(directory.path());
    drop(owner.stdin.take());
    let printed: Vec<String> = lines.collect();
    assert!(owner.wait().unwrap().success(), "{printed:?}");
    let content = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    assert_eq!((content("sys/enabled"), content("sys/restored")), ("madvise\n".into(), "before\n".into()));
    assert!(!directory.path().join("resctrl/holdup").exists());
}
