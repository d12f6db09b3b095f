//! A server while it runs: started in some way, watched in /proc, ended.

use std::fs;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long a server may take to answer, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// A server that answers. Ended with [`end`](Serving::end); dropped before, what is left of it is killed.
pub(super) struct Serving {
    child: Child,
    name: &'static str,
    signal: &'static str,
}

impl Serving {
    /// Starts it, and waits until it answers at the port.
    pub(super) fn start(
        words: &[String],
        name: &'static str,
        signal: &'static str,
        port: u16,
    ) -> Result<Serving> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("{} does not run", words[0]))?;
        let mut serving = Serving { child, name, signal };
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = serving.child.try_wait()? {
                bail!("ended before it answered ({status}): {}", words.join(" "));
            }
            if begin.elapsed() > PATIENCE {
                bail!("does not answer: {}", words.join(" "));
            }
            sleep(LOOK);
        }
        Ok(serving)
    }

    /// CPU seconds of its processes so far, of those that ended too.
    pub(super) fn cpu(&self) -> Result<f64> {
        let processes = self.processes();
        if processes.is_empty() {
            bail!("{} is gone", self.name);
        }
        let ticks: u64 = processes.iter().map(|process| process.ticks).sum();
        Ok(ticks as f64 / TICKS_PER_SECOND)
    }

    /// Ends it, and waits until what it was started with has ended too.
    pub(super) fn end(mut self) -> Result<()> {
        let first = self.processes().first().map(|process| process.id).context("it is gone")?;
        Command::new("kill").args([self.signal, &first.to_string()]).status().context("kill does not run")?;
        let begin = Instant::now();
        while self.child.try_wait()?.is_none() {
            if begin.elapsed() > PATIENCE {
                bail!("{} does not end", self.name);
            }
            sleep(LOOK);
        }
        Ok(())
    }

    /// The server's processes among those that were started, the first one first.
    fn processes(&self) -> Vec<Process> {
        let all: Vec<Process> = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let id = entry.file_name().to_str()?.parse().ok()?;
                Process::read(id, &fs::read_to_string(entry.path().join("stat")).ok()?)
            })
            .collect();
        let mut family = vec![self.child.id()];
        // Parents mostly have the lower number; where numbers began anew, another pass finds the rest.
        loop {
            let more: Vec<u32> = all
                .iter()
                .filter(|process| family.contains(&process.parent) && !family.contains(&process.id))
                .map(|process| process.id)
                .collect();
            if more.is_empty() {
                break;
            }
            family.extend(more);
        }
        let mut found: Vec<Process> = all
            .into_iter()
            .filter(|process| process.name == self.name && family.contains(&process.id))
            .collect();
        found.sort_by_key(|process| family.iter().position(|id| *id == process.id));
        found
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        for process in self.processes() {
            let _ = Command::new("kill").args(["-KILL", &process.id.to_string()]).status();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Of the times in /proc/PID/stat; the kernel's interface has had this one for all of x86.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Debug, PartialEq)]
struct Process {
    id: u32,
    name: String,
    parent: u32,
    /// Of itself and of its children that ended.
    ticks: u64,
}

impl Process {
    /// The text of /proc/PID/stat.
    fn read(id: u32, text: &str) -> Option<Process> {
        let (front, rest) = text.rsplit_once(") ")?;
        let name = front.split_once(" (")?.1.to_owned();
        let fields: Vec<&str> = rest.split(' ').collect();
        let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
        Some(Process { id, name, parent: fields.get(1)?.parse().ok()?, ticks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_brackets_do_not_shift_the_fields() {
        let text = "7 (a (b) c) S 3 7 7 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 5";
        let process = Process { id: 7, name: "a (b) c".to_owned(), parent: 3, ticks: 100 };
        assert_eq!(Process::read(7, text), Some(process));
        assert_eq!(Process::read(7, "7 (a"), None);
    }

    #[test]
    fn a_server_that_ends_at_once_is_told() {
        let error = Serving::start(&["true".to_owned()], "true", "-TERM", 1).err().expect("no server");
        assert!(error.to_string().contains("ended before it answered"), "{error}");
    }
}
