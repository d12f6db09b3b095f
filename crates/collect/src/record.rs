//! Recording one run.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use holdup_kernel as kernel_events;
use holdup_recording::StreamPiece;
use holdup_recording::facts::{Environment, Session, SessionEnd};
use holdup_recording::format::FrameKind;
use holdup_trace::shared::{ALONE, HOLDS_ALL, HOLDS_SAMPLED, MARKS, NO_ARGUMENTS, Refusal};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::futex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::{Handle, Signals};

use crate::alone::{AloneOptions, Controller};
use crate::caller::caller_of_sudo;
use crate::drain::Process;
use crate::emulation::{self, Emulated, Emulation, Ending, Streams};
use crate::environment::Watch;
use crate::error::CollectError;
use crate::kernel::{self, Kernel};
use crate::launch::{Injection, start};
use crate::log::Log;
use crate::machine::{ClockSource, allowed_cores, own_cpu_ns};
use crate::session::{Doorbell, SessionFiles, Spares};
use crate::setting::Setting;
use crate::started::Waiter;
use crate::window::{Opening, Stage, Window};
use crate::{instrumented, library, target};

/// Of which locks holds are timed, beside a few of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Of none: what waits is told, and the program is disturbed least.
    Sampled,
    /// Of those that somebody waits for.
    Waited,
    /// Of every lock.
    All,
}

/// How a run is to be recorded.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the recording is written.
    pub output: PathBuf,
    /// Of which locks holds are timed and recorded.
    pub holds: Holds,
    /// Ask the kernel too: context switches, samples.
    pub kernel: bool,
    /// Context switches are recorded only for a part of the time, and CPU times looked at in between, where to record all would
    /// take more than this share of the program's CPU time; `None` to record all.
    pub max_cost: Option<f64>,
    /// Enter the program with the library, where that is possible.
    pub preload: bool,
    /// Store the program's arguments.
    pub arguments: bool,
    /// Store lines of the program's source, once names are found ([`crate::name_file`]).
    pub source: bool,
    /// Which part of the run is to be told of.
    pub window: Window,
    /// The recording's largest size in bytes; `None` for no limit.
    pub size_limit: Option<u64>,
    /// What the program finds when it starts.
    pub setting: Setting,
    /// Run it under emulation, and record its instructions. The kernel would tell of the emulator, so it is not asked.
    pub emulation: Option<Emulation>,
    /// The program was built to count its instructions by itself ([`crate::counts_itself`]): take what it counts.
    pub instrumented: bool,
}

impl Options {
    /// Everything that can be recorded of a program as it is, in this file.
    pub fn new(output: impl Into<PathBuf>) -> Options {
        Options {
            output: output.into(),
            holds: Holds::Waited,
            kernel: true,
            max_cost: Some(kernel::MAX_COST),
            preload: true,
            arguments: true,
            source: true,
            window: Window::default(),
            size_limit: None,
            setting: Setting::default(),
            emulation: None,
            instrumented: false,
        }
    }

    /// What the program executes under this emulation, in this file.
    pub fn emulated(output: impl Into<PathBuf>, emulation: Emulation) -> Options {
        Options { kernel: false, emulation: Some(emulation), ..Options::new(output) }
    }

    /// What is recorded of instructions, as the recording calls it.
    fn instructions(&self) -> Option<String> {
        let word = match &self.emulation {
            Some(emulation) => Some(emulation.mode.word()),
            None => self.instrumented.then_some(Session::INSTRUMENTED),
        };
        word.map(str::to_owned)
    }
}

/// How a recorded program ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its status.
    pub status: ExitStatus,
    /// What kept the recording from being written to its end, in a line; it holds what came before.
    pub trouble: Option<String>,
    /// The recording's file, which may have lost its name meanwhile: to read it, and to add names to it.
    pub file: Arc<File>,
    /// What must be known of a run under emulation, in a sentence: that it ended otherwise than it should, or that something
    /// of it is not recorded.
    pub emulation: Option<String>,
}

/// How long the recorder sleeps at most while nothing rings. Each time that it wakes it takes a core from the program, and
/// what the program has in the core's caches.
const IDLE: Duration = Duration::from_millis(100);
/// The same where a window is to be opened or closed, for what comes by a signal.
const PRECISE: Duration = Duration::from_millis(20);
/// How often the clock is compared.
pub(crate) const CLOCK_INTERVAL: Duration = Duration::from_secs(1);
/// What the file is called that a program writes to which counts its instructions by itself.
const COUNTS_FILE: &str = "counts";
/// How often it is looked whether processes other than the first have ended, and whether something is to be flushed.
const REAP_INTERVAL: Duration = Duration::from_millis(100);

/// Runs `command` and records it with the injected library `content`, packed by gzip. Names are not found yet: see
/// [`crate::name_file`].
///
/// # Errors
/// [`CollectError`] where the program could not be started; then nothing ran. A recording that cannot be written
/// to its end keeps what it has, and the program runs on.
pub fn record(command: &[OsString], options: &Options, content: &[u8]) -> Result<Ended, CollectError> {
    record_with(command, options, None, content)
}

/// As [`record`]; in each parallel phase of the program one thread runs by itself while the others are held.
///
/// # Errors
/// As [`record`].
pub fn record_alone(
    command: &[OsString],
    options: &Options,
    alone: AloneOptions,
    content: &[u8],
) -> Result<Ended, CollectError> {
    let mut options = options.clone();
    // A thread that spins while it waits for its team takes the core from the one that is to run by itself.
    const WAITING: &str = "OMP_WAIT_POLICY";
    let variables = &mut options.setting.variables;
    if std::env::var_os(WAITING).is_none() && variables.iter().all(|(name, _)| name != WAITING) {
        variables.push((WAITING.into(), "passive".into()));
    }
    record_with(command, &options, Some(alone), content)
}

fn record_with(
    command: &[OsString],
    options: &Options,
    alone: Option<AloneOptions>,
    content: &[u8],
) -> Result<Ended, CollectError> {
    let Some(program) = command.first() else {
        return Err(CollectError::NotFound { program: PathBuf::new() });
    };
    let clock = ClockSource::choose();
    let beginning = clock.sample();
    let target = target::find(program)?;
    let output = |error| CollectError::Output { path: options.output.clone(), error };
    let user = caller_of_sudo();
    let mut flags = 0;
    flags |= match options.holds {
        Holds::Sampled => HOLDS_SAMPLED,
        Holds::Waited => 0,
        Holds::All => HOLDS_ALL,
    };
    flags |= if options.arguments { 0 } else { NO_ARGUMENTS };
    if options.emulation.is_some() || options.instrumented {
        flags |= MARKS;
    }
    flags |= if alone.is_some() { ALONE } else { 0 };
    if options.emulation.is_some() {
        target.refuse_emulation()?;
    }
    let enters = options.preload && target.leave_alone.is_none();
    let library = if enters {
        let owner = rustix::process::geteuid().as_raw();
        let path = library::install(content, owner).map_err(|error| CollectError::Library { error })?;
        Some(path)
    } else {
        None
    };
    // Where files may not grow (ulimit -f) this signal would end holdup; with it caught, the write fails. A handler,
    // because that a signal is ignored would be passed on to the program.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let ticks_per_second = clock.rate_since(beginning);
    let files = SessionFiles::create(flags, clock, ticks_per_second, user)
        .map_err(|error| CollectError::Session { error })?;
    let (log, file) = Log::create(&options.output, options.size_limit, clock).map_err(output)?;
    let stored = if options.arguments { command } else { &command[..1] };
    let session = Session {
        holdup: env!("CARGO_PKG_VERSION").to_owned(),
        command: stored.iter().map(|part| part.to_string_lossy().into_owned()).collect(),
        cores: options.setting.affinity().map_or_else(allowed_cores, |set| set.count().max(1)),
        clock: clock.word().to_owned(),
        start: 0,
        ticks_per_second,
        collectors: Vec::new(),
        all_holds: options.holds == Holds::All,
        instructions: options.instructions(),
        machine: std::env::consts::ARCH.to_owned(),
        no_source: !options.source,
    };
    let mut recorder = Recorder {
        files,
        log,
        kernel: None,
        streams: None,
        spares: Spares::none(),
        processes: Vec::new(),
        adopted: 0,
        out_of_room: false,
        first: 0,
        opening: Opening::start(options.window),
        told: (None, None),
        watch: Watch::begin(Path::new("/")),
        cpu_before: 0,
        alone: alone.map(|alone| Controller::start(alone, clock, ticks_per_second)),
    };
    recorder.refill();
    recorder.log.sample();
    let emulated = match &options.emulation {
        Some(emulation) => Some(recorder.prepare_emulation(emulation, &target.path, command)?),
        None => None,
    };

    let counts = options.instrumented.then(|| recorder.files.path().join(COUNTS_FILE));
    let injection = library.as_deref().map(|library| Injection {
        library,
        session: recorder.files.path(),
        counts: counts.as_deref(),
    });
    // Before the start, since the program may use up all threads that its user may have. Signals are caught from then on too:
    // one that came just after the start must not end holdup alone.
    let threads = |error| CollectError::Threads { error };
    let (waiter, waiting) = Waiting::prepare(clock, recorder.files.doorbell()).map_err(threads)?;
    let caught = Caught::from_now_on().map_err(threads)?;
    let (child, watched, start) =
        start_watched(&target.path, command, injection.as_ref(), emulated.as_ref(), user, clock, options)
            .map_err(|error| target.explained(error))?;
    let mut missing = Vec::new();
    match watched {
        Some(Ok(watch)) => {
            recorder.kernel = Some(Kernel::start(watch, None, options.arguments, options.max_cost))
        }
        Some(Err(why)) => missing.push(why),
        None => {}
    }
    if let Some(kernel) = &mut recorder.kernel {
        missing.append(&mut kernel.missing);
    }
    let collectors = [
        ("preload", enters),
        ("kernel", recorder.kernel.is_some()),
        ("instructions", recorder.streams.is_some()),
    ];
    let collectors = collectors.into_iter().filter(|(_, works)| *works).map(|(name, _)| name.to_owned());
    let session = Session { start, collectors: collectors.collect(), ..session };
    recorder.log.keep(|writer| writer.facts(FrameKind::Session, 0, &session));
    recorder.first = child.id();
    let passing_on = caught.pass_on(Pid::from_raw(child.id() as i32));
    waiter.wait_for(child);
    recorder.note_environment();
    recorder.cpu_before = own_cpu_ns();
    recorder.run(&waiting);
    let status = waiting.join();
    drop(passing_on);
    let unseen = target.leave_alone.map(|(path, reason)| target::sentence(&path, reason));
    let emulation = recorder.end_emulation(status, options, unseen.as_deref());
    // That the library is not in it is told already.
    missing.extend(emulation.clone().filter(|_| unseen.is_none()));
    if counts.is_some() && unseen.is_none() {
        missing.extend(recorder.take_counts());
    }
    let trouble = recorder.end(&waiting, status, unseen, missing).map(|error| trouble(options, &error));
    Ok(Ended { status, trouble, emulation, file: Arc::new(file) })
}

/// Where holdup may have less address space than this, it does without the kernel's records: rings, and the programs' files
/// mapped to unwind stacks, would take what the recording of the library's data needs.
const LEAST_ADDRESS_SPACE: u64 = 2 << 30;

/// How much holdup and the program may have; `None` for no limit.
fn address_space() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

fn no_address_space(space: u64) -> String {
    format!(
        "the kernel's records were left out: {} MiB of address space (ulimit -v) are too little for them (ulimit -v \
         unlimited)",
        space >> 20
    )
}

/// What kept a recording from being whole, in a line.
pub(crate) fn trouble(options: &Options, error: &io::Error) -> String {
    format!(
        "{}: the recording could not be written to its end ({error}); make room there, or choose another place with -o \
         FILE",
        options.output.display()
    )
}

/// Starts the program, with the kernel's events on it where they are wanted, from a thread that does nothing else: these
/// events are inherited by what that thread starts. Where there are none, says why. Gives the tick of the start too.
#[allow(clippy::type_complexity, reason = "used once, right above")]
fn start_watched(
    path: &Path,
    command: &[OsString],
    injection: Option<&Injection<'_>>,
    emulated: Option<&Emulated>,
    user: Option<(u32, u32)>,
    clock: ClockSource,
    options: &Options,
) -> Result<(Child, Option<Result<kernel_events::Watch, String>>, u64), CollectError> {
    std::thread::scope(|scope| {
        let starter = std::thread::Builder::new().name("holdup start".into());
        let starter = starter.spawn_scoped(scope, || {
            let watch = (options.kernel && emulated.is_none()).then(|| match address_space() {
                Some(space) if space < LEAST_ADDRESS_SPACE => Err(no_address_space(space)),
                _ => kernel::over_children(allowed_cores(), injection.is_some()),
            });
            let limit = watch.as_ref().and_then(|watch| watch.as_ref().ok()?.former_descriptor_limit());
            let tick = clock.ticks();
            Ok((start(path, command, injection, user, limit, emulated, &options.setting)?, watch, tick))
        });
        let starter = starter.map_err(|error| CollectError::Threads { error })?;
        starter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The end of the first process, awaited in a thread of its own.
struct Waiting {
    /// The tick of its end; 0 while it runs.
    ended: Arc<AtomicU64>,
    status: Receiver<ExitStatus>,
}

impl Waiting {
    fn prepare(clock: ClockSource, bell: Doorbell) -> io::Result<(Waiter, Waiting)> {
        let ended = Arc::new(AtomicU64::new(0));
        let noted = Arc::clone(&ended);
        let (sender, status) = channel();
        let waiter = Waiter::prepare(move |status| {
            noted.store(clock.ticks().max(1), Ordering::Release);
            let _ = sender.send(status);
            bell.ring();
        })?;
        Ok((waiter, Waiting { ended, status }))
    }

    fn ended(&self) -> u64 {
        self.ended.load(Ordering::Acquire)
    }

    /// The status of the ended process. One that could not be waited for counts as one that could not be observed: 255.
    fn join(&self) -> ExitStatus {
        self.status.recv().unwrap_or_else(|_| ExitStatus::from_raw(255 << 8))
    }
}

/// The signals that are ignored, signal 1 in the lowest bit: by nohup, or as a shell starts what runs in the background. The
/// program inherits that, but not from who has a handler of its own, so they get none.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// While the program runs, a signal to end is its affair: from the terminal it gets it itself, otherwise it is
/// passed on, by a thread that waits for the program's id first.
pub(crate) struct Caught {
    handle: Option<Handle>,
    program: Sender<Pid>,
    /// The last signal from the terminal; 0 for none.
    from_terminal: Arc<AtomicUsize>,
}

impl Caught {
    pub(crate) fn from_now_on() -> io::Result<Caught> {
        let from_terminal = Arc::new(AtomicUsize::new(0));
        let ignored = ignored_signals();
        let is_heard = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
        for signal in [SIGINT, SIGQUIT].into_iter().filter(is_heard) {
            let _ = signal_hook::flag::register_usize(signal, Arc::clone(&from_terminal), signal as usize);
        }
        let others = [SIGTERM, SIGHUP].into_iter().filter(is_heard);
        let (program, started) = channel();
        let signals = Signals::new(others).ok();
        let handle = signals.as_ref().map(Signals::handle);
        if let Some(signals) = signals {
            std::thread::Builder::new()
                .name("holdup signals".into())
                .spawn(move || pass_on(signals, &started))?;
        }
        Ok(Caught { handle, program, from_terminal })
    }

    /// Passes on what came before the program was there, and what comes until the result is dropped.
    pub(crate) fn pass_on(self, pid: Option<Pid>) -> PassingOn {
        let Some(pid) = pid else { return PassingOn(None) };
        let early = match self.from_terminal.load(Ordering::Relaxed) as i32 {
            SIGINT => Some(Signal::INT),
            SIGQUIT => Some(Signal::QUIT),
            _ => None,
        };
        if let Some(early) = early {
            let _ = kill_process(pid, early);
        }
        let _ = self.program.send(pid);
        PassingOn(self.handle)
    }
}

fn pass_on(mut signals: Signals, program: &Receiver<Pid>) {
    // Nothing was started if nobody gives it.
    let Ok(pid) = program.recv() else { return };
    for signal in signals.forever() {
        let signal = if signal == SIGTERM { Signal::TERM } else { Signal::HUP };
        let _ = kill_process(pid, signal);
    }
}

/// Signals are passed on to the program until this is dropped: its id may be another process's afterwards.
pub(crate) struct PassingOn(Option<Handle>);

impl Drop for PassingOn {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.close();
        }
    }
}

struct Recorder {
    files: SessionFiles,
    log: Log,
    kernel: Option<Kernel>,
    streams: Option<Streams>,
    spares: Spares,
    processes: Vec<Process>,
    adopted: u32,
    out_of_room: bool,
    /// Kernel id of the first process; 0 before it is started.
    first: u32,
    opening: Opening,
    /// When the window opened and when it closed, in ticks.
    told: (Option<u64>, Option<u64>),
    watch: Watch,
    /// CPU time of this process when the program started (ns).
    cpu_before: u64,
    /// Where one thread is to run by itself.
    alone: Option<Controller>,
}

impl Recorder {
    /// Makes the file that the plugin writes to; gives what is to be started in the program's place.
    fn prepare_emulation(
        &mut self,
        emulation: &Emulation,
        path: &Path,
        command: &[OsString],
    ) -> Result<Emulated, CollectError> {
        let streams = Streams::start(&self.files, Arc::clone(&emulation.executed))
            .map_err(|error| CollectError::Session { error })?;
        self.streams = Some(streams);
        Ok(Emulated::new(emulation, path, command, self.files.path()))
    }

    /// Takes what is left of the instructions; gives what is to be said of the run.
    fn end_emulation(
        &mut self,
        status: ExitStatus,
        options: &Options,
        unseen: Option<&str>,
    ) -> Option<String> {
        let (mut streams, emulation) = (self.streams.take()?, options.emulation.as_ref()?);
        streams.finish(&mut self.log);
        emulation::sentence(&Ending {
            status,
            version: emulation.version(),
            works: streams.work(),
            full: streams.is_full(),
            recording: &options.output,
            executed: emulation.executed.load(Ordering::Relaxed),
            unseen,
            others: self.adopted.saturating_sub(1),
        })
    }

    /// Takes what the program has counted by itself; gives what the reader must know.
    fn take_counts(&mut self) -> Vec<String> {
        let file = self.files.directory().open_file(COUNTS_FILE);
        let warnings = self.log.keep(|writer| {
            instrumented::take(file, &mut |stream, sequence, entries| {
                writer.instructions(&StreamPiece::new(stream, sequence, entries)?).map(drop)
            })
        });
        warnings.unwrap_or_default()
    }

    fn refill(&mut self) {
        self.out_of_room |= self.spares.refill(&self.files).is_err();
    }

    /// Drains until the first process has ended.
    fn run(&mut self, child: &Waiting) {
        let mut sampled = Instant::now();
        let mut reaped = Instant::now();
        while child.ended() == 0 {
            let heard = self.files.page().doorbell.load(Ordering::Acquire);
            let busy = self.round();
            if sampled.elapsed() >= CLOCK_INTERVAL {
                self.log.sample();
                sampled = Instant::now();
            }
            self.look_around();
            self.look_at_the_window();
            if reaped.elapsed() >= REAP_INTERVAL {
                self.reap();
                reaped = Instant::now();
            }
            if !busy && child.ended() == 0 {
                self.sleep(heard);
            }
        }
    }

    fn look_at_the_window(&mut self) {
        let now = self.log.clock.ticks();
        match self.opening.stage() {
            Stage::Before => {}
            Stage::Within => {
                if self.told.0.is_none() && !self.opening.is_all() {
                    self.watch.begin_again();
                }
                self.told.0 = self.told.0.or(Some(now));
            }
            Stage::After => {
                self.watch.stop();
                self.told = (self.told.0.or(Some(now)), self.told.1.or(Some(now)));
                // What comes after costs the program nothing that can be saved.
                if let Some(kernel) = self.kernel.take() {
                    self.log.take_rest(kernel);
                }
            }
        }
    }

    fn look_around(&mut self) {
        self.watch.look(std::iter::once(self.first).chain(self.processes.iter().map(Process::pid)));
    }

    /// What is known of the surroundings: at the start, in case that there is no end, and at the end.
    fn note_environment(&mut self) {
        self.look_around();
        let facts = Environment::from(&self.watch.facts());
        self.log.keep(|writer| writer.facts(FrameKind::Environment, 0, &facts));
    }

    /// Takes over new processes and drains all. True if there was something to do.
    fn round(&mut self) -> bool {
        let before = self.adopted;
        self.adopt();
        self.refill();
        let mut processes = std::mem::take(&mut self.processes);
        let mut busy = self.adopted != before;
        for process in &mut processes {
            busy |= self.log.keep(|writer| process.drain(writer)).unwrap_or(false);
            self.out_of_room |= process.is_out_of_room();
        }
        self.processes = processes;
        if let Some(kernel) = &self.kernel {
            busy |= self.log.take(kernel);
        }
        if let Some(streams) = &mut self.streams {
            busy |= streams.take(&mut self.log);
        }
        self.files.end_round();
        busy
    }

    fn adopt(&mut self) {
        let mut waiting = Vec::new();
        for spare in std::mem::take(&mut self.spares.files) {
            let index = self.adopted;
            match self.log.keep(|writer| Process::adopt(index, spare, writer)) {
                Some(Ok(process)) => {
                    self.adopted += 1;
                    self.finish_replaced(&process);
                    if let Some(alone) = &self.alone {
                        alone.attach(process.pid(), process.memory());
                    }
                    self.processes.push(process);
                }
                Some(Err(spare)) => waiting.push(spare),
                None => {}
            }
        }
        self.spares.files = waiting;
    }

    /// A process that executes another program goes on under its id: what it was before has ended.
    fn finish_replaced(&mut self, by: &Process) {
        let all = std::mem::take(&mut self.processes);
        let (replaced, others) = all.into_iter().partition::<Vec<_>, _>(|process| process.pid() == by.pid());
        self.processes = others;
        for process in replaced {
            self.log.keep(|writer| process.finish(writer, by.start(), false));
        }
    }

    fn reap(&mut self) {
        let now = self.log.clock.ticks();
        // The first process is finished last, with the tick at which the run ended: what its threads waited for then,
        // they waited for to the end.
        let first = self.first;
        let is_done = |process: &Process| process.pid() != first && process.is_gone();
        let (gone, live) = std::mem::take(&mut self.processes).into_iter().partition::<Vec<_>, _>(is_done);
        for process in gone {
            self.log.keep(|writer| process.finish(writer, now, false));
        }
        for mut process in live {
            self.log.keep(|writer| process.flush(writer));
            self.processes.push(process);
        }
    }

    fn sleep(&self, heard: u32) {
        let page = self.files.page();
        page.recorder_waits.store(1, Ordering::SeqCst);
        let idle = if self.opening.is_all() { IDLE } else { PRECISE };
        let idle = self.watch.next_look().map_or(idle, |next| idle.min(next));
        let timeout = rustix::time::Timespec { tv_sec: 0, tv_nsec: idle.as_nanos() as _ };
        let _ = futex::wait(&page.doorbell, futex::Flags::empty(), heard, Some(&timeout));
        page.recorder_waits.store(0, Ordering::Relaxed);
    }

    /// Writes what is left, and how it ended. Gives what kept the recording from being whole.
    fn end(
        mut self,
        child: &Waiting,
        status: ExitStatus,
        unseen: Option<String>,
        mut warnings: Vec<String>,
    ) -> Option<io::Error> {
        let end = child.ended();
        let recorder_cpu = Some(own_cpu_ns().saturating_sub(self.cpu_before));
        if let Some(alone) = self.alone.take() {
            let facts = alone.finish();
            self.log.keep(|writer| writer.facts(FrameKind::Alone, 0, &facts));
        }
        if let Some(kernel) = self.kernel.take() {
            self.log.take_rest(kernel);
        }
        self.adopt();
        self.files.page().closed.store(1, Ordering::Relaxed);
        for process in std::mem::take(&mut self.processes) {
            let still_running = !process.is_gone();
            self.log.keep(|writer| process.finish(writer, end, still_running));
        }
        self.note_environment();
        self.log.sample();
        if self.out_of_room {
            warnings.push(
                "there was no room for more memory shared with the program: events may be lost".to_owned(),
            );
        }
        let mut all_unseen: Vec<String> = unseen.into_iter().collect();
        all_unseen.extend(self.refusals());
        let window = match self.told {
            _ if self.opening.is_all() => None,
            (Some(from), until) => Some((from, until.unwrap_or(end))),
            (None, _) => {
                warnings.push(
                    "the program ended before its recording was to begin: all of it is told of".to_owned(),
                );
                None
            }
        };
        let (code, signal) = (status.code(), status.signal());
        let facts = SessionEnd { end, code, signal, unseen: all_unseen, warnings, window, recorder_cpu };
        self.log.end(facts)
    }

    fn refusals(&self) -> Vec<String> {
        let sentence = |why: Refusal| match why {
            Refusal::NoFile => "started faster than they could be taken in, and are missing",
            Refusal::Open => {
                "could not open the memory shared with holdup (another user, a chroot, no descriptor left)"
            }
            Refusal::Map => "could not map the memory shared with holdup",
            Refusal::AddressSpace => "so little address space (ulimit -v) that recording would be felt",
            Refusal::Version => "a library of another version of holdup",
            Refusal::Environment => {
                "executed without holdup's environment (env -i, a cleared environment), and so without its library"
            }
            Refusal::Program => {
                "programs that holdup's library must not enter (static, 32-bit, set-user-id, sanitized) ran without it"
            }
        };
        let all = [
            Refusal::NoFile,
            Refusal::Open,
            Refusal::Map,
            Refusal::AddressSpace,
            Refusal::Version,
            Refusal::Program,
            Refusal::Environment,
        ];
        let page = self.files.page();
        let told = |count: u32, what: &str| {
            (count > 0)
                .then(|| format!("{count} {} {what}", if count == 1 { "process:" } else { "processes:" }))
        };
        let mut unseen: Vec<String> = all
            .into_iter()
            .filter_map(|why| told(page.refused[why as usize].load(Ordering::Relaxed), sentence(why)))
            .collect();
        let silent = page.silent_forks.load(Ordering::Relaxed);
        unseen
            .extend(told(silent, "forked, and never waited or blocked, so there is nothing to tell of them"));
        unseen
    }
}
