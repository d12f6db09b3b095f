//! Events of a target, opened, and their records.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use crate::abilities::Abilities;
use crate::attributes::{Attributes, Kind, Sampling, Start, Target};
use crate::cpu_ring::{CpuRing, rings};
use crate::descriptors;
use crate::error::KernelError;
use crate::event::Event;
use crate::ids::{Pid, Tid};
use crate::linux;
use crate::parse::parse;
use crate::records::Cut;
use crate::refusal::Refusal;
use crate::sources::Sources;
use crate::system::System;
use crate::threads::Processes;

/// What to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Switches in and out.
    pub switches: bool,
    /// Samples of what runs.
    pub samples: Option<Sampling>,
    /// Who makes whom runnable.
    pub wakings: bool,
    /// Room for records on each processor, in bytes: a power of two. Less is taken where less is allowed.
    pub ring_bytes: usize,
}

impl Default for Wanted {
    /// Everything, with 2 MiB for each processor.
    fn default() -> Self {
        Wanted { switches: true, samples: Some(Sampling::default()), wakings: true, ring_bytes: 2 << 20 }
    }
}

/// The opened events of a target: records come from [`Watch::drain`]. Dropping it closes them all.
#[derive(Debug)]
pub struct Watch {
    rings: Vec<CpuRing>,
    sources: Sources,
    refused: Vec<(Kind, Refusal)>,
    kinds: Vec<Attributes>,
    ring_bytes: usize,
    joined: Vec<u8>,
    former_limit: Option<u64>,
    /// Opened to see what can be; closed once the events are there.
    trials: Vec<OwnedFd>,
    /// The events of threads are closed.
    suspended: bool,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// There are many records (a quarter of a ring), or the time is over.
    Go,
    /// Every thread of the target has ended. What they did can still be drained.
    Ended,
}

/// What a drain has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Records that were read, including those that are not handed out.
    pub records: u64,
    /// Records of unknown types.
    pub unknown: u64,
    /// Bytes that are no records. There are none unless the kernel, or this crate, has a fault.
    pub rubbish_bytes: u64,
}

impl Watch {
    /// Events of all that the calling thread starts from now on, each beginning with its exec; those of its children
    /// inherit them. Nothing of the calling process itself is recorded.
    ///
    /// Threads and programs that this thread starts for other purposes inherit the events too, and such programs are
    /// recorded: so open it on a thread that starts the one program and ends. (The events live on; and only when that
    /// thread has ended does [`Watch::wait`] notice the target's end.) A program that gains privileges by its exec
    /// (set-user-id, unreadable file) drops out there.
    pub fn over_children(system: &impl System, wanted: Wanted) -> Result<Watch, KernelError> {
        let mut watch = Watch::prepare(system, wanted, Start::AtExec, Some(Pid::own()))?;
        watch.allow_descriptors(1)?;
        watch.add(system, Target::CallingThread).map_err(|failure| failure.of(Pid::own()))?;
        watch.trials.clear();
        Ok(watch)
    }

    /// Events of all threads of a process, and of all that these start. Nothing is recorded before [`Watch::enable`].
    ///
    /// Which threads run at that moment is not told: the first switch of such a thread is one out.
    pub fn over_process(system: &impl System, pid: Pid, wanted: Wanted) -> Result<Watch, KernelError> {
        let mut watch = Watch::prepare(system, wanted, Start::WhenEnabled, None)?;
        watch.add_process(system, pid)?;
        watch.trials.clear();
        Ok(watch)
    }

    /// Closes all events of threads, and hands out what they have written: the target goes on as if it had never been
    /// recorded.
    ///
    /// Events that are switched off still cost each switch of a thread about 0.5 µs. Closed ones cost 0.2 µs as long as
    /// anybody has events of threads open; where nobody has, the kernel leaves its path for them after a second.
    pub fn suspend(&mut self, each: impl FnMut(Event<'_>)) -> Drained {
        for ring in &mut self.rings {
            ring.events.clear();
            ring.alive = 0;
        }
        let drained = self.drain(each);
        self.suspended = true;
        self.sources.clear();
        if self.rings.iter().all(|ring| ring.sampler.is_none()) {
            self.rings.clear();
        }
        drained
    }

    /// From now on what runs is sampled by the timers of processors, not of threads, while events are suspended as well:
    /// of all programs, so the caller has to choose. False where it is not allowed, events are not suspended, or samples
    /// were not wanted or are taken so already; then all stays as it was.
    pub fn sample_processors(&mut self, system: &impl System) -> bool {
        let samples = self.kinds.iter().position(|attributes| attributes.kind == Kind::Samples);
        let Some(own) = samples.filter(|_| self.suspended) else { return false };
        let before = self.kinds[own];
        let of_processor = Attributes {
            kernel: true,
            tasks: false,
            switches: false,
            of_processor: true,
            start: Start::WhenEnabled,
            ..before
        };
        let opened = rings(system, self.ring_bytes).ok().and_then(|mut rings| {
            for ring in &mut rings {
                let event = system.open(&of_processor, Target::Processor, ring.cpu).ok()?;
                linux::redirect(event.as_fd(), ring.event()).ok()?;
                ring.sampler = Some((Kind::Samples, event));
            }
            Some(rings)
        });
        let Some(rings) = opened else { return false };
        let samplers = || rings.iter().filter_map(|ring| ring.sampler.as_ref());
        let ids: Option<Vec<u64>> =
            samplers().map(|(_, event)| linux::identifier(event.as_fd()).ok()).collect();
        let Some(ids) =
            ids.filter(|_| samplers().all(|(_, event)| linux::switch(event.as_fd(), true).is_ok()))
        else {
            return false;
        };
        for id in ids {
            self.sources.add_lasting(id, Kind::Samples);
        }
        self.rings = rings;
        self.kinds[own] = Attributes { kind: Kind::Tasks, kernel: false, ..before };
        true
    }

    /// Opens events again, of all threads of these processes (those that have ended meanwhile are passed over), and
    /// switches them on.
    pub fn resume(
        &mut self,
        system: &impl System,
        processes: impl IntoIterator<Item = Pid>,
    ) -> Result<(), KernelError> {
        if self.rings.is_empty() {
            self.rings = rings(system, self.ring_bytes)?;
        }
        self.suspended = false;
        for attributes in &mut self.kinds {
            attributes.start = Start::WhenEnabled;
        }
        for pid in processes {
            match self.add_process(system, pid) {
                Ok(()) | Err(KernelError::NoProcess { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.enable()
    }

    /// What was wanted and is refused here, and why. The rest is recorded.
    pub fn refused(&self) -> &[(Kind, Refusal)] {
        &self.refused
    }

    /// Wakings are recorded.
    pub fn records_wakings(&self) -> bool {
        self.kinds.iter().any(|attributes| attributes.kind == Kind::Wakings)
    }

    /// The room for records on each processor, in bytes.
    pub fn ring_bytes(&self) -> usize {
        self.ring_bytes
    }

    /// The soft limit of open files as it was, if it had to be raised: children inherit it, and programs are known that
    /// do not expect a high one.
    pub fn former_descriptor_limit(&self) -> Option<u64> {
        self.former_limit
    }

    /// Begins to record everything. Over children this happens by itself, at their exec.
    pub fn enable(&self) -> Result<(), KernelError> {
        self.switch(|_| true, true)
    }

    /// Ceases to record.
    pub fn disable(&self) -> Result<(), KernelError> {
        self.switch(|_| true, false)
    }

    /// Switches only the wakings on or off.
    pub fn set_wakings(&self, on: bool) -> Result<(), KernelError> {
        self.switch(|kind| kind == Kind::Wakings, on)
    }

    fn switch(&self, which: impl Fn(Kind) -> bool, on: bool) -> Result<(), KernelError> {
        for (kind, event) in self.rings.iter().flat_map(|ring| ring.events.iter().chain(&ring.sampler)) {
            if which(*kind) {
                let action = if on { "enable" } else { "disable" };
                linux::switch(event.as_fd(), on).map_err(|error| KernelError::Event { action, error })?;
            }
        }
        Ok(())
    }

    /// Hands out the records of all processors by time, up to the present moment. Those of one processor stay in the
    /// order in which the kernel wrote them, even where an interrupt made a later one overtake an earlier one by a few
    /// microseconds. Only records that were just being written at the moment of the last call may come late.
    pub fn drain(&mut self, mut each: impl FnMut(Event<'_>)) -> Drained {
        let Watch { rings, sources, joined, .. } = self;
        let mut drained = Drained::default();
        let now = clock_gettime(ClockId::Monotonic);
        // Whatever a head below hides was written later, and will be handed out by the next call.
        let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let mut next: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::with_capacity(rings.len());
        for (index, ring) in rings.iter_mut().enumerate() {
            ring.look();
            next.extend(ring.time_of_next(sources, joined).map(|time| Reverse((time, index))));
        }
        while let Some(Reverse((time, index))) = next.pop() {
            let ring = &mut rings[index];
            // As long as no other processor's next record is earlier.
            let until = next.peek().map_or(now, |Reverse((other, _))| now.min(*other));
            let mut time = Some(time);
            while time.is_some_and(|time| time <= until) {
                time = None;
                let Some(cut) = ring.cut(joined) else { break };
                match cut {
                    Cut::Record(record) => {
                        drained.records += 1;
                        match parse(record, sources) {
                            Some(parsed) if sources.admit(&parsed) => each(parsed.event),
                            Some(_) => {}
                            None => drained.unknown += 1,
                        }
                    }
                    Cut::Rubbish(bytes) => drained.rubbish_bytes += bytes as u64,
                }
                ring.pass();
                time = ring.time_of_next(sources, joined);
            }
            next.extend(time.filter(|time| *time <= now).map(|time| Reverse((time, index))));
        }
        for ring in rings {
            ring.give_back();
        }
        drained
    }

    /// Waits until a ring is a quarter full, every thread of the target has ended, or the time is over. While events are
    /// suspended, only the latter.
    pub fn wait(&mut self, timeout: Duration) -> Waited {
        let suspended = self.suspended;
        let mut polled: Vec<PollFd<'_>> = self
            .rings
            .iter()
            .filter_map(|ring| if suspended { ring.sampler.as_ref() } else { ring.events.get(ring.alive) })
            .map(|(_, event)| PollFd::new(event, PollFlags::IN))
            .collect();
        if polled.is_empty() && !suspended {
            return Waited::Ended;
        }
        // An interruption by a signal is as good a reason to look as any.
        let timeout = Timespec::try_from(timeout).ok();
        let _interrupted = poll(&mut polled, timeout.as_ref());
        let ended: Vec<bool> = polled.iter().map(|fd| fd.revents().contains(PollFlags::HUP)).collect();
        let waiting = self.rings.iter_mut().filter(|ring| ring.alive < ring.events.len());
        for (ring, _) in waiting.zip(ended).filter(|(_, ended)| *ended) {
            ring.alive += 1;
        }
        Waited::Go
    }

    /// Finds out what can be opened, and makes a ring for each processor.
    fn prepare(
        system: &impl System,
        wanted: Wanted,
        start: Start,
        unwanted: Option<Pid>,
    ) -> Result<Watch, KernelError> {
        let (abilities, trials) = Abilities::with_trials(system, wanted.wakings);
        if let Err(refusal) = abilities.kind(Kind::Tasks) {
            return Err(KernelError::Refused { refusal: refusal.clone() });
        }
        let layout = abilities.waking_layout();
        let mut refused = Vec::new();
        let mut is_allowed = |kind: Kind| match abilities.kind(kind) {
            Ok(()) => true,
            Err(refusal) => {
                refused.push((kind, refusal.clone()));
                false
            }
        };
        let switches = wanted.switches && is_allowed(Kind::Switches);
        let samples = wanted.samples.filter(|_| is_allowed(Kind::Samples));
        let kind = if samples.is_some() { Kind::Samples } else { Kind::Tasks };
        let mut kinds = vec![Attributes {
            sampling: samples.unwrap_or_default(),
            kernel: samples.is_some() && abilities.kernel_samples.is_ok(),
            tasks: true,
            switches,
            ..Attributes::new(kind, start)
        }];
        if wanted.wakings && is_allowed(Kind::Wakings) {
            let tracepoint = layout.map_or(0, |layout| layout.id);
            kinds.push(Attributes { tracepoint, kernel: true, ..Attributes::new(Kind::Wakings, start) });
        }
        let stacks = wanted.samples.is_some_and(|sampling| sampling.stack_bytes > 0);
        let rings = rings(system, wanted.ring_bytes)?;
        Ok(Watch {
            ring_bytes: rings.first().map_or(0, |ring| ring.bytes()),
            rings,
            sources: Sources::new(layout, stacks, unwanted),
            refused,
            kinds,
            joined: Vec::new(),
            former_limit: None,
            trials,
            suspended: false,
        })
    }

    /// Opens the events of all threads of a process.
    fn add_process(&mut self, system: &impl System, pid: Pid) -> Result<(), KernelError> {
        let processes = Processes::here();
        let mut seen = BTreeSet::new();
        let mut opened = false;
        // A thread made by one whose events are open inherits them; one made by any other is in the next list.
        loop {
            let threads = processes.threads(pid).map_err(|_| KernelError::NoProcess { pid })?;
            let fresh: Vec<Tid> = threads.into_iter().filter(|tid| seen.insert(*tid)).collect();
            if fresh.is_empty() {
                break;
            }
            self.allow_descriptors(fresh.len())?;
            for tid in fresh {
                match self.add(system, Target::Thread(tid)) {
                    Ok(()) => opened = true,
                    // It ended since it was listed.
                    Err(Failure::Gone) => {}
                    Err(failure) => return Err(failure.of(pid)),
                }
            }
        }
        if opened { Ok(()) } else { Err(KernelError::NoProcess { pid }) }
    }

    /// Makes room for the descriptors of so many threads.
    fn allow_descriptors(&mut self, threads: usize) -> Result<(), KernelError> {
        let former = descriptors::allow(threads * self.kinds.len() * self.rings.len())?;
        self.former_limit = self.former_limit.or(former);
        Ok(())
    }

    /// Opens every kind of event of a target on every processor.
    fn add(&mut self, system: &impl System, target: Target) -> Result<(), Failure> {
        let owner = match target {
            Target::CallingThread | Target::Processor => None,
            Target::Thread(tid) => Some(tid),
        };
        for ring in &mut self.rings {
            for attributes in &self.kinds {
                let event = match system.open(attributes, target, ring.cpu) {
                    Ok(event) => event,
                    // The processor was taken off since they were listed.
                    Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue,
                    Err(error) => return Err(Failure::new(error)),
                };
                let failed = |action| move |error| Failure::Error(KernelError::Event { action, error });
                linux::redirect(event.as_fd(), ring.event()).map_err(failed("redirect"))?;
                let id = linux::identifier(event.as_fd()).map_err(failed("identify"))?;
                self.sources.add(id, attributes.kind, owner);
                ring.events.push((attributes.kind, event));
            }
        }
        Ok(())
    }
}

/// Why a target's events cannot be opened, although events of our own can.
enum Failure {
    Gone,
    Denied,
    Error(KernelError),
}

impl Failure {
    fn new(error: io::Error) -> Failure {
        match error.raw_os_error() {
            Some(libc::ESRCH) => Failure::Gone,
            Some(libc::EACCES | libc::EPERM) => Failure::Denied,
            _ => Failure::Error(KernelError::Event { action: "open", error }),
        }
    }

    fn of(self, pid: Pid) -> KernelError {
        match self {
            Failure::Gone => KernelError::NoProcess { pid },
            Failure::Denied => KernelError::NotYours { pid },
            Failure::Error(error) => error,
        }
    }
}
