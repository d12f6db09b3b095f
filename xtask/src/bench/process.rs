//! Running a program to its end, with its time and its memory.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::ways::last_line;

/// From one look at a program's memory to the next.
const LOOK: Duration = Duration::from_millis(5);

/// What a program did.
pub(super) struct Ran {
    /// From its start to its end.
    pub(super) seconds: f64,
    /// The most memory that it was seen to have.
    pub(super) peak_mib: f64,
    pub(super) stdout: Vec<u8>,
}

/// Runs a program, which must succeed.
pub(super) fn run_to_end(command: &mut Command) -> Result<Ran> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let begin = Instant::now();
    let mut child = command.spawn().with_context(|| format!("{:?} does not run", command.get_program()))?;
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let (said, complained) =
        (thread::spawn(move || all_of(stdout.as_mut())), thread::spawn(move || all_of(stderr.as_mut())));
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak_mib: f64 = 0.0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        peak_mib = peak_mib.max(peak(&fs::read_to_string(&status_file).unwrap_or_default()).unwrap_or(0.0));
        thread::sleep(LOOK);
    };
    let seconds = begin.elapsed().as_secs_f64();
    let stdout = said.join().unwrap_or_default();
    let stderr = complained.join().unwrap_or_default();
    if !status.success() {
        bail!("{:?}: {status}: {}", command.get_program(), last_line(&stderr));
    }
    Ok(Ran { seconds, peak_mib, stdout })
}

fn all_of(pipe: Option<&mut impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// The line `VmHWM:  1024 kB` of a process's status, in MiB.
fn peak(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_of_memory_is_read_from_the_status() {
        assert_eq!(peak("Name:\tholdup\nVmPeak:\t 9 kB\nVmHWM:\t    2048 kB\n"), Some(2.0));
        assert_eq!(peak("Name:\tholdup\n"), None);
    }

    #[test]
    fn a_program_that_fails_is_told_with_its_last_words() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo first >&2; echo last >&2; exit 3"]);
        let error = run_to_end(&mut command).err().expect("a failure").to_string();
        assert!(error.contains("last") && !error.contains("first"), "{error}");
        let ran = run_to_end(Command::new("sh").args(["-c", "echo figure 5"])).expect("success");
        assert_eq!(ran.stdout, b"figure 5\n");
    }
}
