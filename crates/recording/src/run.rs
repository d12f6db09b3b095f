//! From stored records to the model's columns.

use std::collections::BTreeMap;

use holdup_model::openmp::source_function;
use holdup_model::{
    Block, Call, ExitStatus, Frame, Hold, LockCost, LostEvents, Marker, MarkerKind, Mode, Nanos, ObjectUse,
    Outcome, Process, Run, Site, SiteId, Thread, ThreadId, Time, Wait, Wake, WakeCount,
};
use holdup_trace::wire::{CallCode, MarkerCode, NO_STACK, ObjectCode, OutcomeCode, Record, UNKNOWN};

use crate::alone;
use crate::clock::Clock;
use crate::error::Warning;
use crate::facts::{NamedFrame, NamedStack, Names};
use crate::join::{Member, join};
use crate::kernel::{self, Kernel};
use crate::merge::Merge;
use crate::objects::Objects;
use crate::openmp::{self, CpuTimes};
use crate::reader::{RawProcess, Recording, Sources};
use crate::threads::Threads;

pub(crate) fn run(recording: &Recording, warnings: &[Warning], sources: Sources) -> Run {
    let clock = Clock::new(&recording.session, &recording.samples);
    let last_event = || recording.processes.iter().map(last_tick).max().unwrap_or(recording.session.start);
    let end = match &recording.end {
        Some(end) => end.end.max(recording.session.start),
        None => last_event(),
    };
    let frames = if sources.kernel { recording.kernel.as_slice() } else { &[] };
    let end_ns = match recording.end {
        Some(_) => clock.monotonic(end),
        None => clock.monotonic(end).max(kernel::last_time(frames)),
    };
    let kernel = Kernel::of(frames, end_ns);
    let merge = Merge { kernel: &kernel, names: &recording.image_names, clock: &clock, end: end_ns };
    let mut members: Vec<Member> = Vec::new();
    let mut seen_images = vec![false; kernel.images.len()];
    let mut perturbation = 0.0;
    // The first process may have executed another program, whose file comes later: the last one saw the end.
    let first_pid = recording.processes.first().map(|raw| raw.start.pid);
    let last_image =
        recording.processes.iter().rposition(|raw| !raw.is_empty() && Some(raw.start.pid) == first_pid);
    for (index, raw) in recording.processes.iter().enumerate() {
        if raw.is_empty() || !sources.preload {
            continue;
        }
        let from = (index == 0).then_some(recording.session.start);
        let is_cut = raw.end.as_ref().is_some_and(|facts| facts.executed);
        let until = (Some(index) == last_image && !is_cut).then_some(end);
        let mut process = process(raw, &clock, from, until);
        if process.command.is_empty() && index == 0 {
            // Its own record of it comes late, and not at all where the recording could not be written to its end.
            process.command.clone_from(&recording.session.command);
        }
        if let Some(facts) = &raw.end {
            perturbation += facts.events as f64 * facts.event_ticks;
        }
        let uses = process.uses.iter().fold(0u64, |all, entry| all.saturating_add(entry.acquisitions));
        let keys = raw.shared.iter().map(|shared| (shared.address, shared.key.clone())).collect();
        process.seen_by.preload = true;
        let counted = recording.alone.iter().flat_map(|alone| &alone.counted);
        let of_process = counted
            .filter(|counted| counted.pid == raw.start.pid)
            .map(|counted| alone::count(counted, &clock));
        // Another program that the process executed before or after has its own times.
        let (start, end) = (process.start, process.end);
        process.alone_counts =
            of_process.filter(|count| count.begin >= start && count.begin <= end).collect();
        if let Some(image) = merge.image_at(raw.start.pid, clock.monotonic(raw.start.start)) {
            merge.add(&mut process, image);
            seen_images[image] = true;
        }
        members.push(Member { process, keys });
        perturbation += raw.end.as_ref().map_or(0.0, |facts| facts.use_ticks) * uses as f64;
    }
    let rest: Vec<usize> = (0..kernel.images.len()).filter(|&image| !seen_images[image]).collect();
    for &image in &rest {
        let is_only = members.is_empty() && Some(&image) == rest.last();
        members.extend(merge.process(image, is_only).map(Member::alone));
    }
    members.sort_by_key(|member| member.process.start);
    if let Some(first) = members.first_mut().filter(|first| first.process.command.is_empty()) {
        first.process.command.clone_from(&recording.session.command);
    }
    name_forks(&mut members);
    let processes = join(members);
    let mut all: Vec<String> = warnings.iter().map(Warning::to_string).collect();
    all.extend(recording.end.iter().flat_map(|end| end.warnings.iter().cloned()));
    all.extend(
        recording
            .processes
            .iter()
            .filter_map(|raw| raw.names.as_ref())
            .flat_map(|names| names.warnings.clone()),
    );
    all.extend(recording.image_names.values().flat_map(|names| names.warnings.iter().cloned()));
    all.extend(kernel.warnings());
    let mut told = std::collections::BTreeSet::new();
    all.retain(|sentence| told.insert(sentence.clone()));
    let running = |raw: &&RawProcess| raw.end.as_ref().is_some_and(|end| end.still_running);
    match recording.processes.iter().filter(running).count() {
        0 => {}
        1 => all.push(
            "a process still ran when the first one had ended: the rest of it is not recorded".to_owned(),
        ),
        count => all.push(format!(
            "{count} processes still ran when the first one had ended: the rest of them is not recorded"
        )),
    }
    for runtime in processes.iter().flat_map(|process| &process.openmp.runtimes) {
        if !runtime.told {
            all.push(format!(
                "{} does not tell of its parallel regions here: its tools interface is switched off (OMP_TOOL) or another \
                 tool has it",
                runtime.vendor.word()
            ));
        }
    }
    let run = Run {
        recorded_by: recording.session.holdup.clone(),
        command: recording.session.command.clone(),
        start: clock.time(recording.session.start),
        end: clock.time(end),
        exit: recording.end.as_ref().and_then(|end| match (end.code, end.signal) {
            (_, Some(signal)) => Some(ExitStatus::Signal(signal)),
            (Some(code), None) => Some(ExitStatus::Code(code)),
            (None, None) => None,
        }),
        cores: recording.session.cores,
        environment: (&recording.environment).into(),
        collectors: recording.session.collectors.clone(),
        clock: clock.description().to_owned(),
        perturbation: (!processes.is_empty())
            .then(|| clock.length(perturbation.max(0.0) as u64) + Nanos::new(kernel.cost)),
        processes,
        unseen: recording.end.as_ref().map(|end| end.unseen.clone()).unwrap_or_default(),
        warnings: all,
    };
    match recording.end.as_ref().and_then(|end| end.window) {
        Some((from, to)) => run.window(clock.time(from), clock.time(to)),
        None => run,
    }
}

/// A fork runs its parent's program.
fn name_forks(members: &mut [Member]) {
    for index in 0..members.len() {
        let (before, rest) = members.split_at_mut(index);
        let Some(Member { process, .. }) = rest.first_mut() else { continue };
        if process.command.is_empty()
            && let Some(parent) = before.iter().rev().find(|other| other.process.pid == process.parent_pid)
        {
            process.command = parent.process.command.clone();
        }
    }
}

/// The last tick that a process's records name.
fn last_tick(raw: &RawProcess) -> u64 {
    let ticks = raw.records().map(|(_, record)| match record {
        Record::ThreadStart { time, .. } | Record::ThreadEnd { time, .. } | Record::Cpu { time, .. } => time,
        Record::Wait(wait) => wait.end,
        Record::Hold { end, .. } | Record::Block { end, .. } => end,
        Record::Wake { time, .. } | Record::Marker { time, .. } | Record::ObjectInit { time, .. } => time,
        Record::Alone(stretch) => stretch.end,
        Record::OpenMp(event) => openmp::span(&event).map_or(0, |(_, end)| end),
        _ => 0,
    });
    ticks.max().unwrap_or(0).max(raw.start.start)
}

/// Sites of one process, added when they are first needed.
pub(crate) struct Sites<'a> {
    names: Option<&'a Names>,
    stacks: BTreeMap<u64, SiteId>,
    code: BTreeMap<u64, SiteId>,
}

impl Sites<'_> {
    pub(crate) fn stack(&mut self, process: &mut Process, id: u64) -> Option<SiteId> {
        if id == NO_STACK {
            return None;
        }
        let named = self.names.and_then(|names| names.stacks.get(&id))?;
        Some(*self.stacks.entry(id).or_insert_with(|| process.add_site(site(named))))
    }

    pub(crate) fn code(&mut self, process: &mut Process, address: u64) -> Option<SiteId> {
        if address == 0 {
            return None;
        }
        let named = self.names.and_then(|names| names.code.get(&address)).cloned().unwrap_or_else(|| {
            NamedStack { frames: vec![NamedFrame { address, ..Default::default() }], broken: true }
        });
        Some(*self.code.entry(address).or_insert_with(|| process.add_site(site(&named))))
    }
}

fn site(named: &NamedStack) -> Site {
    let frames = named.frames.iter().map(|frame| Frame {
        function: function(frame),
        file: frame.file.clone(),
        line: frame.line,
        module: frame.module.clone(),
        address: frame.address,
        inlined: frame.inlined,
    });
    Site { frames: frames.collect(), broken: named.broken, in_waiting_loop: false }
}

/// What a frame's function is called. Where the line tells which construct it is, a part that the compiler made a
/// function of its own for OpenMP has the name of the function in the source.
pub(crate) fn function(frame: &NamedFrame) -> Option<String> {
    let name = frame.function.as_deref()?;
    let source = source_function(name).filter(|_| frame.line.is_some());
    Some(source.unwrap_or(name).to_owned())
}

pub(crate) fn nanos(cpu: u64) -> Option<Nanos> {
    (cpu != UNKNOWN).then_some(Nanos::new(cpu))
}

fn mode(shared: bool) -> Mode {
    if shared { Mode::Shared } else { Mode::Exclusive }
}

/// The process; `from` and `until` are when it started and ended where its own records cannot tell.
fn process(raw: &RawProcess, clock: &Clock, from: Option<u64>, until: Option<u64>) -> Process {
    let ended = raw.end.as_ref().map_or(0, |end| end.end);
    let start = from.unwrap_or(raw.start.start);
    let end = until.unwrap_or_else(|| ended.max(last_tick(raw)));
    let start = clock.time(start);
    // Words of a damaged recording, or of a clock that was set back, may say that it ended before.
    let mut process = Process::new(start, clock.time(end).max(start));
    process.pid = raw.start.pid;
    process.parent_pid = raw.start.parent_pid;
    if let Some(end) = &raw.end {
        process.lost = LostEvents {
            events: end.lost_events,
            in_signals: end.lost_in_signals,
            threads: end.lost_threads,
            uses: end.lost_uses,
            damaged_bytes: 0,
        };
    }
    let threads = Threads::of(raw);
    let mut sites = Sites { names: raw.names.as_ref(), stacks: BTreeMap::new(), code: BTreeMap::new() };
    for (index, facts) in threads.facts.iter().enumerate() {
        let entry = sites.code(&mut process, facts.entry);
        let created_at = sites.stack(&mut process, facts.created_at);
        // The library is initialized in the first thread, which has run since the process started.
        let start = if index == 0 { process.start } else { clock.time(facts.start) };
        process.threads.push(Thread {
            name: facts.name.clone(),
            tid: facts.tid,
            start: start.clamp(process.start, process.end),
            end: facts.end.map(|end| clock.time(end).clamp(process.start, process.end)),
            parent: facts.parent.and_then(|parent| threads.id(parent)),
            entry,
            created_at,
            cpu: facts.cpu.map(Nanos::new),
            cpu_when_last_read: facts.last_cpu.map(Nanos::new),
        });
    }
    if process.threads.is_empty() {
        process.add_thread("main", process.start, None);
    }
    let mut filler = Filler { clock, threads: &threads, objects: Objects::of(raw), sites };
    let mut cpu = CpuTimes::default();
    for (number, record) in raw.records() {
        match (record, threads.id(number)) {
            (Record::OpenMp(event), Some(thread)) => {
                filler.openmp(&mut process, thread, &event, &mut cpu);
            }
            (record, thread) => filler.take(&mut process, thread, &record),
        }
    }
    openmp::add_waits(&mut process, &cpu);
    process.find_condition_barriers();
    let callers: Vec<_> = filler.objects.callers().collect();
    for (object, caller) in callers {
        let site = filler.sites.code(&mut process, caller);
        process.objects[object.index()].created_at = site;
    }
    process
}

pub(crate) struct Filler<'a> {
    pub clock: &'a Clock,
    threads: &'a Threads,
    objects: Objects<'a>,
    pub sites: Sites<'a>,
}

impl Filler<'_> {
    pub(crate) fn time(&self, process: &Process, ticks: u64) -> Time {
        self.clock.time(ticks).clamp(process.start, process.end)
    }

    fn take(&mut self, process: &mut Process, thread: Option<ThreadId>, record: &Record<'_>) {
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
            Record::Block { begin, end, call, stack, cpu_begin, cpu_end, .. } => {
                let site = self.sites.stack(process, stack);
                let begin = self.time(process, begin);
                process.blocks.push(Block {
                    thread,
                    begin,
                    end: self.time(process, end).max(begin),
                    call: call_of(call),
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
