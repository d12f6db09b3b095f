//! A session as surveys.

use std::collections::BTreeMap;
use std::fs;

use holdup_trace::wire::{CallCode, ObjectCode};
use rustix::time::{ClockId, clock_gettime};

use crate::live::{Live, LiveProcess};
use crate::snapshot::{Ended, State, ThreadAtEnd};
use crate::survey::{Doing, Others, ProcessSeen, Survey, ThreadSeen};

/// Processes that are remembered after their end.
const MOST_ENDED: usize = 64;

/// The processes of a session, also those that have ended.
pub struct Followed {
    live: Live,
    /// The first process and what its program is called, should it end before its name can be read.
    first: (u32, String),
    /// By number.
    processes: BTreeMap<u32, ProcessSeen>,
}

impl Followed {
    /// Those that there are and will be. `first` is the first of them and the name of its program.
    pub fn new(live: Live, first: (u32, String)) -> Followed {
        Followed { live, first, processes: BTreeMap::new() }
    }

    /// What is known now.
    pub fn survey(&mut self) -> Survey {
        self.live.refresh();
        for process in self.processes.values_mut() {
            process.has_ended = true;
        }
        for process in self.live.take_gone() {
            let known = self.processes.get(&process.number()).map(|process| process.name.clone());
            let called = || if process.pid() == self.first.0 { self.first.1.clone() } else { String::new() };
            let seen = seen_at_end(&process, known.unwrap_or_else(called));
            self.processes.insert(seen.number, seen);
        }
        for process in self.live.processes() {
            let seen = seen(process);
            self.processes.insert(seen.number, seen);
        }
        for process in self.processes.values_mut().filter(|process| process.has_ended) {
            process.threads.iter_mut().for_each(|thread| thread.state = Doing::Ended);
        }
        let ended = self.processes.values().filter(|process| process.has_ended);
        let surplus = ended.clone().count().saturating_sub(MOST_ENDED);
        let forgotten: Vec<u32> = ended.take(surplus).map(|process| process.number).collect();
        forgotten.iter().for_each(|number| _ = self.processes.remove(number));
        let now = clock_gettime(ClockId::Monotonic);
        let at_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        Survey { at_ns, processes: self.processes.values().cloned().collect() }
    }
}

fn seen(process: &LiveProcess) -> ProcessSeen {
    let (pid, snapshot) = (process.pid(), process.snapshot());
    let threads: Vec<ThreadSeen> = snapshot
        .threads
        .iter()
        .map(|thread| ThreadSeen {
            number: thread.number,
            tid: thread.tid,
            name: thread.name.to_string(),
            state: doing(thread.state),
            criticality_ns: thread.criticality_ns,
            active_ns: thread.active_ns,
            changes: thread.changes,
            ended_ns: None,
        })
        .collect();
    let main = threads.iter().find(|thread| thread.tid == pid).map(|thread| thread.name.clone());
    let name = main.unwrap_or_else(|| {
        fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
    });
    ProcessSeen {
        pid,
        name,
        age_ns: snapshot.at_ns,
        has_ended: false,
        number: process.number(),
        others: together(snapshot.ended),
        threads,
    }
}

/// A process that is gone, with all that is known of each of its threads. Threads whose name nobody has read have that of
/// their process, as the kernel has it until they are given another.
fn seen_at_end(process: &LiveProcess, name: String) -> ProcessSeen {
    let at_end = process.at_end();
    let thread = |thread: ThreadAtEnd| ThreadSeen {
        number: thread.number,
        tid: thread.tid,
        name: thread.name.map_or_else(|| name.clone(), |name| name.to_string()),
        state: Doing::Ended,
        criticality_ns: thread.criticality_ns,
        active_ns: thread.active_ns,
        changes: thread.changes,
        ended_ns: Some(thread.ended_ns),
    };
    ProcessSeen {
        pid: process.pid(),
        age_ns: at_end.at_ns,
        has_ended: true,
        number: process.number(),
        others: together(at_end.others),
        threads: at_end.threads.into_iter().map(thread).collect(),
        name,
    }
}

fn together(ended: Ended) -> Others {
    Others {
        threads: ended.threads,
        criticality_ns: ended.criticality_ns,
        active_ns: ended.active_ns,
        changes: ended.changes,
    }
}

fn doing(state: State) -> Doing {
    let word = match state {
        State::Active => return Doing::Active,
        State::Team => "its team",
        State::Waits(object) => match object {
            ObjectCode::Mutex => "mutex",
            ObjectCode::RwLock => "read-write lock",
            ObjectCode::SpinLock => "spin lock",
            ObjectCode::Condition => "condition",
            ObjectCode::Barrier => "barrier",
            ObjectCode::Semaphore => "semaphore",
            ObjectCode::ThreadEnd => "thread",
            ObjectCode::Once => "initialization",
            ObjectCode::Futex => "futex",
            ObjectCode::Critical => "critical section",
            ObjectCode::OmpLock => "OpenMP lock",
            ObjectCode::Ordered => "its turn",
            ObjectCode::Messages => "messages",
            ObjectCode::Room => "room for messages",
        },
        State::Calls(call) => match call {
            CallCode::Read => "reads",
            CallCode::Write => "writes",
            CallCode::Receive => "receives",
            CallCode::Send => "sends",
            CallCode::Accept => "accepts",
            CallCode::Connect => "connects",
            CallCode::Poll => "polls",
            CallCode::Sleep => "sleeps",
            CallCode::Sync => "syncs a file",
            CallCode::WaitChild => "child process",
            CallCode::FileLock => "file lock",
            CallCode::Signal => "signal",
        },
    };
    Doing::Waits(word.to_owned())
}
