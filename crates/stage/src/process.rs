//! Starting programs and waiting for their end, which comes or is a failure.

use std::fmt;
use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::proc::{all_processes, fact_of, folder_of};

/// A run that takes longer hangs, and is killed: no test runs for more than some seconds, whatever the machine.
pub(crate) const HANGS: Duration = Duration::from_secs(240);

/// How a program ended and what it said.
#[derive(Clone, PartialEq, Eq)]
pub struct Ended {
    /// As a shell gives it: 128 + signal for a program that was killed.
    pub status: i32,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            if text.len() > 2000 {
                format!("{}… ({} bytes)", text.chars().take(2000).collect::<String>(), text.len())
            } else {
                text
            }
        };
        writeln!(f, "status {}", self.status)?;
        writeln!(f, "stdout {}", shown(&self.stdout))?;
        write!(f, "stderr {}", shown(&self.stderr))
    }
}

/// The status as a shell gives it.
pub fn shell_status(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Bytes as text; what is no UTF-8 is replaced.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A program that was started in a process group of its own.
pub struct Running {
    /// What was started, for whoever reads that it failed.
    command: String,
    child: Child,
    stdout: mpsc::Receiver<Vec<u8>>,
    stderr: mpsc::Receiver<Vec<u8>>,
}

/// Starts a program with nothing on its standard input.
pub fn start(command: &mut Command) -> Running {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stdout = listen(child.stdout.take().expect("a pipe"));
    let stderr = listen(child.stderr.take().expect("a pipe"));
    Running { command: format!("{command:?}"), child, stdout, stderr }
}

/// Passes on what is written to a pipe, piece by piece.
fn listen(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            if send.send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    receive
}

impl Running {
    /// Its process.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until a line is on the standard output and gives all that came so far.
    pub fn first_line(&mut self) -> String {
        let mut said = Vec::new();
        while !said.ends_with(b"\n") {
            match self.stdout.recv_timeout(HANGS) {
                Ok(more) => said.extend(more),
                Err(error) => {
                    self.kill_group();
                    panic!(
                        "no line came ({error}), only {:?}; stderr {:?}",
                        text(&said),
                        text(&drain(&self.stderr))
                    );
                }
            }
        }
        text(&said)
    }

    /// As [`Running::first_line`], of the standard error.
    pub fn first_error_line(&mut self) -> String {
        let mut said = Vec::new();
        while !said.contains(&b'\n') {
            match self.stderr.recv_timeout(HANGS) {
                Ok(more) => said.extend(more),
                Err(error) => panic!("no line came ({error}), only {:?}", text(&said)),
            }
        }
        text(&said)
    }

    fn kill_group(&self) {
        let _ = kill_process_group(self.pid(), Signal::KILL);
    }

    /// Waits for its end, and for the end of everybody who holds its pipes.
    pub fn end(mut self) -> Ended {
        let status = self.wait();
        Ended { status, stdout: drain(&self.stdout), stderr: drain(&self.stderr) }
    }

    /// Waits for the end of the program alone.
    pub fn wait(&mut self) -> i32 {
        let deadline = Instant::now() + HANGS;
        loop {
            match self.child.try_wait().expect("wait for a child") {
                Some(status) => return shell_status(status),
                None if Instant::now() > deadline => {
                    let threads = threads_of_group(self.pid());
                    self.kill_group();
                    panic!(
                        "{} hangs; so far {:?} {:?}; its processes and their threads:\n{threads}",
                        self.command,
                        text(&drain(&self.stdout)),
                        text(&drain(&self.stderr))
                    );
                }
                None => thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

/// What the threads of a process group do, a line each: where they hang, for who reads of it.
fn threads_of_group(group: Pid) -> String {
    let of = |pid: Pid| {
        let folder = folder_of(pid);
        let line = fs::read_to_string(folder.join("cmdline")).unwrap_or_default().replace('\0', " ");
        let tasks = fs::read_dir(folder.join("task")).into_iter().flatten().flatten();
        let threads = tasks.map(|task| {
            let read =
                |name| fs::read_to_string(task.path().join(name)).unwrap_or_default().trim().to_owned();
            let words = [read("comm"), fact_of(&task.path(), 0), read("wchan"), read("syscall")];
            format!("    {}\n", words.join(" "))
        });
        format!("  {} {line}\n{}", pid.as_raw_pid(), threads.collect::<String>())
    };
    let group = group.as_raw_pid().to_string();
    let is_of_group = |pid: &Pid| fact_of(&folder_of(*pid), 2) == group;
    all_processes().into_iter().filter(is_of_group).map(of).collect()
}

impl Drop for Running {
    /// Nothing runs on, beside the tests that follow, after a test that failed.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill_group();
            let _ = self.child.wait();
        }
    }
}

fn drain(pipe: &mpsc::Receiver<Vec<u8>>) -> Vec<u8> {
    let mut all = Vec::new();
    let deadline = Instant::now() + HANGS;
    while let Ok(more) = pipe.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        all.extend(more);
    }
    all
}

/// Runs a program to its end.
pub fn run(command: &mut Command) -> Ended {
    start(command).end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_told_with_where() {
        let running = start(Command::new("sh").args(["-c", "sleep 100 & wait"]));
        crate::machine::eventually("a shell that waits, and a child that sleeps", || {
            let told = threads_of_group(running.pid());
            let both =
                told.contains("sleep 100") && told.contains("    sh S ") && told.contains("    sleep S ");
            both.then_some(())
        });
    }
}
