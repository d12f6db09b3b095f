//! Running a program whose threads' criticality is kept up to date in shared memory, and nothing recorded.
//!
//! A thread of ours makes process files ahead of need, and takes away those of processes that are gone. Who wants to know what
//! the threads do reads the session's directory (the `live` crate).

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holdup_kernel::Lifetime;
use holdup_trace::live::Doing;
use holdup_trace::shared::{LIVE, ProcessFile, ProcessState, UNRECORDED};
use rustix::process::Pid;
use rustix::thread::futex;

use crate::caller::caller_of_sudo;
use crate::error::CollectError;
use crate::launch::{Injection, start};
use crate::library;
use crate::machine::ClockSource;
use crate::record::{Caught, PassingOn};
use crate::session::{MappedFile, SessionFiles, Spares};
use crate::setting::Setting;
use crate::started::Waiter;
use crate::target;

/// Files of so many processes that are gone are kept: who looks later still sees what their threads had.
const MOST_GONE: usize = 32;
/// How long the keeper sleeps at most while nothing rings.
const IDLE: Duration = Duration::from_millis(20);
/// How often it is looked whether threads have gone without saying so.
const SWEEP: Duration = Duration::from_secs(1);

/// A program that runs. When this is dropped its session ends; the program runs on, and nothing of it is kept any more.
pub struct LiveRun {
    pid: u32,
    session: Arc<SessionFiles>,
    unseen: Option<String>,
    end: Arc<End>,
    stop: Arc<AtomicBool>,
    keeper: Option<JoinHandle<()>>,
    _passing_on: PassingOn,
}

/// How it ended, once it has.
#[derive(Default)]
struct End {
    status: Mutex<Option<ExitStatus>>,
    came: Condvar,
}

/// Starts `command` with the injected library `content`, packed by gzip. Signals to end are passed on to it, as long as the result lives.
///
/// # Errors
/// [`CollectError`] where the program could not be started; then nothing ran.
pub fn start_live(command: &[OsString], setting: &Setting, content: &[u8]) -> Result<LiveRun, CollectError> {
    let clock = ClockSource::choose();
    let beginning = clock.sample();
    let program = command.first().cloned().unwrap_or_default();
    let target = target::find(&program)?;
    let user = caller_of_sudo();
    let library = if target.leave_alone.is_none() {
        let own = rustix::process::geteuid().as_raw();
        Some(library::install(content, own).map_err(|error| CollectError::Library { error })?)
    } else {
        None
    };
    let session = SessionFiles::create(LIVE | UNRECORDED, clock, clock.rate_since(beginning), user)
        .map_err(|error| CollectError::Session { error })?;
    let session = Arc::new(session);
    let stop = Arc::new(AtomicBool::new(false));
    let mut keeper_of_files = Keeper::new(Arc::clone(&session), clock, Arc::clone(&stop));
    keeper_of_files.refill();
    let injection =
        library.as_deref().map(|library| Injection { library, session: session.path(), counts: None });
    let end = Arc::new(End::default());
    let noted = Arc::clone(&end);
    let threads = |error| CollectError::Threads { error };
    let waiter = Waiter::prepare(move |status| {
        *noted.status.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
        noted.came.notify_all();
    })
    .map_err(threads)?;
    let caught = Caught::from_now_on().map_err(threads)?;
    let keeper = std::thread::Builder::new().name("holdup keeper".into());
    let keeper = keeper.spawn(move || keeper_of_files.run()).map_err(threads)?;
    let started = start(&target.path, command, injection.as_ref(), user, None, None, setting);
    let child = started.inspect_err(|_| stop.store(true, Ordering::Release))?;
    let pid = child.id();
    let passing_on = caught.pass_on(Pid::from_raw(pid as i32));
    waiter.wait_for(child);
    let unseen = target.leave_alone.map(|(path, reason)| target::sentence(&path, reason));
    Ok(LiveRun { pid, session, unseen, end, stop, keeper: Some(keeper), _passing_on: passing_on })
}

impl LiveRun {
    /// The session's directory.
    pub fn directory(&self) -> &Path {
        self.session.path()
    }

    /// The first process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Why nothing of the first program will be seen, in a sentence, if that is so.
    pub fn unseen(&self) -> Option<&str> {
        self.unseen.as_deref()
    }

    /// Waits for the program's end, at most so long; how it ended, if it has.
    pub fn wait(&self, longest: Duration) -> Option<ExitStatus> {
        let status = self.end.status.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.end.came.wait_timeout_while(status, longest, |status| status.is_none());
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.session.page().closed.store(1, Ordering::Relaxed);
        self.session.doorbell().ring();
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

/// A process that has a file of ours.
struct Kept {
    file: MappedFile,
    pid: u32,
    /// `None` if it had ended before it was looked for.
    lifetime: Option<Lifetime>,
}

struct Keeper {
    session: Arc<SessionFiles>,
    clock: ClockSource,
    stop: Arc<AtomicBool>,
    spares: Spares,
    kept: Vec<Kept>,
    gone: VecDeque<MappedFile>,
    swept: Instant,
}

impl Keeper {
    fn new(session: Arc<SessionFiles>, clock: ClockSource, stop: Arc<AtomicBool>) -> Keeper {
        Keeper {
            session,
            clock,
            stop,
            spares: Spares::none(),
            kept: Vec::new(),
            gone: VecDeque::new(),
            swept: Instant::now(),
        }
    }

    fn run(mut self) {
        while !self.stop.load(Ordering::Acquire) {
            let heard = self.session.page().doorbell.load(Ordering::Acquire);
            self.adopt();
            self.refill();
            for kept in &mut self.kept {
                let _ = grow(&mut kept.file);
            }
            self.session.end_round();
            self.part_with(|kept| kept.is_gone());
            if self.swept.elapsed() >= SWEEP {
                self.swept = Instant::now();
                self.kept
                    .iter()
                    .for_each(|kept| end_vanished(kept.pid, kept.file.parts(), self.clock.ticks()));
            }
            self.sleep(heard);
        }
    }

    /// Processes that are gone, or have executed another program.
    fn part_with(&mut self, is_gone: impl Fn(&Kept) -> bool) {
        for kept in self.kept.extract_if(.., |kept| is_gone(kept)) {
            let header = kept.file.parts().header();
            // Who is killed does not say when.
            let _ = header.end.compare_exchange(0, self.clock.ticks(), Ordering::Relaxed, Ordering::Relaxed);
            self.gone.push_back(kept.file);
        }
        let surplus = self.gone.len().saturating_sub(MOST_GONE);
        self.gone.drain(..surplus);
    }

    fn refill(&mut self) {
        // Processes that find no file are not shown.
        let _ = self.spares.refill(&self.session);
    }

    /// A process that executes another program goes on under its id, with another file.
    fn adopt(&mut self) {
        let is_taken = |file: &MappedFile| {
            file.parts().header().state.load(Ordering::Acquire) != ProcessState::Spare as u32
        };
        let (taken, spares) =
            std::mem::take(&mut self.spares.files).into_iter().partition::<Vec<_>, _>(is_taken);
        self.spares.files = spares;
        for file in taken {
            let pid = file.parts().header().pid.load(Ordering::Relaxed);
            let lifetime = Lifetime::of(holdup_kernel::Pid(pid)).ok();
            self.part_with(|kept| kept.pid == pid);
            self.kept.push(Kept { file, pid, lifetime });
        }
    }

    fn sleep(&self, heard: u32) {
        let page = self.session.page();
        page.recorder_waits.store(1, Ordering::SeqCst);
        let timeout = rustix::time::Timespec { tv_sec: 0, tv_nsec: IDLE.as_nanos() as _ };
        let _ = futex::wait(&page.doorbell, futex::Flags::empty(), heard, Some(&timeout));
        page.recorder_waits.store(0, Ordering::Relaxed);
    }
}

impl Kept {
    fn is_gone(&self) -> bool {
        self.lifetime.as_ref().is_none_or(Lifetime::has_ended)
    }
}

/// Reserves more slots where half of them are in use.
fn grow(file: &mut MappedFile) -> io::Result<()> {
    let slots = file.reserved_slots();
    if file.parts().header().taken_slots.load(Ordering::Relaxed).min(slots) * 2 >= slots {
        file.reserve_slots(slots * 2)
    } else {
        Ok(())
    }
}

/// Ends threads that have left by a bare system call, which nobody told: they would count as active for ever.
fn end_vanished(pid: u32, parts: ProcessFile, now: u64) {
    let is_there = |tid: u32| Path::new(&format!("/proc/{pid}/task/{tid}")).exists();
    let counted = parts.live_slots().filter_map(|slot| {
        let is_counted = slot.live.load(Ordering::Acquire) != 0 && slot.live_cell.doing() != Doing::Nobody;
        is_counted.then(|| (slot, slot.tid.load(Ordering::Relaxed)))
    });
    let (there, gone) = counted.partition::<Vec<_>, _>(|(_, tid)| is_there(*tid));
    // If none is there, the program numbers its threads otherwise than we do (a container's ids).
    if !there.is_empty() {
        gone.iter().for_each(|(slot, _)| slot.live_cell.ends(&parts.header().live, now));
    }
}
