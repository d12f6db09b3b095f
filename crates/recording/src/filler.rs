//! From single records to the columns of a process.

use holdup_model::{
    Block, BusyLock, Call, Hold, LockCost, Marker, MarkerKind, Mode, Nanos, ObjectUse, Outcome, Process,
    ThreadId, Time, Wait, Wake, WakeCount,
};
use holdup_trace::wire::{
    CallCode, ENDS_BY_TIME, MarkerCode, ObjectCode, OutcomeCode, Record, TIMED_OUT, UNKNOWN,
};

use crate::alone;
use crate::clock::Clock;
use crate::objects::Objects;
use crate::sites::Sites;
use crate::threads::Threads;

/// Fills the columns of a process.
pub(crate) struct Filler<'a> {
    pub clock: &'a Clock,
    pub threads: &'a Threads,
    pub objects: Objects<'a>,
    pub sites: Sites<'a>,
}

impl Filler<'_> {
    pub(crate) fn time(&self, process: &Process, ticks: u64) -> Time {
        self.clock.time(ticks).clamp(process.start, process.end)
    }

    pub(crate) fn take(&mut self, process: &mut Process, thread: Option<ThreadId>, record: &Record<'_>) {
        if let Record::Command { text } = record {
            let bytes: Vec<u8> = text.bytes().collect();
            process.command = bytes
                .split(|byte| *byte == 0)
                .filter(|part| !part.is_empty())
                .map(|part| String::from_utf8_lossy(part).into_owned())
                .collect();
        }
        let clock = self.clock;
        if let Record::Use {
            object,
            kind,
            of_all_threads,
            acquisitions,
            failed_tries,
            timed_holds,
            timed_ticks,
        } = *record
        {
            let object = self.objects.find(process, kind, object, u64::MAX);
            let thread = thread.filter(|_| !of_all_threads);
            let timed_hold = clock.length(timed_ticks);
            process.uses.push(ObjectUse {
                thread,
                object,
                acquisitions,
                failed_tries,
                timed_holds,
                timed_hold,
            });
        }
        let Some(thread) = thread else { return };
        match *record {
            Record::Wait(wait) => {
                let object = if wait.kind == ObjectCode::ThreadEnd {
                    let joined = self.threads.by_handle(wait.object, wait.end);
                    self.objects.end_of(process, joined)
                } else {
                    self.objects.find(process, wait.kind, wait.object, wait.begin)
                };
                let mutex = (wait.mutex != 0)
                    .then(|| self.objects.find(process, ObjectCode::Mutex, wait.mutex, wait.begin));
                let begin = self.time(process, wait.begin);
                let site = self.sites.stack(process, wait.stack);
                process.waits.push(Wait {
                    thread,
                    begin,
                    end: self.time(process, wait.end).max(begin),
                    object,
                    site,
                    mode: mode(wait.shared_mode),
                    outcome: match wait.outcome {
                        OutcomeCode::Granted => Outcome::Granted,
                        OutcomeCode::TimedOut => Outcome::TimedOut,
                        OutcomeCode::Failed => Outcome::Failed,
                        // Had it gone on, its time would have been up.
                        OutcomeCode::Open if wait.owner_tid == ENDS_BY_TIME => Outcome::TimedOut,
                        OutcomeCode::Open => Outcome::Open,
                    },
                    owner: self.threads.by_tid(wait.owner_tid, wait.begin),
                    mutex,
                    cpu_begin: nanos(wait.cpu_begin),
                    cpu_end: nanos(wait.cpu_end),
                    round: None,
                });
            }
            Record::Hold { begin, end, object, kind, shared_mode, waited_for, acquired_at, stack } => {
                let object = self.objects.find(process, kind, object, end);
                let acquired_at = self.sites.code(process, acquired_at);
                let released_at = self.sites.stack(process, stack);
                process.holds.push(Hold {
                    thread,
                    begin: (begin != 0).then(|| self.time(process, begin)),
                    end: self.time(process, end),
                    object,
                    acquired_at,
                    released_at,
                    waited_for,
                    mode: mode(shared_mode),
                });
            }
            Record::Wake { time, object, kind, count, stack } => {
                let object = self.objects.find(process, kind, object, time);
                let site = self.sites.stack(process, stack);
                let count = if count == u32::MAX { WakeCount::All } else { WakeCount::AtMost(count) };
                process.wakes.push(Wake { thread, time: self.time(process, time), object, site, count });
            }
            Record::Block { begin, end, call, descriptor, stack, cpu_begin, cpu_end } => {
                let site = self.sites.stack(process, stack);
                let begin = self.time(process, begin);
                process.blocks.push(Block {
                    thread,
                    begin,
                    end: self.time(process, end).max(begin),
                    call: call_of(call),
                    timed_out: descriptor == TIMED_OUT,
                    site,
                    cpu_begin: nanos(cpu_begin),
                    cpu_end: nanos(cpu_end),
                });
            }
            Record::Marker { time, kind, label } => {
                let label = String::from_utf8_lossy(&label.bytes().collect::<Vec<_>>()).into_owned();
                process.markers.push(Marker {
                    thread,
                    time: self.time(process, time),
                    kind: marker_of(kind),
                    label: (!label.is_empty()).then_some(label),
                });
            }
            Record::Alone(stretch) => process.alone.extend(alone::span(thread, &stretch, clock)),
            Record::BusyLock(lock) => {
                let object = self.objects.find(process, lock.kind, lock.object, u64::MAX);
                let acquisitions = lock.timed.saturating_mul(u64::from(lock.every));
                let all = acquisitions.saturating_add(lock.brief);
                let releasing =
                    u128::from(lock.release_ticks) * u128::from(all) / u128::from(lock.releases.max(1));
                process.busy_locks.push(BusyLock {
                    thread,
                    object,
                    brief: lock.brief,
                    waiting: clock.length(lock.brief_ticks),
                    acquisitions,
                    acquiring: clock.length(lock.ticks.saturating_mul(u64::from(lock.every))),
                    releasing: clock.length(u64::try_from(releasing).unwrap_or(u64::MAX)),
                });
            }
            Record::LockCost(cost) => process.lock_costs.push(LockCost {
                thread,
                acquisitions: cost.timed.saturating_mul(u64::from(cost.every)),
                acquiring: clock.length(cost.ticks.saturating_mul(u64::from(cost.every))),
                hand_overs: cost.hand_overs,
                handing_over: clock.length(cost.hand_over_ticks),
            }),
            _ => {}
        }
    }
}

fn call_of(code: CallCode) -> Call {
    match code {
        CallCode::Read => Call::Read,
        CallCode::Write => Call::Write,
        CallCode::Receive => Call::Receive,
        CallCode::Send => Call::Send,
        CallCode::Accept => Call::Accept,
        CallCode::Connect => Call::Connect,
        CallCode::Poll => Call::Poll,
        CallCode::Sleep => Call::Sleep,
        CallCode::Sync => Call::Sync,
        CallCode::WaitChild => Call::WaitChild,
        CallCode::FileLock => Call::FileLock,
        CallCode::Signal => Call::Signal,
    }
}

fn marker_of(code: MarkerCode) -> MarkerKind {
    match code {
        MarkerCode::RegionBegin => MarkerKind::RegionBegin,
        MarkerCode::RegionEnd => MarkerKind::RegionEnd,
        MarkerCode::Phase => MarkerKind::Phase,
        MarkerCode::WorkBegin => MarkerKind::WorkBegin,
        MarkerCode::WorkEnd => MarkerKind::WorkEnd,
        MarkerCode::SpinBegin => MarkerKind::SpinBegin,
        MarkerCode::SpinEnd => MarkerKind::SpinEnd,
    }
}

pub(crate) fn nanos(cpu: u64) -> Option<Nanos> {
    (cpu != UNKNOWN).then_some(Nanos::new(cpu))
}

fn mode(shared: bool) -> Mode {
    if shared { Mode::Shared } else { Mode::Exclusive }
}
