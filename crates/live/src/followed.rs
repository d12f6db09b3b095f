//! A session as surveys.

use std::collections::BTreeMap;
use std::fs;

use holdup_trace::wire::{CallCode, ObjectCode};
use rustix::time::{ClockId, clock_gettime};

use crate::live::{Live, LiveProcess};
use crate::snapshot::State;
use crate::survey::{Doing, Others, ProcessSeen, Survey, ThreadSeen};

/// Processes that are remembered after their end.
const MOST_ENDED: usize = 64;

/// The processes of a session, also those that have ended.
pub struct Followed {
    live: Live,
    /// By number.
    processes: BTreeMap<u32, ProcessSeen>,
}

impl Followed {
    /// Those that there are and will be.
    pub fn new(live: Live) -> Followed {
        Followed { live, processes: BTreeMap::new() }
    }

    /// What is known now.
    pub fn survey(&mut self) -> Survey {
        self.live.refresh();
        for process in self.processes.values_mut() {
            process.has_ended = true;
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
        })
        .collect();
    let main = threads.iter().find(|thread| thread.tid == pid).map(|thread| thread.name.clone());
    let name = main.unwrap_or_else(|| {
        fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
    });
    let ended = snapshot.ended;
    ProcessSeen {
        pid,
        name,
        age_ns: snapshot.at_ns,
        has_ended: false,
        number: process.number(),
        others: Others {
            threads: ended.threads,
            criticality_ns: ended.criticality_ns,
            active_ns: ended.active_ns,
            changes: ended.changes,
        },
        threads,
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
