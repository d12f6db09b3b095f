//! Recording a process that runs already, for a while, and leaving it without a trace.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use holdup_kernel::{Lifetime, Linux, Pid, Watch as Events};
use holdup_recording::facts::{Environment, Session, SessionEnd};
use holdup_recording::format::FrameKind;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::environment::Watch;
use crate::error::CollectError;
use crate::kernel::{Kernel, wanted};
use crate::log::Log;
use crate::machine::{ClockSource, allowed_cores_of, own_cpu_ns};
use crate::record::{CLOCK_INTERVAL, Ended, Options};
use crate::window::{Opening, Stage};

/// How often records are taken over, and how late the end of the window is noticed.
const ROUND: Duration = Duration::from_millis(20);

/// Records process `pid` within the window of `options`, until it ends, or until a signal (SIGINT, SIGTERM, SIGHUP)
/// tells holdup to. Only the kernel is asked: the library cannot enter a program that runs.
///
/// The process counts as one that ended well.
///
/// # Errors
/// [`CollectError`] where there is no such process, it may not be recorded, or there is no place for the recording.
pub fn attach(pid: u32, options: &Options) -> Result<Ended, CollectError> {
    let no_process = || CollectError::NoProcess { pid };
    let process = Lifetime::of(Pid(pid)).map_err(|_| no_process())?;
    let command = command_of(pid, options.arguments);
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let _ = signal_hook::flag::register(signal, Arc::clone(&stop));
    }
    let clock = ClockSource::choose();
    let ticks_per_second = clock.rate_since(clock.sample());
    let mut opening = Opening::start(options.window);
    while opening.stage() == Stage::Before && !stop.load(Ordering::Relaxed) {
        if process.has_ended() {
            return Err(no_process());
        }
        std::thread::sleep(ROUND);
    }
    let cores = allowed_cores_of(pid);
    let events = Events::over_process(&Linux, Pid(pid), wanted(cores, false))
        .map_err(|error| CollectError::Kernel { error })?;
    let output = |error| CollectError::Output { path: options.output.clone(), error };
    let (mut log, file) = Log::create(&options.output, options.size_limit, clock).map_err(output)?;
    log.sample();
    let session = Session {
        holdup: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        cores,
        clock: clock.word().to_owned(),
        start: clock.ticks(),
        ticks_per_second,
        collectors: vec!["kernel".to_owned()],
        all_holds: false,
        instructions: None,
        machine: std::env::consts::ARCH.to_owned(),
        no_source: !options.source,
    };
    log.keep(|writer| writer.facts(FrameKind::Session, 0, &session));
    let mut surroundings = Watch::begin(Path::new("/"));
    let kernel = Kernel::start(events, Some(Pid(pid)), options.arguments, options.max_cost);
    opening.begin();
    let mut warnings = kernel.missing.clone();
    let cpu_before = own_cpu_ns();
    let mut sampled = Instant::now();
    while opening.stage() == Stage::Within && !stop.load(Ordering::Relaxed) && !process.has_ended() {
        log.take(&kernel);
        surroundings.look(std::iter::once(pid));
        if sampled.elapsed() >= CLOCK_INTERVAL {
            log.sample();
            sampled = Instant::now();
        }
        std::thread::sleep(ROUND);
    }
    let end = clock.ticks();
    let recorder_cpu = Some(own_cpu_ns().saturating_sub(cpu_before));
    log.take_rest(kernel);
    surroundings.look(std::iter::once(pid));
    let facts = Environment::from(&surroundings.facts());
    log.keep(|writer| writer.facts(FrameKind::Environment, 0, &facts));
    log.sample();
    warnings.push(
        "the process ran before, so holdup's library is not in it: which lock threads wait for is known only where \
         the kernel tells; start the program under holdup to see its locks by name"
            .to_owned(),
    );
    let facts = SessionEnd { end, warnings, recorder_cpu, ..SessionEnd::default() };
    let trouble = log.end(facts).map(|error| crate::record::trouble(options, &error));
    Ok(Ended { status: ExitStatus::default(), trouble, emulation: None, file: Arc::new(file) })
}

/// The process's program, and its arguments where they may be kept.
fn command_of(pid: u32, arguments: bool) -> Vec<String> {
    let text = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let parts = text.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    let most = if arguments { usize::MAX } else { 1 };
    parts.take(most).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}
