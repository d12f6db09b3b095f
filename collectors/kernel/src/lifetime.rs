//! Whether a process has ended.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open};

use crate::ids::{Pid, Tid};
use crate::threads::{Processes, unexpected};

/// A process whose end can be asked for. Another that gets the same number later is not taken for it.
#[derive(Debug)]
pub struct Lifetime(Identity);

#[derive(Debug)]
enum Identity {
    /// A descriptor of the process, since Linux 5.3.
    Descriptor(OwnedFd),
    /// Where there is none: when the process started, as `/proc` has it. That is in ticks of 10 ms, in which the numbers of
    /// processes do not come round.
    Start(Pid, u64),
}

impl Lifetime {
    /// The process with that number.
    ///
    /// # Errors
    /// There is none, or it is the number of one of a process's other threads.
    pub fn of(pid: Pid) -> io::Result<Lifetime> {
        let raw = i32::try_from(pid.0).ok().and_then(rustix::process::Pid::from_raw).ok_or(Errno::SRCH)?;
        let identity = match pidfd_open(raw, PidfdFlags::empty()) {
            Ok(descriptor) => Identity::Descriptor(descriptor),
            Err(error @ (Errno::SRCH | Errno::INVAL)) => return Err(error.into()),
            // An older kernel, a filter of system calls, or no descriptor left.
            Err(_) => Identity::by_start(&Processes::here(), pid)?,
        };
        Ok(Lifetime(identity))
    }

    /// True if it has, whether or not its parent has asked how.
    pub fn has_ended(&self) -> bool {
        self.0.has_ended(&Processes::here())
    }
}

impl Identity {
    fn by_start(processes: &Processes, pid: Pid) -> io::Result<Identity> {
        if processes.family(Tid(pid.0))?.process != pid {
            return Err(Errno::INVAL.into());
        }
        Ok(Identity::Start(pid, processes.start(pid)?.ok_or(Errno::SRCH)?))
    }

    fn has_ended(&self, processes: &Processes) -> bool {
        match self {
            Identity::Descriptor(process) => {
                let mut ended = [PollFd::new(process, PollFlags::IN)];
                poll(&mut ended, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
            }
            Identity::Start(pid, start) => !processes.start(*pid).is_ok_and(|now| now == Some(*start)),
        }
    }
}

impl Processes {
    /// When a process started, in ticks since the system did; `None` if it has ended and only its parent has not asked how.
    fn start(&self, pid: Pid) -> io::Result<Option<u64>> {
        let stat = std::fs::read(self.thread_file(pid, Tid(pid.0), "stat"))?;
        start(&stat).ok_or_else(|| unexpected("stat"))
    }
}

/// Of `stat` (proc(5)): the state, how many threads there are, and the start are its fields 3, 20 and 22, and the second, the
/// name in parentheses, may have anything in it. A process whose first thread has ended goes on with the others.
fn start(stat: &[u8]) -> Option<Option<u64>> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields: Vec<&str> = str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let is_over = matches!(*fields.first()?, "Z" | "X") && number(17)? <= 1;
    Some((!is_over).then_some(number(19)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    /// A process as `/proc` has it.
    fn write(root: &std::path::Path, state: char, threads: u32, start: u64) {
        let task = root.join("7/task/7");
        fs::create_dir_all(&task).unwrap();
        fs::write(root.join("7/status"), "Name:\ta) Z\nTgid:\t7\nPPid:\t1\n").unwrap();
        let (before, after) = ("1 7 7 0 -1 4194560 100 0 0 0 1 2 0 0 20 0", "0 2605056 232");
        let stat = format!("7 (a) Z (b) {state} {before} {threads} 0 {start} {after}\n");
        fs::write(task.join("stat"), stat).unwrap();
    }

    #[test]
    fn a_process_is_known_by_its_start_and_ends_with_its_last_thread() {
        let root = tempfile::tempdir().unwrap();
        let processes = Processes::below(root.path());
        assert!(Identity::by_start(&processes, Pid(7)).is_err(), "there is none");
        write(root.path(), 'S', 3, 1234);
        let process = Identity::by_start(&processes, Pid(7)).unwrap();
        assert!(!process.has_ended(&processes));
        write(root.path(), 'Z', 2, 1234);
        assert!(!process.has_ended(&processes), "its first thread has ended, another has not");
        write(root.path(), 'S', 3, 5678);
        assert!(process.has_ended(&processes), "another process has its number");
        write(root.path(), 'Z', 1, 1234);
        assert!(process.has_ended(&processes), "its parent has not asked yet");
        assert!(Identity::by_start(&processes, Pid(7)).is_err());
        fs::remove_dir_all(root.path().join("7")).unwrap();
        assert!(process.has_ended(&processes));
    }

    #[test]
    fn numbers_of_other_threads_are_no_processes() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), 'S', 3, 1234);
        fs::write(root.path().join("7/status"), "Tgid:\t6\nPPid:\t1\n").unwrap();
        assert!(Identity::by_start(&Processes::below(root.path()), Pid(7)).is_err());
    }

    #[test]
    fn both_ways_see_a_child_end() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let pid = Pid(child.id());
        let processes = Processes::here();
        let ways = [Lifetime::of(pid).unwrap().0, Identity::by_start(&processes, pid).unwrap()];
        assert!(ways.iter().all(|way| !way.has_ended(&processes)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(ways.iter().all(|way| way.has_ended(&processes)));
        assert!(Lifetime::of(pid).is_err());
    }
}
