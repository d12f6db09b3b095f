//! Ending a process with all that it started.

use std::fs;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long a process may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

/// Asks a child to end, which passes that on to what it runs; then ends it and all its descendants.
pub(super) fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    let Some(pid) = Pid::from_raw(child.id() as i32) else { return child.wait() };
    // Known before it ends: afterwards its children are another's.
    let below = descendants(pid);
    let _ = kill_process(pid, Signal::TERM);
    let begin = Instant::now();
    while begin.elapsed() < GRACE {
        if let Some(status) = child.try_wait()? {
            below.iter().for_each(kill);
            return Ok(status);
        }
        sleep(POLL);
    }
    descendants(pid).iter().chain(&below).for_each(kill);
    let _ = kill_process(pid, Signal::KILL);
    child.wait()
}

/// A process, and when it was started: an id may be given to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: Pid,
    parent: Option<Pid>,
    /// Clock ticks since the machine was started.
    start: u64,
}

fn kill(process: &Process) {
    if look(process.pid).is_some_and(|now| now.start == process.start) {
        let _ = kill_process(process.pid, Signal::KILL);
    }
}

/// All processes below one.
fn descendants(top: Pid) -> Vec<Process> {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    let all: Vec<Process> = pids.filter_map(look).collect();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![top];
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|process| process.parent == Some(parent));
        for child in children {
            found.push(*child);
            parents.push(child.pid);
        }
    }
    found
}

/// A process as `/proc/PID/stat` tells it: behind the name, which may have anything in it, the fields from the third on.
fn look(pid: Pid) -> Option<Process> {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    Some(Process {
        pid,
        parent: Pid::from_raw(fields.get(1)?.parse().ok()?),
        start: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_does_not_want_to_end_is_ended_with_its_children() {
        let script = "trap '' TERM; (trap '' TERM; sleep 1000 & wait; sleep 1000) & sleep 1000 & wait; wait";
        let mut child = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap();
        let top = Pid::from_raw(child.id() as i32).unwrap();
        let begin = Instant::now();
        while descendants(top).len() < 3 && begin.elapsed() < Duration::from_secs(10) {
            sleep(POLL);
        }
        let below = descendants(top);
        assert_eq!(below.len(), 3);
        end(&mut child).unwrap();
        let is_there = |process: &Process| {
            let state = fs::read_to_string(format!("/proc/{}/stat", process.pid.as_raw_nonzero())).ok();
            // What is dead and not yet waited for is as good as gone.
            state.is_some_and(|text| look(process.pid) == Some(*process) && !text.contains(") Z"))
        };
        let begin = Instant::now();
        while below.iter().any(is_there) && begin.elapsed() < Duration::from_secs(10) {
            sleep(POLL);
        }
        assert!(!below.iter().any(is_there));
    }
}
