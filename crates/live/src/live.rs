//! A session and its processes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use holdup_trace::live::{Doing, FRACTION_BITS, Reading, ThreadReading, counter};
use holdup_trace::shared::{LIVE, MONOTONIC_CLOCK, ProcessState, SESSION_VARIABLE, Slot};
use holdup_trace::wire::{CallCode, NO_THREAD, ObjectCode};
use rustix::time::{ClockId, clock_gettime};

use crate::files::Mapped;
use crate::snapshot::{AtEnd, Ended, Snapshot, State, ThreadAtEnd, ThreadNow};

/// Processes that are gone and were not asked for are forgotten beyond so many.
const MOST_GONE: usize = 64;
/// Names are read again after so long.
const NAMES_LAST: Duration = Duration::from_secs(1);

/// Why a session cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// It is not there, or not ours.
    #[error("{}: the session cannot be read ({error}); it ends with the holdup that made it", path.display())]
    Unreadable {
        /// Its directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It was made by another version.
    #[error("{}: the session is that of another version of holdup; use the same one", path.display())]
    Version {
        /// Its directory.
        path: PathBuf,
    },
    /// Criticality is not kept in it.
    #[error("{}: the session keeps no criticality; start the program with holdup top or holdup steer", path.display())]
    NotLive {
        /// Its directory.
        path: PathBuf,
    },
}

/// A session that keeps criticality.
pub struct Live {
    directory: PathBuf,
    session: Mapped,
    clock: Clock,
    /// The number of the next process file.
    next: u32,
    processes: Vec<LiveProcess>,
    gone: Vec<LiveProcess>,
}

/// The session's clock.
#[derive(Clone, Copy)]
struct Clock {
    monotonic: bool,
    ticks_per_second: u64,
}

impl Clock {
    fn now(self) -> u64 {
        if self.monotonic {
            let now = clock_gettime(ClockId::Monotonic);
            now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
        } else {
            counter()
        }
    }

    fn nanos(self, ticks: u64) -> u64 {
        (u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second)) as u64
    }

    fn nanos_of_fixed(self, fixed: u64) -> u64 {
        ((u128::from(fixed) * 1_000_000_000 / u128::from(self.ticks_per_second)) >> FRACTION_BITS) as u64
    }
}

impl Live {
    /// Opens the session in a directory.
    ///
    /// # Errors
    /// [`LiveError`] if there is none that keeps criticality.
    pub fn open(directory: &Path) -> Result<Live, LiveError> {
        let path = || directory.to_owned();
        let unreadable = |error| LiveError::Unreadable { path: path(), error };
        let session = Mapped::session(&directory.join("session"))
            .map_err(unreadable)?
            .ok_or_else(|| LiveError::Version { path: path() })?;
        let page = session.page();
        if page.flags & LIVE == 0 {
            return Err(LiveError::NotLive { path: path() });
        }
        let clock = Clock {
            monotonic: page.flags & MONOTONIC_CLOCK != 0,
            ticks_per_second: page.ticks_per_second.load(Ordering::Relaxed).max(1),
        };
        let mut live =
            Live { directory: path(), session, clock, next: 0, processes: Vec::new(), gone: Vec::new() };
        live.refresh();
        Ok(live)
    }

    /// The session that a process belongs to, if it was started by holdup and we may look at it.
    pub fn session_of(pid: u32) -> Option<PathBuf> {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let value = environment.split(|byte| *byte == 0).find_map(|entry| {
            entry.strip_prefix(SESSION_VARIABLE.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec)
        })?;
        Some(PathBuf::from(std::ffi::OsString::from_vec(value)))
    }

    /// True once whoever started the program has left: nothing new will come.
    pub fn is_closed(&self) -> bool {
        self.session.page().closed.load(Ordering::Relaxed) != 0
    }

    /// Takes in processes that have begun since, and leaves out those that are gone.
    pub fn refresh(&mut self) {
        let claimed = self.session.page().claimed.load(Ordering::Acquire);
        while self.next < claimed {
            // Without a file it is gone already.
            if let Ok(Some(file)) = Mapped::process(&self.directory.join(format!("p{}", self.next))) {
                let state = file.parts().header().state.load(Ordering::Acquire);
                if state == ProcessState::Spare as u32 {
                    // It has been taken, and is about to be filled in.
                    break;
                }
                let process =
                    LiveProcess { number: self.next, file, clock: self.clock, names: RefCell::default() };
                // A process that executes another program goes on under its id.
                self.gone.extend(self.processes.extract_if(.., |other| other.pid() == process.pid()));
                self.processes.push(process);
            }
            self.next += 1;
        }
        self.gone.extend(self.processes.extract_if(.., |process| !process.is_there()));
        let surplus = self.gone.len().saturating_sub(MOST_GONE);
        self.gone.drain(..surplus);
    }

    /// Those that have gone since the last call, also those that were never among [`Live::processes`].
    pub fn take_gone(&mut self) -> Vec<LiveProcess> {
        std::mem::take(&mut self.gone)
    }

    /// The processes, in the order in which they began.
    pub fn processes(&self) -> &[LiveProcess] {
        &self.processes
    }
}

/// A process of a session.
pub struct LiveProcess {
    number: u32,
    file: Mapped,
    clock: Clock,
    /// By the thread's number: its name, and when it was read.
    names: RefCell<BTreeMap<u32, (Arc<str>, Instant)>>,
}

impl LiveProcess {
    /// Which it is, in the order in which the session's processes began, from 0. Kernel ids are used again, this is not.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Its kernel id.
    pub fn pid(&self) -> u32 {
        self.file.parts().header().pid.load(Ordering::Relaxed)
    }

    /// That of its parent, when it began.
    pub fn parent_pid(&self) -> u32 {
        self.file.parts().header().parent_pid.load(Ordering::Relaxed)
    }

    /// Whether it is a fork that has not executed another program.
    pub fn is_fork(&self) -> bool {
        self.file.parts().header().forked.load(Ordering::Relaxed) != 0
    }

    fn is_there(&self) -> bool {
        let header = self.file.parts().header();
        header.state.load(Ordering::Acquire) != ProcessState::Ended as u32
            && header.executed.load(Ordering::Relaxed) == 0
            && Path::new(&format!("/proc/{}", self.pid())).exists()
    }

    /// What its threads have had up to now. Nobody waits for it: where threads change meanwhile, and again at each new try,
    /// their values are as of slightly different moments.
    pub fn snapshot(&self) -> Snapshot {
        const TRIES: u32 = 4;
        let parts = self.file.parts();
        let block = &parts.header().live;
        let mut tries = 0;
        loop {
            let clock = block.clock.read();
            let ended = (block.ended_threads.load(Ordering::Acquire), self.ended());
            let threads: Vec<(&Slot, ThreadReading)> = parts
                .live_slots()
                .map(|slot| (slot, slot.live_cell.read()))
                .filter(|(_, reading)| reading.doing != Doing::Nobody)
                .collect();
            let now = self.clock.now();
            tries += 1;
            if block.clock.read() == clock || tries == TRIES {
                return self.told(now, clock.at(now), &threads, ended.1);
            }
        }
    }

    /// What each of its threads had in all, once the process is gone: of those that ended before, as long as no other thread
    /// got their place.
    pub fn at_end(&self) -> AtEnd {
        let parts = self.file.parts();
        let header = parts.header();
        let start = header.start.load(Ordering::Relaxed);
        // Whoever is killed says nothing; its keeper does a little later.
        let said = header.end.load(Ordering::Relaxed);
        let end = if said == 0 { self.clock.now() } else { said };
        let clock = header.live.clock.read().at(end);
        let since_start = |ticks: u64| self.clock.nanos(ticks.saturating_sub(start));
        let used = parts.live_slots().map(|slot| (slot, slot.live_cell.read()));
        let mut threads: Vec<ThreadAtEnd> = used
            .filter(|(_, reading)| reading.since != 0)
            .map(|(slot, reading)| {
                let number = slot.thread.load(Ordering::Relaxed);
                let known = self.names.borrow().get(&number).map(|(name, _)| Arc::clone(name));
                let before_the_process = reading.doing == Doing::Nobody;
                ThreadAtEnd {
                    number,
                    tid: slot.tid.load(Ordering::Relaxed),
                    name: known,
                    before_the_process,
                    ended_ns: since_start(if before_the_process { reading.since } else { end }),
                    criticality_ns: self.clock.nanos_of_fixed(reading.criticality_at(clock)),
                    active_ns: self.clock.nanos(reading.active_at(end)),
                    changes: reading.changes,
                }
            })
            .collect();
        threads.sort_by_key(|thread| thread.number);
        threads.dedup_by_key(|thread| thread.number);
        let mut others = self.ended();
        for thread in threads.iter().filter(|thread| thread.before_the_process) {
            others.threads = others.threads.saturating_sub(1);
            others.criticality_ns = others.criticality_ns.saturating_sub(thread.criticality_ns);
            others.active_ns = others.active_ns.saturating_sub(thread.active_ns);
            others.changes = others.changes.saturating_sub(thread.changes);
        }
        AtEnd { at_ns: since_start(end), threads, others }
    }

    fn ended(&self) -> Ended {
        let block = &self.file.parts().header().live;
        Ended {
            threads: block.ended_threads.load(Ordering::Relaxed),
            criticality_ns: self.clock.nanos_of_fixed(block.ended_criticality.load(Ordering::Relaxed)),
            active_ns: self.clock.nanos(block.ended_active.load(Ordering::Relaxed)),
            changes: block.ended_changes.load(Ordering::Relaxed),
        }
    }

    fn told(&self, now: u64, clock: Reading, threads: &[(&Slot, ThreadReading)], ended: Ended) -> Snapshot {
        let pid = self.pid();
        let start = self.file.parts().header().start.load(Ordering::Relaxed);
        let mut all: Vec<ThreadNow> = threads
            .iter()
            .map(|(slot, reading)| {
                let number = slot.thread.load(Ordering::Relaxed);
                let tid = slot.tid.load(Ordering::Relaxed);
                ThreadNow {
                    number,
                    parent: Some(slot.parent.load(Ordering::Relaxed)).filter(|parent| *parent != NO_THREAD),
                    tid,
                    name: self.name(pid, number, tid),
                    state: state(reading.doing),
                    for_ns: self.clock.nanos(now.saturating_sub(reading.since)),
                    criticality_ns: self.clock.nanos_of_fixed(reading.criticality_at(clock)),
                    active_ns: self.clock.nanos(reading.active_at(now)),
                    changes: reading.changes,
                }
            })
            .collect();
        all.sort_by_key(|thread| thread.number);
        all.dedup_by_key(|thread| thread.number);
        if self.names.borrow().len() > 2 * all.len() + 64 {
            let lives = |number: &u32| all.binary_search_by_key(number, |thread| thread.number).is_ok();
            self.names.borrow_mut().retain(|number, _| lives(number));
        }
        Snapshot {
            at_ns: self.clock.nanos(now.saturating_sub(start)),
            active: clock.active(),
            progress_ns: self.clock.nanos_of_fixed(clock.progress),
            threads: all,
            ended,
        }
    }

    fn name(&self, pid: u32, number: u32, tid: u32) -> Arc<str> {
        let mut names = self.names.borrow_mut();
        let known = names.get(&number);
        if let Some((name, read)) = known
            && read.elapsed() < NAMES_LAST
        {
            return Arc::clone(name);
        }
        let read = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok();
        let name = match (read, known) {
            (Some(read), _) => Arc::from(read.trim_end_matches('\n')),
            (None, Some((name, _))) => Arc::clone(name),
            (None, None) => Arc::from(""),
        };
        names.insert(number, (Arc::clone(&name), Instant::now()));
        name
    }
}

fn state(doing: Doing) -> State {
    match doing {
        Doing::Waits(code) => ObjectCode::from_code(code).map_or(State::Team, State::Waits),
        Doing::Calls(code) => CallCode::from_code(code).map_or(State::Team, State::Calls),
        Doing::Active => State::Active,
        Doing::Team | Doing::Nobody => State::Team,
    }
}
