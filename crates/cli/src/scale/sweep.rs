//! Doing the runs: which comes next, and what becomes of it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use holdup_collect::{CollectError, Options, Output, PlainRun, Setting, record, run_plain};
use holdup_model::Nanos;
use holdup_recording::Recording;
use holdup_sweep::Counts;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::affinity::{Affinity, Topology};
use super::manifest::{Done, Failed, Manifest, NAME, Subject};
use super::stop::Verdict;
use crate::answer;
use crate::collectors::PRELOAD;
use crate::failure::Failure;
use crate::options::RecordingOptions;
use crate::runs::{Input, Interrupt, finish};
use crate::status::status_of;
use crate::thread_count::Control;

/// Where a sweep keeps its recordings, for this call alone.
pub(crate) struct Place {
    /// The directory.
    pub path: PathBuf,
    /// True if it was asked for, and is to stay.
    pub stays: bool,
    _temporary: Option<tempfile::TempDir>,
    _lock: Option<File>,
}

impl Place {
    /// The directory that was asked for, or one that is removed in the end.
    pub(crate) fn of(asked: Option<&Path>) -> Result<Place, Failure> {
        let Some(path) = asked else {
            let temporary = answer::passing_directory("holdup-scale-").map_err(|error| {
                Failure::machine(format!(
                    "no directory for the recordings ({error}); give one with --runs DIR"
                ))
            })?;
            let path = temporary.path().to_owned();
            return Ok(Place { path, stays: false, _temporary: Some(temporary), _lock: None });
        };
        let refused = |error: std::io::Error| {
            Failure::input(format!(
                "{}: recordings cannot be kept here ({error}); give --runs another directory",
                path.display()
            ))
        };
        let folder = answer::private_directory(path).map_err(refused)?;
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(Failure::input(format!(
                "{}: another holdup is at work in this directory; wait for it, or give --runs another one",
                path.display()
            ))),
            // Not every file system has locks.
            _ => Ok(Place { path: path.to_owned(), stays: true, _temporary: None, _lock: Some(folder) }),
        }
    }

    /// What is known of the runs in it so far. Recordings that are damaged or were not finished do not count.
    pub(crate) fn manifest(&self, subject: Subject) -> Result<Manifest, Failure> {
        let Some(manifest) = Manifest::read(&self.path)? else {
            let mut others = fs::read_dir(&self.path).into_iter().flatten().flatten();
            return match others.find(|entry| !entry.file_name().to_string_lossy().starts_with(NAME)) {
                None => Ok(Manifest::new(subject)),
                Some(other) => Err(Failure::input(format!(
                    "{}: it holds no runs of holdup scale, but other files ({}); give --runs a new directory",
                    self.path.display(),
                    other.file_name().display()
                ))),
            };
        };
        let mut manifest = manifest.go_on(&self.path, &subject)?;
        manifest
            .runs
            .retain(|done| done.recording.as_ref().is_none_or(|name| is_whole(&self.path.join(name))));
        // What failed is tried again.
        manifest.failures.clear();
        Ok(manifest)
    }
}

fn is_whole(path: &Path) -> bool {
    Recording::open(path).is_ok_and(|(recording, warnings)| recording.end.is_some() && warnings.is_empty())
}

/// What is to be run, and how.
pub(crate) struct Plan<'a> {
    /// The numbers of threads.
    pub counts: &'a Counts,
    /// How the program is told.
    pub control: &'a Control,
    /// Runs without recording, for each number of threads.
    pub plain: usize,
    /// Runs that do not count, before the others.
    pub warm_up: usize,
    /// How CPUs are chosen.
    pub affinity: Affinity,
    /// Where there are any.
    pub topology: Topology,
    /// What is recorded.
    pub recording: &'a RecordingOptions,
    /// Where the program's output goes.
    pub output: Output,
    /// Statuses other than 0 are no failures.
    pub ignore_status: bool,
}

/// How a sweep ended.
#[derive(Debug)]
pub(crate) enum Finish {
    /// All runs that were to be done are done, or failed.
    Done,
    /// By this signal.
    Interrupted(u8),
    /// Something kept the runs from going on.
    Trouble(Failure),
}

/// Does the runs that are still to be done, and notes each in `manifest`, which is written to `directory`.
///
/// The numbers of threads take turns (1, 2, 4, 1, 2, 4…), so that a machine that slows down slows all of them.
pub(crate) fn run(plan: &Plan<'_>, manifest: &mut Manifest, directory: &Path) -> Result<Finish, Failure> {
    let mut sweep = Sweep {
        plan,
        manifest,
        directory,
        input: Input::now(),
        interrupt: Interrupt::listen(),
        started: 0,
        has_run: false,
    };
    sweep.manifest.write(directory)?;
    match sweep.all() {
        Ok(()) => Ok(Finish::Done),
        Err(Early::Finish(finish)) => Ok(finish),
        // Once a program has run, its status is what counts.
        Err(Early::Failure(failure)) if sweep.has_run => Ok(Finish::Trouble(failure)),
        Err(Early::Failure(failure)) => Err(failure),
    }
}

struct Sweep<'a, 'b> {
    plan: &'a Plan<'b>,
    manifest: &'a mut Manifest,
    directory: &'a Path,
    input: Input,
    interrupt: Interrupt,
    /// Runs that were begun.
    started: usize,
    /// A program was started.
    has_run: bool,
}

/// Why no further run is started.
enum Early {
    Finish(Finish),
    Failure(Failure),
}

impl From<Failure> for Early {
    fn from(failure: Failure) -> Early {
        Early::Failure(failure)
    }
}

impl From<CollectError> for Early {
    fn from(error: CollectError) -> Early {
        Early::Failure(error.into())
    }
}

/// What a run gave.
enum Outcome {
    Took(Nanos),
    Failed,
}

impl Sweep<'_, '_> {
    fn all(&mut self) -> Result<(), Early> {
        if self.is_to_do() {
            for _ in 0..self.plan.warm_up {
                // One that fails is told of when it is recorded.
                self.plain(self.plan.counts.most())?;
            }
        }
        while let Some(round) = self.next_round() {
            for threads in round {
                if let Outcome::Took(wall) = self.recorded(threads)? {
                    self.tell(threads, wall);
                    self.plain_if_wanted(threads)?;
                }
            }
        }
        for threads in self.plan.counts.iter() {
            while !self.has_failed(threads) && self.plain_if_wanted(threads)? {}
        }
        Ok(())
    }

    fn is_to_do(&self) -> bool {
        self.next_round().is_some()
    }

    /// The numbers of threads that are to be run again and were run least; `None` where all were run enough.
    fn next_round(&self) -> Option<Vec<u32>> {
        let runs = |threads: u32| self.manifest.walls(threads, true).len();
        let is_wanting =
            |threads: &u32| !self.has_failed(*threads) && self.manifest.verdict(*threads) == Verdict::More;
        let wanting: Vec<u32> = self.plan.counts.iter().filter(is_wanting).collect();
        let least = wanting.iter().map(|&threads| runs(threads)).min()?;
        Some(wanting.into_iter().filter(|&threads| runs(threads) == least).collect())
    }

    fn has_failed(&self, threads: u32) -> bool {
        self.manifest.failures.iter().any(|failed| failed.threads == threads)
    }

    fn setting(&self, threads: u32) -> Setting {
        Setting {
            variables: self.plan.control.environment(threads),
            cpus: self.plan.topology.choose(self.plan.affinity, threads),
            output: self.plan.output,
            held: None,
        }
    }

    /// Before each run: none is started after a signal, and each reads the same input.
    fn prepare(&mut self) -> Result<(), Early> {
        self.check_interrupt()?;
        self.started += 1;
        if self.started > 1 {
            self.input.back(self.started == 2);
        }
        Ok(())
    }

    fn check_interrupt(&self) -> Result<(), Early> {
        match self.interrupt.came() {
            Some(signal) => Err(Early::Finish(Finish::Interrupted(signal))),
            None => Ok(()),
        }
    }

    /// Records a run and notes it.
    fn recorded(&mut self, threads: u32) -> Result<Outcome, Early> {
        self.prepare()?;
        let (name, path) = self.free_name(threads);
        let command: Vec<OsString> = self.plan.control.command(threads);
        let options = Options { setting: self.setting(threads), ..self.plan.recording.options(&path) };
        let ended = record(&command, &options, PRELOAD)?;
        self.has_run = true;
        // A program that was told to stop may have ended well, and before its time.
        self.check_interrupt()?;
        if let Some(trouble) = ended.trouble {
            return Err(Early::Failure(Failure::input(trouble)));
        }
        if self.is_failure(threads, ended.status)? {
            let _ = fs::remove_file(path);
            return Ok(Outcome::Failed);
        }
        let wall = finish(&path, &ended.file)?;
        self.check_interrupt()?;
        self.manifest.runs.push(Done::new(threads, wall, &options.setting.cpus, Some(name)));
        self.manifest.write(self.directory)?;
        Ok(Outcome::Took(wall))
    }

    /// The name of the next recording, and where it is. What a run that was not finished left under it is replaced.
    fn free_name(&self, threads: u32) -> (String, PathBuf) {
        let is_taken =
            |name: &String| self.manifest.runs.iter().any(|done| done.recording.as_ref() == Some(name));
        let mut names = (1..).map(|run| format!("threads-{threads}.run-{run}.holdup"));
        let name = names.find(|name| !is_taken(name)).unwrap_or_default();
        let path = self.directory.join(&name);
        (name, path)
    }

    /// Runs without recording, if that is wanted once more. True if it was and went well.
    fn plain_if_wanted(&mut self, threads: u32) -> Result<bool, Early> {
        if self.manifest.walls(threads, false).len() >= self.plan.plain {
            return Ok(false);
        }
        let (status, wall) = self.plain(threads)?;
        if self.is_failure(threads, status)? {
            return Ok(false);
        }
        self.manifest.runs.push(Done::new(threads, wall, &self.setting(threads).cpus, None));
        self.manifest.write(self.directory)?;
        Ok(true)
    }

    fn plain(&mut self, threads: u32) -> Result<(ExitStatus, Nanos), Early> {
        self.prepare()?;
        let PlainRun { status, wall, .. } =
            run_plain(&self.plan.control.command(threads), &self.setting(threads))?;
        self.has_run = true;
        self.check_interrupt()?;
        Ok((status, Nanos::new(wall.as_nanos() as u64)))
    }

    /// Notes and tells a run that failed.
    fn is_failure(&mut self, threads: u32, status: ExitStatus) -> Result<bool, Early> {
        if status.success() || self.plan.ignore_status && status.signal().is_none() {
            return Ok(false);
        }
        let failed = Failed { threads, status: status_of(status) };
        let help = "--show-output shows what it prints, --ignore-status uses runs with other statuses than 0";
        eprintln!("holdup: {} ({help})", left_out(&failed));
        self.manifest.failures.push(failed);
        self.manifest.write(self.directory)?;
        Ok(true)
    }

    /// A sign of life after each run, on a terminal.
    fn tell(&self, threads: u32, wall: Nanos) {
        if std::io::stderr().is_terminal() {
            let runs = self.manifest.walls(threads, true).len();
            let word = if threads == 1 { "thread" } else { "threads" };
            eprintln!("holdup: {threads} {word}, run {runs}: {wall}");
        }
    }
}

/// A number of threads that is not told of, and why.
pub(crate) fn left_out(failed: &Failed) -> String {
    let word = if failed.threads == 1 { "thread" } else { "threads" };
    format!(
        "with {} {word} the program ended with {}: that number of threads is left out",
        failed.threads,
        failed.words()
    )
}
