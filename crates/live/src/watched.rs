//! A process that runs already, followed from outside.

mod pace;
mod proc;
mod table;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holdup_kernel::{KernelError, Kind, Lifetime, Linux, Pid, Processes, Waited, Wanted, Watch};
use rustix::time::{ClockId, clock_gettime};

use crate::survey::Survey;
use pace::{Looks, Pace, Rate};
use table::Table;

/// How often the kernel's records are read.
const TICK: Duration = Duration::from_millis(50);
/// How often it is listed which threads there are, while only looks tell.
const LIST_INTERVAL: Duration = Duration::from_millis(100);
/// How often it is listed which processes there are, while only looks tell.
const FAMILY_INTERVAL: Duration = Duration::from_secs(1);
/// Room for the kernel's records on each processor, in bytes.
const RING_BYTES: usize = 256 << 10;

/// What the figures come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// The kernel's record of each context switch.
    Switches {
        /// Wake-ups are recorded too: a thread that waits for a core counts from its wake-up on, else from when it gets one.
        wakings: bool,
    },
    /// Looks at which threads could run: an estimate.
    Looks {
        /// Why no more is had.
        why: String,
    },
}

/// A process that is followed, with those that it starts.
#[derive(Debug)]
pub struct Watched {
    shared: Arc<Shared>,
    process: Lifetime,
    worker: Option<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    table: Mutex<Table>,
    means: Mutex<Means>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("means", &self.means).finish_non_exhaustive()
    }
}

impl Watched {
    /// Begins to follow process `pid`; by looks only if `looks_only`. Nothing of it is stopped or changed.
    ///
    /// # Errors
    /// [`KernelError::NoProcess`] if there is none. That the kernel's records may not be had is none: looks do without.
    pub fn follow(pid: u32, looks_only: bool) -> Result<Watched, KernelError> {
        let process = Lifetime::of(Pid(pid)).map_err(|_| KernelError::NoProcess { pid: Pid(pid) })?;
        let mut table = Table::new(Processes::here(), now_ns());
        let opened = if looks_only { Err("they were asked for".to_owned()) } else { events(pid)? };
        let (watch, means) = match opened {
            Ok((watch, wakings)) => (Some(watch), Means::Switches { wakings }),
            Err(why) => (None, Means::Looks { why }),
        };
        let family = Processes::here().family_of(Pid(pid)).unwrap_or_default();
        match watch {
            Some(_) => table.take_stock(&family, now_ns()),
            None => {
                table.list(&family, now_ns());
                table.begin_looks(now_ns());
            }
        }
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            table: Mutex::new(table),
            means: Mutex::new(means),
        });
        let worker = Worker { shared: Arc::clone(&shared), root: Pid(pid), watch };
        // Where no thread can be had, the figures stand still.
        let worker = std::thread::Builder::new().name("holdup live".into()).spawn(move || worker.run()).ok();
        Ok(Watched { shared, process, worker })
    }

    /// What is known now; it is at most 0.1 s old.
    pub fn survey(&self) -> Survey {
        self.shared.table().survey()
    }

    /// What the figures come from at present.
    pub fn means(&self) -> Means {
        self.shared.means.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The process has ended.
    pub fn has_ended(&self) -> bool {
        self.process.has_ended()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        // It sleeps for a tick at most; a panic in it has been told.
        self.worker.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_means(&self, means: Means) {
        *self.means.lock().unwrap_or_else(PoisonError::into_inner) = means;
    }
}

/// The kernel's records of a process and its descendants, switched on; or why there are none.
fn events(pid: u32) -> Result<Result<(Watch, bool), String>, KernelError> {
    let wanted = Wanted { switches: true, samples: None, wakings: true, ring_bytes: RING_BYTES };
    let watch = match Watch::over_process(&Linux, Pid(pid), wanted) {
        Ok(watch) => watch,
        Err(error @ KernelError::NoProcess { .. }) => return Err(error),
        Err(error) => return Ok(Err(error.to_string())),
    };
    if let Some((_, refusal)) = watch.refused().iter().find(|(kind, _)| *kind == Kind::Switches) {
        return Ok(Err(refusal.to_string()));
    }
    let wakings = watch.records_wakings();
    Ok(watch.enable().map(|()| (watch, wakings)).map_err(|error| error.to_string()))
}

/// What follows it.
struct Worker {
    shared: Arc<Shared>,
    root: Pid,
    watch: Option<Watch>,
}

impl Worker {
    fn run(mut self) {
        match self.watch.take() {
            Some(watch) => self.follow_events(watch),
            None => self.look(None),
        }
    }

    fn stops(&self) -> bool {
        self.shared.stop.load(Ordering::Acquire)
    }

    fn follow_events(&self, mut watch: Watch) {
        let wakings = watch.records_wakings();
        let mut rate = Rate::new(now_ns());
        while !self.stops() {
            let ended = watch.wait(TICK) == Waited::Ended;
            let now = now_ns();
            let mut table = self.shared.table();
            watch.drain(|event| table.take(&event));
            table.is_known_to(now);
            let switches = table.take_switches();
            drop(table);
            if ended {
                // The last of them is gone, and nothing more will come.
                self.shared.table().keep_only(&[], now_ns());
                return;
            }
            rate.count(switches);
            if let Pace::Rest(length) = rate.decide(now) {
                let mut table = self.shared.table();
                watch.suspend(|event| table.take(&event));
                table.begin_looks(now_ns());
                table.take_switches();
                drop(table);
                self.shared.set_means(Means::Looks { why: Rate::sentence() });
                self.look(Some(length));
                if self.stops() {
                    return;
                }
                let living = self.shared.table().living();
                if let Err(error) = watch.resume(&Linux, living) {
                    self.shared.set_means(Means::Looks { why: error.to_string() });
                    return self.look(None);
                }
                let family = self.family();
                let mut table = self.shared.table();
                table.count();
                table.take_stock(&family, now_ns());
                drop(table);
                self.shared.set_means(Means::Switches { wakings });
                rate.begin(now_ns());
            }
        }
    }

    /// Looks again and again: for so long, or until it is told to stop.
    fn look(&self, length: Option<Duration>) {
        let begin = Instant::now();
        let (mut listed, mut counted) = (begin, begin);
        let mut looks = Looks::new(now_ns());
        let mut family = self.family();
        while !self.stops() && length.is_none_or(|length| begin.elapsed() < length) {
            let started = Instant::now();
            let mut table = self.shared.table();
            if counted.elapsed() >= FAMILY_INTERVAL {
                counted = started;
                family = self.family();
                table.keep_only(&family, now_ns());
            }
            if listed.elapsed() >= LIST_INTERVAL {
                listed = started;
                table.list(&family, now_ns());
            }
            table.look(now_ns());
            drop(table);
            std::thread::sleep(looks.pause(started.elapsed()));
        }
    }

    /// The process and its descendants; nobody where it has ended.
    fn family(&self) -> Vec<Pid> {
        let proc = Processes::here();
        let there = proc.threads(self.root).is_ok_and(|threads| !threads.is_empty());
        if there { proc.family_of(self.root).unwrap_or_default() } else { Vec::new() }
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
