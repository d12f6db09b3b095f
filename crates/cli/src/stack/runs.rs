//! Doing the runs, and noting what each gave.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use holdup_collect::{
    AloneOptions, CounterSource, Holds, Options, Output, PlainRun, Setting, record, record_alone, run_plain,
};
use holdup_model::Nanos;
use holdup_recording::Recording;
use holdup_speedup::{Rotation, worth_profiling};

use super::kept::{Done, Kept};
use super::plan::{self, Kind, MOST_ROUNDS, Step, Wanted};
use super::proof::Taken;
use super::robber::{Robber, Robbery};
use crate::collectors::PRELOAD;
use crate::failure::Failure;
use crate::options::RecordingOptions;
use crate::runs::{Input, Interrupt, finish};
use crate::status::status_of;
use crate::thread_count::Control;
use crate::threads_used::{self, Seen};

/// How often a measurement is tried in which the pirate does not hold its share.
const TRIES: u32 = 3;
/// A recorded run that takes so many times as long as a plain one is made again, and the faster one counts.
const MOST_DISTURBED: f64 = 1.1;
/// Of so many planned runs one may be such a repetition.
const RUNS_FOR_A_REPETITION: usize = 5;
/// A run in which one thread is alone may take so many times as long as the program with one thread, and is let go then.
const PATIENCE: u32 = 6;
/// A thread that comes to no sync operation for less than this does not wait in a loop of the program's own.
const LEAST_SILENCE: Duration = Duration::from_secs(1);
/// The least that it may take.
const LEAST_PATIENCE: Duration = Duration::from_secs(10);

/// How runs are done.
pub(super) struct Way<'a> {
    /// How the program is told its number of threads.
    pub control: &'a Control,
    /// Where its output goes.
    pub output: Output,
    /// Statuses other than 0 are no failures.
    pub ignore_status: bool,
    /// What is recorded.
    pub recording: &'a RecordingOptions,
    /// All runs together may take so long; then no measurement is repeated, and no further thread profiled.
    pub time_limit: Duration,
    /// Who takes cache and bandwidth; `None` where nothing can be taken.
    pub robber: Option<&'a Robber>,
}

/// How the runs ended.
pub(super) enum Finish {
    /// All were done.
    Done,
    /// By this signal.
    Interrupted(u8),
    /// A run ended with this status, and no other was started.
    Failed(u8),
}

/// Does all runs that are wanted, and notes each in `kept`, which is written to `directory`.
pub(super) fn run(
    way: &Way<'_>,
    wanted: &Wanted,
    kept: &mut Kept,
    directory: &Path,
) -> Result<Finish, Failure> {
    let mut steps: VecDeque<Step> = plan::steps(wanted).into();
    let mut runs = Runs {
        way,
        kept,
        directory,
        input: Input::now(),
        interrupt: Interrupt::listen(),
        started: 0,
        repetitions: steps.len() / RUNS_FOR_A_REPETITION,
        slowest: None,
        rotations: BTreeMap::new(),
        seen: Vec::new(),
    };
    runs.kept.write(directory)?;
    while let Some(step) = steps.pop_front() {
        if step.kind.which().is_some_and(|which| which > 0) && runs.is_late() {
            runs.say_late(steps.len() + 1)?;
            break;
        }
        if runs.has_nobody_for(step) {
            continue;
        }
        if let Some(end) = runs.step(step)? {
            return Ok(end);
        }
        if step.kind == Kind::Together {
            runs.check_threads(wanted)?;
        }
        if step.kind == Kind::Together && wanted.each_group {
            steps.extend(runs.of_further_groups(wanted, step.threads)?);
        }
    }
    Ok(Finish::Done)
}

struct Runs<'a, 'b> {
    way: &'a Way<'b>,
    kept: &'a mut Kept,
    directory: &'a Path,
    input: Input,
    interrupt: Interrupt,
    started: u32,
    /// How many measurements that did not count may be repeated.
    repetitions: usize,
    /// The longest run so far in which no thread was held.
    slowest: Option<Duration>,
    /// By number of threads: those that do the work, as they are profiled.
    rotations: BTreeMap<u32, Rotation>,
    /// What the first recorded run with each number of threads shows of it.
    seen: Vec<(u32, Seen)>,
}

impl Runs<'_, '_> {
    fn is_late(&self) -> bool {
        let spent: u64 = self.kept.runs.iter().map(|done| done.wall_ns).sum();
        Duration::from_nanos(spent) > self.way.time_limit
    }

    /// True for a run in which a thread is to be alone where the program starts none: that was recorded already.
    fn has_nobody_for(&self, step: Step) -> bool {
        let rotation = self.rotations.get(&step.threads);
        step.threads == 1
            && step.kind.which().is_some()
            && rotation.is_some_and(|rotation| rotation.order.is_empty())
    }

    /// True for a recorded run that took so much longer than plain ones that most of it is not recording.
    fn was_disturbed(&self, done: &Done) -> bool {
        let plain =
            self.kept.runs.iter().filter(|plain| plain.step == Step { kind: Kind::Plain, ..done.step });
        let fastest = plain.map(|plain| plain.wall_ns).min();
        done.step.kind == Kind::Together
            && fastest.is_some_and(|fastest| done.wall_ns as f64 > MOST_DISTURBED * fastest as f64)
    }

    /// Nothing is to be compared where the program uses as many threads as it likes. Whose arguments have the number may mean
    /// something else by it.
    fn check_threads(&self, wanted: &Wanted) -> Result<(), Failure> {
        let is_all = self.seen.len() == wanted.threads.len() && !self.way.control.is_in_command();
        match threads_used::ignored(&self.seen, Some(self.way.control)).filter(|_| is_all) {
            Some(why) => Err(Failure::input(format!("how the program scales is not known: {why}"))),
            None => Ok(()),
        }
    }

    fn say_late(&mut self, left: usize) -> Result<(), Failure> {
        let limit = self.way.time_limit.as_secs_f64();
        let runs = if left == 1 { "run was" } else { "runs were" };
        self.kept.notes.push(format!(
            "The time for measuring ({limit} s) was used up: {left} {runs} left out; more of it is given by --time-limit."
        ));
        self.kept.write(self.directory)
    }

    /// The runs that more groups of threads than were planned for ask for; says so where they are too many.
    fn of_further_groups(&mut self, wanted: &Wanted, threads: u32) -> Result<Vec<Step>, Failure> {
        let rounds = self.rotations.get(&threads).map_or(0, |rotation| rotation.rounds);
        let steps = plan::further(wanted, threads, rounds);
        if rounds > MOST_ROUNDS && !steps.is_empty() {
            self.kept.notes.push(format!(
                "With {threads} threads there are {rounds} groups that do different things: {MOST_ROUNDS} threads, those of the \
                 groups with the most CPU time, are measured by themselves; --profiled {rounds} measures all."
            ));
            self.kept.write(self.directory)?;
        }
        Ok(steps)
    }

    fn note_missing(&mut self, step: Step, why: &str) -> Result<(), Failure> {
        let note = format!("With {} threads a measurement is missing: {why}.", step.threads);
        if !self.kept.notes.contains(&note) {
            self.kept.notes.push(note);
        }
        self.kept.write(self.directory)
    }

    /// A run; again where it does not count. `Some` if no further one is to be started.
    fn step(&mut self, step: Step) -> Result<Option<Finish>, Failure> {
        for attempt in 1..=TRIES {
            if let Some(signal) = self.interrupt.came() {
                return Ok(Some(Finish::Interrupted(signal)));
            }
            self.started += 1;
            if self.started > 1 {
                self.input.back(self.started == 2);
            }
            let (done, status) = match step.kind {
                Kind::Plain => self.plain(step)?,
                _ => match self.recorded(step)? {
                    Ok(ended) => ended,
                    Err(why) => {
                        self.note_missing(step, &why)?;
                        return Ok(None);
                    }
                },
            };
            if let Some(signal) = self.interrupt.came() {
                return Ok(Some(Finish::Interrupted(signal)));
            }
            if !(status.success() || self.way.ignore_status && status.signal().is_none()) {
                return Ok(Some(self.failed(step, status)));
            }
            self.tell(&done);
            let counts = done.discarded.is_none() && !(attempt == 1 && self.was_disturbed(&done));
            self.kept.runs.push(done);
            self.kept.write(self.directory)?;
            if counts || self.repetitions == 0 || attempt == TRIES {
                break;
            }
            self.repetitions -= 1;
        }
        Ok(None)
    }

    fn failed(&self, step: Step, status: ExitStatus) -> Finish {
        let code = status_of(status);
        let word = if step.threads == 1 { "thread" } else { "threads" };
        let how = match status.signal() {
            Some(signal) => format!("signal {signal}"),
            None => format!("status {code}"),
        };
        let help = "--show-output shows what it prints, --ignore-status uses runs with other statuses than 0";
        let while_held = match step.kind.which() {
            Some(_) => ", while its threads were held in turn",
            None => "",
        };
        eprintln!("holdup: with {} {word} the program ended with {how}{while_held} ({help})", step.threads);
        Finish::Failed(code)
    }

    fn setting(&self, step: Step) -> Setting {
        let variables = self.way.control.environment(step.threads);
        Setting { variables, cpus: Vec::new(), output: self.way.output, held: None }
    }

    fn plain(&mut self, step: Step) -> Result<(Done, ExitStatus), Failure> {
        let command: Vec<OsString> = self.way.control.command(step.threads);
        let PlainRun { status, wall, .. } = run_plain(&command, &self.setting(step))?;
        self.slowest = self.slowest.max(Some(wall));
        let wall = Nanos::new(wall.as_nanos() as u64);
        Ok((Done::new(step, wall, None), status))
    }

    /// A recorded run; or why it cannot be made as it should.
    fn recorded(&mut self, step: Step) -> Result<Result<(Done, ExitStatus), String>, Failure> {
        let name = self.kept.free_name(step);
        let path = self.directory.join(&name);
        let command: Vec<OsString> = self.way.control.command(step.threads);
        let robbery = match self.way.robber.map(|robber| robber.robbery(step.kind)) {
            Some(Err(why)) => return Ok(Err(why)),
            Some(Ok(robbery)) => robbery,
            None => None,
        };
        let recording = self.way.recording.options(&path);
        let options = Options {
            // Only waits are looked at, and locks of short holds would be slower by a multiple.
            holds: if step.kind.which().is_none() { Holds::Sampled } else { Holds::Waited },
            // Beside a thread that runs by itself nobody else is to run, who records neither.
            kernel: recording.kernel && step.kind.which().is_none(),
            setting: self.setting(step),
            ..recording
        };
        let left = robbery.as_ref().and_then(Robbery::left);
        let share = robbery.as_ref().and_then(Robbery::share);
        let ended = match step.kind.which() {
            None => record(&command, &options, PRELOAD)?,
            Some(which) => {
                let alone = AloneOptions {
                    which,
                    order: self
                        .rotations
                        .get(&step.threads)
                        .map(|rotation| rotation.order.clone())
                        .unwrap_or_default(),
                    give_up_after: self.patience(),
                    silence: self.silence(),
                    core: self.way.robber.map(Robber::victim_cpu),
                    beside: robbery.and_then(Robbery::beside),
                    share: share.clone(),
                    guardian: self.way.robber.map(Robber::guardian),
                    counters: Some(CounterSource::hardware()),
                };
                record_alone(&command, &options, alone, PRELOAD)?
            }
        };
        if let Some(trouble) = ended.trouble {
            return Err(Failure::input(trouble));
        }
        let wall = finish(&path, &ended.file)?;
        if step.kind.which().is_none() {
            self.slowest = self.slowest.max(Some(Duration::from_nanos(wall.get())));
            let (recording, warnings) = Recording::read(&ended.file, &path)?;
            let run = recording.run(&warnings);
            if self.seen.iter().all(|(threads, _)| *threads != step.threads) {
                self.seen.push((step.threads, Seen::of(&run)));
            }
            self.rotations.insert(step.threads, worth_profiling(&run));
        }
        let mut done = Done::new(step, wall, Some(name));
        if let Some(share) = share {
            (done.cache, done.discarded) = (left, share.trouble());
        } else if left.is_some() {
            let (recording, _) = Recording::read(&ended.file, &path)?;
            let taken = Taken::of(recording.alone.and_then(|alone| alone.pirate).as_ref());
            done.cache = left;
            done.taken = taken.bandwidth;
            done.discarded = taken.discarded;
        }
        if !ended.status.success() && !self.way.ignore_status {
            let _ = fs::remove_file(&path);
        }
        Ok(Ok((done, ended.status)))
    }

    /// How long a run may take in which threads are held.
    fn patience(&self) -> Duration {
        self.slowest.map_or(LEAST_PATIENCE * PATIENCE, |slowest| slowest * PATIENCE).max(LEAST_PATIENCE)
    }

    /// How long a thread may compute without any sync operation: longer than it can have to.
    fn silence(&self) -> Duration {
        self.slowest.map_or(LEAST_SILENCE, |slowest| slowest * 3 / 2).max(LEAST_SILENCE)
    }

    /// A sign of life after each run, on a terminal.
    fn tell(&self, done: &Done) {
        if std::io::stderr().is_terminal() {
            let word = if done.step.threads == 1 { "thread" } else { "threads" };
            let what = match done.step.kind {
                Kind::Plain => "not recorded".to_owned(),
                Kind::Together => "recorded".to_owned(),
                Kind::Whole { which } => format!("thread {which} alone"),
                Kind::Part { which, of } => {
                    format!("thread {which} alone, with one of {of} parts of the cache")
                }
                Kind::Thief { which, percent } => {
                    format!("thread {which} alone, with {percent} % of the bandwidth taken")
                }
            };
            let again = match &done.discarded {
                Some(why) => format!("; it does not count: {why}"),
                None => String::new(),
            };
            eprintln!("holdup: {} {word}, {what}: {}{again}", done.step.threads, Nanos::new(done.wall_ns));
        }
    }
}
