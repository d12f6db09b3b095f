//! Doing one task: a holdup of its own, in the background, with a time limit.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use holdup_sweep::{
    Host, Measure, Numbers, Outcome, Status, Store, SweepError, Task, TaskKind, content_hash, numbers,
};

use super::tree;
use crate::failure::Failure;
use crate::runs::Interrupt;
use crate::status::status_of;

/// The file of this very holdup, even if another one has taken its name since.
pub(super) const HOLDUP: &str = "/proc/self/exe";

/// How much of a log is looked at for the reason of a failure (bytes from its end).
const LOG_END: u64 = 1 << 16;

/// The longest time between two looks at a task that runs.
const POLL: Duration = Duration::from_millis(40);

/// What tasks need.
pub(super) struct Runner<'a> {
    pub store: &'a Store,
    pub here: &'a Host,
    pub interrupt: &'a Interrupt,
}

/// How a process of a task ended.
enum Ended {
    Status(ExitStatus),
    Timeout,
    Interrupted,
}

/// Why a task gave nothing.
struct Trouble {
    status: Status,
    reason: String,
}

impl Trouble {
    fn failed(reason: impl Into<String>) -> Trouble {
        Trouble { status: Status::Failed, reason: reason.into() }
    }
}

/// What a task gave.
#[derive(Default)]
struct Given {
    recording: Option<String>,
    numbers: Numbers,
}

impl Runner<'_> {
    /// Does a task and keeps its outcome; `None` if holdup was to stop meanwhile. `needed` is the outcome of the task that it needs.
    pub(super) fn run(&self, task: &Task, needed: Option<&Outcome>) -> Result<Option<Outcome>, Failure> {
        let begin = Instant::now();
        let who = worker(self.here);
        let work = self.store.work(&task.key, &who);
        fs::create_dir_all(&work).map_err(|error| not_kept(&work, error))?;
        let given = match &task.kind {
            TaskKind::Record { .. } => self.record(task, &work),
            TaskKind::Answer { .. } => self.answer(task, needed, &work),
        };
        let _ = fs::remove_dir_all(&work);
        let Some(given) = given? else { return Ok(None) };
        let (status, reason, given) = match given {
            Ok(given) => (Status::Done, None, given),
            Err(Trouble { status, reason }) => (status, Some(reason), Given::default()),
        };
        let files = match &task.kind {
            TaskKind::Record { files, .. } => files.clone(),
            TaskKind::Answer { .. } => BTreeMap::new(),
        };
        let recording = given.recording.or_else(|| needed.and_then(|needed| needed.recording.clone()));
        let outcome = Outcome {
            key: task.key.clone(),
            status,
            reason,
            time_limit_ns: Some(task.time_limit_ns),
            spent_ns: begin.elapsed().as_nanos() as u64,
            holdup: env!("CARGO_PKG_VERSION").to_owned(),
            host: self.here.clone(),
            recording,
            numbers: given.numbers,
            files,
        };
        self.store.keep(&outcome, &who)?;
        Ok(Some(outcome))
    }

    fn record(&self, task: &Task, work: &Path) -> Result<Option<Result<Given, Trouble>>, Failure> {
        let TaskKind::Record { emulated, command, environment, directory, stdin, ignore_status, files } =
            &task.kind
        else {
            return Ok(None);
        };
        let made = work.join("made.holdup");
        let mut holdup = Command::new(HOLDUP);
        holdup
            .arg("record")
            .args(emulated.iter().flat_map(|roi| ["--instructions=stream", "--roi", roi.word()]))
            .arg("-o")
            .arg(absolute(&made));
        holdup.arg("--").args(command).envs(environment).current_dir(directory).stdout(Stdio::null());
        if let Some(path) = stdin {
            match File::open(path) {
                Ok(file) => _ = holdup.stdin(file),
                Err(error) => {
                    return Ok(Some(Err(Trouble::failed(format!(
                        "{}: it cannot be read ({error})",
                        path.display()
                    )))));
                }
            }
        }
        let status = match self.ended(task, holdup)? {
            Ended::Status(status) => status,
            Ended::Timeout => return Ok(Some(Err(timeout(task)))),
            Ended::Interrupted => return Ok(None),
        };
        if !made.is_file() {
            return Ok(Some(Err(self.refused(task, status))));
        }
        let was_killed = status_of(status) > 128;
        if !status.success() && (was_killed || !ignore_status) {
            return Ok(Some(Err(Trouble::failed(format!("the program {}", words(status))))));
        }
        for (path, hash) in files {
            if content_hash(Path::new(path)).ok().as_ref() != Some(hash) {
                return Ok(Some(Err(Trouble::failed(format!(
                    "{path}: it changed while it was in use; sweep again with --retry"
                )))));
            }
        }
        let hash = content_hash(&made).map_err(|error| not_kept(&made, error))?;
        self.store.take(&made, &self.store.recording(&task.key))?;
        Ok(Some(Ok(Given { recording: Some(hash), numbers: Numbers::default() })))
    }

    fn answer(
        &self,
        task: &Task,
        needed: Option<&Outcome>,
        work: &Path,
    ) -> Result<Option<Result<Given, Trouble>>, Failure> {
        let TaskKind::Answer { measure, recording, machine, cores, what_if, speedup_stack } = &task.kind
        else {
            return Ok(None);
        };
        let path = match (recording, needed) {
            (Some((path, _)), _) => path.clone(),
            (None, Some(needed)) => self.store.recording(&needed.key),
            (None, None) => return Ok(Some(Err(Trouble::failed("there is no recording")))),
        };
        let mut holdup = Command::new(HOLDUP);
        match measure {
            Measure::Report => _ = holdup.args(["report", "--json"]),
            Measure::Sim => {
                holdup.args(["sim", "--json", "--jobs", "1"]);
                holdup.args(machine.iter().flat_map(|machine| ["--machine", machine]));
                holdup.args(cores.iter().flat_map(|cores| ["--cores".to_owned(), cores.to_string()]));
                holdup.args(what_if.iter().flat_map(|what_if| ["--what-if", what_if]));
                holdup.args(speedup_stack.then_some("--speedup-stack"));
            }
        }
        let said = work.join("said.json");
        let output = File::create(&said).map_err(|error| not_kept(&said, error))?;
        holdup.arg(&path).stdout(output);
        let status = match self.ended(task, holdup)? {
            Ended::Status(status) => status,
            Ended::Timeout => return Ok(Some(Err(timeout(task)))),
            Ended::Interrupted => return Ok(None),
        };
        if !status.success() {
            return Ok(Some(Err(self.refused(task, status))));
        }
        let hash = recording.as_ref().map(|(_, hash)| hash);
        if hash.is_some() && content_hash(&path).ok().as_ref() != hash {
            return Ok(Some(Err(Trouble::failed(format!(
                "{}: it changed while it was in use; sweep again",
                path.display()
            )))));
        }
        let text = fs::read(&said).map_err(|error| not_kept(&said, error))?;
        let numbers = match numbers(&text, *measure, what_if.is_some()) {
            Ok(numbers) => numbers,
            Err(reason) => return Ok(Some(Err(Trouble::failed(reason)))),
        };
        self.store.take(&said, &self.store.answer(&task.key))?;
        Ok(Some(Ok(Given { recording: hash.cloned(), numbers })))
    }

    /// Waits for a holdup, no longer than the task may take. What it and the program say on standard error is the task's log.
    fn ended(&self, task: &Task, mut holdup: Command) -> Result<Ended, Failure> {
        let path = self.store.log(&task.key);
        let mut log = File::create(&path).map_err(|error| not_kept(&path, error))?;
        let line: Vec<String> = holdup.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let _ = writeln!(log, "$ holdup {}", line.join(" "));
        holdup.arg0("holdup").stderr(log);
        if holdup.get_current_dir().is_none()
            || !matches!(&task.kind, TaskKind::Record { stdin: Some(_), .. })
        {
            holdup.stdin(Stdio::null());
        }
        let mut child = match holdup.spawn() {
            Ok(child) => child,
            Err(error) => {
                let directory = holdup.get_current_dir().unwrap_or(Path::new("."));
                let _ = fs::write(
                    &path,
                    format!("holdup: {}: it cannot be started there ({error})\n", directory.display()),
                );
                return Ok(Ended::Status(ExitStatus::from_raw(2 << 8)));
            }
        };
        let begin = Instant::now();
        let limit = Duration::from_nanos(task.time_limit_ns);
        let mut pause = Duration::from_millis(1);
        let waited = |error| Failure::machine(format!("a task cannot be waited for ({error})"));
        loop {
            if let Some(status) = child.try_wait().map_err(waited)? {
                // Who was told to stop may have ended well, and before its time.
                return Ok(if self.interrupt.came().is_some() {
                    Ended::Interrupted
                } else {
                    Ended::Status(status)
                });
            }
            if self.interrupt.came().is_some() {
                tree::end(&mut child).map_err(waited)?;
                return Ok(Ended::Interrupted);
            }
            if begin.elapsed() >= limit {
                tree::end(&mut child).map_err(waited)?;
                return Ok(Ended::Timeout);
            }
            sleep(pause);
            pause = (pause * 2).min(POLL);
        }
    }

    /// Why holdup itself failed: the last that it said.
    fn refused(&self, task: &Task, status: ExitStatus) -> Trouble {
        let end = || -> std::io::Result<String> {
            let mut log = File::open(self.store.log(&task.key))?;
            let from = log.metadata()?.len().saturating_sub(LOG_END);
            log.seek(SeekFrom::Start(from))?;
            let mut text = Vec::new();
            log.read_to_end(&mut text)?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        let said = end().unwrap_or_default();
        let said = said.lines().rev().find_map(|line| line.strip_prefix("holdup: "));
        Trouble::failed(said.map_or_else(|| format!("holdup {}", words(status)), str::to_owned))
    }
}

fn timeout(task: &Task) -> Trouble {
    let seconds = Duration::from_nanos(task.time_limit_ns).as_secs_f64();
    let what = match task.kind {
        TaskKind::Record { .. } => "the recorded run",
        TaskKind::Answer { .. } => "the answer",
    };
    Trouble {
        status: Status::Timeout,
        reason: format!("{what} took longer than its time limit of {seconds} s"),
    }
}

/// How something ended, in words.
fn words(status: ExitStatus) -> String {
    match status_of(status) {
        signal @ 129..=192 => format!("was killed by signal {}", signal - 128),
        other => format!("ended with status {other}"),
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn not_kept(path: &Path, error: std::io::Error) -> Failure {
    SweepError::File { path: path.to_owned(), problem: "a result cannot be kept here", error }.into()
}

/// This machine.
pub(super) fn host() -> Host {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Host {
        name: name.trim().to_owned(),
        processor: model.trim_start_matches([':', ' ', '\t']).to_owned(),
        cpus: holdup_collect::allowed_cores(),
    }
}

/// This process, as the store is told who works on a task.
pub(super) fn worker(here: &Host) -> String {
    format!("{}.{}", here.name, std::process::id())
}

/// Whether a holdup of this name (see [`Runner::run`]) may still work: that of another machine nobody here can tell.
pub(super) fn is_alive(who: &str, here: &Host) -> bool {
    let Some((host, pid)) = who.rsplit_once('.') else { return false };
    host != here.name || Path::new("/proc").join(pid).exists()
}
